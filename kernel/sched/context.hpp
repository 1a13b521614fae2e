// context.hpp — scheduling contexts: sets of workers with a policy instance of their own (consort/contexts.h).
//
// Every worker serves one context, at first the runtime's own. When another context is created, the current policy
// becomes the splitter, an instance inside the kernel. It passes a push to the instance of the task's context, and a
// pop to the instance of the worker's context. Without contexts no path executes an additional instruction. A task
// stores the number of its context in its Extra; tasks of the runtime's own context store none.
//
// A change of workers replaces the policy instance of each affected context. An unused instance of the same plugin gets
// the new set of workers; all steps that may fail come first. Then it becomes current, and the old one is closed and
// its tasks are moved (policy.hpp argues why no task is lost). Closed instances are kept for reuse, so no call is ever
// inside freed memory. A call with an old epoch, or for a worker that the instance does not serve, gets nothing.
//
// A destroyed context has an heir. Its slot stays until its last task has ended. A context counts its tasks, one for
// itself while it lives, and one for each destroyed context that it inherits from and that has tasks left. So the
// context to which a task belongs now is found by following the heirs, without a lock.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sched/policy.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct Context {
  explicit Context(uint32_t i) noexcept : index(i) {}
  const uint32_t index;                           // index in all_; 0: the runtime's own context
  std::atomic<uint32_t> generation{1};            // of the valid handle; the release where it ends pairs with idle()
  // Release after the instance is open pairs with acquire in each push, pop and question: they find it open.
  std::atomic<Policy::Instance *> now{nullptr};
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
};

class Contexts {
 public:
  static constexpr uint32_t kMost = 1024;         // limit of contexts at a time
  Contexts(Scheduling &, Policy &);

  // -- control: [any], but not from can_execute; all or nothing --
  struct Wanted { const char *name, *scheduler; const uint32_t *workers; uint32_t nworkers; uint64_t parent; };
  Result<uint64_t> create(ThreadState &, const Wanted &);
  Result<void> destroy(ThreadState &, uint64_t id);
  enum class Way { kFromParent, kToParent };
  Result<void> move(ThreadState &, uint64_t id, Way, const uint32_t *workers, uint32_t n);
  Result<void> move(ThreadState &, uint64_t from, uint64_t to, const uint32_t *workers, uint32_t n);
  Result<void> set_scheduler(ThreadState &, uint64_t id, std::string_view name);
  // After a cancellation: removes cancelled tasks that wait in a context whose workers cannot run them.
  void release_cancelled(ThreadState &) noexcept;
  void destroy_all(ThreadState &) noexcept;              // for a stop: their tasks can run again

  // -- queries --
  Result<Context *> find(uint64_t id) noexcept;   // the caller checks the generation again
  struct Info { const char *name, *scheduler; uint64_t parent, unfinished; uint32_t nworkers; };
  Result<Info> info(uint64_t id);
  Result<std::vector<uint32_t>> workers(uint64_t id);
  std::vector<uint64_t> list();
  uint64_t of_worker(uint32_t w) const noexcept { return serving_[w].load(std::memory_order_acquire)->id(); }
  std::string describe();                         // one line for each; may throw bad_alloc
  // the task's context, and whether no worker there can run it; "": there is one context only
  std::string describe(TaskName);

  // -- tasks --
  const ThreadState::Entered *innermost(
      ThreadState &) const noexcept;                  // the context that this thread has entered last; nullptr: none
  uint64_t current(ThreadState &) const noexcept;     // context of a submission by this thread
  // Counts the task in the context until free_lent(). Precondition: the task has its Extra. E_STALE: the context was
  // destroyed.
  consort_status enter(ThreadState &, Task *) noexcept;
  void leave(Context *) noexcept;                 // decrements the count of tasks
  void leave(uint32_t number) noexcept { leave(at(number)); }
  bool idle(const Context &c, uint32_t generation) const noexcept {  // or destroyed; acquire: its tasks' stores are visible
    return c.left.load(std::memory_order_acquire) <= 1 || c.generation.load(std::memory_order_acquire) != generation;
  }

  // -- for Policy, while the splitter is current --
  const Policy::Instance &root_instance() const noexcept { return *root_.now.load(std::memory_order_acquire); }
  Result<void> change_root(std::string_view name);  // precondition: Policy's mutex is held
  bool may_bypass(uint32_t worker, const Task &) const noexcept;
  bool may_follow(uint32_t worker, const Task &, bool no_choice) const noexcept;
  // relaxed: a hint, set before the splitter or the instance becomes current; the caller has acquired that
  bool observes() const noexcept { return observes_.load(std::memory_order_relaxed); }
  bool holds_back() const noexcept { return holds_back_.load(std::memory_order_relaxed); }
  ReportedInstance tell_started(const Worker &, const Task *) noexcept;
  void tell_finished(const ReportedInstance &, const Worker &, const consort_done &) noexcept;

 private:
  using Instance = Policy::Instance;
  struct Change { Context *of; std::string scheduler; std::vector<uint32_t> members; Instance *instance = nullptr; };

  // pairs with the release in slot()
  Context *at(uint32_t number) const noexcept { return all_[number].load(std::memory_order_acquire); }
  Context &of(const Task &) const noexcept;
  const Instance &instance_of(const Task &) const noexcept;  // of its context; never gone_
  Context *serving(uint32_t w) const noexcept { return serving_[w].load(std::memory_order_acquire); }
  void split() noexcept;
  Result<Context *> slot();
  Result<Instance *> take_instance(std::string_view name);
  Result<Instance *> prepare(std::string_view name, const std::vector<uint32_t> &members);
  Result<void> prepare_all(std::vector<Change> &);
  void commit(std::vector<Change> &) noexcept;
  void close(Instance &) noexcept;
  void look_for_hooks() noexcept;
  void warn_if_without_workers(Context &) noexcept;
  std::vector<uint32_t> members(const Context &) const;
  std::string words(const Context &) const;       // for messages
  Result<void> check(const uint32_t *workers, uint32_t n, const Context &from) const;
  Result<void> shift(Context &from, Context &to, const uint32_t *workers, uint32_t n);
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
  Policy &policy_;                                // its mutex guards all changes
  Instance splitter_, gone_;                      // gone_: stands for destroyed contexts; refuses all, has no hooks
  Context root_{0};
  std::unique_ptr<std::atomic<Context *>[]> serving_;  // by worker; release in commit() pairs with serving()
  std::atomic<bool> observes_{false}, holds_back_{false};  // see observes()
  std::atomic<uint32_t> n_{0};                    // number of slots; release in slot() pairs with acquire
  std::atomic<Context *> all_[kMost + 1] = {};    // [1] ... [n]; see at()
  std::vector<std::unique_ptr<Context>> slots_;
  mutable std::mutex table_mutex_;                // leaf: guards names, parents and `live`
  uint64_t given_ = 0;                            // number for the next default name
};

template <class F>
void Contexts::each_instance(F f) const noexcept {
  f(*root_.now.load(std::memory_order_acquire));
  const uint32_t n = n_.load(std::memory_order_acquire);
  for (uint32_t k = 1; k <= n; ++k) {
    const Context &c = *at(k);
    const Instance *i = c.now.load(std::memory_order_acquire);
    if (i && !c.heir.load(std::memory_order_acquire)) f(*i);
  }
}

}  // namespace consort
