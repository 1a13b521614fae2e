#include "memory/fetches.hpp"

#include <algorithm>

#include "base/last_error.hpp"
#include "graph/partition_plan.hpp"
#include "machine/topology.hpp"

namespace consort {
namespace {

bool is_or_lies_in(const Datum &d, const Datum &whole) noexcept {
  const Datum *at = &d;
  while (at != &whole) {
    const AccessOrder *discipline = discipline_if_any(*at);
    if (!discipline || !discipline->part_of) return false;
    at = discipline->part_of->whole;
  }
  return true;
}

// Spaces from which a copy of the datum, or of one that contains it, has failed for this task.
coherence::Spaces failed_sources(const Staging *s, const Datum &d) noexcept {
  coherence::Spaces spaces = 0;
  for (size_t i = 0; s && i < s->items.size(); ++i)
    if (is_or_lies_in(*s->items[i].datum, d)) spaces |= s->items[i].failed;
  return spaces;
}

template <class F>
Outcome refuse(Staging *s, consort_status status, F words) noexcept {
  if (s) s->refuse(status, words);
  return Outcome::kRefused;
}

}  // namespace

// Returns whether the replica can be the source of a copy to that space. Not if the copy would overwrite a valid
// replica on its route.
bool Fetches::is_source(const Replica &r, uint32_t space) const noexcept {
  const Replicas &all = *r.datum->extra()->replicas;
  if (!all.is_valid(r)) return false;
  const uint32_t next = movers_.routes().next(r.space, space);
  return next == space || next == CONSORT_NONE || !(all.valid & coherence::one(next));
}

// Returns whether contents that a copy did not bring are valid in spaces from which no copy has failed.
bool Fetches::is_elsewhere(const Replica &r, coherence::Spaces failed) const noexcept {
  const auto &all = r.datum->extra()->replicas->all;
  return std::any_of(all.begin(), all.end(), [&](const auto &o) {
    return is_source(*o, r.space) && !(failed & coherence::one(o->space)) &&
           movers_.routes().next(o->space, r.space) != CONSORT_NONE;
  });
}

// Returns the valid replica that is cheapest to copy. One from which a copy has failed is used only if there is no
// other.
Replica *Fetches::source_for(const Replica &r, coherence::Spaces failed) const noexcept {
  Replica *from = nullptr;
  const auto has_failed = [&](const Replica &o) { return (failed & coherence::one(o.space)) != 0; };
  const auto cost = [&](const Replica &o) { return movers_.routes().cost_ns(o.space, r.space); };
  for (const auto &other : r.datum->extra()->replicas->all) {
    if (!is_source(*other, r.space)) continue;
    if (!from || (has_failed(*from) && !has_failed(*other)) ||
        (has_failed(*from) == has_failed(*other) && cost(*other) < cost(*from)))
      from = other.get();
  }
  return from;
}

Outcome Fetches::fetch(Replica &r, Staging *s, MemoryRequest *wish) noexcept try {
  if (r.coming) return join(r, s);
  Datum &d = *r.datum;
  Replicas &all = *d.extra()->replicas;
  if (follows(r))  // others that share its memory may be read there: the whole comes, once
    return r.base->datum->extra()->replicas->held ? postpone(r, s) : fetch(*r.base, s, wish);
  Replica *const from = source_for(r, failed_sources(s, d));
  const uint32_t next = from ? movers_.routes().next(from->space, r.space) : CONSORT_NONE;
  if (next == CONSORT_NONE)
    return refuse(s, CONSORT_E_UNSUPPORTED, [&] {
      return "its datum '" + data_.name(d) + "' is in " + (from ? topology_.space_name(from->space) : "no space") +
             ", from where no driver moves bytes to " + topology_.space_name(r.space);
    });
  Replica &to = next == r.space ? r : records_.in(all, d, next);
  if (&to != &r && follows(to) && !is_there(to)) return fetch(to, s, wish);  // from there the source is chosen again
  const uint64_t bytes = cache_.bytes_for(d, next);
  const bool room = to.allocated || (s ? eviction_.make_room(next, bytes, s) == Outcome::kDone
                                       : eviction_.free_room(next, bytes));
  // If another task's copy comes to that memory, that task might read it while a second copy still writes it.
  if (to.coming || (!room && (!s || !eviction_.is_stuck(next)))) return postpone(r, s);
  if (!room || (!to.allocated && records_.allocate(to) < 0))
    return refuse(s, CONSORT_E_NOMEM, [&] {
      return "no room in " + std::string(topology_.space_name(next)) + " for datum '" + data_.name(d) + "' on its way";
    });
  return send(*from, to, r, s, wish);
} catch (const std::bad_alloc &) {
  return refuse(s, CONSORT_E_NOMEM, [] { return "no memory for the record of a transfer"; });
}

// Contents are already in flight. A request does not join: they may be a part of its datum, or the whole that contains
// it.
Outcome Fetches::join(Replica &r, Staging *s) {
  if (!s) return Outcome::kPending;
  r.coming->waiters.push_back(s);
  if (r.coming->wish || s->rank > 0) transfers_.hurry(*r.coming);
  ++s->awaited;
  return Outcome::kDone;
}

Outcome Fetches::postpone(Replica &r, Staging *s) {
  if (!s) return Outcome::kPending;
  wanted_.push_back({&r, s});
  ++s->awaited;
  return Outcome::kPending;
}

Outcome Fetches::send(Replica &from, Replica &to, Replica &last, Staging *s, MemoryRequest *wish) {
  auto t = std::make_unique<Transfer>(
      Transfer{.datum = last.datum, .from = &from, .to = &to, .last = &last, .wish = wish});
  if (s) t->waiters.push_back(s);
  if (transfers_.send(*t) != Outcome::kDone)
    return refuse(s, t->status, [&] { return "its datum '" + data_.name(*last.datum) + "': " + error_text(); });
  if (&to != &last) Transfers::announce(last, *t);
  if (s) ++s->awaited;
  if (wish) wish->transfer = t.get();
  t.release();
  return Outcome::kDone;
}

void Fetches::landed(Transfer &t, consort_status status) noexcept {
  Replicas &all = *t.datum->extra()->replicas;
  eviction_.count_on(t, false);
  for (Staging *s : t.blocked) stagings_.landed(*s);
  t.blocked.clear();
  const bool stale = transfers_.land(t, status);
  eviction_.leave(holder(*t.from));
  const bool in_vain = t.wish && t.waiters.empty() && all.claims;  // no task waits, and a writer will overwrite it soon
  if (status < 0 || t.to == t.last || stale || in_vain) {
    Replica &arrived = holder(*t.to);
    finish(t, status);
    eviction_.leave(arrived);
  } else if (!send_on(t)) {
    finish(t, CONSORT_OK);  // its waiters choose a route again, from here
  }
  if (!all.flying && all.leaving) stagings_.landed(*std::exchange(all.leaving, nullptr));
}

// Sends the next hop. Returns false if that is impossible.
bool Fetches::send_on(Transfer &t) noexcept try {
  t.from = t.to;
  const uint32_t next = movers_.routes().next(t.from->space, t.last->space);
  t.to = next == t.last->space ? t.last : &records_.in(*t.datum->extra()->replicas, *t.datum, next);
  if (t.to != t.last && (t.to->coming || follows(*t.to))) return false;
  if (!t.to->allocated && (eviction_.make_room(next, cache_.bytes_for(*t.datum, next), nullptr) != Outcome::kDone ||
                           records_.allocate(*t.to) < 0))
    return false;
  return transfers_.send(t) == Outcome::kDone;
} catch (const std::bad_alloc &) {
  return false;
}

// Ends a transfer and tells all waiters.
void Fetches::finish(Transfer &t, consort_status status) noexcept {
  const bool theirs = !t.wish && !t.saving;  // the transfer was made for them
  Transfers::give_up(t);
  if (t.wish) requests_.remove(*t.wish);
  for (Staging *s : t.waiters) {
    tell(*s, t, status, theirs);
    awaits_one_less(*s);
  }
  delete &t;
}

// A waiting task retries by itself before it is refused, if the transfer was not made for it or if another space has
// the contents.
void Fetches::tell(Staging &s, const Transfer &t, consort_status status, bool theirs) noexcept {
  const auto lacks = std::find_if(s.items.begin(), s.items.end(), [&](const auto &i) {
    return is_or_lies_in(*i.datum, *t.datum) && (i.mode & CONSORT_M_R) && !is_there(*i.replica);
  });
  if (lacks == s.items.end()) return;  // it has what it reads, or will overwrite it
  const coherence::Spaces source = coherence::one(t.from->space);
  const bool anew = status < 0 && theirs && !(lacks->failed & source);  // each source at most once, so this ends
  if (anew) lacks->failed |= source;
  if (status >= 0 || !theirs || (anew && is_elsewhere(*lacks->replica, lacks->failed))) {
    if (s.status >= 0) fetch(*lacks->replica, &s, nullptr);
    return;
  }
  s.refuse(status, [&] {
    const std::string why = !t.why.empty()                       ? ": " + t.why
                            : status == CONSORT_E_DEVICE_LOST ? ": a device is lost"
                                                              : "";
    return "its datum '" + data_.name(*t.datum) + "' could not be copied from " + topology_.space_name(t.from->space) + " to " +
           topology_.space_name(t.last->space) + why;
  });
}

// If it waited for one copy of several data, it fetches the data that are still missing.
void Fetches::awaits_one_less(Staging &s) noexcept {
  if (!Stagings::has_landed(s)) return;
  for (const auto &item : s.items)
    if (s.status >= 0 && (item.mode & CONSORT_M_R) && !is_there(*item.replica)) fetch(*item.replica, &s, nullptr);
  if (!s.awaited) stagings_.complete(s);
}

void Fetches::retry_first(bool give_up) noexcept {
  const Want w = wanted_.front();
  wanted_.pop_front();
  Staging &s = *w.staging;
  if (give_up)
    s.refuse(CONSORT_E_NOMEM, [&] {
      return "no room for datum '" + data_.name(*w.replica->datum) + "' on its way to " + topology_.space_name(w.replica->space) +
             ": the space between is full of data that wait for one another: raise its limit";
    });
  else if (s.status >= 0 && !is_there(*w.replica))
    fetch(*w.replica, &s, nullptr);
  awaits_one_less(s);
}

void Fetches::retry() noexcept {
  for (size_t n = wanted_.size(); n; --n) retry_first(false);
  if (!wanted_.empty() && !transfers_.under_way() && !stagings_.active() && !policy_.asking()) retry_first(true);
}

}  // namespace consort
