#include "exec/reassign.hpp"

#include "exec/execution.hpp"
#include "graph/eligible_worker.hpp"

namespace consort {

bool give_away(Execution &rt, ThreadState &thread, const Worker &from, Task *t) noexcept {
  Worker *const to = another_able(rt, from, t);
  if (!to) return false;
  if (t->extra && t->extra->staging) rt.execution_memory->end(thread, t);
  to->post(t);
  return true;
}

bool run_again(Execution &rt, ThreadState &thread, const Worker &from, Task *t) noexcept {
  // Effects beyond its data cannot be undone: reductions, tokens, hooks, recordings.
  if (t->recorded() || (t->bits & (kSpecial | kBound | kScratch | kUnite | kTokens | kMore))) return false;
  Worker *const to = another_able(rt, from, t);
  if (!to || !rt.execution_memory->undo(thread, t)) return false;
  t->bits &= static_cast<uint16_t>(~kFollowed);
  to->post(t);
  return true;
}

}  // namespace consort
