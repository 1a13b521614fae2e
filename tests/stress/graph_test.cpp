// Random programs against the oracle: values, order, exactly once. They run under every scheduler, with 1 to 4 workers,
// windows of every kind, one or several submitting threads. They run with and without failures, with threads and with
// the manual pump.
//
// The seed is printed with each failure. STRESS_SEED=N runs that seed alone in each configuration; CONSORT_FULL=1
// runs many.
#include "stress/program.hpp"

using namespace stress;

namespace {

struct Setup {
  const char *scheduler, *workers, *window, *pump;
  int threads, fail_per_mille;
  int wait_percent = 0;  // share of the tasks with children that wait for them inside
};
std::string name(const Setup &s) {
  return std::string(s.scheduler) + "_w" + s.workers + "_window" + s.window +
         (s.threads > 1 ? "_" + std::to_string(s.threads) + "sub" : "") + (s.fail_per_mille ? "_failing" : "") +
         (s.wait_percent ? "_waits" : "") + (*s.pump == 'm' ? "_pumped" : "");
}
void PrintTo(const Setup &s, std::ostream *out) { *out << name(s); }

// True: all as it should be.
bool run(const Setup &setup, uint64_t seed, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const std::string seed_text = std::to_string(seed);
  Rt rt({{"cpu.topology", kFourCores},
         {"workers", setup.workers},
         {"scheduler", setup.scheduler},
         {"window", setup.window},
         {"pump", setup.pump},
         {"seed", seed_text.c_str()},
         {"spin_us", seed % 3 ? "5" : "50"},
         {"bypass", seed % 5 ? "32" : "0"}});
  uint64_t counters[2] = {0, 0};
  const std::array<consort_data_id, 2> shared = {variable_of(rt, &counters[0]), variable_of(rt, &counters[1])};
  Shape shape;
  shape.steps = steps;
  shape.fail_per_mille = setup.fail_per_mille;
  shape.wait_percent = setup.wait_percent;
  shape.workers = static_cast<uint32_t>(std::atoi(setup.workers));
  std::vector<std::unique_ptr<Program>> programs;
  for (int t = 0; t < setup.threads; ++t)
    programs.push_back(std::make_unique<Program>(seed * 1000 + static_cast<uint64_t>(t), shape));
  std::vector<std::thread> threads;
  for (auto &p : programs) threads.emplace_back([&] { p->run(rt, shared); });
  for (auto &t : threads) t.join();
  const Answer end(consort_wait_all(rt, kLong, 0));
  if (!setup.fail_per_mille) {
    EXPECT_TRUE(answered(CONSORT_OK, end, {}));
  } else if (end.status < 0) {
    EXPECT_TRUE(end.status == CONSORT_E_IO || end.status == CONSORT_E_POISONED) << end.text;
  }
  uint64_t expected = 0;
  for (auto &p : programs) {
    p->check(rt);
    expected += static_cast<uint64_t>(p->shared_steps());
    EXPECT_EQ(p->complaints(), 0) << p->first_complaint();
  }
  EXPECT_OK(consort_unregister(rt, shared[0]));
  EXPECT_OK(consort_unregister(rt, shared[1]));
  EXPECT_EQ(counters[0], expected);
  EXPECT_EQ(counters[1], expected);
  consort_info i{};
  i.size = sizeof i;
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.data, 0u);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));  // a task is counted a moment after its successors go on
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.submitted, i.finished);
  EXPECT_OK(rt.stop());
  return !::testing::Test::HasFailure();
}

std::vector<Setup> setups() {
  std::vector<Setup> all;
  for (const char *scheduler : {"eager", "prio", "lws", "ws", "random"}) {
    for (const char *workers : {"1", "2", "3", "4"})
      for (const char *window : {"0", "16", "2048"}) all.push_back({scheduler, workers, window, "threads", 1, 0});
    all.push_back({scheduler, "2", "2048", "threads", 3, 0});
    all.push_back({scheduler, "4", "16", "threads", 4, 0});
    all.push_back({scheduler, "1", "0", "threads", 2, 0});
    all.push_back({scheduler, "2", "2048", "threads", 1, 30});
    all.push_back({scheduler, "3", "16", "threads", 2, 30});
    all.push_back({scheduler, "2", "2048", "manual", 1, 0});
    all.push_back({scheduler, "4", "16", "manual", 1, 0});
    all.push_back({scheduler, "3", "0", "manual", 1, 30});
    for (const char *workers : {"1", "2", "4"}) all.push_back({scheduler, workers, "16", "threads", 1, 0, 40});
    all.push_back({scheduler, "2", "2048", "threads", 3, 30, 40});
    all.push_back({scheduler, "2", "2048", "manual", 1, 0, 40});
  }
  return all;
}

class RandomGraphs : public ::testing::TestWithParam<Setup> {};
TEST_P(RandomGraphs, GiveTheOraclesValues) {
  if (const char *one = std::getenv("STRESS_SEED")) {
    run(GetParam(), std::strtoull(one, nullptr, 10), 400);
    return;
  }
  const uint64_t seeds = full() ? 200 : kSlow > 1 || brief() ? 2 : 6;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    if (!run(GetParam(), seed, full() && seed % 10 == 0 ? 5000 : 300)) return;
}
INSTANTIATE_TEST_SUITE_P(Random, RandomGraphs, ::testing::ValuesIn(setups()), [](const auto &i) { return name(i.param); });

}  // namespace
