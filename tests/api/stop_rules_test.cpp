// The promises of consort_stop() to calls of other threads, of bodies and of callbacks, one rule a test.
#include <sys/wait.h>

#include "api/settled.hpp"
#include "api/stop_calls.hpp"

using namespace consort_test;

namespace {

consort_runtime *begin(const Pairs &more = {}) {
  Pairs pairs = {{"workers", "2"}, {"cpu.topology", kFourCores}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  consort_runtime *rt = nullptr;
  need(start(pairs, &rt), "start");
  return rt;
}

// A stop by another thread that waits for a task, which ends when `gate` opens.
struct Stopping {
  consort_runtime *rt = begin();
  Bodies body;
  Gate gate;
  std::thread thread;
  std::atomic<bool> over{false};

  void start_stop(std::function<void()> in_the_task = {}) {
    Desc(body(rt, "gate", [this, f = std::move(in_the_task)](const consort_call &) {
      gate.pass();
      if (f) f();
      return CONSORT_OK;
    })).must(rt);
    thread = std::thread([this] {
      EXPECT_OK(consort_stop(rt));
      over = true;
    });
    consort_group_id g{0};
    EXPECT_TRUE(eventually([&] { return consort_group_create(rt, nullptr, &g) == CONSORT_E_STOPPED; }));
  }
  void finish() {
    gate.open();
    thread.join();
  }
};

TEST(StopRules, CreatingCallsAreRefusedDuringStop) {
  Stopping s;
  s.start_stop();
  consort_group_id g{0};
  EXPECT_SAYS(CONSORT_E_STOPPED, consort_group_create(s.rt, nullptr, &g), "being stopped");
  consort_codelet d = CONSORT_CODELET_INIT;
  consort_codelet_id c{0};
  EXPECT_SAYS(CONSORT_E_STOPPED, consort_codelet_add(s.rt, &d, &c), "being stopped");
  std::thread never_seen_before([&] { EXPECT_SAYS(CONSORT_E_STOPPED, consort_group_create(s.rt, nullptr, &g), "stop"); });
  never_seen_before.join();
  EXPECT_FALSE(s.over.load());
  s.finish();
}

TEST(StopRules, QueriesAndWaitsGoOnDuringStop) {
  Stopping s;
  s.start_stop();
  auto i = sized<consort_info>();
  EXPECT_OK(consort_get_info(s.rt, &i));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(s.rt, 1'000'000, CONSORT_WAIT_NO_HELP), "ran out");
  std::thread waits([&] {  // E_STOPPED where the call comes after the last task
    const consort_status got = consort_wait_all(s.rt, kLong, 0);
    EXPECT_TRUE(got == CONSORT_OK || got == CONSORT_E_STOPPED) << consort_error();
  });
  s.finish();
  waits.join();
}

TEST(StopRules, BodiesAndCallbacksSubmitDuringStop) {
  Stopping s;
  struct Root {
    consort_runtime *rt;
    consort_codelet_id count;
    std::atomic<int> ran{0}, told{0};
  } root{s.rt, {0}};
  root.count = s.body(s.rt, "count", [&](const consort_call &) { return ++root.ran, CONSORT_OK; });
  s.start_stop([&] {
    for (int i = 0; i < 100; ++i) {
      Desc d(root.count);
      d.done([](void *arg, const consort_outcome *) {
        auto &r = *static_cast<Root *>(arg);
        EXPECT_OK(Desc(r.count).to(r.rt));
        ++r.told;
      }, &root);
      EXPECT_OK(d.to(root.rt));
    }
    consort_group_id g{0};
    EXPECT_OK(consort_group_create(root.rt, nullptr, &g));
    EXPECT_OK(Desc(root.count).in(g).to(root.rt));
    EXPECT_OK(consort_group_wait(root.rt, g, kLong, 0));
    EXPECT_SAYS(CONSORT_E_BUSY, consort_stop(root.rt), "task");
  });
  s.finish();
  EXPECT_EQ(root.told, 100);
  EXPECT_EQ(root.ran, 201);
}

TEST(StopRules, SecondStopWaitsForTheFirst) {
  Stopping s;
  s.start_stop();
  std::atomic<int> answered_stopped{0};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      EXPECT_SAYS(CONSORT_E_STOPPED, consort_stop(s.rt), "stopped");
      EXPECT_TRUE(s.gate.is_open());
      ++answered_stopped;
    });
  EXPECT_TRUE(settled());
  EXPECT_EQ(answered_stopped, 0);
  s.finish();
  for (auto &t : others) t.join();
}

