// partition_order.hpp — one order of accesses for a datum, its plans, their parts, and the parts' plans.
//
// The parts of a plan share bytes with the whole. So at any point of the order either the whole may be written, or the
// parts of one plan. Reads are possible together on all levels. The plan's state says which applies. An access that
// does not fit is preceded by steps that bring the tree to a fitting state. Steps are tasks without a body, linked to
// earlier and later accesses as far as these share bytes. So readers never wait for readers, nor writers of different
// parts for each other. The state of the contents (valid, poisoned, location) is passed down and up at a step's turn.
//
// Under the right over the tree, which one lock covers, except the actions of steps at their turn.
#pragma once
#include "graph/partition_plan.hpp"
#include "graph/submission_draft.hpp"
#include "task/kinds.hpp"

namespace consort {

// Brings the trees of a draft's data to states that fit its accesses. < 0: refused, error text set.
consort_status enter_trees(SubmissionDraft &) noexcept;

// Returns true for the same datum, for a datum and its part, or for parts of two plans of one datum. Under the right,
// or while both live.
bool may_share_bytes(const Datum &, const Datum &) noexcept;

// Ends a plan: its names become invalid now, the rest when its users have ended. < 0: error text set, and only steps
// were added.
consort_status end_plan(SubmissionDraft &, PartitionPlan &) noexcept;
consort_status end_plans(SubmissionDraft &, Datum &) noexcept;  // all plans of a datum

const KindTable &step_kind() noexcept;
const char *step_label(const Task &) noexcept;

}  // namespace consort
