// edges.hpp — edges of the graph: each unfinished task has a list of links, one for each successor.
//
// A link belongs to the successor's record (or to a chunk lent to it) and is in the predecessor's list by its number. A
// link is added by one compare-and-swap on the predecessor's word, while its generation is the one that the submitter
// knows. The exchange that ends the predecessor takes the list and changes the generation. So a link is either in the
// taken list or was never added. The links of a list do not change until it is walked.
#pragma once
#include <utility>

#include "base/store_relaxed.hpp"
#include "task/core.hpp"
#include "task/issue_queue.hpp"

namespace consort {

template <class F>
inline void walk_links(const TaskArena &tasks, uint32_t link, F each) noexcept {
  while (link) {
    Task *record = tasks.at(link >> word::kSlotBits);
    const uint32_t slot = link & ((1u << word::kSlotBits) - 1);
    Task *successor = record;
    if (slot < 4) [[likely]] {
      link = record->link[slot];
    } else if (slot < kInlineLinks) {
      link = reinterpret_cast<const uint32_t *>(record->pub.sched)[slot - 4];
    } else {
      const LinkChunk &chunk = tasks.links(link >> word::kSlotBits);
      link = chunk.link[slot - kInlineLinks];
      successor = tasks.at(chunk.owner);
    }
    __builtin_prefetch(tasks.at(link >> word::kSlotBits)->link, 1);
    each(successor);  // may end the successor: its link was read before
  }
}

// A predecessor was found issued while linking, or was just issued: stores its ticket in `s`, so that `s` may follow.
void note_issued(Core &, Task *s, uint64_t place) noexcept;
// Precondition: all predecessors of `s` are issued, and may_follow() (graph/link_steps.hpp) was true. Claims it for the
// returned queue. nullptr: `s` waits until they are complete, and no longer belongs to the caller.
IssueQueue *claim_follower(Core &, Task *s, uint64_t place) noexcept;

// Writes up to `max` successors of a task to `out`; returns their total number. While a task is unfinished and not
// running, its list only grows at the head. Any other record may be recycled during the walk: the result is then
// meaningless, but the walk stays inside the arena and ends.
uint32_t successors(const TaskArena &, const Task &, const consort_task **out, uint32_t max) noexcept;

// Adds the links of one new task. Links beyond its own were reserved before (reserve()).
class Linker {
 public:
  [[gnu::always_inline]] Linker(Core &rt, Task *t) noexcept : Linker(rt, t, rt.tasks.index(t)) {}
  [[gnu::always_inline]] Linker(Core &rt, Task *t, uint32_t number) noexcept  // the record's number
      : rt_(rt),
        records_(rt.tasks.at(0)),
        task_(t),
        slot_(t->link),
        number_(uint64_t{word::make_link(number, 0)} << 3) {}

  // Reserves `n` links in all. Returns false if out of memory. Precondition: none is added yet.
  static bool reserve(Core &rt, ThreadState &thread, Task *t, uint32_t n) noexcept {
    if (n <= kInlineLinks) return true;
    const uint32_t number = rt.tasks.index(t);
    store_relaxed(rt.tasks.links(number).owner, number);  // successors() may read it concurrently
    for (uint32_t have = kInlineLinks + kChunkLinks; have < n; have += kChunkLinks) {
      if (!t->extra) rt.tasks.make_extra(t);
      Task *lent = thread.take_lent();
      if (!lent) return false;
      const uint32_t borrowed = rt.tasks.index(lent);
      LinkChunk &chunk = rt.tasks.links(borrowed);
      store_relaxed(chunk.owner, number);
      chunk.next = t->extra->chunks;
      t->extra->chunks = borrowed;
    }
    return true;
  }

  [[gnu::always_inline]] void after(TaskName name) noexcept {  // 0: none
    if (!name) return;
    // Not after the last link is added: then the task may have ended, and its record be reused.
    if (hung_ >= 4 && (hung_ & 3) == 0 && std::exchange(stretched_, hung_) != hung_) [[unlikely]] {
      const Stretch next = next_stretch(rt_, task_, hung_, {slot_, number_, chunk_});
      slot_ = next.slot;
      number_ = next.number;
      chunk_ = next.chunk;
    }
    add(name);
  }
  // after() of a task. Precondition: fewer than 4 links are added.
  [[gnu::always_inline]] void add(TaskName name) noexcept {
    Task *p = records_ + static_cast<uint32_t>(name);
    // pairs with the exchange that ends it: its stores are visible
    uint64_t w = p->word.load(std::memory_order_acquire);
    do {
      if ((w ^ name) >> 32) return;  // another generation: it has ended, and the slot is reused for the next link
      // other threads walk the list only after the exchange, which acquires this release
      store_relaxed(*slot_, word::link(w));
    } while (!p->word.compare_exchange_weak(w, (w & (~uint64_t{0} << 32 | word::kFlags)) | number_,
                                            std::memory_order_release, std::memory_order_acquire));
    number_ += 1 << 3;
    ++slot_;
    ++hung_;
    if (w & word::kIssued) [[unlikely]] {
      ++issued_;  // only the completion is owed, even if it is complete meanwhile
      place_ = place_of_issued(rt_, task_, p, static_cast<uint32_t>(name >> 32), place_);
    }
  }

  uint32_t hung() const noexcept { return hung_; }
  uint32_t issued() const noexcept { return issued_; }
  uint64_t place() const noexcept { return place_; }  // of the last predecessor found issued

 private:
  // Slots are in groups: four in the record's last line, four in the policy's words, its chunk, borrowed chunks.
  struct Stretch {
    uint32_t *slot;
    uint64_t number;  // of the slot, in the format of a word
    uint32_t chunk;
  };
  // The functions below take values: a linker whose address is taken would be kept in memory, not in registers.
  [[gnu::noinline]] static Stretch next_stretch(Core &rt, Task *t, uint32_t hung, Stretch s) noexcept {
    if (hung == 4) {
      s.slot = reinterpret_cast<uint32_t *>(t->pub.sched);
    } else if ((hung - kInlineLinks) % kChunkLinks == 0) {
      s.chunk = !s.chunk                              ? rt.tasks.index(t)
                : hung > kInlineLinks + kChunkLinks ? rt.tasks.links(s.chunk).next
                : t->extra                          ? t->extra->chunks
                                                    : 0;
      if (!s.chunk) return s;  // all reserved links are used: there is no next one
      s.slot = rt.tasks.links(s.chunk).link;
      s.number = uint64_t{word::make_link(s.chunk, kInlineLinks)} << 3;
    }
    return s;
  }
  [[gnu::noinline]] static uint64_t place_of_issued(Core &rt, Task *t, Task *p, uint32_t generation,
                                                    uint64_t before) noexcept {
    const uint64_t place = std::atomic_ref<uint64_t>(p->pub.footprint).load(std::memory_order_relaxed);
    // If it is still unfinished the ticket was its own. (The load above cannot sink below the fence.)
    std::atomic_thread_fence(std::memory_order_acquire);
    if (word::generation(p->word.load(std::memory_order_acquire)) != generation) return before;
    note_issued(rt, t, place);
    return place;
  }

  Core &rt_;
  Task *const records_;
  Task *const task_;
  uint32_t *slot_;
  uint64_t number_;  // of the slot, in the encoding of a word
  uint32_t hung_ = 0, stretched_ = 0, issued_ = 0, chunk_ = 0;
  uint64_t place_ = 0;
};

}  // namespace consort