TEST(StopRules, OneOfConcurrentStopsReturnsOk) {
  for (int round = 0; round < 50 / kSlow; ++round) {
    consort_runtime *rt = begin();
    const auto c = codelet(rt, "nop", Scene::nop);
    for (int i = 0; i < 100; ++i) Desc(c).must(rt);
    std::atomic<int> ok{0}, stopped{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        const consort_status s = consort_stop(rt);
        ok += s == CONSORT_OK;
        stopped += s == CONSORT_E_STOPPED;
      });
    for (auto &t : threads) t.join();
    EXPECT_EQ(ok, 1);
    EXPECT_EQ(stopped, 3);
  }
}

TEST(StopRules, WaitForAnUnreachableTagIsStopped) {
  consort_runtime *rt = begin();
  std::atomic<int> waiting{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      const uint64_t tag = 7;
      ++waiting;
      EXPECT_SAYS(CONSORT_E_STOPPED, consort_tag_wait(rt, &tag, 1, CONSORT_FOREVER, 0), "stop");
    });
  EXPECT_TRUE(eventually([&] { return waiting.load() == 3; }));
  EXPECT_OK(consort_stop(rt));
  for (auto &t : threads) t.join();
}

TEST(StopRules, OtherThreadsReleaseAndNotifyDuringStop) {
  Stopping s;
  const auto x = token_of(s.rt, "x");
  const auto c = s.body(s.rt, "nop", [](const consort_call &) { return CONSORT_OK; });
  std::atomic<bool> has{false};
  const uint64_t tag = 7;
  ASSERT_OK(consort_tag_after(s.rt, 8, &tag, 1));
  Tagged t(c, 8);
  ASSERT_OK(t.to(s.rt));
  std::thread holder([&] {
    consort_hold hold{};
    ASSERT_OK(consort_acquire(s.rt, x, CONSORT_M_RW, kLong, &hold));
    has = true;
    EXPECT_TRUE(eventually([&] { return s.gate.is_open(); }));
    EXPECT_OK(consort_tag_notify(s.rt, tag));
    EXPECT_OK(consort_release(s.rt, hold));
  });
  EXPECT_TRUE(eventually([&] { return has.load(); }));
  s.start_stop();
  s.finish();
  holder.join();
}

// Where consort_unregister() answers, nothing touches the caller's memory any more, also where it answers E_STOPPED.
TEST(StopRules, UnregisterReturnsBeforeMemoryIsReused) {
  for (int round = 0; round < 20 / kSlow; ++round) {
    consort_runtime *rt = begin({{"drivers", "cpu,sim"}, {"sim.latency", "1us"}});
    const auto inc = codelet(rt, "inc", Scene::add_one, 1);
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (consort_status s = CONSORT_OK; s != CONSORT_E_STOPPED;) {
          ++begun;
          const auto mine = std::make_unique<int>(0);
          const consort_variable_args a{mine.get(), sizeof(int)};
          const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, nullptr};
          consort_data_id x{0};
          if ((s = consort_register(rt, &d, &x)) < 0) return;
          (void)Desc(inc).rw(x).to(rt);
          s = consort_unregister(rt, x);
          EXPECT_TRUE(s == CONSORT_OK || s == CONSORT_E_STOPPED) << consort_error();
          EXPECT_TRUE(s != CONSORT_OK || *mine <= 1) << *mine;
        }
      });
    EXPECT_TRUE(eventually([&] { return begun.load() > 40; }));
    EXPECT_OK(consort_stop(rt));
    for (auto &t : threads) t.join();
  }
}

