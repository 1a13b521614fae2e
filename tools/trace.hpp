// trace.hpp — a parsed trace of a runtime (the setting `trace`).
#pragma once
#include <consort/shared/trace_reader.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
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
    char why;                          // d: a task waited; p: prefetch; s: to free memory; ?: unknown
  };
  struct Decision {
    uint64_t at, task;
    uint32_t worker;
    double run;                        // NaN unknown
    uint64_t end;                      // 0 unknown
  };
  struct Worker { std::string name, klass; int32_t space = -1; };
  struct Fetch { uint32_t worker; uint64_t t0, t1, task; };  // its data were incomplete
  struct Sleep { uint32_t worker; uint64_t t0, t1; };
  struct Eviction { uint32_t space; uint64_t at, datum, bytes; };
  struct MemoryUse { uint32_t space; uint64_t at, bytes, limit; };  // limit 0: none
  // -- with the setting trace_graph --
  struct Use { uint64_t datum; char how; };                  // r, c, u, w: docs/trace.md
  struct Task {
    uint64_t id, at;                   // at: its submission; 0 unknown
    uint32_t kind;
    int32_t priority;
    uint32_t uses, afters;             // where its entries end in Trace::uses and Trace::after
  };
  struct Kind { std::string codelet; uint64_t bytes; };      // "-": no body
  struct Time { uint32_t kind, worker; int64_t ns; };        // by the models; < 0 unknown
  struct Datum { uint64_t id, bytes; int64_t space; uint64_t whole; };
  struct Link { uint32_t from, to; uint64_t bytes_per_s, latency; };

  explicit Trace(const std::string &path);  // throws with file and line
  const std::string &codelet(uint32_t number) const { return codelets[number]; }

  std::string clock, scheduler;
  std::unordered_map<uint64_t, uint32_t> kind_of;  // by task; if the trace has submissions
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> energy;  // uJ of a kind's task on a worker
  std::vector<Worker> workers;
  std::vector<std::string> spaces, codelets;
  std::vector<Run> runs;               // by begin
  std::vector<Copy> copies;            // by begin
  std::vector<Decision> decisions;     // in order
  std::vector<Fetch> fetches;          // by begin, as are the next three
  std::vector<Sleep> sleeps;
  std::vector<Eviction> evictions;
  std::vector<MemoryUse> memory;
  std::vector<Task> tasks;             // in the order of submission
  std::vector<Use> uses;
  std::vector<uint64_t> after;
  std::vector<Kind> kinds;
  std::vector<Time> times;
  std::vector<Datum> data;
  std::vector<Link> links;
  uint64_t begin = 0, end = 0, lost = 0;  // range of all runs and copies
  uint64_t unlogged = 0;               // tasks that had no room in the graph
  bool cut = false;                    // it has no end: its program was killed, or had no room for it

 private:
  static constexpr uint32_t kMostNames = 1 << 20;
  class Line;
  using Record = consort::shared::TraceReader::Record;
  void read_text(const std::string &path, std::string_view);
  void read_records(const std::string &path, std::string_view);
  void take(const Line &);             // refuses what it does not know
  bool take_event(const Line &);       // false: another kind of line
  bool take_graph(const Line &);
  bool take_record(const std::string &path, const Record &);  // false: another kind of record
  void take_fact(const std::string &path, const Record &, std::unordered_map<uint64_t, uint64_t> *data);
  void take_task(const std::string &path, const Record &, const std::unordered_map<uint64_t, uint64_t> &data);
  void finish();
};

Trace read_trace(const std::string &path);  // warns where it is cut
std::string trace_svg(const Trace &);
std::string trace_json(const Trace &);

}  // namespace tool
