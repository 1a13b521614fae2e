// Instances created and destroyed, also with failures; reproducibility under virtual time; the cost of a task.
#include <ctime>

#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

double computed_ns() {  // of this thread: others may use its core for a while
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Every pick of a run, in order, as one hash.
uint64_t trace_of(Trial &t, uint64_t seed, size_t n) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 2}));
  Tasks tasks(n);
  Random random(seed);
  tasks.vary(random, 2, true);
  Instance i(t, p, machine, tasks);
  uint64_t trace = 0xcbf29ce484222325u;
  const auto add = [&](uint64_t x) { trace = (trace ^ x) * 0x100000001b3u; };
  for (size_t pushed = 0; pushed < n;) {
    const size_t batch = 1 + random.below(4);
    Woken woken;
    const auto some = tasks.range(pushed, pushed + batch);
    i.submitted(some);
    i.push(random.one_in(2) ? CONSORT_NONE : static_cast<uint32_t>(random.below(4)), some, &woken);
    add(woken.bits[0]);
    add(woken.k);
    pushed += batch;
    for (uint64_t k = random.below(6); k > 0; --k) {
      p.host().set_virtual(p.host().now() + random.below(20'000));
      const uint32_t w = static_cast<uint32_t>(random.below(4));
      const consort_task *task = i.pop(w);
      add(task ? task->id * 4 + w : ~uint64_t{0});
    }
  }
  i.pop_all();
  return trace;
}

}  // namespace

CONFORM_CASE(S, 40, fault, create_lives_with_each_failing_call) {
  Plugin p(t);
  Machine machine(p.host(), workers_of({2, 1}));
  const consort_scheduler_ops ops = p.ops<consort_scheduler_ops>();
  for (uint64_t k = 1; k <= 200; ++k) {
    const size_t blocks = p.host().live_blocks();
    p.host().forget_failure();
    p.host().fail_at(k);
    t.doing("create, where call %llu of get, param or alloc fails", static_cast<unsigned long long>(k));
    void *s = nullptr;
    consort_status made = ops.create(p.self(), p.table(), machine.topology(), 7, &s);
    const bool reached = p.host().has_failed();
    p.host().fail_at(0);
    if (made < 0) {
      t.check(!p.host().failure().empty(), "create answers %d without a word where call %llu fails", made, static_cast<unsigned long long>(k));
    } else {
      const uint32_t all[] = {0, 1, 2};
      t.doing("workers, after call %llu of create failed", static_cast<unsigned long long>(k));
      ops.workers(s, machine.topology(), all, 3, nullptr, 0);
      consort_task task{};
      task.where = 1;
      task.team_min = task.team_max = 1;
      consort_task *ready = &task;
      uint64_t bits = 0;
      consort_wake wake{1, 0, &bits};
      const consort_push push{7, CONSORT_NONE, CONSORT_PUSH_NEW, &ready, 1, 0, &wake};
      t.doing("push, after call %llu of create failed", static_cast<unsigned long long>(k));
      ops.push(s, &push);
      consort_task *back[2];
      while (ops.drain(s, CONSORT_NEVER, back, 1)) {
      }
      ops.destroy(s);
    }
    t.check(p.host().live_blocks() <= blocks, "%zu blocks of alloc are lost where call %llu fails", p.host().live_blocks() - blocks,
            static_cast<unsigned long long>(k));
    if (!reached) {
      if (k == 1) t.skip("create asks the host for nothing");
      return;
    }
  }
}

CONFORM_CASE(S, 50, life, created_and_destroyed_again_and_again) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  const uint32_t rounds = static_cast<uint32_t>(t.scaled(200, 1000)), warm = 8, part = 25;
  size_t threads = 0, descriptors = 0, blocks = 0;
  MemoryMarks memory(8 * part, part);
  constexpr size_t kSingle = 110;                // single pushes of an outside thread, beside two of many
  Tasks tasks(60 + kSingle);
  tasks.vary(t.random(), 2, true);
  for (uint32_t round = 0; (round < warm + rounds && t.has_time()) || memory.is_undecided(); ++round) {
    if (round == warm)
      threads = count_threads(), descriptors = count_descriptors(), blocks = p.host().live_blocks();
    if (round % part == 0) memory.mark();
    Instance i(t, p, machine, tasks);
    i.push(CONSORT_NONE, tasks.range(0, 30));
    i.push(1, tasks.range(30, 60));
    for (size_t k = 60; k < tasks.size(); ++k) i.push(CONSORT_NONE, tasks.range(k, k + 1));
    i.workers({}, {1});
    i.workers({1}, {});
    i.pop_all();
    i.drain(CONSORT_NEVER);
  }
  t.check(count_threads() <= threads, "%zu threads more after %u instances", count_threads() - threads, rounds);
  t.check(count_descriptors() <= descriptors, "%zu descriptors more after %u instances", count_descriptors() - descriptors, rounds);
  t.check(p.host().live_blocks() <= blocks, "%zu blocks of alloc more after %u instances", p.host().live_blocks() - blocks, rounds);
  t.check(!memory.leaks(), "%zu bytes more after each %u instances", memory.growth(), part);
}

