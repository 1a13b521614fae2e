#include "task/edges.hpp"

#include <cstdlib>
#include <mutex>

#include "task/replay_node.hpp"

namespace consort {

void note_issued(Core &rt, Task *s, uint64_t place) noexcept {
  if (s->bits & kSpecial) return;  // never follows; `follow` of a hold has another meaning
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
    if (!more) return s->follow.store(kMixed, std::memory_order_relaxed);  // `s` will wait for them to complete
    e.tickets = more;
    e.ticket_room = room;
  }
  e.tickets[e.ntickets++] = {q.token(), place::seq(place)};
}

IssueQueue *claim_follower(Core &rt, Task *s, uint64_t place) noexcept {
  IssueQueue &q = *rt.queues[place::queue(place)];
  const uint8_t follow = s->follow.load(std::memory_order_relaxed);
  if (follow == 0 || follow == kMixed || follow != q.domain()) return nullptr;
  uint64_t left = s->pending.load(std::memory_order_relaxed);
  do {
    // claimed already, or complete meanwhile: it is released the ordinary way
    if (left >> 32 != 0 || (left & 0xffffffff) == 0) return nullptr;
  } while (!s->pending.compare_exchange_weak(left, left | pending::kClaimed, std::memory_order_acq_rel,
                                             std::memory_order_relaxed));
  s->bits |= kFollowed;
  return &q;
}

uint32_t successors(const TaskArena &tasks, const Task &t, const consort_task **out, uint32_t max) noexcept {
  constexpr uint32_t kLongest = 1 << 20;
  uint32_t n = 0;
  if (t.replayed()) {
    if (!t.recorded()) return 0;
    for (; n < node::successors(t) && n < max; ++n) out[n] = &tasks.at(node::edges(t)[n])->pub;
    return node::successors(t);
  }
  const uint32_t mask = (1u << word::kSlotBits) - 1;
  for (uint32_t link = word::link(t.word.load(std::memory_order_acquire)); link && n < kLongest; ++n) {
    if (!tasks.holds(link >> word::kSlotBits)) break;
    Task *record = tasks.at(link >> word::kSlotBits);
    const uint32_t slot = link & mask;
    LinkChunk &chunk = tasks.links(link >> word::kSlotBits);
    uint32_t &next = slot < 4              ? record->link[slot]
                     : slot < kInlineLinks ? reinterpret_cast<uint32_t *>(record->pub.sched)[slot - 4]
                                           : chunk.link[slot - kInlineLinks];
    const Task *successor = record;
    if (slot >= kInlineLinks) {
      const uint32_t owner = std::atomic_ref<uint32_t>(chunk.owner).load(std::memory_order_relaxed);
      if (!tasks.holds(owner)) break;
      successor = tasks.at(owner);
    }
    link = std::atomic_ref<uint32_t>(next).load(std::memory_order_relaxed);
    if (n < max) out[n] = &successor->pub;
  }
  return n;
}

}  // namespace consort
