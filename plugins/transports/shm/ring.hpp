// ring.hpp — a ring of records in shared memory, with one process that writes and one that reads. No lock.
//
// Memory order. The writer fills a record, then stores `tail` with release; the reader loads `tail` with acquire, so it sees
// the bytes of each record below it. The reader stores `head` with release after its last access to a record; the writer
// loads `head` with acquire before it writes there again. Each side keeps its own position in private memory and only
// stores it: a peer that writes nonsense to a counter is refused, and cannot move this side.
// Sleeping. The reader stores `armed`, then looks at `tail`; the writer stores `tail`, then looks at `armed`. With a
// sequentially consistent fence in between on each side, at least one of them sees the other's store: no wake is lost.
// Leaving. A side stores `closed` before it frees memory that the other may read (copies.hpp). The reader of such memory
// loads `closed` after its copy, behind a fence; if it is clear, the memory was whole during the copy.
#pragma once
#include <atomic>
#include <cstring>

#include "wire.hpp"

namespace shm {

struct RingHead {
  // Bytes written. Stored with release in RingWriter::commit(), loaded with acquire by the reader.
  alignas(64) std::atomic<uint64_t> tail;
  // Counts the regions that the writer's rank has unregistered. Relaxed: fences before the memory changes and after a copy order it.
  std::atomic<uint64_t> epoch;
  // The writer's rank has left. Relaxed store before a fence; loaded with acquire, or behind a fence after a copy.
  std::atomic<uint32_t> closed;
  // Bytes read. Stored with release after the last access to a record, loaded with acquire in claim().
  alignas(64) std::atomic<uint64_t> head;
  // Short messages that left the reader's store. Stored with release, loaded with acquire before the next is sent.
  std::atomic<uint64_t> freed;
  // Set by the reader before it sleeps, cleared by the writer that wakes it. Relaxed, with a seq_cst fence on each side.
  alignas(64) std::atomic<uint32_t> armed;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(RingHead) <= 2048);

constexpr uint64_t rounded(uint64_t n) noexcept { return (n + 63) & ~uint64_t{63}; }
constexpr uint64_t size_of(uint32_t payload) noexcept { return sizeof(Record) + rounded(payload); }

class RingWriter {
 public:
  RingWriter() = default;
  RingWriter(RingHead *head, char *data, uint64_t room) noexcept : head_(head), data_(data), room_(room) {}
  // Memory for a record with such a payload; nullptr: no room now. commit() makes it visible.
  char *claim(uint32_t payload) noexcept {
    const uint64_t n = size_of(payload), used = tail_ - head_->head.load(std::memory_order_acquire);
    if (used > room_) return is_broken_ = true, nullptr;
    const uint64_t to_end = room_ - tail_ % room_, pad = to_end < n ? to_end : 0;
    if (room_ - used < n + pad) return nullptr;
    if (pad) {
      Record r{};
      r.kind = kPad, r.payload = static_cast<uint32_t>(pad - sizeof r);
      std::memcpy(data_ + tail_ % room_, &r, sizeof r);
      tail_ += pad;
    }
    return data_ + tail_ % room_;
  }
  void commit(uint32_t payload) noexcept {
    tail_ += size_of(payload);
    head_->tail.store(tail_, std::memory_order_release);
  }
  bool write(const Record &r, const void *payload = nullptr) noexcept {
    char *const to = claim(r.payload);
    if (!to) return false;
    std::memcpy(to, &r, sizeof r);
    if (payload) std::memcpy(to + sizeof r, payload, r.payload);
    return commit(r.payload), true;
  }
  bool is_broken() const noexcept { return is_broken_; }  // the reader's position made no sense
  // Whether the reader sleeps; it is told once.
  bool must_wake() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return head_->armed.load(std::memory_order_relaxed) && head_->armed.exchange(0, std::memory_order_relaxed);
  }
  RingHead *head() const noexcept { return head_; }

 private:
  RingHead *head_ = nullptr;
  char *data_ = nullptr;
  uint64_t room_ = 1, tail_ = 0;
  bool is_broken_ = false;
};

class RingReader {
 public:
  enum class Found { kNothing, kRecord, kNonsense };
  RingReader() = default;
  RingReader(RingHead *head, const char *data, uint64_t room) noexcept : head_(head), data_(data), room_(room) {}
  // Copies the next record out; its payload stays in place until pop(), and may change while the peer is hostile.
  Found peek(Record &r, const char *&payload) noexcept {
    for (;;) {
      const uint64_t there = head_->tail.load(std::memory_order_acquire) - read_;
      if (!there) return Found::kNothing;
      const uint64_t to_end = room_ - read_ % room_;
      if (there > room_ || there % 64) return Found::kNonsense;
      std::memcpy(&r, data_ + read_ % room_, sizeof r);
      length_ = size_of(r.payload);
      if (length_ > there || length_ > to_end) return Found::kNonsense;
      payload = data_ + read_ % room_ + sizeof r;
      if (r.kind != kPad) return is_sound(r) ? Found::kRecord : Found::kNonsense;
      pop();
    }
  }
  void pop() noexcept {
    read_ += length_;
    head_->head.store(read_, std::memory_order_release);
  }
  bool is_empty() const noexcept { return head_->tail.load(std::memory_order_acquire) == read_; }
  RingHead *head() const noexcept { return head_; }

 private:
  RingHead *head_ = nullptr;
  const char *data_ = nullptr;
  uint64_t room_ = 1, read_ = 0, length_ = 0;
};

}  // namespace shm
