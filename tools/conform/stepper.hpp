// stepper.hpp — one call into the plugin, stopped before an instruction of its own file while another call runs beside it.
//
// What goes wrong between two instructions shows itself by chance, or never, where threads just run. Here the processor's
// trap flag stops the call before the k-th instruction that it executes in the plugin's file, for each k in turn. A call that
// is stopped may hold a lock: the other one then waits, and goes on when the stopped one does. x86-64 alone, not under a
// sanitizer; elsewhere can() answers false. One at a time; for calls that end by themselves, and that an Inside is around.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace conform {

class Stepper {
 public:
  static bool can();
  explicit Stepper(const std::string &path);               // of the plugin, which is loaded

  // Runs it, counts its instructions in the file, and chooses before which to stop: all where they are few, else those that
  // lock memory or call out of the file, and some between them. `most` bounds what is executed in all.
  std::vector<uint64_t> points(const std::function<void()> &call, uint64_t most, uint64_t most_points = 120) const;

  enum class Other { kEnded, kWaited, kNotStopped };       // while the call stood; kNotStopped: the call was over before
  // Both have ended when this returns; where the call was over before, the other one has not begun.
  Other race(uint64_t k, const std::function<void()> &call, const std::function<void()> &other) const;

 private:
  std::vector<std::pair<uintptr_t, uintptr_t>> text_;
};

}  // namespace conform
