#include "sched/context.hpp"

#include <algorithm>
#include <utility>

#include "base/last_error.hpp"
#include "model/models.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"
#include "sched/policy_push.hpp"
#include "sched/scheduling.hpp"
#include "task/worker.hpp"

namespace consort {
namespace {

constexpr uint32_t kTaken = 64;                  // tasks moved at a time

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

Error stale() {
  return error(CONSORT_E_STALE, "the context was destroyed, or is none of this runtime: its handle is stale");
}

Error no_own() {
  return error(CONSORT_E_INVAL,
               "the null handle is the runtime's own context, which is there from start to stop: name one that "
               "consort_context_create() gave");
}

}  // namespace

Contexts::Contexts(Scheduling &rt, Policy &policy, PolicySet &policies)
    : rt_(rt), policy_(policy), policies_(policies), router_(rt) {}

// -- instances ----------------------------------------------------------------------------------------------------

// Makes the splitter current. The previous policy becomes the instance of the runtime's own context.
void Contexts::split() noexcept {
  if (policy_.splits()) return;
  Instance &first = *policy_.now_.load(std::memory_order_relaxed);
  first.used = true;
  router_.root().now.store(&first, std::memory_order_release);
  router_.look_for_hooks();
  policy_.make_current(rt_, router_.splitter());
}

// Returns an unused instance of the plugin and marks it used.
Result<PolicyInstance *> Contexts::take_instance(std::string_view name) {
  auto plugin = rt_.registry->load(CONSORT_KIND_SCHEDULER, name);
  if (!plugin) return plugin.error();
  if ((*plugin)->scheduler()->direct)
    return error(CONSORT_E_UNSUPPORTED, "scheduler " + in_quotes(name) +
                                            " names others, which is for the runtime as a whole "
                                            "(consort_runtime_set_scheduler()): name one of those for a context");
  if (!((*plugin)->manifest->flags & CONSORT_PF_SWAPPABLE))
    return error(CONSORT_E_UNSUPPORTED, "scheduler " + in_quotes(name) +
                                            " cannot take over while tasks run, which contexts need: name another one, "
                                            "for the context and for the runtime (setting `scheduler`)");
  if (Instance *i = policies_.find_unused(name)) {
    i->used = true;
    return i;
  }
  auto made = policies_.make(rt_, **plugin, policies_.new_epoch());
  if (made) (*made)->used = true;
  return made;
}

// Returns an open instance for these workers that is current in no context yet.
Result<PolicyInstance *> Contexts::prepare(std::string_view name, const std::vector<uint32_t> &members) {
  std::vector<uint32_t> others;
  for (uint32_t w = 0; w < rt_.workers.size(); ++w)
    if (!std::binary_search(members.begin(), members.end(), w)) others.push_back(w);
  auto taken = take_instance(name);
  if (!taken) return taken;
  Instance &i = **taken;
  clear_error();
  const consort_status s =
      plugin_status(i.ops->workers(i.s, rt_.topology->snapshot(), members.data(), static_cast<uint32_t>(members.size()),
                                   others.data(), static_cast<uint32_t>(others.size())),
                    i.name.c_str(), "workers()");
  if (s < 0) {
    const std::string said = error_text();
    i.used = false;
    return error(s, "scheduler " + in_quotes(name) + " did not take the workers of a context: " +
                        (said.empty() ? "no reason given" : said));
  }
  const uint64_t epoch = policies_.new_epoch();
  if (const uint32_t kept = policies_.move_all(rt_, i, epoch))
    rt_.log(kLogError, "scheduler " + in_quotes(name) + " gives back " + std::to_string(kept) +
                           " tasks that it kept when it was drained: drain() must give all");
  i.epoch.store(epoch, std::memory_order_release);
  return taken;
}

Result<void> Contexts::prepare_all(std::vector<Change> &changes) {
  const auto undo = [&] {
    for (Change &c : changes)
      if (c.instance) c.instance->used = false;
  };
  try {
    for (Change &c : changes) {
      std::sort(c.members.begin(), c.members.end());
      auto made = prepare(c.scheduler, c.members);
      if (!made) {
        undo();
        return made.error();
      }
      c.instance = *made;
    }
  } catch (...) {
    undo();
    throw;
  }
  return {};
}

// Makes the prepared instances current. Cannot fail.
void Contexts::commit(std::vector<Change> &changes) noexcept {
  for (Change &c : changes) {
    Instance *const made = c.instance;
    c.instance = c.of->now.exchange(made, std::memory_order_acq_rel);  // now the old instance
    uint64_t classes = 0;
    for (const uint32_t w : c.members) {
      router_.serve(w, *c.of);
      classes |= uint64_t{1} << rt_.workers[w]->klass;
    }
    c.of->classes.store(classes, std::memory_order_relaxed);
  }
  rt_.models->policy_changed();
  router_.look_for_hooks();
  rt_.choose_paths();
  Policy::wake_all(rt_);
  for (Change &c : changes)
    if (c.instance) close(*c.instance);
}

// Moves waiting tasks to the current instances of their contexts. The instance is then free for reuse, unless a call
// inside it does not return.
void Contexts::close(Instance &old) noexcept {
  Task *batch[kTaken];
  old.epoch.store(0, std::memory_order_release);  // closed: a push that still finds this instance is refused and looks again
  while (const uint32_t n =
             old.ops->drain(old.s, CONSORT_NEVER, reinterpret_cast<consort_task **>(batch), kTaken)) {
    const Instance &to = router_.instance_of(*batch[0]);
    if (to.ops->adopt) to.ops->adopt(to.s, reinterpret_cast<consort_task **>(batch), n);
    policy_.push(rt_, CONSORT_NONE, batch, n, CONSORT_PUSH_RETRIED);
  }
  const uint64_t deadline = time_to_leave(rt_);
  if (old.ops->quiesce(old.s, deadline) >= 0) old.used = false;
  else
    rt_.log(kLogWarn, "scheduler '" + old.name +
                          "' has a call inside that does not return: it is kept, and not used again");
}

// -- control ------------------------------------------------------------------------------------------------------

std::vector<uint32_t> Contexts::members(const Context &c) const {
  std::vector<uint32_t> all;
  for (uint32_t w = 0; w < rt_.workers.size(); ++w)
    if (router_.serving(w) == &c) all.push_back(w);
  return all;
}

std::string Contexts::words(const Context &c) const {
  return c.index ? "context " + in_quotes(c.name) : "the runtime's own context";
}

Result<void> Contexts::check(const uint32_t *workers, uint32_t n, const Context &from) const {
  if (n && !workers) return error(CONSORT_E_INVAL, "workers is NULL, but their number is not 0");
  std::vector<bool> seen(rt_.workers.size());
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t w = workers[i];
    if (w >= seen.size())
      return error(CONSORT_E_INVAL, "worker " + std::to_string(w) + " does not exist: there are " +
                                        std::to_string(seen.size()) + ", numbered from 0");
    const std::string label = "worker " + std::to_string(w) + " (" + rt_.workers[w]->unit.name + ")";
    if (seen[w]) return error(CONSORT_E_INVAL, label + " is named twice: once will do");
    seen[w] = true;
    if (router_.serving(w) != &from)
      return error(CONSORT_E_INVAL, label + " is in " + words(*router_.serving(w)) + ", not in " + words(from) +
                                        ": consort_context_move() takes workers from any context to any other");
  }
  return {};
}

