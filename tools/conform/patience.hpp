// patience.hpp — the time limit of a child process, independent of the load of the machine.
//
// Its time has passed after `limit` seconds of computing, or after `limit` seconds in which none of its threads
// computed, waited for a core, or waited for a disk. So a process that waits for a core keeps its time, and a deadlock,
// which computes nothing, is detected. A process that only wakes up now and then has kWall times as long.
#pragma once
#include <sys/types.h>

#include <chrono>

namespace conform {

class Patience {
 public:
  static constexpr double kWall = 30;
  Patience(pid_t child, double limit) : child_(child), limit_(limit), begun_with_(computed_by(child)) {}
  // To be called repeatedly, about every 1 to 20 ms. A longer gap counts as kGap: this process had no core, or was
  // stopped together with the child.
  bool is_over();
  const char *reason() const { return reason_; }  // after is_over(): "nothing computed for"
  void start_anew();                              // the child has made progress
  double spent() const { return spent_; }         // seconds so far in which it computed, or had nothing to compute

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kTurn = 0.02, kGap = 0.1;
  static double computed_by(pid_t);  // 0: unknown
  static bool is_runnable(pid_t);

  pid_t child_;
  double limit_, begun_with_, last_ = begun_with_, idle_ = 0, wall_ = 0, spent_ = 0;
  Clock::time_point asked_ = Clock::now();
  const char *reason_ = "";
};

}  // namespace conform
