#include "task/edges.hpp"

#include <cstdlib>
#include <mutex>

namespace consort {

void note_issued(Runtime &rt, Task *s, uint64_t place) noexcept {
  if (s->bits & kSpecial) return;  // never follows; a hold's `follow` says something else
  const IssueQueue &q = *rt.queues[place::queue(place)];
  uint8_t none = 0;
  if (!s->follow.compare_exchange_strong(none, q.domain(), std::memory_order_relaxed) && none != q.domain())
    s->follow.store(kMixed, std::memory_order_relaxed);
  if (!q.waits_for_tickets() || !s->extra) return;
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

IssueQueue *claim_follower(Runtime &rt, Task *s, uint64_t place) noexcept {
  IssueQueue &q = *rt.queues[place::queue(place)];
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
