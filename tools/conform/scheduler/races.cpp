// Two concurrent calls, one of them stopped before each of its instructions: with epochs, with quiesce, with a change
// of workers, with each other.
#include "conform/scheduler/instance.hpp"
#include "conform/stepper.hpp"

namespace conform {
namespace {

constexpr uint64_t kSteps = 100'000;             // executed in all, for a pair of calls

struct RaceStage {
  explicit RaceStage(Trial &t)
      : plugin(t), machine((plugin.host().set_virtual(1'000'000), plugin.host()), workers_of({2})), tasks(8),
        stepper(t.subject().path), instance(t, plugin, machine, tasks) {}
  std::vector<consort_task *> one(size_t k) { return tasks.range(k, k + 1); }
  Plugin plugin;
  Machine machine;
  Tasks tasks;
  Stepper stepper;
  Instance instance;
};

void need_stepper(Trial &t) {
  if (!Stepper::can()) t.skip("calls are stopped before an instruction on x86-64 alone, without a sanitizer");
}

// A function that is stopped at each instruction: quiesce must see that it is inside.
struct Visit {
  const char *name;
  std::function<void(RaceStage &)> call;
};

void look_for_visitor(Trial &t, const Visit &v) {
  RaceStage s(t);
  Instance &i = s.instance;
  i.drain(CONSORT_NEVER);                        // closed: later calls find nothing, and are inside nevertheless
  t.doing("%s, counting its instructions", v.name);
  const auto points = s.stepper.points([&] { v.call(s); }, kSteps);
  size_t refused = 0, waited = 0, asked = 0;
  for (const uint64_t k : points) {
    t.doing("%s, stopped before instruction %llu, while the closed instance is asked to be quiet", v.name, big(k));
    consort_status answer = CONSORT_OK;
    const auto how = s.stepper.race(k, [&] { v.call(s); }, [&] { answer = i.quiesce(0); });  // its deadline has passed
    t.check(i.quiesce(0) == CONSORT_OK, "quiesce does not answer OK though %s has returned", v.name);
    if (t.failed()) return;
    if (how == Stepper::Other::kNotStopped) continue;
    ++asked;
    if (how == Stepper::Other::kWaited) ++waited;
    else if (answer < 0) ++refused;
    if (refused > 4 || waited > 20) break;
  }
  t.figure("%s: stopped %zu times, quiesce refused %zu times and waited %zu times", v.name, asked, refused, waited);
  if (!asked || refused) return;
  t.check(waited != 0, "quiesce answers OK while %s is inside, stopped before any of %zu of its instructions", v.name, asked);
  t.check(waited == 0, "quiesce does not come back at its deadline while %s is inside", v.name);
}

}  // namespace

CONFORM_CASE(S, 21, threads, quiesce_sees_calls_inside) {
  need_stepper(t);
  const Visit visits[] = {
      {"pop", [](RaceStage &s) { s.instance.pop(0); }},
      {"push", [](RaceStage &s) { s.instance.push_as(Instance::kEpoch, CONSORT_NONE, s.one(5)); }},
      {"dropped", [](RaceStage &s) {
         if (s.instance.ops().dropped) s.instance.drop(s.tasks.range(0, 3));
       }},
  };
  for (const Visit &v : visits) look_for_visitor(t, v);
}

CONFORM_CASE(S, 21, threads, a_refused_push_is_not_inside) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2}));
  Tasks tasks(4);
  Instance i(t, p, machine, tasks);
  i.drain(CONSORT_NEVER);
  for (const uint32_t from : {uint32_t{0}, uint32_t{CONSORT_NONE}}) i.push_as(Instance::kEpoch, from, tasks.range(0, 2));
  i.pop(0);
  if (i.ops().dropped) i.drop(tasks.range(0, 4));
  t.check(i.quiesce(0) == CONSORT_OK, "quiesce does not answer OK after pushes of another epoch, a pop and a dropped that have returned");
}

