// submission_fields.hpp — the fields of a task's description: checks them and writes them to the draft's record.
//
// The submitting thread calls these in order, without the submission right. A refusal (< 0) sets the error text. The
// checks are inline, their texts are not.
#pragma once
#include "graph/task_graph.hpp"
#include "task/access_modes.hpp"

namespace consort {

struct RepeatState;
struct SubmissionDraft;

inline constexpr uint32_t kTaskFlags = CONSORT_TASK_UNORDERED | CONSORT_TASK_REPEAT;

[[gnu::cold]] const consort_task_desc &copy_fields(const consort_task_desc &given, consort_task_desc &whole) noexcept;
[[gnu::cold]] consort_status refuse_flags(const consort_task_desc &) noexcept;
[[gnu::cold]] consort_status refuse_codelet(const TaskGraph &, const consort_task_desc &, const Codelet *) noexcept;
[[gnu::cold]] consort_status refuse_counts(const consort_task_desc &) noexcept;
[[gnu::cold]] consort_status refuse_group() noexcept;
consort_status stale_datum(const consort_use &, uint32_t i);

// Returns the description with every field of this header. One of an older header has fewer: it is copied to `whole`,
// and its other fields have the default values.
inline const consort_task_desc &with_all_fields(const consort_task_desc &given, consort_task_desc &whole) noexcept {
  // A brief description that repeats is not brief: a repeating one has a consort_task_more, and the brief one ends
  // before `more`.
  const bool is_brief = given.size == CONSORT_TASK_BRIEF && !(given.flags & CONSORT_TASK_REPEAT);
  if (is_brief || given.size >= sizeof whole) [[likely]] return given;
  return copy_fields(given, whole);
}

inline consort_status check_flags(const consort_task_desc &d) noexcept {
  if ((d.flags & ~kTaskFlags) || (d.size != CONSORT_TASK_BRIEF && d.reserved)) [[unlikely]] return refuse_flags(d);
  return CONSORT_OK;
}

// Returns nullptr in *codelet for an empty task.
inline consort_status find_codelet(const TaskGraph &rt, const consort_task_desc &d, Codelet **codelet) noexcept {
  *codelet = nullptr;
  if (!d.codelet.v) return CONSORT_OK;
  Codelet *const c = *codelet = rt.codelets.find(d.codelet);
  if (!c || !c->live.load(std::memory_order_relaxed) || !c->where ||
      (c->nmodes != CONSORT_NONE && c->nmodes != d.nuses)) [[unlikely]]
    return refuse_codelet(rt, d, c);
  return CONSORT_OK;
}

inline consort_status check_counts(const consort_task_desc &d) noexcept {
  if ((d.nuses && !d.uses) || (d.nargs && !d.args) || d.nuses > kMostUses || d.nargs > 255) [[unlikely]]
    return refuse_counts(d);
  return CONSORT_OK;
}

// A task without a group joins that of the running task.
inline consort_status find_group(TaskGraph &rt, const ThreadState &thread, const consort_task_desc &d,
                                 Group **group) noexcept {
  if (d.group.v) *group = rt.groups.find(d.group);
  else *group = thread.task ? thread.task->group : &rt.groups.standard();
  if (!*group) [[unlikely]] return refuse_group();
  return CONSORT_OK;
}

// Fills the draft's record and its claims. again: the turn before has ended.
consort_status read_fields(SubmissionDraft &, const consort_task_desc &, RepeatState *again) noexcept;

}  // namespace consort
