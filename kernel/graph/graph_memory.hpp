// graph_memory.hpp — the interface of the graph to the room memory, which keeps copies of data in spaces.
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
  // [any] Announces a task that is about to be submitted and may run where memory is counted (Codelets::foresee()).
  // Precondition: the caller has the submission right over its data, and the task is in no chain yet.
  virtual void foresee(const Task &) noexcept = 0;
  // Makes the record for up to `data` data of a hold, an unregistration or a step, whose turn must not fail.
  // Precondition: the task has its Extra. Returns false if out of memory.
  virtual bool reserve(Task *, size_t data) noexcept = 0;
  virtual void unreserve(Staging *) noexcept = 0;  // frees a record whose turn will not come
  // The turn of a hold or an unregistration. kDone: its datum is at home, or outcome() returns the error. kPending: in
  // flight, and resume_special() follows.
  virtual Outcome stage_home(Task *) noexcept = 0;
  // [any] For a task staged without a worker: OK, or the reason why its data could not be brought, in *text.
  // Precondition: it is the task's turn.
  virtual consort_status outcome(const Task &, std::string_view *text) const noexcept = 0;
  // Returns the memory of a granted hold's datum: where it was staged, else where the datum lives.
  virtual const void *held_view(const Task &hold, const Datum &) const noexcept = 0;
  // A step between a whole and its parts: as stage_home(). settle_step() then updates their replicas, and poisons data
  // that could not be brought (error text set).
  virtual Outcome stage_step(Task *, const PartitionPlan &, PartitionTurn) noexcept = 0;
  virtual void settle_step(Task *, const PartitionPlan &, PartitionTurn) noexcept = 0;
  virtual void parts_have_no_place(const PartitionPlan &) noexcept = 0;  // the whole has no memory at home
  virtual void end(ThreadState &, Task *) noexcept = 0;                  // precondition: the task was staged
  // Returns the space of the application's own memory of the datum, or NONE.
  virtual uint32_t home_of(const Datum &) noexcept = 0;
  virtual void invalidate(Datum &) noexcept = 0;                         // discards its contents
  virtual uint32_t state_in(const Datum &, uint32_t space) noexcept = 0; // CONSORT_IN_*

 protected:
  ~GraphMemory() = default;
};

}  // namespace consort
