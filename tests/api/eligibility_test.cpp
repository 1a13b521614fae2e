// can_execute (COD-14, COD-15): under every policy a task reaches an eligible worker, with an eligible implementation.
// A task without an eligible worker is refused. Counts by worker (COD-19), one function on each worker (DAT-24,
// LIB-02).
#include <atomic>
#include <set>

#include "api/harness.hpp"

namespace {

using namespace consort_test;

struct Ask {
  std::function<int32_t(uint32_t worker, uint32_t impl, consort_task_id)> can;
  std::atomic<int> asked{0};
  static int32_t fn(void *user, uint32_t worker, uint32_t impl, const consort_task_id task) {
    auto &self = *static_cast<Ask *>(user);
    ++self.asked;
    return self.can(worker, impl, task);
  }
};

// Every implementation is for the class "cpu", and tells its own number.
consort_codelet_id asking(consort_runtime *rt, Ask *ask, std::vector<Body> &bodies, uint32_t flags = 0) {
  std::vector<consort_impl> impls;
  for (Body &b : bodies) impls.push_back({"cpu", run_body, &b, nullptr, nullptr, nullptr, nullptr, 0});
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "asking";
  d.flags = flags;
  d.impls = impls.data();
  d.nimpls = static_cast<uint32_t>(impls.size());
  if (ask) d.can_execute = Ask::fn, d.can_execute_user = ask;
  consort_codelet_id id{};
  need(consort_codelet_add(rt, &d, &id), "codelet");
  return id;
}

class Eligibility : public ::testing::TestWithParam<const char *> {
 protected:
  Pairs pairs(const char *workers, const char *pump = "threads") const {
    return {{"cpu.topology", kFourCores}, {"workers", workers}, {"scheduler", GetParam()}, {"pump", pump}};
  }
};
INSTANTIATE_TEST_SUITE_P(All, Eligibility, ::testing::Values("lws", "eager", "prio", "ws", "random"),
                         [](const auto &i) { return std::string(i.param); });

// COD-14: the data and priorities go on as usual; only workers that can run it do.
TEST_P(Eligibility, TasksRunOnlyOnEligibleWorkers) {
  for (const char *pump : {"threads", "manual"}) {
    Rt rt(pairs("4", pump));
    std::atomic<int> wrong{0}, ran{0};
    Ask ask{[](uint32_t worker, uint32_t, consort_task_id) { return worker == 1 || worker == 2; }};
    std::vector<Body> bodies = {
        [&](const consort_call &c) { return wrong += c.worker != 1 && c.worker != 2, ++ran, CONSORT_OK; }};
    const auto c = asking(rt, &ask, bodies);
    int64_t sum = 0;
    const auto x = variable_of(rt, &sum);
    Bodies plain;
    const auto add = plain(rt, "add", [](const consort_call &c) { return ++*pointer<int64_t>(c, 0), CONSORT_OK; });
    for (int i = 0; i < 400; ++i) {
      Desc d(c);
      if (i % 3 == 0) d.rw(x);
      d.priority(i % 4).must(rt);
      if (i % 3 == 1) Desc(add).rw(x).must(rt);
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 400);
    EXPECT_EQ(wrong, 0);
    EXPECT_OK(consort_unregister(rt, x));
    EXPECT_EQ(sum, 133);
    EXPECT_GE(ask.asked, 400);
    EXPECT_OK(consort_codelet_remove(rt, c));
  }
}

// COD-15: of several implementations of one class the first that can; which may depend on worker and task.
TEST_P(Eligibility, PicksTheFirstEligibleImplementation) {
  Rt rt(pairs("2"));
  std::atomic<int> by[3] = {};
  std::vector<Body> bodies;
  for (uint32_t i = 0; i < 3; ++i)
    bodies.push_back([&, i](const consort_call &c) { return by[i] += c.impl == i, CONSORT_OK; });
  Ask ask{[](uint32_t worker, uint32_t impl, consort_task_id) { return worker == 0 ? impl == 2 : impl >= 1; }};
  const auto c = asking(rt, &ask, bodies, CONSORT_CL_STATS);
  for (int i = 0; i < 200; ++i) Desc(c).must(rt);
  for (int i = 0; i < 10; ++i) Desc(c).on(static_cast<uint32_t>(i % 2)).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  uint64_t ran[2] = {};
  EXPECT_OK(consort_codelet_stats(rt, c, ran, 2));
  EXPECT_EQ(by[0], 0);
  EXPECT_EQ(static_cast<uint64_t>(by[1]), ran[1]);
  EXPECT_EQ(static_cast<uint64_t>(by[2]), ran[0]);
  EXPECT_EQ(ran[0] + ran[1], 210u);
  EXPECT_GE(ran[0], 5u);
}

TEST_P(Eligibility, RefusesTasksWithoutAnEligibleWorker) {
  Rt rt(pairs("2"));
  std::atomic<bool> open{false};
  std::vector<Body> bodies = {[](const consort_call &) { return CONSORT_OK; }};
  Ask ask{[&](uint32_t worker, uint32_t, consort_task_id) { return open && worker == 1; }};
  const auto c = asking(rt, &ask, bodies);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(c).to(rt), "'asking'", "none of the 2 workers", "can_execute");
  open = true;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(c).on(0).to(rt), "'asking'", "bound", "can_execute");
  EXPECT_OK(Desc(c).on(1).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  // It turns out later: the task fails, named.
  Gate gate;
  Bodies more;
  const auto stop = more(rt, "stop", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  for (uint32_t w = 0; w < 2; ++w) Desc(stop).on(w).must(rt);
  const auto t = Desc(c).name("too late").must(rt);
  open = false;
  gate.open();
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_wait(rt, t, kLong, 0), "'too late'", "none of the 2 workers");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_wait_all(rt, kLong, 0), "too late");
}

