#include "graph/eligible_worker.hpp"

#include "base/last_error.hpp"
#include "graph/failed_task.hpp"
#include "graph/reduction.hpp"

namespace consort {
namespace {

// Without `except`. It is passed once the task runs. Then its data decide what their reductions need, and a text that
// has not loaded anywhere need not be tried again.
Worker *find_able(TaskGraph &rt, const Task *t, uint32_t first, const Worker *except) noexcept {
  const auto n = static_cast<uint32_t>(rt.workers.size());
  for (uint32_t k = 0; k < n; ++k) {
    Worker &w = *rt.workers[(first + k) % n];
    if (&w == except || !(t->pub.where >> w.klass & 1)) continue;
    const uint64_t can = able(rt, *t->codelet, w.klass, w.id, asked_about(*t));
    if (!can || (except && !without_refused(rt, *t->codelet, w.id, can))) continue;
    if (!except || !(t->bits & (kScratch | kUnite)) || reductions_allow(*t, w.id)) return &w;
  }
  return nullptr;
}

// ready: its data decide what their reductions need.
consort_status report_no_worker(TaskGraph &rt, const Task *t, bool ready) noexcept {
  if (ready && (t->bits & (kScratch | kUnite)))
    for (const auto &w : rt.workers) {
      if ((t->bits & kBound) ? w->id != t->extra->worker : !(t->pub.where >> w->klass & 1)) continue;
      if (reductions_allow(*t, w->id) || !able(rt, *t->codelet, w->klass, w->id, asked_about(*t))) continue;
      return set_errorf(CONSORT_E_UNSUPPORTED,
                        "codelet '%s' cannot run it on worker %s: a codelet of the reduction of its data cannot run "
                        "there, by its can_execute() or for want of an implementation, and on no other of the %zu "
                        "workers can both",
                        t->codelet->name.c_str(), w->unit.name.c_str(), rt.workers.size());
    }
  if ((t->bits & kBound) && rt.lost.has(rt.workers[t->extra->worker]->unit))
    return set_errorf(CONSORT_E_DEVICE_LOST, "the device of worker %s, to which it is bound, is lost",
                      rt.workers[t->extra->worker]->unit.name.c_str());
  if (t->bits & kBound)
    return set_errorf(CONSORT_E_UNSUPPORTED,
                      "codelet '%s' cannot run it on worker %s, to which it is bound: its can_execute() refuses",
                      t->codelet->name.c_str(), rt.workers[t->extra->worker]->unit.name.c_str());
  if (rt.lost.any())
    return set_errorf(CONSORT_E_DEVICE_LOST,
                      "codelet '%s' can run it on none of the %zu workers: devices are lost, and no other has an "
                      "implementation that can",
                      t->codelet->name.c_str(), rt.workers.size());
  return set_errorf(CONSORT_E_UNSUPPORTED,
                    "codelet '%s' can run it on none of the %zu workers: its can_execute() refuses each",
                    t->codelet->name.c_str(), rt.workers.size());
}

}  // namespace

consort_status check_able(TaskGraph &rt, const Task *t) noexcept {
  bool can;
  if (t->bits & kBound) {
    const Worker &w = *rt.workers[t->extra->worker];
    can = able(rt, *t->codelet, w.klass, w.id, asked_about(*t)) != 0;
  } else {
    can = find_able(rt, t, 0, nullptr) != nullptr;
  }
  return can ? CONSORT_OK : report_no_worker(rt, t, false);
}

Worker *another_able(TaskGraph &rt, const Worker &from, const Task *t) noexcept {
  if (t->bits & kBound) return nullptr;
  return find_able(rt, t, from.id + 1 + (rt.lost.any() ? rt.lost.turn() : 0), &from);
}

consort_status pass_on(TaskGraph &rt, const Worker &from, Task *t) noexcept {
  Worker *to = another_able(rt, from, t);
  if (!to) return refuse_everywhere(rt, from, t);
  to->post(t);
  return CONSORT_AGAIN;
}

consort_status refuse_everywhere(TaskGraph &rt, const Worker &from, Task *t) noexcept {
  const consort_status s = report_no_worker(rt, t, true);
  record_failure(rt, t, s, error_text(), nullptr, from.id, nullptr);
  return s;
}

}  // namespace consort
