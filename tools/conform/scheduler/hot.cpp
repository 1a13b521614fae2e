// Calls out of the plugin's file in push and pop; and failing allocations in create.
#include <map>

#include "conform/calls.hpp"
#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

// A life with all frequent calls, in equal rounds. After each round but the first calls `seen` and resets the counts.
template <class Seen>
void live(Trial &t, Plugin &p, int rounds, const Seen &seen) {
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(2000);
  tasks.vary(t.random(), 2, true);
  Instance i(t, p, machine, tasks);
  for (int round = 0; round < rounds; ++round) {
    Calls::forget();
    i.submitted(tasks.range(0, 1000));
    for (size_t k = 0; k < 2000;) {              // many single tasks, some batches, one large batch
      const size_t n = k < 400 ? 1 : k < 1700 ? 5 : 300;
      i.push(k % 2 ? CONSORT_NONE : static_cast<uint32_t>(k % 3), tasks.range(k, k + n));
      k += n;
      if (k < 500) continue;
      consort_task *some[8];
      for (uint32_t w = 0; w < 3; ++w) i.pop(w), i.pop(w), i.pop(w, some, 3);
    }
    i.pop_all();
    if (round) seen();
  }
  const uint64_t epoch = i.epoch();
  Calls::forget();
  i.drain(epoch + 1);
  i.push_as(epoch, 0, tasks.range(0, 5));        // refused
  i.push_as(epoch, CONSORT_NONE, tasks.range(0, 1));
  i.pop(0);
  seen();
}

std::string times(uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

}  // namespace

CONFORM_CASE(S, 34, threads, hot_calls_do_not_block) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  live(t, p, 2, [&] {
    for (const Calls::Seen &s : Calls::seen())
      if ((s.kind == Calls::kBlocking || s.kind == Calls::kThread) && s.tag != Tag::kControl)
        t.check(false, "%s, which is [%s], calls %s (%s)", s.function.c_str(), tag_name(s.tag), s.name.c_str(), times(s.count).c_str());
  });
}

CONFORM_CASE(S, 35, threads, hot_calls_do_not_allocate) {
  if (CONSORT_SAN) t.skip("a sanitizer's heap is not the plugin's");
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  constexpr int kRounds = 6;
  std::map<std::string, std::pair<int, uint64_t>> found;  // by called function: number of rounds, number of calls
  live(t, p, kRounds, [&] {
    for (const Calls::Seen &s : Calls::seen())
      if (s.kind == Calls::kMemory && s.tag != Tag::kControl && (s.function == "push" || s.function == "pop")) {
        auto &[rounds, count] = found[s.function + ", which is [" + tag_name(s.tag) + "], calls " + s.name];
        ++rounds, count += s.count;
      }
  });
  for (const auto &[what, seen] : found)         // amortised growth allocates in one of several equal rounds, not in each
    t.check(seen.first < kRounds - 1, "%s in each of %d equal rounds of 2000 tasks (%s in all)", what.c_str(), kRounds - 1,
            times(seen.second).c_str());
}

CONFORM_CASE(S, 61, virtual, knows_one_time_alone) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  live(t, p, 2, [&] {
    for (const Calls::Seen &s : Calls::seen())
      if (s.kind == Calls::kClock || s.kind == Calls::kThread || s.kind == Calls::kChance)
        t.check(false, "it says CONSORT_PF_VIRTUAL and calls %s (%s, last from %s)", s.name.c_str(), times(s.count).c_str(),
                s.function.empty() ? "a control call" : s.function.c_str());
  });
}

CONFORM_CASE(S, 41, fault, create_without_memory) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Machine machine(p.host(), workers_of({2, 1}));
  const consort_scheduler_ops ops = p.ops<consort_scheduler_ops>();
  const uint32_t all[] = {0, 1, 2};
  // Returns whether the k-th allocation was requested.
  const auto try_without = [&](uint64_t k) {
    p.host().forget_failure();
    Calls::fail_allocation(k);
    void *s = nullptr;
    const char *which = "create";
    t.doing("create, where allocation %llu fails", static_cast<unsigned long long>(k));
    const consort_status made = ops.create(p.self(), p.table(), machine.topology(), 7, &s);
    consort_status told = made;
    if (made >= 0) {
      which = "workers";
      t.doing("workers, where allocation %llu fails", static_cast<unsigned long long>(k));
      told = ops.workers(s, machine.topology(), all, 3, nullptr, 0);
    }
    const bool reached = Calls::has_failed();
    Calls::fail_allocation(0);
    t.check(told >= 0 || !p.host().failure().empty(), "%s answers %d without a word where allocation %llu fails", which, told,
            static_cast<unsigned long long>(k));
    if (made >= 0) ops.destroy(s);
    return reached;
  };
  if (!try_without(1)) t.skip("create and workers allocate nothing from the plugin's own file");
  uint64_t n = 1;
  while (n < t.scaled(300, 3000) && try_without(n + 1)) ++n;
  MemoryMarks memory(16, 1);
  do {
    for (uint64_t k = 1; k <= n; ++k) try_without(k);
    memory.mark();
  } while (memory.is_undecided() && !t.failed());
  t.check(!memory.leaks(), "%zu bytes are lost where each of %llu allocations fails once", memory.growth(),
          static_cast<unsigned long long>(n));
}

}  // namespace conform
