// The room observe: traces, reports, the log of the graph, explanations of a standstill, offsets for debuggers. It
// only reads the state of other rooms. It includes every room below; memory and api use it. Start with tracer.hpp, then
// explain.hpp.
//
// tracer.hpp — records a bounded number of runs of each worker, copies, the policy's expectations, waits, evictions and
// memory in use, and writes them to a file.
//
// Owned by the runtime; exists only if the setting `trace` names a file or `reports` names a report. Written at the
// stop, when nothing runs. The holder of a worker's token writes the worker's ring; all else is written under a leaf
// mutex. Errors never reach the caller: what finds no memory is counted as lost.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "observe/graph_log.hpp"
#include "task/run_observer.hpp"

namespace consort {

struct Datum;
struct Observation;

class Tracer final : public RunObserver {
 public:
  static Result<std::unique_ptr<Tracer>> open(Observation &);  // nullptr: not requested
  ~Tracer();

  void ran(uint32_t worker, const Task &, TaskName, uint32_t impl, int64_t expected, uint64_t t0, uint64_t t1,
           consort_status, bool alone) noexcept override;
  void copied(const Datum &, uint32_t from, uint32_t to, uint64_t bytes, uint64_t t0, uint64_t t1, consort_status,
              CopyReason) noexcept override;
  void decided(TaskName, uint32_t worker, float run, uint64_t end) noexcept override;
  void fetched(TaskName, uint32_t worker, uint64_t t0, uint64_t t1) noexcept override;
  void slept(uint32_t worker, uint64_t t0, uint64_t t1) noexcept override;
  // A replica was dropped to free memory. [any]
  void evicted(const Datum &, uint32_t space, uint64_t bytes) noexcept;
  // Bytes in use in a space have changed; limit: UINT64_MAX none. [any]
  void in_use(uint32_t space, uint64_t bytes, uint64_t limit) noexcept;
  GraphLog *graph() const noexcept { return graph_.get(); }  // nullptr: not requested
  void close() noexcept;                                     // writes the file; called once

  // -- precondition: nothing runs --
  std::string text() const;                                  // contents of the file; may throw bad_alloc
  void clear() noexcept;                                     // discards all entries

 private:
  struct Run {
    uint64_t t0, t1;
    TaskName task;
    int64_t expected;                // ns; < 0 unknown
    uint32_t codelet, worker, impl;
    consort_status status;
  };
  struct Copy {
    uint64_t t0, t1, bytes, datum;
    uint32_t from, to;
    consort_status status;
    CopyReason why;
  };
  struct Decision {
    uint64_t at, end;
    TaskName task;
    uint32_t worker;
    float run;
  };
  struct Wait {                      // of a worker: for the data of a task, or asleep (no task)
    uint64_t t0, t1;
    TaskName task;
    uint32_t worker;
  };
  struct Eviction {
    uint64_t at, datum, bytes;
    uint32_t space;
  };
  struct Use {
    uint64_t at, bytes, limit;
    uint32_t space;
  };
  // A ring buffer that keeps the latest entries.
  template <class T> class Ring {
   public:
    void add(const T &one, size_t most) noexcept {
      if (all_.size() < most) {
        try {
          all_.push_back(one);
        } catch (const std::bad_alloc &) {
          ++lost_;
        }
        return;
      }
      all_[next_] = one;
      next_ = next_ + 1 == all_.size() ? 0 : next_ + 1;
      ++lost_;
    }
    template <class F> void each(F f) const {  // oldest first
      for (size_t i = 0; i < all_.size(); ++i) f(all_[(next_ + i) % all_.size()]);
    }
    uint64_t lost() const noexcept { return lost_; }
    void clear() noexcept { all_.clear(), next_ = 0, lost_ = 0; }

   private:
    std::vector<T> all_;
    size_t next_ = 0;
    uint64_t lost_ = 0;
  };
  struct alignas(64) Line {          // of a worker
    Ring<Run> runs;
    std::vector<bool> named;         // codelets whose names were recorded
  };

  Tracer(Observation &, std::string path, int fd, size_t most, bool graph);
  void name(Line &, const Task &) noexcept;
  void put_memory(std::string *all) const;

  Observation &rt_;
  const std::string path_;
  int fd_;
  const size_t most_;
  std::vector<Line> lines_;
  mutable std::mutex mutex_;         // guards the members below; of higher rank than the graph log's mutex alone
  Line others_;                      // bodies that ran after they had given up their worker's token
  Ring<Copy> copies_;
  Ring<Decision> decisions_;
  Ring<Wait> waits_;
  Ring<Eviction> evictions_;
  Ring<Use> uses_;
  std::vector<std::string> names_;   // of codelets, by number
  std::unique_ptr<GraphLog> graph_;
};

}  // namespace consort