// As the kernel reuses an instance: it is closed and quiet, gets other workers, and is opened for another context.
CONFORM_CASE(S, 36, threads, a_pop_that_stands_learns_of_other_workers) {
  need_stepper(t);
  RaceStage s(t);
  Instance &i = s.instance;
  uint64_t epoch = i.epoch();
  const auto pop = [&] { i.pop(1); };            // checks that a worker which gets a task is served
  const auto reuse = [&] {
    if (i.quiesce(0) < 0) return;                // it sees the pop: the kernel does not reuse such an instance
    if (!t.check(i.workers({}, {1}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str())) return;
    i.drain(++epoch);
    i.push(0, s.one(0));
    i.push(CONSORT_NONE, s.one(1));
  };
  i.drain(CONSORT_NEVER);
  t.doing("pop, counting its instructions");
  size_t reused = 0, seen = 0;
  for (const uint64_t k : s.stepper.points(pop, kSteps)) {
    if (seen == 8) break;                        // in a row: it stays inside
    t.doing("pop of worker 1, stopped before instruction %llu, while the closed instance is quiet, loses worker 1 and is given tasks", big(k));
    s.stepper.race(k, pop, reuse);
    if (t.failed()) return;
    if (i.serves(1)) {
      ++seen;
      continue;
    }
    seen = 0, ++reused;
    i.pop_all({0});
    t.need(s.tasks.count_in() == 0, "%zu tasks do not come out to worker 0 once worker 1 is taken away", s.tasks.count_in());
    i.drain(CONSORT_NEVER);
    t.need(i.workers({1}, {}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str());
  }
  t.figure("pop: the instance was reused beside it %zu times", reused);
}

CONFORM_CASE(S, 31, threads, drain_meets_a_push_that_stands) {
  need_stepper(t);
  RaceStage s(t);
  Instance &i = s.instance;
  uint64_t epoch = i.epoch();
  std::atomic<bool> accepted{false};
  const auto push = [&] { accepted = i.push_as(epoch, CONSORT_NONE, s.one(0)); };
  const auto drain = [&] { i.drain(epoch + 1); };
  for (const bool push_stands : {true, false}) {
    const char *what = push_stands ? "push" : "drain";
    t.doing("%s, counting its instructions", what);
    const auto points = push_stands ? s.stepper.points(push, kSteps) : s.stepper.points(drain, kSteps);
    for (const uint64_t k : points) {
      i.drain(++epoch);
      accepted = false;
      t.doing("%s, stopped before instruction %llu, beside a %s", what, big(k), push_stands ? "drain" : "push");
      const auto how = push_stands ? s.stepper.race(k, push, drain) : s.stepper.race(k, drain, push);
      if (how == Stepper::Other::kNotStopped) {
        i.drain(++epoch);
        continue;
      }
      t.need(!accepted || !s.tasks.is_in(0),
             "%s stands before one of its instructions while %s: push has taken the task, and drain has answered 0 without it", what,
             push_stands ? "drain sets another epoch" : "a push comes");
      ++epoch;
    }
  }
}

CONFORM_CASE(S, 30, threads, calls_that_stand_lose_nothing) {
  need_stepper(t);
  RaceStage s(t);
  Instance &i = s.instance;
  const std::function<void()> calls[] = {
      [&] { i.pop(0); },
      [&] { i.pop(1); },
      [&] { i.push(0, s.one(6)); },
      [&] { i.push(CONSORT_NONE, s.one(7)); },
  };
  const char *names[] = {"pop of worker 0", "pop of worker 1", "push by worker 0", "push by an outsider"};
  constexpr size_t pairs[][2] = {{0, 1}, {0, 3}, {2, 3}, {3, 0}};
  for (const auto &[stands, runs] : pairs) {
    i.push(CONSORT_NONE, s.tasks.range(0, 2));
    t.doing("%s, counting its instructions", names[stands]);
    const auto points = s.stepper.points(calls[stands], kSteps / 4, 40);
    i.pop_all();
    for (const uint64_t k : points) {
      i.push(CONSORT_NONE, s.tasks.range(0, 2));
      t.doing("%s, stopped before instruction %llu, beside a %s", names[stands], big(k), names[runs]);
      s.stepper.race(k, calls[stands], calls[runs]);
      i.pop_all();
      t.need(s.tasks.count_in() == 0 && !t.failed(), "%s stands before one of its instructions while a %s runs: %zu tasks do not come out",
             names[stands], names[runs], s.tasks.count_in());
    }
  }
}

}  // namespace conform
