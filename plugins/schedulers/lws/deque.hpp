// deque.hpp — the work-stealing deque of one worker (Chase and Lev's, of fixed size).
//
// Owned by a worker's slot. push and pop are for the thread that owns the worker just now; steal and size for
// any thread. It never allocates after init and never grows: push says no when it is full, and the task goes to
// the inbox. Indices grow for ever; cell i lives at i & mask.
//
// Why it is right. The owner publishes `bottom = b` and then reads `top`; a thief reads `top` and then `bottom`.
// All four accesses are seq_cst, so they stand in one total order S that agrees with coherence. Let the owner
// read top = t after it has lowered bottom to b, and take the cells above t without further ado. A thief that
// took one of those, i > t, moved top from i to i + 1; it had read top = i, so the exchange that made it i comes
// before that read in S, and the owner's read (which saw t < i) before that exchange. So the thief read bottom
// after the owner had lowered it, saw bottom <= i, and left empty-handed: a contradiction. Cell t itself is
// settled by the exchange on top, which only one can win.
// A thief reads its cell before its exchange. The owner may overwrite that cell only once top has passed it,
// and then the exchange fails and what was read is thrown away.
// No thread fence is used: the orders are on the accesses themselves, which ThreadSanitizer understands.
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
      seen_top_ = top_.load(std::memory_order_acquire);  // pairs with the exchange in steal(): its cell has been read
      if (b - seen_top_ > mask_) return false;
    }
    cells_[b & mask_].store(task, std::memory_order_relaxed);
    bottom_.store(b + 1, std::memory_order_release);  // pairs with size() and steal()
    return true;
  }

  // The newest. False: empty, or thieves were quicker.
  bool pop(consort_task **out) noexcept {
    const int64_t b = bottom_.load(std::memory_order_relaxed);      // own store
    if (b <= top_.load(std::memory_order_relaxed)) return false;    // top only grows: what is empty now was so before
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

  // How many there seem to be, and the index of the oldest: the same index later is the same task.
  int64_t size(int64_t *oldest) const noexcept {
    const int64_t t = top_.load(std::memory_order_acquire);
    *oldest = t;
    return bottom_.load(std::memory_order_relaxed) - t;
  }

  // The oldest, if there are at least `least`. nullptr as well when another was quicker.
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
  alignas(kLine) int64_t seen_top_ = 0;            // owner's: top is at least this
  int64_t mask_ = 0;
  std::unique_ptr<std::atomic<consort_task *>[]> cells_;  // relaxed: the ends order them, see push() and steal()
};

}  // namespace lws
