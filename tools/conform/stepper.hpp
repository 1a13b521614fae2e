// stepper.hpp — stops one call of the plugin before an instruction of its file while another call runs.
//
// Races between two instructions appear rarely or never when threads just run. Here the processor's trap flag stops the
// call before the k-th instruction that it executes in the plugin's file, for each k in turn. A stopped call may hold a
// lock: the other one then waits, and continues when the stopped one does. x86-64 alone, without a sanitizer; elsewhere
// can() returns false. One at a time; for calls that end by themselves, inside a scope Inside.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace conform {

class Stepper {
 public:
  static bool can();
  explicit Stepper(const std::string &path);               // of the loaded plugin

  // Runs the call, counts its instructions in the file, and chooses the stops. All if there are few; else the ones
  // that lock memory or call out of the file, and some between them. `most`: limit of all executed instructions.
  std::vector<uint64_t> points(const std::function<void()> &call, uint64_t most, uint64_t most_points = 120) const;

  enum class Other { kEnded, kWaited, kNotStopped };       // while the call was stopped; kNotStopped: it had ended before
  // Both have ended when this returns. If the call had ended before, the other one was not started.
  Other race(uint64_t k, const std::function<void()> &call, const std::function<void()> &other) const;

 private:
  std::vector<std::pair<uintptr_t, uintptr_t>> text_;
};

}  // namespace conform
