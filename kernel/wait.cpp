#include "wait.hpp"

#include <algorithm>

#include "callback.hpp"
#include "complete.hpp"
#include "error_slot.hpp"
#include "explain.hpp"
#include "formats.hpp"
#include "queue.hpp"
#include "quiet.hpp"
#include "submit.hpp"
#include "thread_tags.hpp"

namespace consort {
namespace {

constexpr uint32_t kLookEvery = 32;        // steps between two looks at what is waited for
constexpr int64_t kNap = 1'000'000;        // the longest sleep of a wait whose end nobody announces
constexpr int64_t kNoThread = 10'000'000;  // between two tries to get a thread that the system refused
constexpr int64_t kStopLook = 25'000'000;  // ns between two looks of a stop at what it waits for
constexpr uint32_t kStopLong = 40;         // looks after which it is said what the stop waits for
constexpr uint32_t kStopCalm = 8;          // looks at which nothing happened any more, before tags are given up
constexpr uint32_t kDeepest = 64;          // nested helping: a stack has an end

// What is waited for: is it over, and who is to be told that somebody waits.
struct Goal {
  Runtime &rt;
  Group *group = nullptr;
  TaskName task = 0;
  Task *hold = nullptr;
  Hand *records = nullptr;
  const uint64_t *tags = nullptr;
  uint32_t ntags = 0;

  bool reached() const noexcept {
    if (hold) return hold->follow.load(std::memory_order_acquire) == hold::kGranted;  // pairs with settle_special()
    if (task) return !rt.is_live(task);
    if (records) return records->nfree > records->floor || records->returned.load(std::memory_order_relaxed);
    if (tags) {  // looked at again where some tag was reached since
      const uint64_t now = rt.tags.changes();
      if (!was_idle && now + 1 != seen) was_idle = rt.tags.all_reached(tags, ntags);
      seen = now + 1;
      return was_idle;
    }
    // Nothing pending is a moment, not a state, where others go on submitting: seen once is enough.
    if (!was_idle) was_idle = group ? rt.groups.idle(*group) : rt.groups.all_idle();
    return was_idle;
  }
  // Before going to sleep, and where nobody will look again.
  bool surely_reached() const noexcept {
    return reached() || (group && !(task || hold || records) && !rt.groups.busy(*group));
  }
  void announce() const noexcept {
    if (group) group->watchers.fetch_add(1, std::memory_order_relaxed);
    if (records) records->wants_records.store(true, std::memory_order_relaxed);
    if (task) {
      std::atomic<uint64_t> &word = rt.task_at(task)->word;
      uint64_t w = word.load(std::memory_order_relaxed);
      while (word::generation(w) == task >> 32 && !(w & word::kWaited) &&
             !word.compare_exchange_weak(w, w | word::kWaited, std::memory_order_relaxed)) {
      }
    }
    fence::heavy();  // pairs with light() of those who end tasks: they see the announcement, or we their end
  }
  void withdraw() const noexcept {
    if (group) group->watchers.fetch_sub(1, std::memory_order_relaxed);
    if (records) records->wants_records.store(false, std::memory_order_relaxed);
  }
  // A ready task that only comes after what this wait is for.
  bool may_run(const Task &t) const noexcept {
    if (t.replayed()) [[unlikely]]
      if (const Recording *r = task ? rt.recordings.of(t) : nullptr; r && r->whole && r->whole->pub.id == task)
        return true;
    if (task) return t.pub.id == task || (group_of_task && in_group(t, *group_of_task));
    return group && in_group(t, *group);
  }
  static bool in_group(const Task &t, const Group &g) noexcept {
    for (const Group *up = t.group; up; up = up->parent)
      if (up == &g) return true;
    return false;
  }
  // Of the task itself, not of what it comes after.
  bool is_for(const Task &t) const noexcept {
    if (hold) return &t == hold;
    if (task) return t.pub.id == task;
    return !group || (!(t.bits & kGate) && in_group(t, *group));
  }
  Group *group_of_task = nullptr;
  const char *call = nullptr;  // that waits; nullptr: nobody asks what this thread holds
  mutable OwnHolds own_holds{};
  mutable bool was_idle = false;
  mutable uint64_t seen = 0;  // changes of tags, and one
};

bool sleep_until(Hand &h, const Goal &goal, const Deadline &deadline, int64_t longest) noexcept {
  Runtime &rt = goal.rt;
  const Waiter waiter(rt, h.parker, goal.group);
  goal.announce();
  const bool holds = goal.call && h.nholds.load(std::memory_order_relaxed);
  while (!goal.surely_reached() && !deadline.passed() && longest != 0) {
    const int64_t left = deadline.left_ns();
    int64_t nap = left < 0 ? longest : longest < 0 ? left : std::min(left, longest);
    if (holds && (nap < 0 || nap > OwnHolds::kNap)) nap = OwnHolds::kNap;
    h.parker.wait(nap);
    if (holds) goal.own_holds.look(rt, h, goal.call, [&](const Task &t) { return goal.is_for(t); });
    if (longest > 0) break;
  }
  goal.withdraw();
  return goal.reached();
}

// A wait at the window, which helps for a while at a time.
struct RecordWait {
  bool in_vain = false;  // nothing moved any more; then the worker's turn was given up, at rest

