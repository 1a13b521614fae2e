// graph_log.hpp — a log of submissions: each task's kind, accesses and explicit predecessors, and the models' times of
// each kind. For traces with the setting `trace_graph`, and for reports.
//
// Owned by the tracer. It is written under the submission right over the task's data. So two tasks on one datum appear
// in the order in which they were linked. A leaf mutex of its own guards all. Errors never reach the caller: what finds
// no memory or exceeds the limit is counted as lost.
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
struct Observation;

class GraphLog final : public GraphObserver {
 public:
  GraphLog(Observation &rt, size_t most) : rt_(rt), most_(most) {}

  void submitted(const Task &, const Claim *, uint32_t n, const TaskName *after, uint32_t nafter) noexcept override;
  void clear() noexcept;                     // discards all entries
  std::string text() const;                  // in the format of a trace; may throw bad_alloc
  uint64_t lost() const noexcept { return lost_; }

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
  struct Use {
    uint32_t datum;
    char how;                                // r: with other readers; c: with other commuting writers; w, u: exclusive
  };
  struct Place {
    uint64_t id, bytes, whole;               // whole: the datum of which it is a part, 0: none
    uint32_t space;  // location of its contents at its first use; NONE: nowhere, or in several spaces
  };
  struct Entry {
    TaskName name;
    uint32_t kind;
    uint64_t at;                             // when it was submitted
    int32_t priority;
    uint32_t nuses, nafter;                  // number of its entries in uses_ and after_
  };

  uint32_t datum_of(const Datum &);          // precondition: the mutex is held; may throw
  StartReport ask(const Task &, uint32_t what) const;  // precondition: the mutex is not held; may throw
  float now_on(const StartReport &, uint32_t worker) const noexcept;
  void tell(std::string *, const Kind &, size_t number) const;

  Observation &rt_;
  const size_t most_;                        // limit of tasks
  mutable std::mutex mutex_;                 // leaf
  std::map<Key, uint32_t> index_;
  std::vector<Kind> kinds_;
  std::unordered_map<uint64_t, uint32_t> data_index_;
  std::vector<Place> data_;
  std::vector<Entry> tasks_;
  std::vector<Use> uses_;
  std::vector<TaskName> after_;
  uint64_t began_ = 0;                       // time of the first submission
  uint64_t lost_ = 0;
};

}  // namespace consort
