// Allocations that fail in calls about data: registering, entering, releasing, dropping.
#include <consort/memory.h>

#include "api/alloc_fail.hpp"

namespace consort_test {
namespace {

TEST_F(AllocFail, RegisterAndUnregister) {
  std::vector<long> mem(10);
  EXPECT_OK(consort_unregister(rt, vector_of(rt, mem.data(), 10, 8)));
  const consort_vector_args at_home{mem.data(), 10, 8}, homeless{nullptr, 10, 8};
  for (const auto *args : {&at_home, &homeless})
    for (const char *name : {static_cast<const char *>(nullptr), "a datum with a name that no small string can hold"}) {
      const consort_data_desc d{sizeof d, 0, "vector", args, sizeof *args, name};
      for_every_allocation("register", [&](const Fault &f) {
        consort_data_id id{0};
        const Answer a = faulty(f, [&] { return consort_register(rt, &d, &id); });
        good_or_no_memory(a);
        if (a.status >= 0) {
          EXPECT_OK(consort_unregister(rt, id));
        }
      });
      for (const bool later : {false, true})
        for_every_allocation("unregister", [&](const Fault &f) {
          consort_data_id id{0};
          need(consort_register(rt, &d, &id), "register");
          need(Desc(c).w(id).to(rt), "submit");
          const auto end = [&] { return later ? consort_unregister_later(rt, id) : consort_unregister(rt, id); };
          const Answer a = faulty(f, end);
          good_or_no_memory(a);
          if (a.status < 0) {
            // The task may have failed for want of memory; the datum is poisoned then, and unregistered all the same.
            const bool gone = a.text.find("failed on worker") != std::string::npos;
            EXPECT_SAYS(gone ? CONSORT_E_STALE : CONSORT_OK, end()) << "the second time there is memory";
          }
          EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, id), "stale");
          (void)consort_wait_all(rt, kLong, 0);
        });
    }
}

// Memory of a device: an allocation that fails half way is given back, or the next registration would be refused.
TEST(AllocFailDeviceHome, RegisterIn) {
  std::vector<long> there(100), other(100);
  Pairs pairs = kByHand;
  pairs.push_back({"drivers", "cpu,sim"});
  Rt rt(pairs);
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  const uint32_t device = info.nspaces - 1;
  const consort_vector_args args{there.data(), 100, sizeof(long)}, others{other.data(), 100, sizeof(long)};
  const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "a datum with a name that no small string can hold"};
  const consort_data_desc steady{sizeof d, 0, "vector", &others, sizeof others, "steady"};
  consort_data_id id{0}, kept{0};
  ASSERT_OK(consort_register_in(rt, &steady, device, &kept));
  for_every_allocation("register_in", [&](const Fault &f) {
    const Answer a = faulty(f, [&] { return consort_register_in(rt, &d, device, &id); });
    good_or_no_memory(a);
    if (a.status < 0) need(consort_register_in(rt, &d, device, &id), "the second time there is memory");
    EXPECT_OK(consort_unregister(rt, id));
  });
  ASSERT_OK(consort_unregister(rt, kept));
}

// The hold is refused, for there is nothing to read. A failure while that is said must not leave it in the chain.
TEST_F(AllocFail, AcquireOfUnwrittenData) {
  const consort_vector_args args{nullptr, 100, 8};
  for (const bool later : {false, true})
    for_every_allocation("acquire", [&](const Fault &f) {
      const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "a datum with a name that no small string can hold"};
      consort_data_id y{0};
      need(consort_register(rt, &d, &y), "register");
      int calls = 0;
      const auto told = [](void *p, consort_status s, const consort_hold *) {
        ++*static_cast<int *>(p);
        EXPECT_LT(s, 0);
      };
      consort_hold hold;
      const Answer a = faulty(f, [&] {
        return later ? consort_acquire_later(rt, y, CONSORT_M_R, told, &calls)
                     : consort_acquire(rt, y, CONSORT_M_R, kLong, &hold);
      });
      const consort_status refused = later ? CONSORT_OK : CONSORT_E_INVAL;
      EXPECT_TRUE(a.status == refused || (fired && a.status == CONSORT_E_NOMEM)) << a.text;
      EXPECT_EQ(calls, later && a.status >= 0 ? 1 : 0);
      ASSERT_OK(consort_acquire(rt, y, CONSORT_M_W, 1'000'000'000, &hold)) << "the refused hold is still there";
      EXPECT_OK(consort_release(rt, hold));
      EXPECT_OK(consort_unregister(rt, y));
    });
}

TEST_F(AllocFail, AcquireReleaseInvalidate) {
  for_every_allocation("acquire", [&](const Fault &f) {
    need(Desc(c).rw(x).to(rt), "submit");
    consort_hold hold;
    const Answer a = faulty(f, [&] { return consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold); });
    good_or_no_memory(a);
    if (a.status >= 0) {
      EXPECT_OK(consort_release(rt, hold));
    }
  });
  for_every_allocation("release", [&](const Fault &f) {
    consort_hold hold;
    need(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold), "acquire");
    need(Desc(c).rw(x).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_release(rt, hold); });
    good_or_no_memory(a);
    if (a.status < 0) {
      EXPECT_OK(consort_release(rt, hold));
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  });
  long mem = 0;
  const auto y = variable_of(rt, &mem);
  for_every_allocation("invalidate", [&](const Fault &f) {
    need(Desc(c).w(y).to(rt), "submit");
    const Answer a = faulty(f, [&] { return consort_invalidate(rt, y); });
    good_or_no_memory(a);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  });
}

}  // namespace
}  // namespace consort_test
