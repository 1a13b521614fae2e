// more.hpp — what few tasks ask for (consort_task_more): hooks, a tag, an end that is held, a bundle, further turns.
//
// One block of its own beside the task's Extra, owned by the task; whoever owns the task may touch it, but for what
// Ends guards. A submission that is refused frees it and drops nothing: the hooks are still the caller's.
#pragma once
#include <consort/consort.h>

#include "task.hpp"

namespace consort {

struct Draft;
struct Hand;
struct Runtime;

struct More {
  consort_hook ready{}, begin{};          // taken out when they are called
  void (*done_drop)(void *) = nullptr;
  // -- data that the application enters without waiting (kHold) --
  consort_granted_fn *granted = nullptr;
  void *granted_arg = nullptr;
};

consort_status read_more(Draft &, const consort_task_desc &) noexcept;

void call_ready(Runtime &, Hand &, Task *) noexcept;
void call_begin(Runtime &, Hand &, Task *) noexcept;
// After `done`, while the task's name lives: arguments are dropped.
void end_more(Runtime &, Hand &, Task *, consort_status) noexcept;

}  // namespace consort
