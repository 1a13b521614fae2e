// What the checked tasks of `cliffs` find: data in order, values whole, each task once.
// Owned by the process; expect() runs before the first task, the rest inside tasks on any thread, verdict() after the
// last. The versions are plain words, so that only the runtime's own synchronisation keeps them straight.
#pragma once
#include <array>
#include <atomic>
#include <memory>

#include "shapes.hpp"

namespace cliffs {

inline constexpr uint64_t unwritten = 0x7ead0123456789abull;  // in each datum of the pool

// A value of up to 256 bytes that belongs to task i alone.
struct Value {
  uint64_t word[32];
};
inline Value value_of(uint64_t i, unsigned bytes) {
  Value v{};
  for (unsigned k = 0; k < (bytes + 7) / 8; ++k) v.word[k] = i + k;
  return v;
}

class Oracle {
public:
  void expect(const Shape &s, uint64_t n, const uint64_t *versions) {
    shape_ = s;
    n_ = n;
    versions_ = versions;
    times_ = std::make_unique<std::atomic<uint8_t>[]>(n);
    failures_ = 0;
    ran_ = done_ = 0;
    for (unsigned k = 0; k < slots * max_data; ++k) before_[k] = versions[k];
    for (auto &w : by_worker_) w = 0;
  }

  void fail() { failures_.fetch_add(1, std::memory_order_relaxed); }
  void done(bool good) { done_.fetch_add(1, std::memory_order_relaxed), good ? void() : fail(); }

  // The data of one task, in its order of use: first the data that are read, then the data that are written.
  void uses(const std::array<uint64_t *, max_data> &cells) {
    for (unsigned k = 0; k < shape_.reads; ++k)
      if (*cells[k] != unwritten) fail();
    if (shape_.writes == 0) return;
    const uint64_t version = *cells[shape_.reads] - before_[cells[shape_.reads] - versions_];
    for (unsigned k = shape_.reads; k < shape_.data(); ++k) {  // all of a slot were written by the same task before
      if (*cells[k] - before_[cells[k] - versions_] != version) fail();
      ++*cells[k];
    }
    last_version_ = version;
  }
  // The value, which says which task this is.
  void value(const uint64_t *words) {
    const uint64_t i = words[0];
    for (unsigned k = 0; k < shape_.value / 8; ++k)
      if (words[k] != i + k) fail();
    if (i >= n_) return fail();
    if (times_[i].fetch_add(1, std::memory_order_relaxed) != 0) fail();
    if (shape_.writes != 0 && last_version_ != i / slots) fail();
    if (shape_.after && i >= slots && times_[i - slots].load(std::memory_order_relaxed) != 1) fail();
  }
  void ran(uint32_t worker) {
    ran_.fetch_add(1, std::memory_order_relaxed);
    if (worker < by_worker_.size()) by_worker_[worker].fetch_add(1, std::memory_order_relaxed);
  }

  uint64_t verdict(unsigned workers) const {
    uint64_t bad = failures_.load(std::memory_order_relaxed);
    bad += ran_.load(std::memory_order_relaxed) != n_;
    bad += done_.load(std::memory_order_relaxed) != (shape_.done ? n_ : 0);
    for (uint64_t i = 0; shape_.value != 0 && i < n_; ++i) bad += times_[i].load(std::memory_order_relaxed) != 1;
    for (unsigned s = 0; s < slots; ++s)
      for (unsigned k = 0; k < shape_.writes; ++k) bad += versions_[s * max_data + k] - before_[s * max_data + k] != (n_ + slots - 1 - s) / slots;
    for (unsigned w = 0; shape_.worker && w < workers; ++w) bad += by_worker_[w].load(std::memory_order_relaxed) != (n_ + workers - 1 - w) / workers;
    return bad;
  }

private:
  Shape shape_;
  uint64_t n_ = 0;
  const uint64_t *versions_ = nullptr;
  std::array<uint64_t, slots * max_data> before_{};
  std::unique_ptr<std::atomic<uint8_t>[]> times_;
  // They count, and order nothing: read when all tasks are done.
  std::atomic<uint64_t> failures_{0}, ran_{0}, done_{0};
  std::array<std::atomic<uint64_t>, 64> by_worker_{};
  static inline thread_local uint64_t last_version_ = 0;  // of the task that this thread runs
};

inline Oracle oracle;

}  // namespace cliffs
