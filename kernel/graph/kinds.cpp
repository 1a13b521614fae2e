// kinds.cpp — the task kinds without a body of this room: the action of each at its turn, and what ends with it.
#include <cstring>

#include "graph/acquired_data.hpp"
#include "graph/complete.hpp"
#include "graph/failed_task.hpp"
#include "graph/partition_order.hpp"
#include "graph/reduction.hpp"
#include "graph/watched_data.hpp"

namespace consort {
namespace {

Datum &datum_of(const Task &t) noexcept { return *Datum::of(t.pub.access[0].datum); }

// -- kEmpty: orders other tasks; one of the application may be cancelled, or follow a failed one --

KindTable::Turn empty_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  return {true, fail_if_doomed(rt, t)};
}

// -- kHold --

// Also for kRetire.
bool bring_home(Core &core, Task *t) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  return rt.data.placement && rt.graph_memory->stage_home(t) == Outcome::kPending;
}

KindTable::Turn hold_ready(Core &core, ThreadState &thread, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  uint8_t waiting = hold::kWaiting;
  // read before the grant: a waiting thread may release it at once, and the record be reused
  const bool told = t->bits & kMore;
  // release pairs with the acquire of the waiter: it sees what the predecessors wrote
  if (!t->follow.compare_exchange_strong(waiting, hold::kGranted, std::memory_order_acq_rel))
    return {true};  // its wait was abandoned
  if (told) return {grant(rt, thread, t)};
  fence::light(rt.asymmetric);  // pairs with the heavy fence of WaitCondition::announce(): the exchange is none
  rt.waiters.wake();
  return {false};
}

// -- kInvalidate --

KindTable::Turn invalidate_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    Datum *d = Datum::of(t->pub.access[i].datum);
    rt.data.blame(*d, nullptr);
    if (data_state::space(d->state.load(std::memory_order_relaxed)) == data_state::kMany) rt.graph_memory->invalidate(*d);
    if (d->pub.bytes) d->state.fetch_and(~data_state::kPlain, std::memory_order_relaxed);
  }
  return {true};
}

// -- kRetire --

// The unregistration of a poisoned datum returns the failure that poisoned it: records that under its name.
void pass_blame(TaskGraph &rt, const Task &t) noexcept {
  const Datum &d = datum_of(t);
  if (!(d.state.load(std::memory_order_relaxed) & data_state::kPoisoned)) return;
  auto blame = rt.data.blame(d);
  rt.failures.add_as(t.pub.id, blame ? std::move(blame) : rt.failures.lost());
}

KindTable::Turn retire_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  std::string_view why;
  const consort_status s = rt.graph_memory->outcome(*t, &why);
  if (s < 0) [[unlikely]] record_failure(rt, t, s, why, &datum_of(*t), CONSORT_NONE, nullptr);
  else pass_blame(rt, *t);
  return {true, s};
}

// Its end is counted after the datum is freed. No task uses the datum any more, and none can be linked to its end: its
// name became invalid when this was submitted.
void end_retire(Core &core, ThreadState &thread, const Task &t) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  tell_removed(rt, datum_of(t));
  rt.data.remove(datum_of(t));
  count_out(rt, thread, *t.group);
}

// -- kGate: its payload names the task whose completion it guards; 0: it belongs to a tag --

KindTable::Turn gate_ready(Core &core, ThreadState &, Task *t, ReadyBatch &) noexcept {
  TaskGraph &rt = static_cast<TaskGraph &>(core);
  TaskName guards;
  std::memcpy(&guards, t->payload, sizeof guards);
  return {true, CONSORT_OK, guards ? rt.ends.guard_is_over(guards) : nullptr};
}

// -- kDropCopies --

KindTable::Turn drop_copies_ready(Core &, ThreadState &, Task *t, ReadyBatch &) noexcept {
  drop_copies(datum_of(*t));
  end_union(datum_of(*t));
  return {true};
}

const char *empty_label(const Task &) noexcept { return "empty task"; }

}  // namespace

void set_graph_kinds(Kinds &kinds) noexcept {
  static constexpr KindTable plain{.label = empty_label};
  static constexpr KindTable empty{.label = empty_label, .ready = empty_ready};
  static constexpr KindTable hold{.label = [](const Task &) noexcept { return "acquire"; },
                                  .bring = bring_home, .ready = hold_ready};
  static constexpr KindTable invalidate{.label = [](const Task &) noexcept { return "invalidate"; },
                                        .ready = invalidate_ready};
  static constexpr KindTable retire{.label = [](const Task &) noexcept { return "unregister"; },
                                    .bring = bring_home, .ready = retire_ready, .end = end_retire};
  static constexpr KindTable gate{.label = empty_label, .ready = gate_ready};
  static constexpr KindTable drop{.label = empty_label, .ready = drop_copies_ready};
  kinds.set(TaskKind::kPlain, plain);
  kinds.set(TaskKind::kEmpty, empty);
  kinds.set(TaskKind::kHold, hold);
  kinds.set(TaskKind::kInvalidate, invalidate);
  kinds.set(TaskKind::kRetire, retire);
  kinds.set(TaskKind::kGate, gate);
  kinds.set(TaskKind::kDropCopies, drop);
  kinds.set(TaskKind::kStep, step_kind());
}

}  // namespace consort
