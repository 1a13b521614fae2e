// access_order.hpp — how the accesses of one datum are ordered, where that is more than readers and writers.
//
// Few data have one; it lives as long as the datum. Its fields change under the submission right of the datum (its
// lock, or that of the datum that it is a part or a copy of, when there are several submitters), but for the token,
// which running tasks take. A datum whose state does not let plain accesses through is marked odd, in its generation:
// the short way of submission then does not know its name, at no cost to others.
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
  // What the names among a datum's readers are: tasks that may run together, one at a time, or on copies of their own.
  enum class Phase : uint8_t { kTogether, kOneByOne, kOnCopies };

  AccessOrder();
  ~AccessOrder() override;

  Phase phase = Phase::kTogether;
  bool ordered = true;                // false: accesses make no order
  std::vector<TaskName> loose;        // unfinished tasks that use it without order
  std::unique_ptr<Reduction> reduction;
  Reduction *copy_of = nullptr;       // this datum is one of its copies
  std::unique_ptr<Formats> formats;   // other layouts of this datum
  Formats *format_of = nullptr;       // this datum is one of these: DatumOrder::number says which
  // -- in a tree of parts (partition_order.hpp) --
  PartitionPlan *part_of = nullptr;   // settled before any thread knows the part, as is the next
  uint32_t depth = 0;                 // plans between it and the datum that is part of none
  PartitionPlan *plans = nullptr;              // of this datum, linked by PartitionPlan::next

  bool in_tree() const noexcept { return part_of || plans; }

  // Of the one that runs, in a phase one by one. On a line of its own: submitters look at the rest all the time.
  alignas(64) CommuteToken token;
};

// Finds or makes it. nullptr: no memory. The caller has the right, or the datum is not known to anybody yet.
AccessOrder *discipline_of(Datum &) noexcept;
inline AccessOrder *discipline_if_any(const Datum &d) noexcept {
  return static_cast<AccessOrder *>(d.discipline.load(std::memory_order_acquire));
}
inline bool is_part(const Datum &d) noexcept {
  const AccessOrder *discipline = discipline_if_any(d);
  return discipline && discipline->part_of;
}

// Do plain accesses have to go the long way? Under the right, after any change that may matter.
void mark_odd(Datum &) noexcept;

// Lets go of the names that are over; room for one more. False: no memory.
bool note_loose(const TaskGraph &, AccessOrder &) noexcept;

// Does an access share the datum with others of its kind, or does it have it alone in the order?
constexpr bool shares(uint32_t mode) noexcept { return !(mode & CONSORT_M_W) || (mode & CONSORT_M_COMMUTE); }
constexpr bool changes(uint32_t mode) noexcept { return mode & (CONSORT_M_W | CONSORT_M_REDUX); }

}  // namespace consort