// Moves workers from one context to the other. The caller has checked them.
Result<void> Contexts::shift(Context &from, Context &to, const uint32_t *workers, uint32_t n) {
  if (!n || &from == &to) return {};
  std::vector<Change> changes = {{&from, from.now.load(std::memory_order_relaxed)->name, {}},
                                 {&to, to.now.load(std::memory_order_relaxed)->name, members(to)}};
  for (const uint32_t w : members(from))
    (std::find(workers, workers + n, w) == workers + n ? changes[0] : changes[1]).members.push_back(w);
  if (auto ready = prepare_all(changes); !ready) return ready;
  commit(changes);
  warn_if_without_workers(from);
  return {};
}

void Contexts::warn_if_without_workers(Context &c) noexcept try {
  const uint64_t left = c.left.load(std::memory_order_relaxed);
  if (!c.index || left <= 1 || !members(c).empty() || std::exchange(c.told, true)) return;
  rt_.log(kLogWarn, words(c) + " has no worker any more, and " + std::to_string(left - 1) +
                        " unfinished tasks: they wait until it has one (consort_context_add()) or is destroyed");
} catch (const std::bad_alloc &) {
}

// Returns a free slot. It stays marked free until create() uses it.
Result<Context *> Contexts::slot() {
  for (auto &c : slots_)
    if (c->over.load(std::memory_order_acquire)) return c.get();  // pairs with leave()
  if (slots_.size() == ContextRouter::kMost)
    return error(CONSORT_E_NOMEM,
                 std::to_string(ContextRouter::kMost) +
                     " contexts are alive, or gone with tasks left: destroy some, and wait for their tasks");
  slots_.push_back(std::make_unique<Context>(static_cast<uint32_t>(slots_.size() + 1)));
  Context &c = *slots_.back();
  c.over.store(true, std::memory_order_relaxed);
  router_.add(c);
  return &c;
}

