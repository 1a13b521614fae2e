// child.hpp — runs a case, or what else calls a plugin, in a process of its own, so that it may crash, hang and leak.
//
// The process that forks has one thread and loads no plugin. The child leads a group of its own, which is killed as a
// whole when its time is over: so many seconds of computing, or seconds in which no thread of it could compute. So a case
// on a machine that is busy, or that was stopped for a while, has the same time as elsewhere.
#pragma once
#include <functional>
#include <string>

#include "case.hpp"

namespace conform {

struct Result {
  Verdict verdict{};
  std::string printed;     // by the case or the plugin, the end of it
  double seconds = 0;
  bool crashed = false, timed_out = false;
};

struct Ended {
  int status = 0;          // as waitpid() has it
  bool timed_out = false;
  std::string printed;
};
// Throws std::system_error where there is no process to be had.
Ended run_apart(double limit_seconds, const std::function<void()> &body);

// in_process: for debuggers; nothing is caught then.
Result run_in_child(const Case &, const Subject &, double limit_seconds, bool in_process);

}  // namespace conform
