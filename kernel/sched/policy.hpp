// The room sched: instances of scheduler plugins, their replacement, contexts, and the answers to their questions
// (host_*: consort.sched/1). It includes model, task and below; graph and above use it. Start with policy.hpp, then
// context.hpp.
//
// policy.hpp — the scheduler plugin's instance, its replacement while tasks run, and wake-ups after a push.
//
// The policy decides where ready tasks wait; the kernel decides which worker sleeps. A worker that is about to sleep
// first sets its bit in `sleepers`, then looks for work once more. A push first passes the tasks to the policy, then
// reads `sleepers`. With the asymmetric fence between, at least one of the two sees the other. Owned by the runtime.
//
// One instance is current. A swap makes another one current, then closes and drains the old one, and pushes its waiting
// tasks to the heir. A late push is answered 0 and goes to the heir by itself; a worker looks at the heir before it
// sleeps. Each plugin that was ever current has one instance. It lives until the runtime stops and is opened again at
// its next use, so no call is ever inside freed memory.
//
// With contexts (context.hpp) the current instance is the splitter, which passes calls to the instance of the task's or
// the worker's context. name() then means the instance of the runtime's own context.
//
// A director is a policy that names the policy to be current. It is asked when it is chosen, and later at intervals by
// working threads between two tasks. The current policy does not know of it.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "task/start_report.hpp"
#include "task/task.hpp"

namespace consort {

class Contexts;
struct Plugin;
struct Scheduling;
struct ThreadState;
struct Worker;

uint64_t time_to_leave(const Scheduling &) noexcept;  // deadline for calls still inside an old instance

class Policy {
 public:
  Policy();
  ~Policy();
  Result<void> open(Scheduling &, Plugin &);
  void close() noexcept;
  // [any], but not from can_execute. Replaces the policy; on an error the old one stays.
  Result<void> swap(Scheduling &, ThreadState &, std::string_view name);

  // from: a worker that this thread drives, or CONSORT_NONE. Wakes the workers that the policy names.
  void push(Scheduling &, uint32_t from, Task *const *ready, uint32_t n, uint32_t flags) noexcept;
  inline void push_one(Scheduling &, ThreadState &, uint32_t from, Task *) noexcept;  // policy_push.hpp
  uint32_t pop(uint32_t worker, consort_pick *out) noexcept {
    const Instance &i = current();
    return i.pop(i.s, worker, out, 1);
  }
  bool may_bypass(uint32_t worker, const Task &t) const noexcept {
    const Instance &i = current();
    const int32_t *urgency = i.urgency[worker];
    if (!i.bypass) [[unlikely]] return i.splits && may_bypass_inside(worker, t);
    return !urgency || t.pub.priority >= __atomic_load_n(urgency, __ATOMIC_RELAXED);
  }
  // [any] a hint: whether tasks wait that are at least as urgent. False if the policy publishes no priorities.
  bool has_as_urgent(uint32_t worker, int32_t priority) const noexcept {
    const int32_t *urgency = current().urgency[worker];
    return urgency && __atomic_load_n(urgency, __ATOMIC_RELAXED) >= priority;
  }
  // Whether a task may be issued behind its predecessors on a worker's queue without a push. no_choice: no other worker
  // can run it, so a policy that sees all tasks loses only their order.
  bool may_follow(uint32_t worker, const Task &t, bool no_choice) const noexcept {
    if (current().splits) [[unlikely]] return may_follow_inside(worker, t, no_choice);
    return current().bypass ? may_bypass(worker, t) : no_choice;
  }
  // Returns the name of the chosen policy: the director's, if there is one, else the current one's. Valid until the
  // runtime stops.
  const std::string &name() const noexcept {
    const Instance *d = director_now_.load(std::memory_order_acquire);  // pairs with set_director()
    return d ? d->name : of_root().name;
  }
  const std::string &current_name() const noexcept { return of_root().name; }
  bool is_directed() const noexcept { return director_now_.load(std::memory_order_relaxed); }  // [any] an approximate answer
  std::string reason() const;                    // [any] of the director's choice; "": no director, or it gave none
  // Sets of workers with a policy of their own; splits(): at least one was created.
  Contexts &contexts() const noexcept { return *contexts_; }
  bool splits() const noexcept { return current().splits; }
  // [any] between two tasks: asks the director, if there is one that wants it and the interval has passed.
  void review(Scheduling &rt, ThreadState &thread) noexcept {
    if (reviews_.load(std::memory_order_relaxed)) [[unlikely]] ask_director(rt, thread);
  }
  // [any] A codelet for a further class of units was added: asks the director, if there is one.
  void review_now(Scheduling &) noexcept;

  static void wake_all(Scheduling &) noexcept;   // all sleeping workers look for work
  // Posts a ready task that bypasses the policy to the mailbox of a worker with an implementation.
  static void post_to_able(Scheduling &, Task *) noexcept;

