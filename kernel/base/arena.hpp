// arena.hpp — an array of equal slots at fixed addresses; the system commits its memory page by page.
//
// The whole address range is reserved at the start and costs nothing until touched. A slot's address follows from its
// number by one multiplication, and a stale number can always be read. Slots are handed out in order and never taken
// back: each caller of carve() keeps its own free list. Memory arrives zeroed. Slot 0 is never handed out.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace consort {

struct Debug;

// How the system commits a range. Large: in huge pages beyond the first stretch, for slots that are used densely. Small:
// for slots of which few are used, each of which would commit a huge page.
enum class Pages { kLarge, kSmall };

class Reservation {  // address space, owned; unmapped by the destructor
 public:
  Reservation() = default;
  Reservation(const Reservation &) = delete;
  Reservation &operator=(const Reservation &) = delete;
  ~Reservation();
  // Reserves as much of `bytes` as the system grants, halving down to `least`. Returns nullptr if even that is refused.
  std::byte *reserve(size_t bytes, size_t least, Pages) noexcept;
  void trim(size_t bytes) noexcept;  // unmaps the range beyond `bytes`, rounded up to whole pages
  size_t bytes() const noexcept { return bytes_; }
  std::byte *base() const noexcept { return base_; }

 private:
  std::byte *base_ = nullptr;
  size_t bytes_ = 0;
};

template <class T>
class Arena {
 public:
  bool reserve(uint32_t slots, Pages pages = Pages::kLarge) noexcept {
    base_ = reinterpret_cast<T *>(range_.reserve(size_t{slots} * sizeof(T), size_t{1024} * sizeof(T), pages));
    limit_ = static_cast<uint32_t>(range_.bytes() / sizeof(T));
    return base_ != nullptr;
  }
  T *at(uint32_t i) const noexcept { return base_ + i; }
  uint32_t index(const T *slot) const noexcept { return static_cast<uint32_t>(slot - base_); }
  // Returns the first of n fresh slots, or 0 when the range is used up.
  uint32_t carve(uint32_t n) noexcept {
    // relaxed: numbers only have to be distinct; the contents of a slot are published by the thread that passes it on
    uint32_t first = next_.load(std::memory_order_relaxed);
    do {
      if (first + n > limit_ || first + n < first) return 0;
    } while (!next_.compare_exchange_weak(first, first + n, std::memory_order_relaxed));
    return first;
  }
  // all numbers below this have been handed out
  uint32_t carved() const noexcept { return next_.load(std::memory_order_relaxed); }
  bool holds(uint32_t i) const noexcept { return i - 1 < carved() - 1; }  // false for 0; the next number is never 0
  uint32_t limit() const noexcept { return limit_; }
  // Reduces the number of slots and unmaps the rest. Precondition: no slot has been carved.
  void limit_to(uint32_t slots) noexcept {
    if (slots >= limit_) return;
    limit_ = slots;
    range_.trim(size_t{slots} * sizeof(T));
  }

 private:
  friend struct Debug;
  T *base_ = nullptr;
  uint32_t limit_ = 0;
  std::atomic<uint32_t> next_{1};  // relaxed: see carve()
  Reservation range_;
};

}  // namespace consort
