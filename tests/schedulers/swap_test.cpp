// Another policy while tasks run (consort_runtime_set_scheduler). Nothing is lost, runs twice or grows, and the order
// of the data holds. Under a manual pump the same seed gives the same trace, and a wrong name changes nothing.
#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "api/settled.hpp"
#include "stress/program.hpp"

namespace {

using namespace stress;

const std::vector<const char *> kPolicies = {"eager", "prio",  "lws",   "ws",     "random", "dm",
                                            "dmda",  "dmdar", "dmdas", "dmdasd", "heft", "pheft", "graph-lookahead",
                                            "peager", "heteroprio", "darts", "auto"};

std::string scheduler_of(consort_runtime *rt) {
  consort_info i{};
  i.size = sizeof i;
  need(consort_get_info(rt, &i), "info");
  return i.scheduler;
}

// All policies in turn every millisecond, while four threads submit random programs.
class SchedulerSwapUnderLoad : public ::testing::TestWithParam<const char *> {};
TEST_P(SchedulerSwapUnderLoad, EveryMillisecondWithFourSubmitters) {
  const int seeds = full() ? 60 : kSlow > 1 ? 2 : 4;
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    std::atomic<int> complaints{0};
    consort_settings s = CONSORT_SETTINGS_INIT;
    const Pairs pairs = {{"cpu.topology", kFourCores}, {"workers", GetParam()}, {"spin_us", seed % 2 ? "1" : "20"},
                         {"lws.depth", seed % 3 ? "64" : "8192"}, {"keep_models", "no"}};
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log_user = &complaints;
    s.log = [](void *user, int32_t level, const char *text) {
      if (level > 1) return;
      ADD_FAILURE() << text;  // a policy that keeps tasks, or does not come out
      ++*static_cast<std::atomic<int> *>(user);
    };
    consort_runtime *rt = nullptr;
    ASSERT_OK(consort_start(&s, &rt));
    uint64_t counters[2] = {0, 0};
    const std::array<consort_data_id, 2> shared = {variable_of(rt, &counters[0]), variable_of(rt, &counters[1])};
    Shape shape;
    shape.steps = full() ? 2000 : 700;
    shape.workers = static_cast<uint32_t>(std::atoi(GetParam()));
    std::vector<std::unique_ptr<Program>> programs;
    for (uint64_t t = 0; t < 4; ++t)
      programs.push_back(std::make_unique<Program>(static_cast<uint64_t>(seed) * 100 + t, shape));
    std::atomic<bool> over{false};
    std::atomic<uint64_t> swaps{0};
    std::thread swapper([&] {
      std::mt19937 random(static_cast<unsigned>(seed));
      while (!over) {
        const char *next = kPolicies[random() % kPolicies.size()];
        EXPECT_OK(consort_runtime_set_scheduler(rt, next));
        ++swaps;
        std::this_thread::sleep_for(random() % 4 ? 1ms : 50us);  // nap: swaps at random times
      }
    });
    EXPECT_TRUE(eventually([&] { return swaps > 0; }));
    std::vector<std::thread> threads;
    for (auto &p : programs) threads.emplace_back([&] { p->run(rt, shared); });
    for (auto &t : threads) t.join();
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    over = true;
    swapper.join();
    uint64_t expected = 0;
    for (auto &p : programs) {
      p->check(rt);
      expected += static_cast<uint64_t>(p->shared_steps());
      EXPECT_EQ(p->complaints(), 0) << p->first_complaint();
    }
    EXPECT_EQ(counters[0], expected);
    EXPECT_EQ(counters[1], expected);
    EXPECT_OK(consort_unregister(rt, shared[0]));
    EXPECT_OK(consort_unregister(rt, shared[1]));
    // Each once more: tasks that an instance had kept would come out now, and be reported (see the log above).
    for (int round = 0; round < 2; ++round)
      for (const char *name : kPolicies) EXPECT_OK(consort_runtime_set_scheduler(rt, name));
    EXPECT_OK(consort_stop(rt));
    EXPECT_EQ(complaints, 0);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Workers, SchedulerSwapUnderLoad, ::testing::Values("1", "2", "3", "4"),
                         [](const auto &i) { return std::string("w") + i.param; });

// Small tasks without order, no pause between swaps: the two ends of each swap meet as many pushes as they can.
TEST(SchedulerSwap, RepeatedSwapsLoseNoTask) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"window", "256"}, {"spin_us", "1"}});
  Bodies body;
  std::atomic<uint64_t> ran{0};
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  std::atomic<bool> over{false};
  std::atomic<uint64_t> sent{0};
  std::vector<std::thread> threads;
  for (int k = 0; k < 3; ++k)
    threads.emplace_back([&] {
      while (!over) {
        for (int i = 0; i < 64; ++i) Desc(c).must(rt);
        sent += 64;
        if (sent % 4096 < 64) {
          EXPECT_OK(consort_wait_all(rt, kLong, 0));  // alone at times: all workers fall asleep
        }
      }
    });
  const auto end = std::chrono::steady_clock::now() + (full() ? 20s : 1500ms);
  for (size_t i = 0; std::chrono::steady_clock::now() < end; ++i)
    EXPECT_OK(consort_runtime_set_scheduler(rt, kPolicies[i % kPolicies.size()]));
  over = true;
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, sent);
}

