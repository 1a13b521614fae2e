// task_staging.hpp — working sets of tasks on workers: made, begun at the task's start, and ended.
//
// Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/admission.hpp"
#include "memory/requests.hpp"

namespace consort {

struct Frame;

class TaskStaging {
 public:
  TaskStaging(BlockCache &cache, NextUse &outlook, ReplicaRecords &records, Eviction &eviction, Stagings &stagings,
              Admission &admission, Requests &requests)
      : cache_(cache), outlook_(outlook), records_(records), eviction_(eviction), stagings_(stagings),
        admission_(admission), requests_(requests) {}

  // Makes the working set of a popped task and admits it, as Admission::admit(). Keeps the frame's implementation until
  // begin(). Precondition: the task has its Extra. May throw.
  Outcome admit(const ThreadState &, Worker &, Task *, const Frame &);
  // A task with a complete staging starts: data that it writes become valid there alone. Fills f.views and the
  // implementation. < 0: it was refused; error text set, with `blamed`.
  consort_status begin(Task *, Frame &, Datum **blamed) noexcept;
  // A staged task ends: its data may be evicted. `wrote`: a task without a body whose datum the application wrote.
  void end(Task *, bool wrote) noexcept;
  // The task's device was lost, with the spaces `gone`. False: data that it changed exist nowhere else. True: its data
  // are as before where their memory was not changed since; end() follows if it was staged.
  bool undo(Task *, coherence::Spaces gone) noexcept;

 private:
  std::unique_ptr<Staging> working_set(const ThreadState &, Worker &, Task *);
  void begin_writes(Staging &) noexcept;

  BlockCache &cache_;
  NextUse &outlook_;
  ReplicaRecords &records_;
  Eviction &eviction_;
  Stagings &stagings_;
  Admission &admission_;
  Requests &requests_;
};

}  // namespace consort
