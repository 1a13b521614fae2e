#include "exec/body_wait.hpp"

#include "api/runtime.hpp"
#include "model/models.hpp"

namespace consort {
namespace {

TaskName told_task(const Hand &h) noexcept { return h.task && h.told.task == h.task->pub.id ? h.told.task : 0; }

// `finished` without a measurement (t0 == t1). A call of the worker: only its owner makes it.
void tell_policy(Runtime &rt, Hand &h, consort_status status) noexcept {
  const Watcher watcher = std::exchange(h.told.watcher, {});
  Worker *const w = h.seat;
  if (!watcher.instance || !w || w->id != h.told.worker) return;
  const uint64_t now = rt.clock.now();
  rt.policy.tell_finished(watcher, *w, {h.told.task, status, 0, now, now, 0, 0});
}

}  // namespace

BodyWaits::BodyWaits(Runtime &rt, Hand &h) noexcept : rt_(rt), h_(h), task_(told_task(h)) {
  if (!task_) return;
  h.told.waited = true;
  if (rt.profile) began_ = rt.clock.now();
  tell_policy(rt, h, CONSORT_OK);
  if (h.told.counted) rt.models->discount(h.told.worker, h.told.expected);
}

BodyWaits::~BodyWaits() {
  if (!task_) return;
  if (began_) h_.told.waited_ns += rt_.clock.now() - began_;
  if (!h_.told.counted) return;
  if (h_.seat && h_.seat->id == h_.told.worker) rt_.models->count(h_.told.worker, h_.told.expected);
  else h_.told.counted = false;
}

void untell(Runtime &rt, Hand &h) noexcept {
  if (told_task(h)) {
    tell_policy(rt, h, CONSORT_E_INTERNAL);
    if (h.told.counted) rt.models->discount(h.told.worker, h.told.expected);
  }
  h.told = {};
}

}  // namespace consort
