// graph_log.hpp — what was submitted: each task's kind, what it uses, what it comes after by the application's word, and
// what models know of each kind. For a trace with the setting `trace_graph`, and for reports.
//
// Owned by the tracer. It is told under the submission right over the task's data, so any two tasks on one datum stand
// in it in the order in which they were linked; a leaf mutex of its own guards all. Nothing here fails anybody: what
// finds no memory or no room is counted as lost.
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
  void clear() noexcept;                     // it begins anew
  std::string text() const;                  // lines of a trace; may throw bad_alloc
  uint64_t lost() const noexcept { return lost_; }

 private:
  struct Key {
    uint32_t codelet, generation;
    uint64_t footprint, work;
    auto operator<=>(const Key &) const = default;
  };
  struct StartReport {                              // when it was asked last
    const Model *model = nullptr;            // nullptr: there is none; of time, then a driver may have told
    uint64_t row = 0;                        // of it
    std::vector<float> on;                   // by worker; NaN unknown, infinite: it cannot. Empty: nobody was asked
  };
  struct Kind {                              // tasks that take the same time
    std::string name;
    uint64_t footprint = 0, bytes = 0, count = 0;
    bool known = false;                      // on each worker
    StartReport time, energy;
  };
  struct Use {
    uint32_t datum;
    char how;                                // r: beside other readers; c: beside others that change it; w, u: alone
  };
  struct Place {
    uint64_t id, bytes, whole;               // whole: of which it is a part, 0: of none
    uint32_t space;                          // where its contents were at its first use; NONE: nowhere, or in several
  };
  struct Entry {
    TaskName name;
    uint32_t kind;
    int32_t priority;
    uint32_t nuses, nafter;                  // they stand in uses_ and after_, in order
  };

  uint32_t datum_of(const Datum &);          // with the mutex; may throw
  StartReport ask(const Task &, uint32_t what) const;  // without the mutex; may throw
  float now_on(const StartReport &, uint32_t worker) const noexcept;
  void tell(std::string *, const Kind &, size_t number) const;

  Observation &rt_;
  const size_t most_;                        // tasks
  mutable std::mutex mutex_;                 // leaf
  std::map<Key, uint32_t> index_;
  std::vector<Kind> kinds_;
  std::unordered_map<uint64_t, uint32_t> data_index_;
  std::vector<Place> data_;
  std::vector<Entry> tasks_;
  std::vector<Use> uses_;
  std::vector<TaskName> after_;
  uint64_t began_ = 0;                       // when the first was submitted
  uint64_t lost_ = 0;
};

}  // namespace consort
