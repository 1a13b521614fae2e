#include "exec/prepare.hpp"

#include <cstdlib>
#include <cstring>

#include "base/last_error.hpp"
#include "exec/reassign.hpp"
#include "graph/commute.hpp"
#include "graph/eligible_worker.hpp"
#include "graph/failed_task.hpp"
#include "graph/reduction.hpp"
#include "graph/task_hooks.hpp"
#include "graph/task_options.hpp"
#include "model/models.hpp"
#include "task/eligibility.hpp"
#include "task/guarded_call.hpp"
#include "task/run_observer.hpp"

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

// Calls Memory::stage() and records a refusal. OK: all valid; AGAIN: the task will return.
consort_status stage(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  Datum *blamed = nullptr;
  const consort_status s = rt.execution_memory->stage(*rt.this_thread(), w, f, t, &blamed);
  if (s < 0 && rt.lost.has(w.unit) && !(t->bits & kFollowed) && give_away(rt, *rt.this_thread(), w, t)) [[unlikely]]
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
  return s < 0 ? refuse(rt, w, t, s, error_text(), blamed) : s;
}

consort_status prepare_union(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  Datum &d = *Datum::of(t->pub.access[0].datum);
  if (d.state.load(std::memory_order_relaxed) & data_state::kPoisoned)
    return refuse(rt, w, t, CONSORT_E_POISONED, "its parts are not brought together: one of them failed", &d,
                  rt.data.blame(d));
  bool elsewhere = false;
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const Datum &one = *Datum::of(t->pub.access[i].datum);
    const uint32_t space = data_state::space(one.state.load(std::memory_order_relaxed));
    elsewhere |=
        one.pub.bytes && space != data_state::kNowhere && (space == data_state::kMany || !(w.reach >> space & 1));
    f.views[i] = one.view;
  }
  if (elsewhere)
    if (const consort_status s = stage(rt, w, f, t); s != CONSORT_OK) return s;
  f.fn = unite_body;
  f.call.nviews = f.call.nargs = 0;
  f.call.impl = 0;
  f.call.user = t;
  return CONSORT_OK;
}

consort_status prepare_data(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  t->bits |= kOdd;
  for (uint32_t i = 0; i < t->pub.naccess && !(t->bits & kFollowed); ++i) {
    const consort_access &a = t->pub.access[i];
    if (!(a.mode & CONSORT_M_R) && !(a.mode & CONSORT_M_FIXED_TREE)) continue;
    Datum *d = datum_for(a);
    if (const consort_status s = check_readable(rt, w, t, d, d->state.load(std::memory_order_relaxed)); s < 0) return s;
  }
  const bool staged = needs_staging(rt, w, *t);
  if (staged)
    if (const consort_status s = stage(rt, w, f, t); s != CONSORT_OK) return s;
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

}  // namespace

