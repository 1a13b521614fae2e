// transfers.cpp — Memory, the part that brings contents from one space to another.
#include <algorithm>

#include "base/last_error.hpp"
#include "graph/partition_plan.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"
#include "observe/tracer.hpp"

namespace consort {
namespace {

void expect(Replica &r, Transfer *t) noexcept {  // nullptr: nothing any more
  r.coming = t;
  RelaxedValue<coherence::Spaces> &arriving = r.datum->places.arriving;
  arriving = t ? arriving | coherence::one(r.space) : arriving & ~coherence::one(r.space);
}

bool is_there(const Replica &r) noexcept { return r.datum->extra()->replicas->is_valid(r); }

bool is_or_lies_in(const Datum &d, const Datum &whole) noexcept {
  const Datum *at = &d;
  while (at != &whole) {
    const AccessOrder *discipline = discipline_if_any(*at);
    if (!discipline || !discipline->part_of) return false;
    at = discipline->part_of->whole;
  }
  return true;
}

}  // namespace

// Who asked earlier goes first, each as much earlier as what hangs on his task takes.
int64_t MemoryState::order_of(const Transfer &t) const noexcept {
  float rank = 0;
  for (const auto *those : {&t.waiters, &t.blocked})
    for (const Staging *s : *those) rank = std::max(rank, s->rank);
  return static_cast<int64_t>(rt_.clock.now()) - static_cast<int64_t>(rank);
}

// Sends the copies from t.from to t.to. False: it can not be, told in the error slot, with t.status; nothing is sent.
bool MemoryState::hop(Transfer &t) noexcept try {
  Datum &d = *t.datum;
  const auto n = static_cast<uint32_t>(stores_.size());
  Mover *mover = mover_of_[t.from->space * n + t.to->space];
  const auto name = [&](uint32_t s) { return rt_.topology->spaces()[s].desc.name; };
  if (!mover) {
    t.status = set_errorf(CONSORT_E_UNSUPPORTED, "no driver moves bytes from %s to %s", name(t.from->space),
                          name(t.to->space));
    return false;
  }
  std::vector<consort_run> runs(16);
  uint32_t found = d.layout->ops->runs(d.shape(), t.from->view, t.to->view, runs.data(), 16);
  if (found > runs.size()) {
    runs.resize(found);
    found = d.layout->ops->runs(d.shape(), t.from->view, t.to->view, runs.data(), found);
  }
  runs.resize(found);
  const uint32_t flags = rt_.topology->link(t.from->space, t.to->space).desc.flags;
  std::vector<consort_copy> copies;
  for (const consort_run &r : runs) {  // lowered to what the link can do
    const uint64_t slices = (flags & CONSORT_LK_3D) ? 1 : r.n[1];
    const uint64_t rows = (flags & (CONSORT_LK_2D | CONSORT_LK_3D)) ? 1 : r.n[0];
    for (uint64_t z = 0; z < slices; ++z)
      for (uint64_t y = 0; y < rows; ++y) {
        consort_copy c{t.from->space,
                       t.to->space,
                       r.src,
                       r.dst,
                       r.run,
                       {r.n[0], r.n[1]},
                       {r.src_step[0], r.src_step[1]},
                       {r.dst_step[0], r.dst_step[1]}};
        c.src.off += static_cast<uint64_t>(r.src_step[1]) * z + static_cast<uint64_t>(r.src_step[0]) * y;
        c.dst.off += static_cast<uint64_t>(r.dst_step[1]) * z + static_cast<uint64_t>(r.dst_step[0]) * y;
        if (slices != 1) c.n[1] = 1;
        if (rows != 1) c.n[0] = 1;
        copies.push_back(c);
      }
  }
  if (copies.empty()) {
    t.status =
        set_errorf(CONSORT_E_UNSUPPORTED, "interface '%s' has no flat layout to copy", d.layout->name.c_str());
    return false;
  }
  t.outstanding = static_cast<uint32_t>(copies.size());
  t.from->going.push_back(&t);
  pin(*t.from);
  pin(*t.to);
  expect(*t.to, &t);
  t.version = d.extra()->replicas->version;
  ++d.extra()->replicas->flying;
  ++transfers_;
  ++stores_[t.from->space].leaving;
  t.bytes = d.pub.bytes;
  if (rt_.tracer) t.began = rt_.clock.now();
  queued_[t.from->space * n + t.to->space] += t.bytes;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  const bool wished = t.wish && t.waiters.empty();
  if (mover->add(&t, copies.data(), t.outstanding, wished ? &t.wish->priority : nullptr, order_of(t))) return true;
  t.from->going.pop_back();
  unpin(*t.from);
  unpin(*t.to);
  expect(*t.to, nullptr);
  --d.extra()->replicas->flying;
  --transfers_;
  --stores_[t.from->space].leaving;
  queued_[t.from->space * n + t.to->space] -= t.bytes;
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  t.status = set_error(CONSORT_E_NOMEM, "no memory for the record of a copy");
  return false;
} catch (const std::bad_alloc &) {
  t.status = set_error(CONSORT_E_NOMEM, "no memory for the list of copies");
  return false;
}

void MemoryState::copied(ThreadState &thread, Transfer *t, consort_status status, const char *why) noexcept {
  Lock lock(mutex_);
  if (status < 0 && t->status >= 0) {
    t->status = status;
    try {
      t->why = why;
    } catch (const std::bad_alloc &) {  // then it is told without the reason
    }
  }
  if (--t->outstanding) return;
  landed(t, t->status);
  serve();
  hand_out(thread, lock);
  under_way_.fetch_sub(1, std::memory_order_release);
}

void MemoryState::landed(Transfer *t, consort_status status) noexcept {
  t->status = status;
  if (rt_.tracer)
    rt_.tracer->copied(*t->datum, t->from->space, t->to->space, t->bytes, t->began, rt_.clock.now(), t->status);
  --transfers_;
  --stores_[t->from->space].leaving;
  queued_[t->from->space * stores_.size() + t->to->space] -= t->bytes;
  expect(*t->to, nullptr);
  count_on(*t, false);
  Replicas &all = *t->datum->extra()->replicas;
  --all.flying;
  std::erase(t->from->going, t);
  for (Staging *s : t->blocked)
    if (--s->awaited == 0 && !s->queued) complete(s);
  t->blocked.clear();
  // Written elsewhere meanwhile (nobody waits for a copy that only makes room): then this is nothing.
  const bool stale = t->version != all.version;
  if (t->status >= 0 && !stale) {
    all.valid |= coherence::one(t->to->space);
    spread(*t->to);
  }
  t->to->prefetched = t->wish && t->waiters.empty();
  if (status != CONSORT_E_CANCELLED) {
    Traffic &link = traffic_[t->from->space * stores_.size() + t->to->space];
    ++(status < 0 ? link.failed : link.copies);
    link.bytes += status < 0 ? 0 : t->datum->pub.bytes;
  }
  if (t->saving) t->from->vain = t->status < 0 ? t->from->vain + 1 : 0;
  unpin(*t->from);
  unpin(*t->to);
  leave(holder(*t->from));
  const bool in_vain = t->wish && t->waiters.empty() && all.claims;  // nobody waits, and soon it is written
  if (t->status < 0 || t->to == t->last || stale || in_vain) {
    Replica &arrived = holder(*t->to);
    finish(t, t->status);
    leave(arrived);
  } else {  // the next hop
    t->from = t->to;
    const uint32_t next = routes_.next(t->from->space, t->last->space);
    bool sent = false;
    try {
      t->to = next == t->last->space ? t->last : replica_in(all, *t->datum, next);
      sent = (t->to == t->last || (!t->to->coming && !follows(*t->to))) &&
             (t->to->allocated || (make_room(next, bytes_in(*t->datum, next), nullptr) && allocate(*t->to) >= 0)) &&
             hop(*t);
    } catch (const std::bad_alloc &) {
    }
    if (!sent) finish(t, CONSORT_OK);  // those who wait for it look for a way again, from here
  }
  if (!all.flying && all.leaving)
    if (Staging *s = std::exchange(all.leaving, nullptr); --s->awaited == 0 && !s->queued) complete(s);
}

// May it be copied from there to that space? Not where it would overwrite a valid one on its way.
bool MemoryState::is_source(const Replica &r, uint32_t space) const noexcept {
  const Replicas &all = *r.datum->extra()->replicas;
  if (!all.is_valid(r)) return false;
  const uint32_t next = routes_.next(r.space, space);
  return next == space || next == CONSORT_NONE || !(all.valid & coherence::one(next));
}

// What a copy did not bring: is it in other spaces, from where nothing has failed yet?
bool MemoryState::is_elsewhere(const Replica &r, coherence::Spaces failed) const noexcept {
  const auto &all = r.datum->extra()->replicas->all;
  return std::any_of(all.begin(), all.end(), [&](const auto &o) {
    return is_source(*o, r.space) && !(failed & coherence::one(o->space)) &&
           routes_.next(o->space, r.space) != CONSORT_NONE;
  });
}

// A transfer is over: those who wait for it hear of it. Where it was not made for them, they try by themselves before
// they are refused.
void MemoryState::finish(Transfer *t, consort_status status) noexcept {
  const bool theirs = !t->wish && !t->saving;
  if (t->last->coming == t) expect(*t->last, nullptr);
  if (MemoryRequest *w = t->wish) over(*w);
  for (Staging *s : t->waiters) {
    const auto again = std::find_if(s->items.begin(), s->items.end(), [&](const auto &i) {
      return is_or_lies_in(*i.datum, *t->datum) && (i.mode & CONSORT_M_R) && !is_there(*i.replica);
    });
    const bool needed = again != s->items.end();
    const bool anew = needed && status < 0 && theirs && !(again->failed & coherence::one(t->from->space));  // so this ends
    if (anew) again->failed |= coherence::one(t->from->space);
    if (!needed) {  // it has what it needs, or will write it
    } else if (status >= 0 || !theirs || (anew && is_elsewhere(*again->replica, again->failed))) {
      if (s->status >= 0) fetch(*again->replica, s, nullptr);
    } else {
      refuse(*s, status, [&] {
        return "its datum '" + rt_.data.name(*t->datum) + "' could not be copied from " +
               rt_.topology->spaces()[t->from->space].desc.name + " to " +
               rt_.topology->spaces()[t->last->space].desc.name + (t->why.empty() ? "" : ": " + t->why);
      });
    }
    awaits_one_less(*s);
  }
  delete t;
}

// What it waited for together was one copy of several: whatever is not there yet is looked for again.
void MemoryState::awaits_one_less(Staging &s) noexcept {
  if (--s.awaited) return;
  for (const auto &item : s.items)
    if (s.status >= 0 && (item.mode & CONSORT_M_R) && !is_there(*item.replica)) fetch(*item.replica, &s, nullptr);
  if (!s.awaited) complete(&s);
}

// Those that found no room on their way look again. If nobody can ever make it (each waits for room that another has),
// the first is refused, so that the others get on.
void MemoryState::fetch_wanted() noexcept {
  const auto take = [&](bool give_up) {
    const Want w = wanted_.front();
    wanted_.pop_front();
    Staging &s = *w.staging;
    if (give_up)
      refuse(s, CONSORT_E_NOMEM, [&] {
        return "no room for datum '" + rt_.data.name(*w.replica->datum) + "' on its way to " +
               rt_.topology->spaces()[w.replica->space].desc.name +
               ": the space between is full of data that wait for one another: raise its limit";
      });
    else if (s.status >= 0 && !is_there(*w.replica))
      fetch(*w.replica, &s, nullptr);
    awaits_one_less(s);
  };
  for (size_t n = wanted_.size(); n; --n) take(false);
  if (!wanted_.empty() && !transfers_ && !active_ && !asking_) take(true);
}

// Contents into a replica that has memory, for somebody who waits or for a wish; or joins those who wait for them
// already.
MemoryState::Sent MemoryState::fetch(Replica &r, Staging *s, MemoryRequest *wish) noexcept try {
  const auto no = [&](consort_status status, auto words) {
    if (s) refuse(*s, status, words);
    return Sent::kNever;
  };
  if (r.coming) {
    if (!s) return Sent::kLater;  // of a part, and it is the whole that comes
    r.coming->waiters.push_back(s);
    if (r.coming->wish || s->rank > 0) mover_of(*r.coming)->hurry(r.coming, order_of(*r.coming));
    ++s->awaited;
    return Sent::kYes;
  }
  Datum &d = *r.datum;
  Replicas &all = *d.extra()->replicas;
  if (follows(r)) {  // others that share its bytes may be read there: what comes is the whole, once
    if (!r.base->datum->extra()->replicas->held) return fetch(*r.base, s, wish);
    if (!s) return Sent::kLater;
    wanted_.push_back({&r, s});
    ++s->awaited;
    return Sent::kLater;
  }
  Replica *from = nullptr;
  coherence::Spaces from_where = 0;  // a copy for this task has failed
  for (size_t i = 0; s && i < s->items.size(); ++i)
    if (is_or_lies_in(*s->items[i].datum, d)) from_where |= s->items[i].failed;
  const auto failed = [&](const Replica &o) { return from_where & coherence::one(o.space); };
  for (const auto &other : all.all)
    if (is_source(*other, r.space) && (!from || (failed(*from) && !failed(*other)) ||
                                       (failed(*from) == failed(*other) && routes_.cost_ns(other->space, r.space) <
                                                                               routes_.cost_ns(from->space, r.space))))
      from = other.get();
  const uint32_t next = from ? routes_.next(from->space, r.space) : CONSORT_NONE;
  if (next == CONSORT_NONE)
    return no(CONSORT_E_UNSUPPORTED, [&] {
      return "its datum '" + rt_.data.name(d) + "' is in " +
             (from ? rt_.topology->spaces()[from->space].desc.name : "no space") +
             ", from where no driver moves bytes to " + rt_.topology->spaces()[r.space].desc.name;
    });
  Replica *to = next == r.space ? &r : replica_in(all, d, next);
  if (to != &r && follows(*to) && !is_there(*to)) return fetch(*to, s, wish);  // from there it is looked for again
  const uint64_t bytes = bytes_in(d, next);
  const bool room = to->allocated || (s ? make_room(next, bytes, s) : free_room(stores_[next], bytes));
  if (!s && (to->coming || !room)) return Sent::kLater;
  // Contents that come there for somebody else: he may use them while a second copy of them would still be written.
  if (to->coming || (!room && !is_stuck(stores_[next]))) {
    wanted_.push_back({&r, s});
    ++s->awaited;
    return Sent::kLater;
  }
  if (!room || (!to->allocated && allocate(*to) < 0))
    return no(CONSORT_E_NOMEM, [&] {
      return "no room in " + std::string(rt_.topology->spaces()[next].desc.name) + " for datum '" + rt_.data.name(d) +
             "' on its way";
    });
  auto t = std::make_unique<Transfer>(Transfer{&d, from, to, &r, 0, 0, 0, {}, {}, false, false, {}, wish});
  if (s) t->waiters.push_back(s);
  if (!hop(*t))
    return no(t->status, [&] { return "its datum '" + rt_.data.name(d) + "': " + error_text(); });
  if (to != &r) expect(r, t.get());
  if (s) ++s->awaited;
  if (wish) wish->transfer = t.get();
  t.release();
  return Sent::kYes;
} catch (const std::bad_alloc &) {
  if (s) refuse(*s, CONSORT_E_NOMEM, [] { return "no memory for the record of a transfer"; });
  return Sent::kNever;
}

}  // namespace consort
