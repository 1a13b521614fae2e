#include "sched/context_router.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "sched/scheduling.hpp"
#include "task/worker.hpp"

namespace consort {

const consort_scheduler_ops ContextRouter::kTable = {
    .size = sizeof(consort_scheduler_ops), .flags = 0, .create = nullptr, .destroy = nullptr, .workers = nullptr,
    .push = push, .pop = pop, .drain = nullptr, .quiesce = nullptr, .submitted = submitted, .adopt = nullptr,
    .dropped = dropped, .started = nullptr, .finished = nullptr, .flush = flush, .urgency = nullptr, .victim = victim,
    .next_event = next_event, .direct = nullptr, .directed = nullptr};

ContextRouter::ContextRouter(Scheduling &rt)
    : rt_(rt), serving_(new std::atomic<Context *>[rt.topology->units().size()]) {
  const size_t n = rt.topology->units().size();
  for (size_t w = 0; w < n; ++w) serving_[w].store(&root_, std::memory_order_relaxed);
  splitter_.ops = &kTable;
  splitter_.push = kTable.push;
  splitter_.pop = kTable.pop;
  splitter_.s = this;
  splitter_.bypass = false;  // then may_bypass() asks the context
  splitter_.splits = true;
  splitter_.name = "contexts";
  splitter_.epoch.store(1, std::memory_order_relaxed);
  splitter_.urgency.resize(n);
  static constexpr consort_scheduler_ops kNoHooks{};
  gone_.ops = &kNoHooks;
  gone_.push = [](void *, const consort_push *) -> uint32_t { return 0; };
  gone_.pop = [](void *, uint32_t, consort_pick *, uint32_t) -> uint32_t { return 0; };
  gone_.bypass = false;
  gone_.urgency.resize(n);
  root_.live = true;
  for (const Unit &u : rt.topology->units())
    root_.classes.fetch_or(uint64_t{1} << u.klass, std::memory_order_relaxed);
}

void ContextRouter::add(Context &c) noexcept {
  all_[c.index].store(&c, std::memory_order_release);  // pairs with at()
  n_.store(c.index, std::memory_order_release);
}

template <class F>
void ContextRouter::each_instance(F f) const noexcept {
  f(root_instance());
  for (uint32_t k = 1, n = size(); k <= n; ++k) {
    const Context &c = *at(k);
    const PolicyInstance *i = c.now.load(std::memory_order_acquire);
    if (i && !c.heir.load(std::memory_order_acquire)) f(*i);
  }
}

void ContextRouter::look_for_hooks() noexcept {
  bool observes = false, holds_back = false;
  each_instance([&](const PolicyInstance &i) {
    observes |= i.ops->started || i.ops->finished;
    holds_back |= i.ops->flush != nullptr;
  });
  observes_.store(observes, std::memory_order_relaxed);
  holds_back_.store(holds_back, std::memory_order_relaxed);
}

// -- the context of a task ----------------------------------------------------------------------------------------

// Tasks of a replay belong to the context of its submission: they do not outlive it.
Context &ContextRouter::of(const Task &t) const noexcept {
  const Extra *e = t.extra;
  if (t.recorded()) [[unlikely]] {
    const Task *whole = rt_.kinds.of(t).submitted_as(rt_, t);
    e = whole ? whole->extra : nullptr;
  }
  Context *c = e && e->context ? at(e->context) : const_cast<Context *>(&root_);
  // acquire: pairs with destroy(). Each context in the chain lives while it counts this task or the context before.
  while (Context *heir = c->heir.load(std::memory_order_acquire)) c = heir;
  return *c;
}

// A context may be destroyed between the two loads. Then it has an heir: destroy() stores it before gone_, and the acquire
// of gone_ makes it visible.
const PolicyInstance &ContextRouter::instance_of(const Task &t) const noexcept {
  for (;;)
    if (const PolicyInstance *i = of(t).now.load(std::memory_order_acquire); i != &gone_) [[likely]] return *i;
}

namespace {

bool is_cancelled(const Task &t) noexcept {
  return (t.word.load(std::memory_order_relaxed) & word::kCancelled) ||
         t.epoch != t.group->epoch.load(std::memory_order_relaxed);
}

bool retain(Context &c) noexcept {
  uint64_t n = c.left.load(std::memory_order_relaxed);
  while (n && !c.left.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  return n;
}

}  // namespace

// Drops contexts that a finished body or callback has entered and not left.
const ThreadState::Entered *ContextRouter::innermost(ThreadState &thread) const noexcept {
  const TaskName here = thread.task ? thread.task->pub.id : 0;
  for (; !thread.entered.empty(); thread.entered.pop_back()) {
    const ThreadState::Entered &e = thread.entered.back();
    if (e.task == here && e.in_callback == thread.in_callback) return &e;
    if (e.task ? rt_.is_live(e.task) : !e.in_callback || thread.in_callback) return nullptr;
  }
  return nullptr;
}

uint64_t ContextRouter::current(ThreadState &thread) const noexcept {
  if (const ThreadState::Entered *e = innermost(thread)) return e->context;
  return thread.task ? of(*thread.task).id() : 0;
}

consort_status ContextRouter::enter(ThreadState &thread, Task *t) noexcept {
  if (const ThreadState::Entered *e = innermost(thread)) {
    if (!e->context) return CONSORT_OK;
    Context &c = *at(static_cast<uint32_t>(e->context));
    const bool there = retain(c);
    if (there && c.id() == e->context) {
      t->extra->context = c.index;
      return CONSORT_OK;
    }
    if (there) leave(&c);
    return set_error(CONSORT_E_STALE,
                     "the context that this thread has entered was destroyed: consort_context_leave() leaves it");
  }
  if (!thread.task) return CONSORT_OK;
  for (;;) {  // the heir may be destroyed at this moment and have an heir as well
    Context &c = of(*thread.task);
    if (!c.index) return CONSORT_OK;
    if (!retain(c)) continue;
    t->extra->context = c.index;
    return CONSORT_OK;
  }
}

void ContextRouter::leave(Context *c) noexcept {
  while (c->index) {
    // acq_rel: a waiter sees the tasks' stores; the thread that reuses the slot sees that no task is left in it
    const uint64_t before = c->left.fetch_sub(1, std::memory_order_acq_rel);
    if (before > 2) return;
    if (before == 2) {
      fence::light(rt_.asymmetric);  // pairs with the heavy fence of WaitCondition::announce()
      rt_.waiters.wake();
      return;
    }
    Context *const heir = c->heir.load(std::memory_order_acquire);  // the count reached 0, so the context was destroyed
    c->over.store(true, std::memory_order_release);                 // pairs with slot()
    c = heir;
  }
}

// -- push and pop -------------------------------------------------------------------------------------------------

uint32_t ContextRouter::push(void *s, const consort_push *p) noexcept {
  auto &self = *static_cast<ContextRouter *>(s);
  auto *const tasks = reinterpret_cast<Task *const *>(p->ready);
  for (uint32_t i = 0, end; i < p->n; i = end) {
    const Context *const first = &self.of(*tasks[i]);
    end = i + 1;
    if (!(tasks[i]->pub.where & first->classes.load(std::memory_order_relaxed)) && is_cancelled(*tasks[i])) {
      Policy::post_to_able(self.rt_, tasks[i]);  // no worker of the context would ever end it
      continue;
    }
    while (end < p->n && &self.of(*tasks[end]) == first && !is_cancelled(*tasks[end])) ++end;
    self.push_into(tasks + i, {0, p->from, p->flags, p->ready + i, end - i, 0, p->wake});
    if (i || end < p->n) p->wake->k = Core::kMaxWorkers;  // wake all: one worker may not be able to run every task
  }
  return p->n;
}

// Precondition: all tasks are of one context. A push is refused if another instance or an heir replaced this one
// meanwhile.
void ContextRouter::push_into(const Task *const *tasks, const consort_push &wanted) noexcept {
  consort_push p = wanted;
  for (const PolicyInstance *before = nullptr;;) {
    const Context &c = of(*tasks[0]);
    const PolicyInstance &i = *c.now.load(std::memory_order_acquire);
    const uint64_t epoch = i.epoch.load(std::memory_order_acquire);  // pairs with close()
    // Check again: another context may have this instance by now, and the epoch may be that context's. After the check
    // the epoch is this context's, or closed.
    if (c.now.load(std::memory_order_acquire) != &i) [[unlikely]] continue;
    if (&i == before && p.epoch == epoch) [[unlikely]]
      return rt_.policy.place_by_force(rt_, i.name, reinterpret_cast<Task *const *>(p.ready), p.n);
    before = &i;
    p.epoch = epoch;
    p.from = wanted.from < rt_.workers.size() && serving(wanted.from) == &c ? wanted.from : CONSORT_NONE;
    if (i.push(i.s, &p)) [[likely]] return;
  }
}

uint32_t ContextRouter::pop(void *s, uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const auto &self = *static_cast<ContextRouter *>(s);
  const PolicyInstance &i = *self.serving(worker)->now.load(std::memory_order_acquire);
  return i.pop(i.s, worker, out, max);
}

// -- hooks --------------------------------------------------------------------------------------------------------

bool ContextRouter::may_bypass(uint32_t worker, const Task &t) const noexcept {
  const Context &c = of(t);
  if (serving(worker) != &c) return false;
  const PolicyInstance &i = *c.now.load(std::memory_order_acquire);
  const int32_t *urgency = i.urgency[worker];
  return i.bypass && (!urgency || t.pub.priority >= __atomic_load_n(urgency, __ATOMIC_RELAXED));
}

bool ContextRouter::may_follow(uint32_t worker, const Task &t, bool no_choice) const noexcept {
  const Context &c = of(t);
  if (serving(worker) != &c) return false;
  return c.now.load(std::memory_order_acquire)->bypass ? may_bypass(worker, t) : no_choice;
}

// A task bound to a worker of another context is not reported.
ReportedInstance ContextRouter::tell_started(const Worker &w, const Task *t) noexcept {
  const Context &c = of(*t);
  if (serving(w.id) != &c) return {};
  const PolicyInstance &i = *c.now.load(std::memory_order_acquire);
  const uint64_t epoch = i.epoch.load(std::memory_order_acquire);
  if (!epoch || c.now.load(std::memory_order_acquire) != &i) return {};
  const consort_task *pub = &t->pub;
  if (i.ops->started) i.ops->started(i.s, w.id, &pub, 1);
  return {&i, epoch};
}

void ContextRouter::tell_finished(const ReportedInstance &seen, const Worker &w, const consort_done &done) noexcept {
  const auto *i = static_cast<const PolicyInstance *>(seen.instance);
  if (i && i->epoch.load(std::memory_order_acquire) == seen.epoch && i->ops->finished)
    i->ops->finished(i->s, w.id, &done, 1);
}

void ContextRouter::submitted(void *s, const consort_task *const *tasks, uint32_t n) noexcept {
  const auto &self = *static_cast<ContextRouter *>(s);
  for (uint32_t k = 0; k < n; ++k) {
    const PolicyInstance &i = self.instance_of(*reinterpret_cast<const Task *>(tasks[k]));
    if (i.ops->submitted) i.ops->submitted(i.s, &tasks[k], 1);
  }
}

// Asks every instance, since the tasks may have ended and their contexts are unknown. The instance that holds a task
// returns it.
uint32_t ContextRouter::dropped(void *s, consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  uint32_t got = 0;
  static_cast<ContextRouter *>(s)->each_instance([&](const PolicyInstance &i) {
    if (i.ops->dropped && got < n) got += i.ops->dropped(i.s, tasks, n, held + got);
  });
  return got;
}

void ContextRouter::flush(void *s) noexcept {
  static_cast<ContextRouter *>(s)->each_instance([](const PolicyInstance &i) {
    if (i.ops->flush) i.ops->flush(i.s);
  });
}

uint64_t ContextRouter::next_event(void *s) noexcept {
  uint64_t first = CONSORT_NEVER;
  static_cast<ContextRouter *>(s)->each_instance([&](const PolicyInstance &i) {
    if (i.ops->next_event) first = std::min(first, i.ops->next_event(i.s));
  });
  return first;
}

// Asks the policy of the first worker in that space that implements the hook.
uint32_t ContextRouter::victim(void *s, uint32_t space, uint64_t bytes, const consort_replica *replicas, uint32_t n,
                          uint32_t *order) noexcept {
  const auto &self = *static_cast<ContextRouter *>(s);
  for (const auto &w : self.rt_.workers) {
    if (w->unit.desc.space != space) continue;
    const PolicyInstance &i = *self.serving(w->id)->now.load(std::memory_order_acquire);
    if (i.ops->victim) return i.ops->victim(i.s, space, bytes, replicas, n, order);
  }
  return 0;
}

}  // namespace consort
