#include "sched/policy_set.hpp"

#include <algorithm>
#include <utility>

#include "base/last_error.hpp"
#include "model/models.hpp"
#include "plugin/registry.hpp"
#include "plugin/status.hpp"
#include "sched/context.hpp"
#include "sched/scheduling.hpp"

namespace consort {
namespace {

constexpr uint32_t kBatch = 64;                  // tasks moved at a time

constexpr uint64_t kReview = 5'000'000;          // ns between two questions to a director

// Lets submitters run further ahead than by default: a policy that decides by tasks that are not ready yet sees only what is
// submitted. A window that is given stays.
void look_ahead(Scheduling &rt) {
  constexpr uint32_t kAhead = 32'768;  // 16 times the default
  if (rt.window && rt.window < kAhead && rt.config->origin("window") == "default") rt.window = kAhead;
}

}  // namespace

// -- life -------------------------------------------------------------------------------------------------------

Result<PolicyInstance *> PolicySet::make(Scheduling &rt, Plugin &plugin, uint64_t epoch) {
  instances_.reserve(instances_.size() + 1);
  auto made = std::make_unique<PolicyInstance>();
  PolicyInstance &i = *made;
  i.ops = plugin.scheduler();
  i.name = plugin.manifest->name;
  i.push = i.ops->push;
  i.pop = i.ops->pop;
  if (i.ops->flags & CONSORT_SF_AHEAD) look_ahead(rt);
  i.bypass = rt.bypass > 0 && !(i.ops->flags & CONSORT_SF_NO_BYPASS);
  i.epoch.store(epoch, std::memory_order_relaxed);
  const consort_topology *topology = rt.topology->snapshot();
  std::vector<uint32_t> all(topology->nworkers);
  for (uint32_t w = 0; w < topology->nworkers; ++w) all[w] = w;
  i.urgency.resize(topology->nworkers);
  clear_error();
  consort_status s = plugin_status(i.ops->create(plugin.self, plugin.host, topology, epoch, &i.s), i.name.c_str(), "create()");
  if (s >= 0) {
    s = plugin_status(i.ops->workers(i.s, topology, all.data(), topology->nworkers, nullptr, 0), i.name.c_str(),
                      "workers()");
    if (s < 0) {
      const LastError kept;
      i.ops->destroy(i.s);
      kept.restore(s);
    }
  }
  if (s < 0) {
    const std::string said = error_text();
    return error(s, Host::of(plugin.host).place_of(s, said) + "scheduler '" + i.name +
                        "' did not start: " + (said.empty() ? "no reason given" : said));
  }
  for (uint32_t w = 0; w < topology->nworkers; ++w) i.urgency[w] = i.ops->urgency ? i.ops->urgency(i.s, w) : nullptr;
  instances_.push_back(std::move(made));
  return &i;
}

Result<void> PolicySet::open(Scheduling &rt, Plugin &plugin) {
  const std::lock_guard lock(mutex_);
  policy_.contexts_ = std::make_unique<Contexts>(rt, policy_, *this);
  auto made = make(rt, plugin, ++epochs_);
  if (!made) return made.error();
  policy_.make_current(rt, **made);
  if ((*made)->ops->direct) {
    set_director(rt, *made);
    if (auto done = direct(rt); !done) {
      if (done.error().status == CONSORT_E_INVAL) return done.error();  // the user's settings
      log_no_change(rt, done.error());
    }
  }
  return {};
}

void PolicySet::close() noexcept {
  director_now_.store(nullptr, std::memory_order_release);  // pairs with name()
  policy_.now_.store(nullptr, std::memory_order_relaxed);
  for (auto it = instances_.rbegin(); it != instances_.rend(); ++it) (*it)->ops->destroy((*it)->s);
  instances_.clear();
}

// -- the swap -----------------------------------------------------------------------------------------------------

Result<void> PolicySet::may_change(const ThreadState &thread) const {
  if (thread.asking)
    return error(CONSORT_E_BUSY,
                 "a codelet's can_execute() must not change the scheduler: it may be the scheduler that asks");
  if (swapper_.load(std::memory_order_relaxed) == &thread)
    return error(CONSORT_E_BUSY,
                 "this thread is changing the scheduler already: a plugin that starts must not ask for another one");
  return {};
}

Result<void> PolicySet::swap(Scheduling &rt, ThreadState &thread, std::string_view name) {
  if (auto may = may_change(thread); !may) return may.error();
  const Change change(*this, thread);
  if (this->name() == name) return {};
  auto wanted = find_or_make(rt, name, ++epochs_);
  if (!wanted) return wanted.error();
  if ((*wanted)->ops->direct) {
    set_director(rt, *wanted);
    if (auto done = direct(rt); !done) log_no_change(rt, done.error());
    return {};
  }
  set_director(rt, nullptr);
  return go_over(rt, name);
}

PolicyInstance *PolicySet::find(std::string_view name) noexcept {
  for (auto &i : instances_)
    if (i->name == name) return i.get();
  return nullptr;
}

Result<PolicyInstance *> PolicySet::find_or_make(Scheduling &rt, std::string_view name, uint64_t epoch) {
  if (PolicyInstance *i = find(name)) return i;
  auto plugin = rt.registry->load(CONSORT_KIND_SCHEDULER, name);
  if (!plugin) return plugin.error();
  if (!((*plugin)->manifest->flags & CONSORT_PF_SWAPPABLE))
    return error(CONSORT_E_UNSUPPORTED,
                 "scheduler '" + std::string(name) +
                     "' cannot take over while tasks run: name it at the start (setting `scheduler`)");
  return make(rt, **plugin, epoch);
}

// Makes another instance current and moves the tasks that wait in the old one. Precondition: the mutex is held.
Result<void> PolicySet::go_over(Scheduling &rt, std::string_view name) {
  if (policy_.splits()) return policy_.contexts_->change_root(name);
  PolicyInstance &old = *policy_.now_.load(std::memory_order_relaxed);
  if (old.name == name) return {};
  const uint64_t epoch = ++epochs_;
  auto found = find_or_make(rt, name, epoch);
  if (!found) return found.error();
  PolicyInstance *const heir = *found;
  if (heir->epoch.load(std::memory_order_relaxed) != epoch) {
    // Closed by an earlier drain, or never current. Open it for callers with the new epoch.
    const uint32_t kept = move_all(rt, *heir, epoch);
    if (kept)
      rt.log(kLogError, "scheduler '" + heir->name + "' gives back " + std::to_string(kept) +
                            " tasks that it kept when it was drained: drain() must give all");
    heir->epoch.store(epoch, std::memory_order_relaxed);
  }
  policy_.make_current(rt, *heir);
  move_all(rt, old, CONSORT_NEVER);
  const uint64_t deadline = time_to_leave(rt);
  if (old.ops->quiesce(old.s, deadline) < 0)
    rt.log(kLogWarn, "scheduler '" + old.name + "' has a call inside that does not return; it is kept, '" +
                         heir->name + "' goes on");
  return {};
}

// -- directors ----------------------------------------------------------------------------------------------------

void PolicySet::set_director(Scheduling &rt, PolicyInstance *i) noexcept {
  director_now_.store(i, std::memory_order_release);  // pairs with name()
  if (i) return;
  reviews_.store(false, std::memory_order_relaxed);
  rt.models->set_directed(false);
  const std::lock_guard lock(reason_mutex_);
  reason_.clear();
}

std::string PolicySet::reason() const {
  const std::lock_guard lock(reason_mutex_);
  return reason_;
}

// What the director says of its choice: the reason, and when to ask again.
void PolicySet::ask_again(Scheduling &rt, const PolicyInstance &d) {
  consort_direction said = {sizeof said, 0, nullptr, kReview};
  if (CONSORT_HAS_FN(d.ops, consort_scheduler_ops, directed)) d.ops->directed(d.s, &said);
  const bool again = said.again_ns != CONSORT_NEVER;
  if (again) review_at_.store(rt.clock.now() + said.again_ns, std::memory_order_relaxed);
  reviews_.store(again, std::memory_order_relaxed);
  rt.models->set_directed(again);
  std::string reason = said.reason ? said.reason : "";
  const std::lock_guard lock(reason_mutex_);
  reason_ = std::move(reason);
}

// Precondition: the mutex is held. An error: the policy that it names does not come.
Result<void> PolicySet::direct(Scheduling &rt) {
  PolicyInstance &d = *director_now_.load(std::memory_order_relaxed);
  const Models::Questions questions = rt.models->questions();
  const consort_overview o = {sizeof o, 0, policy_.current_name().c_str(), rt.submitted(), rt.finished(),
                              questions.asked, questions.unknown, rt.codelets.classes()};
  const char *name = d.ops->direct(d.s, &o);
  const std::string wanted = name ? name : policy_.current_name(), before = policy_.current_name();
  ask_again(rt, d);
  if (before == wanted) return {};
  if (auto gone = go_over(rt, wanted); !gone)
    return error(gone.error().status, "scheduler '" + d.name + "' names '" + wanted + "', which does not come: " +
                                          gone.error().text);
  const std::string why = reason();
  rt.log(kLogInfo, "scheduler '" + d.name + "' " +
                       (before == d.name ? "selects '" : "goes over from '" + before + "' to '") + wanted + "'" +
                       (why.empty() ? "" : ": " + why));
  return {};
}

void PolicySet::log_no_change(Scheduling &rt, const Error &why) {
  if (!std::exchange(told_director_, true)) rt.log(kLogWarn, why.text + "; '" + policy_.current_name() + "' goes on");
}

void PolicySet::ask_director(Scheduling &rt, ThreadState &thread) noexcept try {
  if (rt.clock.now() < review_at_.load(std::memory_order_relaxed)) return;
  if (thread.asking || swapper_.load(std::memory_order_relaxed) == &thread) return;
  if (!mutex_.try_lock()) return;
  const Change change(*this, thread, std::adopt_lock);
  if (!director_now_.load(std::memory_order_relaxed)) return;
  if (auto done = direct(rt); !done) log_no_change(rt, done.error());
} catch (const std::bad_alloc &) {  // out of memory: keep the policy
}

void PolicySet::review_now(Scheduling &rt) noexcept try {
  if (!director_now_.load(std::memory_order_relaxed)) return;
  ThreadState *const thread = rt.this_thread();
  if (!thread || thread->asking || swapper_.load(std::memory_order_relaxed) == thread) return;
  const Change change(*this, *thread);
  if (!director_now_.load(std::memory_order_relaxed)) return;
  if (auto done = direct(rt); !done) log_no_change(rt, done.error());
} catch (const std::bad_alloc &) {  // out of memory: keep the policy
}

uint32_t PolicySet::move_all(Scheduling &rt, PolicyInstance &from, uint64_t epoch) noexcept {
  consort_task *batch[kBatch];
  uint32_t all = 0;
  const PolicyInstance &to = policy_.current();
  while (const uint32_t n = from.ops->drain(from.s, epoch, batch, kBatch)) {
    if (to.ops->adopt) to.ops->adopt(to.s, batch, n);
    policy_.push(rt, CONSORT_NONE, reinterpret_cast<Task *const *>(batch), n, CONSORT_PUSH_RETRIED);
    all += n;
  }
  return all;
}

PolicyInstance *PolicySet::find_unused(std::string_view name) noexcept {
  for (auto &i : instances_)
    if (!i->used && i->name == name) return i.get();
  return nullptr;
}

}  // namespace consort
