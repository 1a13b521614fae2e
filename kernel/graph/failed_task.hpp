// failed_task.hpp — a task that failed: its record, and the poison of what it would have written.
#pragma once
#include <memory>
#include <string_view>

#include "graph/task_graph.hpp"

namespace consort {

// Records why; poisons what the task would have written. `datum`: the one it failed on, may be nullptr.
void record_failure(TaskGraph &, Task *, consort_status, std::string_view text, Datum *datum, uint32_t worker,
                    std::shared_ptr<const Failure> cause) noexcept;

// That task's failure was recorded while one before it was still on its way, which may have written since.
void poison_again(TaskGraph &, const Task *) noexcept;

// Records the failure of a task that is cancelled or comes after a failed one. Returns its status; OK: the task may run.
consort_status fail_if_doomed(TaskGraph &, Task *) noexcept;

// A failure of the group's, not of the task that has just ended well. error_text() says why.
void fail_group(TaskGraph &, Task *, consort_status, const char *what) noexcept;

const char *task_label(const TaskGraph &, const Task &) noexcept;  // its own name or its codelet's

}  // namespace consort
