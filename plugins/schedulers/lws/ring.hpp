// ring.hpp — a FIFO ring of task pointers, for tasks that are not pushed by a worker.
//
// Any thread may push and take. A ring instead of a linked list, because a taker reads several tasks with
// one cache line and can prefetch their records at once, and because producers never touch the takers' line. It
// never allocates after init; if it is full, push reports that and the task goes to the overflow (levels.hpp).
//
// tail: number of the next place (low 48 bits) and a tag (high 16) that close() changes, which makes the check of the
// epoch and the claim of a place atomic: a push that read the epoch before close() and claims its
// place after it fails by the tag. head: number of the next place to take.
// A place can be claimed when that of the previous lap was taken and its cell is empty; it is filled later. A taker empties the
// cells that it has claimed.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "deque.hpp"

namespace lws {

class Ring {
 public:
  enum class Push { kDone, kFull, kClosed };

  bool init(uint32_t depth) noexcept {  // a power of two
    cells_.reset(new (std::nothrow) std::atomic<consort_task *>[depth]());
    mask_ = depth - 1;
    return cells_ != nullptr;
  }

  // Pushes all n, or none. `epoch` is the pusher's, `now` the instance's.
  Push push(consort_task *const *tasks, uint32_t n, uint64_t epoch, const std::atomic<uint64_t> &now) noexcept {
    if (n > mask_ / 2) return Push::kFull;
    uint64_t t = tail_.load(std::memory_order_acquire);  // pairs with close(): a thread that sees the tag sees the epoch
    do {
      if (now.load(std::memory_order_relaxed) != epoch) return Push::kClosed;
      if (!has_room(t, n)) return Push::kFull;
      for (uint32_t i = 0; i < n; ++i)  // pairs with take(): the taker has read the old value
        if (cells_[(t + i) & mask_].load(std::memory_order_acquire)) return Push::kFull;
    } while (!tail_.compare_exchange_weak(t, (t & ~kPlace) | ((t + n) & kPlace), std::memory_order_acq_rel,
                                          std::memory_order_acquire));  // release: pairs with take()'s load of tail
    for (uint32_t i = 0; i < n; ++i)
      cells_[(t + i) & mask_].store(tasks[i], std::memory_order_release);  // pairs with take()
    return Push::kDone;
  }

  // Takes the oldest tasks: at most max, and about 1/share of all.
  uint32_t take(consort_task **out, uint32_t max, uint32_t share) noexcept {
    uint64_t h = head_.load(std::memory_order_acquire);
    for (;;) {
      // Reads tail after head: a place below this tail was empty when it was claimed, so its cell holds a new task.
      const uint64_t waiting = ((tail_.load(std::memory_order_acquire) & kPlace) - h) & kPlace;
      if (waiting == 0 || waiting > mask_ + 1) {  // the latter: head has moved since
        const uint64_t again = head_.load(std::memory_order_acquire);
        if (waiting == 0 || again == h) return 0;
        h = again;
        continue;
      }
      const uint64_t fair = (waiting + share - 1) / share;
      const uint32_t want = fair < max ? static_cast<uint32_t>(fair) : max;
      uint32_t n = 0;
      while (n < want && (out[n] = cells_[(h + n) & mask_].load(std::memory_order_acquire))) ++n;  // pairs with push()
      if (n == 0) {
        const uint64_t again = head_.load(std::memory_order_acquire);
        if (again == h) return 0;  // claimed but not filled: its pusher will announce it
        h = again;
        continue;
      }
      if (head_.compare_exchange_strong(h, (h + n) & kPlace, std::memory_order_acq_rel, std::memory_order_acquire)) {
        for (uint32_t i = 0; i < n; ++i)
          cells_[(h + i) & mask_].store(nullptr, std::memory_order_release);  // pairs with push()
        return n;
      }
    }
  }

  // To be called after storing the new epoch: afterwards no push of the old epoch gets a place.
  void close() noexcept { tail_.fetch_add(kPlace + 1, std::memory_order_acq_rel); }  // pairs with the load in push()

  bool empty() const noexcept {  // all claimed places have been taken
    const uint64_t h = head_.load(std::memory_order_acquire);
    return (tail_.load(std::memory_order_acquire) & kPlace) == h;
  }

 private:
  // Whether the places one lap before these n were taken. An empty cell is not sufficient: its pusher may have claimed it
  // without filling it yet. head_seen_ is an older value of head, so a lower bound: if it permits, head permits.
  bool has_room(uint64_t t, uint32_t n) noexcept {
    const auto over = [&](uint64_t head) { return ((t + n - head) & kPlace) > mask_ + 1; };
    if (!over(head_seen_.load(std::memory_order_acquire))) [[likely]] return true;
    const uint64_t head = head_.load(std::memory_order_acquire);  // pairs with take()
    head_seen_.store(head, std::memory_order_release);  // pairs with the load above: it replaces an acquire of head
    return !over(head);
  }

  static constexpr uint64_t kPlace = (uint64_t{1} << 48) - 1;

  alignas(kLine) std::atomic<uint64_t> tail_{0};  // acq_rel claims places and carries the tag of close(); see push()
  std::atomic<uint64_t> head_seen_{0};  // on the tail's line, updated once per lap; release and acquire: cells are empty
  alignas(kLine) std::atomic<uint64_t> head_{0};  // acq_rel claims the cells that take() has read; see take()
  alignas(kLine) uint64_t mask_ = 0;
  std::unique_ptr<std::atomic<consort_task *>[]> cells_;  // release, acquire: both ways
};

}  // namespace lws
