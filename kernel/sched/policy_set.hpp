// policy_set.hpp — the policy instances of a runtime: which one is current, its replacement, and the director.
//
// Each plugin that was ever current has one instance. It lives until the runtime stops and is opened again at its next
// use. A swap makes another instance current, then closes and drains the old one, and pushes its waiting tasks to the
// heir. A late push is answered 0 and goes to the heir by itself; a worker looks at the heir before it sleeps.
//
// A director is a policy that names the policy to be current. It is asked when it is chosen, and later at intervals by
// working threads between two tasks. The current policy does not know of it.
//
// All changes are made under one mutex, those of contexts (context.hpp) as well.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sched/policy.hpp"

namespace consort {

struct Plugin;

class PolicySet {
 public:
  explicit PolicySet(Policy &current) noexcept : policy_(current) {}
  Result<void> open(Scheduling &, Plugin &);
  void close() noexcept;
  // [any], but not from can_execute. Replaces the policy; on an error the old one stays.
  Result<void> swap(Scheduling &, ThreadState &, std::string_view name);
  // Returns the name of the chosen policy: the director's, if there is one, else the current one's. Valid until the
  // runtime stops.
  const std::string &name() const noexcept {
    const PolicyInstance *d = director_now_.load(std::memory_order_acquire);  // pairs with set_director()
    return d ? d->name : policy_.current_name();
  }
  bool is_directed() const noexcept { return director_now_.load(std::memory_order_relaxed); }  // [any] an approximate answer
  std::string reason() const;                    // [any] of the director's choice; "": no director, or it gave none
  // [any] between two tasks: asks the director, if there is one that wants it and the interval has passed.
  void review(Scheduling &rt, ThreadState &thread) noexcept {
    if (reviews_.load(std::memory_order_relaxed)) [[unlikely]] ask_director(rt, thread);
  }
  // [any] A codelet for a further class of units was added: asks the director, if there is one.
  void review_now(Scheduling &) noexcept;

  // -- for Contexts --
  // The right to change instances: the mutex, and the mark of the thread that has it. Precondition: may_change().
  class Change {
   public:
    Change(PolicySet &all, ThreadState &thread) : all_(all), lock_(all.mutex_) { all.mark(&thread); }
    Change(PolicySet &all, ThreadState &thread, std::adopt_lock_t held) : all_(all), lock_(all.mutex_, held) { all.mark(&thread); }
    ~Change() { all_.mark(nullptr); }
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

   private:
    PolicySet &all_;
    const std::lock_guard<std::mutex> lock_;
  };
  Result<void> may_change(const ThreadState &) const;   // before the mutex is taken
  // Preconditions of these: the mutex is held.
  Result<PolicyInstance *> make(Scheduling &, Plugin &, uint64_t epoch);
  PolicyInstance *find_unused(std::string_view name) noexcept;  // one that belongs to no context; nullptr: none
  uint64_t new_epoch() noexcept { return ++epochs_; }
  // Sets the epoch of `from` and pushes its waiting tasks to the current instance. Returns their number.
  uint32_t move_all(Scheduling &, PolicyInstance &from, uint64_t epoch) noexcept;

 private:
  void mark(ThreadState *changer) noexcept { swapper_.store(changer, std::memory_order_relaxed); }
  PolicyInstance *find(std::string_view name) noexcept;
  Result<PolicyInstance *> find_or_make(Scheduling &, std::string_view name, uint64_t epoch);
  Result<void> go_over(Scheduling &, std::string_view name);
  void ask_director(Scheduling &, ThreadState &) noexcept;
  Result<void> direct(Scheduling &);
  void ask_again(Scheduling &, const PolicyInstance &director);
  void log_no_change(Scheduling &, const Error &);
  void set_director(Scheduling &, PolicyInstance *) noexcept;

  Policy &policy_;                               // the current one
  std::mutex mutex_;                             // guards the members below; above the registry's
  std::vector<std::unique_ptr<PolicyInstance>> instances_;
  uint64_t epochs_ = 0;                          // epochs given so far
  std::atomic<ThreadState *> swapper_{nullptr};  // the thread that holds the mutex; relaxed: it only looks for itself
  std::atomic<PolicyInstance *> director_now_{nullptr};  // written under the mutex
  std::atomic<bool> reviews_{false};             // the director is asked from time to time; relaxed: a hint
  std::atomic<uint64_t> review_at_{0};           // relaxed: a hint; ns of the clock: next question to the director
  mutable std::mutex reason_mutex_;              // guards reason_; below all others
  std::string reason_;
  bool told_director_ = false;                   // a warning was logged that the named policy could not be used
};

}  // namespace consort
