// edges.hpp — edges of the graph: a list of links in each unfinished task, one link per successor.
//
// A link belongs to the successor's record (or to a chunk lent to it) and hangs in the predecessor's list by its
// number. Links are added by one compare-and-swap on the predecessor's word while its generation is the one that
// the submitter knows; the exchange that ends the predecessor takes the list and changes the generation, so a
// link is either in the taken list or was never hung. Links of a list do not change until it is walked.
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

// A predecessor was found issued while linking, or has just been issued: remembers on `s` where, so that `s` may follow.
void note_issued(Core &, Task *s, uint64_t place) noexcept;
// All predecessors of `s` are issued, and may_follow() (graph/link_steps.hpp) was true. Claims it for the queue that is
// returned; nullptr: `s` waits until they are complete, and is not the caller's any more.
IssueQueue *claim_follower(Core &, Task *s, uint64_t place) noexcept;

// Up to `max` successors of a task into out; returns how many there are. For a task that is unfinished and not running the
// list only grows at its head. Any other may be recycled during the walk: the answer is nonsense then, but the walk stays
// inside the arena and ends.
uint32_t successors(const TaskArena &, const Task &, const consort_task **out, uint32_t max) noexcept;

// Hangs the links of one new task. The links beyond its own were reserved before (reserve()).
class Linker {
 public:
  Linker(Core &rt, Task *t) noexcept : Linker(rt, t, rt.tasks.index(t)) {}
  Linker(Core &rt, Task *t, uint32_t number) noexcept  // the record's
      : rt_(rt),
        records_(rt.tasks.at(0)),
        task_(t),
        slot_(t->link),
        number_(uint64_t{word::make_link(number, 0)} << 3) {}

  // Room for `n` links in all. False: no memory; nothing is hung yet.
  static bool reserve(Core &rt, ThreadState &thread, Task *t, uint32_t n) noexcept {
    if (n <= kInlineLinks) return true;
    const uint32_t number = rt.tasks.index(t);
    store_relaxed(rt.tasks.links(number).owner, number);  // successors() may look at it meanwhile
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

  [[gnu::always_inline]] void after(TaskName name) noexcept {
    if (!name) return;
    // Not once the last link hangs: then the task may be over, and its record another's.
    if (hung_ >= 4 && (hung_ & 3) == 0) [[unlikely]] next_stretch();
    Task *p = records_ + static_cast<uint32_t>(name);
    // pairs with the exchange that ends it: what it did is visible
    uint64_t w = p->word.load(std::memory_order_acquire);
    do {
      if ((w ^ name) >> 32) return;  // another generation: done. The slot is used by the next
      // the list is walked by others only after the exchange, which acquires this release
      store_relaxed(*slot_, word::link(w));
    } while (!p->word.compare_exchange_weak(w, (w & (~uint64_t{0} << 32 | word::kFlags)) | number_,
                                            std::memory_order_release, std::memory_order_acquire));
    number_ += 1 << 3;
    ++slot_;
    ++hung_;
    if (w & word::kIssued) [[unlikely]] meet_issued(p, static_cast<uint32_t>(name >> 32));
  }

  uint32_t hung() const noexcept { return hung_; }
  uint32_t issued() const noexcept { return issued_; }
  uint64_t place() const noexcept { return place_; }  // of the last that was found issued

 private:
  // Slots stand in stretches: four in the record's last line, four in the policy's words, its chunk, borrowed chunks.
  [[gnu::noinline]] void next_stretch() noexcept {
    if (std::exchange(stretched_, hung_) == hung_) return;  // the link that it was for did not come to be
    if (hung_ == 4) {
      slot_ = reinterpret_cast<uint32_t *>(task_->pub.sched);
    } else if ((hung_ - kInlineLinks) % kChunkLinks == 0) {
      chunk_ = !chunk_                               ? rt_.tasks.index(task_)
               : hung_ > kInlineLinks + kChunkLinks ? rt_.tasks.links(chunk_).next
               : task_->extra                       ? task_->extra->chunks
                                                    : 0;
      if (!chunk_) return;  // as many as were reserved: there is no next
      slot_ = rt_.tasks.links(chunk_).link;
      number_ = uint64_t{word::make_link(chunk_, kInlineLinks)} << 3;
    }
  }
  [[gnu::noinline]] void meet_issued(Task *p, uint32_t generation) noexcept {
    ++issued_;  // only the completion is owed, even if it is complete meanwhile
    const uint64_t place = std::atomic_ref<uint64_t>(p->pub.footprint).load(std::memory_order_relaxed);
    // Unfinished still? Then the place was its own. (The load above cannot sink below the fence.)
    std::atomic_thread_fence(std::memory_order_acquire);
    if (word::generation(p->word.load(std::memory_order_acquire)) != generation) return;
    place_ = place;
    note_issued(rt_, task_, place);
  }

  Core &rt_;
  Task *const records_;
  Task *const task_;
  uint32_t *slot_;
  uint64_t number_;  // of the slot, as it stands in a word
  uint32_t hung_ = 0, stretched_ = 0, issued_ = 0, chunk_ = 0;
  uint64_t place_ = 0;
};

}  // namespace consort
