// access_phase.hpp — brings the data of a submission into the phases that its accesses want (AccessOrder::Phase).
#pragma once
#include "graph/access_order.hpp"

namespace consort {

struct SubmissionDraft;

// Before a draft is linked, under the right: brings each of its data into the phase that its access wants, by tasks of
// the kernel's own where need be. < 0: refused, told; what was inserted stays, and does no harm.
consort_status enter_phases(SubmissionDraft &) noexcept;
// Under the right: would an access that commutes or reduces join others of its kind at the end of the chain, so that
// nothing but its link is missing? No: enter_phases() knows what to do, or what is wrong.
bool goes_beside(const Datum &, uint32_t mode) noexcept;
// The datum alone: leaves whatever phase it is in for a plain access, which has it alone or shares it.
consort_status enter_plainly(SubmissionDraft &, Datum &, AccessOrder &, bool alone, bool contents_matter) noexcept;

}  // namespace consort
