// eligibility.hpp — which implementations of a task's codelet a worker can run: the class settles it, unless the codelet asks.
//
// Any thread. A codelet's question (can_execute) is the application's code: it is called without a lock of the kernel,
// no exception leaves it, and meanwhile this thread may neither wait nor change the scheduler.
#pragma once
#include "task/core.hpp"

namespace consort {

// Bit i: implementation i.
uint64_t able(Core &, const Codelet &, uint32_t klass, uint32_t worker, TaskName) noexcept;

// For all of the team's members.
uint64_t able_team(Core &, const Codelet &, const Team &, TaskName) noexcept;
// Does its codelet say so?
inline bool may_run(const consort_task &t, const Team &team) noexcept {
  return (t.flags & CONSORT_TK_TEAM) && team.size() <= t.team_max && (t.where >> team.klass & 1);
}

// Of these, without those that are text which the worker's device has refused.
uint64_t without_refused(const Core &, const Codelet &, uint32_t worker, uint64_t mask) noexcept;

// What a codelet is told of the task that it is asked about: nothing, where it is the kernel's own.
inline TaskName asked_about(const Task &t) noexcept { return t.pub.flags & CONSORT_TK_INTERNAL ? 0 : t.pub.id; }

}  // namespace consort
