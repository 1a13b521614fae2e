// submission_right.hpp — the right to change the ends of access chains. Implemented in submit.cpp.
//
// A single submitting thread has the right by bias and pays nothing. The first other submitter revokes the bias. From
// then on each submission locks its data, in the order of their addresses, and links all its accesses before it unlocks
// any. So two submissions with several common data have the same order on all of them.
#pragma once
#include "graph/task_graph.hpp"

namespace consort {

// One datum of a submission, merged over its uses.
struct Claim {
  static constexpr uint32_t kLoose = 1u << 31;  // in mode: not ordered
  Claim() = default;                          // uninitialised: the fast path has many
  Claim(Datum *d, uint32_t m) noexcept : datum(d), mode(m) {}

  Datum *datum;
  uint32_t mode;
  SpinLock *lock;                             // the lock taken for it; used by SubmissionRight
};

// Holds the submission right: all of it by bias, or over `n` data, which it sorts by address and locks. Meanwhile,
// biased or not, a lease of this thread cannot be taken away.
class SubmissionRight {
 public:
  explicit SubmissionRight(ThreadState &thread) noexcept : thread_(thread) {}
  SubmissionRight(TaskGraph &rt, ThreadState &thread, Claim *claims, uint32_t n) noexcept : thread_(thread) {
    if (!try_biased(rt)) [[unlikely]] enter(rt, claims, n);
  }
  bool try_biased(TaskGraph &rt) noexcept {
    thread_.busy.store(1, std::memory_order_relaxed);
    fence::light(rt.asymmetric);  // pairs with the heavy fences where the bias is revoked, and of Worker::watch
    return rt.bias.load(std::memory_order_acquire) == thread_.id;
  }
  void enter(TaskGraph &rt, Claim *claims, uint32_t n) noexcept {  // after try_biased() returned false
    claims_ = claims;
    locked_ = lock(rt, thread_, claims, n);
  }
  ~SubmissionRight() {
    if (locked_) [[unlikely]] unlock(claims_, locked_);
    thread_.busy.store(0, std::memory_order_release);
  }
  SubmissionRight(const SubmissionRight &) = delete;
  SubmissionRight &operator=(const SubmissionRight &) = delete;

 private:
  // They take values: a right whose address is taken would be kept in memory, not in registers.
  static uint32_t lock(TaskGraph &, ThreadState &, Claim *claims, uint32_t n) noexcept;  // returns the number of claims locked
  static void unlock(const Claim *, uint32_t locked) noexcept;

  ThreadState &thread_;
  Claim *claims_ = nullptr;
  uint32_t locked_ = 0;
};

}  // namespace consort
