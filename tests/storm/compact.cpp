// compact.cpp — a case without irrelevant parts: without dropped steps, steps that the oracle skips, and unused data.
// Its steps are those of the oracle, so that a reader need not know the oracle's rules.
#include <map>

#include "storm/case.hpp"
#include "stress/mixed_oracle.hpp"

namespace storm {
namespace {

using mixed::Kind;
using mixed::Step;

// Whether the step stays: a recorded step stays with its recording.
bool stays(const mixed::Program &p, const std::deque<mixed::Fate> &fates, size_t s) {
  if (p.dropped[s]) return false;
  const Step &t = p.steps[s];
  if (t.recorded >= 0) return p.has(t.recorded) && !fates[static_cast<size_t>(t.recorded)].skip;
  return !fates[s].skip;
}

void take_word_of_oracle(Step &s, const mixed::Fate &f) {
  if (s.kind != Kind::kTask || s.recorded >= 0) return;
  s.uses = f.uses;
  s.unordered = f.unordered;
  s.group = s.parent >= 0 ? 0 : f.group;
  s.tag = f.tag;
  if (f.tag < 0) s.by_tags = false, s.needs_tag = -1;
  s.releases = f.releases;
  s.end_after = f.end_after;
  if (!f.end_held) s.end_release = -1;
  if (f.ends != CONSORT_E_IO) s.fails = false;
  if (s.team || s.parent >= 0) s.plain = false;
  bool waits = false;
  for (size_t i = 0; i < f.children.size(); ++i) waits = true;
  s.waits = s.waits && waits;
}

// The first half of the data but the last are the program's, the second half their shadows: both go, or both stay.
mixed::Program without_unused_data(mixed::Program p) {
  const auto half = p.slots.size() / 2;
  std::vector<bool> used(half, false);
  for (const Step &s : p.steps)
    for (const mixed::Use &u : s.uses)
      if (u.slot >= 0 && u.slot < static_cast<int>(2 * half)) used[static_cast<size_t>(u.slot) % half] = true;
  if (std::find(used.begin(), used.end(), true) == used.end() && half) used[0] = true;
  std::vector<int> now(p.slots.size(), -1);
  std::vector<mixed::Slot> slots;
  for (size_t d = 0; d < p.slots.size(); ++d) {
    if (d < 2 * half && !used[d % half]) continue;
    now[d] = static_cast<int>(slots.size());
    slots.push_back(p.slots[d]);
  }
  p.slots = slots;
  p.own_slot = static_cast<int>(slots.size()) - 1;
  for (Step &s : p.steps)
    for (mixed::Use &u : s.uses)
      if (u.slot >= 0 && u.slot < mixed::kParts) u.slot = now[static_cast<size_t>(u.slot)];
  return p;
}

mixed::Program compact(const mixed::Program &p) {
  std::deque<mixed::Fate> fates(p.steps.size());
  std::deque<mixed::Life> lives;
  const mixed::Oracle oracle(p, fates, lives);
  std::map<int, int> step_of, slot_of;
  mixed::Program out = p;
  out.steps.clear();
  for (size_t s = 0; s < p.steps.size(); ++s)
    if (stays(p, fates, s)) step_of[static_cast<int>(s)] = static_cast<int>(step_of.size());
  const auto now = [&](int s) { return step_of.count(s) ? step_of[s] : -1; };
  const auto all_now = [&](std::vector<int> &steps) {
    std::vector<int> kept;
    for (const int s : steps)
      if (step_of.count(s)) kept.push_back(step_of[s]);
    steps = kept;
  };
  for (size_t s = 0; s < p.steps.size(); ++s) {
    if (!stays(p, fates, s)) continue;
    Step t = p.steps[s];
    take_word_of_oracle(t, fates[s]);
    all_now(t.after);
    all_now(t.end_after);
    t.parent = now(t.parent);
    t.recorded = now(t.recorded);
    t.end_release = now(t.end_release);
    t.releases = now(t.releases);
    if (t.kind != Kind::kPlan && t.kind != Kind::kRecord) t.other = now(t.other);
    out.steps.push_back(std::move(t));
  }
  out.dropped.assign(out.steps.size(), 0);
  return without_unused_data(std::move(out));
}

}  // namespace

Case compact(const Case &c) {
  Case out = c;
  for (mixed::Program &p : out.programs) p = compact(p);
  return out;
}

}  // namespace storm
