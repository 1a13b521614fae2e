// failed_task.hpp — records the failure of a task, and poisons what it would have written.
#pragma once
#include <memory>
#include <string_view>

#include "graph/task_graph.hpp"

namespace consort {

// Records the reason and poisons what the task would have written. `datum`: on which it failed, may be nullptr.
void record_failure(TaskGraph &, Task *, consort_status, std::string_view text, Datum *datum, uint32_t worker,
                    std::shared_ptr<const Failure> cause) noexcept;

// For a task whose failure was recorded while a predecessor was unfinished, which may have written since.
void poison_again(TaskGraph &, const Task *) noexcept;

// Records the failure of a task that is cancelled or follows a failed one. Returns its status; OK: the task may run.
consort_status fail_if_doomed(TaskGraph &, Task *) noexcept;

// Records a failure of the group, not of the task, which has just succeeded. error_text() is the reason.
void fail_group(TaskGraph &, Task *, consort_status, const char *what) noexcept;

const char *task_label(const TaskGraph &, const Task &) noexcept;  // its own name or its codelet's

}  // namespace consort