TEST(EligibilityRules, PredicateMayNotSwapWaitOrThrow) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}});
  std::atomic<int> wrong{0};
  std::vector<Body> bodies = {[](const consort_call &) { return CONSORT_OK; }};
  Ask ask{[&](uint32_t worker, uint32_t, consort_task_id) -> int32_t {
    wrong += consort_runtime_set_scheduler(rt, "eager") != CONSORT_E_BUSY;
    wrong += consort_wait_all(rt, kLong, 0) != CONSORT_E_BUSY;
    if (worker == 0) throw 7;
    return 1;
  }};
  const auto c = asking(rt, &ask, bodies, CONSORT_CL_STATS);
  for (int i = 0; i < 50; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(wrong, 0);
  uint64_t ran[2] = {};
  EXPECT_OK(consort_codelet_stats(rt, c, ran, 2));
  EXPECT_EQ(ran[0], 0u);
  EXPECT_EQ(ran[1], 50u);
}

TEST(EligibilityRules, AcceptsDescriptionsOfOlderHeaders) {
  Rt rt;
  Body nothing = [](const consort_call &) { return CONSORT_OK; };
  const consort_impl impl = {"cpu", run_body, &nothing, nullptr, nullptr, nullptr, nullptr, 0};
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "old";
  d.impls = &impl;
  d.nimpls = 1;
  d.size = offsetof(consort_codelet, can_execute);
  d.can_execute = reinterpret_cast<consort_can_execute_fn *>(8);  // beyond the size of the description
  consort_codelet_id id{};
  EXPECT_OK(consort_codelet_add(rt, &d, &id));
  EXPECT_OK(Desc(id).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  d.size -= 4;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &d, &id), "size is");
  d.size = sizeof d;
  d.can_execute = nullptr;
  d.flags = 64;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &d, &id), "'old'", "flags 64");
}