Result<uint64_t> Contexts::create(ThreadState &thread, const Wanted &w) {
  if (auto may = policies_.may_change(thread); !may) return may.error();
  const PolicySet::Change change(policies_, thread);
  auto parent = find(w.parent);
  if (!parent) return parent.error();
  if (auto good = check(w.workers, w.nworkers, **parent); !good) return good.error();
  auto made = slot();
  if (!made) return made.error();
  Context &c = **made, &p = **parent;
  if (!policy_.splits()) {
    Instance &plain = *policy_.now_.load(std::memory_order_relaxed);
    plain.used = true;
    router_.root().now.store(&plain, std::memory_order_relaxed);
  }
  std::string name = w.name && *w.name ? w.name : "context " + std::to_string(++given_);
  const std::string &of_parent = p.now.load(std::memory_order_relaxed)->name;
  std::vector<Change> changes = {{&c, w.scheduler && *w.scheduler ? w.scheduler : of_parent, {}}};
  changes[0].members.assign(w.workers, w.workers + w.nworkers);
  if (w.nworkers) {
    changes.push_back({&p, of_parent, {}});
    for (const uint32_t m : members(p))
      if (std::find(w.workers, w.workers + w.nworkers, m) == w.workers + w.nworkers) changes[1].members.push_back(m);
  }
  if (auto ready = prepare_all(changes); !ready) return ready.error();
  split();
  c.now.store(nullptr, std::memory_order_relaxed);
  c.left.store(1, std::memory_order_relaxed);
  c.over.store(false, std::memory_order_relaxed);
  c.heir.store(nullptr, std::memory_order_relaxed);
  {
    const std::lock_guard table(table_mutex_);
    c.name = std::move(name);
    c.parent = &p;
    c.told = false;
  }
  commit(changes);
  const std::lock_guard table(table_mutex_);
  c.live = true;  // visible from here on, since it has a policy
  return c.id();
}

