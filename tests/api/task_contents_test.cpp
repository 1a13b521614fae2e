// What a task carries: values, many data, a name, a worker, a callback, predecessors. Sizes at the edges between the
// places where the runtime keeps them, each combined with each.
#include <array>
#include <memory>
#include <numeric>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

constexpr uint32_t kMostData = 20;

struct TaskContents : ::testing::TestWithParam<const char *> {
  Rt rt{{{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", GetParam()}}};
  int cells[kMostData] = {};
  std::vector<consort_data_id> data;
  TaskContents() {
    for (int &cell : cells) data.push_back(variable_of(rt, &cell));
  }
  void TearDown() override { EXPECT_OK(consort_wait_all(rt, kLong, 0)); }
};

// What one task was given; its body compares, and counts.
struct Given {
  std::vector<int *> cells;
  std::vector<std::vector<char>> values;
  uint32_t worker = CONSORT_NONE;
  std::atomic<int> ran{0}, wrong{0}, ended{0};
  std::string label;
};

consort_status compare(const consort_call *c) {
  Given *g;
  std::memcpy(&g, &c->args[0].scalar, sizeof g);
  bool good = c->nviews == g->cells.size() && c->nargs == g->values.size() + 1;
  for (uint32_t i = 0; good && i < c->nviews; ++i) good = pointer<int>(*c, i) == g->cells[i];
  for (uint32_t i = 0; good && i < g->values.size(); ++i) {
    const consort_arg &a = c->args[i + 1];
    good = a.bytes == g->values[i].size() && !a.extent && !a.addr.base;
    const void *at = a.kind == CONSORT_ARG_BYTES ? reinterpret_cast<const void *>(a.scalar) : &a.scalar;
    if (good && a.bytes) good = !std::memcmp(at, g->values[i].data(), a.bytes);
    if (good && a.kind == CONSORT_ARG_BYTES) good = a.scalar % 16 == 0;
  }
  good &= g->worker == CONSORT_NONE || g->worker == c->worker;
  for (uint32_t i = 0; i < c->nviews; ++i) ++*pointer<int>(*c, i);
  g->wrong += !good;
  ++g->ran;
  return CONSORT_OK;
}

void note_end(void *arg, const consort_outcome *o) {
  auto *g = static_cast<Given *>(arg);
  g->label = o->name;
  ++g->ended;
}

TEST_P(TaskContents, ArriveAsSubmitted) {
  const consort_codelet_id c = codelet(rt, "compare", compare);
  std::vector<std::unique_ptr<Given>> all;
  std::vector<consort_task_id> before;
  int expected[kMostData] = {};
  for (const uint32_t ndata : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 11u, 12u, 13u, 16u, 17u, 20u})
    for (const int bytes : {-1, 0, 8, 9, 64, 150, 256, 300, 540, 560, 600, 3000})
      for (const uint32_t options : {0u, 1u, 2u, 4u, 8u, 15u, 31u}) {
        Given &g = *all.emplace_back(new Given);
        Given *const address = &g;
        Desc d(c);
        d.arg(address);
        if (bytes >= 0) {
          auto &v = g.values.emplace_back(bytes);
          std::iota(v.begin(), v.end(), static_cast<char>(all.size()));
          consort_arg a{CONSORT_ARG_BYTES, static_cast<uint32_t>(bytes), {0, 0}, 0, reinterpret_cast<uint64_t>(v.data())};
          if (bytes == 8) {
            a.kind = CONSORT_ARG_SCALAR;
            std::memcpy(&a.scalar, v.data(), 8);
          }
          d.args.push_back(a);
        }
        for (uint32_t i = 0; i < ndata; ++i) {
          d.rw(data[i]);
          g.cells.push_back(&cells[i]);
          ++expected[i];
        }
        const std::string name(options & 16 ? 32 : 31, 'n');
        if (options & 1) d.name(name.c_str());
        if (options & 2) d.on(g.worker = static_cast<uint32_t>(all.size() % 2));
        if (options & 4) d.done(note_end, &g);
        if (options & 8)
          for (size_t i = 0; i < std::min<size_t>(before.size(), options & 16 ? 4 : 1); ++i) d.then(before[before.size() - 1 - i]);
        before.push_back(d.must(rt));
        if (!d.args.empty()) std::memset(d.args.data(), 0xee, d.args.size() * sizeof(consort_arg));  // the caller's again
        ASSERT_OK(all.size() % 64 ? CONSORT_OK : consort_wait_all(rt, kLong, 0));
      }
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->ran, 1) << i;
    EXPECT_EQ(all[i]->wrong, 0) << i;
    if (const uint32_t options = std::array{0u, 1u, 2u, 4u, 8u, 15u, 31u}[i % 7]; options & 4) {
      EXPECT_EQ(all[i]->ended, 1) << i;
      EXPECT_EQ(all[i]->label, options & 1 ? std::string(options & 16 ? 32 : 31, 'n') : "compare") << i;
    }
  }
  for (uint32_t i = 0; i < kMostData; ++i) EXPECT_EQ(cells[i], expected[i]) << i;
}

TEST_P(TaskContents, DatumNamedTwiceAmongManyIsOneAccess) {
  Bodies body;
  for (const uint32_t n : {2u, 5u, 16u, 17u}) {
    std::atomic<int> ran{0};
    const consort_codelet_id c = body(rt, "same", [&](const consort_call &call) -> consort_status {
      ran += pointer<int>(call, 0) == pointer<int>(call, n - 1);
      return CONSORT_OK;
    });
    Desc d(c);
    for (uint32_t i = 0; i + 1 < n; ++i) d.rw(data[i]);
    d.r(data[0]).arg(7);
    d.must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 1) << n;
  }
}

TEST_P(TaskContents, TaskAfterAFailedOneDoesNotRun) {
  Bodies body;
  std::atomic<int> ran{0};
  const consort_codelet_id bad = body(rt, "bad", [](const consort_call &) -> consort_status { return -77; });
  const consort_codelet_id good = body(rt, "good", [&](const consort_call &) -> consort_status { return ++ran, CONSORT_OK; });
  const consort_task_id first = Desc(bad).arg(1).name("first").must(rt);
  const consort_task_id other = Desc(good).arg(1).must(rt);
  const consort_task_id later = Desc(good).arg(2).then(other).then(first).name("later").must(rt);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, later, kLong, 0), "later", "first");
  EXPECT_EQ(ran, 1);
  EXPECT_LT(consort_wait_all(rt, kLong, 0), 0);
}

TEST_P(TaskContents, BadOnesAreRefusedByName) {
  const consort_codelet_id c = codelet(rt, "compare", compare);
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(c).arg(1).on(99).to(rt), "worker 99 does not exist");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(c).arg(1).then({0}).to(rt), "predecessor 0 is no task");
  Desc d(c);
  d.args.push_back({CONSORT_ARG_BYTES, 8, {0, 0}, 0, 0});
  EXPECT_SAYS(CONSORT_E_INVAL, d.to(rt), "an argument is neither");
  Desc shared(c);
  shared.args.push_back({CONSORT_ARG_SHARED, 8, {0, 0}, 0, 0});
  EXPECT_SAYS(CONSORT_E_INVAL, shared.to(rt), "an argument is neither");
}

INSTANTIATE_TEST_SUITE_P(Under, TaskContents, ::testing::Values("lws", "prio", "eager", "dmdas"),
                         [](const auto &p) { return std::string(p.param); });

}  // namespace
