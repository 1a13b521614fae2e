// early_issue.cpp — may a task be issued behind its predecessors, before they are complete? queue.hpp says when each is asked.
#include <bit>
#include <cstdlib>
#include <mutex>

#include "exec/queue.hpp"

namespace consort {

void note_issued(Runtime &rt, Task *s, uint64_t place) noexcept {
  if (s->bits & kSpecial) return;  // never follows; a hold's `follow` says something else
  const Queue &q = *rt.queues[place::queue(place)];
  uint8_t none = 0;
  if (!s->follow.compare_exchange_strong(none, q.domain(), std::memory_order_relaxed) && none != q.domain())
    s->follow.store(kMixed, std::memory_order_relaxed);
  if (!q.shared_domain() || !s->extra) return;
  Extra &e = *s->extra;
  std::lock_guard lock(e.lock);
  if (e.ntickets == e.ticket_room) {
    const uint32_t room = e.ticket_room ? e.ticket_room * 2 : 4;
    auto *more = static_cast<Ticket *>(std::realloc(e.tickets, room * sizeof(Ticket)));
    if (!more) return s->follow.store(kMixed, std::memory_order_relaxed);  // it will wait for them to complete
    e.tickets = more;
    e.ticket_room = room;
  }
  e.tickets[e.ntickets++] = {q.token(), place::seq(place)};
}

bool may_follow(const Runtime &rt, const Task &s, uint64_t place) noexcept {
  if (s.bits & (kSpecial | kWatched | kAfter | kTokens | kScratch | kUnite | kMore)) return false;
  const Worker &w = rt.queues[place::queue(place)]->worker();
  const bool no_choice = std::has_single_bit(s.pub.where) && (s.pub.where & rt.topology->lone_classes());
  if (!rt.policy.may_follow(w.id, s, no_choice)) return false;
  // What may have to go to another unit yet, since it does not load, waits until its predecessors are complete.
  const Codelet::Entry &entry = s.codelet->entry[w.klass];
  if (entry.fn == Portable::stand_in && !static_cast<const Portable *>(entry.user)->is_loaded(*w.unit.device))
    return false;
  return (s.pub.where >> w.klass & 1) && (!(s.bits & kBound) || s.extra->worker == w.id);
}

Queue *claim_follower(Runtime &rt, Task *s, uint64_t place) noexcept {
  Queue &q = *rt.queues[place::queue(place)];
  const uint8_t follow = s->follow.load(std::memory_order_relaxed);
  if (follow == 0 || follow == kMixed || follow != q.domain()) return nullptr;
  uint64_t left = s->pending.load(std::memory_order_relaxed);
  do {
    // claimed already, or complete meanwhile: it goes the ordinary way
    if (left >> 32 != 0 || (left & 0xffffffff) == 0) return nullptr;
  } while (!s->pending.compare_exchange_weak(left, left | pending::kClaimed, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  s->bits |= kFollowed;
  return &q;
}

}  // namespace consort