// Waiting tasks move in the order of the old policy, and sleeping workers are woken.
TEST(SchedulerSwap, MovesPendingTasksAndWakesWorkers) {
  for (const char *from : kPolicies)
    for (const char *to : kPolicies) {
      SCOPED_TRACE(std::string(from) + " to " + to);
      Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"scheduler", from}, {"spin_us", "0"}, {"keep_models", "no"}});
      EXPECT_EQ(scheduler_of(rt), from);
      Bodies body;
      Gate gate;
      std::atomic<int> ran{0};
      const auto stop = body(rt, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
      const auto count = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
      for (uint32_t w = 0; w < 2; ++w) Desc(stop).on(w).must(rt);
      ASSERT_TRUE(eventually([&] { return gate.waiting() == 2; }));
      for (int i = 0; i < 100; ++i) Desc(count).priority(i % 5 - 2).must(rt);
      EXPECT_OK(consort_runtime_set_scheduler(rt, to));
      EXPECT_EQ(scheduler_of(rt), to);
      EXPECT_EQ(ran, 0);
      gate.open();
      ASSERT_TRUE(eventually([&] { return ran == 100; }));  // by the workers alone: no thread helps
      ASSERT_TRUE(settled());  // the new policy wakes the workers
      EXPECT_OK(consort_runtime_set_scheduler(rt, from));
      for (int i = 0; i < 10; ++i) Desc(count).must(rt);
      EXPECT_OK(consort_wait_all(rt, kLong, 0));
      EXPECT_EQ(ran, 110);
    }
}

TEST(SchedulerSwap, UnknownNamesChangeNothing) {
  Rt rt({{"scheduler", "prio"}, {"workers", "1"}});
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_runtime_set_scheduler(rt, "eagre"), "\"eagre\" not found",
              "did you mean \"eager\"", "consort plugins");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_runtime_set_scheduler(rt, "vector"), "not found");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_runtime_set_scheduler(rt, nullptr), "no scheduler is named");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_runtime_set_scheduler(rt, ""), "no scheduler is named");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_runtime_set_scheduler(nullptr, "lws"), "NULL");
  EXPECT_EQ(scheduler_of(rt), "prio");
  EXPECT_OK(consort_runtime_set_scheduler(rt, "prio"));
  Bodies body;
  int ran = 0;
  Desc(body(rt, "one", [&](const consort_call &) { return ++ran, CONSORT_OK; })).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 1);
}

