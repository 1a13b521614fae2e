// context.hpp — sets of workers with a policy instance of their own (consort/contexts.h), and who hands tasks on to
// whom.
//
// Every worker serves one context, the runtime's own at first. When the first other one is made, the kernel's current
// policy becomes an instance of the kernel's own, the splitter: a push goes on to the instance of the task's context, a
// pop to that of the worker's. So without contexts no path is longer by an instruction. A task knows its context by a
// number in its Extra; tasks of the runtime's own have none.
//
// A change of workers is a change of the policy, context by context: another instance of the same plugin, which nobody
// uses, is given the new set; all that may fail is done by then. Then it becomes current, and the old one is closed and
// drained to it (policy.hpp says why nothing is lost). Closed ones wait for their next use: nobody is ever inside
// memory that is gone, and who still comes by with an old epoch, or as a worker that an instance does not serve, gets
// nothing.
//
// A context that was destroyed has an heir. Its slot stays until its last task has ended: each task is counted there,
// the context itself counts one while it lives, and one that is gone and has tasks left is one more of its heir's. So
// whoever has a task finds the context that it belongs to now by walking up, without a lock.
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
  const uint32_t index;                           // 0: the runtime's own
  std::atomic<uint32_t> generation{1};            // of the handle that is good; release where it ends pairs with idle()
  // Release once the instance is open pairs with acquire in each push, pop and question: they find it open.
  std::atomic<Policy::Instance *> now{nullptr};
  std::atomic<Context *> heir{nullptr};           // it was destroyed; release: before its instance is closed
  std::atomic<uint64_t> left{0};                  // its tasks, rests of others, and itself; leave() pairs with idle()
  std::atomic<uint64_t> classes{0};               // of its workers; relaxed: the push of what is drained releases it
  std::atomic<bool> over{false};                  // nobody has it any more; pairs with whoever makes it another
  // -- under Contexts' table mutex --
  bool live = false, told = false;                // told: that it has no worker any more
  std::string name;
  Context *parent = nullptr;
  uint64_t id() const noexcept {
    return index ? uint64_t{generation.load(std::memory_order_acquire)} << 32 | index : 0;
  }
};

class Contexts {
 public:
  static constexpr uint32_t kMost = 1024;         // at once
  Contexts(Scheduling &, Policy &);

  // -- control: [any] but for a question to can_execute; all or nothing --
  struct Wanted { const char *name, *scheduler; const uint32_t *workers; uint32_t nworkers; uint64_t parent; };
  Result<uint64_t> create(ThreadState &, const Wanted &);
  Result<void> destroy(ThreadState &, uint64_t id);
  enum class Way { kFromParent, kToParent };
  Result<void> move(ThreadState &, uint64_t id, Way, const uint32_t *workers, uint32_t n);
  Result<void> move(ThreadState &, uint64_t from, uint64_t to, const uint32_t *workers, uint32_t n);
  Result<void> set_scheduler(ThreadState &, uint64_t id, std::string_view name);
  // Somebody has cancelled: of what waits where nobody can run it, that comes out.
  void let_cancelled_out(ThreadState &) noexcept;
  void destroy_all(ThreadState &) noexcept;              // for a stop: what waits there can run again

  // -- looking --
  Result<Context *> find(uint64_t id) noexcept;   // the caller looks at its generation again
  struct Info { const char *name, *scheduler; uint64_t parent, unfinished; uint32_t nworkers; };
  Result<Info> info(uint64_t id);
  Result<std::vector<uint32_t>> workers(uint64_t id);
  std::vector<uint64_t> list();
  uint64_t of_worker(uint32_t w) const noexcept { return serving_[w].load(std::memory_order_acquire)->id(); }
  std::string describe();                         // a line each; may throw bad_alloc
  std::string describe(TaskName);                 // whose it is, and if nobody there can run it; "": there is but one

  // -- tasks --
  const ThreadState::Entered *innermost(
      ThreadState &) const noexcept;                  // where this thread is just now; nullptr: it has entered none
  uint64_t current(ThreadState &) const noexcept;     // for a submission by this thread
  // Counted there until free_lent(); its extra is there. E_STALE: the context is gone.
  consort_status enter(ThreadState &, Task *) noexcept;
  void leave(Context *) noexcept;                 // one less to wait for
  void leave(uint32_t number) noexcept { leave(at(number)); }
  bool idle(const Context &c, uint32_t generation) const noexcept {  // or gone; acquire: what its tasks did is seen
    return c.left.load(std::memory_order_acquire) <= 1 || c.generation.load(std::memory_order_acquire) != generation;
  }

  // -- for Policy, once the splitter is current --
  const Policy::Instance &root_instance() const noexcept { return *root_.now.load(std::memory_order_acquire); }
  Result<void> change_root(std::string_view name);  // under Policy's mutex
  bool may_bypass(uint32_t worker, const Task &) const noexcept;
  bool may_follow(uint32_t worker, const Task &, bool no_choice) const noexcept;
  // relaxed: a hint, set before the splitter or the instance is current, which the caller has acquired
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
  Context *serving(uint32_t w) const noexcept { return serving_[w].load(std::memory_order_acquire); }
  void split() noexcept;
  Result<Context *> slot();
  Result<Instance *> take_instance(std::string_view name);
  Result<Instance *> prepare(std::string_view name, const std::vector<uint32_t> &members);
  Result<void> prepare_all(std::vector<Change> &);
  void commit(std::vector<Change> &) noexcept;
  void close(Instance &) noexcept;
  void look_for_hooks() noexcept;
  void say_if_nobody_is_left(Context &) noexcept;
  std::vector<uint32_t> members(const Context &) const;
  std::string words(const Context &) const;       // for messages
  Result<void> check(const uint32_t *workers, uint32_t n, const Context &from) const;
  Result<void> shift(Context &from, Context &to, const uint32_t *workers, uint32_t n);
  void push_into(const Task *const *, const consort_push &) noexcept;
  template <class F> void each_instance(F f) const noexcept;

  // the splitter's table
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
  Instance splitter_, gone_;                      // gone_: of those that were destroyed; it refuses all
  Context root_{0};
  std::unique_ptr<std::atomic<Context *>[]> serving_;  // by worker; release in commit() pairs with serving()
  std::atomic<bool> observes_{false}, holds_back_{false};  // see observes()
  std::atomic<uint32_t> n_{0};                    // slots made; release in slot() pairs with acquire
  std::atomic<Context *> all_[kMost + 1] = {};    // [1] ... [n]; see at()
  std::vector<std::unique_ptr<Context>> slots_;
  mutable std::mutex table_mutex_;                // leaf: names, parents, who lives
  uint64_t given_ = 0;                            // for names
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
