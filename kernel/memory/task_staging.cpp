#include "memory/task_staging.hpp"

#include <algorithm>
#include <utility>

#include "base/last_error.hpp"
#include "graph/reduction.hpp"
#include "memory/transfer_cost.hpp"
#include "task/frame.hpp"
#include "task/thread_state.hpp"
#include "task/worker.hpp"

namespace consort {
namespace {

// The spaces where its contents from before the task's write are still intact.
coherence::Spaces left_as_before(const Staging::Item &item, coherence::Spaces gone) noexcept {
  coherence::Spaces left = 0;
  for (const auto &r : item.datum->extra()->replicas->all)
    if (r->allocated && !r->coming && !r->base && r->windows.empty()) left |= coherence::one(r->space);
  return item.before & left & ~gone;
}

// A task behind it has written since, in a space that is not lost.
bool was_changed_since(const Staging::Item &item, coherence::Spaces gone) noexcept {
  const Replicas &all = *item.datum->extra()->replicas;
  return item.version != all.version && (all.valid & ~gone);
}

}  // namespace

std::unique_ptr<Staging> TaskStaging::working_set(const ThreadState &thread, Worker &w, Task *t) {
  auto s = std::make_unique<Staging>(Staging{.task = t,
                                             .worker = &w,
                                             .space = w.unit.desc.space,
                                             .reach = w.reach,
                                             .rank = thread.rank_of(t->pub.id)});
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    if ((a.mode & CONSORT_M_SCRATCH) && a.datum->bytes && cache_.grants_scratch(s->space))
      s->scratch.push_back({i, ReplicaRecords::scratch(*Datum::of(a.datum), s->space)});
    if (!is_moved(a)) continue;
    Datum *d = datum_for(a);
    if (!d->pub.bytes) continue;
    const bool empty = (t->bits & kUnite) && !(d->state.load(std::memory_order_relaxed) & data_state::kValid);
    const uint32_t mode = empty ? uint32_t{CONSORT_M_W} : a.mode & CONSORT_M_REDUX ? uint32_t{CONSORT_M_RW} : a.mode;
    auto same = std::find_if(s->items.begin(), s->items.end(), [&](const auto &item) { return item.datum == d; });
    if (same != s->items.end())
      same->mode |= mode;
    else
      s->items.push_back({d, mode, nullptr});
  }
  return s;
}

Outcome TaskStaging::admit(const ThreadState &thread, Worker &w, Task *t, const Frame &f) {
  Staging &s = *(t->extra->staging = working_set(thread, w, t).release());
  s.impl = f.call.impl;
  s.picked = f.picked;
  stagings_.add(s);
  return admission_.admit(s);
}

void TaskStaging::begin_writes(Staging &s) noexcept {
  for (auto &item : s.items) {
    if (!(item.mode & CONSORT_M_W)) continue;
    Replicas &all = *item.datum->extra()->replicas;
    item.before = all.valid;
    all.valid = coherence::after(all.valid, item.replica->space,
                                 item.mode & CONSORT_M_R ? coherence::Event::kUpdate : coherence::Event::kWrite);
    item.version = ++all.version;
    records_.clear_unsure(all);
  }
}

consort_status TaskStaging::begin(Task *t, Frame &f, Datum **blamed) noexcept {
  Staging &s = *t->extra->staging;
  if (s.status < 0) {
    *blamed = s.items.empty() ? nullptr : s.items[0].datum;
    return set_error(s.status, s.text);
  }
  begin_writes(s);
  for (uint32_t i = 0; i < t->pub.naccess; ++i) {
    const consort_access &a = t->pub.access[i];
    const Datum *d = is_moved(a) ? datum_for(a) : nullptr;
    for (const auto &item : s.items)
      if (item.datum == d) f.views[i] = item.replica->view;
  }
  for (const auto &own : s.scratch) f.views[own.access] = own.replica->view;
  f.call.impl = s.impl;
  f.picked = s.picked;
  return CONSORT_OK;
}

void TaskStaging::end(Task *t, bool wrote) noexcept {
  std::unique_ptr<Staging> s(std::exchange(t->extra->staging, nullptr));
  stagings_.end();
  outlook_.refresh();  // drops the noted uses of this task
  for (const auto &item : s->items) outlook_.used(*item.datum, t->pub.id);
  stagings_.remove(*s);
  admission_.release(*s);
  if (!s->worker && s->status >= 0 && wrote) begin_writes(*s);
  for (auto &item : s->items) {
    if (!item.replica) continue;  // no memory for its records: nothing was chosen
    Replicas &all = *item.datum->extra()->replicas;
    if (std::exchange(item.claimed, false)) --all.claims;
    // Not if its follower on the same queue already writes: then the end of that one copies it.
    if ((item.mode & CONSORT_M_W) && all.through && item.version == all.version) requests_.write_through(*item.datum);
    eviction_.leave(holder(*item.replica));
  }
}

// No other task uses the memory while one writes. If the task before it in the same queue ran again elsewhere, the
// datum is as that one left it.
bool TaskStaging::undo(Task *t, coherence::Spaces gone) noexcept {
  Staging *const s = t->extra ? t->extra->staging : nullptr;
  for (uint32_t i = 0; i < t->pub.naccess && !s; ++i) {  // no staging: all data were valid
    const consort_access &a = t->pub.access[i];
    if (changes(a.mode) && a.mode != CONSORT_M_W && !(valid_spaces(*Datum::of(a.datum)) & ~gone)) return false;
  }
  if (!s) return true;
  for (const auto &item : s->items)
    if ((item.mode & CONSORT_M_W) && (item.mode & CONSORT_M_R) && !left_as_before(item, gone) &&
        !was_changed_since(item, gone))
      return false;
  for (auto &item : s->items) {
    if (!(item.mode & CONSORT_M_W)) continue;
    Replicas &all = *item.datum->extra()->replicas;
    if (const coherence::Spaces before = left_as_before(item, gone); before || !was_changed_since(item, gone)) {
      all.valid = before;
      ++all.version;
    }
    item.mode &= ~uint32_t{CONSORT_M_W};
  }
  return true;
}

}  // namespace consort
