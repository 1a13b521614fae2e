// idle.hpp — why workers had no task: the time between their runs, by reason.
#pragma once
#include <array>

#include "history.hpp"

namespace tool {

enum class Reason : uint8_t {
  kData,         // a task was taken, its data were on their way
  kScheduling,   // a task that the worker can run was ready, and was not given to it
  kOrder,        // tasks were submitted, but waited for others
  kSubmission,   // no submitted task was left, and more came later
  kEnd,          // no task was left, and none came
  kUnknown,      // the trace has no graph
};
constexpr size_t kReasons = 6;
const char *reason_name(Reason);
const char *reason_words(Reason);

struct Gap {
  uint32_t worker;
  uint64_t t0, t1;
  Reason why;
};

struct Idle {
  explicit Idle(const History &);

  using Sums = std::array<double, kReasons>;
  std::vector<Sums> by_worker;         // ns
  std::vector<double> asleep;          // ns by worker; a part of the above
  Sums all{};
  double share(Reason r) const { return worker_time > 0 ? all[static_cast<size_t>(r)] / worker_time : 0; }
  double worker_time = 0;              // workers times span
  std::vector<Gap> gaps;               // merged where short: for drawing
  std::vector<std::pair<uint64_t, uint32_t>> ready_curve, pending_curve;  // when, how many since; of all classes
};

}  // namespace tool
