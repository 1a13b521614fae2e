// The room sched: instances of scheduler plugins, their replacement, contexts, and the answers to their questions
// (host_*: consort.sched/1). It includes model, task and below; graph and above use it. Start with policy.hpp, then
// policy_set.hpp and context.hpp.
//
// policy.hpp — the current instance of a scheduler plugin: pushes, pops, its hooks, and wake-ups after a push.
//
// The policy decides where ready tasks wait; the kernel decides which worker sleeps. A worker that is about to sleep
// first sets its bit in `sleepers`, then looks for work once more. A push first passes the tasks to the policy, then
// reads `sleepers`. With the asymmetric fence between, at least one of the two sees the other. Owned by the runtime.
//
// One instance is current; policy_set.hpp replaces it while tasks run.
//
// With contexts (context.hpp) the current instance is the splitter, which passes calls to the instance of the task's or
// the worker's context. current_name() then means the instance of the runtime's own context.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <memory>
#include <string>

#include "sched/policy_instance.hpp"
#include "task/start_report.hpp"
#include "task/task.hpp"

namespace consort {

class Contexts;
struct Scheduling;
struct ThreadState;
struct Worker;

uint64_t time_to_leave(const Scheduling &) noexcept;  // deadline for calls still inside an old instance

class Policy {
 public:
  Policy();
  ~Policy();

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
  // Returns the name of the current policy, valid until the runtime stops. PolicySet::name() is that of the chosen one.
  const std::string &current_name() const noexcept { return of_root().name; }
  // Sets of workers with a policy of their own; splits(): at least one was created.
  Contexts &contexts() const noexcept { return *contexts_; }
  bool splits() const noexcept { return current().splits; }

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
  friend class ContextRouter;
  friend class Contexts;
  friend class PolicySet;
  using Instance = PolicyInstance;

  // acquire: pairs with the release in make_current()
  const Instance &current() const noexcept { return *now_.load(std::memory_order_acquire); }
  const Instance &of_root() const noexcept;
  bool may_bypass_inside(uint32_t worker, const Task &) const noexcept;
  bool may_follow_inside(uint32_t worker, const Task &, bool no_choice) const noexcept;
  bool observes_inside() const noexcept;
  bool holds_back_inside() const noexcept;
  void release_held(Scheduling &) noexcept;
  void make_current(Scheduling &, Instance &) noexcept;
  void place_by_force(Scheduling &, const std::string &name, Task *const *ready, uint32_t n) noexcept;

  std::atomic<Instance *> now_{nullptr};  // release in make_current() pairs with current(): the instance is complete
  std::atomic<uint64_t> flushed_at_{0};          // relaxed: tasks submitted and finished before the last flush, a hint
  std::atomic<uint32_t> flushes_{0};             // relaxed: a count
  std::atomic<bool> told_refusal_{false};  // relaxed: the first exchange wins, it orders nothing
  std::unique_ptr<Contexts> contexts_;           // set by PolicySet::open()
};

// consort.sched/1, the services for policies.
const consort_sched_host *sched_services() noexcept;

}  // namespace consort
