// A worker continues to get tasks while bodies that it has started wait for tasks which they have submitted, and while
// popped tasks are parked.
#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

void check_none_left(Trial &t, const Tasks &tasks, size_t n) {
  size_t left = 0;
  for (size_t k = 0; k < n; ++k) left += tasks.is_in(k);
  t.check(left == 0, "%zu of %zu tasks do not come out", left, n);
}

// The body of each popped task waits for two tasks that it submits: a tree, opened level by level. The policy is told
// `finished` without a measurement when the wait begins, and nothing more of that task.
void open_tree(Trial &t, std::vector<uint32_t> klass) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), std::move(klass));
  Tasks tasks(t.scaled(255, 1023));
  Instance i(t, p, machine, tasks);
  i.then = Instance::Then::kWaits;
  const uint32_t n = machine.nworkers();
  size_t pushed = 1;
  t.check(i.push(CONSORT_NONE, tasks.range(0, 1)), "push refuses tasks of its own epoch");
  for (uint32_t idle = 0; idle < 8 * n && !t.failed();) {
    const uint32_t w = static_cast<uint32_t>(t.random().below(n));
    t.doing("pop of worker %u, after the push of %zu tasks", w, pushed);
    if (!i.pop(w)) {
      ++idle;
      continue;
    }
    idle = 0;
    if (pushed < tasks.size()) t.check(i.push(w, tasks.range(pushed, pushed + 2)), "push refuses tasks of its own epoch");
    pushed = std::min(pushed + 2, tasks.size());
  }
  i.pop_all();
  check_none_left(t, tasks, pushed);
}

// The only worker has popped tasks that cannot start, and sleeps. Another is pushed: the wake set must name the worker,
// which then pops the task.
void push_beside_parked(Trial &t, uint32_t nparked) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), {0});
  Tasks tasks(40);
  Instance i(t, p, machine, tasks);
  i.then = Instance::Then::kParks;
  t.check(i.push(CONSORT_NONE, tasks.range(0, nparked)), "push refuses tasks of its own epoch");
  std::vector<consort_task *> parked;
  while (consort_task *task = i.pop(0)) parked.push_back(task);
  i.then = Instance::Then::kEnds;
  for (size_t k = nparked; k < tasks.size() && !t.failed(); ++k) {
    Woken woken;
    t.doing("push of task %zu beside %zu that park", k, parked.size());
    t.check(i.push(CONSORT_NONE, tasks.range(k, k + 1), &woken), "push refuses tasks of its own epoch");
    t.check(woken.has(0) && woken.k, "the wake set names no worker, while the tasks that the worker was handed before cannot start");
    i.pop_all();
    t.check(!tasks.is_in(k), "task %zu does not come out beside %zu that cannot start", k, parked.size());
  }
  t.check(parked.empty() || i.push(CONSORT_NONE, parked, nullptr, CONSORT_PUSH_RETRIED), "push refuses tasks of its own epoch");
  i.pop_all();
  check_none_left(t, tasks, tasks.size());
}

}  // namespace

CONFORM_CASE(S, 10, behaviour, wakes_a_worker_beside_a_task_that_parks) { push_beside_parked(t, 1); }
CONFORM_CASE(S, 10, behaviour, wakes_a_worker_beside_tasks_that_park) { push_beside_parked(t, 6); }

CONFORM_CASE(S, 22, behaviour, goes_on_beside_bodies_that_wait) { open_tree(t, {0}); }
CONFORM_CASE(S, 22, behaviour, goes_on_beside_bodies_that_wait_of_four) { open_tree(t, workers_of({4})); }

}  // namespace conform
