// The wake sets of pushes, published urgency, and the time that a task waits.
#include <deque>

#include "conform/scheduler/sleepers.hpp"

namespace conform {
namespace {

void wake(Trial &t, std::vector<uint32_t> klass, bool told) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), std::move(klass));
  Tasks tasks(t.scaled(2000, 20000));
  tasks.vary(t.random(), machine.topology()->nclasses, true);
  Instance i(t, p, machine, tasks);
  Sleepers sleepers(t, i);
  const uint32_t n = machine.nworkers();
  for (size_t pushed = 0; pushed < tasks.size() && !t.failed() && t.has_time();) {
    const size_t batch = t.random().one_in(4) ? 1 + t.random().below(2 * n) : 1;
    const auto some = tasks.range(pushed, pushed + batch);
    const uint32_t from = t.random().one_in(2) ? CONSORT_NONE : static_cast<uint32_t>(t.random().below(n));
    if (told) i.submitted(some);
    t.doing("push of task %zu and %zu more, while all sleep", pushed, some.size() - 1);
    sleepers.push(from, some);
    sleepers.work();
    if (i.ops().flush && tasks.count_in()) {  // it may hold some back until a thread waits
      i.ops().flush(i.raw());
      i.pop_all();
    } else if (i.ops().next_event && i.ops().next_event(i.raw()) != CONSORT_NEVER) {
      i.pop_all();
    }
    for (consort_task *task : some)
      if (tasks.is_in(task->id)) {
        t.check(false, "task %llu (where 0x%llx), pushed %s with %zu others, waits while all workers sleep: the wake set named no worker that takes it",
                static_cast<unsigned long long>(task->id), static_cast<unsigned long long>(task->where),
                from == CONSORT_NONE ? "by an outsider" : "by a worker", some.size() - 1);
        i.pop_all();
        break;
      }
    pushed += batch;
  }
}

}  // namespace

CONFORM_CASE(S, 10, behaviour, wakes_a_worker) { wake(t, workers_of({4}), false); }
CONFORM_CASE(S, 10, behaviour, wakes_a_worker_that_can) { wake(t, workers_of({3, 2}), true); }

// Tasks alike, pushed together while all sleep. A policy may have reasons to feed few workers; but not one, each time.
CONFORM_CASE(S, 10, behaviour, a_batch_wakes_more_than_one_worker) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  constexpr uint32_t kWorkers = 4, kBatch = 16;
  Machine machine(p.host(), workers_of({kWorkers}));
  Tasks tasks(kBatch * t.scaled(24, 200));
  Instance i(t, p, machine, tasks);
  Sleepers sleepers(t, i);
  size_t most = 0;
  for (size_t pushed = 0; pushed < tasks.size() && !t.failed(); pushed += kBatch) {
    const auto some = tasks.range(pushed, pushed + kBatch);
    i.submitted(some);
    t.doing("push of %zu tasks alike, while all %u workers sleep", some.size(), kWorkers);
    sleepers.push(CONSORT_NONE, some);
    size_t awake = 0;
    for (uint32_t w = 0; w < kWorkers; ++w) awake += sleepers.is_awake(w);
    most = std::max(most, awake);
    sleepers.work();
    i.pop_all();
  }
  t.figure("%u tasks alike wake up to %zu of %u workers", kBatch, most, kWorkers);
  t.check(most > 1, "pushes of %u tasks alike wake %zu of %u sleeping workers at most: the others stay idle while tasks wait", kBatch, most,
          kWorkers);
}

CONFORM_CASE(S, 11, behaviour, wakes_one_of_a_hundred) { wake(t, workers_of({70, 10}), false); }
CONFORM_CASE(S, 11, behaviour, wakes_one_of_two_hundred) { wake(t, workers_of({130, 70}), false); }

namespace {

struct Urgent {
  Urgent(Trial &t, std::vector<uint32_t> klass, size_t n)
      : plugin(t), machine((plugin.host().set_virtual(1'000'000), plugin.host()), std::move(klass)), tasks(n) {
    tasks.vary(t.random(), machine.topology()->nclasses, true);
    i = std::make_unique<Instance>(t, plugin, machine, tasks);
    if (!i->ops().urgency) t.skip("it publishes no urgency: no priority is promised");
    for (uint32_t w = 0; w < machine.nworkers(); ++w) published.push_back(i->ops().urgency(i->raw(), w));
  }
  int32_t of(uint32_t w) const { return published[w] ? __atomic_load_n(published[w], __ATOMIC_RELAXED) : INT32_MAX; }
  Plugin plugin;
  Machine machine;
  Tasks tasks;
  std::unique_ptr<Instance> i;
  std::vector<const int32_t *> published;
};

}  // namespace

