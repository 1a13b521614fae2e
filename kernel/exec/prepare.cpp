#include "exec/prepare.hpp"

#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "exec/reassign.hpp"
#include "exec/watched_body.hpp"
#include "graph/commute.hpp"
#include "graph/eligible_worker.hpp"
#include "graph/failed_task.hpp"
#include "graph/reduction.hpp"
#include "graph/task_hooks.hpp"
#include "graph/task_options.hpp"
#include "model/models.hpp"
#include "task/eligibility.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"

namespace consort {
namespace {

consort_status refuse(Execution &rt, Worker &w, Task *t, consort_status status, std::string_view text, Datum *d,
                      std::shared_ptr<const Failure> cause = nullptr) noexcept {
  record_failure(rt, t, status, text, d, w.id, std::move(cause));
  return status;
}

// Checks the contents of an access that reads.
consort_status check_readable(Execution &rt, Worker &w, Task *t, Datum *d, uint32_t state) noexcept {
  if (state & data_state::kPoisoned)
    return refuse(rt, w, t, CONSORT_E_POISONED, "not run: it reads what another task failed to write", d,
                  rt.data.blame(*d));
  if (!(state & data_state::kValid))
    return refuse(
        rt, w, t, CONSORT_E_INVAL,
        "it reads a datum that was never written: submit a task that writes it first, or register it with contents",
        d);
  return CONSORT_OK;
}

// Returns whether a datum is where the unit cannot access it, or in counted memory.
bool needs_staging(const Execution &rt, const Worker &w, const Task &t) noexcept {
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const consort_access &a = t.pub.access[i];
    if (rt.execution_memory->stages_scratch(a, w.unit.desc.space)) return true;
    if (!is_moved(a)) continue;
    const Datum *d = datum_for(a);
    if (!d->pub.bytes) continue;
    const uint32_t space = data_state::space(d->state.load(std::memory_order_relaxed));
    if (space == data_state::kMany) return true;
    if (space == data_state::kNowhere ? rt.execution_memory->manages(w.unit.desc.space) : !(w.reach >> space & 1)) return true;
  }
  return false;
}

// Records why the data of a task cannot be brought to its unit. AGAIN: it was given to another worker.
consort_status refuse_data(Execution &rt, Worker &w, Task *t, consort_status s, Datum *blamed) noexcept {
  if (rt.lost.has(w.unit) && !(t->bits & kFollowed) && give_away(rt, *rt.this_thread(), w, t)) [[unlikely]]
    return CONSORT_AGAIN;  // a datum that is only written need not be valid
  // The inputs of a followed task were not checked before.
  for (uint32_t i = 0; i < t->pub.naccess && s == CONSORT_E_UNSUPPORTED && (t->bits & kFollowed); ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_R) || !is_moved(a)) continue;
    Datum *d = datum_for(a);
    // its state may be that from before an unfinished writer
    if (rt.execution_memory->valid_in(*d, w.unit.desc.space)) continue;
    if (const consort_status r = check_readable(rt, w, t, d, d->state.load(std::memory_order_relaxed)); r < 0) return r;
  }
  return refuse(rt, w, t, s, error_text(), blamed);
}

// OK: all data are valid, and f.views has them. AGAIN: the task will return, with its data or a refusal.
consort_status stage(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  Datum *blamed = nullptr;
  const consort_status s = rt.execution_memory->stage(*rt.this_thread(), w, f, t, &blamed);
  return s < 0 ? refuse_data(rt, w, t, s, blamed) : s;
}

// For a task that has returned: fills f.views, and the frame's implementation as stage() found it.
consort_status begin_staged(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  Datum *blamed = nullptr;
  const consort_status s = rt.execution_memory->begin(f, t, &blamed);
  return s < 0 ? refuse_data(rt, w, t, s, blamed) : s;
}

consort_status check_union(Execution &rt, Worker &w, Task *t) noexcept {
  Datum &d = *Datum::of(t->pub.access[0].datum);
  if (d.state.load(std::memory_order_relaxed) & data_state::kPoisoned)
    return refuse(rt, w, t, CONSORT_E_POISONED, "its parts are not brought together: one of them failed", &d,
                  rt.data.blame(d));
  return CONSORT_OK;
}

