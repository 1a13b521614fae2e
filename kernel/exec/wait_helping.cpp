#include <algorithm>

#include "exec/queue.hpp"
#include "exec/quiescence.hpp"
#include "exec/wait_condition.hpp"
#include "graph/submit.hpp"
#include "plugin/abi_checks.hpp"

namespace consort {
namespace {

constexpr uint32_t kLookEvery = 32;        // steps between two looks at what is waited for
constexpr int64_t kFlush = 1'000'000;      // between two flushes of a policy that holds tasks back
constexpr int64_t kNoThread = 10'000'000;  // between two tries to get a thread that the system refused

void say_that_threads_ran_out(Runtime &rt) noexcept try {
  if (rt.said_no_thread.exchange(true, std::memory_order_relaxed)) return;
  rt.log(1, "the system gives no more threads: other tasks run on top of a body that waits; raise the limit of threads "
            "or of memory, or let a task that comes after do what follows the wait");
} catch (const std::bad_alloc &) {
}

// A sleep of nap ns (< 0: without a limit), shortened where the policy has to be flushed again. What becomes ready while
// the application waits already is held back like everything before, and no wake comes with it.
int64_t until_flush(const Runtime &rt, int64_t nap) noexcept {
  return rt.policy.holds_back() && (nap < 0 || nap > kFlush) ? kFlush : nap;
}

}  // namespace

bool sleep_until(Hand &h, const Goal &goal, const Deadline &deadline, int64_t longest) noexcept {
  Runtime &rt = goal.rt;
  const Waiter waiter(rt, h.parker, goal.group);
  goal.announce();
  const bool holds = goal.call && h.nholds.load(std::memory_order_relaxed);
  while (!goal.surely_reached() && !deadline.passed() && longest != 0) {
    rt.policy.flush(rt);
    const int64_t left = deadline.left_ns();
    int64_t nap = left < 0 ? longest : longest < 0 ? left : std::min(left, longest);
    if (holds && (nap < 0 || nap > OwnHolds::kNap)) nap = OwnHolds::kNap;
    h.parker.wait(until_flush(rt, nap));
    if (holds) goal.own_holds.look(rt, h, goal.call, [&](const Task &t) { return goal.is_for(t); });
    if (longest > 0) break;
  }
  goal.withdraw();
  return goal.reached();
}

bool help(Hand &h, const Goal &goal, const Deadline &deadline, RecordWait *records) noexcept {
  Runtime &rt = goal.rt;
  Worker *w = h.lease;
  if (!w || !w->lease_to_held(h)) {
    w = h.lease = nullptr;
    for (auto &candidate : rt.workers)
      if (candidate->try_lease(h, true)) break;
    w = h.lease;
    if (!w || !w->lease_to_held(h)) return false;
  }
  const uint32_t outer_worker = current_worker();
  set_current_worker(w->id);
  h.seat = w;
  w->push_kept();
  {
    Frame frame(*w);
    uint32_t idle = 0;
    while (!goal.reached()) {
      const bool did = w->steps(h, frame, kLookEvery) > 0;
      if (h.seat != w) break;
      if (records && records->enough(h)) break;
      if (did && !deadline.passed()) {
        idle = 0;
        continue;
      }
      if (idle == 0) settle_down(rt, h);
      if (goal.reached() || deadline.passed()) break;
      if ((idle += look_again_later(idle)) < rt.spin_rounds) continue;
      rt.policy.flush(rt);
      w->show_asleep(h.parker);
      if (w->step(h, frame)) {
        if (h.seat != w) break;
        w->show_awake();
        idle = 0;
        continue;
      }
      {
        const Waiter waiter(rt, h.parker, goal.group);
        goal.announce();
        w->resting.store(true, std::memory_order_release);
        if (!goal.surely_reached()) {
          if (records && stands_still(rt)) records->in_vain = true;
          else h.parker.wait(records ? kWaitNap : until_flush(rt, deadline.left_ns()));  // no thread announces that all rest
        }
        w->resting.store(false, std::memory_order_release);
        goal.withdraw();
      }
      if (records && records->in_vain) {
        if (w->lie_down(h, frame)) break;
        records->in_vain = false;  // there was something after all
        if (h.seat != w) break;
        w->show_awake();
        idle = 0;
        continue;
      }
      w->show_awake();
      idle = rt.spin_rounds;
      if (records) break;  // nothing to run and nothing came back: the caller decides
    }
    settle_down(rt, h);
  }
  set_current_worker(outer_worker);
  if (h.seat == w) w->held_to_lease(h);
  else h.lease = nullptr;  // a body waited, and somebody else has the worker now
  h.seat = nullptr;
  return true;
}

// -- inside a task --------------------------------------------------------------------------------------------

namespace {

// Gives the token to somebody else and sleeps; takes it back if it is free then, or before if the caller may run
// others' tasks and nobody else would go on there.
void sleep_without_seat(Hand &h, const Goal &goal, const Deadline &deadline, bool may_run) noexcept {
  Worker *const w = h.seat ? h.seat : h.crew_of;
  settle_down(goal.rt, h);
  if (!h.seat) Worker::end_lease(h);  // the body had no turn, and submitted
  bool staffed = !w || (h.seat ? w->leave_to_spare(h) : !w->vacant() || w->fill_vacancy(h));
  if (!staffed) say_that_threads_ran_out(goal.rt);
  // Once threads have run out nobody sleeps without a limit: who is on duty is looked after meanwhile.
  while (!goal.reached() && !deadline.passed()) {
    if (!staffed && may_run && h.stack.any() && w->try_return(h)) return;
    const bool watch = !staffed || goal.rt.said_no_thread.load(std::memory_order_relaxed);
    sleep_until(h, goal, deadline, watch ? kNoThread : -1);
    if (w && watch) staffed = w->fill_vacancy(h);
  }
  if (w) w->try_return(h);
}

// No thread is to be had that would go on here while the caller sleeps: it keeps the worker, and runs whatever comes
// on top of the body that waits. Somebody else's task may so hold that body up, but nobody else could run it.
void stay_and_run_anything(Worker &w, Hand &h, Frame &frame, const Goal &goal, const Deadline &deadline) noexcept {
  Runtime &rt = goal.rt;
  say_that_threads_ran_out(rt);
  if (w.step(h, frame)) return;
  rt.policy.flush(rt);
  w.show_asleep(h.parker);
  if (!w.step(h, frame)) {
    const Waiter waiter(rt, h.parker, goal.group);
    goal.announce();
    h.away.store(true, std::memory_order_release);  // as if it had no turn: a body is under way, and sleeps
    w.resting.store(true, std::memory_order_release);
    if (!goal.surely_reached()) h.parker.wait(until_flush(rt, deadline.left_ns()));
    w.resting.store(false, std::memory_order_release);
    h.away.store(false, std::memory_order_release);
    goal.withdraw();
  }
  if (h.seat == &w) w.show_awake();
}

}  // namespace

consort_status wait_inside(Hand &h, const Goal &goal, const Deadline &deadline, bool may_help) noexcept {
  Runtime &rt = goal.rt;
  const auto must_stay = [&](Worker &w) { return !w.relief(h) && h.stack.any(); };
  while (!goal.reached() && !deadline.passed()) {
    Worker *const w = h.seat;  // nullptr: lost, in a body that ran here or while asleep
    const bool helps = may_help && !(w && w->queue);
    if (!w || !helps || (h.depth >= kDeepestWait && !must_stay(*w))) {
      sleep_without_seat(h, goal, deadline, helps);
      continue;
    }
    const uint32_t outer_depth = h.depth++;
    Frame frame(*w);
    uint32_t idle = 0;
    while (h.seat == w && !goal.reached() && !deadline.passed()) {
      consort_pick pick;
      if (rt.policy.pop(w->id, &pick)) {
        Task *t = reinterpret_cast<Task *>(pick.task);
        if (goal.may_run(*t) && !rt.topology->team(pick.team)) {
          w->run(h, frame, t, pick.impl);
          idle = 0;
          continue;
        }
        // A stranger, or for a team, which this thread cannot join: another thread takes over this worker and finds it
        // where it was.
        rt.policy.push(rt, w->id, &t, 1, CONSORT_PUSH_RETRIED);
      } else {
        if (idle == 0) settle_down(rt, h);
        if (++idle < rt.spin_rounds) {
          pause();
          continue;
        }
        idle = 0;
      }
      if (must_stay(*w)) stay_and_run_anything(*w, h, frame, goal, deadline);
      else sleep_without_seat(h, goal, deadline, true);
    }
    h.depth = outer_depth;  // mend_if_left() may have changed it
  }
  return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

bool wait_for_records(Hand &h) noexcept {
  Runtime &rt = h.rt;
  if (rt.manual) return pump_for_records(h);
  const Goal goal{rt, nullptr, 0, nullptr, &h};
  const Deadline never(rt.clock, -1);
  RecordWait wait;
  // What gave way goes on doing so for as long as nothing moves: a graph is being built that waits for a tag.
  if (h.gave_way && !h.lease && !goal.reached() && stands_still(rt)) wait.in_vain = true;
  while (!wait.in_vain && !wait.enough(h)) {
    const bool helped = help(h, goal, never, &wait);
    h.drain_returned();
    if (h.nfree > h.floor) return true;  // not a quarter, but nobody here to wait with
    if (helped || wait.in_vain) continue;
    rt.policy.flush(rt);
    if (!sleep_until(h, goal, never, kWaitNap)) wait.in_vain = stands_still(rt);
  }
  if (wait.in_vain) h.lease_tries = 1;  // a lease would set the worker going for tasks that are not ready
  return !wait.in_vain;
}

}  // namespace consort
