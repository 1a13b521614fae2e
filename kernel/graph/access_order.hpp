// access_order.hpp — the order of accesses of one datum beyond readers and writers.
//
// Few data have one; it lives as long as the datum. Its fields change under the datum's submission right: its lock, or
// that of the datum of which it is a part or copy, if there are several submitters. The token is taken by running
// tasks. A datum that does not permit plain accesses is marked odd in its generation. The fast submission path then
// does not find its name, at no cost to other data.
#pragma once
#include <memory>
#include <vector>

#include "task/commute_token.hpp"
#include "task/data.hpp"

namespace consort {

struct TaskGraph;

struct Formats;
struct PartitionPlan;
struct Reduction;

struct AccessOrder final : DatumOrder {
  // The meaning of the names among a datum's readers: tasks that may run together, one at a time, or on copies of their
  // own.
  enum class Phase : uint8_t { kTogether, kOneByOne, kOnCopies };

  AccessOrder();
  ~AccessOrder() override;

  Phase phase = Phase::kTogether;
  bool ordered = true;                // false: accesses are not ordered
  std::vector<TaskName> loose;        // unfinished tasks that use it without order
  std::unique_ptr<Reduction> reduction;
  Reduction *copy_of = nullptr;       // set if this datum is a copy of that reduction
  std::unique_ptr<Formats> formats;   // other layouts of this datum
  Formats *format_of = nullptr;       // set if this datum is one of these: DatumOrder::number is its index
  // -- in a tree of parts (partition_order.hpp) --
  PartitionPlan *part_of = nullptr;   // constant before the part is visible to other threads, as is the next
  uint32_t depth = 0;                 // number of plans between it and the datum that is no part
  PartitionPlan *plans = nullptr;              // of this datum, linked by PartitionPlan::next

  bool in_tree() const noexcept { return part_of || plans; }

  // Of the running task, in a phase one by one. On a line of its own, since submitters read the rest all the time.
  alignas(64) CommuteToken token;
};

// Finds or makes it. nullptr: out of memory. Precondition: the caller has the right, or the datum is not visible yet.
AccessOrder *discipline_of(Datum &) noexcept;
inline AccessOrder *discipline_if_any(const Datum &d) noexcept {
  return static_cast<AccessOrder *>(d.discipline.load(std::memory_order_acquire));
}
inline bool is_part(const Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  return discipline && discipline->part_of;
}

// Updates whether plain accesses must use the slow path. Under the right, after any relevant change.
void mark_odd(Datum &) noexcept;

// Removes the names of ended tasks and makes room for one more. Returns false if out of memory.
bool note_loose(const TaskGraph &, AccessOrder &) noexcept;

// Returns whether the access shares the datum with others of its kind, or has it exclusively in the order.
constexpr bool shares(uint32_t mode) noexcept { return !(mode & CONSORT_M_W) || (mode & CONSORT_M_COMMUTE); }
constexpr bool changes(uint32_t mode) noexcept { return mode & (CONSORT_M_W | CONSORT_M_REDUX); }

}  // namespace consort
