// Looking: counts, workers, explanations, the trace; and the manual pump, where the same seed gives the same run.
#include <consort/clock.h>
#include <consort/settings.h>

#include "api/introspection.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

std::string explain(consort_runtime *rt, consort_task_id t) {
  std::string text(consort_explain(rt, t, nullptr, 0) + 1000, '\0');
  const uint64_t n = consort_explain(rt, t, text.data(), text.size());
  EXPECT_LT(n, text.size());
  text.resize(std::min<size_t>(n, text.size()));
  return text;
}

TEST(Introspection, InfoCountsTasksAndUnits) {
  Rt rt({{"workers", "3"}, {"cpu.topology", kFourCores}, {"scheduler", "eager"}});
  const auto c = codelet(rt, "nop", nothing);
  for (int i = 0; i < 10; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  const auto i = info(rt);
  EXPECT_EQ(i.nworkers, 3u);
  EXPECT_GE(i.nspaces, 1u);
  EXPECT_GE(i.nclasses, 1u);
  EXPECT_STREQ(i.scheduler, "eager");
  EXPECT_EQ(i.submitted, 10u);
  EXPECT_EQ(i.finished, 10u);
  EXPECT_EQ(i.data, 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_info(rt, nullptr), "NULL");
  consort_info small{};
  small.size = 8;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_info(rt, &small), "size");
}

TEST(Introspection, WorkerInfoCountsTasks) {
  Rt rt({{"workers", "3"}, {"cpu.topology", kFourCores}});
  const auto c = codelet(rt, "nop", nothing);
  for (int i = 0; i < 90; ++i) Desc(c).on(static_cast<uint32_t>(i % 3)).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  std::vector<std::string> names;
  for (uint32_t w = 0; w < 3; ++w) {
    const auto i = worker(rt, w);
    EXPECT_EQ(i.id, w);
    EXPECT_STREQ(i.klass, "cpu");
    EXPECT_STRNE(i.arch, "");
    EXPECT_EQ(i.tasks, 30u);
    EXPECT_EQ(i.busy_ns, 0u) << "profile is off";
    EXPECT_LT(i.space, info(rt).nspaces);
    names.push_back(i.name);
  }
  EXPECT_NE(names[0], names[1]);
  EXPECT_NE(names[1], names[2]);
  consort_worker_info i{};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_worker(rt, 0, &i), "size");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_worker(rt, 0, nullptr), "NULL");
  i.size = sizeof i;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_worker(rt, 3, &i), "worker 3", "3");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_worker(rt, CONSORT_NONE, &i), "worker");
}

TEST(Introspection, ProfileMeasuresBusyTime) {
  Rt rt({{"workers", "1"}, {"profile", "true"}});
  Bodies body;
  // nap: a time that is measured, of which the test knows a lower bound
  Desc(body(rt, "nap", [](const consort_call &) { return std::this_thread::sleep_for(5ms), CONSORT_OK; })).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_GE(worker(rt, 0).busy_ns, 4'000'000u);
  EXPECT_LT(worker(rt, 0).busy_ns, 20'000'000'000u);
}

// PFL-01. Also within a running task: only tasks that start while it is on are counted.
TEST(Introspection, ProfileIsSwitchedWhileTasksRun) {
  Rt rt(Pairs{{"workers", "1"}});
  std::vector<uint64_t> told;  // the times of starts
  ASSERT_OK(consort_trace(rt, [](void *user, const consort_trace_event *e) {
    if (e->what == 0) static_cast<std::vector<uint64_t> *>(user)->push_back(e->t_ns);
  }, &told));
  Bodies body;
  // nap: a time that is measured, of which the test knows a lower bound
  const auto nap = body(rt, "nap", [](const consort_call &) { return std::this_thread::sleep_for(5ms), CONSORT_OK; });
  const auto run = [&] {
    Desc(nap).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    return worker(rt, 0).busy_ns;
  };
  EXPECT_EQ(run(), 0u);
  int32_t was = 7;
  ASSERT_OK(consort_runtime_set_profile(rt, 1, &was));
  EXPECT_EQ(was, 0);
  const uint64_t once = run();
  EXPECT_GE(once, 4'000'000u);
  ASSERT_OK(consort_runtime_set_profile(rt, 0, &was));
  EXPECT_EQ(was, 1);
  EXPECT_EQ(run(), once) << "what was counted stays";
  Desc(body(rt, "switch on", [&](const consort_call &) { return consort_runtime_set_profile(rt, 1, nullptr); })).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(worker(rt, 0).busy_ns, once) << "it started before";
  EXPECT_GE(run(), once + 4'000'000);
  ASSERT_EQ(told.size(), 5u);
  for (const size_t off : {0, 2, 3}) EXPECT_EQ(told[off], 0u);
  for (const size_t on : {1, 4}) EXPECT_GT(told[on], 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_runtime_set_profile(nullptr, 1, nullptr));
}

// Tasks that run on the worker while a body waits are counted once.
TEST(Introspection, WaitingBodiesAreNotBusy) {
  for (const char *pump : {"threads", "manual"}) {
    SCOPED_TRACE(pump);
    Rt rt({{"workers", "1"}, {"profile", "true"}, {"pump", pump}});
    Bodies body;
    // nap: a time that is measured, of which the test knows a lower bound
    const auto child = body(rt, "nap", [](const consort_call &) { return std::this_thread::sleep_for(5ms), CONSORT_OK; });
    const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
      for (int i = 0; i < 4; ++i)
        if (const auto s = consort_task_wait(rt, Desc(child).must(rt), kLong, 0); s < 0) return s;
      return CONSORT_OK;
    });
    uint64_t before = 0, after = 0;
    EXPECT_OK(consort_now(rt, &before));
    Desc(parent).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_OK(consort_now(rt, &after));
    EXPECT_LE(worker(rt, 0).busy_ns, after - before);
    if (std::strcmp(pump, "manual")) {
      EXPECT_GE(worker(rt, 0).busy_ns, 19'000'000u);
    }
  }
}