// COD-19
TEST(CodeletStats, CountsByWorker) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "3"}});
  std::vector<Body> bodies = {[](const consort_call &) { return CONSORT_OK; }};
  const auto c = asking(rt, nullptr, bodies, CONSORT_CL_STATS), quiet = asking(rt, nullptr, bodies);
  for (int i = 0; i < 90; ++i) Desc(c).on(static_cast<uint32_t>(i % 3)).must(rt);
  for (int i = 0; i < 30; ++i) Desc(c).must(rt), Desc(quiet).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  uint64_t ran[4] = {7, 7, 7, 7};
  EXPECT_OK(consort_codelet_stats(rt, c, ran, 4));
  EXPECT_EQ(ran[0] + ran[1] + ran[2], 120u);
  for (int w = 0; w < 3; ++w) EXPECT_GE(ran[w], 30u);
  EXPECT_EQ(ran[3], 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_stats(rt, c, ran, 2), "3 workers");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_stats(rt, c, nullptr, 4), "NULL");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_codelet_stats(rt, quiet, ran, 4), "CONSORT_CL_STATS");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_stats(rt, {0}, ran, 4), "no codelet");
  EXPECT_OK(consort_codelet_remove(rt, c));
  EXPECT_SAYS(CONSORT_E_STALE, consort_codelet_stats(rt, c, ran, 4), "removed");
}

// The codelets of a reduction are asked, too, and of no task: about each worker when they are named, and where they are to run.
struct Reducing {
  Rt rt{{{"cpu.topology", kFourCores}, {"workers", "3"}}};
  std::atomic<int> wrong{0}, at_impl[2] = {};
  std::function<bool(uint32_t)> begins = [](uint32_t) { return true; }, combines = begins;
  Ask ask_init{[this](uint32_t w, uint32_t, consort_task_id t) -> int32_t { return wrong += t.v != 0, begins(w); }};
  Ask ask_combine{[this](uint32_t w, uint32_t impl, consort_task_id t) -> int32_t {
    return wrong += t.v != 0, impl == 1 && combines(w);
  }};
  std::vector<Body> zero = {[this](const consort_call &c) {
    wrong += !begins(c.worker);
    return *pointer<int64_t>(c, 0) = 0, CONSORT_OK;
  }};
  Body join = [this](const consort_call &c) {
    wrong += !combines(c.worker), ++at_impl[c.impl];
    return *pointer<int64_t>(c, 0) += *pointer<int64_t>(c, 1), CONSORT_OK;
  };
  std::vector<Body> plus = {join, join};
  Bodies bodies;
  consort_codelet_id init = asking(rt, &ask_init, zero), combine = asking(rt, &ask_combine, plus);
  consort_codelet_id add = bodies(rt, "add", [](const consort_call &c) { return ++*pointer<int64_t>(c, 0), CONSORT_OK; });
  int64_t v = 0;
  consort_data_id x = variable_of(rt, &v, "total");
  consort_status name() { return consort_data_set_reduction(rt, x, init, combine); }
};

TEST(ReductionEligibility, CodeletsRunOnEligibleWorkers) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Reducing r;
    r.begins = [](uint32_t w) { return w != 0; };
    r.combines = [](uint32_t w) { return w != 2; };
    ASSERT_OK(r.name());
    for (int phase = 0; phase < 5; ++phase) {
      for (int i = 0; i < 100; ++i) Desc(r.add).use(r.x, CONSORT_M_REDUX | hint).must(r.rt);
      Desc(r.add).rw(r.x).must(r.rt);
    }
    EXPECT_OK(consort_wait_all(r.rt, kLong, 0));
    EXPECT_OK(consort_unregister(r.rt, r.x));
    EXPECT_EQ(r.v, 505);
    EXPECT_EQ(r.wrong, 0);
    EXPECT_EQ(r.at_impl[0], 0) << "of two implementations the one that can";
    EXPECT_GE(r.at_impl[1], 5);
    EXPECT_GE(r.ask_init.asked, 3);
    EXPECT_OK(consort_codelet_remove(r.rt, r.init));
  }
}