// Returns whether some of its data are where the unit cannot access them. Fills f.views with the others.
bool view_union(const Worker &w, Frame &f, const Task &t) noexcept {
  bool elsewhere = false;
  for (uint32_t i = 0; i < t.pub.naccess; ++i) {
    const Datum &one = *Datum::of(t.pub.access[i].datum);
    const uint32_t space = data_state::space(one.state.load(std::memory_order_relaxed));
    elsewhere |=
        one.pub.bytes && space != data_state::kNowhere && (space == data_state::kMany || !(w.reach >> space & 1));
    f.views[i] = one.view;
  }
  return elsewhere;
}

void fill_union_call(Frame &f, Task *t) noexcept {
  f.fn = unite_body;
  f.call.nviews = f.call.nargs = 0;
  f.call.impl = 0;
  f.call.user = t;
}

consort_status prepare_union(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  if (const consort_status s = check_union(rt, w, t); s < 0) return s;
  fill_union_call(f, t);
  return view_union(w, f, *t) ? stage(rt, w, f, t) : CONSORT_OK;
}

consort_status check_contents(Execution &rt, Worker &w, Task *t) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess && !(t->bits & kFollowed); ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_R) && !(a.mode & CONSORT_M_FIXED_TREE)) continue;
    Datum *d = datum_for(a);
    if (const consort_status s = check_readable(rt, w, t, d, d->state.load(std::memory_order_relaxed)); s < 0) return s;
  }
  return CONSORT_OK;
}

// Fills f.views for data that are not staged: scratch memory, copies of reductions, and data of unlimited memory.
consort_status view_unstaged(Execution &rt, Worker &w, Frame &f, Task *t, bool staged) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    consort_access &a = t->accesses()[i];
    Datum *d = datum_for(a);
    if (rt.execution_memory->stages_scratch(a, w.unit.desc.space)) continue;  // it is in the frame
    if (a.mode & CONSORT_M_SCRATCH) {
      if (const consort_status s = rt.data.take_scratch(*d, t->pub.id, w.unit.desc.space, &f.views[i]); s < 0)
        return refuse(rt, w, t, s, error_text(), d);
    } else if ((a.mode & CONSORT_M_REDUX) && !(a.mode & CONSORT_M_FIXED_TREE)) {
      if (const consort_status s = take_copy(rt, w, t, a, &f.views[i]); s < 0)
        return refuse(rt, w, t, s, error_text(), d);
    } else if (!staged || !d->pub.bytes) {
      // First write: by a task that has it alone, or one behind such a task in the same queue's order.
      if (is_nowhere(*d))
        if (const consort_status s = rt.data.give_memory(*d, w.unit.desc.space); s < 0)
          return refuse(rt, w, t, s, error_text(), d);
      f.views[i] = d->view;
    }
  }
  return CONSORT_OK;
}

consort_status prepare_data(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  t->bits |= kOdd;
  if (const consort_status s = check_contents(rt, w, t); s < 0) return s;
  const bool staged = needs_staging(rt, w, *t);
  if (staged)
    if (const consort_status s = stage(rt, w, f, t); s != CONSORT_OK) return s;
  return view_unstaged(rt, w, f, t, staged);
}

// Fills f.views with data that all units access in place. Returns false if some need individual checks.
bool view_plain(const Worker &w, Frame &f, const Task &t) noexcept {
  bool odd = t.bits & (kScratch | kFollowed);
  for (uint32_t i = 0; i < t.pub.naccess && !odd; ++i) {
    const Datum *d = Datum::of(t.pub.access[i].datum);
    const uint32_t state = d->state.load(std::memory_order_relaxed);
    odd = (state & data_state::kPlain) != data_state::kValid || !(w.reach >> (data_state::space(state) & 63) & 1);
    f.views[i] = d->view;
  }
  return !odd;
}

