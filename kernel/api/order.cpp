// order.cpp — order.h: explicit order of tasks, beyond that of data.
#include "api/datum_entry.hpp"
#include "exec/wait.hpp"
#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/submit.hpp"
#include "graph/task_options.hpp"
#include "task/callback.hpp"

using namespace consort;

namespace {

// Ends a task on behalf of the application.
void end(Runtime &rt, ThreadState &thread, Task *t) noexcept {
  if (!t) return;
  Callback::end(thread, t);
  if (!thread.seat && !thread.in_callback) settle_down(rt, thread);
}

// Runs f(tags, &gate), and ends the gate that it returns.
template <class F>
consort_status with_gate(consort_runtime *shell, F f) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  Task *gate = nullptr;
  const consort_status s = guarded([&] { return f(rt->tags, &gate); });
  end(*rt, *thread, gate);
  return s;
}

}  // namespace

extern "C" {

// -- tasks ----------------------------------------------------------------------------------------------------

consort_task_id consort_current_task(consort_runtime *shell) {
  const ApiCall rt(shell, ApiCall::kEnds);
  const ThreadState *thread = rt ? rt->this_thread_if_any() : nullptr;
  return {thread && thread->task ? thread->task->pub.id : 0};
}

uint32_t consort_current_worker(consort_runtime *shell) {
  const ApiCall rt(shell, ApiCall::kEnds);
  const ThreadState *thread = rt ? rt->this_thread_if_any() : nullptr;
  return thread ? number_of(thread->seat) : CONSORT_NONE;
}

consort_status consort_submit_list(consort_runtime *shell, const consort_task_desc *const *tasks, uint32_t n,
                                   consort_task_id *ids, uint32_t *submitted) {
  if (submitted) *submitted = 0;
  if (const ApiCall rt(shell); !rt) return refuse_shell(shell);  // each submission is a call of its own
  if (n && !tasks) return set_error(CONSORT_E_INVAL, "tasks is NULL, but n is not 0");
  for (uint32_t i = 0; i < n; ++i) {
    if (const consort_status s = consort_submit(shell, tasks[i], ids ? &ids[i] : nullptr); s < 0) return s;
    if (submitted) *submitted = i + 1;
  }
  return CONSORT_OK;
}

consort_status consort_task_end_hold(consort_runtime *shell, consort_task_id task) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!known(*rt, task.v)) return no_task();
  if (rt->ends.hold(task.v)) return CONSORT_OK;
  const TaskName turn = rt->is_live(task.v) ? task.v : rt->repeats.turn_of(task.v);
  if (turn != task.v && rt->ends.hold(turn)) return CONSORT_OK;
  if (!rt->is_live(turn)) return set_error(CONSORT_E_STALE, "the task has ended: its end can be held only before");
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  // A task without a hold may end at any moment, except for the thread inside it.
  Task *t = thread->task;
  if (!t || t->pub.id != turn)
    return set_error(
        CONSORT_E_INVAL,
        "the end of this task is not held: hold it from its body or its hooks, or submit it with end_holds");
  if (t->bits & kOver) return set_error(CONSORT_E_INVAL, "the task is just ending: its end can be held only before");
  if (t->replayed())
    return set_errorf(CONSORT_E_UNSUPPORTED, "task '%s' is replayed: the end of a recorded task cannot be held",
                      task_label(*rt, *t));
  if (!more_of(*thread, t)) return set_error(CONSORT_E_NOMEM, "no memory to hold a task's end");
  rt->ends.enlist(t, 1, false);
  return CONSORT_OK;
}

consort_status consort_task_end_release(consort_runtime *shell, consort_task_id task) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!known(*rt, task.v)) return no_task();
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  Task *last = nullptr, *leaves = nullptr;
  if (!rt->ends.release(task.v, &last, &leaves) && !rt->ends.release(rt->repeats.turn_of(task.v), &last, &leaves))
    return set_error(CONSORT_E_INVAL, "nothing holds the end of this task (any more)");
  if (const consort_body_watch *watch = bodies_of(rt->run_observer); watch && watch->ended && !rt->ends.holds(task.v))
    watch->ended(watch->user, task.v);
  if (leaves) last = leave_memory(*rt, *thread, leaves);  // it waits for other tasks alone: they may need its memory
  end(*rt, *thread, last);
  return CONSORT_OK;
}

consort_status consort_task_stop_repeating(consort_runtime *shell, consort_task_id task) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!known(*rt, task.v)) return no_task();
  if (rt->repeats.stop(task.v)) return CONSORT_OK;
  // Asked after the search: a task that is live now was live then, and a live one that repeats would have been found.
  if (!rt->is_live(task.v)) return CONSORT_OK;
  return set_error(CONSORT_E_INVAL, "the task does not repeat: it was submitted without CONSORT_TASK_REPEAT");
}