TEST(StopRules, OtherRuntimesStartAndStopDuringStop) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 15 / kSlow; ++i) {
        consort_runtime *rt = begin({{"scheduler", t % 2 ? "eager" : "lws"}});
        const auto c = codelet(rt, "nop", Scene::nop);
        std::thread other([&] {
          while (Desc(c).to(rt) >= 0) {
          }
        });
        for (int k = 0; k < 50; ++k) (void)Desc(c).to(rt);
        EXPECT_OK(consort_stop(rt));
        other.join();
      }
    });
  for (auto &t : threads) t.join();
}

TEST(StopRules, BodyOfAnotherRuntimeMayStopIt) {
  Rt outer;
  Bodies body;
  for (int i = 0; i < 20; ++i) {
    consort_runtime *inner = begin();
    const auto nop = codelet(inner, "nop", Scene::nop);
    const auto stops = body(outer, "stops", [inner, nop](const consort_call &) {
      for (int k = 0; k < 10; ++k) EXPECT_OK(Desc(nop).to(inner));
      return consort_stop(inner);
    });
    std::thread other([&] {
      while (Desc(nop).to(inner) >= 0) {
      }
    });
    EXPECT_OK(consort_task_wait(outer, Desc(stops).must(outer), kLong, 0));
    other.join();
  }
}

TEST(StopRules, StopInsideALogFunctionIsRefused) {
  consort_runtime *rt = begin();
  const auto inc = codelet(rt, "inc", Scene::add_one, 1);
  int x = 0;
  const auto d = variable_of(rt, &x);
  Desc task(inc);
  task.rw(d);
  ASSERT_OK(consort_model_feed(rt, task.desc(), 0, CONSORT_NONE, CONSORT_MODEL_TIME, 1000));
  struct Told { consort_runtime *rt; int rows; } told{rt, 0};
  EXPECT_OK(consort_model_rows(rt, {0}, [](void *user, const consort_model_row *) {
    auto &t = *static_cast<Told *>(user);
    ++t.rows;
    EXPECT_SAYS(CONSORT_E_BUSY, consort_stop(t.rt), "another call");
  }, &told));
  EXPECT_GT(told.rows, 0);
  EXPECT_OK(consort_stop(rt));
}

TEST(StopRules, ForkedChildStartsItsOwnRuntime) {
#if CONSORT_SAN == 2
  GTEST_SKIP() << "the thread sanitizer ends a child of a process with threads that starts one";
#elif CONSORT_SAN == 1
  GTEST_SKIP() << "the allocator of this address sanitizer does not take its locks over a fork: the child may wait for one "
                  "that another thread had";
#endif
  consort_runtime *rt = begin();
  const auto c = codelet(rt, "nop", Scene::nop);
  std::atomic<bool> over{false};
  std::thread other([&] {
    while (!over) (void)Desc(c).to(rt);
  });
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      consort_runtime *own = nullptr;
      if (Desc(c).to(rt) != CONSORT_E_STOPPED) _exit(1);
      if (start({{"workers", "1"}}, &own) < 0) _exit(2);
      if (Desc(codelet(own, "nop", Scene::nop)).to(own) < 0) _exit(3);
      _exit(consort_stop(own) < 0 ? 4 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  over = true;
  other.join();
  EXPECT_OK(consort_stop(rt));
}

TEST(StopRules, ManyCallingThreads) {
  consort_runtime *rt = begin();
  const auto c = codelet(rt, "nop", Scene::nop);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 40; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < 20; ++k) EXPECT_OK(Desc(c).to(rt));
      });
    for (auto &t : threads) t.join();
  }
  EXPECT_OK(consort_stop(rt));
}

}  // namespace
