#include <algorithm>

#include "exec/queue.hpp"
#include "exec/quiescence.hpp"
#include "exec/wait_condition.hpp"
#include "graph/submit.hpp"

namespace consort {
namespace {

constexpr uint32_t kLookEvery = 32;        // steps between two checks of the condition
constexpr int64_t kFlush = 1'000'000;      // ns between two flushes of a policy that holds tasks back
constexpr int64_t kNoThread = 10'000'000;  // ns between two attempts to get a thread that the system refused

void log_lack_of_threads(Execution &rt) noexcept try {
  if (rt.said_no_thread.exchange(true, std::memory_order_relaxed)) return;
  rt.log(1, "the system gives no more threads: other tasks run on top of a body that waits; raise the limit of threads "
            "or of memory, or let a task that comes after do what follows the wait");
} catch (const std::bad_alloc &) {
}

// Returns a sleep of nap ns (< 0: unlimited), shortened to the next flush of the policy. Tasks that become ready while
// the application already waits are held back, and no wake-up comes with them.
int64_t until_flush(const Execution &rt, int64_t nap) noexcept {
  return rt.policy.holds_back() && (nap < 0 || nap > kFlush) ? kFlush : nap;
}

}  // namespace

bool sleep_until(ThreadState &thread, const WaitCondition &goal, const Deadline &deadline, int64_t longest) noexcept {
  Execution &rt = goal.rt;
  const Waiter waiter(rt.waiters, thread.parker, goal.group);
  goal.announce();
  const bool holds = goal.call && thread.nholds.load(std::memory_order_relaxed);
  while (!goal.surely_reached() && !deadline.passed() && longest != 0) {
    rt.policy.flush(rt);
    const int64_t left = deadline.left_ns();
    int64_t nap = left < 0 ? longest : longest < 0 ? left : std::min(left, longest);
    if (holds && (nap < 0 || nap > OwnHolds::kNap)) nap = OwnHolds::kNap;
    thread.parker.wait(until_flush(rt, nap));
    if (holds) goal.own_holds.look(rt, thread, goal.call, [&](const Task &t) { return goal.is_for(t); });
    if (longest > 0) break;
  }
  goal.withdraw();
  return goal.reached();
}

bool help(ThreadState &thread, const WaitCondition &goal, const Deadline &deadline, RecordWait *records) noexcept {
  Execution &rt = goal.rt;
  Executor *w = executor_of(thread.lease);
  if (!w || !w->lease_to_held(thread)) {
    w = nullptr;
    thread.lease = nullptr;
    for (auto &candidate : rt.executors)
      if (candidate->try_lease(thread, true)) break;
    w = executor_of(thread.lease);
    if (!w || !w->lease_to_held(thread)) return false;
  }
  thread.seat = w;
  push_kept(rt, *w);
  {
    Frame frame(*w);
    constexpr uint32_t kSingly = 4;
    uint32_t idle = 0, looks = 0;
    while (!goal.reached()) {
      // A single task is often the next one: no search for another task after it has ended.
      const bool did = w->steps(thread, frame, goal.task && looks++ < kSingly ? 1 : kLookEvery) > 0;
      if (thread.seat != w) break;
      if (records && records->enough(thread)) break;
      if (did && !deadline.passed()) {
        idle = 0;
        continue;
      }
      if (idle == 0) {
        settle_down(rt, thread);
        thread.spin.begin(rt.spin_ns);
      }
      if (goal.reached() || deadline.passed()) break;
      if (!thread.spin.over(idle += look_again_later(idle))) continue;
      rt.policy.flush(rt);
      w->show_asleep(thread.parker);
      if (w->step(thread, frame)) {
        if (thread.seat != w) break;
        w->show_awake();
        idle = 0;
        continue;
      }
      {
        const Waiter waiter(rt.waiters, thread.parker, goal.group);
        goal.announce();
        w->resting.store(true, std::memory_order_release);
        if (!goal.surely_reached()) {
          if (records && stands_still(rt)) records->in_vain = true;
          else
            thread.spin.sleep(rt.spin_ns, [&] {  // no thread announces that all workers rest
              thread.parker.wait(records ? kWaitNap : until_flush(rt, deadline.left_ns()));
            });
        }
        w->resting.store(false, std::memory_order_release);
        goal.withdraw();
      }
      if (records && records->in_vain) {
        if (w->go_idle(thread, frame)) break;
        records->in_vain = false;  // something changed
        if (thread.seat != w) break;
        w->show_awake();
        idle = 0;
        continue;
      }
      w->show_awake();
      thread.spin.exhaust();
      idle = 1;
      if (records) break;  // nothing to run and no record returned: the caller decides
    }
    settle_down(rt, thread);
  }
  if (thread.seat == w) rt.pass_on_wake(*w), w->held_to_lease(thread);
  else thread.lease = nullptr;  // a body waited, and another thread has the worker now
  thread.seat = nullptr;
  return true;
}

bool run_if_kept(ThreadState &thread, TaskName name) noexcept {
  constexpr uint32_t kTurn = 8;  // each eighth wait steps the worker, for tasks of other threads: a loop keeps the lease
  if (++thread.kept_waits % kTurn == 0) return false;
  Execution &rt = execution_of(thread.rt);
  Executor *const w = executor_of(thread.lease);
  if (!w || rt.manual || w->called.load(std::memory_order_acquire) || !w->lease_to_held(thread)) return false;
  thread.seat = w;
  Task *const t = w->nkept ? w->kept[w->nkept - 1] : nullptr;
  const bool mine = t && t->pub.id == name && (t->pub.where >> w->klass & 1) && !t->codelet->for_teams() &&
                    rt.policy.may_bypass(w->id, *t);
  if (mine) {
    --w->nkept;
    push_kept(rt, *w);  // the others need not wait for its end
    Frame frame(*w);
    w->run(thread, frame, t, CONSORT_NONE);
    settle_down(rt, thread);
  }
  if (thread.seat == w) {
    w->held_to_lease(thread);
  } else {  // its body waited, and another thread has the worker now
    thread.lease = nullptr;
    thread.away.store(false, std::memory_order_release);  // pairs with the acquire in stands_still()
  }
  thread.seat = nullptr;
  return mine;
}

// -- inside a task --------------------------------------------------------------------------------------------

namespace {

// Gives up the token and sleeps. Takes the token back if it is free after the wait, or before if the caller may run any
// task and no other thread would continue there.
void sleep_without_seat(ThreadState &thread, const WaitCondition &goal, const Deadline &deadline,
                        bool may_run) noexcept {
  Executor *const w = executor_of(thread.seat ? thread.seat : thread.crew_of);
  settle_down(goal.rt, thread);
  if (!thread.seat) end_lease(goal.rt, thread);  // the body had no token, and submitted
  bool staffed = !w || (thread.seat ? w->pass_duty_to_spare(thread) : !w->vacant() || w->fill_vacancy(thread));
  if (!staffed) log_lack_of_threads(goal.rt);
  // After the system has refused a thread no sleep is unlimited, so that vacant duties are filled.
  while (!goal.reached() && !deadline.passed()) {
    if (!staffed && may_run && thread.stack.any() && w->try_return(thread)) return;
    const bool watch = !staffed || goal.rt.said_no_thread.load(std::memory_order_relaxed);
    sleep_until(thread, goal, deadline, watch ? kNoThread : -1);
    if (w && watch) staffed = w->fill_vacancy(thread);
  }
  if (w) w->try_return(thread);
}

// No thread is available that would continue here while the caller sleeps. It keeps the worker and runs any task on top
// of the waiting body. Such a task may delay that body, but no other thread could run it.
void run_any_task(Executor &w, ThreadState &thread, Frame &frame, const WaitCondition &goal,
                           const Deadline &deadline) noexcept {
  Execution &rt = goal.rt;
  log_lack_of_threads(rt);
  if (w.step(thread, frame)) return;
  rt.policy.flush(rt);
  w.show_asleep(thread.parker);
  if (!w.step(thread, frame)) {
    const Waiter waiter(rt.waiters, thread.parker, goal.group);
    goal.announce();
    thread.away.store(true, std::memory_order_release);  // as if it had no token: a running body that sleeps
    w.resting.store(true, std::memory_order_release);
    if (!goal.surely_reached()) thread.parker.wait(until_flush(rt, deadline.left_ns()));
    w.resting.store(false, std::memory_order_release);
    thread.away.store(false, std::memory_order_release);
    goal.withdraw();
  }
  if (thread.seat == &w) w.show_awake();
}

}  // namespace

consort_status wait_inside(ThreadState &thread, const WaitCondition &goal, const Deadline &deadline,
                           bool may_help) noexcept {
  Execution &rt = goal.rt;
  const auto must_stay = [&](Executor &w) { return !w.relief(thread) && thread.stack.any(); };
  while (!goal.reached() && !deadline.passed()) {
    Executor *const w = executor_of(thread.seat);  // nullptr: lost, in a body that ran here or while asleep
    const bool helps = may_help && !(w && w->queue);
    if (!w || !helps || (thread.depth >= kDeepestWait && !must_stay(*w))) {
      sleep_without_seat(thread, goal, deadline, helps);
      continue;
    }
    const uint32_t outer_depth = thread.depth++;
    Frame frame(*w);
    uint32_t idle = 0;
    while (thread.seat == w && !goal.reached() && !deadline.passed()) {
      consort_pick pick;
      if (rt.policy.pop(w->id, &pick)) {
        Task *t = reinterpret_cast<Task *>(pick.task);
        if (goal.may_run(*t) && !rt.topology->team(pick.team)) {
          w->run(thread, frame, t, pick.impl);
          idle = 0;
          continue;
        }
        // A task of another wait, or of a team, which this thread cannot join. Another thread takes over this worker
        // and finds the task in the policy.
        rt.policy.push(rt, w->id, &t, 1, CONSORT_PUSH_RETRIED);
      } else {
        if (idle == 0) {
          settle_down(rt, thread);
          thread.spin.begin(rt.spin_ns);
        }
        if (!thread.spin.over(++idle)) {
          pause();
          continue;
        }
        idle = 0;
      }
      if (must_stay(*w)) run_any_task(*w, thread, frame, goal, deadline);
      else sleep_without_seat(thread, goal, deadline, true);
    }
    thread.depth = outer_depth;  // mend_if_left() may have changed it
  }
  if (thread.seat) rt.pass_on_wake(*thread.seat);  // the body goes on, and may have been woken for a ready task
  return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

namespace {

class HelpingWindowWait final : public WindowWait {
 public:
  bool wait(ThreadState &thread) noexcept override {
    Execution &rt = execution_of(thread.rt);
    if (rt.manual) return pump_for_records(thread);
    const WaitCondition goal{rt, nullptr, 0, nullptr, &thread};
    const Deadline never(rt.clock, -1);
    RecordWait records;
    // A wait that gave way before gives way again while nothing changes: the graph under construction waits for a tag.
    if (thread.gave_way && !thread.lease && !goal.reached() && stands_still(rt)) records.in_vain = true;
    while (!records.in_vain && !records.enough(thread)) {
      const bool helped = help(thread, goal, never, &records);
      thread.drain_returned();
      if (thread.nfree > thread.floor) return true;  // not a quarter of the window, but no worker here to wait with
      if (helped || records.in_vain) continue;
      rt.policy.flush(rt);
      if (!sleep_until(thread, goal, never, kWaitNap)) records.in_vain = stands_still(rt);
    }
    if (records.in_vain) thread.lease_tries = 1;  // a lease would start the worker for tasks that are not ready
    return !records.in_vain;
  }
};

}  // namespace

std::unique_ptr<WindowWait> make_window_wait() { return std::make_unique<HelpingWindowWait>(); }

}  // namespace consort
