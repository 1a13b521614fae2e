// The window of a submitting thread holds while anything pending can still end, however slowly. It gives way where
// nothing can end without the submitter, in all the ways in which a program may come to that.
#include "api/harness.hpp"

#include <sched.h>

using namespace consort_test;

namespace {

// Tasks of which as many may be unfinished as the window says, and no more. A task counts before its record comes back.
class Counted {
 public:
  explicit Counted(consort_runtime *rt, std::chrono::microseconds each = 0us)
      : rt_(rt), c_(body_(rt, "count", [this, each](const consort_call &) {
          if (each.count()) std::this_thread::sleep_for(each);  // nap: submissions overtake long tasks
          return ++ran_, CONSORT_OK;
        })) {}
  uint64_t most_pending(int n) {
    uint64_t most = 0;
    for (int i = 0; i < n; ++i) {
      Desc(c_).must(rt_);
      most = std::max(most, static_cast<uint64_t>(++sent_ - ran_.load()));
    }
    need(consort_wait_all(rt_, kLong, 0), "wait");
    EXPECT_EQ(ran_, sent_);
    return most;
  }

 private:
  consort_runtime *rt_;
  Bodies body_;
  std::atomic<int> ran_{0};
  int sent_ = 0;
  consort_codelet_id c_;
};

// As many threads as there are cores that want them all, for as long as it lives.
class Crowd {
 public:
  Crowd() {
    for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency()); ++i)
      threads_.emplace_back([this] {
        while (!over_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Crowd() {
    over_ = true;
    for (auto &t : threads_) t.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

class WindowHolds : public ::testing::TestWithParam<const char *> {};

TEST_P(WindowHolds, WhileWorkersHaveNoCore) {
  for (const char *window : {"1", "16"}) {
    Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", window}, {"scheduler", GetParam()}});
    Bodies body;
    const auto idle = body(rt, "idle", [](const consort_call &) {  // runs only when the core is idle otherwise
      const sched_param none{};
      return sched_setscheduler(0, SCHED_IDLE, &none) ? CONSORT_E_IO : CONSORT_OK;
    });
    for (const uint32_t worker : {0u, 1u}) Desc(idle).on(worker).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
    Crowd crowd;
    EXPECT_LE(Counted(rt).most_pending(300 / kSlow), static_cast<uint64_t>(std::atoi(window))) << "window " << window;
  }
}

TEST_P(WindowHolds, WhileTasksAreLong) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", "4"}, {"scheduler", GetParam()}});
  EXPECT_LE(Counted(rt, 5ms).most_pending(60), 4u);
}

TEST_P(WindowHolds, WhileAPumpMayHaveMissedAWorker) {
  for (const char *seed : {"1", "2", "3", "4", "5"}) {
    Rt rt({{"workers", "4"}, {"cpu.topology", kFourCores}, {"window", "2"}, {"scheduler", GetParam()}, {"pump", "manual"}, {"seed", seed}});
    EXPECT_LE(Counted(rt).most_pending(1000), 2u) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Under, WindowHolds, ::testing::Values("lws", "random", "eager"), [](const auto &i) { return std::string(i.param); });

// -- it gives way ------------------------------------------------------------------------------------------------------

// Tasks behind a tag that the submitter reaches when it has submitted them all.
struct WindowOpens : ::testing::TestWithParam<const char *> {
  static constexpr int kMany = 2000 / kSlow;
  Rt rt{{{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", "16"}, {"pump", GetParam()}}};
  Bodies body;
  long x = 0;
  consort_data_id d = variable_of(rt, &x);
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  consort_codelet_id inc = codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });

  consort_task_id wait_for_tag() {
    const uint64_t one = 1;
    need(consort_tag_after(rt, 2, &one, 1), "tag");
    Tagged first(nop, 2);
    return first.rw(d).must(rt);
  }
  void submit_and_reach(int n = kMany) {
    for (int i = 0; i < n; ++i) Desc(inc).rw(d).must(rt);
    EXPECT_OK(consort_tag_notify(rt, 1));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_OK(consort_unregister(rt, d));
    EXPECT_EQ(x, n);
  }
};

TEST_P(WindowOpens, ForATagOfTheSubmitter) {
  wait_for_tag();
  const auto start = std::chrono::steady_clock::now();
  submit_and_reach();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s) << "each submission waited: it should be seen that nothing has moved";
}

TEST_P(WindowOpens, ForATagWhileOtherTasksBecomeReady) {
  wait_for_tag();
  std::atomic<int> ran{0};
  const auto c = body(rt, "beside", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 5; ++k) Desc(inc).rw(d).must(rt);
    for (int k = 0; k < 5; ++k) Desc(c).must(rt);
  }
  x -= 500;
  submit_and_reach(0);
  EXPECT_EQ(ran, 500);
}

TEST_P(WindowOpens, ForABodyThatWaitsForALaterTask) {
  if (GetParam() != std::string("threads")) GTEST_SKIP() << "a body that waits pumps";
  const auto behind = wait_for_tag();
  std::atomic<int> inside{0};
  const auto waits = body(rt, "waits", [&](const consort_call &) { return ++inside, consort_task_wait(rt, behind, kLong, 0); });
  for (int i = 0; i < 2; ++i) Desc(waits).must(rt);
  ASSERT_TRUE(eventually([&] { return inside == 2; }));  // else this thread might run one, and wait in it for itself
  submit_and_reach();
}

TEST_P(WindowOpens, ForAWaitingThreadThatDrivesAWorker) {
  if (GetParam() != std::string("threads")) GTEST_SKIP() << "one thread pumps";
  wait_for_tag();
  std::vector<std::thread> waiters;
  for (const uint32_t flags : {0u, 0u, 0u, uint32_t{CONSORT_WAIT_NO_HELP}})
    waiters.emplace_back([this, flags] { EXPECT_OK(consort_wait_all(rt, kLong, flags)); });
  submit_and_reach();
  for (auto &t : waiters) t.join();
}

TEST_P(WindowOpens, ForTwoSubmittingThreads) {
  if (GetParam() != std::string("threads")) GTEST_SKIP() << "one thread pumps";
  wait_for_tag();
  std::thread other([&] {
    for (int i = 0; i < kMany; ++i) need(Desc(inc).rw(d).to(rt), "submit");
  });
  for (int i = 0; i < kMany; ++i) Desc(inc).rw(d).must(rt);
  other.join();  // or it might wait for tasks behind the tag
  x -= 2 * kMany;
  submit_and_reach(0);
}

TEST_P(WindowOpens, ForACompletionHold) {
  if (GetParam() != std::string("threads")) GTEST_SKIP() << "as with a tag";
  std::atomic<uint64_t> name{0};
  const auto holds = body(rt, "holds", [&](const consort_call &) -> consort_status {
    const consort_task_id me = consort_current_task(rt);
    need(consort_task_end_hold(rt, me), "hold");
    name = me.v;
    return CONSORT_OK;
  });
  Desc(holds).rw(d).must(rt);
  for (int i = 0; i < 200; ++i) Desc(inc).rw(d).must(rt);
  EXPECT_TRUE(eventually([&] { return name.load() != 0; }));
  EXPECT_OK(consort_task_end_release(rt, consort_task_id{name}));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 200);
}

INSTANTIATE_TEST_SUITE_P(In, WindowOpens, ::testing::Values("threads", "manual"), [](const auto &i) { return std::string(i.param); });

// The window is whole again after it has given way.
TEST(SubmissionWindow, ClosesAgainAfterOpening) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", "8"}});
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto inc = codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });
  for (int round = 0; round < 3; ++round) {
    const uint64_t before[] = {static_cast<uint64_t>(10 * round + 1)};
    const uint64_t tag = static_cast<uint64_t>(10 * round + 2);
    ASSERT_OK(consort_tag_after(rt, tag, before, 1));
    Tagged first(inc, tag);
    first.rw(d).must(rt);
    for (int i = 0; i < 100; ++i) Desc(inc).rw(d).must(rt);
    ASSERT_OK(consort_tag_notify(rt, before[0]));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_LE(Counted(rt).most_pending(500), 8u);
  }
  EXPECT_EQ(x, 303);
}

TEST(SubmissionWindow, OpensInVirtualTime) {
  Rt rt({{"drivers", "sim"}, {"time", "virtual"}, {"sim.devices", "0"}, {"sim.cores", "2"}, {"sim.usual", "1ms"}, {"window", "4"}});
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  const uint64_t one = 1;
  ASSERT_OK(consort_tag_after(rt, 2, &one, 1));
  Tagged first(nop, 2);
  first.rw(d).must(rt);
  for (int i = 0; i < 200; ++i) Desc(nop).rw(d).must(rt);
  ASSERT_OK(consort_tag_notify(rt, 1));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  for (int i = 0; i < 200; ++i) {
    Desc(nop).must(rt);
    consort_info info{};
    info.size = sizeof info;
    ASSERT_OK(consort_get_info(rt, &info));
    EXPECT_LE(info.submitted - info.finished, 4u);
  }
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
}

}  // namespace
