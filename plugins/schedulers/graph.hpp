// graph.hpp — ranks of tasks: the length of the critical path from a task's start to the end of the known graph.
//
// Each submission links a task to its predecessors by its data, as the kernel does; the host's successors() adds the links that
// data do not show, when a task becomes ready. Ranks are recomputed, last task first, whenever the graph has grown by a
// quarter, which bounds the cost per task. Memory is bounded too (kMost tasks; older ones keep
// their rank). Times are those of the fastest unit. Any thread calls; its own lock guards all state.
#pragma once
#include <vector>

#include "worker_groups.hpp"

namespace policies {

class Graph {
 public:
  Graph();

  // [any] Without memory, tasks are left out.
  void submitted(const consort_task *const *tasks, uint32_t n, const consort_host *, const consort_sched_host *,
                 const WorkerGroups &) noexcept;
  void finished(uint64_t id, uint32_t place = 0) noexcept;  // place: from rank(), 0: unknown
  void clear() noexcept;                      // forgets all tasks: their ends will not be reported
  // [any] Returns ns; 0: unknown. The task must be unfinished during the call. place: returns its position, for
  // finished()
  float rank(const consort_task *, const consort_host *, const consort_sched_host *,
             uint32_t *place = nullptr) noexcept;

 private:
  static constexpr uint32_t kMost = 1 << 16, kBefore = 8, kReaders = 8, kSuccessors = 16;
  static constexpr uint32_t kAgain = 64;      // tasks of one kind between queries of its time
  // Successors that data do not show are queried for one task in kSample, and for the next kSurely after a hit.
  static constexpr uint32_t kSample = 16, kSurely = 1024;

  struct Record {                             // the fields that rank() reads: four to a cache line
    uint64_t id = 0;
    float rank = 0;
    uint32_t kind : 31 = 0;
    uint32_t alive : 1 = 0;
  };
  struct alignas(32) Before {                 // sequence numbers of predecessors, ends with 0
    uint32_t seq[kBefore] = {};
  };
  struct Kind {                               // tasks of one codelet and size
    uint64_t footprint = 0;
    uint32_t codelet = CONSORT_NONE, seen = 0;
    float ns = 0;                             // on the fastest unit; 0: unknown
  };
  struct alignas(64) Datum {
    uint64_t id = 0;
    uint32_t writer = 0, nreaders = 0;        // 0: none
    uint32_t readers[kReaders];
    bool used = false;
  };

  // Entry of an index by task id. An id's lowest bits choose a place in a cache line, because tasks submitted in sequence have
  // consecutive ids and are looked up together.
  struct Entry {
    uint32_t seq = 0, tag = 0;                // seq 0: free; tag: hash of the id, rarely equal for two ids
  };
  static constexpr uint32_t kNear = 3;        // low bits of an id that select within a line
  // Probe step from a taken place to another line, which keeps lines apart; odd, so that it reaches
  // every place.
  static constexpr uint32_t kStep = (1 << kNear) + 1;

  static std::size_t home_of(uint64_t id) noexcept;
  static uint32_t tag_of(uint64_t id) noexcept { return static_cast<uint32_t>(id ^ id >> 32 << 5 ^ id >> 59); }
  Record &at(uint32_t seq) noexcept { return ring_[seq & (ring_.size() - 1)]; }
  Before &before(uint32_t seq) noexcept { return before_[seq & (ring_.size() - 1)]; }
  bool holds(uint32_t seq) const noexcept { return seq - tail_ < head_ - tail_; }
  uint32_t find(uint64_t id) const noexcept;
  uint32_t kind_of(const consort_task *, const consort_host *, const consort_sched_host *, const WorkerGroups &);
  Datum &datum_of(uint64_t id);
  void grow();
  void index_all();
  void add(const consort_task *, uint32_t kind);
  void sweep() noexcept;
  bool is_said_by_data() noexcept;
  bool follow(Record &, const consort_task *const *next, uint32_t n) noexcept;

  SpinLock lock_;
  std::vector<Record> ring_;                  // tail_ .. head_, in order of submission
  std::vector<Before> before_;                // at the same positions
  uint32_t tail_ = 1, head_ = 1, fresh_ = 0;  // fresh_: tasks added since the last sweep
  std::vector<Entry> index_;
  std::size_t indexed_ = 0;                   // places used since the index was rebuilt
  std::vector<Kind> kinds_;
  std::vector<Datum> data_;
  uint32_t ndata_ = 0;
  uint32_t asked_ = 0, surely_ = 0;           // rank(): counter for sampling; number of queries without sampling
};

}  // namespace policies

#include "graph_impl.hpp"