Result<void> Contexts::destroy(ThreadState &thread, uint64_t id) {
  if (auto may = policies_.may_change(thread); !may) return may.error();
  const PolicySet::Change change(policies_, thread);
  auto found = find(id);
  if (!found) return found.error();
  Context &c = **found;
  if (!c.index) return no_own();
  for (const auto &inside : slots_)
    if (inside->live && inside->parent == &c)
      return error(CONSORT_E_BUSY, words(c) + " has " + words(*inside) + " inside: destroy that first");
  Context &p = *c.parent;
  std::vector<Change> changes;
  if (const std::vector<uint32_t> own = members(c); !own.empty()) {
    changes.push_back({&p, p.now.load(std::memory_order_relaxed)->name, members(p)});
    changes[0].members.insert(changes[0].members.end(), own.begin(), own.end());
    if (auto ready = prepare_all(changes); !ready) return ready;
  }
  commit(changes);
  if (p.index) p.left.fetch_add(1, std::memory_order_relaxed);  // the parent lives, so its count is at least one
  c.heir.store(&p, std::memory_order_release);
  {
    const std::lock_guard table(table_mutex_);
    c.live = false;
    c.generation.fetch_add(1, std::memory_order_release);
  }
  close(*c.now.exchange(&router_.gone(), std::memory_order_acq_rel));
  router_.look_for_hooks();
  rt_.choose_paths();
  router_.leave(&c);
  fence::light(rt_.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
  rt_.waiters.wake();
  return {};
}

Result<void> Contexts::move(ThreadState &thread, uint64_t id, Way way, const uint32_t *workers, uint32_t n) {
  if (auto may = policies_.may_change(thread); !may) return may.error();
  const PolicySet::Change change(policies_, thread);
  auto found = find(id);
  if (!found) return found.error();
  Context &c = **found;
  if (!c.index) return no_own();
  Context &from = way == Way::kFromParent ? *c.parent : c, &to = way == Way::kFromParent ? c : *c.parent;
  if (auto good = check(workers, n, from); !good) return good;
  return shift(from, to, workers, n);
}

Result<void> Contexts::move(ThreadState &thread, uint64_t from, uint64_t to, const uint32_t *workers, uint32_t n) {
  if (auto may = policies_.may_change(thread); !may) return may.error();
  const PolicySet::Change change(policies_, thread);
  auto source = find(from), target = find(to);
  if (!source) return source.error();
  if (!target) return target.error();
  if (auto good = check(workers, n, **source); !good) return good;
  return shift(**source, **target, workers, n);
}

Result<void> Contexts::set_scheduler(ThreadState &thread, uint64_t id, std::string_view name) {
  if (!id) return policies_.swap(rt_, thread, name);
  if (auto may = policies_.may_change(thread); !may) return may.error();
  const PolicySet::Change change(policies_, thread);
  auto found = find(id);
  if (!found) return found.error();
  Context &c = **found;
  if (c.now.load(std::memory_order_relaxed)->name == name) return {};
  std::vector<Change> changes = {{&c, std::string(name), members(c)}};
  if (auto ready = prepare_all(changes); !ready) return ready;
  commit(changes);
  return {};
}

Result<void> Contexts::change_root(std::string_view name) {
  if (router_.root_instance().name == name) return {};
  std::vector<Change> changes = {{&router_.root(), std::string(name), members(router_.root())}};
  if (auto ready = prepare_all(changes); !ready) return ready;
  commit(changes);
  return {};
}

void Contexts::release_cancelled(ThreadState &thread) noexcept try {
  if (!policy_.splits() || !policies_.may_change(thread)) return;
  const PolicySet::Change change(policies_, thread);
  uint64_t all = 0;
  for (const auto &w : rt_.workers) all |= uint64_t{1} << w->klass;
  std::vector<Change> changes;
  const auto look = [&](Context &c) {
    if (c.classes.load(std::memory_order_relaxed) != all)
      changes.push_back({&c, c.now.load(std::memory_order_relaxed)->name, members(c)});
  };
  look(router_.root());
  for (const auto &c : slots_)
    if (c->live) look(*c);
  if (prepare_all(changes)) commit(changes);
} catch (const std::bad_alloc &) {  // out of memory: the tasks wait until a worker joins or the context is destroyed
}

void Contexts::destroy_all(ThreadState &thread) noexcept try {
  for (bool any = policy_.splits(); any;) {
    any = false;
    for (const uint64_t id : list())
      any |= static_cast<bool>(destroy(thread, id));  // contexts with others inside: in the next round
  }
} catch (const std::exception &) {  // out of memory: try again
}

// -- looking ------------------------------------------------------------------------------------------------------

Result<Context *> Contexts::find(uint64_t id) noexcept try {
  if (!id) return &router_.root();
  const auto index = static_cast<uint32_t>(id);
  if (!index || index > router_.size()) return stale();
  Context *c = router_.at(index);
  const std::lock_guard lock(table_mutex_);
  if (!c->live || c->id() != id) return stale();
  return c;
} catch (const std::bad_alloc &) {
  return Error{CONSORT_E_NOMEM, {}};
}

Result<Contexts::Info> Contexts::info(uint64_t id) {
  auto found = find(id);
  if (!found) return found.error();
  const Context &c = **found;
  const auto n = static_cast<uint32_t>(members(c).size());
  const std::lock_guard lock(table_mutex_);
  if (c.index && (!c.live || c.id() != id)) return stale();
  if (c.index)
    return Info{c.name.c_str(), c.now.load(std::memory_order_acquire)->name.c_str(), c.parent->id(),
                c.left.load(std::memory_order_acquire) - 1, n};
  uint64_t of_others = 0;
  for (uint32_t k = 1; k <= router_.size(); ++k)
    if (const uint64_t left = router_.at(k)->left.load(std::memory_order_acquire); left > 1) of_others += left - 1;
  const uint64_t finished = rt_.finished(), all = rt_.submitted() - finished;
  return Info{"", policy_.current_name().c_str(), 0, all > of_others ? all - of_others : 0, n};
}

Result<std::vector<uint32_t>> Contexts::workers(uint64_t id) {
  auto found = find(id);
  if (!found) return found.error();
  return members(**found);
}

std::vector<uint64_t> Contexts::list() {
  std::vector<uint64_t> ids;
  const std::lock_guard lock(table_mutex_);
  for (uint32_t k = 1; k <= router_.size(); ++k)
    if (router_.at(k)->live) ids.push_back(router_.at(k)->id());
  return ids;
}

std::string Contexts::describe() {
  std::string s;
  for (const uint64_t id : list()) {
    auto found = find(id);
    if (!found) continue;
    const Context &c = **found;
    const std::vector<uint32_t> all = members(c);
    const std::lock_guard lock(table_mutex_);
    if (!c.live) continue;
    s += "\n" + words(c) + " in " + words(*c.parent) + ": scheduler " + c.now.load(std::memory_order_acquire)->name +
         ", " + std::to_string(c.left.load(std::memory_order_relaxed) - 1) + " unfinished tasks, " +
         (all.empty() ? "no worker" : "workers");
    for (const uint32_t w : all) s += (w == all.front() ? " " : ", ") + rt_.workers[w]->unit.name;
  }
  return s;
}

// The record may have been reused meanwhile; the result is discarded then.
std::string Contexts::describe(TaskName name) {
  if (!policy_.splits()) return {};
  const Task &t = *rt_.task_at(name);
  const Extra *e = t.replayed() ? nullptr : t.extra;
  const uint32_t index = e ? e->context : 0;
  const uint64_t where = t.pub.where;
  const bool choice = !(t.bits & (kSpecial | kBound));
  std::atomic_thread_fence(std::memory_order_acquire);  // acquire: reads above come before the check of the task's word
  if (!rt_.is_live(name) || t.replayed() || index > router_.size()) return {};
  const Context *c = index ? router_.at(index) : &router_.root();
  while (const Context *heir = c->heir.load(std::memory_order_acquire)) c = heir;
  const std::vector<uint32_t> all = members(*c);
  const bool able = std::any_of(all.begin(), all.end(), [&](uint32_t w) { return where >> rt_.workers[w]->klass & 1; });
  std::string s;
  {
    const std::lock_guard lock(table_mutex_);
    s = "; it belongs to " + words(*c) + " (scheduler " + c->now.load(std::memory_order_acquire)->name + ")";
  }
  if (!able && choice)
    s += ", none of whose " + std::to_string(all.size()) +
         " workers can run it: it waits until one comes that can (consort_context_add(), consort_context_move())" +
         (c->index ? ", or the context is destroyed" : "");
  return s;
}

}  // namespace consort
