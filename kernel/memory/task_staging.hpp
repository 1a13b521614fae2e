// task_staging.hpp — the data of a worker's tasks: their working sets are made, begun when the task starts, and ended.
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

  // Makes the working set of a popped task and admits it. As Admission::admit(); the task has its Extra. May throw.
  Outcome admit(const ThreadState &, Worker &, Task *);
  // A task whose staging is complete starts now: what it writes is valid there alone. Fills f.views. < 0: it was refused;
  // told, with `blamed`.
  consort_status begin(Task *, Frame &, Datum **blamed) noexcept;
  // A task that was staged ends: its data may go. `wrote`: it has no body, and the application wrote its datum.
  void end(Task *, bool wrote) noexcept;
  // Its device was lost, in spaces `gone`. False: what it changed is nowhere else. True: its data are as before wherever
  // that memory was left alone meanwhile, and end() is to follow if it was staged.
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
