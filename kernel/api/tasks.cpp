// tasks.cpp — consort.h: tasks and data.
#include <cstring>

#include "api/datum_entry.hpp"
#include "exec/wait.hpp"
#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/partition_order.hpp"
#include "graph/submit.hpp"
#include "sched/context.hpp"
#include "task/callback.hpp"
#include "task/replica.hpp"

using namespace consort;

namespace {

// Returns this thread's hold for which an access of the datum would wait.
ThreadState::Held *find_held(ThreadState &thread, const Datum *d, uint32_t mode) noexcept {
  for (auto &held : thread.held)
    if (!held.later && ((held.mode | mode) & CONSORT_M_W) && may_share_bytes(*held.datum, *d)) return &held;
  return nullptr;
}

// Refuses a wait that could never end because it is for a hold of this thread.
consort_status refuse_own(Runtime &rt, ThreadState &thread, consort_data_id id, uint32_t mode, const char *what) {
  mend_if_left(rt, thread, __builtin_frame_address(0));
  Datum *d = rt.data.find(id);
  if (!d || !DataTable::is(*d, id)) return CONSORT_OK;  // the submission reports it
  if (on_a_device)
    return set_errorf(CONSORT_E_BUSY,
                      "a function on a device must not wait to %s a datum: the device would stand still; submit a task "
                      "that comes after it instead",
                      what);
  if (thread.task && thread.task->codelet && thread.task->codelet->for_teams())
    return set_errorf(CONSORT_E_BUSY,
                      "a function that a team of workers may run must not wait to %s a datum: the others of its team would "
                      "stand still; submit a task that comes after it instead",
                      what);
  if (thread.in_callback)
    return set_errorf(
        CONSORT_E_BUSY,
        "a completion callback must not wait to %s a datum: submit a task instead, or consort_unregister_later()",
        what);
  Claim claim(d, mode);
  const SubmissionRight right(rt, thread, &claim, 1);  // keeps its plans
  if (!DataTable::is(*d, id)) return CONSORT_OK;
  if (thread.task)
    for (uint32_t i = 0; i < thread.task->pub.naccess; ++i) {
      const consort_access &a = thread.task->pub.access[i];
      const Datum *used = Datum::of(a.datum);
      if (!(a.mode & CONSORT_M_SCRATCH) &&
          (used == d || (((a.mode | mode) & CONSORT_M_W) && may_share_bytes(*used, *d))))
        return set_errorf(CONSORT_E_BUSY, "task '%s' uses datum '%s' and would wait for itself to %s '%s'",
                          task_label(rt, *thread.task), rt.data.name(*used).c_str(), what, rt.data.name(*d).c_str());
    }
  if (!thread.nholds.load(std::memory_order_relaxed)) return CONSORT_OK;
  std::lock_guard lock(thread.held_lock);
  if (const ThreadState::Held *held = find_held(thread, d, mode))
    return set_errorf(CONSORT_E_BUSY,
                      "this thread has acquired datum '%s' and would wait for itself to %s '%s': release it first",
                      rt.data.name(*held->datum).c_str(), what, rt.data.name(*d).c_str());
  return CONSORT_OK;
}

[[gnu::noinline, gnu::cold]] consort_status submit_as_visit(consort_runtime *shell, const consort_task_desc *desc,
                                                            consort_task_id *out) noexcept {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  return desc ? submit(*rt, *desc, out) : set_error(CONSORT_E_INVAL, "the task's description is NULL");
}

void end_hold(Runtime &rt, ThreadState &thread, Task *t, bool wrote) noexcept {
  if (wrote) t->bits |= kOdd;
  Callback::end(thread, t);
  if (thread.seat) return;
  fence::light(rt.asymmetric);  // pairs with the heavy fences of WaitCondition::announce() and Groups::fd()
  const uint64_t turn = thread.out.turn.load(std::memory_order_relaxed);  // the hold may be of any group
  if (rt.waiters.any() || rt.groups.at(static_cast<uint32_t>(turn >> Tally::kGroupShift))->watched())
    settle_down(rt, thread);
}

}  // namespace

extern "C" {

// -- tasks ----------------------------------------------------------------------------------------------------

consort_status consort_submit(consort_runtime *shell, const consort_task_desc *desc, consort_task_id *out) {
  // As submit_as_visit(), without branches: the path of most tasks.
  CallRecord *const v = visitor;
  if (shell && desc && v->inside.load(std::memory_order_relaxed) == CallRecord::kOutside) [[likely]] {
    if (Runtime *rt = ApiCall::mark(shell, *v)) [[likely]] {
      const consort_status s = submit(*rt, *desc, out);
      ApiCall::unmark(*v);
      return s;
    }
    ApiCall::unmark(*v);
  }
  return submit_as_visit(shell, desc, out);
}

consort_status consort_task_wait(consort_runtime *shell, consort_task_id task, int64_t timeout_ns, uint32_t flags) {
  const ApiCall rt(shell, ApiCall::waits(timeout_ns));
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  if (!known(*rt, task.v)) return no_task();
  return guarded([&]() -> consort_status {
    if (const consort_status s = wait_task(*rt, task.v, timeout_ns, flags); s < 0) return s;
    if (rt->failures.empty()) [[likely]] return CONSORT_OK;
    const auto f = rt->failures.find(task.v);
    return f ? answer_failure(*f, flags) : CONSORT_OK;
  });
}

consort_status consort_task_cancel(consort_runtime *shell, consort_task_id task) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!known(*rt, task.v)) return no_task();
  std::atomic<uint64_t> &word = rt->task_at(task.v)->word;
  uint64_t w = word.load(std::memory_order_relaxed);
  while (word::generation(w) == task.v >> 32)
    if (word.compare_exchange_weak(w, w | word::kCancelled, std::memory_order_relaxed)) {
      rt->recordings.cancel(task.v);
      // The policy removes it at once if it can: a worker ends it then, as it would have at its turn.
      if (Task *t = rt->policy.take_back(*rt, rt->task_at(task.v), task.v)) rt->policy.post_to_able(*rt, t);
      else if (rt->policy.splits())
        if (ThreadState *thread = rt->this_thread()) rt->policy.contexts().release_cancelled(*thread);
      break;
    }
  return CONSORT_OK;
}

