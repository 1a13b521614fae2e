// Contexts: sets of workers with a scheduler of their own. Which workers run which tasks; contexts that are nested,
// resized and moved while tasks run, or destroyed with tasks left; refusals and their messages.
#include <map>
#include <set>

#include "api/in_context.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

const Pairs kFour = {{"workers", "4"}, {"cpu.topology", kFourCores}, {"keep_models", "no"}};
Pairs four(const char *scheduler) {
  Pairs p = kFour;
  p.push_back({"scheduler", scheduler});
  return p;
}

std::vector<uint32_t> workers_of(consort_runtime *rt, consort_context_id c) {
  std::vector<uint32_t> all(64);
  uint32_t n = 0;
  need(consort_context_workers(rt, c, all.data(), 64, &n), "workers");
  all.resize(n);
  return all;
}
consort_context_info info(consort_runtime *rt, consort_context_id c) {
  consort_context_info i{};
  i.size = sizeof i;
  need(consort_get_context(rt, c, &i), "info");
  return i;
}
std::string explain(consort_runtime *rt, consort_task_id t) {
  std::string s(4096, 0);
  s.resize(std::min<uint64_t>(4095, consort_explain(rt, t, s.data(), s.size())));
  return s;
}
using Ids = std::vector<uint32_t>;

// -- assignment ---------------------------------------------------------------------------------------------------

