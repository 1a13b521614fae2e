// The room graph: how tasks are ordered. Submission, links between accesses, tags, reductions, partitions, completion.
// It includes sched, model, task and below; exec and above use it. Start with submit.hpp (without options),
// submit_full.cpp (with options), link_steps.hpp (common to both) and complete.hpp.
//
// submit.hpp — submission of a task: its record, its place in the chains of its data, its push to the policy.
#pragma once
#include <consort/consort.h>

#include "graph/submission_right.hpp"
#include "graph/submit_special.hpp"

namespace consort {

consort_status submit(TaskGraph &, const consort_task_desc &, consort_task_id *out) noexcept;

// Pushes the tasks that this thread holds back (Worker::kept), since it is about to wait.
void push_kept(TaskGraph &, ThreadState &) noexcept;

}  // namespace consort