CONFORM_CASE(S, 12, behaviour, publishes_the_most_urgent) {
  Urgent u(t, workers_of({2, 2}), t.scaled(1000, 20000));
  for (size_t pushed = 0; pushed < u.tasks.size() && !t.failed();) {
    const size_t batch = 1 + t.random().below(6);
    u.i->push(t.random().one_in(2) ? CONSORT_NONE : static_cast<uint32_t>(t.random().below(4)), u.tasks.range(pushed, pushed + batch));
    pushed += batch;
    for (uint64_t k = t.random().below(8); k > 0; --k) {
      const uint32_t w = static_cast<uint32_t>(t.random().below(4));
      const int32_t published = u.of(w);
      t.doing("pop of worker %u, for whom %d is published", w, published);
      if (const consort_task *task = u.i->pop(w); task && task->priority > 0)
        t.check(task->priority <= published, "worker %u is given a task of priority %d where urgency publishes %d", w, task->priority,
                published);
    }
  }
}

CONFORM_CASE(S, 13, behaviour, publishes_nothing_when_empty) {
  Urgent u(t, workers_of({2, 1}), 200);
  u.i->push(CONSORT_NONE, u.tasks.range(0, 100));
  u.i->pop_all();
  for (uint32_t w = 0; w < 3; ++w)
    t.check(!u.published[w] || u.of(w) <= 0, "urgency publishes %d for worker %u though nothing waits", u.of(w), w);
  for (size_t k = 0; k < 30; ++k) u.tasks[k]->priority = 1 + static_cast<int32_t>(k % 7), u.tasks.remember(k);
  u.i->push(CONSORT_NONE, u.tasks.range(0, 30));  // the last one popped is urgent
  u.i->pop_all();
  for (uint32_t w = 0; w < 3; ++w)
    t.check(!u.published[w] || u.of(w) <= 0, "urgency publishes %d for worker %u after the last urgent task came out", u.of(w), w);
  u.i->push(1, u.tasks.range(100, 200));
  u.i->drain(CONSORT_NEVER);
  for (uint32_t w = 0; w < 3; ++w)
    t.check(!u.published[w] || u.of(w) <= 0, "urgency publishes %d for worker %u after drain", u.of(w), w);
}

CONFORM_CASE(S, 14, behaviour, starves_no_task) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  constexpr uint32_t kWorkers = 4, kBacklog = 64;
  Machine machine(p.host(), workers_of({kWorkers}));
  Tasks tasks(t.scaled(20'000, 100'000));
  Instance i(t, p, machine, tasks);
  std::vector<uint64_t> since(tasks.size());
  uint64_t longest = 0, step = 0;
  size_t pushed = 0;
  const auto push = [&](uint32_t from) {
    since[pushed] = step;
    i.push(from, tasks.range(pushed, pushed + 1));
    ++pushed;
  };
  while (pushed < kBacklog) push(pushed % 2 ? CONSORT_NONE : static_cast<uint32_t>(pushed / 2 % kWorkers));
  // a task ends and releases another; the worker pops the next
  while (pushed < tasks.size() && (pushed < 20'000 || t.has_time())) {
    p.host().set_virtual(1'000'000 + ++step * 5'000);
    const uint32_t w = static_cast<uint32_t>(t.random().below(kWorkers));
    if (const consort_task *task = i.pop(w)) {
      longest = std::max(longest, step - since[task->id]);
      push(w);
    }
  }
  for (size_t k = 0; k < tasks.size(); ++k)
    if (tasks.is_in(k)) longest = std::max(longest, step - since[k]);
  t.figure("with %u tasks waiting the longest wait was %llu pops", kBacklog, static_cast<unsigned long long>(longest));
  t.check(longest < 100 * kBacklog, "with %u tasks waiting all the time, one waits for %llu pops and more", kBacklog,
          static_cast<unsigned long long>(longest));
}

CONFORM_CASE(S, 18, behaviour, names_good_victims) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(100);
  tasks.vary(t.random(), 2, false);
  Instance i(t, p, machine, tasks);
  if (!i.ops().victim) t.skip("it has no function `victim`: the kernel's own order is used");
  i.push(CONSORT_NONE, tasks.range(0, 50));
  for (uint64_t round = t.scaled(200, 2000); round > 0; --round) {
    const uint32_t n = round < 4 ? (round - 1) * 128 : static_cast<uint32_t>(t.random().below(257));
    std::vector<consort_replica> replicas(n);
    for (uint32_t k = 0; k < n; ++k)
      replicas[k] = {t.random().below(40), 1 + t.random().below(1 << 20), k, 1, static_cast<uint32_t>(t.random().below(4))};
    std::vector<uint32_t> order(n + 1, 0xA5A5A5A5u);
    t.doing("victim, of %u replicas", n);
    const uint32_t named = i.ops().victim(i.raw(), 1, 1 + t.random().below(1 << 22), replicas.data(), n, order.data());
    t.check(order[n] == 0xA5A5A5A5u, "victim wrote behind the %u places that it was given", n);
    if (!t.check(named <= n, "victim answers %u where there are %u replicas", named, n)) continue;
    std::vector<char> seen(n);
    for (uint32_t k = 0; k < named; ++k) {
      if (!t.check(order[k] < n, "victim names number %u of %u", order[k], n)) continue;
      t.check(!seen[order[k]], "victim names number %u twice", order[k]);
      seen[order[k]] = 1;
    }
  }
  i.pop_all();
}

}  // namespace conform
