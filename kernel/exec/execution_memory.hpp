// execution_memory.hpp — the interface of the room memory to execution: staging of data.
#pragma once
#include <string>

#include "graph/graph_memory.hpp"
#include "task/task.hpp"

namespace consort {

struct Frame;
struct Worker;

class ExecutionMemory : public GraphMemory {
 public:
  // Returns whether memory of this space is counted. Host memory is not, unless it is limited.
  virtual bool manages(uint32_t space) const noexcept = 0;
  // Returns whether scratch memory is granted with the task's data. Else DataTable provides it.
  virtual bool grants_scratch(uint32_t space) const noexcept = 0;
  bool stages_scratch(const consort_access &a, uint32_t space) const noexcept {  // the same for one access
    return (a.mode & CONSORT_M_SCRATCH) && a.datum->bytes && grants_scratch(space);
  }
  // Stages the data of a popped task. OK: all valid and pinned, and in f.views. AGAIN: in flight; the task arrives in the
  // worker's mailbox, and begin() follows. < 0: impossible; error text set, with `blamed`.
  virtual consort_status stage(ThreadState &, Worker &, Frame &, Task *, Datum **blamed) noexcept = 0;
  // Continues after AGAIN: fills f.views, and gives back the frame's implementation (f.call.impl, f.picked) as it was
  // then. < 0: its data cannot be brought; error text set, with `blamed`.
  virtual consort_status begin(Frame &, Task *, Datum **blamed) noexcept = 0;
  // For a task of a lost device: restores its data as before its start. False: data that it changed exist nowhere else.
  virtual bool undo(ThreadState &, Task *) noexcept = 0;
  virtual bool valid_in(const Datum &, uint32_t space) const noexcept = 0;  // [any] takes no lock
  virtual bool busy() const noexcept = 0;                  // whether copies are in flight
  // Manual pump: steps all movers once. Returns whether something was done.
  virtual bool step(ThreadState &) noexcept = 0;
  // Virtual time, called by the pump: returns whether something may have changed since a step() that did nothing.
  virtual bool stirred() const noexcept = 0;
  virtual void stir() noexcept = 0;                        // [any] something has changed; see stirred()
  virtual uint64_t next_event() const noexcept = 0;        // virtual time: step() has nothing to do before it

  virtual std::string describe(TaskName) noexcept = 0;     // what a staged task waits for; "": nothing
  // Returns whether this task has memory in the space where the other waits for memory.
  virtual bool keeps_from(TaskName, TaskName waiting) noexcept = 0;
  virtual std::string describe() noexcept = 0;             // memory in use, and the waiting requests

 protected:
  ~ExecutionMemory() = default;
};

}  // namespace consort
