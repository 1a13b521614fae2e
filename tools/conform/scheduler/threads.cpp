// Concurrent threads: pushes, pops, drains and swaps.
#include <atomic>
#include <thread>

#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

// Starts all threads at once.
class Gate {
 public:
  explicit Gate(uint32_t n) : left_(n) {}
  void pass() {
    left_.fetch_sub(1);
    while (left_.load() > 0) std::this_thread::yield();
  }

 private:
  std::atomic<int64_t> left_;
};

// An upper bound of tasks inside, so that all come out soon, however slowly a policy chooses.
constexpr size_t kMostInside = 5'000;

// n tasks are pushed and popped. When the time has passed no more are pushed; the rest is popped.
struct Count {
  Trial &t;
  const size_t n;
  std::atomic<size_t> next{0}, in{0}, out{0};
  bool crowded() const { return in.load(std::memory_order_relaxed) > out.load(std::memory_order_relaxed) + kMostInside; }
  bool is_over() {
    if (next.load(std::memory_order_relaxed) >= n) return out.load(std::memory_order_relaxed) >= in.load(std::memory_order_relaxed);
    if (!t.has_time()) next.store(n);
    return false;
  }
};

void storm(Trial &t, const std::vector<uint32_t> &klass, uint32_t outsiders, size_t n, bool priorities) {
  Plugin p(t);
  Machine machine(p.host(), klass);
  Tasks tasks(n);
  tasks.vary(t.random(), machine.topology()->nclasses, priorities);
  Instance i(t, p, machine, tasks);
  const uint32_t workers = machine.nworkers();
  Count count{t, n};
  auto &next = count.next, &in = count.in, &out = count.out;
  Gate gate(workers + outsiders);
  std::vector<std::thread> threads;
  t.doing("push and pop by %u workers and %u outsiders at once", workers, outsiders);
  for (uint32_t w = 0; w < workers + outsiders; ++w)
    threads.emplace_back([&, w, random = Random(t.random().next())]() mutable {
      gate.pass();
      const bool works = w < workers;
      for (uint64_t empty = 0; !count.is_over() && empty < 200'000 && !t.failed();) {
        const bool crowded = count.crowded();
        const size_t batch = crowded ? 0 : random.one_in(50) ? 60 : random.below(4), begin = batch ? next.fetch_add(batch) : n;
        if (begin < n) {
          const auto some = tasks.range(begin, begin + batch);
          in.fetch_add(some.size(), std::memory_order_relaxed);
          t.check(i.push(works && random.below(3) ? w : CONSORT_NONE, some), "push refuses tasks of its own epoch");
        }
        if (!works) {
          if (next.load(std::memory_order_relaxed) >= n) return;
          if (crowded) std::this_thread::yield();
          continue;
        }
        consort_task *some[8];
        const uint32_t got = i.pop(w, some, 1 + static_cast<uint32_t>(random.below(8)));
        out.fetch_add(got, std::memory_order_relaxed);
        if (got) empty = 0;
        else if (begin >= n) {
          ++empty;
          if (empty % 64 == 0 && i.ops().flush) i.ops().flush(i.raw());
          std::this_thread::yield();
        }
      }
    });
  for (auto &thread : threads) thread.join();
  if (t.failed()) return;
  i.pop_all();
  const size_t lost = tasks.count_in();
  t.check(lost == 0, "%zu of %zu tasks do not come out", lost, in.load());
}

}  // namespace

CONFORM_CASE(S, 30, threads, two_workers) { storm(t, workers_of({2}), 0, t.scaled(20'000, 400'000), false); }
CONFORM_CASE(S, 30, threads, four_workers_two_outsiders) { storm(t, workers_of({4}), 2, t.scaled(20'000, 400'000), true); }
CONFORM_CASE(S, 30, threads, two_classes) { storm(t, workers_of({2, 2}), 1, t.scaled(15'000, 300'000), true); }

