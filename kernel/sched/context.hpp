// context.hpp — scheduling contexts: sets of workers with a policy instance of their own (consort/contexts.h).
//
// Every worker serves one context, at first the runtime's own. When another context is created, the current policy
// becomes the splitter, an instance inside the kernel (context_router.hpp). It passes a push to the instance of the task's
// context, and a pop to the instance of the worker's context. Without contexts no path executes an additional
// instruction. A task stores the number of its context in its Extra; tasks of the runtime's own context store none.
//
// A change of workers replaces the policy instance of each affected context. An unused instance of the same plugin gets
// the new set of workers; all steps that may fail come first. Then it becomes current, and the old one is closed and
// its tasks are moved (policy_set.hpp argues why no task is lost). Closed instances are kept for reuse, so no call is ever
// inside freed memory. A call with an old epoch, or for a worker that the instance does not serve, gets nothing.
//
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sched/context_router.hpp"
#include "sched/policy_set.hpp"

namespace consort {

class Contexts {
 public:
  Contexts(Scheduling &, Policy &, PolicySet &);
  ContextRouter &router() noexcept { return router_; }

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
  uint64_t of_worker(uint32_t w) const noexcept { return router_.serving(w)->id(); }
  std::string describe();                         // one line for each; may throw bad_alloc
  // the task's context, and whether no worker there can run it; "": there is one context only
  std::string describe(TaskName);

  // For PolicySet, while the splitter is current: replaces the instance of the runtime's own context. Precondition: its
  // mutex is held.
  Result<void> change_root(std::string_view name);

 private:
  using Instance = PolicyInstance;
  struct Change { Context *of; std::string scheduler; std::vector<uint32_t> members; Instance *instance = nullptr; };

  void split() noexcept;
  Result<Context *> slot();
  Result<Instance *> take_instance(std::string_view name);
  Result<Instance *> prepare(std::string_view name, const std::vector<uint32_t> &members);
  Result<void> prepare_all(std::vector<Change> &);
  void commit(std::vector<Change> &) noexcept;
  void close(Instance &) noexcept;
  void warn_if_without_workers(Context &) noexcept;
  std::vector<uint32_t> members(const Context &) const;
  std::string words(const Context &) const;       // for messages
  Result<void> check(const uint32_t *workers, uint32_t n, const Context &from) const;
  Result<void> shift(Context &from, Context &to, const uint32_t *workers, uint32_t n);

  Scheduling &rt_;
  Policy &policy_;
  PolicySet &policies_;                           // its mutex guards all changes
  ContextRouter router_;
  std::vector<std::unique_ptr<Context>> slots_;
  mutable std::mutex table_mutex_;                // leaf: guards names, parents and `live`
  uint64_t given_ = 0;                            // number for the next default name
};

}  // namespace consort