// Sets f.call.impl and f.picked, by the policy's choice (CONSORT_NONE: it made none). AGAIN: no implementation can run
// here, and the task was passed on.
consort_status choose_impl(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t wanted) noexcept {
  uint32_t impl = wanted;
  const Codelet &c = *t->codelet;
  if ((t->bits & kWatched) && (c.can_execute || rt.only_worker != CONSORT_NONE)) {
    const uint64_t can = able(rt, c, w.klass, w.id, asked_about(*t));
    if (!can) return pass_on(rt, w, t);
    if (impl >= 64 || !(can >> impl & 1)) impl = static_cast<uint32_t>(__builtin_ctzll(can));
  }
  if (impl >= c.impls.size() || c.impls[impl].klass != w.klass) {
    if (!c.entry[w.klass].fn) {
      set_errorf(CONSORT_E_UNSUPPORTED,
                 "scheduler '%s' gave it to a unit of class '%s', for which it has no implementation",
                 rt.policies.name().c_str(), w.unit.desc.klass);
      return refuse(rt, w, t, CONSORT_E_UNSUPPORTED, error_text(), nullptr);
    }
    impl = c.entry[w.klass].impl;
  }
  f.call.impl = impl;
  f.picked = impl == wanted;
  return CONSORT_OK;
}

// The rest of the call, once the views and the implementation are known. It will run.
consort_status fill_call(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  if (t->nargs) unpack_args(*t, f.blank(t->nargs));
  const Codelet &c = *t->codelet;
  const Codelet::Impl &impl = c.impls[f.call.impl];
  if (c.ran) c.ran[w.id].fetch_add(1, std::memory_order_relaxed);  // read by consort_codelet_stats()
  f.fn = impl.fn;
  f.call.nviews = t->pub.naccess;
  f.call.nargs = t->nargs;
  f.call.user = impl.user;
  if (t->bits & kMore) call_begin(*rt.this_thread(), w, t);
  return CONSORT_OK;
}

consort_status check_doomed(Execution &rt, Task *t) noexcept {
  if ((t->bits & kAfter) | (t->word.load(std::memory_order_relaxed) & word::kCancelled) |
      (t->epoch ^ t->group->epoch.load(std::memory_order_relaxed))) [[unlikely]]
    return fail_if_doomed(rt, t);
  return CONSORT_OK;
}

// Makes room in the frame for the views and arguments.
consort_status make_room(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  if (f.make_room(t->pub.naccess, t->nargs)) return CONSORT_OK;
  return refuse(rt, w, t, CONSORT_E_NOMEM, "no memory for the list of its data", nullptr);
}

// Continues a union that waited for its data.
consort_status prepare_returned_union(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  if (const consort_status s = check_union(rt, w, t); s < 0) return s;
  fill_union_call(f, t);
  view_union(w, f, *t);  // data that are not moved
  return begin_staged(rt, w, f, t);
}

// Continues a task that waited for its data. It has its tokens and its implementation, and this worker may run it.
consort_status prepare_returned(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  if (unites_by_itself(*t)) return prepare_returned_union(rt, w, f, t);
  if (const consort_status s = make_room(rt, w, f, t); s < 0) return s;
  if (const consort_status s = check_contents(rt, w, t); s < 0) return s;
  if (const consort_status s = begin_staged(rt, w, f, t); s != CONSORT_OK) return s;
  if (const consort_status s = view_unstaged(rt, w, f, t, true); s < 0) return s;
  return fill_call(rt, w, f, t);
}

// For a task that is popped.
consort_status prepare_popped(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t impl) noexcept {
  if ((t->bits & (kScratch | kUnite)) && !reductions_allow(*t, w.id)) return pass_on(rt, w, t);
  if (t->bits & kUnite) [[unlikely]] {
    if (unites_by_itself(*t)) return prepare_union(rt, w, f, t);
    if (begins(*t) && begins_in_vain(*t)) {
      t->bits &= static_cast<uint16_t>(~kOdd);  // it writes nothing
      f.fn = begun_already;
      f.call.nviews = f.call.nargs = 0;
      return CONSORT_OK;
    }
  }
  if (const consort_status s = choose_impl(rt, w, f, t, impl); s != CONSORT_OK) return s;
  if ((t->bits & kTokens) && !take_tokens(rt, *rt.this_thread(), t)) return CONSORT_AGAIN;
  if (const consort_status s = make_room(rt, w, f, t); s < 0) return s;
  if (!view_plain(w, f, *t))
    if (const consort_status s = prepare_data(rt, w, f, t); s != CONSORT_OK) return s;
  return fill_call(rt, w, f, t);
}

}  // namespace