  // -- hooks that few policies implement --
  // True: ready tasks may stay in the policy until flush(), so a waiting thread calls it repeatedly.
  bool holds_back() const noexcept {
    const Instance &i = current();
    return i.splits ? holds_back_inside() : i.ops->flush != nullptr;
  }
  // [any] The application waits: the policy releases the tasks that it holds back, and sleeping workers look for them.
  void flush(Scheduling &rt) noexcept {
    if (holds_back()) [[unlikely]] release_held(rt);
  }
  uint64_t next_event() const noexcept {         // virtual time: pop() returns nothing new before it
    const Instance &i = current();
    return i.ops->next_event ? i.ops->next_event(i.s) : CONSORT_NEVER;
  }
  bool looks_ahead() const noexcept { return current().ops->submitted; }  // then the fast submission path is off
  void submitted(const Task *) noexcept;
  bool chooses_victims() const noexcept {        // false: no policy, or it has no such hook
    const Instance *i = now_.load(std::memory_order_acquire);
    return i && i->ops->victim;
  }
  // policy_name: receives the name of the policy that answered, valid until the runtime stops
  uint32_t victim(uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n, uint32_t *order,
                  const std::string **policy_name) noexcept;
  bool keeps_order() const noexcept { return !(current().ops->flags & CONSORT_SF_ANY_ORDER); }
  bool observes() const noexcept {
    const Instance &i = current();
    return i.ops->started || i.ops->finished || (i.splits && observes_inside());
  }
  ReportedInstance tell_started(const Worker &, const Task *) noexcept;
  void tell_finished(const ReportedInstance &, const Worker &, const consort_done &) noexcept;
  // Takes a cancelled task out of the policy. nullptr: it will come out by pop, it runs, or it was never inside.
  Task *take_back(Scheduling &, Task *, TaskName) noexcept;

 private:
  friend class Contexts;
  friend struct Context;
  struct alignas(64) Instance {
    // Read at each push and pop. Constant once current, except for `epoch`.
    uint32_t (*push)(void *, const consort_push *) = nullptr;
    uint32_t (*pop)(void *, uint32_t, consort_pick *, uint32_t) = nullptr;
    void *s = nullptr;
    // Of the present use. A relaxed store is released by make_current(). The release where a context opens or closes
    // the instance pairs with the acquire in the context router, which sees that an old epoch is over.
    std::atomic<uint64_t> epoch{0};
    bool bypass = true;
    std::vector<const int32_t *> urgency;        // by worker
    const consort_scheduler_ops *ops = nullptr;
    std::string name;
    bool splits = false;                         // passes calls to the instances of contexts
    bool used = false;                           // with contexts: belongs to one; under the mutex
  };

  struct Mark {                                  // the thread that changes the policy
    std::atomic<ThreadState *> &changer;  // see swapper_
    Mark(std::atomic<ThreadState *> &c, ThreadState &t) : changer(c) { changer.store(&t, std::memory_order_relaxed); }
    ~Mark() { changer.store(nullptr, std::memory_order_relaxed); }
  };

  // acquire: pairs with the release in make_current()
  const Instance &current() const noexcept { return *now_.load(std::memory_order_acquire); }
  const Instance &of_root() const noexcept;
  bool may_bypass_inside(uint32_t worker, const Task &) const noexcept;
  bool may_follow_inside(uint32_t worker, const Task &, bool no_choice) const noexcept;
  bool observes_inside() const noexcept;
  bool holds_back_inside() const noexcept;
  void release_held(Scheduling &) noexcept;
  Result<void> may_change(const ThreadState &) const;   // before the mutex is taken
  Result<Instance *> make(Scheduling &, Plugin &, uint64_t epoch);
  Instance *find(std::string_view name) noexcept;
  Result<Instance *> find_or_make(Scheduling &, std::string_view name, uint64_t epoch);
  Result<void> go_over(Scheduling &, std::string_view name);
  void ask_director(Scheduling &, ThreadState &) noexcept;
  Result<void> direct(Scheduling &);
  void ask_again(Scheduling &, const Instance &director);
  void log_no_change(Scheduling &, const Error &);
  void set_director(Scheduling &, Instance *) noexcept;
  void make_current(Scheduling &, Instance &) noexcept;
  uint32_t move_all(Scheduling &, Instance &from, uint64_t epoch) noexcept;
  void place_by_force(Scheduling &, const std::string &name, Task *const *ready, uint32_t n) noexcept;

  std::atomic<Instance *> now_{nullptr};  // release in make_current() pairs with current(): the instance is complete
  std::mutex swap_mutex_;                        // guards the members below; above the registry's
  std::vector<std::unique_ptr<Instance>> instances_;
  uint64_t epochs_ = 0;                          // epochs given so far
  std::atomic<ThreadState *> swapper_{nullptr};  // the thread that holds the mutex; relaxed: it only looks for itself
  std::atomic<Instance *> director_now_{nullptr};  // written under the mutex
  std::atomic<bool> reviews_{false};             // the director is asked from time to time; relaxed: a hint
  std::atomic<uint64_t> review_at_{0};           // relaxed: a hint; ns of the clock: next question to the director
  mutable std::mutex reason_mutex_;              // guards reason_; below all others
  std::string reason_;
  std::atomic<uint64_t> flushed_at_{0};          // relaxed: tasks submitted and finished before the last flush, a hint
  std::atomic<uint32_t> flushes_{0};             // relaxed: a count
  std::atomic<bool> told_refusal_{false};  // relaxed: the first exchange wins, it orders nothing
  bool told_director_ = false;                   // a warning was logged that the named policy could not be used
  std::unique_ptr<Contexts> contexts_;           // set by open()
};

// consort.sched/1, the services for policies.
const consort_sched_host *sched_services() noexcept;

}  // namespace consort
