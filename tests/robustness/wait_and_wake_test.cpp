// Waiting and sleeping in hard cases. A waiting thread must not run tasks that wait for it, and the window must not
// block a task that submits. No wake-up is lost, and one ready task does not wake all workers.
#include <dirent.h>

#include <fstream>
#include <random>

#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

consort_status nothing(const consort_call *) { return CONSORT_OK; }

TEST(Helping, RunsNoTaskBlockedByTheCallersHold) {
  Rt rt;
  long x = 0;
  const auto d = variable_of(rt, &x, "held");
  const auto nop = codelet(rt, "nop", nothing);
  for (int round = 0; round < 200; ++round) {
    Bodies body;
    Gate gate;
    consort_hold hold;
    ASSERT_OK(consort_acquire(rt, d, CONSORT_M_RW, kLong, &hold));
    const auto stuck = body(rt, "stuck", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    Desc(stuck).must(rt);  // ends only after the holder has gone on behind its wait
    ASSERT_OK(consort_task_wait(rt, Desc(nop).must(rt), 20'000'000'000, 0)) << "round " << round;
    ASSERT_OK(consort_release(rt, hold));
    gate.open();
    ASSERT_OK(consort_codelet_remove(rt, stuck));
  }
}

TEST(Helping, RunsOnlyTasksOfTheWait) {
  Rt rt;
  const auto nop = codelet(rt, "nop", nothing);
  for (int round = 0; round < 200; ++round) {
    Bodies body;
    Gate gate;
    std::atomic<bool> waited{false};
    const auto stranger = body(rt, "stranger", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
      if (const auto s = Desc(stranger).to(rt); s < 0) return s;
      consort_task_id child;
      if (const auto s = Desc(nop).to(rt, &child); s < 0) return s;
      const auto s = consort_task_wait(rt, child, 20'000'000'000, 0);
      waited = true;
      gate.open();  // were `stranger` on this very stack, this line would not be reached
      return s;
    });
    ASSERT_OK(consort_task_wait(rt, Desc(parent).must(rt), kLong, 0)) << "round " << round;
    EXPECT_TRUE(waited);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    ASSERT_OK(consort_codelet_remove(rt, stranger));
    ASSERT_OK(consort_codelet_remove(rt, parent));
  }
}

TEST(Helping, ManyBodiesWaitOnFewWorkers) {
  for (const char *workers : {"1", "2"}) {
    Rt rt({{"workers", workers}, {"cpu.topology", kFourCores}});
    Bodies body;
    std::atomic<int> ran{0};
    consort_codelet_id tree{0};
    tree = body(rt, "tree", [&](const consort_call &c) -> consort_status {
      const int depth = value<int>(c, 0);
      ++ran;
      if (!depth) return CONSORT_OK;
      consort_task_id child[2];
      for (auto &t : child)
        if (const auto s = Desc(tree).arg(depth - 1).to(rt, &t); s < 0) return s;
      for (auto &t : child)
        if (const auto s = consort_task_wait(rt, t, kLong, 0); s < 0) return s;
      return CONSORT_OK;
    });
    for (int i = 0; i < 4; ++i) Desc(tree).arg(6).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0)) << workers;
    EXPECT_EQ(ran, 4 * 127);
  }
}

TEST(SubmissionWindow, TasksSubmitWithoutWaiting) {
  for (const char *window : {"1", "16", "2048"}) {
    Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", window}});
    long x = 0;
    const auto d = variable_of(rt, &x);
    Bodies body;
    const auto child = body(rt, "child", [](const consort_call &c) { return ++*pointer<long>(c, 0), CONSORT_OK; });
    const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
      for (int i = 0; i < 5000; ++i)  // none of them can run before this task ends
        if (const auto s = Desc(child).rw(d).to(rt); s < 0) return s;
      return CONSORT_OK;
    });
    Desc(parent).rw(d).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0)) << "window " << window;
    EXPECT_EQ(x, 5000);
  }
}

TEST(SubmissionWindow, OpensForAHolderOfData) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", "16"}});
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto inc =
      codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), 0; });
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, d, CONSORT_M_RW, kLong, &hold));
  for (int i = 0; i < 1000; ++i) Desc(inc).rw(d).must(rt);
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 1000);
}

TEST(SubmissionWindow, OpensWhenNothingCanEnd) {
  // The submitter's tasks wait for a hold of another thread, and that thread waits for the submitter.
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", "16"}});
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto inc =
      codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), 0; });
  Gate held, submitted;
  std::thread holder([&] {
    consort_hold hold;
    need(consort_acquire(rt, d, CONSORT_M_RW, kLong, &hold), "acquire");
    held.open();
    submitted.pass();
    need(consort_release(rt, hold), "release");
  });
  held.pass();
  for (int i = 0; i < 300; ++i) Desc(inc).rw(d).must(rt);
  submitted.open();
  holder.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 300);
}

class WakeUps : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Spin, WakeUps, ::testing::Values("0", "1", "50"),
                         [](const auto &i) { return "us" + std::string(i.param); });

