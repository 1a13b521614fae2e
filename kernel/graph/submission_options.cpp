#include "graph/submission_options.hpp"

#include <cstring>

#include "base/last_error.hpp"
#include "graph/bundle.hpp"
#include "graph/link_steps.hpp"
#include "graph/repeat.hpp"
#include "graph/submission_draft.hpp"
#include "graph/task_options.hpp"

namespace consort {
namespace {

// Makes the guard of a task that ends only after others: it is linked behind them and then releases the task's
// completion.
consort_status make_guard(SubmissionDraft &draft, const consort_task_more &m) noexcept {
  for (uint32_t i = 0; i < m.nend_after; ++i)
    if (!m.end_after[i].v || !draft.rt.tasks.holds(static_cast<uint32_t>(m.end_after[i].v)))
      return set_errorf(CONSORT_E_INVAL, "end_after[%u] is no task of this runtime", i);
  Task *guard = draft.guard = draft.thread.take_lent();
  if (!guard) return no_memory();
  blank_special(guard, TaskKind::kGate);
  guard->pub.id = (guard->word.load(std::memory_order_relaxed) & ~uint64_t{0xffffffff}) | draft.rt.tasks.index(guard);
  guard->group = &draft.rt.groups.standard();
  if (m.nend_after > kInlineLinks && !reserve_more(draft.rt, draft.thread, guard, m.nend_after)) return no_memory();
  return CONSORT_OK;
}

}  // namespace

consort_status read_more(SubmissionDraft &draft, const consort_task_desc &d, RepeatState *again) noexcept {
  constexpr uint32_t kFlags = CONSORT_MORE_TAG;
  static constexpr consort_task_more kNone = CONSORT_TASK_MORE_INIT;
  const consort_task_more &m = d.more ? *d.more : kNone;
  if (m.size < sizeof m)
    return set_errorf(CONSORT_E_INVAL,
                      "more->size is %u: set it to sizeof(struct consort_task_more), or use CONSORT_TASK_MORE_INIT",
                      m.size);
  if (m.flags & ~kFlags)
    return set_errorf(CONSORT_E_INVAL,
                      "more->flags has 0x%x, which this runtime does not know: CONSORT_MORE_TAG is what there is",
                      m.flags & ~kFlags);
  if (m.nend_after && !m.end_after) return set_error(CONSORT_E_INVAL, "nend_after is not 0, but end_after is NULL");
  const bool repeats = d.flags & CONSORT_TASK_REPEAT;
  if (repeats && !d.codelet.v)
    return set_error(CONSORT_E_INVAL, "an empty task cannot repeat: it would for ever be its own successor");
  TaskOptions *more = more_of(draft.thread, draft.t);
  if (!more) return no_memory();
  more->ready = m.ready;
  more->begin = m.begin;
  more->done_drop = m.done_drop;
  more->tag = m.tag;
  draft.turns = again;
  if (repeats) {  // the arguments are needed again: RepeatState drops them after the last turn
    more->ready.drop = more->begin.drop = more->done_drop = nullptr;
    if (!again) {
      draft.made_turns = Repeats::copy(d);
      draft.turns = draft.made_turns.get();
      if (!draft.turns) return no_memory();
    }
  }
  return m.nend_after ? make_guard(draft, m) : CONSORT_OK;
}

consort_status enter_order(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  TaskOptions &more = *draft.t->extra->more;
  const bool again = draft.turns && !draft.made_turns;
  if (d.more && d.more->bundle.v)
    if (const consort_status s = draft.rt.bundles.enter(d.more->bundle, again, &more.bundle); s < 0) return s;
  if (d.more && d.more->flags & CONSORT_MORE_TAG) {
    if (const consort_status s = draft.rt.tags.carry(draft.thread, draft.t, more.tag); s < 0) return s;
    more.tagged = true;
  }
  return CONSORT_OK;
}

void settle_order(SubmissionDraft &draft, const consort_task_desc &d) noexcept {
  Task *const t = draft.t;
  TaskOptions &more = *t->extra->more;
  if (draft.turns) {
    draft.rt.repeats.begin(*draft.turns, t->pub.id, t->group->id());
    more.turns = draft.turns;
    (void)draft.made_turns.release();
  }
  const uint32_t holds = d.more ? d.more->end_holds : 0;
  if (!holds && !draft.guard) return;
  draft.rt.ends.enlist(t, holds, draft.guard);
  if (!draft.guard) return;
  std::memcpy(draft.guard->payload, &t->pub.id, sizeof t->pub.id);
  Linker linker(draft.rt, draft.guard);
  for (uint32_t i = 0; i < d.more->nend_after; ++i) linker.after(d.more->end_after[i].v);
  // sent; else the submitter ends it
  if (!let_go(draft.rt, draft.guard, linker, pending::kGuard)) draft.guard = nullptr;
}

void leave_order(SubmissionDraft &draft) noexcept {
  TaskOptions &more = *draft.t->extra->more;
  if (more.bundle) draft.rt.bundles.leave(*more.bundle);
  if (more.tagged) draft.rt.tags.put_down(more.tag);
}

}  // namespace consort
