// submission_options.hpp — rare options of a submission (consort_task_more): moves them from the description to the
// task.
//
// The submitting thread calls these in order, before and after the task is linked.
#pragma once
#include <consort/consort.h>

namespace consort {

struct RepeatState;
struct SubmissionDraft;

// First the checks without the task's name, then the ones that need it. again: the turn before has ended.
consort_status read_more(SubmissionDraft &, const consort_task_desc &, RepeatState *again) noexcept;
consort_status enter_order(SubmissionDraft &, const consort_task_desc &) noexcept;
// Under the right: the task will be sent, and nothing may fail any more.
void settle_order(SubmissionDraft &, const consort_task_desc &) noexcept;
void leave_order(SubmissionDraft &) noexcept;       // the submission was refused

}  // namespace consort
