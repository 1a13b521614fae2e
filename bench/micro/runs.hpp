// One run of a plan on a backend, and what a backend may be asked for. The clock is read on the main thread.
//
// A backend gives: name, edges (true: it is told the edges and infers none), supports(case, workers), prepare(plan),
// make_data(n), drop_data(), drive(submitters, f) (f(s) on each submitting thread; returns when every task is done),
// submit<Kind>(i, uses), and, where it can, sync<Kind>(i), acquire() (answers the datum's place)/release(),
// register_one(cell)/unregister_one(), divide()/bring_together(), read(datum) (its value, when all is done), and
// record(plan, f) (f(s) submits what is to be kept), replay() (runs it once and waits), forget().
#pragma once
#include "body.hpp"

namespace bench {

template <class B> constexpr bool can_sync = requires(B &b) { b.template sync<Kind{}>(uint64_t{0}); };
template <class B> constexpr bool can_acquire = requires(B &b) { b.acquire(); b.release(); };
template <class B> constexpr bool can_register = requires(B &b) { b.register_one(static_cast<uint64_t *>(nullptr)); b.unregister_one(); };
template <class B> constexpr bool can_replay = requires(B &b) { b.replay(); b.forget(); };
template <class B> constexpr bool can_divide = requires(B &b) { b.divide(); b.bring_together(); };
template <class B> constexpr bool can_add = requires(B &b) { b.read(uint32_t{0}); };

template <class B> bool supported(const Case &c, unsigned workers) {
  switch (c.pattern) {
  case Pattern::sync: return can_sync<B>;
  case Pattern::acquire_release:
  case Pattern::acquire_task: return can_acquire<B>;
  case Pattern::register_unregister:
  case Pattern::register_task: return can_register<B>;
  case Pattern::partition: return can_divide<B>;
  case Pattern::redux:
  case Pattern::commute: return can_add<B>;
  default: return (!c.replayed || can_replay<B>) && B::supports(c, workers);
  }
}

// Calls f.operator()<Kind>() with the kind of this case's tasks.
template <Body Does, class F> auto with_kind(const Case &c, F &&f) {
  if (c.bare) return f.template operator()<Kind{Does, false, false}>();
  if (c.priority) return f.template operator()<Kind{Does, true, true}>();
  return f.template operator()<Kind{Does, true, false}>();
}

// Submits, and keeps for the oracle whose submission this thread is in.
template <Kind K, unsigned N, class B> void submit_one(B &b, uint64_t i, const Uses<N> &uses) {
  if constexpr (K.body == Body::check) Check::submitting = i;
  b.template submit<K>(i, uses);
  if constexpr (K.body == Body::check) Check::submitting = Check::none;
}

template <Kind K> void must_have_run(uint64_t i) {
  if constexpr (K.body == Body::check)
    if (!check.has_run(i)) check.fail();
}

// Everything that one submitter does. The patterns whose application touches data do so timed as well as checked.
template <Kind K, class B> void submit_all(B &b, const Plan &p, unsigned s) {
  switch (p.pattern) {
  case Pattern::sync:
    if constexpr (can_sync<B>)
      for (uint64_t i = 0; i < p.n; ++i) {
        b.template sync<K>(i);
        must_have_run<K>(i);
      }
    break;
  case Pattern::acquire_release:
  case Pattern::acquire_task:
    if constexpr (can_acquire<B>)
      for (uint64_t i = 0; i < p.n; ++i) {
        if (p.pattern == Pattern::acquire_task) submit_one<K>(b, i, Uses<1>{{0}});
        uint64_t *const held = b.acquire();
        if (K.body == Body::check && *held != i) check.fail();
        *held = i + 1;
        if (p.pattern == Pattern::acquire_task) must_have_run<K>(i);
        b.release();
      }
    break;
  case Pattern::partition: // one part is used, so that the whole is divided, and the whole is entered
    if constexpr (can_divide<B>)
      for (uint64_t i = 0; i < p.n; ++i) {
        b.divide();
        submit_one<K>(b, i, Uses<1>{{0}});
        b.bring_together();
        must_have_run<K>(i);
      }
    break;
  case Pattern::register_unregister:
  case Pattern::register_task:
    if constexpr (can_register<B>)
      for (uint64_t i = 0; i < p.n; ++i) {
        uint64_t cell = i;
        b.register_one(&cell);
        if (p.pattern == Pattern::register_task) submit_one<K>(b, i, Uses<1>{{0}});
        b.unregister_one();
        if (p.pattern == Pattern::register_task) must_have_run<K>(i);
        if (K.body == Body::check && cell != i) check.fail();
      }
    break;
  default: each_task(p, s, [&](uint64_t i, const auto &uses) { submit_one<K>(b, i, uses); });
  }
}

// Runs the plan once and answers the nanoseconds it took, all tasks.
template <Kind K, class B> double run_once(B &b, const Plan &p) {
  if constexpr (B::edges) b.prepare(p);
  const double t0 = now_ns();
  b.drive(p.submitters, [&](unsigned s) { submit_all<K>(b, p, s); });
  return now_ns() - t0;
}

template <Kind K, class B> void record(B &b, const Plan &p) {
  if constexpr (B::edges) b.prepare(p);
  b.record(p, [&](unsigned s) { each_task(p, s, [&](uint64_t i, const auto &uses) { b.template submit<K>(i, uses); }); });
}

// The data that a plan needs; register_… and partition make their own.
inline uint64_t data_of(const Plan &p) {
  return p.pattern == Pattern::register_unregister || p.pattern == Pattern::register_task || p.pattern == Pattern::partition ? 0 : p.data;
}

} // namespace bench