TEST(Introspection, ExplainNamesTheBlockingDatum) {
  Rt rt;
  Bodies body;
  int x = 0;
  Gate gate;
  const auto a = variable_of(rt, &x, "the bottleneck");
  const auto door = body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto nop = codelet(rt, "nop", nothing);
  Desc(door).rw(a).must(rt);
  const auto t = Desc(nop).rw(a).name("patient").must(rt);
  EXPECT_NE(explain(rt, t).find("wait"), std::string::npos) << explain(rt, t);
  EXPECT_NE(explain(rt, {0}).find("pending"), std::string::npos) << explain(rt, {0});
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_NE(explain(rt, t).find("finished"), std::string::npos) << explain(rt, t);
  EXPECT_FALSE(explain(rt, {~uint64_t{0}}).empty());
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_RW, kLong, &hold));
  EXPECT_NE(explain(rt, {0}).find("the bottleneck"), std::string::npos)
      << "data held by the application are named: " << explain(rt, {0});
  EXPECT_OK(consort_release(rt, hold));
  char tiny[5] = "????";
  EXPECT_GT(consort_explain(rt, {0}, tiny, sizeof tiny), 5u);
  EXPECT_EQ(tiny[4], '\0');
  // the answer may change between two queries: a worker goes to sleep
  EXPECT_TRUE(eventually(
      [&] { return consort_explain(rt, {0}, tiny, 0) == consort_explain(rt, {0}, tiny, sizeof tiny); }));
}

