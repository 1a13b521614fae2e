// memory_family.cpp — Memory, the part that steps between a datum and its parts see (tree.hpp).
//
// Parts are windows into the memory that their whole has at home. So the whole is brought home before its parts may be
// used, the parts before the whole may; and where one side was written, what the other has elsewhere is worth nothing.
#include "complete.hpp"
#include "memory.hpp"
#include "runtime.hpp"

namespace consort {

bool Memory::stage_step(Hand &h, Task *t, const Family &family, Turn turn) noexcept try {
  if (t->extra && t->extra->staging) return false;  // it comes from there
  const uint32_t home = rt_.topology->home();
  Lock lock(mutex_);
  std::vector<Staging::Item> items;
  std::vector<Replicas *> leaving;
  const auto bring = [&](Datum &d) {
    const Replicas *all = replicas_if_any(d);
    if (!all) return;
    const Replica *own = all->in(home);
    if (has_contents(d))
      items.push_back({&d, CONSORT_M_R, nullptr});
    else if (!own || !own->allocated || own->coming)
      items.push_back({&d, CONSORT_M_W, nullptr});
  };
  if (turn == Turn::kDown || turn == Turn::kDownToWrite) bring(*family.whole);
  for (uint32_t i = 0; i < family.n; ++i) {
    if (turn == Turn::kUp) bring(*family.parts[i]);
    Replicas *all = turn == Turn::kOver ? replicas_if_any(*family.parts[i]) : nullptr;
    if (!all) continue;
    all->retired = true;
    if (all->flying) leaving.push_back(all);
  }
  if (items.empty() && leaving.empty()) return false;
  Staging *s = stage_at_home(h, t);
  s->items = std::move(items);
  for (Replicas *all : leaving) {
    all->leaving = s;
    ++s->awaited;
  }
  return sent(*s);
} catch (const std::bad_alloc &) {
  return false;
}

void Memory::settle_step(Task *t, const Family &family, Turn turn) noexcept {
  const auto home = coherence::one(rt_.topology->home());
  {
    Lock lock(mutex_);
    const auto only_at_home = [&](const Datum &d) {
      Replicas *all = replicas_if_any(d);
      if (!all) return;
      all->valid = home;
      ++all->version;
    };
    const bool down = turn == Turn::kDown || turn == Turn::kDownToWrite;
    if (Replicas *all = down ? replicas_if_any(*family.whole) : nullptr)
      if (Replica *own = all->in(rt_.topology->home()); own && own->allocated) {
        own->anchored = true;
        unlist(*own);
      }
    if (turn == Turn::kDownToWrite || turn == Turn::kLetWrite) only_at_home(*family.whole);
    if (Replicas *all = turn == Turn::kOver ? nullptr : replicas_if_any(*family.whole); all && turn != Turn::kDown)
      all->in_parts = turn != Turn::kUp;
    for (uint32_t i = 0; down && i < family.n; ++i) only_at_home(*family.parts[i]);
  }
  const Staging *s = t->extra ? t->extra->staging : nullptr;
  if (!s || s->status >= 0) return;
  record_failure(rt_, t, s->status, s->text, s->items.empty() ? nullptr : s->items[0].datum, CONSORT_NONE, nullptr);
  for (const auto &item : s->items) {  // any of them may not have come: none is believed
    rt_.data.blame(*item.datum, rt_.failures.find(t->pub.id));
    item.datum->state.fetch_or(data_state::kPoisoned, std::memory_order_relaxed);
  }
}

}  // namespace consort
