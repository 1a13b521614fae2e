// deque.hpp — the work-stealing deque of one worker (Chase and Lev's, of fixed size).
//
// Owned by a worker's slot. Only the thread that owns the worker calls push and pop; any thread calls steal and
// size. It never allocates after init and never grows: push returns false if it is full, and the task goes to
// the inbox. Indices grow for ever; cell i lives at i & mask.
//
// Correctness. The owner publishes `bottom = b` and then reads `top`; a thief reads `top` and then `bottom`.
// All four accesses are seq_cst, so there is one total order S of them that agrees with coherence. Suppose the owner
// reads top = t after it has lowered bottom to b, and takes the cells above t without an exchange. Suppose a thief
// takes such a cell i > t, moving top from i to i + 1. The thief has read top = i, so the exchange that set it to i precedes
// that read in S, and the owner's read (which saw t < i) precedes that exchange. So the thief reads bottom
// after the owner has lowered it, sees bottom <= i, and takes nothing: a contradiction. The exchange on top decides
// cell t itself; only one exchange succeeds.
// A thief reads its cell before its exchange. The owner may overwrite that cell only once top has passed it;
// then the exchange fails and the read value is discarded.
// There is no thread fence: the accesses carry the orders, which ThreadSanitizer understands.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

namespace lws {

inline constexpr std::size_t kLine = 128;  // two lines: neighbours are fetched in pairs

class Deque {
 public:
  bool init(uint32_t depth) noexcept {  // a power of two
    cells_.reset(new (std::nothrow) std::atomic<consort_task *>[depth]);
    mask_ = depth - 1;
    return cells_ != nullptr;
  }

  bool push(consort_task *task) noexcept {
    const int64_t b = bottom_.load(std::memory_order_relaxed);  // own store
    if (b - seen_top_ > mask_) [[unlikely]] {
      seen_top_ = top_.load(std::memory_order_acquire);  // pairs with the exchange in steal(): the thief has read its cell
      if (b - seen_top_ > mask_) return false;
    }
    cells_[b & mask_].store(task, std::memory_order_relaxed);
    bottom_.store(b + 1, std::memory_order_release);  // pairs with size() and steal()
    return true;
  }

  // Takes the newest task. False: empty, or thieves took it first.
  bool pop(consort_task **out) noexcept {
    const int64_t b = bottom_.load(std::memory_order_relaxed);      // own store
    if (b <= top_.load(std::memory_order_relaxed)) return false;    // top only grows: an empty deque stays empty
    const int64_t low = b - 1;
    bottom_.store(low, std::memory_order_seq_cst);                  // pairs with the load in steal(): see above
    int64_t t = top_.load(std::memory_order_seq_cst);               // pairs with the exchange in steal()
    if (t < low) [[likely]] {
      *out = at(low);
      return true;
    }
    bool won = false;
    if (t == low) won = top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed);
    if (won) *out = at(low);
    bottom_.store(b, std::memory_order_release);
    return won;
  }

  // Approximate size, and the index of the oldest task: an equal index later means the same task.
  int64_t size(int64_t *oldest) const noexcept {
    const int64_t t = top_.load(std::memory_order_acquire);
    *oldest = t;
    return bottom_.load(std::memory_order_relaxed) - t;
  }

  // Takes the oldest task if there are at least `least`. Also nullptr if another thief was faster.
  consort_task *steal(int64_t least) noexcept {
    int64_t t = top_.load(std::memory_order_seq_cst);           // pairs with the exchanges on top
    const int64_t b = bottom_.load(std::memory_order_seq_cst);  // pairs with the stores in push() and pop()
    if (b - t < least) return nullptr;
    consort_task *task = at(t);
    return top_.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst, std::memory_order_relaxed) ? task
                                                                                                        : nullptr;
  }

 private:
  consort_task *at(int64_t i) const noexcept { return cells_[i & mask_].load(std::memory_order_relaxed); }

  alignas(kLine) std::atomic<int64_t> top_{0};     // thieves' end; seq_cst with bottom_ in pop() and steal()
  alignas(kLine) std::atomic<int64_t> bottom_{0};  // owner's end, read by thieves; release in push() pairs with steal()
  alignas(kLine) int64_t seen_top_ = 0;            // owner's lower bound of top
  int64_t mask_ = 0;
  std::unique_ptr<std::atomic<consort_task *>[]> cells_;  // relaxed: ordered by the accesses to both ends, see push() and steal()
};

}  // namespace lws
