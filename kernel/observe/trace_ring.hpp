// trace_ring.hpp — a ring of records: one thread writes, and a reader takes them out meanwhile.
//
// A record lies in one piece: at the ring's end, padding stands where it has no room. The writer is the thread whose state
// holds the ring (or, of the ring of submissions, the holder of their mutex): one at a time, and a change of writers is
// ordered by that state's hand-over or that mutex. The reader holds the mutex of the rings' owner.
#pragma once
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "observe/trace_records.hpp"

namespace consort {

class TraceRing;

// Takes records out of rings.
class TraceDrain {
 public:
  virtual void half_full() noexcept = 0;             // [any] they should be taken out soon
  // [the ring's writer] Makes room for `bytes`. False: there is none, and the record is lost.
  virtual bool make_room(TraceRing &, uint64_t bytes) noexcept = 0;

 protected:
  ~TraceDrain() = default;
};

class TraceRing {
 public:
  // capacity: a power of two, at least 4 KiB. May throw bad_alloc.
  TraceRing(TraceDrain &drain, uint32_t number, uint64_t capacity)
      : number(number), drain_(drain), capacity_(capacity), data_(new char[capacity]) {}

  const uint32_t number;

  // -- the writer --
  // Returns room for a record of so many bytes, a multiple of 8 and at most most(); commit() follows. nullptr: it is lost.
  char *reserve(uint32_t bytes) noexcept {
    if (head_.load(std::memory_order_relaxed) + bytes > limit_) [[unlikely]]
      if (!renew(bytes)) return nullptr;
    return data_.get() + (head_.load(std::memory_order_relaxed) & (capacity_ - 1));
  }
  // release: the reader that acquires the head sees the record.
  void commit(uint32_t bytes) noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }
  template <class T> void put(const T &record) noexcept {
    char *const at = reserve(sizeof(T));
    if (!at) return;
    std::memcpy(at, &record, sizeof(T));
    commit(sizeof(T));
  }
  uint64_t room() const noexcept {                   // bytes; acquire: pairs with the release in take_all()
    return capacity_ - (head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire));
  }
  uint32_t most() const noexcept {                   // bytes of a record
    const uint64_t quarter = capacity_ / 4;
    return quarter < shared::trace_format::kMostRecord ? static_cast<uint32_t>(quarter) : shared::trace_format::kMostRecord;
  }
  void lose() noexcept { lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
  std::vector<uint32_t> named;                       // by number of a codelet: the generation whose name was written; 0: none

  // -- the reader --
  uint64_t used() const noexcept {                   // acquire: see commit()
    return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_relaxed);
  }
  // Calls take(bytes, n) for the records there are, in one piece or two, and frees their room.
  template <class F> void take_all(F take) noexcept {
    const uint64_t tail = tail_.load(std::memory_order_relaxed), n = used(), from = tail & (capacity_ - 1);
    const uint64_t first = n < capacity_ - from ? n : capacity_ - from;
    if (first) take(data_.get() + from, first);
    if (n > first) take(data_.get(), n - first);
    // release: pairs with the acquire in renew(). What was read has been read before the writer overwrites it.
    tail_.store(tail + n, std::memory_order_release);
  }
  uint64_t take_lost() noexcept {
    const uint64_t now = lost_.load(std::memory_order_relaxed);
    return now - std::exchange(lost_seen_, now);
  }

 private:
  // The writer has come to its limit: the ring's end, half of it filled, or all.
  [[gnu::noinline, gnu::cold]] bool renew(uint32_t bytes) noexcept {
    const uint64_t head = head_.load(std::memory_order_relaxed), end = (head | (capacity_ - 1)) + 1;
    const uint64_t from = head + bytes > end ? end : head, need = from + bytes;
    uint64_t tail = tail_.load(std::memory_order_acquire);  // acquire: pairs with the release in take_all()
    if (need - tail > capacity_ / 2 && !asked_) asked_ = true, drain_.half_full();
    if (need - tail > capacity_) {
      if (!drain_.make_room(*this, need - head)) return lose(), false;
      tail = tail_.load(std::memory_order_acquire);  // as above
    }
    if (from > head) {                               // padding; its head alone is read, but all of it is in the file
      const shared::trace_format::Record padding{shared::trace_format::kPadding, static_cast<uint16_t>((end - head) / 8)};
      char *const at = data_.get() + (head & (capacity_ - 1));
      std::memset(at, 0, end - head);
      std::memcpy(at, &padding, sizeof padding);
      head_.store(end, std::memory_order_release);   // as commit()
    }
    if (need - tail <= capacity_ / 2) asked_ = false;
    const uint64_t room = tail + (asked_ ? capacity_ : capacity_ / 2), last = from + capacity_ - (from & (capacity_ - 1));
    limit_ = room < last ? room : last;
    return true;
  }

  TraceDrain &drain_;
  const uint64_t capacity_;
  const std::unique_ptr<char[]> data_;
  uint64_t limit_ = 0;                               // the writer's: up to there it writes without a look at the tail
  bool asked_ = false;                               // the writer's: the reader has been told that half is filled
  uint64_t lost_seen_ = 0;                           // the reader's
  std::atomic<uint64_t> lost_{0};                    // relaxed: a count; the writer's alone to change
  alignas(64) std::atomic<uint64_t> head_{0};        // bytes written so far; by the writer; release: see commit()
  alignas(64) std::atomic<uint64_t> tail_{0};        // bytes taken so far; by the reader; release: see take_all()
};

}  // namespace consort