class ContextPolicies : public ::testing::TestWithParam<const char *> {};
TEST_P(ContextPolicies, TasksRunOnTheirContextsWorkers) {
  Rt rt(four(GetParam()));
  Bodies body;
  std::mutex mutex;
  std::map<uint64_t, std::set<uint32_t>> ran;
  const auto c = body(rt, "note", [&](const consort_call &call) {
    consort_context_id here{0};
    EXPECT_OK(consort_context_current(rt, &here));
    std::this_thread::sleep_for(20us);  // nap: other workers of the context take part
    const std::lock_guard lock(mutex);
    ran[here.v].insert(call.worker);
    return CONSORT_OK;
  });
  const auto a = create(rt, {1, 3}, "a");
  const auto b = create(rt, {2}, "b", "prio");
  for (int i = 0; i < 300; ++i) {
    if (i % 3 == 0) Desc(c).must(rt);
    const Inside inside(rt, i % 3 == 1 ? a : b);
    if (i % 3) Desc(c).must(rt);
  }
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran.size(), 3u);
  EXPECT_EQ(ran[0], (std::set<uint32_t>{0}));
  for (const uint32_t w : ran[a.v]) EXPECT_TRUE(w == 1 || w == 3);
  EXPECT_EQ(ran[b.v], (std::set<uint32_t>{2}));
  EXPECT_STREQ(info(rt, a).scheduler, GetParam());
  EXPECT_STREQ(info(rt, b).scheduler, "prio");
  EXPECT_OK(consort_context_destroy(rt, a));
  EXPECT_OK(consort_context_destroy(rt, b));
  for (int i = 0; i < 300; ++i) Desc(c).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(workers_of(rt, {0}), (Ids{0, 1, 2, 3}));
}
INSTANTIATE_TEST_SUITE_P(Policies, ContextPolicies,
                         ::testing::Values("eager", "prio", "lws", "ws", "random", "dm", "dmda", "dmdar", "dmdas",
                                           "dmdasd", "heft", "pheft", "peager", "heteroprio", "darts", "graph-lookahead"),
                         [](const auto &i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(Contexts, DataOrderTasksAcrossContexts) {
  Rt rt(kFour);
  Bodies body;
  uint64_t x = 1;
  const auto d = variable_of(rt, &x);
  const auto twice = body(rt, "twice", [](const consort_call &c) { return *pointer<uint64_t>(c, 0) *= 2, CONSORT_OK; });
  const auto plus = body(rt, "plus", [](const consort_call &c) { return *pointer<uint64_t>(c, 0) += 1, CONSORT_OK; });
  const auto a = create(rt, {0, 1}), b = create(rt, {2, 3});
  uint64_t want = 1;
  for (int i = 0; i < 500; ++i) {
    {
      const Inside inside(rt, a);
      Desc(twice).rw(d).must(rt);
    }
    const Inside inside(rt, i % 2 ? a : b);
    Desc(plus).rw(d).must(rt);
    want = want * 2 + 1;
  }
  ASSERT_OK(consort_unregister(rt, d));
  EXPECT_EQ(x, want);
}

TEST(Contexts, BodiesSubmitToTheirOwnContext) {
  Rt rt(kFour);
  Bodies body;
  const auto a = create(rt, {0, 1}, "a"), b = create(rt, {2}, "b");
  std::atomic<int> in_a{0}, in_b{0};
  const auto leaf = body(rt, "leaf", [&](const consort_call &c) {
    if (c.worker < 2) ++in_a;
    if (c.worker == 2) ++in_b;
    return CONSORT_OK;
  });
  const auto root = body(rt, "root", [&](const consort_call &) {
    for (int i = 0; i < 20; ++i) Desc(leaf).must(rt);
    EXPECT_OK(consort_context_enter(rt, b));  // and is not left: its end does that
    for (int i = 0; i < 20; ++i) Desc(leaf).must(rt);
    return CONSORT_OK;
  });
  {
    const Inside inside(rt, a);
    for (int i = 0; i < 5; ++i) Desc(root).must(rt);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    consort_context_id here{0};
    EXPECT_OK(consort_context_current(rt, &here));
    EXPECT_EQ(here.v, a.v);
  }
  EXPECT_EQ(in_a, 100);
  EXPECT_EQ(in_b, 100);
}

TEST(Contexts, BoundTasksRunOnTheirWorker) {
  Rt rt(kFour);
  Bodies body;
  std::atomic<uint32_t> ran{99};
  const auto c = body(rt, "bound", [&](const consort_call &call) { return ran = call.worker, CONSORT_OK; });
  const auto a = create(rt, {0, 1});
  const Inside inside(rt, a);
  Desc(c).on(3).must(rt);
  EXPECT_OK(consort_context_wait(rt, a, kLong, 0));
  EXPECT_EQ(ran, 3u);
}

TEST(Contexts, ReplaysRunInTheSubmittersContext) {
  Rt rt(kFour);
  Bodies body;
  std::mutex mutex;
  std::set<uint32_t> ran;
  uint64_t x = 0;
  const auto d = variable_of(rt, &x);
  const auto c = body(rt, "step", [&](const consort_call &call) {
    ++*pointer<uint64_t>(call, 0);
    const std::lock_guard lock(mutex);
    ran.insert(call.worker);
    return CONSORT_OK;
  });
  ASSERT_OK(consort_record_begin(rt, 0));
  for (int i = 0; i < 10; ++i) Desc(c).rw(d).must(rt);
  consort_recording_id r{0};
  ASSERT_OK(consort_record_end(rt, &r));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  const uint64_t before = x;
  const auto a = create(rt, {2});
  for (int k = 0; k < 20; ++k) {
    ran.clear();
    const Inside inside(rt, a);
    ASSERT_OK(consort_replay(rt, r, {0}, nullptr));
    EXPECT_OK(consort_context_wait(rt, a, kLong, 0));
    EXPECT_EQ(ran, (std::set<uint32_t>{2}));
  }
  EXPECT_EQ(info(rt, a).unfinished, 0u);
  ASSERT_OK(consort_recording_destroy(rt, r));
  ASSERT_OK(consort_unregister(rt, d));
  EXPECT_EQ(x, before + 200);
}

// -- nested, resized, moved ---------------------------------------------------------------------------------------

TEST(Contexts, NestedContextsTakeWorkersOfTheirParent) {
  Rt rt(kFour);
  const auto a = create(rt, {1, 2, 3}, "a");
  const auto inner = create(rt, {2, 3}, "inner", "eager", a);
  EXPECT_EQ(workers_of(rt, {0}), (Ids{0}));
  EXPECT_EQ(workers_of(rt, a), (Ids{1}));
  EXPECT_EQ(workers_of(rt, inner), (Ids{2, 3}));
  EXPECT_EQ(info(rt, inner).parent.v, a.v);
  consort_context_id of{0};
  EXPECT_OK(consort_context_of_worker(rt, 3, &of));
  EXPECT_EQ(of.v, inner.v);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_context_destroy(rt, a), "context 'a'", "context 'inner' inside", "first");
  const Ids three = {3}, both = {1, 2};
  EXPECT_OK(consort_context_remove(rt, inner, three.data(), 1));
  EXPECT_EQ(workers_of(rt, a), (Ids{1, 3}));
  EXPECT_OK(consort_context_add(rt, inner, three.data(), 1));
  EXPECT_OK(consort_context_move(rt, inner, {0}, three.data(), 1));
  EXPECT_EQ(workers_of(rt, {0}), (Ids{0, 3}));
  EXPECT_OK(consort_context_destroy(rt, inner));
  EXPECT_EQ(workers_of(rt, a), both);
  consort_context_id all[4];
  uint32_t n = 0;
  EXPECT_OK(consort_context_list(rt, all, 4, &n));
  ASSERT_EQ(n, 1u);
  EXPECT_EQ(all[0].v, a.v);
}

TEST(Contexts, ResizingReschedulesQueuedTasks) {
  for (const char *policy : {"lws", "dmdas", "ws", "graph-lookahead", "heteroprio", "peager"}) {
    SCOPED_TRACE(policy);
    Rt rt(four(policy));
    Bodies body;
    Gate gate;
    std::mutex mutex;
    std::set<uint32_t> ran;
    const auto stop = body(rt, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
    const auto c = body(rt, "note", [&](const consort_call &call) {
      std::this_thread::sleep_for(100us);  // nap: other workers would take part, which would be wrong
      const std::lock_guard lock(mutex);
      ran.insert(call.worker);
      return CONSORT_OK;
    });
    const auto a = create(rt, {1, 2}, "a");
    {
      const Inside inside(rt, a);
      Desc(stop).on(1).must(rt);
      Desc(stop).on(2).must(rt);
      EXPECT_TRUE(eventually([&] { return gate.waiting() == 2; }));
      for (int i = 0; i < 200; ++i) Desc(c).must(rt);
    }
    const Ids both = {1, 2}, three = {3};
    EXPECT_OK(consort_context_remove(rt, a, both.data(), 2));
    EXPECT_EQ(info(rt, a).unfinished, 202u);
    EXPECT_OK(consort_context_add(rt, a, three.data(), 1));
    EXPECT_TRUE(eventually([&] { return info(rt, a).unfinished == 2; }));  // the gate is still closed
    EXPECT_EQ(ran, (std::set<uint32_t>{3}));
    gate.open();
    EXPECT_OK(consort_context_wait(rt, a, kLong, 0));
    EXPECT_OK(consort_context_set_scheduler(rt, a, "prio"));
    EXPECT_STREQ(info(rt, a).scheduler, "prio");
    EXPECT_OK(consort_runtime_set_scheduler(rt, "eager"));
    EXPECT_STREQ(info(rt, {0}).scheduler, "eager");
    EXPECT_STREQ(info(rt, a).scheduler, "prio");
    Desc(c).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  }
}

TEST(Contexts, EmptyContextQueuesTasksAndExplainsWhy) {
  Rt rt(kFour);
  Bodies body;
  std::atomic<int> ran{0};
  const auto c = body(rt, "note", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto a = create(rt, {}, "idle");
  consort_task_id t{0};
  {
    const Inside inside(rt, a);
    t = Desc(c).must(rt);
    for (int i = 0; i < 9; ++i) Desc(c).must(rt);
  }
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_context_wait(rt, a, 5'000'000, 0), "a context");
  EXPECT_EQ(ran, 0);
  const std::string said = explain(rt, t);
  EXPECT_NE(said.find("belongs to context 'idle'"), std::string::npos) << said;
  EXPECT_NE(said.find("none of whose 0 workers can run it"), std::string::npos) << said;
  EXPECT_NE(said.find("consort_context_add()"), std::string::npos) << said;
  const std::string all = explain(rt, {0});
  EXPECT_NE(all.find("context 'idle' in the runtime's own context"), std::string::npos) << all;
  EXPECT_NE(all.find("10 unfinished tasks, no worker"), std::string::npos) << all;
  EXPECT_OK(consort_task_cancel(rt, t));  // comes out all the same
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, t, kLong, 0));
  consort_group_id group{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &group));
  {
    const Inside inside(rt, a);
    uint64_t tag = 5;
    for (int i = 0; i < 9; ++i) Desc(c).in(group).must(rt);
    EXPECT_OK(consort_tag_after(rt, 6, &tag, 1));
    Tagged late(c, 6);
    late.in(group);
    late.must(rt);
  }
  EXPECT_OK(consort_group_cancel(rt, group));
  EXPECT_OK(consort_tag_notify(rt, 5));  // ready only now
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_group_wait(rt, group, kLong, 0));
  EXPECT_EQ(ran, 0);
  const uint32_t two = 2;
  EXPECT_OK(consort_context_add(rt, a, &two, 1));
  EXPECT_OK(consort_context_wait(rt, a, kLong, 0));
  EXPECT_EQ(ran, 9);
  (void)consort_wait_all(rt, kLong, 0);
}

