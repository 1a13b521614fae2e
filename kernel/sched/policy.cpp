#include "sched/policy.hpp"

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

consort_task *const *pubs(Task *const *tasks) noexcept {
  static_assert(offsetof(Task, pub) == 0);
  return reinterpret_cast<consort_task *const *>(tasks);
}

}  // namespace

uint64_t time_to_leave(const Scheduling &rt) noexcept {
  return rt.clock.stepped() ? CONSORT_NEVER : rt.clock.now() + 1'000'000'000;
}

Policy::Policy() = default;
Policy::~Policy() = default;

// -- life -------------------------------------------------------------------------------------------------------

namespace {

// Lets submitters run further ahead than by default: a policy that decides by tasks that are not ready yet sees only what is
// submitted. A window that is given stays.
void look_ahead(Scheduling &rt) {
  constexpr uint32_t kAhead = 32'768;  // 16 times the default
  if (rt.window && rt.window < kAhead && rt.config->origin("window") == "default") rt.window = kAhead;
}

}  // namespace

Result<Policy::Instance *> Policy::make(Scheduling &rt, Plugin &plugin, uint64_t epoch) {
  instances_.reserve(instances_.size() + 1);
  auto made = std::make_unique<Instance>();
  Instance &i = *made;
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

Result<void> Policy::open(Scheduling &rt, Plugin &plugin) {
  const std::lock_guard lock(swap_mutex_);
  contexts_ = std::make_unique<Contexts>(rt, *this);
  auto made = make(rt, plugin, ++epochs_);
  if (!made) return made.error();
  make_current(rt, **made);
  if ((*made)->ops->direct) {
    set_director(rt, *made);
    if (auto done = direct(rt); !done) {
      if (done.error().status == CONSORT_E_INVAL) return done.error();  // the user's settings
      log_no_change(rt, done.error());
    }
  }
  return {};
}

void Policy::close() noexcept {
  director_now_.store(nullptr, std::memory_order_release);  // pairs with name()
  now_.store(nullptr, std::memory_order_relaxed);
  for (auto it = instances_.rbegin(); it != instances_.rend(); ++it) (*it)->ops->destroy((*it)->s);
  instances_.clear();
}

// -- the swap -----------------------------------------------------------------------------------------------------

Result<void> Policy::may_change(const ThreadState &thread) const {
  if (thread.asking)
    return error(CONSORT_E_BUSY,
                 "a codelet's can_execute() must not change the scheduler: it may be the scheduler that asks");
  if (swapper_.load(std::memory_order_relaxed) == &thread)
    return error(CONSORT_E_BUSY,
                 "this thread is changing the scheduler already: a plugin that starts must not ask for another one");
  return {};
}

Result<void> Policy::swap(Scheduling &rt, ThreadState &thread, std::string_view name) {
  if (auto may = may_change(thread); !may) return may.error();
  const std::lock_guard lock(swap_mutex_);
  const Mark mark(swapper_, thread);
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

Policy::Instance *Policy::find(std::string_view name) noexcept {
  for (auto &i : instances_)
    if (i->name == name) return i.get();
  return nullptr;
}

Result<Policy::Instance *> Policy::find_or_make(Scheduling &rt, std::string_view name, uint64_t epoch) {
  if (Instance *i = find(name)) return i;
  auto plugin = rt.registry->load(CONSORT_KIND_SCHEDULER, name);
  if (!plugin) return plugin.error();
  if (!((*plugin)->manifest->flags & CONSORT_PF_SWAPPABLE))
    return error(CONSORT_E_UNSUPPORTED,
                 "scheduler '" + std::string(name) +
                     "' cannot take over while tasks run: name it at the start (setting `scheduler`)");
  return make(rt, **plugin, epoch);
}

// Makes another instance current and moves the tasks that wait in the old one. Precondition: the mutex is held.
Result<void> Policy::go_over(Scheduling &rt, std::string_view name) {
  if (splits()) return contexts_->change_root(name);
  Instance &old = *now_.load(std::memory_order_relaxed);
  if (old.name == name) return {};
  const uint64_t epoch = ++epochs_;
  auto found = find_or_make(rt, name, epoch);
  if (!found) return found.error();
  Instance *const heir = *found;
  if (heir->epoch.load(std::memory_order_relaxed) != epoch) {
    // Closed by an earlier drain, or never current. Open it for callers with the new epoch.
    const uint32_t kept = move_all(rt, *heir, epoch);
    if (kept)
      rt.log(kLogError, "scheduler '" + heir->name + "' gives back " + std::to_string(kept) +
                            " tasks that it kept when it was drained: drain() must give all");
    heir->epoch.store(epoch, std::memory_order_relaxed);
  }
  make_current(rt, *heir);
  move_all(rt, old, CONSORT_NEVER);
  const uint64_t deadline = time_to_leave(rt);
  if (old.ops->quiesce(old.s, deadline) < 0)
    rt.log(kLogWarn, "scheduler '" + old.name + "' has a call inside that does not return; it is kept, '" +
                         heir->name + "' goes on");
  return {};
}

// -- directors ----------------------------------------------------------------------------------------------------

void Policy::set_director(Scheduling &rt, Instance *i) noexcept {
  director_now_.store(i, std::memory_order_release);  // pairs with name()
  if (i) return;
  reviews_.store(false, std::memory_order_relaxed);
  rt.models->set_directed(false);
  const std::lock_guard lock(reason_mutex_);
  reason_.clear();
}

std::string Policy::reason() const {
  const std::lock_guard lock(reason_mutex_);
  return reason_;
}

// What the director says of its choice: the reason, and when to ask again.
void Policy::ask_again(Scheduling &rt, const Instance &d) {
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
Result<void> Policy::direct(Scheduling &rt) {
  Instance &d = *director_now_.load(std::memory_order_relaxed);
  const Models::Questions questions = rt.models->questions();
  const consort_overview o = {sizeof o, 0, current_name().c_str(), rt.submitted(), rt.finished(),
                              questions.asked, questions.unknown, rt.codelets.classes()};
  const char *name = d.ops->direct(d.s, &o);
  const std::string wanted = name ? name : current_name(), before = current_name();
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

void Policy::log_no_change(Scheduling &rt, const Error &why) {
  if (!std::exchange(told_director_, true)) rt.log(kLogWarn, why.text + "; '" + current_name() + "' goes on");
}

void Policy::ask_director(Scheduling &rt, ThreadState &thread) noexcept try {
  if (rt.clock.now() < review_at_.load(std::memory_order_relaxed)) return;
  if (thread.asking || swapper_.load(std::memory_order_relaxed) == &thread) return;
  const std::unique_lock lock(swap_mutex_, std::try_to_lock);
  if (!lock || !director_now_.load(std::memory_order_relaxed)) return;
  const Mark mark(swapper_, thread);
  if (auto done = direct(rt); !done) log_no_change(rt, done.error());
} catch (const std::bad_alloc &) {  // out of memory: keep the policy
}

void Policy::review_now(Scheduling &rt) noexcept try {
  if (!director_now_.load(std::memory_order_relaxed)) return;
  ThreadState *const thread = rt.this_thread();
  if (!thread || thread->asking || swapper_.load(std::memory_order_relaxed) == thread) return;
  const std::lock_guard lock(swap_mutex_);
  if (!director_now_.load(std::memory_order_relaxed)) return;
  const Mark mark(swapper_, *thread);
  if (auto done = direct(rt); !done) log_no_change(rt, done.error());
} catch (const std::bad_alloc &) {  // out of memory: keep the policy
}

void Policy::make_current(Scheduling &rt, Instance &i) noexcept {
  now_.store(&i, std::memory_order_release);  // pairs with current()
  rt.models->policy_changed();
  rt.choose_paths();
  wake_all(rt);
}

// A push may have entered an instance that was open but not yet current. Its woken workers found nothing, so wake all.
void Policy::wake_all(Scheduling &rt) noexcept {
  uint64_t bits[Core::kMaxWorkers / 64];
  for (uint32_t w = 0; w < rt.sleeper_words; ++w) bits[w] = ~uint64_t{0};
  fence::light(rt.asymmetric);  // pairs with the heavy fence of Executor::show_asleep()
  rt.wake({rt.sleeper_words, Core::kMaxWorkers, bits});
}

// Sets the epoch of `from` and pushes its waiting tasks to the current instance. Returns their number.
uint32_t Policy::move_all(Scheduling &rt, Instance &from, uint64_t epoch) noexcept {
  Task *batch[kBatch];
  uint32_t all = 0;
  const Instance &to = current();
  while (const uint32_t n = from.ops->drain(from.s, epoch, reinterpret_cast<consort_task **>(batch), kBatch)) {
    if (to.ops->adopt) to.ops->adopt(to.s, pubs(batch), n);
    push(rt, CONSORT_NONE, batch, n, CONSORT_PUSH_RETRIED);
    all += n;
  }
  return all;
}

// -- contexts -----------------------------------------------------------------------------------------------------

const Policy::Instance &Policy::of_root() const noexcept {
  const Instance &i = current();
  return i.splits ? contexts_->root_instance() : i;
}

bool Policy::may_bypass_inside(uint32_t worker, const Task &t) const noexcept {
  return contexts_->may_bypass(worker, t);
}

bool Policy::may_follow_inside(uint32_t worker, const Task &t, bool no_choice) const noexcept {
  return contexts_->may_follow(worker, t, no_choice);
}

bool Policy::observes_inside() const noexcept { return contexts_->observes(); }
bool Policy::holds_back_inside() const noexcept { return contexts_->holds_back(); }

// The hook names no workers to wake. All sleeping workers are woken if a task was submitted or has ended since the last
// flush, else at every kWakeAnyway-th flush, because a task may have become ready otherwise. If each flush woke them, a
// thread that checks whether all workers rest would never see it. The count is read before the hook: a later push
// counts for the next flush.
void Policy::release_held(Scheduling &rt) noexcept {
  constexpr uint32_t kWakeAnyway = 16;
  const uint64_t moved = rt.submitted() + rt.finished();
  const Instance &i = current();
  if (i.ops->flush) i.ops->flush(i.s);
  const bool anyway = flushes_.fetch_add(1, std::memory_order_relaxed) % kWakeAnyway == kWakeAnyway - 1;
  if (flushed_at_.exchange(moved, std::memory_order_relaxed) != moved || anyway) wake_all(rt);
}

// -- push ---------------------------------------------------------------------------------------------------------

void Policy::push(Scheduling &rt, uint32_t from, Task *const *ready, uint32_t n, uint32_t flags) noexcept {
  uint64_t bits[Core::kMaxWorkers / 64];
  const uint32_t nwords = rt.sleeper_words;
  for (uint32_t i = 0; i < nwords; ++i) bits[i] = 0;
  consort_wake wake{nwords, 0, bits};
  consort_push p{CONSORT_NEVER, from, flags, pubs(ready), n, 0, &wake};
  // "Any k of these" is valid only if all workers can run all tasks. Compared before the push: afterwards the tasks may
  // have ended.
  const bool unlike = n > 1 && rt.topology->classes().size() > 1 &&
                      std::any_of(ready + 1, ready + n, [&](auto *t) { return t->pub.where != ready[0]->pub.where; });
  for (const Instance *before = nullptr;;) {
    const Instance &i = current();
    const uint64_t epoch = i.epoch.load(std::memory_order_relaxed);
    if (&i == before && p.epoch == epoch) [[unlikely]] return place_by_force(rt, i.name, ready, n);
    before = &i;
    p.epoch = epoch;
    if (i.push(i.s, &p)) [[likely]] break;  // 0: closed meanwhile; its heir was made current before
  }
  if (!wake.k) return;
  if (unlike) wake.k = Core::kMaxWorkers;
  fence::light(rt.asymmetric);  // pairs with the heavy fence of Executor::show_asleep()
  for (uint32_t i = 0; i < nwords; ++i)
    if (rt.sleepers[i].load(std::memory_order_relaxed) & bits[i]) [[unlikely]] return rt.wake(wake);
}

// An open policy that accepts nothing violates its contract. Its tasks run nevertheless.
void Policy::place_by_force(Scheduling &rt, const std::string &name, Task *const *ready, uint32_t n) noexcept {
  if (!told_refusal_.exchange(true, std::memory_order_relaxed))
    rt.log(kLogError, "scheduler '" + name + "' refuses tasks of its own epoch: they go to workers that can run them");
  for (uint32_t k = 0; k < n; ++k) post_to_able(rt, ready[k]);
}

void Policy::post_to_able(Scheduling &rt, Task *t) noexcept {
  const auto nworkers = static_cast<uint32_t>(rt.workers.size());
  const auto first = static_cast<uint32_t>(t->pub.id >> 32) + static_cast<uint32_t>(t->pub.id);
  for (uint32_t k = 0; k < nworkers; ++k)
    if (Worker &w = *rt.workers[(first + k) % nworkers]; t->pub.where >> w.klass & 1) return w.post(t);
}

// -- hooks --------------------------------------------------------------------------------------------------------

void Policy::submitted(const Task *t) noexcept {
  const Instance &i = current();
  const consort_task *pub = &t->pub;
  if (i.ops->submitted) i.ops->submitted(i.s, &pub, 1);
}

uint32_t Policy::victim(uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n, uint32_t *order,
                        const std::string **policy_name) noexcept {
  const Instance &i = current();
  *policy_name = &i.name;
  return i.ops->victim ? i.ops->victim(i.s, space, bytes, replicas, n, order) : 0;
}

Task *Policy::take_back(Scheduling &rt, Task *t, TaskName name) noexcept {
  const Instance &i = current();
  if (!i.ops->dropped) return nullptr;
  consort_task *one = &t->pub, *held = nullptr;
  if (i.ops->dropped(i.s, &one, 1, &held) == 0) return nullptr;
  Task *got = reinterpret_cast<Task *>(held);
  if (got->pub.id == name) return got;
  push(rt, CONSORT_NONE, &got, 1, CONSORT_PUSH_RETRIED);  // reused meanwhile: the record belongs to another task
  return nullptr;
}

ReportedInstance Policy::tell_started(const Worker &w, const Task *t) noexcept {
  const Instance &i = current();
  if (i.splits) return contexts_->tell_started(w, t);
  const consort_task *pub = &t->pub;
  if (i.ops->started) i.ops->started(i.s, w.id, &pub, 1);
  return {&i, i.epoch.load(std::memory_order_relaxed)};
}

void Policy::tell_finished(const ReportedInstance &seen, const Worker &w, const consort_done &done) noexcept {
  const Instance &i = current();
  if (i.splits) return contexts_->tell_finished(seen, w, done);
  // A different instance, or a later epoch of this one, was not told of the start.
  if (&i != seen.instance || i.epoch.load(std::memory_order_relaxed) != seen.epoch) return;
  if (i.ops->finished) i.ops->finished(i.s, w.id, &done, 1);
}

}  // namespace consort
