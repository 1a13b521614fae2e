// submission_options.hpp — the rare options of a submission (consort_task_more), from the description into the task.
//
// The submitting thread calls these in order, before and after the task is linked.
#pragma once
#include <consort/consort.h>

namespace consort {

struct RepeatState;
struct SubmissionDraft;

// Of a description: what can be refused without the task's name, then what needs it. again: the turn before has ended.
consort_status read_more(SubmissionDraft &, const consort_task_desc &, RepeatState *again) noexcept;
consort_status enter_order(SubmissionDraft &, const consort_task_desc &) noexcept;
// Under the right: the task will be sent, nothing may fail any more.
void settle_order(SubmissionDraft &, const consort_task_desc &) noexcept;
void leave_order(SubmissionDraft &) noexcept;       // refused after all

}  // namespace consort