TEST(Contexts, DestructionMovesTasksToTheParent) {
  Rt rt(kFour);
  Bodies body;
  std::atomic<int> ran{0};
  const auto c = body(rt, "note", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto a = create(rt, {}, "a");
  const auto b = create(rt, {}, "b", nullptr, a);
  uint64_t tag = 7;
  {
    const Inside inside(rt, b);
    for (int i = 0; i < 10; ++i) Desc(c).must(rt);
    EXPECT_OK(consort_tag_after(rt, 8, &tag, 1));
    Tagged(c, 8).must(rt);  // not ready when its context goes
  }
  std::atomic<bool> began{false};
  std::thread waits([&] {
    began = true;
    EXPECT_SAYS(CONSORT_E_STALE, consort_context_wait(rt, b, kLong, 0), "destroyed while", "parent's");
  });
  EXPECT_TRUE(eventually([&] { return began && others_sleep(); }));  // it waits
  EXPECT_OK(consort_context_destroy(rt, b));
  waits.join();
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(info(rt, a).unfinished, 1u);  // the rest of b's
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_context_wait(rt, a, 1'000'000, 0), "a context");
  const uint32_t one = 1;
  EXPECT_OK(consort_context_add(rt, a, &one, 1));
  EXPECT_TRUE(eventually([&] { return ran == 10; }));
  EXPECT_EQ(info(rt, a).unfinished, 1u);
  EXPECT_OK(consort_context_destroy(rt, a));
  EXPECT_OK(consort_tag_notify(rt, 7));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 11);
  for (int i = 0; i < 3000; ++i) {  // places are used again
    const auto x = create(rt, {});
    EXPECT_OK(consort_context_destroy(rt, x));
    if (HasFailure()) return;
  }
}