consort_status consort_wait_no_ready(consort_runtime *shell, int64_t timeout_ns, uint32_t flags) {
  const ApiCall rt(shell, ApiCall::waits(timeout_ns));
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  return guarded([&] { return wait_no_ready(*rt, timeout_ns); });
}

// -- tags -----------------------------------------------------------------------------------------------------

consort_status consort_tag_after(consort_runtime *shell, uint64_t tag, const uint64_t *others, uint32_t n) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (n && !others) return set_error(CONSORT_E_INVAL, "others is NULL, but n is not 0");
  return guarded([&] { return rt->tags.after(tag, others, n); });
}

consort_status consort_tag_notify(consort_runtime *shell, uint64_t tag) {
  return with_gate(shell, [&](Tags &tags, Task **gate) { return tags.notify(tag, gate); });
}
consort_status consort_tag_remove(consort_runtime *shell, uint64_t tag) {
  return with_gate(shell, [&](Tags &tags, Task **gate) { return tags.remove(tag, gate); });
}

consort_status consort_tag_restart(consort_runtime *shell, uint64_t tag) {
  const ApiCall rt(shell);
  return rt ? rt->tags.restart(tag) : refuse_shell(shell);
}

consort_status consort_tag_wait(consort_runtime *shell, const uint64_t *tags, uint32_t n, int64_t timeout_ns,
                                uint32_t flags) {
  const ApiCall rt(shell, ApiCall::waits(timeout_ns));
  if (!rt) return refuse_shell(shell);
  if (const consort_status s = check_wait_flags(flags); s < 0) return s;
  if (n && !tags) return set_error(CONSORT_E_INVAL, "tags is NULL, but n is not 0");
  return guarded([&] { return wait_tags(*rt, tags, n, timeout_ns, flags); });
}

consort_status consort_tag_state(consort_runtime *shell, uint64_t tag) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  return rt->tags.reached(tag) ? CONSORT_OK : CONSORT_AGAIN;
}

// -- bundles --------------------------------------------------------------------------------------------------

consort_status consort_bundle_create(consort_runtime *shell, consort_bundle_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  return guarded([&]() -> consort_status {
    auto b = rt->bundles.create();
    if (!b) return set_error(b.error());
    *out = *b;
    return CONSORT_OK;
  });
}

consort_status consort_bundle_close(consort_runtime *shell, consort_bundle_id bundle) {
  const ApiCall rt(shell, ApiCall::kEnds);
  return rt ? rt->bundles.close(bundle) : refuse_shell(shell);
}

// -- data, without waiting ------------------------------------------------------------------------------------

consort_status consort_acquire_later(consort_runtime *shell, consort_data_id data, uint32_t mode,
                                     consort_granted_fn *fn, void *arg) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!fn) return set_error(CONSORT_E_INVAL, "fn is NULL: give the function to be called at the grant");
  if (mode != CONSORT_M_R && mode != CONSORT_M_W && mode != CONSORT_M_RW)
    return set_errorf(CONSORT_E_INVAL, "mode 0x%x is none of R, W, RW", mode);
  ThreadState *thread = rt->this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  return guarded([&]() -> consort_status {
    expect_held(*thread);
    const consort_status s = submit_special(*rt, *thread, data, mode, TaskKind::kHold, nullptr, fn, arg);
    if (s < 0) stop_expecting_held(*thread);
    return s;
  });
}

consort_status consort_data_copy(consort_runtime *shell, consort_data_id dst, consort_data_id src,
                                 consort_group_id group, consort_task_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  return guarded([&] { return rt->copying.submit(dst, src, group, out); });
}

consort_status consort_register_like(consort_runtime *shell, consort_data_id like, const char *name,
                                     consort_data_id *out) {
  const ApiCall rt(shell);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  return with_datum(*rt, like, [&](Datum &d) -> consort_status {
    auto made = rt->data.add_like(d, DataTable::kShown, name);
    return made ? give_out(*rt, **made, out) : set_error(made.error());
  });
}

consort_status consort_find_data(consort_runtime *shell, const void *ptr, consort_data_id *out) {
  const ApiCall rt(shell, ApiCall::kEnds);
  if (!rt) return refuse_shell(shell);
  if (!out) return set_error(CONSORT_E_INVAL, "out is NULL");
  out->v = 0;
  if (!ptr) return set_error(CONSORT_E_INVAL, "ptr is NULL: data without a home have no address of their own");
  return rt->data.find_home(ptr, out) ? CONSORT_OK
                                      : set_errorf(CONSORT_E_INVAL, "no datum was registered at address %p", ptr);
}

}  // extern "C"
