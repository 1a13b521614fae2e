// child.hpp — runs code that calls a plugin in a process of its own, so that it may crash, hang and leak.
//
// The process that forks has one thread and loads no plugin. The child leads a process group, which is killed as a
// whole when its time has passed: seconds of computing, or seconds in which no thread of it could compute. So a case
// has the same time on a busy machine, or on one that was suspended for a while.
#pragma once
#include <functional>
#include <string>

#include "case.hpp"

namespace conform {

struct Result {
  Verdict verdict{};
  std::string printed;     // output of the case or the plugin, its end
  double seconds = 0;
  bool crashed = false, timed_out = false;
};

struct Ended {
  int status = 0;          // as returned by waitpid()
  bool timed_out = false;
  std::string printed;
};
// Throws std::system_error if no process can be created.
Ended run_apart(double limit_seconds, const std::function<void()> &body);

// in_process: for debuggers; nothing is caught then.
Result run_in_child(const Case &, const Subject &, double limit_seconds, bool in_process);

}  // namespace conform
