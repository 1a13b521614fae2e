// The room memory: replicas of data in the memories of the machine. Admission of working sets, transfers, eviction,
// write-back, requests of the application. It includes every room below; only api uses it. Start with memory.hpp, then
// memory_parts.hpp (the classes and their wiring), admission.hpp, fetches.hpp and eviction.hpp.
//
// memory.hpp — the memories of the machine, as the other rooms see them.
//
// A task starts only when its whole working set has been granted in one space: requests of a space are granted in the
// order in which they came, whole or not at all, so two tasks never take turns at evicting each other's inputs. What is
// granted is pinned until the task ends. Room is made by dropping copies that are elsewhere too and saving the only
// ones: first what no task will read, then what is read last (next_use.hpp), then the longest unused. Any thread; one
// mutex, below the submission right and above those of movers. No callback of anybody runs under it but what is pure of
// layouts and filters; a driver's alloc and free do.
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

// What policies ask: [any], locks nothing. Of tasks that are not over.
class PolicyMemory {
 public:
  explicit PolicyMemory(const std::unique_ptr<MemoryParts> &parts) noexcept : parts_(parts) {}
  // Of each task and each space, in that order: ns until its data are there; NaN: no such space.
  void transfer_ns(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                   float *out) const noexcept;
  // Likewise, bit i: the datum of access i is neither there nor on its way.
  void lacking(const consort_task *const *, uint32_t nt, const uint32_t *spaces, uint32_t ns,
               uint64_t *out) const noexcept;
  consort_room room(uint32_t space) const noexcept;
  bool valid_in(const Datum &, uint32_t space) const noexcept;
  // Hints. `task` is not over; the datum may be gone.
  void prefetch(const Task &task, uint32_t space, int32_t priority) const noexcept;
  void unneeded(consort_data_id, uint32_t space) const noexcept;

 private:
  const std::unique_ptr<MemoryParts> &parts_;
};

// Requests of the application (memory.h). One lives from wish() to its turn(), or longer.
class RequestMemory {
 public:
  explicit RequestMemory(const std::unique_ptr<MemoryParts> &parts) noexcept : parts_(parts) {}
  MemoryRequest *wish(const MemoryRequest &wanted, Datum &) const;  // may throw
  void turn(MemoryRequest *) const noexcept;    // its turn has come among the tasks that use its datum
  void forget(MemoryRequest *) const noexcept;  // it was not submitted
  // OK: it ends without effect. AGAIN: it is over, or being carried out. < 0: there never was one of that name, told.
  consort_status cancel(ThreadState &, uint64_t wish) const noexcept;

 private:
  const std::unique_ptr<MemoryParts> &parts_;
};

class Memory final : public ExecutionMemory {
  DataManagement &rt_;
  bool in_use_ = false;
  std::unique_ptr<MemoryParts> parts_;  // first: two public members refer to it

 public:
  explicit Memory(DataManagement &rt) noexcept;
  ~Memory();

  // -- its life; between open() and close() alone the rest may be called, but for what says "always" --
  Result<void> open();                    // limits, routes, movers
  Result<void> start_threads();           // of the movers
  void stop_threads() noexcept;           // always. Nothing is on its way
  void close() noexcept;                  // always. After the data: gives all memory back
  bool in_use() const noexcept { return in_use_; }  // always. False: no driver moves bytes, so no datum is in several places
  bool busy() const noexcept override;             // always. Are copies under way, or tasks not yet told of their end?

  // -- tasks --
  // [any] A task of a codelet that may run where memory is counted is about to be submitted (Codelets::foresee()).
  // The caller has the submission right over its data, and the task hangs in no chain yet.
  void foresee(const Task &) noexcept override;
  // [any] Is memory of this space counted? Not the host's own, unless it is limited.
  bool manages(uint32_t space) const noexcept override;
  // [any] Is scratch memory of a task there granted with the task's data? Else DataTable gives it.
  bool grants_scratch(uint32_t space) const noexcept override;
  // Data of a popped task, into f.views. OK: all there, and pinned. AGAIN: on their way; the task comes by the worker's
  // mailbox. < 0: it can not be; told, with `blamed`.
  consort_status stage(ThreadState &, Worker &, Frame &, Task *, Datum **blamed) noexcept override;
  // Makes the record by which a hold, an unregistration or a step waits for up to so many data, so that its turn cannot
  // fail. The task has its Extra. False: no memory.
  bool reserve(Task *, size_t data) noexcept override;
  void unreserve(Staging *) noexcept override;  // its turn does not come
  // A hold or an unregistration whose turn has come. kDone: its datum is at home, or outcome() says why not. kPending: it
  // is on its way, and resume_special() follows.
  Outcome stage_home(Task *) noexcept override;
  // [any] Of a task that was staged without a worker: OK, or why its data could not be brought, in *text. The caller has
  // the task's turn.
  consort_status outcome(const Task &, std::string_view *text) const noexcept override;
  // [any] The memory that a granted hold has of its datum.
  const void *held_view(const Task &hold, const Datum &) const noexcept override;
  // A step between a whole and its parts. As stage_home(); then what has become of their replicas, and which could not
  // be brought (told, poisoned).
  using Turn = PartitionTurn;
  Outcome stage_step(Task *, const PartitionPlan &, Turn) noexcept override;
  void settle_step(Task *, const PartitionPlan &, Turn) noexcept override;
  void parts_have_no_place(const PartitionPlan &) noexcept override;  // their whole has no memory at home
  void end(ThreadState &, Task *) noexcept override;                  // of a task that was staged
  // Of a task whose device was lost: it ends as if it had not begun. False: what it changed is nowhere else.
  bool undo(ThreadState &, Task *) noexcept override;

  // -- data --
  // It is removed: all its replicas go. Returns its record, which is the caller's.
  DatumExtra *forget(Datum &) noexcept override;
  // Its state and its view say that it is in memory which the application has in a space of a driver: there it is at
  // home until forget(). No task uses it yet. < 0: refused, told.
  consort_status settle(Datum &, uint32_t space) noexcept override;
  uint32_t home_of(const Datum &) noexcept override;   // where the application's own memory of it is; NONE: nowhere
  void invalidate(Datum &) noexcept override;          // it has no contents any more
  bool valid_in(const Datum &, uint32_t space) const noexcept override;  // [any] locks nothing
  uint32_t state_in(const Datum &, uint32_t space) noexcept override;    // CONSORT_IN_*

  // -- copies --
  // [any] Always. A driver's queue of that token reports what is over. False: it is no mover's.
  bool completed(uint64_t token, const consort_done *, uint32_t n) const noexcept;
  bool step(ThreadState &) noexcept override;            // manual pump: all movers, once. True: something was done
  // Virtual time, the pump's: has anything happened since a step() that did nothing? No: it would do nothing again.
  // What happens there is that time passes, that a worker does something (which who pumps sees), or that it is stirred.
  bool stirred() const noexcept override;
  // [any] By copies that come or go, and by a function's end, upon which a driver may do more within a poll that reports
  // nothing.
  void stir() noexcept override;
  uint64_t next_event() const noexcept override;         // virtual time: of all movers
  bool leads_to(uint32_t space) const noexcept; // does any driver move bytes there?

  // -- reports --
  std::string describe(TaskName) noexcept override;      // what a staged task waits for; "": nothing
  std::string describe() noexcept override;              // what is used, and who waits for room
  SpaceStatistics count(uint32_t space) noexcept;
  LinkStatistics traffic(uint32_t from, uint32_t to) noexcept;

  // -- two more groups of functions --
  const PolicyMemory policies{parts_};
  const RequestMemory requests{parts_};
};

}  // namespace consort
