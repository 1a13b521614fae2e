// The functions of Memory: each takes the mutex and calls the class that implements it.
//
// Separate from memory.hpp, so that rooms that include it do not depend on those classes.
#include "base/last_error.hpp"
#include "graph/failed_task.hpp"
#include "graph/partition_plan.hpp"
#include "memory/data_management.hpp"
#include "memory/memory.hpp"
#include "memory/memory_parts.hpp"

namespace consort {

Memory::Memory(DataManagement &rt) noexcept : rt_(rt) {}
Memory::~Memory() { close(); }

Result<void> Memory::open() {
  parts_ = std::make_unique<MemoryParts>(*this, rt_);
  if (auto r = parts_->open(); !r) return r.error();
  in_use_ = parts_->movers.any() || parts_->cache.counts_any();
  if (in_use_) rt_.data.placement = this;
  return {};
}

Result<void> Memory::start_threads() { return parts_->movers.start_threads(); }

void Memory::stop_threads() noexcept {
  if (parts_) parts_->movers.stop_threads();
}

void Memory::close() noexcept {
  if (parts_) parts_->close();
  in_use_ = false;
}

bool Memory::busy() const noexcept { return parts_ && parts_->transfers.busy(); }

// -- tasks --------------------------------------------------------------------------------------------------------

void Memory::foresee(const Task &t) noexcept {
  parts_->outlook.note(t);
  if (parts_->hints.prefetches()) [[unlikely]] parts_->hints.keep_records(t, parts_->mutex);
}

bool Memory::manages(uint32_t space) const noexcept { return parts_->cache.is_counted(space); }

bool Memory::grants_scratch(uint32_t space) const noexcept { return parts_->cache.grants_scratch(space); }

consort_status Memory::stage(ThreadState &thread, Worker &w, Frame &f, Task *t, Datum **blamed) noexcept try {
  MemoryParts &parts = *parts_;
  MemoryLock lock(parts.mutex);
  if (!t->extra) thread.rt.tasks.make_extra(t);
  parts.hints.take_up();  // hints about replicas that may go
  const Outcome admitted = parts.tasks.admit(thread, w, t, f);
  parts.trace_use();
  if (admitted != Outcome::kPending) return parts.tasks.begin(t, f, blamed);
  if (rt_.tracer) t->extra->staging->since = rt_.clock.now();
  w.staging.fetch_add(1, std::memory_order_relaxed);
  if (parts.policy.has_questions()) parts.release(thread, lock);
  return CONSORT_AGAIN;
} catch (const std::bad_alloc &) {
  return set_error(CONSORT_E_NOMEM, "no memory for the record of a task's data");
}

consort_status Memory::begin(Frame &f, Task *t, Datum **blamed) noexcept {
  MemoryLock lock(parts_->mutex);
  return parts_->tasks.begin(t, f, blamed);
}

bool Memory::reserve(Task *t, size_t data) noexcept { return HostStaging::reserve(t, data); }
void Memory::unreserve(Staging *s) noexcept { delete s; }

Outcome Memory::stage_home(Task *t) noexcept {
  if (!parts_->host.concerns(*t)) return Outcome::kDone;
  MemoryLock lock(parts_->mutex);
  return parts_->host.stage(t);
}

consort_status Memory::outcome(const Task &t, std::string_view *text) const noexcept {
  const Staging *s = t.extra ? t.extra->staging : nullptr;
  if (!s || s->status >= 0) return CONSORT_OK;
  *text = s->text;
  return s->status;
}

const void *Memory::held_view(const Task &hold, const Datum &d) const noexcept {
  const Staging *s = hold.extra ? hold.extra->staging : nullptr;
  return s && !s->items.empty() ? s->items[0].replica->view : d.view;
}

void Memory::end(ThreadState &thread, Task *t) noexcept {
  MemoryLock lock(parts_->mutex);
  parts_->tasks.end(t, t->kind == TaskKind::kHold || t->kind == TaskKind::kMessage || t->kind == TaskKind::kStored);
  parts_->serve();
  parts_->release(thread, lock);
}

bool Memory::undo(ThreadState &thread, Task *t) noexcept {
  {
    MemoryLock lock(parts_->mutex);
    if (!parts_->tasks.undo(t, rt_.lost.spaces(*rt_.topology))) return false;
    if (!t->extra || !t->extra->staging) return true;
  }
  end(thread, t);
  return true;
}

// -- steps between a whole and its parts --------------------------------------------------------------------------

namespace {

void poison(DataManagement &rt, const Task &step, Datum &d) noexcept {
  rt.data.blame(d, rt.failures.find(step.pub.id));
  d.state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
}

}  // namespace

Outcome Memory::stage_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept try {
  MemoryLock lock(parts_->mutex);
  return parts_->partitions.stage(t, plan, turn);
} catch (const std::bad_alloc &) {  // no memory: the locations of the contents are unknown, so none count as valid
  record_failure(rt_, t, CONSORT_E_NOMEM, "no memory for the records of a datum and its parts", plan.whole,
                 CONSORT_NONE, nullptr);
  if (turn != Turn::kEnd) poison(rt_, *t, *plan.whole);  // the whole may not exist any more
  const bool up = turn == Turn::kLetReadWhole || turn == Turn::kGather;
  for (uint32_t i = 0; up && i < plan.n; ++i) poison(rt_, *t, *plan.part[i]);
  MemoryLock lock(parts_->mutex);
  parts_->partitions.settle(plan, turn);
  return Outcome::kDone;
}

void Memory::settle_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept {
  const Staging *s = t->extra ? t->extra->staging : nullptr;
  if (!s) return;  // stage_step() failed
  {
    MemoryLock lock(parts_->mutex);
    parts_->partitions.settle(plan, turn);
  }
  if (s->status >= 0) return;
  record_failure(rt_, t, s->status, s->text, s->items.empty() ? nullptr : s->items[0].datum, CONSORT_NONE, nullptr);
  for (const auto &item : s->items) poison(rt_, *t, *item.datum);  // any of them may be missing, so none counts as valid
}

void Memory::parts_have_no_place(const PartitionPlan &plan) noexcept {
  MemoryLock lock(parts_->mutex);
  parts_->partitions.lose_place(plan);
}

// -- data ---------------------------------------------------------------------------------------------------------

DatumExtra *Memory::forget(Datum &d) noexcept {
  MemoryLock lock(parts_->mutex);  // a thread that found the datum's name alive under the mutex keeps it until it unlocks
  parts_->queue.remove_all_of(d);
  parts_->outlook.forget(d);
  if (DatumExtra *const e = d.extra(); e && e->replicas) {
    parts_->records.clear(*e->replicas);
    parts_->homes.release(e->replicas->lent);
    e->replicas.reset();
  }
  return d.rare.exchange(nullptr, std::memory_order_relaxed);
}

consort_status Memory::settle(Datum &d, uint32_t space) noexcept {
  return parts_->homes.settle(d, space, parts_->mutex);
}

uint32_t Memory::home_of(const Datum &d) noexcept {
  MemoryLock lock(parts_->mutex);
  return DeviceHome::of(d);
}

void Memory::invalidate(Datum &d) noexcept {
  MemoryLock lock(parts_->mutex);
  ReplicaRecords::invalidate(d);
}

bool Memory::valid_in(const Datum &d, uint32_t space) const noexcept { return parts_->cost.is_valid(d, space); }

uint32_t Memory::state_in(const Datum &d, uint32_t space) noexcept {
  MemoryLock lock(parts_->mutex);
  return ReplicaRecords::state_in(d, space);
}

// -- copies -------------------------------------------------------------------------------------------------------

bool Memory::completed(uint64_t token, const consort_done *done, uint32_t n) const noexcept {
  Mover *const m = parts_ ? parts_->movers.of_token(token) : nullptr;
  if (m) m->completed(done, n);
  return m;
}

bool Memory::step(ThreadState &thread) noexcept { return parts_->movers.step(thread); }
bool Memory::stirred() const noexcept { return parts_->movers.stirred(parts_->has_hints()); }
void Memory::stir() noexcept { parts_->stir(); }
uint64_t Memory::next_event() const noexcept { return parts_->movers.next_event(); }
bool Memory::leads_to(uint32_t space) const noexcept { return parts_->movers.has(space); }

// -- reports ------------------------------------------------------------------------------------------------------

std::string Memory::describe(TaskName name) noexcept try {
  MemoryLock lock(parts_->mutex);
  return parts_->report.describe(name);
} catch (const std::bad_alloc &) {
  return "";
}

bool Memory::keeps_from(TaskName task, TaskName waiting) noexcept {
  MemoryLock lock(parts_->mutex);
  return parts_->report.keeps_from(task, waiting);
}

std::string Memory::describe() noexcept try {
  MemoryLock lock(parts_->mutex);
  return parts_->report.describe();
} catch (const std::bad_alloc &) {
  return "";
}

SpaceStatistics Memory::count(uint32_t space) noexcept {
  MemoryLock lock(parts_->mutex);
  return parts_->report.count(space);
}

LinkStatistics Memory::traffic(uint32_t from, uint32_t to) noexcept {
  MemoryLock lock(parts_->mutex);
  return parts_->transfers.statistics(from, to);
}

// -- policies -----------------------------------------------------------------------------------------------------

void PolicyMemory::transfer_ns(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                               float *out) const noexcept {
  parts_->cost.transfer_ns(tasks, nt, spaces, ns, out);
}

void PolicyMemory::lacking(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                           uint64_t *out) const noexcept {
  parts_->cost.lacking(tasks, nt, spaces, ns, out);
}

consort_room PolicyMemory::room(uint32_t space) const noexcept { return parts_->cost.room(space); }

bool PolicyMemory::valid_in(const Datum &d, uint32_t space) const noexcept { return parts_->cost.is_valid(d, space); }

void PolicyMemory::prefetch(const Task &task, uint32_t space, int32_t priority) const noexcept {
  parts_->hints.prefetch(task, space, priority);
}

void PolicyMemory::unneeded(consort_data_id datum, uint32_t space) const noexcept { parts_->hints.unneeded(datum, space); }

// -- requests of the application ----------------------------------------------------------------------------------

MemoryRequest *RequestMemory::wish(const MemoryRequest &wanted, Datum &d) const {
  MemoryLock lock(parts_->mutex);
  return &parts_->queue.add(wanted, d);
}

void RequestMemory::turn(MemoryRequest *w) const noexcept {
  MemoryLock lock(parts_->mutex);
  parts_->requests.turn(*w);
  parts_->serve();  // replicas may have been dropped, or may be now
  parts_->release(*parts_->rt.this_thread(), lock);
}

void RequestMemory::forget(MemoryRequest *w) const noexcept {
  MemoryLock lock(parts_->mutex);
  parts_->queue.remove(*w);
}

consort_status RequestMemory::cancel(ThreadState &thread, uint64_t wish) const noexcept {
  MemoryLock lock(parts_->mutex);
  Transfer *taken_back = nullptr;
  const Outcome outcome = parts_->requests.cancel(wish, &taken_back);
  if (taken_back) parts_->landed(thread, *taken_back, CONSORT_E_CANCELLED, lock);
  return outcome == Outcome::kDone ? CONSORT_OK : outcome == Outcome::kPending ? CONSORT_AGAIN : CONSORT_E_INVAL;
}

}  // namespace consort
