// Each pushed task is popped once, by a worker that can run it, unchanged.
#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

// Pushes all tasks in random batches, by workers and outside threads; pops in between.
void push_and_pop(Trial &t, Instance &i, Tasks &tasks, uint32_t most = 8) {
  Random &random = t.random();
  const uint32_t n = i.machine().nworkers();
  i.submitted(tasks.range(0, tasks.size() / 2));  // the rest is not announced
  for (size_t pushed = 0; pushed < tasks.size() && t.has_time();) {
    const size_t batch = 1 + random.below(most);
    const uint32_t from = static_cast<uint32_t>(random.below(n + 1));
    t.doing("push of tasks %zu to %zu", pushed, pushed + batch - 1);
    t.check(i.push(from == n ? CONSORT_NONE : from, tasks.range(pushed, pushed + batch)), "push refuses tasks of its own epoch");
    pushed += batch;
    t.doing("pop after the push of %zu tasks", pushed);
    for (uint64_t k = random.below(2 * most); k > 0; --k) i.pop(static_cast<uint32_t>(random.below(n)));
  }
  t.doing("pop of the rest");
  i.pop_all();
}

void check_all_out(Trial &t, const Tasks &tasks) {
  unsigned lost = 0;
  for (size_t k = 0; k < tasks.size(); ++k)
    if (tasks.is_in(k) && ++lost <= 3) t.check(false, "task %zu was pushed and does not come out any more", k);
  if (lost > 3) t.check(false, "%u tasks are lost in all", lost);
}

void run(Trial &t, const std::vector<uint32_t> &klass, size_t n, bool priorities) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), klass);
  Tasks tasks(n);
  tasks.vary(t.random(), machine.topology()->nclasses, priorities);
  Instance i(t, p, machine, tasks);
  push_and_pop(t, i, tasks);
  check_all_out(t, tasks);
}

}  // namespace

CONFORM_CASE(S, 1, behaviour, one_worker) { run(t, {0}, t.scaled(200, 5000), false); }
CONFORM_CASE(S, 1, behaviour, four_workers) { run(t, workers_of({4}), t.scaled(1000, 20000), false); }
CONFORM_CASE(S, 1, behaviour, with_priorities) { run(t, workers_of({4}), t.scaled(1000, 20000), true); }

CONFORM_CASE(S, 1, behaviour, large_batches) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({3}));
  Tasks tasks(t.scaled(6000, 40000));  // more than any queue of fixed size holds
  Instance i(t, p, machine, tasks);
  t.check(i.push(0, tasks.range(0, tasks.size() / 2)), "push refuses tasks of its own epoch");
  t.check(i.push(CONSORT_NONE, tasks.range(tasks.size() / 2, tasks.size())), "push refuses tasks of its own epoch");
  t.doing("pop, many at once");
  for (bool any = true; any && !t.failed();) {
    any = false;
    for (uint32_t w = 0; w < 3; ++w) {
      consort_task *some[16];
      any = i.pop(w, some, 1 + static_cast<uint32_t>(t.random().below(16))) || any;
    }
  }
  i.pop_all();
  check_all_out(t, tasks);
}

CONFORM_CASE(S, 2, behaviour, two_classes) { run(t, workers_of({3, 2}), t.scaled(1000, 20000), false); }
// A policy may have a limit, which it then reports.
static void need_classes(Trial &t, uint32_t n) {
  Plugin p(t);
  Machine machine(p.host(), workers_of(std::vector<uint32_t>(n, 1)));
  const consort_scheduler_ops ops = p.ops<consort_scheduler_ops>();
  void *s = nullptr;
  t.doing("create, for a machine of %u classes", n);
  if (ops.create(p.self(), p.table(), machine.topology(), 1, &s) < 0) t.skip("no instance for %u classes: %s", n, p.host().failure().c_str());
  ops.destroy(s);
}

CONFORM_CASE(S, 2, behaviour, forty_classes) {
  need_classes(t, 40);
  run(t, workers_of(std::vector<uint32_t>(40, 1)), t.scaled(800, 8000), false);
}

CONFORM_CASE(S, 2, behaviour, one_of_forty_classes) {
  need_classes(t, 40);
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of(std::vector<uint32_t>(40, 1)));
  Tasks tasks(200);
  for (size_t k = 0; k < tasks.size(); ++k) tasks[k]->where = uint64_t{1} << k % 40, tasks.remember(k);
  Instance i(t, p, machine, tasks);
  push_and_pop(t, i, tasks);
  check_all_out(t, tasks);
}
CONFORM_CASE(S, 2, behaviour, three_classes) { run(t, workers_of({2, 1, 1}), t.scaled(1000, 20000), true); }

