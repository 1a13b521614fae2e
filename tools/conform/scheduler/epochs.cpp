// Drain, epochs, and changing sets of workers: by one thread.
#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

struct Stage {
  Stage(Trial &t, std::vector<uint32_t> klass, size_t n, bool priorities = true)
      : plugin(t), machine((plugin.host().set_virtual(1'000'000), plugin.host()), std::move(klass)), tasks(n) {
    tasks.vary(t.random(), machine.topology()->nclasses, priorities);
  }
  Plugin plugin;
  Machine machine;
  Tasks tasks;
};

void must_push(Trial &t, Instance &i, uint32_t from, const std::vector<consort_task *> &some) {
  t.check(i.push(from, some), "push refuses tasks of its own epoch %llu", static_cast<unsigned long long>(i.epoch()));
}

}  // namespace

CONFORM_CASE(S, 6, behaviour, drain_gives_all_back) {
  Stage s(t, workers_of({2, 2}), t.scaled(300, 6000));
  Instance i(t, s.plugin, s.machine, s.tasks);
  const size_t third = s.tasks.size() / 3;
  must_push(t, i, 0, s.tasks.range(0, third));
  must_push(t, i, 2, s.tasks.range(third, 2 * third));
  must_push(t, i, CONSORT_NONE, s.tasks.range(2 * third, s.tasks.size()));
  for (int k = 0; k < 20; ++k) i.pop(static_cast<uint32_t>(t.random().below(4)));
  const size_t waited = s.tasks.count_in();
  const size_t back = i.drain(CONSORT_NEVER).size();
  t.check(back == waited, "%zu tasks waited, drain gives back %zu", waited, back);
  t.check(i.drain(CONSORT_NEVER).empty(), "drain answers something after it answered 0");
  for (uint32_t w = 0; w < 4; ++w) t.check(!i.pop(w), "pop gives something after drain answered 0");
  t.check(i.quiesce(0) == CONSORT_OK, "quiesce of a drained instance fails: %s", s.plugin.host().failure().c_str());
}

CONFORM_CASE(S, 7, behaviour, refuses_another_epoch) {
  Stage s(t, workers_of({3}), 64);
  Instance i(t, s.plugin, s.machine, s.tasks);
  must_push(t, i, 0, s.tasks.range(0, 32));
  const uint64_t others[] = {0, Instance::kEpoch - 1, Instance::kEpoch + 1, Instance::kEpoch + (uint64_t{1} << 32), Instance::kEpoch << 32,
                             CONSORT_NEVER};
  for (const uint64_t other : others)
    t.need(!i.push_as(other, 0, s.tasks.range(32, 34)), "push takes tasks of epoch %llu where the instance's is 7",
           static_cast<unsigned long long>(other));
  i.drain(CONSORT_NEVER);
  for (const uint32_t from : {0u, 1u, 2u, CONSORT_NONE})
    for (const size_t n : {1u, 2u, 32u}) {
      t.doing("push of %zu tasks of a closed epoch from %s", n, from == CONSORT_NONE ? "an outsider" : "a worker");
      t.need(!i.push_as(Instance::kEpoch, from, s.tasks.range(0, n)), "push takes tasks of epoch 7 after drain has closed it");
    }
  for (uint32_t w = 0; w < 3; ++w) t.check(!i.pop(w), "pop gives something of a closed instance");
  t.check(i.drain(CONSORT_NEVER).empty(), "drain gives back a task of a push that was refused");
}

CONFORM_CASE(S, 8, behaviour, opens_again) {
  Stage s(t, workers_of({2, 1}), 120);
  Instance i(t, s.plugin, s.machine, s.tasks);
  const std::vector<uint32_t> none;
  for (uint64_t epoch = 8; epoch < 8 + t.scaled(6, 60); ++epoch) {
    must_push(t, i, static_cast<uint32_t>(t.random().below(3)), s.tasks.range(0, 60));
    for (int k = 0; k < 9; ++k) i.pop(static_cast<uint32_t>(t.random().below(3)));
    i.drain(CONSORT_NEVER);
    t.check(s.tasks.count_in() == 0, "drain has not given all back");
    t.check(i.workers(none, {2}) >= 0 && i.workers({2}, none) >= 0, "workers fails on a closed instance: %s",
            s.plugin.host().failure().c_str());
    i.drain(epoch);
    t.check(!i.push_as(epoch - 1, 0, s.tasks.range(60, 61)), "push takes tasks of epoch %llu after drain has set %llu",
            static_cast<unsigned long long>(epoch - 1), static_cast<unsigned long long>(epoch));
    must_push(t, i, CONSORT_NONE, s.tasks.range(60, 120));
    i.pop_all();
    t.check(s.tasks.count_in() == 0, "%zu tasks of the new epoch do not come out", s.tasks.count_in());
  }
}