  static bool enough(const Hand &h) noexcept {
    return h.nfree + h.returned_count.load(std::memory_order_relaxed) - h.floor >=
           static_cast<int32_t>(std::max(1u, h.rt.window / 4));
  }
};

// The caller takes a worker's turn until the goal is reached. False: no turn was to be had.
bool help(Hand &h, const Goal &goal, const Deadline &deadline, RecordWait *records) noexcept {
  Runtime &rt = goal.rt;
  Worker *w = h.lease;
  if (!w || !w->lease_to_held(h)) {
    w = h.lease = nullptr;
    for (auto &candidate : rt.workers)
      if (candidate->try_lease(h)) break;
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
      rt.policy.flush();
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
        if (goal.surely_reached()) {
        } else if (records && stands_still(rt)) {
          records->in_vain = true;
        } else {
          h.parker.wait(records ? kNap : deadline.left_ns());  // that all have come to rest is announced by nobody
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

void say_that_threads_ran_out(Runtime &rt) noexcept try {
  if (rt.said_no_thread.exchange(true, std::memory_order_relaxed)) return;
  rt.log(1, "the system gives no more threads: other tasks run on top of a body that waits; raise the limit of threads "
            "or of memory, or let a task that comes after do what follows the wait");
} catch (const std::bad_alloc &) {
}

// -- inside a task --------------------------------------------------------------------------------------------

// Gives the token to somebody else and sleeps; takes it back if it is free then.
void sleep_without_seat(Hand &h, const Goal &goal, const Deadline &deadline) noexcept {
  Worker *const w = h.seat;
  settle_down(goal.rt, h);
  bool staffed = !w || w->leave_to_spare(h);
  if (!staffed) say_that_threads_ran_out(goal.rt);
  while (!staffed && !goal.reached() && !deadline.passed()) {
    sleep_until(h, goal, deadline, kNoThread);
    staffed = w->fill_vacancy(h);
  }
  if (staffed) sleep_until(h, goal, deadline, -1);
  if (w) w->try_return(h);
}

// No thread is to be had that would go on here while the caller sleeps: it keeps the worker, and runs whatever comes
// on top of the body that waits. Somebody else's task may so hold that body up, but nobody else could run it.
void stay_and_run_anything(Worker &w, Hand &h, Frame &frame, const Goal &goal, const Deadline &deadline) noexcept {
  Runtime &rt = goal.rt;
  say_that_threads_ran_out(rt);
  if (w.step(h, frame)) return;
  rt.policy.flush();
  w.show_asleep(h.parker);
  if (!w.step(h, frame)) {
    const Waiter waiter(rt, h.parker, goal.group);
    goal.announce();
    h.away.store(true, std::memory_order_release);  // as if it had no turn: a body is under way, and sleeps
    w.resting.store(true, std::memory_order_release);
    if (!goal.surely_reached()) h.parker.wait(deadline.left_ns());
    w.resting.store(false, std::memory_order_release);
    h.away.store(false, std::memory_order_release);
    goal.withdraw();
  }
  if (h.seat == &w) w.show_awake();
}

consort_status wait_inside(Hand &h, const Goal &goal, const Deadline &deadline, bool may_help) noexcept {
  Runtime &rt = goal.rt;
  Worker *const w = h.seat;
  const auto must_stay = [&] { return !w->relief(h) && h.stack.any(); };
  if (!w || !may_help || w->queue || (h.depth >= kDeepest && !must_stay())) {
    sleep_without_seat(h, goal, deadline);
    return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
  }
  ++h.depth;
  {
    Frame frame(*w);
    uint32_t idle = 0;
    while (!goal.reached() && !deadline.passed()) {
      if (h.seat != w) {  // lost in a body that ran here, or while asleep
        sleep_without_seat(h, goal, deadline);
        continue;
      }
      consort_pick pick;
      if (rt.policy.pop(w->id, &pick)) {
        Task *t = reinterpret_cast<Task *>(pick.task);
        if (goal.may_run(*t)) {
          w->run(h, frame, t, pick.impl);
          idle = 0;
          continue;
        }
        // Somebody else's: another thread takes over this worker and finds it where it was.
        rt.policy.push(rt, w->id, &t, 1, CONSORT_PUSH_RETRIED);
      } else {
        if (idle == 0) settle_down(rt, h);
        if (++idle < rt.spin_rounds) {
          pause();
          continue;
        }
        idle = 0;
      }
      if (must_stay()) stay_and_run_anything(*w, h, frame, goal, deadline);
      else sleep_without_seat(h, goal, deadline);
    }
  }
  --h.depth;
  return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

// -- one thread pumps everything ------------------------------------------------------------------------------

consort_status wait_by_events(Hand &h, const Goal &goal, const Deadline &deadline) noexcept {
  while (!goal.reached()) {
    const bool late = deadline.passed();  // what happens at that very moment still counts
    if (pump_all(goal.rt, h, deadline.at())) continue;
    if (late) return CONSORT_E_TIMEOUT;
    sleep_until(h, goal, Deadline(goal.rt.clock, -1), 50'000);  // only another thread can help now
  }
  return CONSORT_OK;
}

consort_status wait_by_pumping(Hand &h, const Goal &goal, const Deadline &deadline) noexcept {
  if (goal.rt.virtual_time) return wait_by_events(h, goal, deadline);
  Runtime &rt = goal.rt;
  uint32_t fruitless = 0;
  while (!goal.reached()) {
    if (deadline.passed()) return CONSORT_E_TIMEOUT;
    PumpTurn turn(rt, h);
    const auto n = static_cast<uint32_t>(rt.workers.size());
    if (pump_one(rt, h, static_cast<uint32_t>(rt.clock.chance() % n))) {
      fruitless = 0;
      continue;
    }
    rt.clock.advance(1000);
    if (++fruitless < 16 * n) continue;
    fruitless = 0;
    turn.give_up();
    sleep_until(h, goal, Deadline(rt.clock, -1), 50'000);  // only another thread can help now
  }
  return CONSORT_OK;
}

consort_status wait_for(Runtime &rt, const Goal &goal, int64_t timeout_ns, uint32_t flags) noexcept {
  if (goal.reached()) return CONSORT_OK;
  if (timeout_ns == 0) return goal.surely_reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
  Hand *h = rt.this_hand();
  if (!h) return CONSORT_E_NOMEM;
  settle_down(rt, *h);
  push_kept(rt, *h);
  const Deadline deadline(rt.clock, timeout_ns);
  if (rt.manual) return wait_by_pumping(*h, goal, deadline);
  const bool may_help = !(flags & CONSORT_WAIT_NO_HELP) && !h->nholds.load(std::memory_order_relaxed);
  if (h->task) return wait_inside(*h, goal, deadline, may_help);
  while (!goal.reached() && !deadline.passed())
    if (!may_help || !help(*h, goal, deadline, nullptr)) sleep_until(*h, goal, deadline, may_help ? kNap : -1);
  return goal.reached() ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

consort_status may_wait(Runtime &rt, const char *for_what) noexcept {
  Hand *h = rt.this_hand_if_any();
  if (h) mend_if_left(rt, *h, __builtin_frame_address(0));
  if (h && h->in_callback)
    return set_errorf(CONSORT_E_BUSY,
                      "a completion callback must not wait for %s: submit a task that comes after it instead",
                      for_what);
  return CONSORT_OK;
}

consort_status answer(consort_status s, const std::string &what) {
  return s == CONSORT_E_TIMEOUT ? set_error(s, "time ran out while waiting for " + what) : s;
}

// A stop that nobody can end but the application should not look like a hang.
void say_what_is_held(Runtime &rt) noexcept try {
  if (const std::string held = describe_held(rt); !held.empty()) rt.log(1, "consort_stop() waits:" + held);
} catch (const std::bad_alloc &) {
}

}  // namespace

Waiter::Waiter(Runtime &rt, Parker &p, const Group *only) noexcept : rt_(rt), parker_(p), only_(only) {
  std::lock_guard lock(rt_.waiters_mutex);
  next_ = rt_.waiters;
  if (next_) next_->before_ = this;
  rt_.waiters = this;
  rt_.nwaiters.fetch_add(1, std::memory_order_seq_cst);
}

Waiter::~Waiter() {
  std::lock_guard lock(rt_.waiters_mutex);
  if (next_) next_->before_ = before_;
  (before_ ? before_->next_ : rt_.waiters) = next_;
  rt_.nwaiters.fetch_sub(1, std::memory_order_relaxed);
}

void Waiter::wake_all(Runtime &rt, const Group *idle) noexcept {
  std::lock_guard lock(rt.waiters_mutex);
  for (Waiter *w = rt.waiters; w; w = w->next_)
    if (!w->only_ || w->only_ == idle) w->parker_.wake();
}

void OwnHolds::look(Runtime &rt, Hand &h, const char *call, const std::function<bool(const Task &)> &is) noexcept try {
  const uint64_t now = Clock(false, 0).now();
  if (!began_) began_ = now;
  if (now - began_ < next_) return;
  next_ *= 2;
  const std::string held = describe_own_holds_before(rt, h, is);
  if (held.empty()) return;
  next_ = UINT64_MAX;
  rt.log(1, std::string(call) + " waits for what comes after data that this thread has acquired: " + held +
                "; release first (consort_release()), now only another thread can");
} catch (const std::bad_alloc &) {
}

bool pump_one(Runtime &rt, Hand &h, uint32_t worker) noexcept {
  Worker &w = *rt.workers[worker];
  Worker *const outer = h.seat;
  // A worker further down on this stack, in a body that waits, goes on too: what is waited for may be its to run.
  const bool nested = w.pumped_by.load(std::memory_order_relaxed) == &h;
  if (!nested && !w.try_take()) return false;
  if (!nested) w.pumped_by.store(&h, std::memory_order_relaxed);
  const uint32_t outer_worker = current_worker();
  set_current_worker(w.id);
  h.seat = &w;
  bool did;
  {
    Frame frame(w);
    did = w.step(h, frame);
  }
  if (rt.manual) did |= rt.memory.step(h);
  settle_down(rt, h);
  h.seat = outer;
  set_current_worker(outer_worker);
  if (!nested) {
    w.pumped_by.store(nullptr, std::memory_order_relaxed);
    w.token.store(token::kFree, std::memory_order_release);
  }
  return did;
}

bool pump_all(Runtime &rt, Hand &h, uint64_t latest) noexcept {
  const PumpTurn turn(rt, h);
  bool did = false;
  for (uint32_t i = 0; i < rt.workers.size(); ++i) did |= pump_one(rt, h, i);
  if (did || !rt.virtual_time || latest <= rt.clock.now()) return did;
  uint64_t next = std::min({latest, rt.policy.next_event(), rt.memory.next_event()});
  for (const Queue *q : rt.queues) next = std::min(next, q->next_event());
  if (next == CONSORT_NEVER) return false;
  rt.clock.advance_to(std::max(next, rt.clock.now() + 1));  // who says "now" and yields nothing is asked again later
  return true;
}

void mend_if_left(Runtime &rt, Hand &h, const void *here) noexcept {
  // Stacks grow downwards: inside the body we would be below the frame that called it. A body that runs on another
  // stack (a fibre of its own) is far from it either way.
  constexpr ptrdiff_t kOneStack = 8 << 20;
  const ptrdiff_t above = static_cast<const char *>(here) - static_cast<const char *>(h.frame);
  if (!h.task || !h.frame || above < 0 || above > kOneStack) return;
  Task *t = h.task;
  Worker *w = h.seat;
  h.task = nullptr;
  h.frame = nullptr;
  h.depth = 0;
  h.in_callback = false;
  h.away.store(false, std::memory_order_relaxed);
  if (rt.pumping.load(std::memory_order_relaxed) == &h) rt.pumping.store(nullptr, std::memory_order_release);
  record_failure(rt, t, CONSORT_E_INTERNAL, "its function was left by longjmp", nullptr, w ? w->id : CONSORT_NONE,
                 nullptr);
  complete(rt, h, t, CONSORT_E_INTERNAL, nullptr);
  settle_down(rt, h);
  h.seat = nullptr;
  set_current_worker(CONSORT_NONE);
  if (w) {
    w->pumped_by.store(nullptr, std::memory_order_relaxed);
    w->give_up();
  }
}

// With a manual pump: chance picks, until it has found nothing often enough; then each worker in turn, for it may have
// missed one.
bool pump_for_records(Hand &h) noexcept {
  Runtime &rt = h.rt;
  const auto n = static_cast<uint32_t>(rt.workers.size());
  const auto at_work = [](const Queue *q) { return q->at_work(); };
  for (uint32_t fruitless = h.gave_way ? 4 * n : 0; !RecordWait::enough(h);) {
    PumpTurn turn(rt, h);
    if (fruitless < 4 * n && !rt.virtual_time) {
      fruitless = pump_one(rt, h, static_cast<uint32_t>(rt.clock.chance() % n)) ? 0 : fruitless + 1;
    } else if (pump_all(rt, h, CONSORT_NEVER)) {
      fruitless = 0;
    } else {
      const bool by_itself = rt.memory.busy() || std::any_of(rt.queues.begin(), rt.queues.end(), at_work);
      if (rt.virtual_time || !by_itself) return h.drain_returned() && h.nfree > h.floor;
      rt.clock.advance(1000);
      turn.give_up();
      h.parker.wait(20'000);  // a device is at work, which keeps to its own time
    }
    h.drain_returned();
  }
  return true;
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
    rt.policy.flush();
    if (!sleep_until(h, goal, never, kNap)) wait.in_vain = stands_still(rt);
  }
  if (wait.in_vain) h.lease_tries = 1;  // a lease would set the worker going for tasks that are not ready
  return !wait.in_vain;
}

consort_status wait_group(Runtime &rt, Group &g, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "a group"); s < 0) return s;
  Hand *h = rt.this_hand_if_any();
  if (h && h->task)
    for (const Group *up = h->task->group; up; up = up->parent)
      if (up == &g)
        return set_errorf(
            CONSORT_E_BUSY,
            "task '%s' belongs to group '%s' and would wait for itself: give its children a group of their own",
            task_label(*h->task), g.name.c_str());
  const Goal goal{.rt = rt, .group = &g, .call = "consort_group_wait()"};
  if (const consort_status s = wait_for(rt, goal, timeout_ns, flags); s < 0) return answer(s, "group '" + g.name + "'");
  return rt.groups.collect(g);
}

consort_status wait_all(Runtime &rt, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "all tasks"); s < 0) return s;
  if (const Hand *h = rt.this_hand_if_any(); h && h->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' would wait for itself: inside a task wait for a group or a task",
                      task_label(*h->task));
  const Goal goal{.rt = rt, .call = "consort_wait_all()"};
  if (const consort_status s = wait_for(rt, goal, timeout_ns, flags); s < 0) return answer(s, "all tasks");
  return rt.groups.collect_all();
}

consort_status wait_task(Runtime &rt, TaskName name, int64_t timeout_ns, uint32_t flags, const char *call) {
  if (const consort_status s = may_wait(rt, "a task"); s < 0) return s;
  const Hand *h = rt.this_hand_if_any();
  if (h && h->task && h->task->pub.id == name)
    return set_error(CONSORT_E_BUSY, "a task that waits for itself would never end");
  Goal goal{.rt = rt, .task = name, .call = call};
  if (h && h->task && rt.is_live(name)) {
    // only a hint for what may be run meanwhile, and only if it is ours to wait for
    Group *g = rt.task_at(name)->group;
    if (g && g->parent == h->task->group) goal.group_of_task = g;
  }
  return answer(wait_for(rt, goal, timeout_ns, flags), "a task");
}

consort_status wait_tags(Runtime &rt, const uint64_t *tags, uint32_t n, int64_t timeout_ns, uint32_t flags) {
  if (const consort_status s = may_wait(rt, "a tag"); s < 0) return s;
  if (const Hand *h = rt.this_hand_if_any(); h && h->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' must not wait for a tag: submit a task that comes after it instead",
                      task_label(*h->task));
  if (!n) return CONSORT_OK;
  rt.tags.begin_wait(tags, n);
  const Goal goal{.rt = rt, .tags = tags, .ntags = n};
  const consort_status s = wait_for(rt, goal, timeout_ns, flags);
  rt.tags.end_wait(tags, n);
  if (s == CONSORT_E_TIMEOUT) {
    uint32_t i = 0;
    while (i + 1 < n && rt.tags.all_reached(&tags[i], 1)) ++i;
    return answer(s, "tag " + std::to_string(tags[i]));
  }
  if (s < 0) return s;
  for (uint32_t i = 0; i < n; ++i)
    if (const TaskName failed = rt.tags.failed(tags[i]))
      if (const auto f = rt.failures.find(failed)) return set_error(f->status, f->chain());
  return CONSORT_OK;
}

consort_status wait_no_ready(Runtime &rt, int64_t timeout_ns) {
  if (const consort_status s = may_wait(rt, "the ready tasks"); s < 0) return s;
  Hand *h = rt.this_hand();
  if (!h) return CONSORT_E_NOMEM;
  if (h->task)
    return set_errorf(CONSORT_E_BUSY, "task '%s' is running, and would wait for itself", task_label(*h->task));
  const Deadline deadline(rt.clock, timeout_ns);
  for (int64_t nap = 20'000; !come_to_rest(rt, *h); nap = std::min(2 * nap, kNap)) {
    if (timeout_ns == 0 || deadline.passed()) return answer(CONSORT_E_TIMEOUT, "the ready tasks");
    if (!rt.manual) h->parker.wait(nap);
  }
  return CONSORT_OK;
}

// Whoever waited just now had a worker's turn, and that worker needs a moment to lie down again.
bool soon_at_rest(Runtime &rt, Hand &h) {
  for (int64_t nap = 20'000; nap < kStopLook; nap *= 2) {
    if (come_to_rest(rt, h)) return true;
    if (!rt.manual) h.parker.wait(nap);
  }
  return false;
}

consort_status wait_to_stop(Runtime &rt) {
  if (const consort_status s = may_wait(rt, "all tasks"); s < 0) return s;
  rt.repeats.stop_all();
  Hand *h = rt.this_hand();
  if (!h) return CONSORT_E_NOMEM;
  uint32_t calm = 0;
  for (uint32_t looks = 1;; ++looks) {
    const Goal goal{rt};
    if (wait_for(rt, goal, rt.manual ? kStopLook / 64 : kStopLook, 0) >= 0) break;  // that clock moves by steps
    rt.repeats.stop_all();  // somebody may still submit
    if (looks == kStopLong) say_what_is_held(rt);
    // What is left waits for the application, or for a tag that nobody is left to reach.
    const bool stuck = rt.tags.any_gate() && !rt.ends.held() && !anything_held(rt) && soon_at_rest(rt, *h);
    calm = stuck ? calm + 1 : 0;
    if (calm < kStopCalm) continue;
    while (Task *gate = rt.tags.give_up_one()) Callback::end(rt, *h, gate);
    settle_down(rt, *h);
  }
  if (bring_formats_home(rt, *h)) (void)wait_for(rt, Goal{rt}, CONSORT_FOREVER, 0);
  while (rt.memory.busy())  // copies that only make room: no task waits for them
    if (!rt.manual || !pump_all(rt, *h, CONSORT_NEVER)) h->parker.wait(50'000);
  return rt.groups.collect_all();
}

consort_status wait_granted(Runtime &rt, Task *t, int64_t timeout_ns) noexcept {
  const Goal goal{.rt = rt, .hold = t, .call = "consort_acquire()"};
  return wait_for(rt, goal, timeout_ns, 0);
}

}  // namespace consort
