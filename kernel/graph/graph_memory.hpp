// graph_memory.hpp — what the graph asks of the room that keeps copies of data in spaces (memory/).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/outcome.hpp"
#include "graph/partition_turn.hpp"
#include "task/data_placement.hpp"

namespace consort {

struct PartitionPlan;
struct Staging;
struct Task;
struct ThreadState;

class GraphMemory : public DataPlacement {
 public:
  // [any] A task of a codelet that may run where memory is counted is about to be submitted (Codelets::foresee()).
  // The caller has the submission right over its data, and the task hangs in no chain yet.
  virtual void foresee(const Task &) noexcept = 0;
  // The turn of a hold, an unregistration or a step must not fail: this makes its record, for up to so many data to bring.
  // The task has its Extra. False: no memory.
  virtual bool reserve(Task *, size_t data) noexcept = 0;
  virtual void unreserve(Staging *) noexcept = 0;  // its turn does not come
  // A hold or an unregistration whose turn has come. kDone: its datum is at home, or outcome() says why not. kPending: it
  // is on its way, and resume_special() follows.
  virtual Outcome stage_home(Task *) noexcept = 0;
  // [any] Of a task that was staged without a worker: OK, or why its data could not be brought, in *text. The caller has
  // the task's turn.
  virtual consort_status outcome(const Task &, std::string_view *text) const noexcept = 0;
  // Where a granted hold finds its datum: in the memory that it was staged in, else where the datum lives.
  virtual const void *held_view(const Task &hold, const Datum &) const noexcept = 0;
  // A step between a whole and its parts. As stage_home(); then what has become of their replicas, and which could not be
  // brought (told, poisoned).
  virtual Outcome stage_step(Task *, const PartitionPlan &, PartitionTurn) noexcept = 0;
  virtual void settle_step(Task *, const PartitionPlan &, PartitionTurn) noexcept = 0;
  virtual void parts_have_no_place(const PartitionPlan &) noexcept = 0;  // their whole has no memory at home
  virtual void end(ThreadState &, Task *) noexcept = 0;                  // of a task that was staged
  // Returns the space where the application's own memory of the datum is; NONE: it has none.
  virtual uint32_t home_of(const Datum &) noexcept = 0;
  virtual void invalidate(Datum &) noexcept = 0;                         // it has no contents any more
  virtual uint32_t state_in(const Datum &, uint32_t space) noexcept = 0; // CONSORT_IN_*

 protected:
  ~GraphMemory() = default;
};

}  // namespace consort
