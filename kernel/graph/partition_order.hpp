// partition_order.hpp — a datum, its plans, their parts, and theirs: one order for all of them.
//
// The parts of a plan and the whole share bytes, so at any point of the order either the whole may be written, or the
// parts of one plan; reading goes together on all levels. Which of these it is, is the plan's state. An access that
// does not fit is preceded by steps that bring the tree to where it fits: tasks without body that the accesses before
// and behind hang on as their bytes demand, so readers never wait for readers, nor writers of different parts for one
// another. What is in the data (valid, poisoned, where) goes down and up when a step's turn comes.
//
// Under the right over the tree, which one lock covers; but for what the steps do when their turn comes.
#pragma once
#include "graph/partition_plan.hpp"
#include "graph/submission_draft.hpp"
#include "task/kinds.hpp"

namespace consort {

// Brings the trees of a draft's data to where its accesses fit. < 0: refused, told.
consort_status enter_trees(SubmissionDraft &) noexcept;

// The same datum, one a part of the other, or parts of two plans of one datum. Under the right, or while both live.
bool may_share_bytes(const Datum &, const Datum &) noexcept;

// Ends a plan: its names die now, the rest when its users are done. < 0: told, and nothing has changed but steps.
consort_status end_plan(SubmissionDraft &, PartitionPlan &) noexcept;
consort_status end_plans(SubmissionDraft &, Datum &) noexcept;  // all of a datum's

const KindTable &step_kind() noexcept;
const char *step_label(const Task &) noexcept;

}  // namespace consort
