// graph_log.hpp — a log of submissions: each task's kind, accesses and explicit predecessors, and the models' times of
// each kind. For traces with the setting `trace_graph`, and for reports.
//
// Owned by the tracer. It is written under the submission right over the task's data. So two tasks on one datum appear
// in the order in which they were linked. A leaf mutex of its own guards all, and its ring of records. Errors never reach
// the caller: what finds no memory or no room is counted as lost. What it keeps grows with the kinds and the data, not with
// the tasks.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph_observer.hpp"
#include "graph/submission_right.hpp"

namespace consort {

class Model;
class TraceCollector;
class TraceRing;
struct Observation;

class GraphLog final : public GraphObserver {
 public:
  GraphLog(Observation &rt, TraceCollector &, TraceRing &);

  void submitted(const Task &, const Claim *, uint32_t n, const TaskName *after, uint32_t nafter) noexcept override;
  void clear() noexcept;                     // discards all entries
  // -- lines of a trace; may throw bad_alloc --
  std::string machine() const;               // constant after the start
  std::string kinds() const;
  std::string ending(uint64_t more_lost) const;  // what the models know now, and when the first task was submitted

 private:
  struct Key {
    uint32_t codelet, generation;
    uint64_t footprint, work;
    auto operator<=>(const Key &) const = default;
  };
  struct StartReport {                              // the models' times at the last question
    const Model *model = nullptr;            // nullptr: no model; of time: then a driver may have answered
    uint64_t row = 0;                        // the row of the model
    std::vector<float> on;                   // by worker; NaN unknown, infinite: cannot run. Empty: not asked
  };
  struct Kind {                              // tasks with the same times
    std::string name;
    uint64_t footprint = 0, bytes = 0, count = 0;
    bool known = false;                      // on each worker
    StartReport time, energy;
  };
  uint32_t datum_of(const Datum &);          // precondition: the mutex is held; may throw
  StartReport ask(const Task &, uint32_t what) const;  // precondition: the mutex is not held; may throw
  float now_on(const StartReport &, uint32_t worker) const noexcept;
  void tell(std::string *, const Kind &, size_t number) const;
  void tell_times(std::string *, const Kind &, size_t number) const;
  // Writes the task's record. False: it has no room. Precondition: the mutex is held. May throw.
  bool record(const Task &, uint32_t kind, uint64_t now, const Claim *, uint32_t n, const TaskName *after, uint32_t nafter);

  Observation &rt_;
  TraceCollector &collector_;
  TraceRing &ring_;                          // written with the mutex
  mutable std::mutex mutex_;                 // leaf, save those of the collector
  std::map<Key, uint32_t> index_;
  std::vector<Kind> kinds_;
  std::unordered_map<uint64_t, uint32_t> data_index_;  // numbers of data in the file
  std::vector<uint32_t> uses_;               // of the task at hand
  uint64_t began_ = 0;                       // time of the first submission
  uint64_t lost_ = 0;
};

}  // namespace consort
