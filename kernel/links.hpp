// links.hpp — edges of the graph: a list of links in each unfinished task, one link per successor.
//
// A link belongs to the successor's record (or to a chunk lent to it) and hangs in the predecessor's list by its
// number. Links are added by one compare-and-swap on the predecessor's word while its generation is the one that
// the submitter knows; the exchange that ends the predecessor takes the list and changes the generation, so a
// link is either in the taken list or was never hung. Links of a list do not change until it is walked.
#pragma once
#include "queue.hpp"
#include "runtime.hpp"

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
      const auto *chunk = reinterpret_cast<const LinkChunk *>(record);
      link = chunk->link[slot - kInlineLinks];
      successor = tasks.at(chunk->owner);
    }
    each(successor);  // may end the successor: its link was read before
  }
}

// Hangs the links of one new task. The links beyond its own were reserved before (reserve()).
class Linker {
 public:
  Linker(Runtime &rt, Task *t) noexcept : rt_(rt), task_(t), record_(rt.tasks.index(t)) {}

  // Room for `n` links in all. False: no memory; nothing is hung yet.
  static bool reserve(Runtime &rt, Hand &h, Task *t, uint32_t n) noexcept {
    for (uint32_t have = kInlineLinks; have < n; have += kChunkLinks) {
      Task *lent = h.take_lent();
      if (!lent) return false;
      auto *chunk = reinterpret_cast<LinkChunk *>(lent);
      chunk->owner = rt.tasks.index(t);
      chunk->next = t->extra->chunks;
      t->extra->chunks = rt.tasks.index(lent);
    }
    return true;
  }

  [[gnu::always_inline]] void after(TaskName name) noexcept {
    if (!name) return;
    Task *p = rt_.task_at(name);
    uint64_t w = p->word.load(std::memory_order_acquire);  // pairs with the exchange that ends it: what it did is visible
    const uint32_t generation = static_cast<uint32_t>(name >> 32);
    if (word::generation(w) != generation) return;
    uint32_t *const mine = slot();
    do {
      if (word::generation(w) != generation) return;  // the slot is used by the next
      // the list is walked by others only after the exchange, which acquires this release
      std::atomic_ref<uint32_t>(*mine).store(word::link(w), std::memory_order_relaxed);
    } while (!p->word.compare_exchange_weak(w, word::with_link(w, number()), std::memory_order_release, std::memory_order_acquire));
    ++hung_;
    ++used_;
    if (w & word::kIssued) [[unlikely]] meet_issued(p, generation);
  }

  uint32_t hung() const noexcept { return hung_; }
  uint32_t issued() const noexcept { return issued_; }
  uint64_t place() const noexcept { return place_; }  // of the last that was found issued

 private:
  uint32_t number() const noexcept {
    if (used_ < kInlineLinks) [[likely]] return word::make_link(record_, used_);
    return word::make_link(chunk_, kInlineLinks + (used_ - kInlineLinks) % kChunkLinks);
  }
  uint32_t *slot() noexcept {
    if (used_ < 4) [[likely]] return &task_->link[used_];
    if (used_ < kInlineLinks) return reinterpret_cast<uint32_t *>(task_->pub.sched) + (used_ - 4);
    const uint32_t i = (used_ - kInlineLinks) % kChunkLinks;
    if (i == 0 && chunk_for_ != used_) {
      chunk_ = chunk_ ? reinterpret_cast<LinkChunk *>(rt_.tasks.at(chunk_))->next : task_->extra->chunks;
      chunk_for_ = used_;
    }
    return &reinterpret_cast<LinkChunk *>(rt_.tasks.at(chunk_))->link[i];
  }
  void meet_issued(Task *p, uint32_t generation) noexcept {
    const uint64_t place = std::atomic_ref<uint64_t>(p->pub.footprint).load(std::memory_order_relaxed);
    // Unfinished still? Then the place was its own. (acquire on both sides: the load above cannot sink below.)
    std::atomic_thread_fence(std::memory_order_acquire);
    if (word::generation(p->word.load(std::memory_order_acquire)) != generation) {
      ++issued_;  // complete: its part of `issue` is not owed either, only the completion's
      return;
    }
    place_ = place;
    note_issued(rt_, task_, place);
    ++issued_;
  }

  Runtime &rt_;
  Task *const task_;
  const uint32_t record_;
  uint32_t used_ = 0, hung_ = 0, issued_ = 0, chunk_ = 0, chunk_for_ = ~0u;
  uint64_t place_ = 0;
};

}  // namespace consort