// One task at a time, after a pause of about the time in which threads fall asleep. With a lost wake-up the wait would
// last for ever.
TEST_P(WakeUps, NoneIsLostBetweenThreads) {
  for (const char *scheduler : {"eager", "prio", "lws", "ws", "random"}) {
    Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"spin_us", GetParam()}, {"scheduler", scheduler}});
    const auto nop = codelet(rt, "nop", nothing);
    std::mt19937 random(42);
    const auto end = std::chrono::steady_clock::now() + (full() ? 30s : 600ms);
    int rounds = 0;
    for (; std::chrono::steady_clock::now() < end; ++rounds) {
      const auto pause = std::chrono::nanoseconds(random() % 150000);
      if (random() % 4) std::this_thread::sleep_for(pause);  // nap: wakes at random times
      else
        for (const auto until = std::chrono::steady_clock::now() + pause; std::chrono::steady_clock::now() < until;) {
        }
      Desc t(nop);
      if (random() % 3 == 0) t.on(random() % 2);
      ASSERT_OK(consort_task_wait(rt, t.must(rt), 20'000'000'000, random() % 2 ? CONSORT_WAIT_NO_HELP : 0))
          << scheduler << " round " << rounds;
    }
  }
}

TEST_P(WakeUps, NoneIsLostBetweenWorkers) {
  // Ping on worker 0 submits pong on worker 1 and so on, with delays: only tasks wake tasks.
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"spin_us", GetParam()}});
  Bodies body;
  std::atomic<int> left{full() ? 100000 : 2000};
  consort_codelet_id ball{0};
  ball = body(rt, "ball", [&](const consort_call &c) -> consort_status {
    const int n = --left;
    if (n <= 0) return CONSORT_OK;
    for (int i = (n * 7919) % 20000; i--;) std::atomic_signal_fence(std::memory_order_seq_cst);
    return Desc(ball).on(1 - c.worker).to(rt);
  });
  Desc(ball).on(0).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_LE(left, 0);
}

TEST_P(WakeUps, NoneIsLostForWaitersOfAllKinds) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"spin_us", GetParam()}});
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto inc =
      codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), 0; });
  const int rounds = full() ? 20000 : 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      consort_group_id g;
      need(consort_group_create(rt, nullptr, &g), "group");
      for (int i = 0; i < rounds; ++i) {
        const auto id = Desc(inc).rw(d).in(g).must(rt);
        if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));  // nap: waits at random times
        consort_hold hold;
        switch (random() % 3) {
          case 0: need(consort_task_wait(rt, id, 20'000'000'000, random() % 2), "wait for a task"); break;
          case 1: need(consort_group_wait(rt, g, 20'000'000'000, random() % 2), "wait for a group"); break;
          default:
            need(consort_acquire(rt, d, CONSORT_M_R, 20'000'000'000, &hold), "acquire");
            need(consort_release(rt, hold), "release");
        }
      }
      need(consort_group_wait(rt, g, kLong, 0), "wait");
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(x, 3 * rounds);
}

long voluntary_switches_of_others() {
  long sum = 0;
  if (DIR *d = opendir("/proc/self/task")) {
    while (const dirent *e = readdir(d)) {
      if (e->d_name[0] == '.' || std::atoi(e->d_name) == getpid()) continue;
      std::string word;
      long n = 0;
      for (std::ifstream in(std::string("/proc/self/task/") + e->d_name + "/status"); in >> word;)
        if (word == "voluntary_ctxt_switches:") in >> n;
      sum += n;
    }
    closedir(d);
  }
  return sum;
}

// A task bound to one worker waits, by its own means, for a task that either worker can run.
TEST_P(WakeUps, TaskOfOneWorkerKeepsNoOtherTaskWaiting) {
  for (const char *scheduler : {"eager", "prio", "peager", "lws", "ws"}) {
    Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"spin_us", GetParam()}, {"scheduler", scheduler}});
    Bodies body;
    std::atomic<int> ran{0}, round{0}, late{0};
    const auto waits = body(rt, "waits", [&](const consort_call &) {
      const auto end = std::chrono::steady_clock::now() + 20s * kSlow;
      while (ran < round && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      return late += ran < round, CONSORT_OK;
    });
    const auto other = body(rt, "other", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    for (round = 1; round <= 150 && !late; ++round) {
      Desc(waits).on(0).must(rt);
      Desc(other).must(rt);
      std::this_thread::sleep_for(300us);  // nap: the wait begins beside the tasks, or behind them
      ASSERT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
    }
    EXPECT_EQ(late, 0) << scheduler << " round " << round;
  }
}

TEST(WakeUpCount, OneReadyTaskWakesOneWorker) {
  Rt rt({{"workers", "4"}, {"cpu.topology", kFourCores}, {"scheduler", "eager"}});
  const auto nop = codelet(rt, "nop", nothing);
  ASSERT_TRUE(settled());
  const int n = 300;
  const long before = voluntary_switches_of_others();
  for (int i = 0; i < n; ++i) {
    Desc(nop).must(rt);
    ASSERT_TRUE(settled());
  }
  const long each10 = (voluntary_switches_of_others() - before) * 10 / n;
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  // One sleeper that wakes and sleeps again is one switch; looking after a lease may cost another.
  EXPECT_LE(each10, 30) << "tenths of a switch per task, four workers asleep";
}

TEST(WakeUpCount, IdleWorkersUseNoCpu) {
  Rt rt({{"workers", "4"}, {"cpu.topology", kFourCores}});
  const auto nop = codelet(rt, "nop", nothing);
  for (int i = 0; i < 100; ++i) Desc(nop).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_TRUE(settled());
  timespec a, b;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  std::this_thread::sleep_for(200ms);  // nap: CPU time is measured, of this process alone
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  const double busy = static_cast<double>(b.tv_sec - a.tv_sec) + static_cast<double>(b.tv_nsec - a.tv_nsec) * 1e-9;
  EXPECT_LT(busy, 0.02) << "seconds of CPU in 0.2 s with nothing to do";
}

}  // namespace
