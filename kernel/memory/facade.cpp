// The functions of Memory: each takes the mutex, asks the class that knows, and lets it go.
//
// Apart from memory.hpp, so that rooms which include that do not depend on the classes behind it.
#include "memory/memory.hpp"

#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

Memory::Memory(DataManagement &rt) noexcept : rt_(rt) {}
Memory::~Memory() { close(); }

Result<void> Memory::open() {
  state_ = std::make_unique<MemoryState>(rt_);
  if (auto r = state_->open(); !r) return r.error();
  in_use_ = state_->in_use();
  if (in_use_) rt_.data.placement = this;
  return {};
}

Result<void> Memory::start_threads() { return state_->start_threads(); }

void Memory::stop_threads() noexcept {
  if (state_) state_->stop_threads();
}

void Memory::close() noexcept {
  if (state_) state_->close();
}

bool Memory::busy() const noexcept { return state_ && state_->busy(); }

bool Memory::manages(uint32_t space) const noexcept { return state_->manages(space); }

bool Memory::grants_scratch(uint32_t space) const noexcept {
  return state_->grants_scratch(space);
}

void Memory::foresee(const Task &t) noexcept { state_->foresee(t); }

consort_status Memory::stage(ThreadState &thread, Worker &w, Frame &f, Task *t, Datum **blamed) noexcept {
  return state_->stage(thread, w, f, t, blamed);
}

bool Memory::reserve(Task *t, size_t data) noexcept { return MemoryState::reserve(t, data); }
void Memory::unreserve(Staging *s) noexcept { delete s; }
Outcome Memory::stage_home(Task *t) noexcept { return state_->stage_home(t); }

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

Outcome Memory::stage_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept {
  return state_->stage_step(t, plan, turn);
}

void Memory::settle_step(Task *t, const PartitionPlan &plan, Turn turn) noexcept { state_->settle_step(t, plan, turn); }
void Memory::parts_have_no_place(const PartitionPlan &plan) noexcept { state_->parts_have_no_place(plan); }
void Memory::end(ThreadState &thread, Task *t) noexcept { state_->end(thread, t); }
bool Memory::undo(ThreadState &thread, Task *t) noexcept { return state_->undo(thread, t); }

DatumExtra *Memory::forget(Datum &d) noexcept { return state_->forget(d); }
consort_status Memory::settle(Datum &d, uint32_t space) noexcept { return state_->settle(d, space); }
uint32_t Memory::home_of(const Datum &d) noexcept { return state_->home_of(d); }
void Memory::invalidate(Datum &d) noexcept { state_->invalidate(d); }
bool Memory::valid_in(const Datum &d, uint32_t space) const noexcept { return state_->valid_in(d, space); }
uint32_t Memory::state_in(const Datum &d, uint32_t space) noexcept { return state_->state_in(d, space); }

void Memory::copied(ThreadState &thread, Transfer *t, consort_status status, const char *why) noexcept {
  state_->copied(thread, t, status, why);
}

bool Memory::completed(uint64_t token, const consort_done *done, uint32_t n) const noexcept {
  Mover *const m = state_ ? state_->mover(token) : nullptr;
  if (m) m->completed(done, n);
  return m;
}

bool Memory::step(ThreadState &thread) noexcept { return state_->step(thread); }
bool Memory::stirred() const noexcept { return state_->stirred(); }
void Memory::stir() noexcept { state_->stir(); }
uint64_t Memory::next_event() const noexcept { return state_->next_event(); }
bool Memory::leads_to(uint32_t space) const noexcept { return state_->leads_to(space); }

std::string Memory::describe(TaskName name) noexcept { return state_->describe(name); }
std::string Memory::describe() noexcept { return state_->describe(); }
SpaceStatistics Memory::count(uint32_t space) noexcept { return state_->count(space); }
LinkStatistics Memory::traffic(uint32_t from, uint32_t to) noexcept { return state_->traffic(from, to); }

void Memory::transfer_ns(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                         float *out) const noexcept {
  state_->transfer_ns(tasks, nt, spaces, ns, out);
}

void Memory::lacking(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                     uint64_t *out) const noexcept {
  state_->lacking(tasks, nt, spaces, ns, out);
}

consort_room Memory::room(uint32_t space) const noexcept { return state_->room(space); }

void Memory::prefetch(const Task &task, uint32_t space, int32_t priority) noexcept {
  state_->prefetch(task, space, priority);
}

void Memory::unneeded(consort_data_id datum, uint32_t space) noexcept { state_->unneeded(datum, space); }
bool Memory::has_hints() const noexcept { return state_->has_hints(); }
bool Memory::take_hints(ThreadState &thread) noexcept { return state_->take_hints(thread); }

MemoryRequest *Memory::wish(const MemoryRequest &wanted, Datum &d) { return state_->wish(wanted, d); }
void Memory::turn(MemoryRequest *w) noexcept { state_->turn(w); }
void Memory::forget(MemoryRequest *w) noexcept { state_->forget(w); }
consort_status Memory::cancel(ThreadState &thread, uint64_t wish) noexcept { return state_->cancel(thread, wish); }

}  // namespace consort
