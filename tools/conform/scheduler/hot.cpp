// What push and pop call out of the plugin's file; and memory that ends in create.
#include "conform/calls.hpp"
#include "conform/scheduler/instance.hpp"

namespace conform {
namespace {

// A life with all that is called often. Calls are counted from the second half of it on.
void live(Trial &t, Plugin &p) {
  Machine machine(p.host(), workers_of({2, 1}));
  Tasks tasks(2000);
  tasks.vary(t.random(), 2, true);
  Instance i(t, p, machine, tasks);
  for (int round = 0; round < 2; ++round) {
    if (round == 1) Calls::forget();
    i.submitted(tasks.range(0, 1000));
    for (size_t k = 0; k < 2000; k += 5) {
      i.push(k % 2 ? CONSORT_NONE : static_cast<uint32_t>(k % 3), tasks.range(k, k + 5));
      if (k > 500)
        for (uint32_t w = 0; w < 3; ++w) i.pop(w), i.pop(w);
    }
    i.pop_all();
  }
}

std::string times(uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

}  // namespace

CONFORM_CASE(S, 34, threads, hot_calls_do_not_block) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  live(t, p);
  for (const Calls::Seen &s : Calls::seen())
    if ((s.kind == Calls::kBlocking || s.kind == Calls::kThread) && s.tag != Tag::kControl)
      t.check(false, "%s, which is [%s], calls %s (%s)", s.function.c_str(), tag_name(s.tag), s.name.c_str(), times(s.count).c_str());
}

CONFORM_CASE(S, 35, threads, hot_calls_do_not_allocate) {
  if (CONSORT_SAN) t.skip("a sanitizer's heap is not the plugin's");
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  live(t, p);
  for (const Calls::Seen &s : Calls::seen())
    if (s.kind == Calls::kMemory && s.tag != Tag::kControl && (s.function == "push" || s.function == "pop"))
      t.check(s.count < 64, "%s, which is [%s], calls %s (%s for 2000 tasks)", s.function.c_str(), tag_name(s.tag), s.name.c_str(),
              times(s.count).c_str());
}

CONFORM_CASE(S, 61, virtual, knows_one_time_alone) {
  if (!(t.subject().note.flags & CONSORT_PF_VIRTUAL)) t.skip("it does not say CONSORT_PF_VIRTUAL");
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  p.host().set_virtual(1'000'000);
  live(t, p);
  for (const Calls::Seen &s : Calls::seen())
    if (s.kind == Calls::kClock || s.kind == Calls::kThread || s.kind == Calls::kChance)
      t.check(false, "it says CONSORT_PF_VIRTUAL and calls %s (%s, last from %s)", s.name.c_str(), times(s.count).c_str(),
              s.function.empty() ? "a control call" : s.function.c_str());
}

CONFORM_CASE(S, 41, fault, create_without_memory) {
  Plugin p(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  Machine machine(p.host(), workers_of({2, 1}));
  const consort_scheduler_ops ops = p.ops<consort_scheduler_ops>();
  const uint32_t all[] = {0, 1, 2};
  for (uint64_t k = 1; k <= t.scaled(300, 3000); ++k) {
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
    if (!reached) {
      if (k == 1) t.skip("create and workers allocate nothing from the plugin's own file");
      return;
    }
  }
}

}  // namespace conform
