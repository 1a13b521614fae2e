#include "memory/admission.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "machine/topology.hpp"

namespace consort {
namespace {

bool uses(const Staging &s, const Replica &memory) noexcept {
  return std::any_of(s.items.begin(), s.items.end(), [&](const auto &i) { return &holder(*i.replica) == &memory; });
}

}  // namespace

Admission::Admission(const Topology &topology, const DataTable &data, BlockCache &cache, EvictionOrder &order,
                     ReplicaRecords &records, Transfers &transfers, Eviction &eviction, EvictionPolicy &policy,
                     Fetches &fetches, Stagings &stagings)
    : topology_(topology), data_(data), cache_(cache), order_(order), records_(records), transfers_(transfers),
      eviction_(eviction), policy_(policy), fetches_(fetches), stagings_(stagings), waiting_(topology.spaces().size()) {}

// -- the queues -------------------------------------------------------------------------------------------------

Outcome Admission::enqueue(Staging &s, bool first) noexcept {
  if (first) waiting_[s.space].push_front(&s);
  else waiting_[s.space].push_back(&s);
  s.queued = true;
  return Outcome::kPending;
}

Outcome Admission::admit(Staging &s) noexcept {
  if (!waiting_[s.space].empty() || grant(s) == Outcome::kPending) return enqueue(s, false);
  if (s.awaited) return Outcome::kPending;
  stagings_.begin();
  return Outcome::kDone;
}

Outcome Admission::admit_first(Staging &s) noexcept {
  // Waiting stagings may wait for memory that this thread holds.
  const bool first = waiting_[s.space].empty() || has_its_memory(s) || stagings_.held_by_its_thread(s);
  if (!first || grant(s) == Outcome::kPending) return enqueue(s, first);
  if (s.awaited) return Outcome::kPending;
  stagings_.begin();
  return Outcome::kDone;
}

bool Admission::has_its_memory(Staging &s) noexcept {
  try {
    choose(s);
  } catch (const std::bad_alloc &) {
    return true;  // grant() finds the same and reports it
  }
  return std::all_of(s.items.begin(), s.items.end(), [](const auto &i) { return i.replica->allocated; });
}

void Admission::serve() noexcept {
  for (StagingQueue &waiting : waiting_)
    while (!waiting.empty() && grant(*waiting.front()) != Outcome::kPending) {
      Staging &s = *waiting.pop_front();
      s.queued = false;
      if (s.awaited == 0) stagings_.complete(s);
    }
}

void Admission::release(Staging &s) noexcept {
  if (s.granted)
    for (auto &item : s.items) order_.unpin(*item.replica);
  give_back_scratch(s);
}

// -- a working set ------------------------------------------------------------------------------------------------

// Chooses the replica of each datum: a valid one that the unit can access, else one in its own memory. May throw.
void Admission::choose(Staging &s) {
  for (auto &item : s.items) {
    Replicas &all = records_.of(*item.datum);
    item.replica = nullptr;
    const auto usable = [&](const Replica &r) { return r.allocated && (s.reach >> r.space & 1) && !r.coming; };
    for (const auto &r : all.all)
      if (usable(*r) && (all.is_valid(*r) || !(item.mode & CONSORT_M_R)) && (!item.replica || r->space == s.space))
        item.replica = r.get();
    if (!item.replica) item.replica = &records_.in(all, *item.datum, s.space);
  }
}

// Memory shared by several of its data is counted once.
Admission::Needs Admission::needs_of(const Staging &s) const noexcept {
  Needs needs{0, 0};
  for (auto item = s.items.begin(); item != s.items.end(); ++item) {
    const Replica &r = *item->replica, &own = holder(*item->replica);
    const bool shares = &own != &r || !r.windows.empty();
    const bool named = shares && std::any_of(s.items.begin(), item,
                                             [&](const auto &i) { return &holder(*i.replica) == &own; });
    const uint64_t bytes =
        r.space != s.space || named ? 0 : &own == &r ? cache_.bytes_for(*item->datum, s.space) : own.bytes;
    if (!r.lasting) needs.whole += bytes;
    if (!r.allocated) needs.missing += bytes;
  }
  for (const auto &own : s.scratch) {
    const uint64_t bytes = cache_.bytes_for(*own.replica->datum, s.space);
    needs.whole += bytes;
    needs.missing += bytes;
  }
  return needs;
}

// Grants the whole working set or nothing. kDone: granted. kPending: it waits for memory. kRefused: impossible (see
// status).
Outcome Admission::grant(Staging &s) noexcept try {
  for (;;) {  // each round drops something or lowers a limit, so the loop ends
    bool again = false;
    const Outcome outcome = try_to_grant(s, &again);
    if (!again) return outcome;
  }
} catch (const std::bad_alloc &) {
  s.refuse(CONSORT_E_NOMEM, [] { return "no memory for the records of its data's replicas"; });
  return Outcome::kRefused;
}

// *again: memory has changed, so try once more.
Outcome Admission::try_to_grant(Staging &s, bool *again) {
  choose(s);
  if (refuse_no_place(s) == Outcome::kRefused) return Outcome::kRefused;
  const Needs needs = needs_of(s);
  if (const Outcome o = fit_into_limit(s, needs, again); o != Outcome::kDone) return o;
  if (const Outcome o = find_room(s, needs.missing); o != Outcome::kDone) return o;
  if (const Outcome o = take_memory(s, again); o != Outcome::kDone) return o;
  pin(s);
  fetch_contents(s);
  return Outcome::kDone;
}

Outcome Admission::refuse_no_place(Staging &s) noexcept {
  for (const auto &item : s.items)
    if (records_.lacks_place(*item.replica)) {
      s.refuse(CONSORT_E_NOMEM, [&] {
        return "'" + data_.name(*item.datum) + "' is a part of a datum for which there was no memory at home";
      });
      return Outcome::kRefused;
    }
  return Outcome::kDone;
}

// Whether the working set can ever fit at once, beside the data that its thread holds.
Outcome Admission::fit_into_limit(Staging &s, const Needs &needs, bool *again) noexcept {
  if (!cache_.is_counted(s.space)) return Outcome::kDone;
  const uint64_t limit = cache_.limit(s.space);
  if (needs.whole > limit) {
    if (const Outcome o = leave_windows(s, again); o != Outcome::kRefused) return o;
    s.refuse(CONSORT_E_NOMEM, [&] {
      return "it needs " + std::to_string(needs.whole) + " bytes in " + topology_.space_name(s.space) + " at once, and there are " +
             std::to_string(limit) + ": use smaller data, or raise the limit";
    });
    return Outcome::kRefused;
  }
  const uint64_t held = stagings_.held_by_its_thread(s);
  if (!held || held + needs.whole <= limit) return Outcome::kDone;
  s.refuse(CONSORT_E_NOMEM, [&] {
    return "it needs " + std::to_string(needs.whole) + " bytes in " + topology_.space_name(s.space) + ", and of the " +
           std::to_string(limit) + " that there are this thread holds " + std::to_string(held) +
           " itself: release some of it (consort_release) first, or raise the limit";
  });
  return Outcome::kRefused;
}

Outcome Admission::find_room(Staging &s, uint64_t missing) noexcept {
  if (!missing || eviction_.make_room(s.space, missing, &s) == Outcome::kDone) return Outcome::kDone;
  if (!eviction_.is_stuck(s.space)) return Outcome::kPending;
  policy_.next_asks_anew(s.space);
  s.refuse(CONSORT_E_NOMEM, [&] {
    return "it needs " + std::to_string(missing) + " bytes more in " + topology_.space_name(s.space) + ", where " +
           std::to_string(cache_.taken(s.space)) + " of " + std::to_string(cache_.limit(s.space)) +
           " are taken by contents that could not be copied elsewhere";
  });
  return Outcome::kRefused;
}

Outcome Admission::take_memory(Staging &s, bool *again) noexcept {
  consort_status status = CONSORT_OK;
  for (auto &own : s.scratch)
    if (status >= 0) status = records_.allocate(*own.replica);
  for (auto &item : s.items)
    if (status >= 0 && !item.replica->allocated) status = records_.allocate(*item.replica);
  if (status >= 0) return Outcome::kDone;
  give_back_scratch(s);  // no other task can use it while this one waits
  return short_of(s, status, again);
}

// The driver has less memory than it reported, or no single piece of that size; a smaller request may still succeed.
// Pinned memory and copies in flight will end, so wait for these; without them the request fails.
Outcome Admission::short_of(Staging &s, consort_status status, bool *again) noexcept {
  const LastError why;
  if (status == CONSORT_E_NOMEM) {
    cache_.drop_spares(s.space);
    eviction_.look_again(s.space);
    uint64_t missing = 0;
    for (const auto &item : s.items)
      if (item.replica->space == s.space && !item.replica->allocated) missing += cache_.bytes_for(*item.datum, s.space);
    for (const auto &own : s.scratch) missing += cache_.bytes_for(*own.replica->datum, s.space);
    cache_.found_full(s.space, missing);
    for (const Replica *r = order_.oldest(s.space); r; r = r->newer)
      if (!uses(s, *r)) return *again = true, Outcome::kPending;
    if (!eviction_.is_stuck(s.space)) return Outcome::kPending;
  }
  s.refuse(status, [&] { return "no memory in " + std::string(topology_.space_name(s.space)) + ": " + why.text(); });
  return Outcome::kRefused;
}

// Gives windows memory of their own if a part alone needs less than the whole. kRefused: there is no such part.
Outcome Admission::leave_windows(Staging &s, bool *again) noexcept {
  for (const auto &item : s.items) {
    Replica &r = holder(*item.replica);
    if (&r == item.replica || r.stays() || r.space != s.space) continue;
    if (r.pins) return Outcome::kPending;
    eviction_.look_again(r.space);
    if (order_.must_be_saved(r)) {
      const bool goes = eviction_.save(r, Eviction::Room::kMade) == Outcome::kDone || eviction_.saves_later(r.space);
      return goes ? Outcome::kPending : Outcome::kRefused;
    }
    eviction_.drop(r);  // other replicas may have been its windows
    return *again = true, Outcome::kPending;
  }
  return Outcome::kRefused;
}

void Admission::pin(Staging &s) noexcept {
  s.granted = true;
  for (auto &own : s.scratch) order_.pin(*own.replica);
  for (auto &item : s.items) {
    order_.pin(*item.replica);
    for (Transfer *t : item.replica->going) eviction_.count_on(*t, false);
    for (Replica *r = item.replica; r; r = r->base) {
      r->unwanted = r->leaves = r->prefetched = false;
      r->chosen = 0;
    }
    item.claimed = item.mode & CONSORT_M_W;
    if (item.claimed) ++item.datum->extra()->replicas->claims;
  }
}

// Fetches what the task reads. Writes to a replica wait for the copies that read it.
void Admission::fetch_contents(Staging &s) {
  for (auto &item : s.items) {
    if (((item.mode & CONSORT_M_R) && !is_there(*item.replica)) || item.replica->coming)
      fetches_.fetch(*item.replica, &s, nullptr);
    if (!(item.mode & CONSORT_M_W)) continue;
    for (Transfer *t : item.replica->going) {  // a save to make room: it may have been chosen before this task was admitted
      t->blocked.push_back(&s);
      if (t->wish || s.rank > 0) transfers_.hurry(*t);
      ++s.awaited;
    }
  }
}

void Admission::give_back_scratch(Staging &s) noexcept {
  for (auto &own : s.scratch) {
    if (own.replica->pins) order_.unpin(*own.replica);
    if (own.replica->allocated) records_.release(*own.replica);
  }
}

}  // namespace consort