TEST(Contexts, StopRunsTasksOfEmptyContexts) {
  std::atomic<int> ran{0};
  Bodies body;
  Rt rt(kFour);
  const auto c = body(rt, "note", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto a = create(rt, {}, "a");
  const auto b = create(rt, {}, "b", nullptr, a);
  {
    const Inside inside(rt, b);
    for (int i = 0; i < 10; ++i) Desc(c).must(rt);
  }
  EXPECT_OK(rt.stop());
  EXPECT_EQ(ran, 10);
}

TEST(Contexts, ManualPumpIsDeterministic) {
  std::vector<std::pair<uint64_t, uint32_t>> runs[2];
  for (auto &run : runs) {
    Pairs p = kFour;
    p.insert(p.end(), {{"pump", "manual"}, {"seed", "7"}, {"scheduler", "ws"}});
    Rt rt(p);
    Bodies body;
    const auto c = body(rt, "note", [&](const consort_call &call) {
      run.emplace_back(value<uint64_t>(call, 0), call.worker);
      return CONSORT_OK;
    });
    const auto a = create(rt, {1, 2, 3}, "a");
    const uint32_t two = 2;
    for (uint64_t i = 0; i < 200; ++i) {
      const Inside inside(rt, i % 3 ? a : consort_context_id{0});
      Desc(c).arg(i).must(rt);
      if (i == 100) {
        EXPECT_OK(consort_context_remove(rt, a, &two, 1));
      }
      if (i % 40 == 0) (void)consort_step(rt, 1);
    }
    ASSERT_OK(consort_context_wait(rt, a, kLong, 0));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(run.size(), 200u);
  }
  EXPECT_EQ(runs[0], runs[1]);
}

// -- refused ------------------------------------------------------------------------------------------------------

TEST(Contexts, RefusalsNameTheirCause) {
  Rt rt(kFour);
  consort_context_id c{0};
  EXPECT_SAYS(CONSORT_E_INVAL, try_create(rt, {9}, &c), "worker 9 does not exist", "there are 4");
  EXPECT_SAYS(CONSORT_E_INVAL, try_create(rt, {1, 1}, &c), "worker 1", "named twice");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, try_create(rt, {1}, &c, "x", "auto"), "'auto' names others", "for a context");
  EXPECT_LT(try_create(rt, {1}, &c, "x", "no-such"), 0);
  EXPECT_NE(std::string(consort_error()).find("no-such"), std::string::npos);
  EXPECT_SAYS(CONSORT_E_STALE, try_create(rt, {1}, &c, "x", nullptr, {77}), "handle is stale");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_create(rt, nullptr, &c), "NULL");
  EXPECT_EQ(workers_of(rt, {0}), (Ids{0, 1, 2, 3}));
  const auto a = create(rt, {1}, "a"), b = create(rt, {2}, "b");
  const uint32_t one = 1, none = 3;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_add(rt, b, &one, 1), "worker 1 (cpu1)", "in context 'a'",
              "not in the runtime's own context", "consort_context_move()");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_remove(rt, b, &none, 1), "the runtime's own context",
              "not in context 'b'");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_move(rt, b, a, nullptr, 1), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_destroy(rt, {0}), "the runtime's own");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_wait(rt, {0}, kLong, 0), "consort_wait_all()");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_leave(rt), "no context to leave");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_context_set_scheduler(rt, a, "auto"), "for a context");
  EXPECT_OK(consort_context_enter(rt, a));
  EXPECT_OK(consort_context_destroy(rt, a));
  EXPECT_SAYS(CONSORT_E_STALE, Desc().to(rt), "was destroyed", "consort_context_leave()");
  EXPECT_OK(consort_context_leave(rt));
  EXPECT_SAYS(CONSORT_E_STALE, consort_context_enter(rt, a), "destroyed");
  EXPECT_SAYS(CONSORT_E_STALE, consort_context_destroy(rt, a), "destroyed");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_context_of_worker(rt, 4, &c), "worker 4 does not exist");
  Bodies body;
  const auto t = body(rt, "waits", [&](const consort_call &) {
    EXPECT_SAYS(CONSORT_E_BUSY, consort_context_wait(rt, b, kLong, 0), "'waits' must not wait for a context");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_context_leave(rt), "no context to leave");
    const uint32_t three = 3;
    EXPECT_OK(consort_context_add(rt, b, &three, 1));  // from a body, fine
    return CONSORT_OK;
  });
  Desc(t).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(workers_of(rt, b), (Ids{2, 3}));
}

TEST(Contexts, RefusesMoreThan1024Contexts) {
  Rt rt(kFour);
  std::vector<consort_context_id> all;
  for (int i = 0; i < 1024; ++i) {
    consort_context_id c{0};
    ASSERT_OK(try_create(rt, {}, &c, nullptr, "eager"));
    all.push_back(c);
  }
  consort_context_id c{0};
  EXPECT_SAYS(CONSORT_E_NOMEM, try_create(rt, {}, &c, nullptr, "eager"), "1024 contexts");
  EXPECT_OK(consort_context_destroy(rt, all[500]));
  EXPECT_OK(try_create(rt, {}, &c, nullptr, "eager"));
}

}  // namespace
