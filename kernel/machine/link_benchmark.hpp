// link_benchmark.hpp — measures one link by sending bytes over it as copies of data are sent.
//
// [control], at the start of a runtime before tasks run; one benchmark at a time. It uses a queue and memory of its own
// and gives them back. It has time limits of its own; if a driver never completes a copy, the queue and the memory of
// that copy are leaked. It does not judge the result: the caller decides whether a figure is plausible.
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
  double spread = 1;                  // of the middle half of its samples: largest over smallest
};

class LinkBenchmark {
 public:
  static constexpr uint64_t kToken = UINT64_MAX;
  LinkBenchmark(Platform &, uint32_t from, uint32_t to);
  ~LinkBenchmark();
  Result<LinkMeasurement> measure();                               // an error text says why there is no figure
  void completed(const consort_done *, uint32_t n) noexcept;  // [any] called by the driver

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
  const uint64_t clock_zero_, world_zero_;  // time of the runtime's clock and of the world's clock at the start
  void *q_ = nullptr;
  Block src_, dst_;
  uint64_t small_ = 0, large_ = 0, sent_ = 0;
  bool abandoned_ = false;
  std::mutex mutex_;                  // guards pushed_; leaf
  std::vector<consort_done> pushed_;
};

}  // namespace consort