TEST(ReductionEligibility, RefusesCodeletsWithoutAnEligibleWorker) {
  Reducing r;
  r.begins = [](uint32_t) { return false; };
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, r.name(), "'asking'", "begins", "none of the 3 workers", "can_execute");
  r.begins = [](uint32_t w) { return w == 0; };
  r.combines = [](uint32_t) { return false; };
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, r.name(), "combines", "none of the 3 workers");
  r.combines = [](uint32_t w) { return w == 1; };
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, r.name(), "where the other one can begin");
  r.combines = r.begins;
  ASSERT_OK(r.name());
  // Bound to a worker where its data's reduction cannot begin; or able only there by its own word.
  const auto bound = Desc(r.add).use(r.x, CONSORT_M_REDUX).on(1).name("bound").must(r.rt);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_wait(r.rt, bound, kLong, 0), "'bound'", "cpu1", "reduction");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_wait_all(r.rt, kLong, 0), "reduction");
  EXPECT_OK(consort_invalidate(r.rt, r.x));
  Ask elsewhere{[](uint32_t w, uint32_t, consort_task_id) -> int32_t { return w == 2; }};
  std::vector<Body> nothing = {[](const consort_call &) { return CONSORT_OK; }};
  const auto c = asking(r.rt, &elsewhere, nothing);
  const auto lost = Desc(c).use(r.x, CONSORT_M_REDUX).name("lost").must(r.rt);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_wait(r.rt, lost, kLong, 0), "'lost'", "'asking'", "cpu2", "reduction", "workers");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_wait_all(r.rt, kLong, 0), "'lost'");
}

// DAT-24, LIB-02
TEST(RunOnEach, CallsTheFunctionOnceOnEachWorker) {
  for (const char *pump : {"threads", "manual"}) {
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "4"}, {"pump", pump}, {"window", "2"}});
    struct Seen {
      std::mutex mutex;
      std::multiset<uint32_t> workers;
    } seen;
    const auto fn = [](const consort_call *c) -> consort_status {
      auto &s = *static_cast<Seen *>(c->user);
      std::lock_guard lock(s.mutex);
      s.workers.insert(c->worker);
      return CONSORT_OK;
    };
    EXPECT_OK(consort_run_on_each(rt, nullptr, fn, &seen));
    EXPECT_EQ(seen.workers, (std::multiset<uint32_t>{0, 1, 2, 3}));
    EXPECT_OK(consort_run_on_each(rt, "cpu", fn, &seen));
    EXPECT_EQ(seen.workers.size(), 8u);
    EXPECT_SAYS(CONSORT_E_INVAL, consort_run_on_each(rt, "cpus", fn, &seen), "no worker", "\"cpus\"",
                "did you mean \"cpu\"");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_run_on_each(rt, nullptr, nullptr, &seen), "fn is NULL");
    EXPECT_SAYS(CONSORT_E_IO, consort_run_on_each(rt, nullptr, [](const consort_call *c) {
      return c->worker == 2 ? consort_fail(CONSORT_E_IO, "library not found") : CONSORT_OK;
    }, nullptr), "library not found", "on each worker");
    Bodies body;
    std::atomic<int> busy{0};
    const auto inside = body(rt, "inside", [&](const consort_call &) {
      busy += consort_run_on_each(rt, nullptr, fn, &seen) == CONSORT_E_BUSY;
      return CONSORT_OK;
    });
    struct Told {
      consort_runtime *rt;
      std::atomic<int> *busy;
    } told{rt, &busy};
    Desc(inside).done([](void *p, const consort_outcome *) {
      auto &t = *static_cast<Told *>(p);
      *t.busy +=
          consort_run_on_each(
              t.rt, nullptr, [](const consort_call *) -> consort_status { return 0; }, nullptr) == CONSORT_E_BUSY;
    }, &told).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(busy, 2);
    EXPECT_EQ(seen.workers.size(), 8u);
  }
}

}  // namespace
