#include "exec/wait.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "exec/body_wait.hpp"
#include "exec/quiescence.hpp"
#include "exec/wait_condition.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/submit.hpp"

namespace consort {

consort_status wait_for(Execution &rt, const WaitCondition &goal, int64_t timeout_ns, uint32_t flags) noexcept {
  if (goal.reached()) return CONSORT_OK;
  if (timeout_ns == 0) {
    if (goal.surely_reached()) return CONSORT_OK;
    if (rt.virtual_time) step_for_polls(rt);
    else rt.policy.flush(rt);
    return CONSORT_E_TIMEOUT;
  }
  ThreadState *thread = rt.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  settle_down(rt, *thread);
  push_kept(rt, *thread);
  charge_submissions(rt);
  const Deadline deadline(rt.clock, timeout_ns);
  const BodyWaits waits(rt, *thread);
  if (rt.manual) return wait_by_pumping(*thread, goal, deadline);
  const bool may_help = !(flags & CONSORT_WAIT_NO_HELP) && !thread->nholds.load(std::memory_order_relaxed);
  if (thread->task) return wait_inside(*thread, goal, deadline, may_help);
  while (!goal.reached() && !deadline.passed())
    if (!may_help || !help(*thread, goal, deadline, nullptr))
      sleep_until(*thread, goal, deadline, may_help ? kWaitNap : -1);
  return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

namespace {

consort_status may_wait(Execution &rt, ThreadState *thread, const char *for_what) noexcept {
  if (thread) mend_if_left(rt, *thread, __builtin_frame_address(0));
  if (on_a_device)
    return set_errorf(CONSORT_E_BUSY,
                      "a function on a device must not wait for %s: the device would stand still; submit a task that "
                      "comes after it instead",
                      for_what);
  if (thread && thread->task && thread->task->codelet && thread->task->codelet->for_teams())
    return set_errorf(CONSORT_E_BUSY,
                      "a function that a team of workers may run must not wait for %s: the others of its team would stand "
                      "still; submit a task that comes after it instead",
                      for_what);
  if (thread && thread->in_callback)
    return set_errorf(CONSORT_E_BUSY,
                      "a completion callback must not wait for %s: submit a task that comes after it instead",
                      for_what);
  return CONSORT_OK;
}

consort_status may_wait(Execution &rt, const char *for_what) noexcept {
  return may_wait(rt, rt.this_thread_if_any(), for_what);
}

consort_status answer(consort_status s, const std::string &what) {
  return s == CONSORT_E_TIMEOUT ? set_error(s, "time ran out while waiting for " + what) : s;
}

}  // namespace

consort_status answer_failure(const Failure &f, uint32_t flags) {
  if (!(flags & CONSORT_WAIT_KEEP_FAILURE)) f.tell();
  return set_error(f.status, f.chain());
}

consort_status answer_unreported(const Execution &rt) noexcept try {
  constexpr size_t kShown = 8;
  size_t n;
  const auto all = rt.failures.untold(kShown, &n);
  if (all.empty()) return CONSORT_OK;
  for (size_t i = 1; i < all.size(); ++i) rt.log(kLogError, "no call asked for this failure: " + all[i]->chain());
  if (n > all.size())
    rt.log(kLogError, "no call asked for " + std::to_string(n - all.size()) + " further failures");
  return set_error(all[0]->status, all[0]->chain());
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory to search for failures that no call has told");
}

void mend_if_left(Execution &rt, ThreadState &thread, const void *here) noexcept {
  // Stacks grow downwards: inside the body this frame would be below the one that called it. A body on another stack (a
  // fibre) is far away in either direction.
  constexpr ptrdiff_t kOneStack = 8 << 20;
  const ptrdiff_t above = static_cast<const char *>(here) - static_cast<const char *>(thread.frame);
  if (!thread.task || !thread.frame || above < 0 || above > kOneStack) return;
  Task *t = thread.task;
  Executor *w = executor_of(thread.seat);
  untell(rt, thread);
  thread.task = nullptr;
  thread.frame = nullptr;
  thread.depth = 0;
  thread.in_callback = false;
  thread.away.store(false, std::memory_order_relaxed);
  if (rt.pumping.load(std::memory_order_relaxed) == &thread) rt.pumping.store(nullptr, std::memory_order_release);
  if (w && w->part) {
    rt.gangs.left_by_jump(*w);
  } else {
    record_failure(rt, t, CONSORT_E_INTERNAL, "its function was left by longjmp", nullptr, number_of(w),
                   nullptr);
    complete(rt, thread, t, CONSORT_E_INTERNAL, nullptr);
  }
  settle_down(rt, thread);
  thread.seat = nullptr;
  if (w) {
    w->pumped_by.store(nullptr, std::memory_order_relaxed);
    w->give_up();
  }
}

consort_status wait_group(Execution &rt, Group &g, uint32_t generation, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "a group"); s < 0) return s;
  ThreadState *thread = rt.this_thread_if_any();
  if (thread && thread->task)
    for (const Group *up = thread->task->group; up; up = up->parent.load(std::memory_order_relaxed))
      if (up == &g)
        return set_errorf(
            CONSORT_E_BUSY,
            "task '%s' belongs to group '%s' and would wait for itself: give its children a group of their own",
            task_label(rt, *thread->task), g.name.c_str());
  const WaitCondition goal{.rt = rt, .group = &g, .generation = generation, .call = "consort_group_wait()"};
  if (const consort_status s = wait_for(rt, goal, timeout_ns, flags); s < 0) return answer(s, "group '" + g.name + "'");
  return rt.groups.collect(g, generation, flags & CONSORT_WAIT_KEEP_FAILURE);
}

