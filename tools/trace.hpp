// trace.hpp — a parsed trace of a runtime (the setting `trace`).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool {

struct Trace {
  struct Run {
    uint32_t worker;
    uint64_t t0, t1;
    uint32_t codelet;
    uint64_t task;
    uint32_t impl;
    int64_t expected;                  // ns; < 0 unknown
    int32_t status;
  };
  struct Copy {
    uint32_t from, to;
    uint64_t t0, t1, bytes, datum;
    int32_t status;
  };
  struct Decision {
    uint64_t at, task;
    uint32_t worker;
    double run;                        // NaN unknown
    uint64_t end;                      // 0 unknown
  };
  struct Worker { std::string name, klass; };

  explicit Trace(const std::string &path);  // throws with file and line
  const std::string &codelet(uint32_t number) const { return codelets[number]; }

  std::string clock, scheduler;
  std::map<uint64_t, uint32_t> kind_of;  // by task; if the trace has submissions
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> energy;  // uJ of a kind's task on a worker
  std::vector<Worker> workers;
  std::vector<std::string> spaces, codelets;
  std::vector<Run> runs;               // by begin
  std::vector<Copy> copies;            // by begin
  std::vector<Decision> decisions;     // in order
  uint64_t begin = 0, end = 0, lost = 0;  // range of all runs and copies
};

std::string trace_svg(const Trace &);
std::string trace_json(const Trace &);

}  // namespace tool