consort_status prepare_odd(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t impl) noexcept {
  if (const consort_status s = check_doomed(rt, t); s < 0) return s;
  return is_staged(*t) ? prepare_returned(rt, w, f, t) : prepare_popped(rt, w, f, t, impl);
}

consort_status prepare_all(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  const uint32_t n = t->pub.naccess;
  if (!f.make_room(n, 0)) return set_error(CONSORT_E_NOMEM, "no memory for the list of its data");
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t state = Datum::of(t->pub.access[i].datum)->state.load(std::memory_order_relaxed);
    if ((t->pub.access[i].mode & CONSORT_M_R) && ((state & data_state::kPoisoned) || !(state & data_state::kValid)))
      return set_error(CONSORT_E_POISONED, "some datum has no contents that could be read");
  }
  Datum *unused = nullptr;
  const bool returned = is_staged(*t), staged = returned || needs_staging(rt, w, *t);
  if (returned) {
    if (const consort_status s = rt.execution_memory->begin(f, t, &unused); s < 0) return s;
  } else if (staged) {
    if (const consort_status s = rt.execution_memory->stage(*rt.this_thread(), w, f, t, &unused); s != CONSORT_OK) return s;
  }
  for (uint32_t i = 0; i < n; ++i) {
    Datum *d = Datum::of(t->pub.access[i].datum);
    if (staged && d->pub.bytes) continue;
    if (is_nowhere(*d))
      if (const consort_status s = rt.data.give_memory(*d, w.unit.desc.space); s < 0) return s;
    f.views[i] = d->view;
  }
  return CONSORT_OK;
}

consort_status check_inputs(Execution &rt, Worker &w, Task *t) noexcept {
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_R)) continue;
    Datum *d = Datum::of(a.datum);
    if (const consort_status s = check_readable(rt, w, t, d, d->state.load(std::memory_order_relaxed)); s < 0) return s;
  }
  return CONSORT_OK;
}

void trace(Execution &rt, const Task &t, TaskName name, uint32_t worker, uint32_t what, uint64_t at) noexcept {
  if (!rt.trace_fn) return;
  const consort_trace_event e{rt.profile ? at : 0, name, t.codelet->number, worker, what, task_label(rt, t)};
  rt.trace_fn(rt.trace_user, &e);
}

consort_status observed_body(Execution &rt, Executor &w, Frame &f, Task *t) noexcept {
  const TaskName name = t->pub.id;
  const bool told = rt.policy.observes();
  Models::Run run;
  if (rt.models->in_use()) run = rt.models->begin(w, f, *t);
  const bool profiled = rt.profile, timed = profiled || told || run.cell || run.counted, traced = rt.traces(traced::kTasks);
  const uint64_t t0 = timed ? rt.clock.now() : traced ? rt.ticks.now(rt.clock) : 0;
  trace(rt, *t, name, w.id, 0, t0);
  ThreadState &thread = *rt.this_thread();
  const StartReport outer = std::exchange(thread.told, {name, w.id, run.counted, false, 0, run.expected,
                                            told ? rt.policy.tell_started(w, t) : ReportedInstance{}});
  const consort_status status = run_body(rt, w, *t, f.fn, &f.call);
  const uint64_t t1 = timed ? rt.clock.now() : traced ? rt.ticks.now(rt.clock) : 0;
  const StartReport own = std::exchange(thread.told, outer);
  run.counted = own.counted;
  if (own.waited) run.cell = nullptr;  // its time includes that of other bodies
  if (traced)
    rt.run_observer->ran(w.id, *t, name, f.call.impl, run.expected, t0, t1, status, timed ? Stamps::kNs : Stamps::kTicks);
  if (run.model) rt.models->end(w, run, t0, t1, status >= 0 && thread.seat == &w);
  // A body that waited was reported when its wait began.
  if (own.watcher.instance) rt.policy.tell_finished(own.watcher, w, {name, status, 0, t0, t1, 0, 0});
  if (profiled) w.count_busy(t0, t1 - std::min(own.waited_ns, t1 - t0));
  trace(rt, *t, name, w.id, 1, t1);
  return status;
}

}  // namespace consort