CONFORM_CASE(S, 31, threads, drain_is_one_step) {
  for (uint64_t round = t.scaled(15, 200); round > 0 && !t.failed() && t.has_time(); --round) {
    constexpr size_t kEach = 300;
    constexpr uint32_t kPushers = 3;
    Plugin p(t);
    Machine machine(p.host(), workers_of({2}));
    Tasks tasks(kPushers * kEach);
    tasks.vary(t.random(), 1, true);
    Instance i(t, p, machine, tasks);
    std::atomic<size_t> accepted{0}, popped{0};
    Gate gate(kPushers + 1);
    std::vector<std::thread> threads;
    for (uint32_t k = 0; k < kPushers; ++k)
      threads.emplace_back([&, k] {
        gate.pass();
        for (size_t n = 0; n < kEach; ++n) {
          accepted += i.push_as(Instance::kEpoch, k < 2 ? k : CONSORT_NONE, tasks.range(k * kEach + n, k * kEach + n + 1));
          if (k < 2 && n % 4 == 0) popped += i.pop(k) != nullptr;
        }
      });
    t.doing("drain, while three threads push");
    gate.pass();
    // spins instead of sleeping, so that the others are in the midst of it
    const uint64_t moment = t.random().below(20'000);
    for (std::atomic<uint64_t> spun{0}; spun.fetch_add(1, std::memory_order_relaxed) < moment;) {
    }
    const size_t first = i.drain(CONSORT_NEVER).size(), second = i.drain(CONSORT_NEVER).size();
    for (auto &thread : threads) thread.join();
    t.check(second == 0, "drain answered 0, and then %zu more came", second);
    t.check(first + popped == accepted, "%zu tasks were taken by push, %zu came out by pop and %zu by drain", accepted.load(), popped.load(),
            first);
    const size_t late = i.drain(CONSORT_NEVER).size();
    t.check(late == 0, "%zu tasks were taken by a push after drain had answered 0", late);
    t.check(i.quiesce(p.host().now() + 2'000'000'000u) == CONSORT_OK, "quiesce fails: %s", p.host().failure().c_str());
  }
}

// As the kernel does it: the heir is opened and made current, the old one closed and drained, its tasks pushed to the
// heir.
CONFORM_CASE(S, 32, threads, swapped_under_load) {
  if (!(t.subject().note.flags & CONSORT_PF_SWAPPABLE)) t.skip("it does not say CONSORT_PF_SWAPPABLE");
  Plugin p(t);
  Machine machine(p.host(), workers_of({2}));
  const size_t n = t.scaled(30'000, 300'000);
  Tasks tasks(n);
  tasks.vary(t.random(), 1, true);
  struct Life {
    Instance instance;
    std::atomic<uint64_t> epoch;
  };
  Life a{{t, p, machine, tasks, 1}, {1}}, b{{t, p, machine, tasks, 0}, {0}};
  b.instance.drain(CONSORT_NEVER);
  std::atomic<Life *> now{&a};
  Count count{t, n};
  auto &next = count.next, &in = count.in, &out = count.out;
  const auto push = [&](uint32_t from, const std::vector<consort_task *> &some, uint32_t flags) {
    for (int tries = 0; tries < 1'000'000; ++tries) {
      Life &life = *now.load();
      if (life.instance.push_as(life.epoch.load(), from, some, nullptr, flags)) return;
      std::this_thread::yield();
    }
    t.check(false, "push is refused for ever");
  };
  Gate gate(3);
  std::vector<std::thread> threads;
  for (uint32_t w = 0; w < 2; ++w)
    threads.emplace_back([&, w] {
      gate.pass();
      for (uint64_t empty = 0; !count.is_over() && empty < 500'000 && !t.failed();) {
        const bool crowded = count.crowded();
        const size_t begin = crowded ? n : next.fetch_add(2);
        if (begin < n) {
          const auto some = tasks.range(begin, begin + 2);
          in.fetch_add(some.size(), std::memory_order_relaxed);
          push(begin % 3 ? w : CONSORT_NONE, some, CONSORT_PUSH_NEW);
        }
        consort_task *some[2];
        const uint32_t got = now.load()->instance.pop(w, some, 2);
        out.fetch_add(got, std::memory_order_relaxed);
        empty = got || crowded || begin < n ? 0 : empty + 1;
        if (!got && begin >= n) std::this_thread::yield();
      }
    });
  gate.pass();
  uint64_t epoch = 1;
  unsigned swaps = 0;
  while (next.load() < n && !t.failed()) {
    Life &old = *now.load(), &heir = &old == &a ? b : a;
    t.doing("swap %u", ++swaps);
    ++epoch;
    const size_t kept = heir.instance.drain(epoch).size();
    t.check(kept == 0, "an instance that was drained gives back %zu tasks more", kept);
    heir.epoch.store(epoch);
    now.store(&heir);
    for (consort_task *task : old.instance.drain(CONSORT_NEVER)) push(CONSORT_NONE, {task}, CONSORT_PUSH_RETRIED);
    t.check(old.instance.quiesce(p.host().now() + 2'000'000'000u) == CONSORT_OK, "quiesce of a drained instance does not answer OK");
    std::this_thread::yield();
  }
  for (auto &thread : threads) thread.join();
  t.figure("%u swaps while %zu tasks went through", swaps, in.load());
  if (t.failed()) return;
  now.load()->instance.pop_all();
  const size_t lost = tasks.count_in();
  t.check(lost == 0, "%zu of %zu tasks are lost over %u swaps", lost, in.load(), swaps);
}

CONFORM_CASE(S, 33, threads, hot_calls_ask_for_nothing) {
  Plugin p(t);
  p.host().set_virtual(1'000'000);
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(200);
  tasks.vary(t.random(), 2, true);
  Instance i(t, p, machine, tasks);
  i.submitted(tasks.range(0, 200));
  for (size_t k = 0; k < 200; k += 4) i.push(k % 8 ? CONSORT_NONE : 1, tasks.range(k, k + 4));
  i.pop_all();
  for (const std::string &what : p.host().complaints())
    if (what.find("[control]") != what.npos) t.check(false, "%s", what.c_str());
}

}  // namespace conform
