// eligibility.hpp — which implementations of a task's codelet a worker can run: decided by the class, and by
// can_execute if the codelet has it.
//
// Any thread. can_execute is application code: it is called without a kernel lock, no exception leaves it, and
// meanwhile this thread may neither wait nor change the scheduler.
#pragma once
#include "task/core.hpp"

namespace consort {

// Bit i: implementation i.
uint64_t able(Core &, const Codelet &, uint32_t klass, uint32_t worker, TaskName) noexcept;

// The intersection over the team's members.
uint64_t able_team(Core &, const Codelet &, const Team &, TaskName) noexcept;
// Returns whether the task's codelet permits this team.
inline bool may_run(const consort_task &t, const Team &team) noexcept {
  return (t.flags & CONSORT_TK_TEAM) && team.size() <= t.team_max && (t.where >> team.klass & 1);
}

// Removes those implementations of `mask` whose text the worker's device has refused.
uint64_t without_refused(const Core &, const Codelet &, uint32_t worker, uint64_t mask) noexcept;

// The task name passed to can_execute: 0 for an internal task.
inline TaskName asked_about(const Task &t) noexcept { return t.pub.flags & CONSORT_TK_INTERNAL ? 0 : t.pub.id; }

}  // namespace consort
