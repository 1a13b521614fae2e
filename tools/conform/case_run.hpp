// case_run.hpp — a case that runs in a process of its own, and its result.
#pragma once
#include <string>

#include "case.hpp"
#include "child.hpp"

namespace conform {

struct Result {
  Verdict verdict{};
  std::string printed;     // output of the case or the plugin, its end
  double seconds = 0;
  bool crashed = false, timed_out = false;
};

// A verdict in memory that the case's process shares with its parent.
class SharedVerdict {
 public:
  SharedVerdict();         // throws std::system_error
  SharedVerdict(const SharedVerdict &) = delete;
  SharedVerdict &operator=(const SharedVerdict &) = delete;
  ~SharedVerdict();
  Verdict &operator*() { return *verdict_; }

 private:
  Verdict *verdict_;
};

class CaseRun {
 public:
  CaseRun(const Case &, const Subject &, double limit_seconds);  // throws std::system_error
  Child &child() { return child_; }
  bool has_ended();        // as Child::has_ended()
  Result &result() { return result_; }           // after has_ended()

 private:
  double limit_, began_;
  SharedVerdict shared_;
  Child child_;
  Result result_;
  bool is_judged_ = false;
};

// For debuggers; nothing is caught.
Result run_in_process(const Case &, const Subject &);

}  // namespace conform
