// The room model: expected times of tasks, from measurements, functions or drivers. Its mathematics and text of files
// (regression, model_curves, model_file) link alone. It includes task and below; sched and above use it. Start here.
//
// models.hpp — all models of a runtime: which codelets have one, kinds of units, what workers have still to do.
//
// Owned by the runtime. Any thread asks; nothing is locked but where a model is made. Until somebody asks what tasks
// take, or gives a codelet a model, nothing is measured and no clock is read.
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
  struct Kind {                              // of units that are alike: one class, one word for what they are
    std::string klass, arch;
    uint32_t class_bit, unit;                // unit: the first of them
    const consort_times *times;              // what its driver knows by itself; nullptr: nothing
    void *device;
    uint32_t index;                          // of that unit within the device
    uint32_t team = 1;                       // units that are at work together
  };
  // One task's run, from where it begins to where its end is known.
  struct Run {
    Model *model = nullptr;
    Cell *cell = nullptr;                    // nullptr: it is not measured
    int64_t expected = -1;                   // ns that it counts for in its worker's load; < 0: unknown
    bool counted = false;
    uint64_t ran = 0;                        // tasks of the worker before it
  };

  explicit Models(Core &rt) : rt_(rt) {}
  void open();                               // once the workers are there
  void close() noexcept;                     // nothing runs any more: what is known is kept

  // -- who asks --
  bool by_themselves() const noexcept { return by_themselves_; }  // codelets get a history when it is asked for
  bool in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }
  void asked() noexcept;                     // a policy wants to know: from now on tasks are measured
  void policy_changed() noexcept;            // the new one has not asked yet
  // A director goes by questions(): from now on they are counted.
  void set_directed(bool b) noexcept { directed_.store(b, std::memory_order_relaxed); }

  // -- models --
  // nullptr: none, and none is made.
  Model *of(const Codelet &, uint32_t what) const noexcept;
  Model *make(Codelet &, uint32_t what) noexcept;  // its history, if it has no model; nullptr: it shall have none
  Result<void> set(Codelet &, uint32_t what, const consort_model *);
  template <class F> void each(F f) const {
    std::lock_guard lock(mutex_);
    for (const auto &[name, m] : models_) f(*m);
  }

  // -- estimates --
  // ns or µJ; impl NONE: the best of those that can. NaN: too little is known. Infinite: it cannot run there.
  void estimate(const Task &, uint32_t what, const uint32_t *workers, uint32_t n, uint32_t impl, float *out) noexcept;
  // Tasks, while there is a director; of unknown ones no unit's time was told.
  struct Questions { uint64_t asked, unknown; };
  Questions questions() const noexcept {
    return {questions_.load(std::memory_order_relaxed), unanswered_.load(std::memory_order_relaxed)};
  }
  // The implementation that is best here, of several: one that is not known yet first. NONE: no matter.
  uint32_t choose(const Task &, const Worker &) noexcept;
  void load(const uint32_t *workers, uint32_t n, float *out) noexcept;
  // One body more, or less, in the load of a worker: a body that waits is not in it. ns < 0: unknown
  void count(uint32_t worker, int64_t ns) noexcept;
  void discount(uint32_t worker, int64_t ns) noexcept { discount(loads_[worker], ns, 0); }

  // -- runs; the token holder's --
  // after prepare(); may pick another implementation. team: its work, told by the one who leads; nullptr: w's alone
  Run begin(Worker &w, Frame &, Task &, const Team *team = nullptr) noexcept;
  void end(Worker &, Run &, uint64_t t0, uint64_t t1, bool good, const Team *team = nullptr) noexcept;
  void settle_impl(Worker &, Frame &, const Task &) noexcept;  // as begin() does

  const std::vector<Kind> &kinds() const noexcept { return kinds_; }
  uint32_t kind_of(uint32_t worker) const noexcept { return kind_of_[worker]; }
  void warn_of(const Model &, float stored, float measured, uint32_t n) const noexcept;  // they do not agree
  uint32_t enough() const noexcept { return enough_; }  // measurements that make an estimate
  double told(TaskFacts &, uint32_t kind, uint32_t impl) const noexcept;  // by the driver; NaN

 private:
  // What a worker has begun and not ended. Written by whoever runs there, read by policies: relaxed, a glance.
  struct alignas(64) Load {
    std::atomic<int64_t> ns{0};  // see Load
    std::atomic<int32_t> n{0}, unknown{0};  // see Load
    std::atomic<uint64_t> since{0};  // see Load
  };
  void discount(Load &, int64_t ns, uint64_t now) noexcept;  // now 0: asks the clock
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
  // relaxed, all of them: who sees it late measures a little later
  std::atomic<bool> in_use_{false}, asked_{false}, given_{false}, directed_{false};
  std::atomic<uint64_t> questions_{0}, unanswered_{0};  // relaxed, no lock: two at once may count as one
  mutable std::mutex mutex_;                 // guards models_; leaf
  std::multimap<std::string, std::unique_ptr<Model>> models_;
};

}  // namespace consort
