// report_ring.hpp — completions and events that poll() has not reported yet, in order, in memory allocated by open().
//
// One per rank, guarded by the lock of the rank or of its job. The caller of push() ensures capacity: see the budgets in
// inproc.hpp and shm.hpp.
#pragma once
#include <consort/transport.h>

#include <span>
#include <vector>

namespace transports {

enum class ReportKind : uint32_t { kSent, kReceived, kNotified, kEvent };  // kSent: any operation of its rank but RECV

inline ReportKind kind_of(const consort_msg &m) noexcept {
  return m.kind == CONSORT_MSG_RECV ? ReportKind::kReceived : ReportKind::kSent;
}

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

  // Reports to poll(): fills `out` with completions, counts them as no longer owed, and returns their number. An event goes
  // to raise(event) and ends a call that has reported nothing else, so the host has all completions that precede it.
  template <class Raise>
  uint32_t report(std::span<consort_done> out, Raise raise) {
    uint32_t n = 0;
    while (n < out.size() && !is_empty()) {
      const Report t = front();
      if (t.kind == ReportKind::kEvent && n) break;
      pop();
      if (t.kind == ReportKind::kEvent) {
        raise(t);
        continue;
      }
      --(t.kind == ReportKind::kSent ? sends : t.kind == ReportKind::kReceived ? receives : notes);
      out[n++] = t.done;
    }
    return n;
  }

  // Operations that were posted and notifications that have arrived, and that poll() has not reported.
  uint32_t &owed(const consort_msg &m) noexcept { return m.kind == CONSORT_MSG_RECV ? receives : sends; }
  uint32_t owed(const consort_msg &m) const noexcept { return m.kind == CONSORT_MSG_RECV ? receives : sends; }
  uint32_t sends = 0, receives = 0, notes = 0;

 private:
  std::vector<Report> all_;
  uint64_t begin_ = 0, end_ = 0;
};

}  // namespace transports
