// prepare.hpp — prepares a popped task for its function: data, arguments, permission.
//
// Used by the token holder. The plain case costs one relaxed load for each datum. Exceptional cases (unwritten,
// poisoned, without memory, inaccessible, scratch) are checked one by one.
#pragma once
#include "exec/execution.hpp"
#include "task/packed_args.hpp"

namespace consort {

struct Executor;

// Returns whether the task was popped before, and has waited for its data since.
inline bool is_staged(const Task &t) noexcept { return t.extra && t.extra->staging; }

// The exceptional cases; checks everything again. A task that has waited for its data continues behind that wait.
consort_status prepare_odd(Execution &, Worker &, Frame &, Task *, uint32_t impl) noexcept;

// Fills f.call and f.fn. < 0: the task failed and the failure is recorded; call complete(). > 0: it has to wait, and no
// longer belongs to the caller.
inline consort_status prepare(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t impl) noexcept {
  const uint32_t n = t->pub.naccess;
  uint64_t odd = (t->word.load(std::memory_order_relaxed) & word::kCancelled) |
                 (t->bits & (kScratch | kFollowed | kTokens | kUnite | kMore | kWatched)) |
                 uint64_t(t->epoch ^ t->group->epoch.load(std::memory_order_relaxed)) |
                 (((n + Frame::kInline - 1) | (t->nargs + Frame::kInline - 1)) & ~(2 * Frame::kInline - 1)) |  // either more
                 (impl + 1);
  if (t->bits & kAfter) [[unlikely]] odd |= !rt.failures.empty();
  if (!odd) [[likely]] {
    if (n) {
      const consort_access *const access = t->pub.access;
      const void **const views = f.views;
      const uint64_t reach = w.reach;
      uint32_t states = 0, i = 0;
      uint64_t unreached = 0;  // in its lowest bit
      do {
        const Datum *d = Datum::of(access[i].datum);
        const uint32_t state = d->state.load(std::memory_order_relaxed);
        states |= state ^ data_state::kValid;
        unreached |= ~reach >> (data_state::space(state) & 63);
        views[i] = d->view;
      } while (++i < n);
      // valid, not poisoned, and in a space that the unit can access (there are at most 64)
      odd = (states & data_state::kPlain) | (unreached & 1);
    }
    const Codelet::Entry &e = t->codelet->entry[w.klass];
    if (!odd && e.fn) [[likely]] {
      if (t->nargs) unpack_args(*t, f.blank(t->nargs));
      f.fn = e.fn;
      f.call.nviews = n;
      f.call.nargs = t->nargs;
      f.call.impl = e.impl;
      f.call.user = e.user;
      return CONSORT_OK;
    }
  }
  return prepare_odd(rt, w, f, t, impl);
}

// Fills f.views with all data of a recording's nodes, for the carrier that runs in their place. > 0: it will return. <
// 0: not possible now; error text set, no failure recorded. POISONED: a datum cannot be read.
consort_status prepare_all(Execution &, Worker &, Frame &, Task *carrier) noexcept;

// For a task that was issued behind unfinished ones: checks whether its inputs were readable. Records a failure as
// prepare() does.
consort_status check_inputs(Execution &, Worker &, Task *) noexcept;

// Tells a tracer that the task began (what = 0) or ended (1), with the time if times are taken.
void trace(Execution &, const Task &, TaskName, uint32_t worker, uint32_t what, uint64_t at) noexcept;

// Calls the function, with its start and end reported and timed.
consort_status observed_body(Execution &, Executor &, Frame &, Task *) noexcept;

}  // namespace consort