// TSK-24: invalid, blocked by a datum, a task or a tag, ready, running, over, failed, and ended for the body alone.
TEST(Introspection, ExplainCoversEveryTaskState) {
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}});
  Bodies body;
  int v = 0;
  Gate gate;
  const auto x = variable_of(rt, &v, "x");
  std::atomic<uint64_t> running{0};
  std::string inside;
  const auto door = body(rt, "door", [&](const consort_call &) {
    const consort_task_id me = consort_current_task(rt);
    inside = Answer(consort_task_state(rt, me)).status == CONSORT_AGAIN ? explain(rt, me) : "over";
    running = me.v;
    gate.pass();
    return CONSORT_OK;
  });
  const auto nop = codelet(rt, "nop", nothing);
  const auto told = [&](consort_task_id t, consort_status state, std::initializer_list<const char *> words) {
    EXPECT_EQ(consort_task_state(rt, t), state);
    for (const char *word : words) EXPECT_NE(explain(rt, t).find(word), std::string::npos) << explain(rt, t);
  };
  told({0}, CONSORT_E_INVAL, {"0 tasks submitted"});
  told({uint64_t{1} << 60 | 77}, CONSORT_E_INVAL, {"no task of this runtime"});
  const auto at_work = Desc(door).rw(x).must(rt);
  ASSERT_TRUE(eventually([&] { return running.load() != 0; }));
  EXPECT_EQ(running, at_work.v) << "consort_current_task() in the body";
  EXPECT_NE(inside.find("ready or running"), std::string::npos) << inside;
  told(at_work, CONSORT_AGAIN, {"ready or running"});
  const auto ready = Desc(nop).must(rt);
  told(ready, CONSORT_AGAIN, {"ready or running", "nothing but a worker"});
  const std::string by_the_door = "waits for task #" + std::to_string(at_work.v), by_ready = "waits for task #" + std::to_string(ready.v);
  const auto on_data = Desc(nop).rw(x).must(rt), on_task = Desc(nop).then(ready).must(rt);
  told(on_data, CONSORT_AGAIN, {by_the_door.c_str()});
  told(on_task, CONSORT_AGAIN, {by_ready.c_str()});
  Desc tagged(nop), held(nop), bad(body(rt, "bad", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "on purpose"); }));
  consort_task_more by_tag = CONSORT_TASK_MORE_INIT, by_hold = CONSORT_TASK_MORE_INIT;
  by_tag.flags = CONSORT_MORE_TAG, by_tag.tag = 8, by_hold.end_holds = 1;
  const uint64_t seven = 7;
  ASSERT_OK(consort_tag_after(rt, 8, &seven, 1));
  tagged.d.more = &by_tag, held.d.more = &by_hold;
  const auto on_tag = tagged.must(rt), half = held.must(rt), failed = bad.must(rt);
  told(on_tag, CONSORT_AGAIN, {"waits for", "tag 7"});
  gate.open();
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, failed, kLong, 0), "on purpose");
  EXPECT_OK(consort_task_wait(rt, on_data, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, on_task, kLong, 0));
  told(on_data, CONSORT_OK, {"finished"});
  told(failed, CONSORT_OK, {"'bad' failed", "on purpose"});
  EXPECT_TRUE(eventually([&] { return explain(rt, half).find("running or over") != std::string::npos; }));
  told(half, CONSORT_AGAIN, {"its end is held 1 times"});
  Gate second;  // it had a predecessor, which has ended
  const auto late = Desc(body(rt, "late", [&](const consort_call &) { return second.pass(), CONSORT_OK; })).rw(x).must(rt);
  ASSERT_TRUE(eventually([&] { return second.waiting() == 1; }));
  told(late, CONSORT_AGAIN, {"ready or running"});
  second.open();
  EXPECT_OK(consort_task_end_release(rt, half));
  EXPECT_OK(consort_tag_notify(rt, 7));
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "on purpose");
  told(half, CONSORT_OK, {"finished"});
  told(on_tag, CONSORT_OK, {"finished"});
}

struct Events {
  struct Event { uint64_t task; uint32_t worker, what; std::string name; uint64_t t; };
  std::mutex mutex;
  std::vector<Event> all;
  static void note(void *p, const consort_trace_event *e) {
    auto *self = static_cast<Events *>(p);
    std::lock_guard lock(self->mutex);
    self->all.push_back({e->task, e->worker, e->what, e->name ? e->name : "", e->t_ns});
  }
};

TEST(Introspection, TraceReportsStartAndEndOfEachTask) {
  Rt rt;
  Events events;
  ASSERT_OK(consort_trace(rt, Events::note, &events));
  const auto c = codelet(rt, "traced", nothing);
  std::vector<uint64_t> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(Desc(c).must(rt).v);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_trace(rt, nullptr, nullptr), "submitted");
  rt.stop();
  ASSERT_EQ(events.all.size(), 400u);
  for (const uint64_t id : ids) {
    int starts = 0, ends = 0;
    for (const auto &e : events.all) {
      if (e.task != id) continue;
      (e.what ? ends : starts)++;
      EXPECT_EQ(starts, 1);
      EXPECT_EQ(e.name, "traced");
      EXPECT_LT(e.worker, 2u);
      EXPECT_EQ(e.t, 0u) << "profile is off";
    }
    EXPECT_EQ(starts, 1);
    EXPECT_EQ(ends, 1);
  }
}

// -- one thread pumps --------------------------------------------------------------------------------------------

TEST(ManualPump, StepNeedsTheManualPump) {
  Rt rt;
  EXPECT_SAYS(CONSORT_E_BUSY, consort_step(rt, 0), "pump", "manual");
}

