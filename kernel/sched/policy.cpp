#include "sched/policy.hpp"

#include <algorithm>

#include "model/models.hpp"
#include "sched/context.hpp"
#include "sched/scheduling.hpp"

namespace consort {
namespace {

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

// -- the current instance -------------------------------------------------------------------------------------------

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

// -- contexts -----------------------------------------------------------------------------------------------------

const Policy::Instance &Policy::of_root() const noexcept {
  const Instance &i = current();
  return i.splits ? contexts_->router().root_instance() : i;
}

bool Policy::may_bypass_inside(uint32_t worker, const Task &t) const noexcept {
  return contexts_->router().may_bypass(worker, t);
}

bool Policy::may_follow_inside(uint32_t worker, const Task &t, bool no_choice) const noexcept {
  return contexts_->router().may_follow(worker, t, no_choice);
}

bool Policy::observes_inside() const noexcept { return contexts_->router().observes(); }
bool Policy::holds_back_inside() const noexcept { return contexts_->router().holds_back(); }

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
  if (i.splits) return contexts_->router().tell_started(w, t);
  const consort_task *pub = &t->pub;
  if (i.ops->started) i.ops->started(i.s, w.id, &pub, 1);
  return {&i, i.epoch.load(std::memory_order_relaxed)};
}

void Policy::tell_finished(const ReportedInstance &seen, const Worker &w, const consort_done &done) noexcept {
  const Instance &i = current();
  if (i.splits) return contexts_->router().tell_finished(seen, w, done);
  // A different instance, or a later epoch of this one, was not told of the start.
  if (&i != seen.instance || i.epoch.load(std::memory_order_relaxed) != seen.epoch) return;
  if (i.ops->finished) i.ops->finished(i.s, w.id, &done, 1);
}

}  // namespace consort
