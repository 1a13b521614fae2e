// task_options.hpp — what few tasks ask for (consort_task_more): hooks, a tag, an end that is held, a bundle, further turns.
//
// One block of its own beside the task's Extra, owned by the task; whoever owns the task may touch it, but for what
// Ends guards. A submission that is refused frees it and drops nothing: the hooks are still the caller's.
#pragma once
#include <consort/consort.h>

#include "task/task.hpp"

namespace consort {

struct Bundle;
struct ThreadState;
struct RepeatState;

struct TaskOptions {
  consort_hook ready{}, begin{};          // taken out when they are called
  void (*done_drop)(void *) = nullptr;
  uint64_t tag = 0;
  bool tagged = false, listed = false;    // carries `tag`; is known to CompletionHolds
  Bundle *bundle = nullptr;
  RepeatState *turns = nullptr;                 // owned; comes again
  Task *gate = nullptr;                   // ends with it: others come after its tag
  // -- the end, once listed: under the lock of CompletionHolds --
  bool over = false, guarded = false;     // the body is; other tasks' ends are awaited
  uint32_t holds = 0;
  consort_status status = CONSORT_OK;     // of the body that is over
  uint32_t worker = CONSORT_NONE;
  TaskName name = 0;
  Task *task = nullptr;
  TaskOptions *next = nullptr;
  // -- data that the application enters without waiting (kHold) --
  consort_granted_fn *granted = nullptr;
  void *granted_arg = nullptr;
};

// With kMore in any case. false: no memory.
TaskOptions *more_of(ThreadState &, Task *) noexcept;

}  // namespace consort