CONFORM_CASE(S, 9, behaviour, workers_leave) {
  Stage s(t, workers_of({4}), t.scaled(200, 2000), false);
  Instance i(t, s.plugin, s.machine, s.tasks);
  must_push(t, i, 2, s.tasks.range(0, s.tasks.size() / 2));
  s.machine.renew();
  t.need(i.workers({}, {2, 3}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str());
  t.check(!i.pop(2) && !i.pop(3), "a worker that was taken away is given a task");
  t.doing("push by a worker that was taken away");
  must_push(t, i, 3, s.tasks.range(s.tasks.size() / 2, s.tasks.size()));
  i.pop_all({0, 1});
  t.check(s.tasks.count_in() == 0, "%zu tasks wait for workers that were taken away", s.tasks.count_in());
}

CONFORM_CASE(S, 9, behaviour, workers_come) {
  Stage s(t, workers_of({2}), t.scaled(400, 2000), false);
  Instance i(t, s.plugin, s.machine, s.tasks);
  must_push(t, i, 0, s.tasks.range(0, 20));
  s.machine.resize(workers_of({6}));
  t.need(i.workers({2, 3, 4, 5}, {}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str());
  must_push(t, i, CONSORT_NONE, s.tasks.range(20, s.tasks.size() / 2));
  std::vector<size_t> got(6, 0);
  for (size_t rounds = s.tasks.size(); rounds > 0; --rounds)
    for (uint32_t w = 0; w < 6; ++w) got[w] += i.pop(w) != nullptr;
  for (uint32_t w = 2; w < 6; ++w) t.check(got[w] > 0, "worker %u, which was added, is given nothing of %zu tasks", w, s.tasks.size() / 2);
  t.need(i.workers({}, {0, 1, 2, 4, 5}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str());
  must_push(t, i, 3, s.tasks.range(s.tasks.size() / 2, s.tasks.size()));
  i.pop_all({3});
  t.check(s.tasks.count_in() == 0, "%zu tasks do not come out to the one worker that is left", s.tasks.count_in());
  t.need(i.workers({0}, {3}) >= 0, "workers fails: %s", s.plugin.host().failure().c_str());  // a removed worker returns
  must_push(t, i, CONSORT_NONE, s.tasks.range(0, 20));
  i.pop_all({0});
  t.check(s.tasks.count_in() == 0, "%zu tasks do not come out to a worker that was taken away and added again", s.tasks.count_in());
}

CONFORM_CASE(S, 5, behaviour, leaves_alone_what_came_out) {
  Stage s(t, workers_of({2, 1}), 200);
  Instance i(t, s.plugin, s.machine, s.tasks);
  for (int round = 0; round < 3; ++round) {
    must_push(t, i, CONSORT_NONE, s.tasks.range(0, 100));
    i.pop_all();
    must_push(t, i, 0, s.tasks.range(100, 200));
    for (int k = 0; k < 40; ++k) i.pop(static_cast<uint32_t>(k % 3));
    if (i.ops().dropped) i.drop(s.tasks.range(0, 200));
    i.drain(i.epoch() + 1);
  }
  for (size_t k = 0; k < s.tasks.size(); ++k) i.push(CONSORT_NONE, s.tasks.range(k, k + 1));  // each worker's pop is checked
  i.drain(CONSORT_NEVER);
}

CONFORM_CASE(S, 15, behaviour, drops_what_it_has) {
  Stage s(t, workers_of({2, 1}), t.scaled(300, 3000));
  Instance i(t, s.plugin, s.machine, s.tasks);
  if (!i.ops().dropped) t.skip("it has no function `dropped`: such tasks come out by pop");
  must_push(t, i, CONSORT_NONE, s.tasks.range(0, s.tasks.size() / 2));
  for (int k = 0; k < 20; ++k) i.pop(static_cast<uint32_t>(t.random().below(3)));
  std::vector<consort_task *> some;
  for (size_t k = 0; k < s.tasks.size(); ++k)
    if (t.random().one_in(3)) some.push_back(s.tasks[k]);
  std::vector<char> was_in(s.tasks.size());
  for (consort_task *task : some) was_in[task->id] = s.tasks.is_in(task->id);
  t.doing("dropped");
  const auto held = i.drop(some);
  std::vector<char> given(s.tasks.size());
  for (consort_task *task : held) given[task->id] = 1;
  size_t kept = 0;
  for (consort_task *task : some) {
    t.check(!given[task->id] || was_in[task->id], "dropped hands back task %llu, which was not queued",
            static_cast<unsigned long long>(task->id));
    kept += was_in[task->id] && !given[task->id];
  }
  t.figure("of %zu tasks that were to be dropped %zu stayed, to come out by pop", some.size(), kept);
  t.doing("dropped, once more");
  const size_t waiting = s.tasks.count_in();
  i.drop(held);
  t.check(s.tasks.count_in() == waiting, "dropped hands back tasks that it has handed back before");
  i.pop_all();
  for (size_t k = 0; k < s.tasks.size(); ++k) t.check(!s.tasks.is_in(k), "task %zu does not come out any more", k);
}

CONFORM_CASE(S, 15, behaviour, drops_many_at_once) {
  Stage s(t, workers_of({2, 1}), 600);
  Instance i(t, s.plugin, s.machine, s.tasks);
  if (!i.ops().dropped) t.skip("it has no function `dropped`: such tasks come out by pop");
  for (const size_t n : {64u, 65u, 129u, 600u}) {
    must_push(t, i, CONSORT_NONE, s.tasks.range(0, n / 2));
    must_push(t, i, 0, s.tasks.range(n / 2, n));
    t.doing("dropped, of %zu tasks that are all queued", n);
    i.drop(s.tasks.range(0, n));
    i.pop_all();
    t.need(s.tasks.count_in() == 0, "of %zu tasks that were dropped at once %zu are neither handed back nor come out by pop", n,
           s.tasks.count_in());
  }
}

CONFORM_CASE(S, 20, behaviour, any_sequence) {
  for (uint64_t round = t.scaled(6, 120); round > 0 && !t.failed() && t.has_time(); --round) {
    Random &random = t.random();
    std::vector<uint32_t> each(1 + random.below(3));
    for (uint32_t &n : each) n = 1 + static_cast<uint32_t>(random.below(4));
    Stage s(t, workers_of(each), 600);
    const uint32_t n = s.machine.nworkers();
    Instance i(t, s.plugin, s.machine, s.tasks);
    for (int step = 0; step < 1200 && !t.failed(); ++step) {
      s.plugin.host().set_virtual(s.plugin.host().now() + random.below(50'000));
      const uint64_t what = random.below(100);
      const uint32_t w = static_cast<uint32_t>(random.below(n));
      if (what < 35) {  // push tasks that are out
        std::vector<consort_task *> batch;
        for (uint64_t k = 1 + random.below(random.one_in(20) ? 80 : 4); k > 0; --k) {
          consort_task *task = s.tasks[random.below(s.tasks.size())];
          if (!s.tasks.is_in(task->id) && std::find(batch.begin(), batch.end(), task) == batch.end()) batch.push_back(task);
        }
        t.doing("step %d: push of %zu tasks", step, batch.size());
        if (!batch.empty()) must_push(t, i, random.one_in(3) ? CONSORT_NONE : w, batch);
      } else if (what < 90) {
        t.doing("step %d: pop of worker %u", step, w);
        consort_task *some[8];
        i.pop(w, some, 1 + static_cast<uint32_t>(random.below(8)));
      } else if (what < 93 && i.ops().dropped) {
        std::vector<consort_task *> some;
        for (int k = 0; k < 10; ++k) {
          consort_task *task = s.tasks[random.below(s.tasks.size())];
          if (std::find(some.begin(), some.end(), task) == some.end()) some.push_back(task);
        }
        t.doing("step %d: dropped", step);
        i.drop(some);
      } else if (what < 95) {
        i.drain(i.epoch() + 1, 1 + static_cast<uint32_t>(random.below(9)));
        t.check(s.tasks.count_in() == 0, "step %d: drain has not given all back", step);
      } else {
        if (random.one_in(2)) s.machine.renew();
        i.serves(w) ? i.workers({}, {w}) : i.workers({w}, {});
      }
    }
    for (uint32_t w = 0; w < n; ++w)
      if (!i.serves(w)) i.workers({w}, {});
    i.pop_all();
    t.check(s.tasks.count_in() == 0, "%zu tasks do not come out any more", s.tasks.count_in());
  }
}

}  // namespace conform
