// link_benchmark.hpp — sends bytes over one link, as copies of data will be sent, and looks how long they take.
//
// [control], at the start of a runtime, when no task runs: one at a time, on a queue and on memory of its own, which
// are given back. It keeps to its own limits of time; a driver that never ends a copy is left behind, with what it
// holds. It judges nothing: whether a figure makes sense is its caller's affair.
#pragma once
#include <consort/driver.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace consort {

struct Link;
struct Platform;

struct LinkMeasurement {
  double bytes_per_s = 0, latency_ns = 0;
  double spread = 1;                  // of the middle half of its repeats, the greatest over the least
};

class LinkBenchmark {
 public:
  static constexpr uint64_t kToken = UINT64_MAX;
  LinkBenchmark(Platform &, uint32_t from, uint32_t to);
  ~LinkBenchmark();
  Result<LinkMeasurement> measure();                               // an error says why there is no figure
  void completed(const consort_done *, uint32_t n) noexcept;  // [any] pushed by the driver

 private:
  struct Block { uint32_t space = CONSORT_NONE; consort_addr addr{}; uint64_t bytes = 0; };
  Result<void> prepare();
  Result<void> take(Block &, uint32_t space, uint64_t bytes);
  void give_back(Block &) noexcept;
  Result<double> copy(uint64_t bytes, bool back = false);     // ns
  Result<LinkMeasurement> round();
  bool is_done(uint64_t cookie, consort_status *) noexcept;
  uint64_t now() const noexcept;

  Platform &platform_;
  const Link &link_;
  const uint32_t from_, to_;
  const Clock world_{false, 0};
  const uint64_t clock_zero_, world_zero_;  // the runtime's and the world's, when it began
  void *q_ = nullptr;
  Block src_, dst_;
  uint64_t small_ = 0, large_ = 0, sent_ = 0;
  bool abandoned_ = false;
  std::mutex mutex_;                  // guards pushed_; leaf
  std::vector<consort_done> pushed_;
};

}  // namespace consort
