// instance.hpp — one instance of the policy under test, with a record of every task pushed and popped.
//
// push, pop and drop may be called by several threads, as the header's tags allow; the rest by one. Each popped task is
// checked against the record: it was inside, the worker can run it, and it is unchanged.
#pragma once
#include <consort/scheduler.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "conform/case.hpp"
#include "conform/plugin.hpp"
#include "conform/scheduler/machine.hpp"

namespace conform {

// The tasks of one case, each with its location. Several instances may share them.
class Tasks {
 public:
  static constexpr uint32_t kOut = 0;            // else 1 + number of the instance that has it

  explicit Tasks(size_t n);
  size_t size() const { return n_; }
  consort_task *operator[](size_t i) { return &tasks_[i]; }
  std::vector<consort_task *> range(size_t begin, size_t end);
  bool is_in(size_t i) const { return where_[i].load() != kOut; }
  size_t count_in() const;
  // Random properties: some tasks have data, codelets are of several kinds. where, priority 0: the default.
  void vary(Random &, uint64_t classes, bool priorities);
  void remember(size_t i) { as_made_[i] = tasks_[i]; }   // the case has changed it

 private:
  friend class Instance;
  size_t n_;
  std::unique_ptr<consort_task[]> tasks_, as_made_;
  std::unique_ptr<std::atomic<uint32_t>[]> where_;
  // popped, and its sched[] was marked: the policy must not write it until it is pushed again
  std::unique_ptr<char[]> marked_;
  std::vector<consort_datum> data_;
  std::vector<consort_access> uses_;
};

struct Woken {
  std::vector<uint64_t> bits;
  uint32_t k = 0;
  bool has(uint32_t worker) const { return bits[worker / 64] >> worker % 64 & 1; }
};

class Instance {
 public:
  // Serves all workers of the machine, or `members`.
  Instance(Trial &, Plugin &, Machine &, Tasks &, uint64_t epoch = kEpoch, const std::vector<uint32_t> *members = nullptr);
  ~Instance();
  Instance(const Instance &) = delete;
  Instance &operator=(const Instance &) = delete;

  static constexpr uint64_t kEpoch = 7;
  const consort_scheduler_ops &ops() const { return ops_; }
  void *raw() const { return s_; }
  Machine &machine() { return machine_; }

  // Returns false if refused, which is required for another epoch.
  bool push(uint32_t from, const std::vector<consort_task *> &, Woken * = nullptr, uint32_t flags = CONSORT_PUSH_NEW);
  bool push_as(uint64_t epoch, uint32_t from, const std::vector<consort_task *> &, Woken * = nullptr,
               uint32_t flags = CONSORT_PUSH_NEW);
  // What becomes of a popped task. It runs and ends. Or its body waits, so `finished` has no time. Or it parks: a
  // resource is missing, and it is pushed again later. Or it fails before it starts. The last two are not reported.
  enum class Then { kEnds, kWaits, kParks, kFails };
  Then then = Then::kEnds;
  // Returns the popped tasks in order; also calls started and finished.
  uint32_t pop(uint32_t worker, consort_task **out, uint32_t max);
  consort_task *pop(uint32_t worker);
  std::vector<consort_task *> drain(uint64_t epoch, uint32_t at_once = 3);
  std::vector<consort_task *> drop(const std::vector<consort_task *> &);
  consort_status workers(const std::vector<uint32_t> &add, const std::vector<uint32_t> &del);
  consort_status quiesce(uint64_t deadline);
  void submitted(const std::vector<consort_task *> &);

  // All of these workers pop until nothing more comes out. Returns the number of tasks. Waits for tasks that the policy
  // holds back: flushes it and lets its next event pass.
  size_t pop_all(const std::vector<uint32_t> &workers);
  size_t pop_all();
  bool serves(uint32_t worker) const { return worker < serves_.size() && serves_[worker]; }
  uint64_t epoch() const { return epoch_; }

 private:
  bool came_out(consort_task *, const char *by);
  void look_at_mark(const consort_task *);       // precondition: the task is out
  bool is_mine(const consort_task *) const;

  Trial &t_;
  Plugin &plugin_;
  Machine &machine_;
  Tasks &tasks_;
  consort_scheduler_ops ops_;
  void *s_ = nullptr;
  uint64_t epoch_;
  uint32_t number_;                              // in the tasks' records
  std::vector<char> serves_;
};

std::vector<uint32_t> all_of(const Machine &);

}  // namespace conform
