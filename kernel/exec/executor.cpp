#include "exec/executor.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/last_error.hpp"
#include "exec/execution.hpp"
#include "exec/prepare.hpp"
#include "exec/queue.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "task/guarded_call.hpp"
#include "task/run_observer.hpp"
#include "task/trace_categories.hpp"

namespace consort {
namespace {

constexpr uint32_t kBurst = 64;             // steps between two checks of whether to stop
constexpr uint32_t kChain = 32;             // tasks of a chain that count as one step
constexpr int64_t kTick = 50'000;           // ns between two checks of a lease
constexpr int64_t kLongTick = 400'000;      // after the owner was seen alive several times
constexpr uint64_t kShort = 2'000;          // ns: for shorter tasks the submitter's core matters
constexpr uint32_t kQuietTicks = 40;        // checks of a token held by a caller, before sleeping until woken

// Saves the thread's current body and frame while it runs other bodies on the same stack.
class OnTop {
 public:
  OnTop(ThreadState &thread, void *frame) noexcept
      : h_(thread), body_(thread.task), frame_(thread.frame), chain_(thread.chain) {
    thread.frame = frame;
  }
  ~OnTop() {
    h_.task = body_;
    h_.frame = frame_;
    h_.chain = chain_;
  }
  OnTop(const OnTop &) = delete;
  OnTop &operator=(const OnTop &) = delete;
  const Task *body() const noexcept { return body_; }  // nullptr: no body, the thread only steps

