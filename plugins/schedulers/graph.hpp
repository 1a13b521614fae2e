// graph.hpp — what hangs on each task: the longest way from its start to the end of the graph as far as it is known.
//
// Told of each submission, it links tasks by the data that they use in the order in which they come, as the kernel
// does, and by what the host names as successors when a task becomes ready. Ranks are made anew, last task first,
// whenever a quarter more is known: the cost per task is bounded, and so is the memory (kMost tasks; older ones keep
// the rank they had). Times are those of the fastest unit. Any thread calls; a lock of its own guards all.
#pragma once
#include <vector>

#include "worker_groups.hpp"

namespace policies {

class Graph {
 public:
  Graph();

  // [any] May forget what it has no memory for.
  void submitted(const consort_task *const *tasks, uint32_t n, const consort_host *, const consort_sched_host *,
                 const Crew &) noexcept;
  void finished(uint64_t id, uint32_t place = 0) noexcept;  // place: what rank() said, 0: not known
  void clear() noexcept;                      // of those that it knows no ends are told any more
  // [any] ns; 0: nothing is known of it. The task is not finished while this is asked. place: where it is here, for
  // finished()
  float rank(const consort_task *, const consort_host *, const consort_sched_host *,
             uint32_t *place = nullptr) noexcept;

 private:
  static constexpr uint32_t kMost = 1 << 16, kBefore = 8, kReaders = 8, kSuccessors = 16;
  static constexpr uint32_t kAgain = 64;      // tasks of one kind until its time is asked for again
  // Orders that no datum says are asked about of one task in kSample, and of the next kSurely when there is one.
  static constexpr uint32_t kSample = 16, kSurely = 1024;

  struct Record {                             // what is asked of a task: four to a cache line
    uint64_t id = 0;
    float rank = 0;
    uint32_t kind : 31 = 0;
    uint32_t alive : 1 = 0;
  };
  struct alignas(32) Before {                 // what it waits for: sequence numbers, 0 behind the last
    uint32_t seq[kBefore] = {};
  };
  struct Kind {                               // tasks of one codelet and size
    uint64_t footprint = 0;
    uint32_t codelet = CONSORT_NONE, seen = 0;
    float ns = 0;                             // of the fastest unit; 0: not known
  };
  struct alignas(64) Datum {
    uint64_t id = 0;
    uint32_t writer = 0, nreaders = 0;        // 0: none
    uint32_t readers[kReaders];
    bool used = false;
  };

  // In an index by the tasks' ids, whose lowest bits choose a place in a cache line: tasks that were submitted one after
  // the other have ids alike, and are asked about together.
  struct Entry {
    uint32_t seq = 0, tag = 0;                // seq 0: free; tag: another id hardly ever has the same
  };
  static constexpr uint32_t kNear = 3;        // bits of an id that stay together
  // From a taken place to the next line, so that those who stay together are not in each other's way; odd, so that
  // every place is met.
  static constexpr uint32_t kStep = (1 << kNear) + 1;

  static std::size_t home_of(uint64_t id) noexcept;
  static uint32_t tag_of(uint64_t id) noexcept { return static_cast<uint32_t>(id ^ id >> 32 << 5 ^ id >> 59); }
  Record &at(uint32_t seq) noexcept { return ring_[seq & (ring_.size() - 1)]; }
  Before &before(uint32_t seq) noexcept { return before_[seq & (ring_.size() - 1)]; }
  bool holds(uint32_t seq) const noexcept { return seq - tail_ < head_ - tail_; }
  uint32_t find(uint64_t id) const noexcept;
  uint32_t kind_of(const consort_task *, const consort_host *, const consort_sched_host *, const Crew &);
  Datum &datum_of(uint64_t id);
  void grow();
  void index_all();
  void add(const consort_task *, uint32_t kind);
  void sweep() noexcept;
  bool is_said_by_data() noexcept;
  bool follow(Record &, const consort_task *const *next, uint32_t n) noexcept;

  SpinLock lock_;
  std::vector<Record> ring_;                  // tail_ .. head_, in the order of submission
  std::vector<Before> before_;                // the same places
  uint32_t tail_ = 1, head_ = 1, fresh_ = 0;  // fresh_: since the last sweep
  std::vector<Entry> index_;
  std::size_t indexed_ = 0;                   // places taken since the index was made
  std::vector<Kind> kinds_;
  std::vector<Datum> data_;
  uint32_t ndata_ = 0;
  uint32_t asked_ = 0, surely_ = 0;           // rank(): of those that were swept; how many are asked about in any case
};

}  // namespace policies

#include "graph_parts.hpp"
