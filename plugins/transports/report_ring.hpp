// report_ring.hpp — completions and events that poll() has not reported yet, in order, in memory allocated by open().
//
// One per rank, guarded by its job's lock. The caller of push() ensures capacity: see the budgets in inproc.hpp.
#pragma once
#include <consort/transport.h>

#include <vector>

namespace transports {

enum class ReportKind : uint32_t { kSent, kReceived, kNotified, kEvent };  // kSent: any operation of its rank but RECV

struct Report {
  ReportKind kind;
  uint32_t event;  // CONSORT_EV_*; about rank done.source
  consort_done done;
};

class ReportRing {
 public:
  explicit ReportRing(size_t room) : all_(room) {}
  bool is_empty() const noexcept { return begin_ == end_; }
  const Report &front() const noexcept { return all_[begin_ % all_.size()]; }
  void pop() noexcept { ++begin_; }
  void push(const Report &t) noexcept { all_[end_++ % all_.size()] = t; }

 private:
  std::vector<Report> all_;
  uint64_t begin_ = 0, end_ = 0;
};

}  // namespace transports
