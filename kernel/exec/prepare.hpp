// prepare.hpp — what stands between a popped task and its function: its data, its arguments, its permission.
//
// The token holder's. The plain case is one relaxed load per datum; whatever is out of the ordinary (unwritten,
// poisoned, homeless, out of reach, scratch) is looked at one by one.
#pragma once
#include "exec/execution.hpp"
#include "task/packed_args.hpp"

namespace consort {

struct Executor;

// Whatever is out of the ordinary; everything is looked at anew.
consort_status prepare_odd(Execution &, Worker &, Frame &, Task *, uint32_t impl) noexcept;

// Fills f.call and f.fn. < 0: the task failed and that is recorded; it goes straight to complete(). > 0: it has to wait
// for something after all, and is not the caller's any more.
inline consort_status prepare(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t impl) noexcept {
  const uint32_t n = t->pub.naccess;
  uint64_t odd = (t->word.load(std::memory_order_relaxed) & word::kCancelled) |
                 (t->bits & (kScratch | kFollowed | kTokens | kUnite | kMore | kWatched)) |
                 uint64_t(t->epoch ^ t->group->epoch.load(std::memory_order_relaxed)) | (n > Frame::kInline) |
                 (t->nargs > Frame::kInline) | (impl + 1);
  if (t->bits & kAfter) [[unlikely]] odd |= !rt.failures.empty();
  if (!odd) [[likely]] {
    const consort_access *access = t->pub.access;
    for (uint32_t i = 0; i < n; ++i) {
      const Datum *d = Datum::of(access[i].datum);
      const uint32_t state = d->state.load(std::memory_order_relaxed);
      // plainly valid, and in a space within reach (there are no more than 64)
      odd |= uint64_t((state & data_state::kPlain) ^ data_state::kValid) |
             (~w.reach >> (data_state::space(state) & 63) & 1);
      f.views[i] = d->view;
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

// All data that a recording's nodes use, for the one task that runs in their place: f.views. > 0: it comes again. < 0: not
// to be had just now, which is told in the error slot and recorded nowhere; POISONED: some datum cannot be read.
consort_status prepare_all(Execution &, Worker &, Frame &, Task *carrier) noexcept;

// Of a task that was issued behind unfinished ones: could what it read be read after all? Recorded like prepare().
consort_status check_inputs(Execution &, Worker &, Task *) noexcept;

// A tracer is told that the task began (what = 0) or ended (1), and when if times are taken.
void trace(Execution &, const Task &, TaskName, uint32_t worker, uint32_t what, uint64_t at) noexcept;

// The call with its start and end told and timed.
consort_status observed_body(Execution &, Executor &, Frame &, Task *) noexcept;

}  // namespace consort
