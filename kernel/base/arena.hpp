// arena.hpp — a long run of equal slots at addresses that never change, taken from the system page by page.
//
// The range is reserved whole at the start and costs nothing until touched, so a slot is found from its number
// by one multiplication and a stale number can always be looked at. Slots are handed out in order and never
// taken back: whoever carves them keeps its own free lists. Memory arrives zeroed. Slot 0 is never handed out.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace consort {

struct Debug;

class Reservation {  // address space, owned; unmapped at the end
 public:
  Reservation() = default;
  Reservation(const Reservation &) = delete;
  Reservation &operator=(const Reservation &) = delete;
  ~Reservation();
  // As much of `bytes` as the system grants, halving down to `least`; nullptr if not even that.
  std::byte *reserve(size_t bytes, size_t least) noexcept;
  void trim(size_t bytes) noexcept;  // gives back what is beyond
  size_t bytes() const noexcept { return bytes_; }
  std::byte *base() const noexcept { return base_; }

 private:
  std::byte *base_ = nullptr;
  size_t bytes_ = 0;
};

template <class T>
class Arena {
 public:
  bool reserve(uint32_t slots) noexcept {
    base_ = reinterpret_cast<T *>(range_.reserve(size_t{slots} * sizeof(T), size_t{1024} * sizeof(T)));
    limit_ = static_cast<uint32_t>(range_.bytes() / sizeof(T));
    return base_ != nullptr;
  }
  T *at(uint32_t i) const noexcept { return base_ + i; }
  uint32_t index(const T *slot) const noexcept { return static_cast<uint32_t>(slot - base_); }
  // The first of n fresh slots, 0 when the range is used up.
  uint32_t carve(uint32_t n) noexcept {
    // relaxed: numbers only have to be distinct; what is put in a slot is published by whoever hands it on
    uint32_t first = next_.load(std::memory_order_relaxed);
    do {
      if (first + n > limit_ || first + n < first) return 0;
    } while (!next_.compare_exchange_weak(first, first + n, std::memory_order_relaxed));
    return first;
  }
  uint32_t carved() const noexcept { return next_.load(std::memory_order_relaxed); }  // numbers below were handed out
  bool holds(uint32_t i) const noexcept { return i - 1 < carved() - 1; }  // not 0; the next one is never 0
  uint32_t limit() const noexcept { return limit_; }
  // Before the first is carved: has no more than so many slots, and gives back the rest of the range.
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
