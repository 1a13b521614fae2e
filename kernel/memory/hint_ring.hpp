// hint_ring.hpp — a bounded ring of data hints from policies to Memory; add() never blocks.
//
// Any thread adds, under any lock of a policy; if the ring is full the hint is lost. The holder of Memory's mutex
// takes. A hint names its datum and its task without holding them: both may be gone when it is taken.
#pragma once
#include <consort/consort.h>

#include <array>
#include <atomic>

#include "task/task.hpp"

namespace consort {

class Hints {
 public:
  enum What : uint32_t { kPrefetch, kUnneeded };
  struct Hint {
    consort_data_id datum;
    TaskName task;                    // kPrefetch: the task that will read it
    uint32_t space;
    int32_t priority;
    What what;
  };
  static constexpr uint32_t kMost = 1024;

  Hints() noexcept {
    for (uint32_t i = 0; i < kMost; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  bool add(const Hint &h) noexcept {  // [any] false: full
    uint32_t at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell &c = cells_[at % kMost];
      const uint32_t turn = c.turn.load(std::memory_order_acquire);  // pairs with take(): the cell was read
      if (turn == at) {
        if (!tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
        c.hint = h;
        c.turn.store(at + 1, std::memory_order_release);  // pairs with take()
        return true;
      }
      if (static_cast<int32_t>(turn - at) < 0) return false;
      at = tail_.load(std::memory_order_relaxed);
    }
  }
  bool take(Hint *out) noexcept {     // one thread at a time
    const uint32_t at = head_.load(std::memory_order_relaxed);
    Cell &c = cells_[at % kMost];
    if (c.turn.load(std::memory_order_acquire) != at + 1) return false;  // pairs with add()
    *out = c.hint;
    c.turn.store(at + kMost, std::memory_order_release);  // pairs with add()
    head_.store(at + 1, std::memory_order_relaxed);
    return true;
  }
  // [any] A thread with an old `head_` may see "not empty"; `tail_` is never older than what add() published before a
  // fence.
  bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed);
  }

 private:
  struct Cell {
    std::atomic<uint32_t> turn;  // turn of the ring: free for add(); plus one: for take(); acquire and release both ways
    Hint hint;
  };
  alignas(64) std::atomic<uint32_t> tail_{0};  // relaxed: claims a cell; the cell's turn orders its contents
  alignas(64) std::atomic<uint32_t> head_{0};  // relaxed: one thread at a time takes; the cell's turn orders
  std::array<Cell, kMost> cells_;
};

}  // namespace consort