consort_status wait_all(Execution &rt, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "all tasks"); s < 0) return s;
  if (const ThreadState *thread = rt.this_thread_if_any(); thread && thread->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' would wait for itself: inside a task wait for a group or a task",
                      task_label(rt, *thread->task));
  const WaitCondition goal{.rt = rt, .call = "consort_wait_all()"};
  if (const consort_status s = wait_for(rt, goal, timeout_ns, flags); s < 0) return answer(s, "all tasks");
  return rt.groups.collect_all(flags & CONSORT_WAIT_KEEP_FAILURE);
}

consort_status wait_task(Execution &rt, TaskName name, int64_t timeout_ns, uint32_t flags, const char *call) {
  ThreadState *thread = rt.this_thread_if_any();
  if (const consort_status s = may_wait(rt, thread, "a task"); s < 0) return s;
  if (thread && !thread->task && thread->lease && timeout_ns && !(flags & CONSORT_WAIT_NO_HELP) &&
      !thread->nholds.load(std::memory_order_relaxed) && run_if_kept(*thread, name) && !rt.is_live(name))
    return CONSORT_OK;
  if (thread && thread->task && thread->task->pub.id == name)
    return set_error(CONSORT_E_BUSY, "a task that waits for itself would never end");
  WaitCondition goal{.rt = rt, .task = name, .call = call};
  if (thread && thread->task && rt.is_live(name)) {
    // a hint for the choice of tasks to run, and only for a group that this task may wait for
    Group *g = rt.task_at(name)->group;
    if (g && g->parent.load(std::memory_order_relaxed) == thread->task->group) goal.group_of_task = g;
  }
  return answer(wait_for(rt, goal, timeout_ns, flags), "a task");
}

consort_status wait_tags(Execution &rt, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "a tag"); s < 0) return s;
  if (const ThreadState *thread = rt.this_thread_if_any(); thread && thread->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' must not wait for a tag: submit a task that comes after it instead",
                      task_label(rt, *thread->task));
  if (!n) return CONSORT_OK;
  TagWait wait;
  rt.tags.begin_wait(wait, tags, n);
  const WaitCondition goal{.rt = rt, .tags = &wait};
  const consort_status s = wait_for(rt, goal, timeout_ns, flags);
  rt.tags.end_wait(wait);
  // From here on no other thread uses it. A tag may be restarted at any time: only what the wait has seen counts.
  const auto missing = std::find_if(wait.awaited.begin(), wait.awaited.end(), [](const auto &a) { return !a.reached; });
  if (s == CONSORT_E_TIMEOUT && missing != wait.awaited.end()) return answer(s, "tag " + std::to_string(missing->tag));
  if (s < 0 && s != CONSORT_E_TIMEOUT) return s;
  if (missing != wait.awaited.end())
    return set_error(CONSORT_E_STOPPED, "the runtime is being stopped: the tag is not reached any more");
  for (const TagWait::Awaited &a : wait.awaited)
    if (a.failed)
      if (const auto f = rt.failures.find(a.failed)) return answer_failure(*f, flags);
  return CONSORT_OK;
}

consort_status wait_context(Execution &rt, uint64_t id, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "a context"); s < 0) return s;
  if (const ThreadState *thread = rt.this_thread_if_any(); thread && thread->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' must not wait for a context: wait for a group or a task, or submit a "
                      "task that comes after", task_label(rt, *thread->task));
  auto found = rt.policy.contexts().find(id);
  if (!found) return set_error(found.error());
  const WaitCondition goal{.rt = rt, .context = *found, .generation = static_cast<uint32_t>(id >> 32),
                  .call = "consort_context_wait()"};
  const consort_status s = wait_for(rt, goal, timeout_ns, flags);
  if (s >= 0 && (*found)->id() != id)
    return set_error(CONSORT_E_STALE, "the context was destroyed while it was waited for: its tasks are its parent's");
  return answer(s, "a context");
}

consort_status wait_no_ready(Execution &rt, int64_t timeout_ns) {
  if (const consort_status s = may_wait(rt, "the ready tasks"); s < 0) return s;
  ThreadState *thread = rt.this_thread();
  if (!thread) return CONSORT_E_NOMEM;
  if (thread->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' is running, and would wait for itself", task_label(rt, *thread->task));
  const Deadline deadline(rt.clock, timeout_ns);
  int64_t nap = 20'000;
  for (uint64_t flushed = CONSORT_NEVER;; nap = std::min(2 * nap, kWaitNap)) {
    if (come_to_rest(rt, *thread)) {
      // Tasks that a holding policy got since the last flush are ready, too. Counted before the flush: a task that ends
      // later may make others ready. Tasks held back by this thread were pushed by the first come_to_rest().
      const uint64_t finished = rt.finished();
      if (!rt.policy.holds_back() || finished == flushed) return CONSORT_OK;
      flushed = finished;
      rt.policy.flush(rt);
      continue;
    }
    if (timeout_ns == 0 || deadline.passed()) return answer(CONSORT_E_TIMEOUT, "the ready tasks");
    if (!rt.manual) thread->parker.wait(nap);
  }
}

consort_status wait_granted(Execution &rt, Task *t, int64_t timeout_ns) noexcept {
  const WaitCondition goal{.rt = rt, .hold = t, .call = "consort_acquire()"};
  return wait_for(rt, goal, timeout_ns, 0);
}

}  // namespace consort
