// task_options.hpp — rare options of a task (consort_task_more): hooks, a tag, a completion hold, a bundle, further
// turns.
//
// A block beside the task's Extra, owned by the task and used by the task's owner, except fields guarded by
// CompletionHolds. A refused submission frees it and drops nothing: the hooks still belong to the caller.
#pragma once
#include <consort/consort.h>

#include "task/task.hpp"

namespace consort {

struct Bundle;
struct ThreadState;
struct RepeatState;

struct TaskOptions {
  consort_hook ready{}, begin{};          // taken out when called
  void (*done_drop)(void *) = nullptr;
  uint64_t tag = 0;
  bool tagged = false, listed = false;    // carries `tag`; is listed in CompletionHolds
  Bundle *bundle = nullptr;
  RepeatState *turns = nullptr;           // the task repeats; owned, in the last turn until the record is free
  Task *gate = nullptr;                   // ends with the task: the gate of its tag
  // -- the completion, once listed: under the lock of CompletionHolds --
  bool over = false, guarded = false;     // the body has ended; other tasks' ends are awaited
  bool leaving = false;                   // a thread frees its memory, and then ends it if nothing else is awaited
  uint32_t holds = 0;
  consort_status status = CONSORT_OK;     // of the ended body
  uint32_t worker = CONSORT_NONE;
  TaskName name = 0;
  Task *task = nullptr;
  TaskOptions *next = nullptr;
  // -- data acquired without waiting (kHold) --
  consort_granted_fn *granted = nullptr;
  void *granted_arg = nullptr;
};

// Sets kMore in any case. nullptr: out of memory.
TaskOptions *more_of(ThreadState &, Task *) noexcept;

}  // namespace consort
