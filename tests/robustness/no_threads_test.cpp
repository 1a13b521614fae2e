// Waits inside tasks where the system gives no more threads. A task that would need a thread runs on top of the waiting
// body, under every policy. Where a body may not be run on, the worker pauses until a thread starts. The test refuses
// threads by replacing the library's function that starts one.
#include <dlfcn.h>

#include <memory>
#include <system_error>

#include "api/harness.hpp"

using namespace consort_test;

namespace {
std::atomic<int> threads_left{1 << 20};  // so many more are given
std::atomic<int> refused{0};
}  // namespace

// The symbol of std::thread::_M_start_thread(std::unique_ptr<_State>, void (*)()) in libstdc++.
extern "C" void start_thread(std::thread *self, void **state, void (*depend)()) __asm__(
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
extern "C" __attribute__((visibility("default"))) void start_thread(std::thread *self, void **state, void (*depend)()) {
  static const auto real = reinterpret_cast<decltype(&start_thread)>(
      dlsym(RTLD_NEXT, "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE"));
  if (threads_left.fetch_sub(1) <= 0) {
    ++refused;
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  real(self, state, depend);
}

namespace {

struct NoThreads : ::testing::TestWithParam<const char *> {
  void TearDown() override { threads_left = 1 << 20; }
};

struct Tree {
  consort_runtime *rt;
  consort_codelet_id split{0};
  std::atomic<int> leaves{0}, wrong{0};
};

// Forks two children into a group of its own, and waits for them inside its body.
consort_status fork_and_join(const consort_call *c) {
  auto &tree = *static_cast<Tree *>(c->user);
  const int level = value<int>(*c, 0);
  if (level == 0) return ++tree.leaves, CONSORT_OK;
  consort_group_id g{0};
  need(consort_group_create(tree.rt, nullptr, &g), "group");
  for (int i = 0; i < 2; ++i) Desc(tree.split).in(g).arg(level - 1).must(tree.rt);
  tree.wrong += consort_group_wait(tree.rt, g, kLong, 0) != CONSORT_OK;
  need(consort_group_destroy(tree.rt, g), "group");
  return CONSORT_OK;
}

Pairs machine(const char *policy) {
  return {{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", policy}};
}

TEST_P(NoThreads, ForkJoinEnds) {
  for (const int given : {0, 1, 7}) {
    SCOPED_TRACE(given);
    threads_left = 1 << 20;
    Rt rt(machine(GetParam()));
    Tree tree{rt};
    tree.split = codelet(rt, "split", fork_and_join, 0, &tree);
    threads_left = given;
    const int levels = kSlow == 1 ? 10 : 7;
    Desc(tree.split).arg(levels).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(tree.leaves, 1 << levels);
    EXPECT_EQ(tree.wrong, 0);
    EXPECT_OK(rt.stop());
  }
}

// Children bound to one worker arrive in its mailbox, which a body that waits on that worker must read as well.
TEST_P(NoThreads, WaitingBodyRunsTasksBoundToItsWorker) {
  Rt rt(machine(GetParam()));
  Bodies body;
  std::atomic<int> ran{0};
  const auto child = body(rt, "child", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto parent = body(rt, "parent", [&](const consort_call &c) {
    consort_group_id g{0};
    need(consort_group_create(rt, nullptr, &g), "group");
    for (int i = 0; i < 20; ++i) Desc(child).in(g).on(c.worker).must(rt);
    const consort_status s = consort_group_wait(rt, g, kLong, 0);
    need(consort_group_destroy(rt, g), "group");
    return s;
  });
  threads_left = 0;
  for (int i = 0; i < 10; ++i) Desc(parent).on(static_cast<uint32_t>(i % 2)).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_EQ(ran, 200);
}

// A body that may not be run on sleeps, and its worker with it, until the system gives a thread again.
TEST_P(NoThreads, WorkerResumesWhenAThreadStarts) {
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"scheduler", GetParam()}});
  Bodies body;
  std::atomic<int> ran{0};
  const auto child = body(rt, "child", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto parent = body(rt, "parent", [&](const consort_call &) {
    const auto t = Desc(child).must(rt);
    return consort_task_wait(rt, t, kLong, CONSORT_WAIT_NO_HELP);
  });
  for (int round = 0; round < 3; ++round) {
    threads_left = 0;
    refused = 0;
    const auto t = Desc(parent).must(rt);
    if (round == 0) {  // later ones find the thread that was given then
      ASSERT_TRUE(eventually([&] { return refused > 2; }));  // tries again and again
      EXPECT_EQ(ran, 0);
      threads_left = 1;
    }
    EXPECT_OK(consort_task_wait(rt, t, kLong, CONSORT_WAIT_NO_HELP));
    EXPECT_EQ(ran, round + 1);
  }
}

// A body that waited and finds its worker driven by another thread still owns it: its next wait takes the worker back.
// No submitter keeps the worker, for no other thread would notice that it is idle.
TEST_P(NoThreads, BodyRegainsItsWorker) {
  for (const bool early : {true, false}) {
    SCOPED_TRACE(early);
    threads_left = 1 << 20;
    Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"scheduler", GetParam()}});
    Bodies body;
    Gate gate;
    std::atomic<int> ran{0};
    std::atomic<uint64_t> second{0};
    std::atomic<bool> main_is_out{false}, over{false};
    consort_status waited = CONSORT_E_INTERNAL;
    const auto child = body(rt, "child", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    const auto door = body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    const auto parent = body(rt, "parent", [&](const consort_call &) {
      const auto first = Desc(child).must(rt);
      second = Desc(door).then(first).must(rt).v;
      need(consort_task_wait(rt, first, kLong, CONSORT_WAIT_NO_HELP), "wait");  // the main thread runs it, then the door
      need(eventually([&] { return gate.waiting() > 0; }) ? CONSORT_OK : CONSORT_E_TIMEOUT, "the door");
      if (early) {
        gate.open();
        need(eventually([&] { return main_is_out.load(); }) ? CONSORT_OK : CONSORT_E_TIMEOUT, "the main thread");
      }
      consort_group_id g{0};
      need(consort_group_create(rt, nullptr, &g), "group");
      for (int i = 0; i < 100; ++i) Desc(child).in(g).must(rt);
      gate.open();
      waited = consort_group_wait(rt, g, kLong, 0);
      need(consort_group_destroy(rt, g), "group");
      over = true;
      return CONSORT_OK;
    });
    threads_left = 0;
    Desc(parent).must(rt);
    ASSERT_TRUE(eventually([&] { return second != 0; }));
    EXPECT_OK(consort_task_wait(rt, {second}, kLong, 0));
    main_is_out = true;
    ASSERT_TRUE(eventually([&] { return over.load(); }));
    EXPECT_OK(waited);
    EXPECT_EQ(ran, 101);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  }
}

// Bodies further down on the same stack end later than they might, but they end.
TEST_P(NoThreads, TimeLimitsHoldOnNestedBodies) {
  Rt rt(machine(GetParam()));
  Bodies body;
  Gate gate;
  std::atomic<int> late{0};
  const auto never = Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).on(1).must(rt);
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; }));
  const auto wait = body(rt, "wait", [&](const consort_call &) {
    return late += consort_task_wait(rt, never, 5'000'000, 0) == CONSORT_E_TIMEOUT, CONSORT_OK;
  });
  threads_left = 0;
  for (int i = 0; i < 50; ++i) Desc(wait).on(0).must(rt);
  EXPECT_TRUE(eventually([&] { return late == 50; }));
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

INSTANTIATE_TEST_SUITE_P(Under, NoThreads, ::testing::Values("eager", "prio", "random", "ws", "lws"),
                         [](const auto &p) { return std::string(p.param); });

}  // namespace
