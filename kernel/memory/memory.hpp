// The room memory: replicas of data in the memories of the machine. Admission of working sets, transfers, eviction,
// write-back, requests of the application. It includes every room below; only api uses it. Start with memory.hpp, then
// memory_parts.hpp (the classes and their wiring), admission.hpp, fetches.hpp and eviction.hpp.
//
// memory.hpp — the interface of the room memory for the other rooms.
//
// A task starts only when its whole working set was granted in one space. Requests of a space are granted in order of
// arrival, whole or not at all, so two tasks never evict each other's inputs in turn. Granted data are pinned until the
// task ends. Memory is freed by dropping replicas that exist elsewhere and saving owned ones: first contents that no
// task will read, then by latest next use (next_use.hpp), then the longest unused. Any thread; one mutex, below the
// submission right and above those of movers. Under it only pure functions of layouts and filters, and alloc and free
// of drivers are called.
#pragma once
#include <consort/consort.h>
#include <consort/driver.h>
#include <consort/scheduler.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "exec/execution_memory.hpp"
#include "memory/request.hpp"
#include "memory/statistics.hpp"
#include "task/task.hpp"

namespace consort {

struct Datum;
struct DatumExtra;
struct Frame;
struct PartitionPlan;
struct DataManagement;
struct Staging;
struct ThreadState;
struct Worker;
struct MemoryParts;

// Questions of policies: [any], takes no lock. Precondition: the tasks have not ended.
class PolicyMemory {
 public:
  explicit PolicyMemory(const std::unique_ptr<MemoryParts> &parts) noexcept : parts_(parts) {}
  // For each task and each space, in that order: ns until its data are valid there; NaN: no such space.
  void transfer_ns(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                   float *out) const noexcept;
  // Likewise, bit i: the datum of access i is neither valid there nor in flight.
  void lacking(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
               uint64_t *out) const noexcept;
  consort_room room(uint32_t space) const noexcept;
  bool valid_in(const Datum &, uint32_t space) const noexcept;
  // Hints. Precondition: `task` has not ended; the datum may be gone.
  void prefetch(const Task &task, uint32_t space, int32_t priority) const noexcept;
  void unneeded(consort_data_id, uint32_t space) const noexcept;

 private:
  const std::unique_ptr<MemoryParts> &parts_;
};

// Requests of the application (memory.h). A request lives from wish() to its turn(), or longer.
class RequestMemory {
 public:
  explicit RequestMemory(const std::unique_ptr<MemoryParts> &parts) noexcept : parts_(parts) {}
  MemoryRequest *wish(const MemoryRequest &wanted, Datum &) const;  // may throw
  void turn(MemoryRequest *) const noexcept;    // it is the request's turn among the tasks that use its datum
  void forget(MemoryRequest *) const noexcept;  // it was not submitted
  // OK: it ends without effect. AGAIN: it has ended, or is being carried out. < 0: unknown name, error text set.
  consort_status cancel(ThreadState &, uint64_t wish) const noexcept;

 private:
  const std::unique_ptr<MemoryParts> &parts_;
};

class Memory final : public ExecutionMemory {
  DataManagement &rt_;
  bool in_use_ = false;
  std::unique_ptr<MemoryParts> parts_;  // first member: two public members refer to it

 public:
  explicit Memory(DataManagement &rt) noexcept;
  ~Memory();

  // -- lifetime; the rest may be called only between open() and close(), except functions marked "always" --
  Result<void> open();                    // limits, routes, movers
  Result<void> start_threads();           // of the movers
  void stop_threads() noexcept;           // always. Precondition: no copy is in flight
  void close() noexcept;                  // always. After the data have ended: frees all memory
  // always. False: no driver copies bytes and no memory is counted, so each datum lives in one space
  bool in_use() const noexcept { return in_use_; }
  bool busy() const noexcept override;             // always. Copies are in flight, or tasks were not yet told of their end