consort_status consort_task_state(consort_runtime *shell, consort_task_id task) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!known(*rt, task.v)) return no_task();
  return rt->is_live(task.v) ? CONSORT_AGAIN : CONSORT_OK;
}

// -- data -----------------------------------------------------------------------------------------------------

consort_status consort_register(consort_runtime *shell, const consort_data_desc *desc, consort_data_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_description(desc, out); s < 0) return s;
  return guarded([&] { return add_datum(*rt, *desc, rt->topology->home(), out); });
}

// The status of the root cause; E_POISONED would be that of its consequences.
static consort_status answer_retired(const Failure &f, uint32_t flags) {
  (void)answer_failure(f, flags);
  return f.root().status;
}

static consort_status retire(consort_runtime *shell, consort_data_id data, bool wait, uint32_t flags) {
  const ApiCall rt(shell, wait ? ApiCall::kWaits : ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    if (wait)
      if (const consort_status s = refuse_own(*rt, *thread, data, CONSORT_M_W, "unregister"); s < 0) return s;
    TaskName name;
    if (const consort_status s = submit_special(*rt, *thread, data, CONSORT_M_W, TaskKind::kRetire, &name); s < 0 || !wait)
      return s;
    if (const consort_status s = wait_task(*rt, name, CONSORT_FOREVER, flags, "consort_unregister()"); s < 0) return s;
    const auto f = rt->failures.find(name);  // it is poisoned, or its contents could not be copied home
    return f ? answer_retired(*f, flags) : CONSORT_OK;
  });
}

consort_status consort_unregister(consort_runtime *shell, consort_data_id data) { return retire(shell, data, true, 0); }
consort_status consort_unregister_wait(consort_runtime *shell, consort_data_id data, uint32_t flags) {
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  return retire(shell, data, true, flags);
}
consort_status consort_unregister_later(consort_runtime *shell, consort_data_id data) {
  return retire(shell, data, false, 0);
}

consort_status consort_invalidate(consort_runtime *shell, consort_data_id data) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    return submit_special(*rt, *thread, data, CONSORT_M_W, TaskKind::kInvalidate);
  });
}

consort_status consort_acquire(consort_runtime *shell, consort_data_id data, uint32_t mode, int64_t timeout_ns,
                               consort_hold *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  if (mode != CONSORT_M_R && mode != CONSORT_M_W && mode != CONSORT_M_RW)
    return set_errorf(CONSORT_E_INVAL, "mode 0x%x is none of R, W, RW", mode);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    if (thread->task || thread->in_callback || on_a_device || thread->nholds.load(std::memory_order_relaxed))
      if (const consort_status s = refuse_own(*rt, *thread, data, mode, "acquire"); s < 0) return s;
    expect_held(*thread);
    TaskName name;
    if (const consort_status s = submit_special(*rt, *thread, data, mode, TaskKind::kHold, &name); s < 0) {
      stop_expecting_held(*thread);
      return s;
    }
    Task *t = rt->task_at(name);
    if (t->follow.load(std::memory_order_acquire) != hold::kGranted) {
      const consort_status s = wait_granted(*rt, t, timeout_ns);
      uint8_t waiting = hold::kWaiting;
      if (s < 0 && t->follow.compare_exchange_strong(waiting, hold::kAbandoned, std::memory_order_acq_rel)) {
        stop_expecting_held(*thread);
        return s == CONSORT_E_TIMEOUT
                   ? set_errorf(s, "time ran out while waiting for datum %llu: tasks that use it are unfinished",
                                static_cast<unsigned long long>(data.v & 0xffffffff))
                   : s;
      }
    }
    Datum &d = *Datum::of(t->pub.access[0].datum);
    if (const consort_status s = check_held(*rt, *t, d, mode); s < 0) {
      const LastError why;
      stop_expecting_held(*thread);
      end_hold(*rt, *thread, t, false);
      return why.restore(s);
    }
    note_held(*thread, name, d, mode, false);
    *out = {{name}, rt->memory.held_view(*t, d)};
    tell_acquired(*rt, d, out->view, mode, true);
    return CONSORT_OK;
  });
}

consort_status consort_release(consort_runtime *shell, consort_hold held) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  const TaskName name = held.id.v;
  if (!known(*rt, name))
    return set_error(CONSORT_E_INVAL, "the hold is none of this runtime: consort_acquire() gives one");
  Task *t = rt->task_at(name);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  ThreadState &holder = *rt->threads.at(t->thread);
  const uint32_t mode = let_go_held(holder, name);
  if (!mode) return set_error(CONSORT_E_STALE, "the hold was released before");
  if (bodies_of(rt->run_observer)) [[unlikely]] {
    const Datum &d = *Datum::of(t->pub.access[0].datum);
    tell_acquired(*rt, d, rt->memory.held_view(*t, d), mode, false);
  }
  end_hold(*rt, *thread, t, mode & CONSORT_M_W);
  return CONSORT_OK;
}

}  // extern "C"