 private:
  ThreadState &h_;
  Task *const body_;
  void *const frame_;
  const Chain chain_;
};

}  // namespace

Executor::Executor(Execution &runtime, uint32_t number, const Unit &u) : Worker(runtime, number, u), rt(runtime) {}
Executor::~Executor() = default;

uint32_t look_again_later(uint32_t idle) noexcept {
  const uint32_t n = idle < 64 ? 1 : 16;
  for (uint32_t i = 0; i < n; ++i) pause();
  return n;
}

// -- the token ------------------------------------------------------------------------------------------------

// Leases the token to a submitting thread, only between short tasks. After long tasks the submitter may have finished
// before the lease is noticed, and ready tasks would wait for the next tick, which ends an unused lease.
bool Executor::lend(ThreadState &thread) noexcept {
  const uint64_t now = rt.clock.now(), n = ran.load(std::memory_order_relaxed);
  const uint64_t since = std::exchange(asked_since_, now), before = std::exchange(asked_at_, n);
  if (!since) return false;  // first request: measure how long the next tasks take
  asked_since_ = 0;
  const uint32_t lease = asked.exchange(0, std::memory_order_relaxed);
  if (now - since > (n - before) * kShort) return false;
  settle_down(rt, thread);
  thread.seat = nullptr;
  token.store(lease, std::memory_order_release);  // pairs with leased_to()
  // the thread on duty watches the lease; here that is another thread
  if (duty_.load(std::memory_order_acquire) != &thread.parker) wake_duty();
  return true;
}

// Whether so much is under way here that it takes no task from the policy. The event that changes this wakes it: a
// completion, or the data of a task.
bool Executor::is_full() const noexcept {
  return queue ? queue->is_full() : staging.load(std::memory_order_relaxed) >= kAhead;
}

void Executor::show_asleep(Parker &p) noexcept {
  rt.pass_on_wake(*this);
  const bool full = is_full();
  full_asleep.store(full, std::memory_order_relaxed);
  sleeping.store(&p, std::memory_order_release);
  // A push must not choose a worker to wake that takes no task, instead of one that can run it. A called queue lets its
  // operations end first.
  if (!full && !engaged() && !(queue && called.load(std::memory_order_relaxed))) [[likely]] {
    rt.sleepers[id / 64].fetch_or(uint64_t{1} << (id % 64), std::memory_order_acq_rel);
    listed = true;
  }
  fence::heavy();  // pairs with light() in Policy::push and Executor::rouse
}

// The last look before a sleep has found something, or the thread was woken for a task and begins something else first.
void Executor::begin_other_work() noexcept {
  if (listed) unlist();
  rt.pass_on_wake(*this);
}

// The thread on duty may have been woken while the token was held, have found it held, and sleep again. It is then
// woken once more. Either it sees the token free, or this thread sees that its parker was taken. The waker takes the
// parker, then wakes (release); the woken thread (acquire) checks the token after that. So if its check comes before
// the store of kFree below, the parker was taken before that store as well, and the load behind the heavy fence sees
// it.
bool Executor::go_idle(ThreadState &thread, Frame &f) noexcept {
  show_asleep(*duty_.load(std::memory_order_acquire));
  if (step(thread, f)) return false;
  thread.seat = nullptr;
  token.store(token::kFree, std::memory_order_release);
  fence::heavy();
  if (!sleeping.load(std::memory_order_relaxed)) wake_duty();
  return true;
}

// -- steps ----------------------------------------------------------------------------------------------------

Task *Executor::next_bound() noexcept {
  if (!bound) {
    if (!mailbox.load(std::memory_order_relaxed)) return nullptr;
    Task *newest = mailbox.exchange(nullptr, std::memory_order_acquire);  // pairs with the release in post()
    while (newest) {
      Task *next = static_cast<Task *>(newest->pub.sched[0]);
      newest->pub.sched[0] = bound;
      bound = newest;
      newest = next;
    }
  }
  Task *t = bound;
  bound = static_cast<Task *>(t->pub.sched[0]);
  return t;
}

// Runs one task and the successors that run in place. Returns their number.
[[gnu::always_inline]] inline uint64_t Executor::run_chain(ThreadState &thread, Frame &f, Task *t, uint32_t impl) noexcept {
  thread.chain.run = 0;  // `since` is set where turn_end is first reached: give_way()
  thread.chain.turn_end = rt.bypass;
  do {
    if (!thread.out.counts_for(t->group->number)) [[unlikely]]
      turn_out(rt, thread, *t->group);  // before a body that may take long
    consort_status status = prepare(rt, *this, f, t, impl);
    if (status == CONSORT_OK) [[likely]] {
      thread.task = t;
      status =
          rt.observed.load(std::memory_order_relaxed) ? observed_body(rt, *this, f, t) : guarded_call(f.fn, &f.call);
      if (status < 0) [[unlikely]] record_failure(rt, t, status, error_text(), nullptr, id, nullptr);
    } else if (status > 0) {
      break;  // the task now belongs to another thread
    }
    ++thread.chain.run;
    if (thread.seat != this) [[unlikely]] {
      extra_ran.fetch_add(1, std::memory_order_relaxed);
      complete(rt, thread, t, status, nullptr);
      break;
    }
    // Counted before the task ends, so that a thread that waits for it sees it counted.
    ran.store(ran.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    t = status >= 0 ? complete_plain(rt, thread, t, this) : complete(rt, thread, t, status, this);
    impl = CONSORT_NONE;
  } while (t);
  return thread.chain.run;
}

void Executor::run(ThreadState &thread, Frame &f, Task *t, uint32_t impl) noexcept {
  const OnTop on_top(thread, __builtin_frame_address(0));
  run_chain(thread, f, t, impl);
}

uint32_t Executor::steps(ThreadState &thread, Frame &f, uint32_t most) noexcept {
  if (queue) [[unlikely]] return queue->step(thread);
  const OnTop on_top(thread, __builtin_frame_address(0));
  uint32_t step = 0;
  bool handed = false;  // a task was pushed, and the policy may give it to a worker that the caller has already stepped
  while (step < most) {
    consort_pick pick;
    if (called.load(std::memory_order_acquire)) [[unlikely]] {
      handed |= listed;  // if the gang is gone or waits, the caller lists the worker again before it sleeps
      begin_other_work();
      const Gangs::Turn turn = rt.gangs.turn(*this, thread, f);
      step += turn == Gangs::Turn::kDid;
      if (turn == Gangs::Turn::kIdle || thread.seat != this) break;
      if (turn == Gangs::Turn::kDid) continue;
    }
    if (bound || mailbox.load(std::memory_order_relaxed)) [[unlikely]] {
      begin_other_work();
      Task *t = next_bound();
      if (t->pub.sched[1]) {  // offered here first; other workers may take it if this one is slow
        rt.policy.push(rt, id, &t, 1, CONSORT_PUSH_NEW);
        handed = true;
        continue;
      }
      pick = {&t->pub, CONSORT_NONE, t->extra ? t->extra->team : CONSORT_NONE};
    } else {
      if (staging.load(std::memory_order_relaxed) >= kAhead) break;
      owes_look = false;
      if (!rt.policy.pop(id, &pick)) break;
      if (listed) [[unlikely]] begin_other_work();
    }
    if (pick.team != CONSORT_NONE) [[unlikely]]
      if (const Team *team = rt.topology->team(pick.team)) {
        ++step;
        Task *const t = reinterpret_cast<Task *>(pick.task);
        if (rt.gangs.form(*this, thread, t, pick.impl, *team) != Gangs::Formed::kAlone) continue;
      }
    step += 1 + static_cast<uint32_t>(run_chain(thread, f, reinterpret_cast<Task *>(pick.task), pick.impl) / kChain);
    if (thread.seat != this) [[unlikely]] {
      if (!on_top.body()) thread.away.store(false, std::memory_order_release);
      break;
    }
  }
  return step ? step : handed;
}

// -- threads --------------------------------------------------------------------------------------------------

Result<void> Executor::start_thread() {
  std::lock_guard lock(crew_mutex_);
  ThreadState *thread = nullptr;
  try {
    threads_.reserve(threads_.size() + 1);
    crew_.reserve(crew_.size() + 1);
    spares_.reserve(crew_.size() + 1);
    thread = rt.threads.adopt_or_add(rt, rt.return_batch);
    if (!thread) return error(CONSORT_E_NOMEM, "no memory for the thread of worker " + unit.name);
    // the thread's first check of duty_ may wait for this lock
    threads_.emplace_back([this, thread]() mutable { thread_main(thread); });
  } catch (const std::exception &e) {
    // for reuse by the next thread; pairs with adopt_or_add()
    if (thread) thread->orphan.store(true, std::memory_order_release);
    return error(CONSORT_E_NOMEM, "no thread for worker " + unit.name + ": " + e.what());
  }
  crew_.push_back(&thread->parker);
  if (!duty_.load(std::memory_order_relaxed)) duty_.store(&thread->parker, std::memory_order_release);
  else if (std::find(spares_.begin(), spares_.end(), &thread->parker) == spares_.end())
    spares_.push_back(&thread->parker);
  return {};
}

bool Executor::has_spare(ThreadState &thread) noexcept try {
  {
    std::lock_guard lock(crew_mutex_);
    // This thread may have taken a free token just after another thread was put on duty in its place (thread_main()
    // checks first, then takes). A spare is a resting thread, not one that waits in a body.
    std::erase(spares_, &thread.parker);
    if (!spares_.empty()) return true;
  }
  return static_cast<bool>(start_thread());
} catch (const std::bad_alloc &) {  // no memory even for the error text
  return false;
}

bool Executor::promote_spare() noexcept {
  if (spares_.empty()) return false;
  duty_.store(spares_.back(), std::memory_order_release);
  spares_.pop_back();
  vacant_.store(false, std::memory_order_relaxed);
  return true;
}

bool Executor::relief(ThreadState &thread) noexcept {
  const bool on_duty = duty_.load(std::memory_order_relaxed) == &thread.parker;
  return (!on_duty && !vacant_.load(std::memory_order_relaxed)) || has_spare(thread);
}

// The caller is about to sleep inside a body. A crew thread passes its duty to a spare; a caller from outside has no
// duty. If the system provides no thread, the duty stays vacant until a spare or the caller resumes it.
bool Executor::pass_duty_to_spare(ThreadState &thread) noexcept {
  const bool relieved = relief(thread);
  {
    std::lock_guard lock(crew_mutex_);
    std::erase(spares_, &thread.parker);
    if (duty_.load(std::memory_order_relaxed) == &thread.parker || vacant_.load(std::memory_order_relaxed))
      if (!promote_spare()) vacant_.store(true, std::memory_order_relaxed);
  }
  thread.seat = nullptr;
  thread.away.store(thread.task != nullptr, std::memory_order_release);
  give_up();
  return relieved;
}

bool Executor::fill_vacancy(ThreadState &thread) noexcept {
  if (vacant_.load(std::memory_order_relaxed) && has_spare(thread)) {
    std::lock_guard lock(crew_mutex_);
    if (vacant_.load(std::memory_order_relaxed)) promote_spare();
  }
  if (vacant_.load(std::memory_order_relaxed)) return false;
  wake_duty();
  return true;
}

bool Executor::try_return(ThreadState &thread) noexcept {
  if (!try_take()) return false;
  {
    std::lock_guard lock(crew_mutex_);
    if (std::find(crew_.begin(), crew_.end(), &thread.parker) != crew_.end()) {  // on duty again in place of its spare
      Parker *other = duty_.exchange(&thread.parker, std::memory_order_acq_rel);
      const bool waits = vacant_.exchange(false, std::memory_order_relaxed);
      if (other != &thread.parker && !waits) spares_.push_back(other);
    }
  }
  show_awake();
  rt.pass_on_wake(*this);
  thread.seat = this;
  thread.away.store(false, std::memory_order_release);
  return true;
}

void Executor::tell_threads_to_stop() noexcept {
  std::lock_guard lock(crew_mutex_);
  for (Parker *p : crew_) p->wake();
}

void Executor::join() {
  for (auto &t : threads_) t.join();
  threads_.clear();
}

void Executor::thread_main(ThreadState *&mine) {
  ThreadState &thread = *mine;
  keep_thread(rt, thread);
  thread.crew_of = this;
  name_this_thread(unit.name.c_str());
  sharpen_timers_of_this_thread();
  if (!unit.cpuset.empty() && rt.config->flag("bind")) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (size_t i = 0; i < unit.cpuset.size() * 64 && i < CPU_SETSIZE; ++i)
      if (unit.cpuset[i / 64] >> (i % 64) & 1) CPU_SET(i, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  }
  Frame frame(*this);
  while (!rt.stopping.load(std::memory_order_acquire)) {
    if (duty_.load(std::memory_order_acquire) != &thread.parker) {
      rest_as_spare(thread);
      continue;
    }
    if (vacant_.load(std::memory_order_relaxed)) end_vacancy(thread);  // the body that waited has ended
    if (try_take() || (token::is_lease(token.load(std::memory_order_relaxed)) && watch(thread))) {
      pump(thread, frame);
    } else if (token.load(std::memory_order_relaxed) == token::kHeld && !rt.stopping.load(std::memory_order_acquire)) {
      thread.parker.wait(-1);  // watch() may have taken the wake of the end, so the loop checks again
    }
  }
}

void Executor::end_vacancy(const ThreadState &thread) noexcept {
  std::lock_guard lock(crew_mutex_);
  if (duty_.load(std::memory_order_relaxed) == &thread.parker) vacant_.store(false, std::memory_order_relaxed);
}

// Off duty: sleeps until it is put on duty, or all threads stop.
void Executor::rest_as_spare(ThreadState &thread) {
  {
    std::lock_guard lock(crew_mutex_);
    if (duty_.load(std::memory_order_relaxed) == &thread.parker) return;
    if (std::find(spares_.begin(), spares_.end(), &thread.parker) == spares_.end()) spares_.push_back(&thread.parker);
  }
  thread.parker.wait(-1);
}

// Off the token, with the thread's parker shown.
void Executor::sleep(ThreadState &thread) noexcept {
  const bool traced = rt.traces(traced::kWaits);
  const uint64_t since = traced ? rt.clock.now() : 0;
  thread.spin.sleep(rt.spin_ns, [&] { thread.parker.wait(-1); });
  if (traced) rt.run_observer->slept(id, since, rt.clock.now());
}

// Runs with the token until it must give it up: no work, or another thread has asked for it.
void Executor::pump(ThreadState &thread, Frame &f) {
  thread.seat = this;
  show_awake();
  push_kept(rt, *this);
  uint32_t idle = 0;
  while (!rt.stopping.load(std::memory_order_relaxed)) {
    if (steps(thread, f, kBurst)) {
      if (thread.seat != this) return settle_down(rt, thread);
      if (asked.load(std::memory_order_relaxed) && !called.load(std::memory_order_relaxed) && lend(thread)) return;
      rt.policies.review(rt, thread);
      idle = 0;
      continue;
    }
    if (idle == 0) {
      settle_down(rt, thread);
      thread.spin.begin(rt.spin_ns);
    }
    if (!thread.spin.over(idle += look_again_later(idle))) continue;
    // see pass_duty_to_spare(): only the thread on duty may sleep here, since it is the one that is woken
    if (duty_.load(std::memory_order_relaxed) != &thread.parker) break;
    show_asleep(thread.parker);
    if (step(thread, f)) {
      if (thread.seat != this) return settle_down(rt, thread);
      show_awake();
      idle = 0;
      continue;
    }
    if (queue && queue->busy()) {
      queue->rest(thread.parker);
      show_awake();
      continue;
    }
    thread.seat = nullptr;
    token.store(token::kFree, std::memory_order_release);
    sleep(thread);
    return;  // the bit stays until the token is taken: the parker remembers a wake in between
  }
  settle_down(rt, thread);
  thread.seat = nullptr;
  give_up();
}

bool Executor::watch(ThreadState &thread) {
  watched.store(true, std::memory_order_relaxed);
  uint64_t seen = 0;
  if (const uint32_t t = token.load(std::memory_order_relaxed); token::is_lease(t))
    seen = rt.threads.at(token::thread_of(t))->in.turn.load(std::memory_order_relaxed);
  int64_t tick = kTick;
  for (uint32_t quiet = 0; !rt.stopping.load(std::memory_order_acquire);) {
    thread.parker.wait(tick);
    uint32_t t = token.load(std::memory_order_relaxed);
    if (t == token::kFree) break;
    if (t == token::kHeld) {
      if (++quiet < kQuietTicks) continue;
      break;
    }
    ThreadState &owner = *rt.threads.at(token::thread_of(t));
    const uint64_t now = owner.in.turn.load(std::memory_order_relaxed);
    // a called worker is not left to a lease: its team waits for it
    if (now != seen && !called.load(std::memory_order_relaxed)) {
      tick = std::min(tick * 2, kLongTick);
      seen = now;
      quiet = 0;
      continue;
    }
    if (!token.compare_exchange_strong(t, token::kHeld, std::memory_order_acquire, std::memory_order_relaxed)) continue;
    fence::heavy();  // pairs with light() in SubmissionRight: the owner is seen inside, or sees the token gone
    for (Backoff wait; owner.busy.load(std::memory_order_acquire);) wait.once();
    watched.store(false, std::memory_order_relaxed);
    return true;
  }
  watched.store(false, std::memory_order_relaxed);
  fence::heavy();  // a submitter that relied on the ticks is seen by the loop's caller, or sees `watched` gone
  return false;
}

}  // namespace consort
