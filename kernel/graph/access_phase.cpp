#include "graph/access_phase.hpp"

#include "base/last_error.hpp"
#include "graph/formats.hpp"
#include "graph/internal_task.hpp"
#include "graph/partition_order.hpp"
#include "graph/reduction.hpp"
#include "task/data_keepers.hpp"

namespace consort {

// Defined here, where Reduction and Formats are complete.
AccessOrder::AccessOrder() = default;
AccessOrder::~AccessOrder() = default;

namespace {

using Phase = AccessOrder::Phase;

Phase wanted_by(uint32_t mode) noexcept {
  return mode & CONSORT_M_REDUX ? Phase::kOnCopies : mode & CONSORT_M_COMMUTE ? Phase::kOneByOne : Phase::kTogether;
}

// Ends the datum's phase, so that the names among its readers have no special meaning.
consort_status leave_phase(SubmissionDraft &draft, Datum &d, AccessOrder &discipline, bool contents_matter) noexcept {
  consort_status s = CONSORT_OK;
  if (discipline.phase == Phase::kOnCopies) s = contents_matter ? unite(draft, d) : forget_copies(draft, d);
  else if (d.nreaders) s = insert_junction(draft, d);
  if (s < 0) return s;
  if (discipline.phase == Phase::kOnCopies) close_phase(d);
  discipline.phase = Phase::kTogether;
  return s;
}

}  // namespace

consort_status enter_plainly(SubmissionDraft &draft, Datum &d, AccessOrder &discipline, bool alone,
                             bool contents_matter) noexcept {
  if (discipline.phase == Phase::kTogether) return CONSORT_OK;
  if (!alone || discipline.phase == Phase::kOnCopies) return leave_phase(draft, d, discipline, contents_matter);
  discipline.phase = Phase::kTogether;  // the access waits for all of them, whatever their kind
  return CONSORT_OK;
}

namespace {

consort_status enter_phase(SubmissionDraft &draft, Claim &claim) noexcept {
  Datum &d = *claim.datum;
  if (d.keeper && !draft.rt.data_keepers->let_go(d)) return no_memory();
  const Phase wanted = wanted_by(claim.mode);
  AccessOrder *discipline = discipline_if_any(d);
  const bool loose = draft.unordered || (discipline && !discipline->ordered && !(draft.t->bits & kSpecial));
  if (!discipline) {
    if (wanted == Phase::kTogether && !loose) return CONSORT_OK;
    if (!(discipline = discipline_of(d))) return no_memory();
  }
  if (wanted == Phase::kOnCopies)
    if (const consort_status s = check_reduction(draft, d); s < 0) return s;
  if (loose && wanted != Phase::kOnCopies) {
    claim.mode |= Claim::kLoose;
    return CONSORT_OK;
  }
  if (!shares(claim.mode)) {
    const bool contents_matter = (claim.mode & CONSORT_M_R) || (draft.t->kind == TaskKind::kRetire);
    if (const consort_status s = enter_plainly(draft, d, *discipline, true, contents_matter); s < 0) return s;
  } else if (discipline->phase != wanted || (wanted == Phase::kOnCopies && changes_kind(*discipline, claim.mode))) {
    if (const consort_status s = leave_phase(draft, d, *discipline, true); s < 0) return s;
    if (wanted == Phase::kOnCopies)
      if (const consort_status s = open_phase(draft, d); s < 0) return s;
    discipline->phase = wanted;
  }
  mark_odd(d);
  return wanted == Phase::kOnCopies ? enter_reduction(draft, claim) : CONSORT_OK;
}

}  // namespace

bool goes_beside(const Datum &d, uint32_t mode) noexcept {
  if (mode != CONSORT_M_REDUX && (mode | CONSORT_M_R) != (CONSORT_M_RW | CONSORT_M_COMMUTE)) return false;
  const AccessOrder *discipline = discipline_if_any(d);
  if (!discipline || !discipline->ordered || discipline->formats || d.keeper || discipline->phase != wanted_by(mode) ||
      !is_open(*discipline))
    return false;
  // members of a fixed tree are also linked to their copies; see read_uses()
  return mode != CONSORT_M_REDUX || (!discipline->reduction->fixed && !copies_are_moved(discipline->reduction->rt));
}

consort_status enter_phases(SubmissionDraft &draft) noexcept {
  if (const consort_status s = enter_formats(draft); s < 0) return s;
  if (const consort_status s = enter_trees(draft); s < 0) return s;
  for (uint32_t i = 0; i < draft.nclaims; ++i)
    if (const consort_status s = enter_phase(draft, draft.claims[i]); s < 0) return s;
  return CONSORT_OK;
}

}  // namespace consort
