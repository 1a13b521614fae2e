// access_phase.hpp — brings the data of a submission into the phase that each access needs (AccessOrder::Phase).
#pragma once
#include "graph/access_order.hpp"

namespace consort {

struct SubmissionDraft;

// Before a draft is linked, under the right: brings each of its data into the phase of its access, by internal tasks if
// necessary. < 0: refused, error text set; tasks inserted so far remain and are harmless.
consort_status enter_phases(SubmissionDraft &) noexcept;
// Under the right: returns whether a commuting or reducing access can join others of its kind at the end of the chain,
// so that it only needs a link. Otherwise enter_phases() acts or reports the error.
bool goes_beside(const Datum &, uint32_t mode) noexcept;
// One datum: ends its phase for a plain access, which is exclusive or shared.
consort_status enter_plainly(SubmissionDraft &, Datum &, AccessOrder &, bool alone, bool contents_matter) noexcept;

}  // namespace consort