CONFORM_CASE(S, 3, behaviour, others_do_not_block) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({1, 1, 1}));
  Tasks tasks(301);
  tasks.vary(t.random(), 1, false);
  Instance i(t, p, machine, tasks);
  t.check(i.push(CONSORT_NONE, tasks.range(0, 300)), "push refuses tasks of its own epoch");
  t.doing("pop of worker 1, of class 1, while 300 tasks of class 0 wait");
  t.check(!i.pop(1), "a worker is given what it cannot run");
  tasks[300]->where = 2;
  tasks.remember(300);
  t.check(i.push(0, tasks.range(300, 301)), "push refuses tasks of its own epoch");
  bool found = false;
  for (int tries = 0; tries < 8 && !found; ++tries) {
    p.host().set_virtual(p.host().now() + 1'000'000);
    if (i.ops().flush) i.ops().flush(i.raw());
    found = i.pop(1) == tasks[300];
  }
  t.check(found, "worker 1 is not given the one task of its class while 300 wait that it cannot run");
  i.pop_all();
  check_all_out(t, tasks);
}

CONFORM_CASE(S, 4, behaviour, keeps_within_what_it_is_given) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2}));
  Tasks tasks(256);
  Instance i(t, p, machine, tasks);
  t.check(i.push(CONSORT_NONE, tasks.range(0, 256)), "push refuses tasks of its own epoch");
  consort_task *some[64];
  t.doing("pop of at most 0");
  i.pop(0, some, 0);
  for (uint32_t most = 1; most <= 20; ++most) {
    t.doing("pop of at most %u", most);
    i.pop(most % 2, some, most);
  }
  for (uint32_t most : {1u, 2u, 5u}) {
    i.drain(i.epoch() + 1, most);
    i.push(CONSORT_NONE, tasks.range(0, 40), nullptr, CONSORT_PUSH_RETRIED);
  }
  i.drain(CONSORT_NEVER, 1);
  check_all_out(t, tasks);
}

CONFORM_CASE(S, 5, behaviour, writes_sched_alone) { run(t, workers_of({2, 2}), t.scaled(300, 5000), true); }

CONFORM_CASE(S, 11, behaviour, a_hundred_workers) {
  for (const auto &klass : {workers_of({100}), workers_of({65, 10})}) run(t, klass, t.scaled(1500, 20000), false);
}

CONFORM_CASE(S, 17, behaviour, pushed_again) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(60);
  tasks.vary(t.random(), 2, true);
  Instance i(t, p, machine, tasks);
  t.check(i.push(CONSORT_NONE, tasks.range(0, 60)), "push refuses tasks of its own epoch");
  for (uint64_t k = t.scaled(2000, 20000); k > 0; --k) {
    const uint32_t w = static_cast<uint32_t>(t.random().below(3));
    if (consort_task *task = i.pop(w)) {
      t.doing("push of task %llu, that came out before", static_cast<unsigned long long>(task->id));
      t.check(i.push(t.random().one_in(2) ? w : CONSORT_NONE, {task}, nullptr, CONSORT_PUSH_RETRIED), "push refuses a task that came out");
    }
  }
  i.pop_all();
  check_all_out(t, tasks);
}

CONFORM_CASE(S, 19, behaviour, keeps_tasks_that_no_worker_can_run) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(40);
  tasks.vary(t.random(), 2, false);
  const std::vector<uint32_t> members = {0, 1};
  Instance i(t, p, machine, tasks, Instance::kEpoch, &members);
  for (size_t k = 0; k < 40; ++k) tasks[k]->where = k % 2 ? 2 : 1, tasks.remember(k);
  t.check(i.push(CONSORT_NONE, tasks.range(0, 40)), "push refuses tasks of its own epoch");
  i.pop_all(members);
  for (size_t k = 0; k < 40; k += 2) t.check(!tasks.is_in(k), "task %zu does not come out while others wait that no worker can run", k);
  const size_t back = i.drain(CONSORT_NEVER).size();
  t.check(back == 20, "drain gives back %zu of 20 tasks that no worker could run", back);
}

CONFORM_CASE(S, 16, behaviour, instances_are_apart) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({4}));
  Tasks tasks(t.scaled(400, 4000));
  const std::vector<uint32_t> left = {0, 1}, right = {2, 3};
  Instance a(t, p, machine, tasks, 7, &left), b(t, p, machine, tasks, 8, &right);
  for (size_t k = 0; k < tasks.size(); ++k) {
    Instance &i = k % 2 ? a : b;
    t.check(i.push(k % 3 ? CONSORT_NONE : static_cast<uint32_t>(t.random().below(4)), tasks.range(k, k + 1)),
            "push refuses tasks of its own epoch");
    if (t.random().one_in(2)) a.pop(static_cast<uint32_t>(t.random().below(2)));
    if (t.random().one_in(2)) b.pop(static_cast<uint32_t>(2 + t.random().below(2)));
  }
  a.pop_all(left);
  b.pop_all(right);
  check_all_out(t, tasks);
  if (t.failed()) return;
  t.check(a.push(CONSORT_NONE, tasks.range(0, 20)), "push refuses tasks of its own epoch");
  for (const uint32_t w : right) t.check(!a.pop(w), "worker %u, whom another instance serves, is given a task", w);
  t.need(b.workers({}, {2}) >= 0 && b.workers({2}, {}) >= 0, "workers fails: %s", p.host().failure().c_str());
  for (const uint32_t w : right) t.check(!a.pop(w), "worker %u, whom another instance serves, is given a task", w);
  a.pop_all(left);
  check_all_out(t, tasks);
}

}  // namespace conform
