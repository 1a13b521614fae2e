// The room model: expected times of tasks, from measurements, functions or drivers. Its mathematics and text of files
// (regression, model_curves, model_file) link alone. It includes task and below; sched and above use it. Start here.
//
// models.hpp — all models of a runtime: the models of codelets, kinds of units, and the load of each worker.
//
// Owned by the runtime. Any thread may ask; a lock is taken only to make a model. Until a policy asks for times, or a
// codelet gets a model, nothing is measured and no clock is read.
#pragma once
#include <consort/model.h>
#include <consort/times.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/model.hpp"
#include "model/model_store.hpp"

namespace consort {

struct Codelet;
struct Core;
struct Task;
struct Worker;
struct Frame;
struct Team;

class Models {
 public:
  struct Kind {                              // of equal units: same class, same architecture
    std::string klass, arch;
    uint32_t class_bit, unit;                // unit: the first of the kind
    const consort_times *times;              // the driver's own times; nullptr: none
    void *device;
    uint32_t index;                          // index of that unit within the device
    uint32_t team = 1;                       // number of units that work together
  };
  // One execution of a task, from its start to its observed end.
  struct Run {
    Model *model = nullptr;
    Cell *cell = nullptr;                    // nullptr: not measured
    int64_t expected = -1;                   // ns that it adds to its worker's load; < 0: unknown
    bool counted = false;
    uint64_t ran = 0;                        // tasks that the worker had run before it
  };

  explicit Models(Core &rt) : rt_(rt) {}
  void open();                               // precondition: the workers exist
  void close() noexcept;                     // precondition: nothing runs any more; stores the models

  // -- for readers --
  bool by_themselves() const noexcept { return by_themselves_; }  // codelets get a history model at the first question
  bool in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  void asked() noexcept;                     // a policy asks for times: measure tasks from now on
  void policy_changed() noexcept;            // the new policy has not asked yet
  // A director uses questions(): count them from now on.
  void set_directed(bool b) noexcept { directed_.store(b, std::memory_order_relaxed); }

  // -- models --
  // Returns nullptr if there is no model; makes none.
  Model *of(const Codelet &, uint32_t what) const noexcept;
  Model *make(Codelet &, uint32_t what) noexcept;  // makes a history model if there is none; nullptr: not possible
  Result<void> set(Codelet &, uint32_t what, const consort_model *);
  template <class F> void each(F f) const {
    std::lock_guard lock(mutex_);
    for (const auto &[name, m] : models_) f(*m);
  }

  // -- estimates --
  // Writes ns or µJ. impl NONE: the best one that can run. NaN: too few measurements. Infinite: cannot run there.
  void estimate(const Task &, uint32_t what, const uint32_t *workers, uint32_t n, uint32_t impl, float *out) noexcept;
  // Tasks asked about while a director is active; unknown: tasks for which no unit had a time.
  struct Questions { uint64_t asked, unknown; };
  Questions questions() const noexcept {
    return {questions_.load(std::memory_order_relaxed), unanswered_.load(std::memory_order_relaxed)};
  }
  // Returns the best of several implementations for this worker, an unmeasured one first. NONE: any.
  uint32_t choose(const Task &, const Worker &) noexcept;
  void load(const uint32_t *workers, uint32_t n, float *out) noexcept;
  // Adds or removes one body in the load of a worker. A body that waits is not counted. ns < 0: unknown
  void count(uint32_t worker, int64_t ns) noexcept;
  void discount(uint32_t worker, int64_t ns) noexcept { discount(loads_[worker], ns, 0); }

  // -- runs: called by the holder of the worker's token --
  // Call after prepare(); may choose another implementation. team: the work of a team, reported by its leader; nullptr:
  // w's alone
  Run begin(Worker &w, Frame &, Task &, const Team *team = nullptr) noexcept;
  void end(Worker &, Run &, uint64_t t0, uint64_t t1, bool good, const Team *team = nullptr) noexcept;
  void settle_impl(Worker &, Frame &, const Task &) noexcept;  // as begin() does

  const std::vector<Kind> &kinds() const noexcept { return kinds_; }
  uint32_t kind_of(uint32_t worker) const noexcept { return kind_of_[worker]; }
  void warn_of(const Model &, float stored, float measured, uint32_t n) const noexcept;  // warns that both disagree
  uint32_t enough() const noexcept { return enough_; }  // measurements needed for an estimate
  double told(TaskFacts &, uint32_t kind, uint32_t impl) const noexcept;  // the driver's time, or NaN

 private:
  // Bodies that a worker has begun and not ended. Written by the token holder, read by policies. relaxed: an
  // approximate value.
  struct alignas(64) Load {
    std::atomic<int64_t> ns{0};  // see Load
    std::atomic<int32_t> n{0}, unknown{0};  // see Load
    std::atomic<uint64_t> since{0};  // see Load
  };
  void discount(Load &, int64_t ns, uint64_t now) noexcept;  // now 0: reads the clock
  float best(const Model *, TaskFacts &, uint32_t what, uint32_t worker, uint64_t impls) const noexcept;
  Model *find_or_make(const Codelet &, std::string name, uint32_t what, const consort_model &);  // may throw
  void use() noexcept;

  Core &rt_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> kind_of_;            // by worker, then by team
  std::unique_ptr<Load[]> loads_;            // by worker
  uint32_t enough_ = 1;
  bool measuring_ = true, by_themselves_ = true;
  bool from_the_start_ = false, drivers_know_ = false;
  ModelStore store_;
  // relaxed, all of them: a thread that sees a change late measures a little later
  std::atomic<bool> in_use_{false}, asked_{false}, given_{false}, directed_{false};
  std::atomic<uint64_t> questions_{0}, unanswered_{0};  // relaxed, no lock: two concurrent increments may count as one
  mutable std::mutex mutex_;                 // guards models_; leaf
  std::multimap<std::string, std::unique_ptr<Model>> models_;
};

}  // namespace consort
