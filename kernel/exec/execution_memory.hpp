// execution_memory.hpp — what execution asks of the room that keeps copies of data in spaces (memory/).
#pragma once
#include <string>

#include "graph/graph_memory.hpp"
#include "task/task.hpp"

namespace consort {

struct Frame;
struct Worker;

class ExecutionMemory : public GraphMemory {
 public:
  // Is memory of this space counted? Not the host's own, unless it is limited.
  virtual bool manages(uint32_t space) const noexcept = 0;
  // Is scratch memory of a task there granted with the task's data? Else DataTable gives it.
  virtual bool grants_scratch(uint32_t space) const noexcept = 0;
  bool stages_scratch(const consort_access &a, uint32_t space) const noexcept {  // the same of one access
    return (a.mode & CONSORT_M_SCRATCH) && a.datum->bytes && grants_scratch(space);
  }
  // Data of a popped task, into f.views. OK: all there, and pinned. AGAIN: on their way; the task comes by the worker's
  // mailbox. < 0: it can not be; told, with `blamed`.
  virtual consort_status stage(ThreadState &, Worker &, Frame &, Task *, Datum **blamed) noexcept = 0;
  // Of a task that its device was lost under: it ends as if it had not begun. False: it cannot, what it changed is gone.
  virtual bool undo(ThreadState &, Task *) noexcept = 0;
  virtual bool valid_in(const Datum &, uint32_t space) const noexcept = 0;  // [any] locks nothing
  virtual bool busy() const noexcept = 0;                  // some copy is under way
  // Manual pump: all movers, once. False: nothing to do.
  virtual bool step(ThreadState &) noexcept = 0;
  // Virtual time, the pump's: has anything happened since a step() that did nothing? No: it would do nothing again.
  virtual bool stirred() const noexcept = 0;
  virtual void stir() noexcept = 0;                        // [any] something has happened; see stirred()
  virtual uint64_t next_event() const noexcept = 0;        // virtual time: before that step() has nothing to do

  virtual std::string describe(TaskName) noexcept = 0;     // what a staged task waits for; "": nothing
  virtual std::string describe() noexcept = 0;             // what is used, and what waits for room

 protected:
  ~ExecutionMemory() = default;
};

}  // namespace consort