TEST(SchedulerSwap, InsideABodyAndACallback) {
  for (const char *pump : {"threads", "manual"}) {
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"pump", pump}});
    Bodies body;
    std::atomic<int> ran{0}, told{0};
    const auto swap = body(rt, "swap", [&](const consort_call &c) {
      EXPECT_OK(consort_runtime_set_scheduler(rt, kPolicies[value<uint32_t>(c, 0) % kPolicies.size()]));
      return ++ran, CONSORT_OK;
    });
    struct Told {
      consort_runtime *rt;
      std::atomic<int> &n;
    } arg{rt, told};
    const auto done = [](void *p, const consort_outcome *o) {
      auto &t = *static_cast<Told *>(p);
      EXPECT_OK(consort_runtime_set_scheduler(t.rt, kPolicies[o->task.v % kPolicies.size()]));
      ++t.n;
    };
    int x = 0;
    const auto datum = variable_of(rt, &x);
    for (uint32_t i = 0; i < 300; ++i) {
      Desc d(swap);
      if (i % 2) d.rw(datum);
      d.arg(i).done(done, &arg).must(rt);
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 300);
    EXPECT_EQ(told, 300);
    EXPECT_OK(consort_unregister(rt, datum));
  }
}

TEST(SchedulerSwap, ConcurrentSwaps) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "3"}});
  Bodies body;
  std::atomic<int> ran{0};
  const auto count = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < 4; ++k)
    threads.emplace_back([&, k] {
      std::mt19937 random(k);
      for (int i = 0; i < 200; ++i) {
        Desc(count).must(rt);
        EXPECT_OK(consort_runtime_set_scheduler(rt, kPolicies[random() % kPolicies.size()]));
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 800);
}

// Under a manual pump: the trace of a run is a function of its seed, swaps and all.
TEST(SchedulerSwap, ManualPumpIsDeterministic) {
  const auto run = [](unsigned seed) {
    const std::string text = std::to_string(seed);
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "3"}, {"pump", "manual"}, {"seed", text.c_str()}});
    std::vector<uint64_t> trace;
    need(consort_trace(rt, [](void *p, const consort_trace_event *e) {
      static_cast<std::vector<uint64_t> *>(p)->push_back(e->task * 16 + e->worker * 2 + e->what);
    }, &trace), "trace");
    Bodies body;
    std::mt19937 random(seed);
    const auto c = body(rt, "nothing", [](const consort_call &) { return CONSORT_OK; });
    int values[4] = {};
    consort_data_id data[4];
    for (int i = 0; i < 4; ++i) data[i] = variable_of(rt, &values[i]);
    for (int i = 0; i < 600; ++i) {
      Desc d(c);
      d.priority(static_cast<int32_t>(random() % 3)).use(data[random() % 4], random() % 2 ? CONSORT_M_R : CONSORT_M_RW);
      d.must(rt);
      if (random() % 3 == 0) {
        EXPECT_GE(consort_step(rt, random() % 3), 0);
      }
      if (random() % 7 == 0) {
        EXPECT_OK(consort_runtime_set_scheduler(rt, kPolicies[random() % kPolicies.size()]));
      }
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    for (const auto d : data) EXPECT_OK(consort_unregister(rt, d));
    return trace;
  };
  for (unsigned seed : {1u, 2u, 3u}) {
    const auto first = run(seed);
    EXPECT_EQ(first.size(), 1200u);
    EXPECT_EQ(first, run(seed));
  }
}

long resident_kib() {
  malloc_trim(0);
  long pages = 0, skip = 0;
  std::ifstream("/proc/self/statm") >> skip >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// An instance for each plugin, however often it comes back.
TEST(SchedulerSwap, TenThousandSwapsKeepMemory) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"lws.depth", "64"}});
  Bodies body;
  std::atomic<int> ran{0};
  const auto count = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const int rounds = kSlow > 1 ? 1000 : 10000;
  const auto swap = [&](int n) {
    for (int i = 0; i < n; ++i) {
      Desc(count).must(rt);
      ASSERT_OK(consort_runtime_set_scheduler(rt, kPolicies[static_cast<size_t>(i) % kPolicies.size()]));
    }
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
  };
  swap(rounds / 10);
  const long before = resident_kib();
  swap(rounds);
  EXPECT_EQ(ran, rounds + rounds / 10);
  const long grown = resident_kib() - before;
  EXPECT_TRUE(kSlow > 1 || grown < 1024) << grown << " KiB more";
}

}  // namespace