// One instance in use for a long time: by workers and outside threads, single tasks and batches; all are popped each
// time.
CONFORM_CASE(S, 51, life, goes_on_without_growing) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  constexpr size_t kTasks = 240;
  constexpr uint32_t kRounds = 4;                // of a part: 640 pushes, 320 of them by outside threads
  Tasks tasks(kTasks);
  tasks.vary(t.random(), 2, true);
  Instance i(t, p, machine, tasks);
  MemoryMarks memory(8 * kRounds * kTasks / 64, kRounds);
  const auto part = [&] {
    for (uint32_t round = 0; round < kRounds; ++round) {
      for (size_t k = 0; k < kTasks; k += 3) {
        i.push(CONSORT_NONE, tasks.range(k, k + 1));
        i.push(static_cast<uint32_t>(k / 3 % 3), tasks.range(k + 1, k + 3));
      }
      i.pop_all();
      p.host().set_virtual(p.host().now() + 1'000'000);
    }
    memory.mark();
  };
  for (uint64_t least = t.scaled(4, 20); least > 0; --least) part();
  while (memory.is_undecided() && !t.failed()) part();
  t.check(!memory.leaks(), "%zu bytes more after each %zu tasks that came and went", memory.growth(), kRounds * kTasks);
}

CONFORM_CASE(S, 60, virtual, one_seed_one_trace) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  for (uint64_t round = t.scaled(3, 12); round > 0 && t.has_time(); --round) {
    const uint64_t seed = t.random().next();
    const size_t n = t.scaled(600, 3000);
    t.doing("the first run");
    const uint64_t first = trace_of(t, seed, n);
    std::vector<std::unique_ptr<char[]>> elsewhere;  // gives the second run other addresses
    for (size_t bytes : {24u, 100u, 1000u, 40'000u}) elsewhere.emplace_back(new char[bytes]);
    t.doing("the second run");
    t.check(trace_of(t, seed, n) == first, "two runs of one seed hand out tasks in different orders");
  }
}

CONFORM_CASE(S, 70, perf, costs_little) {
  Plugin p(t);
  Machine machine(p.host(), workers_of({1}));
  constexpr uint32_t kTasks = 256;
  Tasks tasks(kTasks);
  Instance i(t, p, machine, tasks);
  const consort_scheduler_ops &ops = i.ops();
  for (const uint32_t batch : {1u, 16u}) {
    double best = 1e18;
    for (int tries = 0; tries < 5; ++tries) {
      const uint32_t rounds = static_cast<uint32_t>(t.scaled(20, 400));
      const double began = computed_ns();
      for (uint32_t round = 0; round < rounds; ++round)
        for (uint32_t k = 0; k < kTasks; k += batch) {
          uint64_t bits = 0;
          consort_wake wake{1, 0, &bits};
          consort_task *ready[16];
          for (uint32_t b = 0; b < batch; ++b) ready[b] = tasks[k + b];
          const consort_push push{Instance::kEpoch, 0, CONSORT_PUSH_NEW, ready, batch, 0, &wake};
          t.need(ops.push(i.raw(), &push) == batch, "push refuses tasks of its own epoch");
          consort_pick pick;
          for (uint32_t b = 0; b < batch; ++b)
            if (!ops.pop(i.raw(), 0, &pick, 1)) {
              if (ops.flush) ops.flush(i.raw());
              if (!ops.pop(i.raw(), 0, &pick, 1)) t.need(false, "a task that was pushed does not come out to the one worker there is");
            }
        }
      best = std::min(best, (computed_ns() - began) / (rounds * kTasks));
    }
    t.figure("push and pop, %u at once: %.0f ns a task", batch, best);
    t.check(best < (CONSORT_SAN ? 400e3 : 20e3), "a push and a pop take %.0f ns", best);
  }
}

}  // namespace conform
