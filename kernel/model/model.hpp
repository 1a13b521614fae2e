// model.hpp — the model of one task name: times measured by size, kind of unit and implementation, or given by a
// function.
//
// Owned by Models; lives as long as the runtime. Any thread reads without locks or waits. Rows are only added: the
// release in link() pairs with the acquire in find(). An estimate is one word of a cell, stored by the measuring thread
// and loaded by readers, relaxed, because it says nothing about other memory. The thread that measures the first task
// of a size adds its row under a mutex. A measurement that finds its cell busy is dropped.
#pragma once
#include <consort/model.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/model_curves.hpp"
#include "model/model_file.hpp"
#include "model/sample_window.hpp"

namespace consort {

struct Task;
class Models;

// Measurements of tasks of one size, on one kind of unit, by one implementation.
struct Cell {
  std::atomic<float> value{NAN};      // the estimate; NaN: too few measurements; relaxed: a number alone
  std::atomic<uint32_t> count{0};     // measurements taken; relaxed: a count
  std::atomic<uint32_t> outliers{0};  // relaxed: a count for display; written under the model's mutex
  std::atomic<bool> busy{false};      // a thread uses the members below; acquire and release
  SampleWindow window;
  float stored = NAN;                 // value of a file, until enough measurements can contradict it
  uint32_t place = 0;                 // index of the cell in its row
  uint32_t fresh = 0;                 // measurements of this runtime
  bool anew = false;                  // a stored value is not used before it is measured again
  SampleWindow::Figure figure() noexcept;  // waits briefly while the cell is busy
};

// The properties of a task that a model uses.
struct TaskFacts {
  const Task *task = nullptr;
  uint64_t footprint = 0;             // selects the row
  uint64_t bytes = kUnasked, work = 0;
  double at[CurveShape::kMostMeasures];  // arguments of the curves, once computed
  bool has_at = false;
  const struct Row *row = nullptr;    // the model's row, as of the time when the facts were collected
  static constexpr uint64_t kUnasked = ~uint64_t{0};
  uint64_t all_bytes() noexcept;
};

struct Row {
  uint64_t footprint, bytes;
  double at[CurveShape::kMostMeasures] = {NAN, NAN, NAN, NAN};  // arguments of the curves; NaN: unknown
  bool brought = false;               // imported values, by bytes: not measured here
  Row *next;                          // next older row of the same bucket
  std::unique_ptr<Cell[]> cells;      // [kind of unit][implementation]
  std::unique_ptr<float[]> told;      // likewise: given by drivers, NaN unknown
};

class Model {
 public:
  struct Impl {
    std::string klass, name;
    bool operator==(const Impl &) const = default;
  };
  static constexpr uint32_t kMostRows = 4096;

  // impls: those of the codelet. desc.name is ignored.
  Model(Models &, std::string name, std::vector<Impl> impls, uint32_t what, const consort_model &desc);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  bool is(const std::string &name, const std::vector<Impl> &, uint32_t what, const consort_model &) const noexcept;
  bool has_history() const noexcept { return desc_.kind == CONSORT_MODEL_HISTORY || curves_.any(); }
  TaskFacts facts(const Task &) const noexcept;

  // Allocates nothing. NaN: unknown. kind: of unit; worker: one of that kind.
  float expected(TaskFacts &, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept;
  bool by_worker() const noexcept { return desc_.kind == CONSORT_MODEL_PER_WORKER; }

  // Returns the cell for a measurement, or nullptr if there is none or memory is exhausted.
  Cell *cell(TaskFacts &, uint32_t kind, uint32_t impl) noexcept;
  void measured(Cell &, float) noexcept;

  void know(TaskFacts &facts) noexcept {  // adds a row for the task's size, so that the drivers' times are available
    if (!facts.row) facts.row = add(facts);
  }

  // -- kept between runs: before the model is visible to other threads, or when nothing runs --
  void restore(const StoredCell &, uint32_t kind, bool told);
  void bring(const StoredCell &, uint32_t kind, uint32_t impl);
  void restored() noexcept;           // call after all cells were restored
  void keep_foreign(StoredCell c) { foreign_.push_back(std::move(c)); }  // of units that this machine does not have
  const std::vector<StoredCell> &foreign() const noexcept { return foreign_; }
  bool has_news() const noexcept { return news_.load(std::memory_order_relaxed); }

  const std::string &name() const noexcept { return name_; }
  const std::vector<Impl> &impls() const noexcept { return impls_; }
  uint32_t what() const noexcept { return what_; }
  uint32_t kind() const noexcept { return desc_.kind; }
  const Row *find(uint64_t footprint) const noexcept;
  template <class F> void each_row(F f) const {
    for (const auto &b : buckets_)
      for (const Row *r = b.load(std::memory_order_acquire); r; r = r->next) f(*r);  // pairs with link()
  }
  const ModelCurves &curves() const noexcept { return curves_; }
  // has a measure function of its own, so measures are stored
  bool has_measures() const noexcept { return curves_.any() && desc_.measure; }
  size_t place(uint32_t kind, uint32_t impl) const noexcept { return size_t{kind} * impls_.size() + impl; }

 private:
  static constexpr uint32_t kBuckets = 256;
  Row *add(TaskFacts &) noexcept;
  Row *link(std::unique_ptr<Row>) noexcept;  // precondition: the mutex is held
  void weigh_stored(Cell &) noexcept;
  double ask(const TaskFacts &, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept;
  Row *row_for(uint64_t footprint, uint64_t bytes);  // nullptr: the table is full; may throw
  float brought(TaskFacts &, size_t place) const noexcept;
  const double *measures(TaskFacts &) const noexcept;
  void draw(size_t place);            // fits the curve of this place anew; precondition: the mutex is held; may throw

  Models &models_;
  const std::string name_;
  const std::vector<Impl> impls_;
  const uint32_t what_;
  consort_model desc_;                // its lists are copied into the members below
  std::vector<std::pair<std::string, double>> factors_;  // by class
  std::mutex mutex_;                  // guards adding a row and fitting a curve
  uint32_t nrows_ = 0;
  bool has_brought_ = false;          // set before the model is visible to other threads
  ModelCurves curves_;
  std::vector<StoredCell> foreign_;
  std::atomic<bool> news_{false}, told_{false};  // relaxed: something was measured; a warning was logged
  std::atomic<Row *> buckets_[kBuckets] = {};  // owned; release in link() pairs with the acquire in find()
};

}  // namespace consort
