// context_router.hpp — the splitter: finds the context of a task or worker, and passes calls to its policy instance.
//
// It is the current policy once a context exists (context.hpp), and has the table of contexts and workers that pushes and
// pops read without a lock. Contexts changes that table, under PolicySet's mutex. Owned by Contexts.
//
// A destroyed context has an heir. Its slot stays until its last task has ended. A context counts its tasks, one for
// itself while it lives, and one for each destroyed context that it inherits from and that has tasks left. So the
// context to which a task belongs now is found by following the heirs, without a lock.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "sched/policy.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct Context {
  explicit Context(uint32_t i) noexcept : index(i) {}
  const uint32_t index;                           // number in the table; 0: the runtime's own context
  std::atomic<uint32_t> generation{1};            // of the valid handle; the release where it ends pairs with idle()
  // Release after the instance is open pairs with acquire in each push, pop and question: they find it open.
  std::atomic<PolicyInstance *> now{nullptr};
  std::atomic<Context *> heir{nullptr};           // set if destroyed; release: before its instance is closed
  std::atomic<uint64_t> left{0};  // tasks, inherited contexts with tasks, and 1 for itself; leave() pairs with idle()
  std::atomic<uint64_t> classes{0};               // classes of its workers; relaxed: the push of the moved tasks releases it
  std::atomic<bool> over{false};                  // the slot is free; release in leave() pairs with acquire in slot()
  // -- under Contexts' table mutex --
  bool live = false, told = false;                // told: the lack of workers was logged
  std::string name;
  Context *parent = nullptr;
  uint64_t id() const noexcept {
    return index ? uint64_t{generation.load(std::memory_order_acquire)} << 32 | index : 0;
  }
  bool idle(uint32_t of_handle) const noexcept {  // or destroyed; acquire: its tasks' stores are visible
    return left.load(std::memory_order_acquire) <= 1 || generation.load(std::memory_order_acquire) != of_handle;
  }
};

class ContextRouter {
 public:
  static constexpr uint32_t kMost = 1024;         // limit of contexts at a time
  explicit ContextRouter(Scheduling &);

  // -- the table; Contexts alone changes it --
  Context &root() noexcept { return root_; }
  uint32_t size() const noexcept { return n_.load(std::memory_order_acquire); }  // slots [1] ... [size()]
  // acquire: pairs with the release in add()
  Context *at(uint32_t number) const noexcept { return all_[number].load(std::memory_order_acquire); }
  Context *serving(uint32_t w) const noexcept { return serving_[w].load(std::memory_order_acquire); }
  void add(Context &) noexcept;                   // into the slot of its number, which is the next one
  void serve(uint32_t w, Context &c) noexcept { serving_[w].store(&c, std::memory_order_release); }
  PolicyInstance &splitter() noexcept { return splitter_; }
  PolicyInstance &gone() noexcept { return gone_; }  // stands for destroyed contexts; refuses all, has no hooks
  void look_for_hooks() noexcept;                 // after a change of instances

  // -- tasks --
  const ThreadState::Entered *innermost(
      ThreadState &) const noexcept;                  // the context that this thread has entered last; nullptr: none
  uint64_t current(ThreadState &) const noexcept;     // context of a submission by this thread
  // Counts the task in the context until free_lent(). Precondition: the task has its Extra. E_STALE: the context was
  // destroyed.
  consort_status enter(ThreadState &, Task *) noexcept;
  void leave(Context *) noexcept;                 // decrements the count of tasks
  void leave(uint32_t number) noexcept { leave(at(number)); }

  // -- for Policy, while the splitter is current --
  const PolicyInstance &root_instance() const noexcept { return *root_.now.load(std::memory_order_acquire); }
  const PolicyInstance &instance_of(const Task &) const noexcept;  // of its context; never gone()
  bool may_bypass(uint32_t worker, const Task &) const noexcept;
  bool may_follow(uint32_t worker, const Task &, bool no_choice) const noexcept;
  // relaxed: a hint, set before the splitter or the instance becomes current; the caller has acquired that
  bool observes() const noexcept { return observes_.load(std::memory_order_relaxed); }
  bool holds_back() const noexcept { return holds_back_.load(std::memory_order_relaxed); }
  ReportedInstance tell_started(const Worker &, const Task *) noexcept;
  void tell_finished(const ReportedInstance &, const Worker &, const consort_done &) noexcept;

 private:
  Context &of(const Task &) const noexcept;
  void push_into(const Task *const *, const consort_push &) noexcept;
  template <class F> void each_instance(F f) const noexcept;

  // function table of the splitter
  static uint32_t push(void *s, const consort_push *) noexcept;
  static uint32_t pop(void *s, uint32_t worker, consort_pick *, uint32_t max) noexcept;
  static void submitted(void *s, const consort_task *const *, uint32_t n) noexcept;
  static uint32_t dropped(void *s, consort_task *const *, uint32_t n, consort_task **held) noexcept;
  static void flush(void *s) noexcept;
  static uint64_t next_event(void *s) noexcept;
  static uint32_t victim(void *s, uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n,
                         uint32_t *order) noexcept;
  static const consort_scheduler_ops kTable;

  Scheduling &rt_;
  PolicyInstance splitter_, gone_;
  Context root_{0};
  std::unique_ptr<std::atomic<Context *>[]> serving_;  // by worker; release in serve() pairs with serving()
  std::atomic<bool> observes_{false}, holds_back_{false};  // see observes()
  std::atomic<uint32_t> n_{0};                    // number of slots; release in add() pairs with acquire in size()
  std::atomic<Context *> all_[kMost + 1] = {};    // [1] ... [n]; see at()
};

}  // namespace consort
