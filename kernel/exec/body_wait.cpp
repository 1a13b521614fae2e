#include "exec/body_wait.hpp"

#include "exec/execution.hpp"
#include "model/models.hpp"

namespace consort {
namespace {

TaskName told_task(const ThreadState &thread) noexcept {
  return thread.task && thread.told.task == thread.task->pub.id ? thread.told.task : 0;
}

// Calls `finished` without a measurement (t0 == t1). Only the owner of the worker may make that call.
void tell_policy(Execution &rt, ThreadState &thread, consort_status status) noexcept {
  const ReportedInstance watcher = std::exchange(thread.told.watcher, {});
  Worker *const w = thread.seat;
  if (!watcher.instance || !w || w->id != thread.told.worker) return;
  const uint64_t now = rt.clock.now();
  rt.policy.tell_finished(watcher, *w, {thread.told.task, status, 0, now, now, 0, 0});
}

}  // namespace

BodyWaits::BodyWaits(Execution &rt, ThreadState &thread) noexcept : rt_(rt), h_(thread), task_(told_task(thread)) {
  if (!task_) return;
  thread.told.waited = true;
  if (rt.profile) began_ = rt.clock.now();
  tell_policy(rt, thread, CONSORT_OK);
  if (thread.told.counted) rt.models->discount(thread.told.worker, thread.told.expected);
}

BodyWaits::~BodyWaits() {
  if (!task_) return;
  if (began_) h_.told.waited_ns += rt_.clock.now() - began_;
  if (!h_.told.counted) return;
  if (h_.seat && h_.seat->id == h_.told.worker) rt_.models->count(h_.told.worker, h_.told.expected);
  else h_.told.counted = false;
}

void untell(Execution &rt, ThreadState &thread) noexcept {
  if (told_task(thread)) {
    tell_policy(rt, thread, CONSORT_E_INTERNAL);
    if (thread.told.counted) rt.models->discount(thread.told.worker, thread.told.expected);
  }
  thread.told = {};
}

}  // namespace consort