  // -- tasks --
  // [any] Announces a task that is about to be submitted and may run where memory is counted (Codelets::foresee()).
  // Precondition: the caller has the submission right over its data, and the task is in no chain yet.
  void foresee(const Task &) noexcept override;
  // [any] Returns whether memory of this space is counted. Host memory is not, unless it is limited.
  bool manages(uint32_t space) const noexcept override;
  // [any] Returns whether scratch memory is granted with the task's data. Else DataTable provides it.
  bool grants_scratch(uint32_t space) const noexcept override;
  // Stages the data of a popped task. OK: all valid and pinned, and in f.views. AGAIN: in flight; the task arrives in the
  // worker's mailbox, and begin() follows. < 0: impossible; error text set, with `blamed`. Precondition: not staged yet.
  consort_status stage(ThreadState &, Worker &, Frame &, Task *, Datum **blamed) noexcept override;
  // Continues after AGAIN: fills f.views, and gives back the frame's implementation (f.call.impl, f.picked) as it was
  // then. < 0: its data cannot be brought; error text set, with `blamed`.
  consort_status begin(Frame &, Task *, Datum **blamed) noexcept override;
  // Makes the record for up to `data` data of a hold, an unregistration or a step, so that its turn cannot fail.
  // Precondition: the task has its Extra. Returns false if out of memory.
  bool reserve(Task *, size_t data) noexcept override;
  void unreserve(Staging *) noexcept override;  // frees a record whose turn will not come
  // The turn of a hold or an unregistration. kDone: its datum is at home, or outcome() returns the error. kPending: in
  // flight, and resume_special() follows.
  Outcome stage_home(Task *) noexcept override;
  // [any] For a task staged without a worker: OK, or the reason why its data could not be brought, in *text.
  // Precondition: it is the task's turn.
  consort_status outcome(const Task &, std::string_view *text) const noexcept override;
  // [any] Returns the memory of its datum that a granted hold has.
  const void *held_view(const Task &hold, const Datum &) const noexcept override;
  // A step between a whole and its parts: as stage_home(). settle_step() then updates their replicas, and poisons data
  // that could not be brought (error text set).
  using Turn = PartitionTurn;
  Outcome stage_step(Task *, const PartitionPlan &, Turn) noexcept override;
  void settle_step(Task *, const PartitionPlan &, Turn) noexcept override;
  void parts_have_no_place(const PartitionPlan &) noexcept override;  // the whole has no memory at home
  void end(ThreadState &, Task *) noexcept override;                  // precondition: the task was staged
  // For a task of a lost device: restores its data as before its start. False: data that it changed exist nowhere else.
  bool undo(ThreadState &, Task *) noexcept override;

  // -- data --
  // Removes the datum: frees all its replicas. Returns its record, which the caller owns.
  DatumExtra *forget(Datum &) noexcept override;
  // Makes the space that its state and view name the datum's home until forget(). Its memory there belongs to the
  // application. Precondition: no task uses it yet. < 0: refused, error text set.
  consort_status settle(Datum &, uint32_t space) noexcept override;
  uint32_t home_of(const Datum &) noexcept override;   // space of the application's own memory of it; NONE: none
  void invalidate(Datum &) noexcept override;          // discards its contents
  bool valid_in(const Datum &, uint32_t space) const noexcept override;  // [any] takes no lock
  uint32_t state_in(const Datum &, uint32_t space) noexcept override;    // CONSORT_IN_*

  // -- copies --
  // [any] Always. Completions from a driver's queue with that token. False: it is no mover's queue.
  bool completed(uint64_t token, const consort_done *, uint32_t n) const noexcept;
  bool step(ThreadState &) noexcept override;  // manual pump: steps all movers once. Returns whether something was done
  // Virtual time, called by the pump: returns whether something may have changed since a step() that did nothing.
  // Changes are: time has passed, a worker has acted (known to the pump), or stir() was called.
  bool stirred() const noexcept override;
  // [any] Called for copies that start or end, and when a function ends: a driver may then make progress in a poll that
  // reports nothing.
  void stir() noexcept override;
  uint64_t next_event() const noexcept override;         // virtual time: of all movers
  bool leads_to(uint32_t space) const noexcept; // a driver copies bytes to that space

  // -- reports --
  std::string describe(TaskName) noexcept override;      // what a staged task waits for; "": nothing
  bool keeps_from(TaskName, TaskName waiting) noexcept override;
  std::string describe() noexcept override;              // memory in use, and the waiting requests
  SpaceStatistics count(uint32_t space) noexcept;
  LinkStatistics traffic(uint32_t from, uint32_t to) noexcept;

  // -- two further groups of functions --
  const PolicyMemory policies{parts_};
  const RequestMemory requests{parts_};
};

}  // namespace consort