consort_status prepare_odd(Execution &rt, Worker &w, Frame &f, Task *t, uint32_t impl) noexcept {
  const uint32_t wanted = impl;
  if ((t->bits & kAfter) | (t->word.load(std::memory_order_relaxed) & word::kCancelled) |
      (t->epoch ^ t->group->epoch.load(std::memory_order_relaxed))) [[unlikely]]
    if (const consort_status s = fail_if_doomed(rt, t); s < 0) return s;
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
  if ((t->bits & kWatched) && (t->codelet->can_execute || rt.only_worker != CONSORT_NONE)) {
    const uint64_t can = able(rt, *t->codelet, w.klass, w.id, asked_about(*t));
    if (!can) return pass_on(rt, w, t);
    if (impl >= 64 || !(can >> impl & 1)) impl = static_cast<uint32_t>(__builtin_ctzll(can));
  }
  if ((t->bits & kTokens) && !take_tokens(rt, *rt.this_thread(), t)) return CONSORT_AGAIN;
  const uint32_t n = t->pub.naccess;
  if (!f.make_room(n, t->nargs))
    return refuse(rt, w, t, CONSORT_E_NOMEM, "no memory for the list of its data", nullptr);
  bool odd = t->bits & (kScratch | kFollowed);
  for (uint32_t i = 0; i < n && !odd; ++i) {
    const Datum *d = Datum::of(t->pub.access[i].datum);
    const uint32_t state = d->state.load(std::memory_order_relaxed);
    odd = (state & data_state::kPlain) != data_state::kValid || !(w.reach >> (data_state::space(state) & 63) & 1);
    f.views[i] = d->view;
  }
  if (odd)
    if (const consort_status s = prepare_data(rt, w, f, t); s != CONSORT_OK) return s;

  if (t->nargs) unpack_args(*t, f.blank(t->nargs));
  const Codelet &c = *t->codelet;
  if (impl >= c.impls.size() || c.impls[impl].klass != w.klass) {
    if (!c.entry[w.klass].fn) {
      set_errorf(CONSORT_E_UNSUPPORTED,
                 "scheduler '%s' gave it to a unit of class '%s', for which it has no implementation",
                 rt.policy.name().c_str(), w.unit.desc.klass);
      return refuse(rt, w, t, CONSORT_E_UNSUPPORTED, error_text(), nullptr);
    }
    impl = c.entry[w.klass].impl;
  }
  if (c.ran) c.ran[w.id].fetch_add(1, std::memory_order_relaxed);  // read by consort_codelet_stats()
  f.picked = impl == wanted;
  f.fn = c.impls[impl].fn;
  f.call.nviews = n;
  f.call.nargs = t->nargs;
  f.call.impl = impl;
  f.call.user = c.impls[impl].user;
  if (t->bits & kMore) call_begin(*rt.this_thread(), w, t);
  return CONSORT_OK;
}

consort_status prepare_all(Execution &rt, Worker &w, Frame &f, Task *t) noexcept {
  const uint32_t n = t->pub.naccess;
  if (!f.make_room(n, 0)) return set_error(CONSORT_E_NOMEM, "no memory for the list of its data");
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t state = Datum::of(t->pub.access[i].datum)->state.load(std::memory_order_relaxed);
    if ((t->pub.access[i].mode & CONSORT_M_R) && ((state & data_state::kPoisoned) || !(state & data_state::kValid)))
      return set_error(CONSORT_E_POISONED, "some datum has no contents that could be read");
  }
  const bool staged = (t->extra && t->extra->staging) || needs_staging(rt, w, *t);
  Datum *unused = nullptr;
  if (staged)
    if (const consort_status s = rt.execution_memory->stage(*rt.this_thread(), w, f, t, &unused); s != CONSORT_OK) return s;
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
  const bool timed = rt.profile || rt.run_observer || told || run.cell || run.counted;
  const uint64_t t0 = timed ? rt.clock.now() : 0;
  trace(rt, *t, name, w.id, 0, t0);
  ThreadState &thread = *rt.this_thread();
  const StartReport outer = std::exchange(thread.told, {name, w.id, run.counted, false, 0, run.expected,
                                            told ? rt.policy.tell_started(w, t) : ReportedInstance{}});
  const consort_status status = guarded_call(f.fn, &f.call);
  const uint64_t t1 = timed ? rt.clock.now() : 0;
  const StartReport own = std::exchange(thread.told, outer);
  const bool here = thread.seat == &w;
  run.counted = own.counted;
  if (own.waited) run.cell = nullptr;  // its time includes that of other bodies
  if (rt.run_observer) rt.run_observer->ran(w.id, *t, name, f.call.impl, run.expected, t0, t1, status, here);
  if (run.model) rt.models->end(w, run, t0, t1, status >= 0 && here);
  // A body that waited was reported when its wait began.
  if (own.watcher.instance) rt.policy.tell_finished(own.watcher, w, {name, status, 0, t0, t1, 0, 0});
  if (rt.profile) w.count_busy(t0, t1 - std::min(own.waited_ns, t1 - t0));
  trace(rt, *t, name, w.id, 1, t1);
  return status;
}

}  // namespace consort
