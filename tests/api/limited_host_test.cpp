// The host's memory is limited, and there is no other space: nothing is copied, and memory of unregistered data is given
// back (MEM-02).
#include <cstring>
#include <random>

#include <consort/memory.h>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

consort_status add_to_all(const consort_call *c) {
  const auto *v = static_cast<const consort_vector_view *>(c->views[0]);
  auto *at = static_cast<uint8_t *>(consort_ptr(v->addr));
  for (uint64_t i = 0; i < v->n; ++i) at[i] = static_cast<uint8_t>(at[i] + 1);
  return CONSORT_OK;
}
consort_status clear(const consort_call *c) {
  const auto *v = static_cast<const consort_vector_view *>(c->views[0]);
  std::memset(consort_ptr(v->addr), 0, v->n);
  return CONSORT_OK;
}

struct LimitedHost {
  explicit LimitedHost(const char *limits) : m{Pairs{{"drivers", "cpu"}, {"limits", limits}, {"workers", "2"}, {"log", "error"}}} {
    add_id = codelet(m, "add", add_to_all), clear_id = codelet(m, "clear", clear);
  }
  void submit(consort_codelet_id c, consort_data_id x, uint32_t mode) {
    const consort_use use{x, mode, 0};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = c, d.uses = &use, d.nuses = 1;
    need(consort_submit(m, &d, nullptr), "submit");
  }
  uint64_t used() {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(m, 0, &u), "use");
    return u.used;
  }
  Rt m;
  consort_codelet_id add_id{}, clear_id{};
};

// Data come and go while tasks use others; those that are left have their values.
TEST(LimitedHost, DataComeAndGo) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    LimitedHost h("ram=1M");
    std::mt19937 random(seed);
    const auto below = [&](size_t n) { return static_cast<uint32_t>(random() % n); };
    struct Live {
      consort_data_id id;
      uint8_t value;
    };
    std::vector<Live> live;
    for (int k = 0; k < 300; ++k) {
      Live one{vector_of(h.m, static_cast<uint8_t *>(nullptr), 10'000 + below(40'000), 1, "x"), 0};
      h.submit(h.clear_id, one.id, CONSORT_M_W);
      live.push_back(one);
      for (uint32_t n = below(4); n; --n) {
        Live &l = live[below(live.size())];
        h.submit(h.add_id, l.id, CONSORT_M_RW), ++l.value;
      }
      if (live.size() < 3 + below(8)) continue;
      const size_t gone = below(live.size());
      ASSERT_OK(consort_unregister_later(h.m, live[gone].id));
      live.erase(live.begin() + static_cast<ptrdiff_t>(gone));
    }
    ASSERT_OK(consort_wait_all(h.m, kLong, 0)) << consort_error();
    for (const Live &l : live) {
      consort_hold hold{};
      ASSERT_OK(consort_acquire(h.m, l.id, CONSORT_M_R, kLong, &hold));
      const auto *v = static_cast<const consort_vector_view *>(hold.view);
      EXPECT_EQ(*static_cast<uint8_t *>(consort_ptr(v->addr)), l.value) << "seed " << seed;
      ASSERT_OK(consort_release(h.m, hold));
      ASSERT_OK(consort_unregister(h.m, l.id));
    }
    EXPECT_LE(h.used(), 1u << 20);
  }
}

// There is no place for what does not fit: the task fails, and later ones find memory again.
TEST(LimitedHost, MoreThanThereIsFails) {
  LimitedHost h("ram=100K");
  const consort_data_id a = vector_of(h.m, static_cast<uint8_t *>(nullptr), 80'000, 1, "a"),
                        b = vector_of(h.m, static_cast<uint8_t *>(nullptr), 80'000, 1, "b");
  h.submit(h.clear_id, a, CONSORT_M_W);
  ASSERT_OK(consort_wait_all(h.m, kLong, 0));
  h.submit(h.clear_id, b, CONSORT_M_W);
  EXPECT_EQ(consort_wait_all(h.m, kLong, 0), CONSORT_E_NOMEM) << consort_error();
  ASSERT_OK(consort_unregister(h.m, a));
  const consort_data_id c = vector_of(h.m, static_cast<uint8_t *>(nullptr), 80'000, 1, "c");
  h.submit(h.clear_id, c, CONSORT_M_W);
  EXPECT_EQ(consort_wait_all(h.m, kLong, 0), CONSORT_OK) << consort_error();
  ASSERT_OK(consort_unregister(h.m, c));
}

}  // namespace