TEST(ManualPump, StepRunsOneTask) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", "manual"}, {"scheduler", "eager"}});
  std::atomic<int> ran{0};
  Bodies body;
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  EXPECT_EQ(consort_step(rt, 0), CONSORT_AGAIN);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_step(rt, 2), "worker 2");
  for (int i = 0; i < 10; ++i) Desc(c).must(rt);
  EXPECT_TRUE(settled());
  EXPECT_EQ(ran, 0) << "only step() runs tasks";
  int steps = 0;
  while (ran < 10 && steps < 1000) EXPECT_GE(consort_step(rt, static_cast<uint32_t>(steps++ % 2)), 0);
  EXPECT_EQ(ran, 10);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(consort_step(rt, 0), CONSORT_AGAIN);
}

TEST(ManualPump, StepInsideATaskIsBusy) {
  Rt rt({{"workers", "1"}, {"pump", "manual"}});
  Bodies body;
  Answer inside(0);
  Desc(body(rt, "steps", [&](const consort_call &) {
    return inside = Answer(consort_step(rt, 0)), CONSORT_OK;
  })).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, inside, {}));
}

TEST(ManualPump, WaitTimesOutAlone) {
  Rt rt({{"workers", "1"}, {"pump", "manual"}});
  int x = 0;
  const auto a = variable_of(rt, &x);
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_RW, kLong, &hold));
  const auto t = Desc(codelet(rt, "nop", nothing)).rw(a).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 1'000'000, 0), "time");
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
}

// A little program with chains, fans and nesting; its trace as text.
std::string trace_of(const char *scheduler, const char *seed) {
  Rt rt({{"workers", "4"}, {"cpu.topology", kFourCores}, {"pump", "manual"}, {"scheduler", scheduler}, {"seed", seed}});
  Events events;
  need(consort_trace(rt, Events::note, &events), "trace");
  long v[4] = {};
  std::vector<consort_data_id> d;
  for (long &e : v) d.push_back(variable_of(rt, &e));
  Bodies body;
  const auto leaf = body(rt, "leaf", [](const consort_call &k) {
    return *pointer<long>(k, 0) = *pointer<long>(k, 0) * 3 + 1, CONSORT_OK;
  });
  const auto parent = body(rt, "parent", [&](const consort_call &) { return Desc(leaf).rw(d[1]).to(rt); });
  const auto fan = body(rt, "fan", [](const consort_call &) { return CONSORT_OK; });
  for (int i = 0; i < 40; ++i) {
    Desc(leaf).rw(d[static_cast<size_t>(i) % 4]).priority(i % 3).must(rt);
    if (i % 5 == 0) Desc(parent).must(rt);
    Desc(fan).r(d[static_cast<size_t>(i * 7) % 4]).must(rt);
  }
  need(consort_wait_all(rt, kLong, 0), "wait");
  std::string out;
  for (const auto &e : events.all)
    out += std::to_string(e.worker) + (e.what ? "-" : "+") + e.name + std::to_string(e.task) + " ";
  rt.stop();
  EXPECT_EQ(events.all.size(), 2u * (40 + 40 + 8 + 8));
  // In whatever order: chains gave the same values.
  long expected[4] = {};
  for (int i = 0; i < 4; ++i)
    for (int n = i == 1 ? 18 : 10; n--;) expected[i] = expected[i] * 3 + 1;
  for (int i = 0; i < 4; ++i) EXPECT_EQ(v[i], expected[i]) << "datum " << i << ", seed " << seed;
  return out;
}

class DeterministicRuns : public ::testing::TestWithParam<const char *> {};
TEST_P(DeterministicRuns, SameSeedGivesTheSameTrace) {
  std::vector<std::string> traces;
  for (const char *seed : {"1", "2", "3", "12345678901"}) {
    traces.push_back(trace_of(GetParam(), seed));
    for (int again = 0; again < 3; ++again) EXPECT_EQ(trace_of(GetParam(), seed), traces.back()) << "seed " << seed;
  }
  EXPECT_TRUE(traces[0] != traces[1] || traces[1] != traces[2] || traces[2] != traces[3]) << "the seed changes nothing";
}
INSTANTIATE_TEST_SUITE_P(Pump, DeterministicRuns, ::testing::Values("eager", "prio", "lws", "ws", "random"),
                         [](const auto &i) { return std::string(i.param); });

}  // namespace
