#include "exec/lost_devices.hpp"

#include "api/runtime.hpp"
#include "graph/eligible_worker.hpp"

namespace consort {

void LostDevices::add(const Device &d) noexcept { add(d.number); }

bool LostDevices::has(const Device &d) const noexcept {
  return d.number < 64 && bits_.load(std::memory_order_relaxed) >> d.number & 1;
}
bool LostDevices::has(const Worker &w) const noexcept { return any() && has(*w.unit.device); }

coherence::Spaces LostDevices::spaces(const Runtime &rt) const noexcept {
  coherence::Spaces all = 0;
  if (!any()) return all;
  for (const Space &s : rt.topology->spaces())
    if (has(*s.device)) all |= coherence::one(s.desc.id);
  return all;
}

bool give_away(Runtime &rt, ThreadState &thread, const Worker &from, Task *t) noexcept {
  Worker *const to = another_able(rt, from, t);
  if (!to) return false;
  if (t->extra && t->extra->staging) rt.memory.end(thread, t);
  to->post(t);
  return true;
}

bool run_again(Runtime &rt, ThreadState &thread, const Worker &from, Task *t) noexcept {
  // What has begun to take part in something beside its data stays begun: reductions, tokens, hooks, recordings.
  if (t->recorded() || (t->bits & (kSpecial | kBound | kScratch | kUnite | kTokens | kMore))) return false;
  Worker *const to = another_able(rt, from, t);
  if (!to || !rt.memory.undo(thread, t)) return false;
  t->bits &= static_cast<uint16_t>(~kFollowed);
  to->post(t);
  return true;
}

}  // namespace consort
