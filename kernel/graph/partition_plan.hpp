// partition_plan.hpp — the partition of a datum: the plan, its parts, its handle.
//
// A part is a datum like others, hidden from lists of data: it is freed with its plan. A plan is found by number and
// generation. Its contents never change; its state (partition_order.hpp) changes under the right over its whole. It is
// freed when its last step has ended, possibly long after its name became invalid. Making one never waits.
#pragma once
#include <consort/consort.h>

#include <memory>
#include <string>

#include "base/arena.hpp"
#include "graph/access_order.hpp"

namespace consort {

struct TaskGraph;

struct ThreadState;

struct PartitionPlan {
  static constexpr uint32_t kDeepest = 32;    // limit of nested plans
  static constexpr uint32_t kMostParts = 1 << 20;
  enum class State : uint8_t {
    kClosed,                                  // no part may be used
    kShared,                                  // all parts may be read, and so may the whole and the parts of other plans
    kOwned  // each part may be read and written; the whole and its other plans may not be used
  };

  Datum *whole = nullptr;
  const consort_filter *filter = nullptr;
  std::unique_ptr<std::byte[]> params;
  bool read_only = false;
  uint32_t n = 0, number = 0;                 // number of parts; index of its slot
  std::unique_ptr<Datum *[]> part;
  std::unique_ptr<AccessOrder[]> discipline;   // of the parts
  std::string name;
  // -- under the right --
  State state = State::kClosed;
  TaskName opener = 0, closer = 0;            // the step that opened it last, and the one that closed it
  PartitionPlan *next = nullptr;                       // of the same whole

  bool open() const noexcept { return state != State::kClosed; }
  // Returns whether the written parts together form the whole, or are never written.
  bool covers() const noexcept { return read_only || (filter->flags & CONSORT_FI_COVER); }
};

// Returns whether the state of its tree permits a plain access.
inline bool is_open(const AccessOrder &d) noexcept {
  if (d.part_of && d.part_of->state != PartitionPlan::State::kOwned) return false;
  for (const PartitionPlan *p = d.plans; p; p = p->next)
    if (p->open()) return false;
  return true;
}

class PartitionPlans {
 public:
  struct Slot {                               // never unmapped: a stale name can always be read
    std::atomic<uint32_t> generation;         // release where it changes pairs with acquire in find()
    uint32_t next_free;
    std::atomic<Datum *> whole;  // relaxed: written before the generation is released, read after it was acquired in find()
    PartitionPlan *plan;                               // under the right over `whole`
  };

  explicit PartitionPlans(TaskGraph &rt) : rt_(rt) {}
  Result<void> open();
  Slot *find(consort_plan_id) const noexcept; // nullptr: stale, or never given
  static bool is(const Slot &s, consort_plan_id id) noexcept {
    return s.generation.load(std::memory_order_acquire) == id.v >> 32;
  }

  // may throw bad_alloc
  consort_status create(ThreadState &, consort_data_id, const consort_plan_desc &, consort_plan_id *out);
  void kill_names(PartitionPlan &) noexcept;           // its handle, those of its parts, and of plans below
  void remove(PartitionPlan *) noexcept;               // with all below; precondition: no task knows any of them
  void close() noexcept;                      // precondition: nothing runs; frees the rest

 private:
  struct Sketch;
  consort_status look_at(ThreadState &, Datum &, consort_data_id, Sketch &);
  consort_status make_parts(PartitionPlan &, Layout *, const Sketch &);
  bool enroll(PartitionPlan &) noexcept;
  void free_parts(PartitionPlan &) noexcept;

  TaskGraph &rt_;
  Arena<Slot> arena_;
  SpinLock lock_;                             // guards free_
  uint32_t free_ = 0;
};

}  // namespace consort
