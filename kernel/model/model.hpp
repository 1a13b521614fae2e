// model.hpp — what tasks of one name take: measured by size, kind of unit and implementation; or a function's word.
//
// Owned by Models, and never freed while the runtime lives. Any thread asks, locks nothing and waits for nothing: rows
// are only ever added (their release pairs with the acquire in find()), and what is told of a cell is one word that
// whoever measures stores and whoever asks loads, relaxed: it says nothing about other memory. Rows are made under a
// mutex, by whoever measures the first task of a size. A measurement that meets another one at its cell is dropped.
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

// What is known of tasks of one size, on one kind of unit, by one implementation.
struct Cell {
  std::atomic<float> value{NAN};      // what is told; NaN: too little was measured; relaxed: a number alone
  std::atomic<uint32_t> count{0};     // measurements that were taken; relaxed: a count
  std::atomic<uint32_t> outliers{0};  // relaxed: a count that is only shown; written under the model's mutex
  std::atomic<bool> busy{false};      // somebody is at what follows; acquire and release
  SampleWindow window;
  float stored = NAN;                 // what a file said, until enough was measured to hold against it
  uint32_t place = 0;                 // in its row
  uint32_t fresh = 0;                 // measurements of this runtime's own
  bool anew = false;                  // what was stored is not told: first it is measured again
  SampleWindow::Figure figure() noexcept;  // waits for who is at it, a moment
};

// What a task is to a model.
struct TaskFacts {
  const Task *task = nullptr;
  uint64_t footprint = 0;             // what rows go by
  uint64_t bytes = kUnasked, work = 0;
  double at[CurveShape::kMostMeasures];  // what curves go by, once asked for
  bool has_at = false;
  const struct Row *row = nullptr;    // the model's, as it was when the facts were asked for
  static constexpr uint64_t kUnasked = ~uint64_t{0};
  uint64_t all_bytes() noexcept;
};

struct Row {
  uint64_t footprint, bytes;
  double at[CurveShape::kMostMeasures] = {NAN, NAN, NAN, NAN};  // what curves go by; NaN: unknown
  bool brought = false;               // from elsewhere, by bytes: not measured here
  Row *next;                          // of the same bucket, older
  std::unique_ptr<Cell[]> cells;      // [kind of unit][implementation]
  std::unique_ptr<float[]> told;      // likewise: by drivers, NaN unknown
};

class Model {
 public:
  struct Impl {
    std::string klass, name;
    bool operator==(const Impl &) const = default;
  };
  static constexpr uint32_t kMostRows = 4096;

  // impls: of the codelet. desc.name is not looked at.
  Model(Models &, std::string name, std::vector<Impl> impls, uint32_t what, const consort_model &desc);
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  bool is(const std::string &name, const std::vector<Impl> &, uint32_t what, const consort_model &) const noexcept;
  bool has_history() const noexcept { return desc_.kind == CONSORT_MODEL_HISTORY || curves_.any(); }
  TaskFacts facts(const Task &) const noexcept;

  // Nothing is allocated. NaN: unknown. kind: of unit; worker: one of them.
  float expected(TaskFacts &, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept;
  bool by_worker() const noexcept { return desc_.kind == CONSORT_MODEL_PER_WORKER; }

  // Where a measurement of it belongs. nullptr: nowhere, or there is no memory for it.
  Cell *cell(TaskFacts &, uint32_t kind, uint32_t impl) noexcept;
  void measured(Cell &, float) noexcept;

  void know(TaskFacts &facts) noexcept {  // a row for its size, so that what drivers tell of it is at hand
    if (!facts.row) facts.row = add(facts);
  }

  // -- kept from run to run: before anybody else sees the model, or once nothing runs --
  void restore(const StoredCell &, uint32_t kind, bool told);
  void bring(const StoredCell &, uint32_t kind, uint32_t impl);
  void restored() noexcept;           // all of them
  void keep_foreign(StoredCell c) { foreign_.push_back(std::move(c)); }  // of units that are not here now
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
  bool has_measures() const noexcept { return curves_.any() && desc_.measure; }  // of its own, so that they are kept
  size_t place(uint32_t kind, uint32_t impl) const noexcept { return size_t{kind} * impls_.size() + impl; }

 private:
  static constexpr uint32_t kBuckets = 256;
  Row *add(TaskFacts &) noexcept;
  Row *link(std::unique_ptr<Row>) noexcept;  // with the mutex
  void weigh_stored(Cell &) noexcept;
  double ask(const TaskFacts &, uint32_t kind, uint32_t worker, uint32_t impl) const noexcept;
  Row *row_for(uint64_t footprint, uint64_t bytes);  // nullptr: there are too many; may throw
  float brought(TaskFacts &, size_t place) const noexcept;
  const double *measures(TaskFacts &) const noexcept;
  void draw(size_t place);            // the curve there, anew; with the mutex; may throw

  Models &models_;
  const std::string name_;
  const std::vector<Impl> impls_;
  const uint32_t what_;
  consort_model desc_;                // its lists are copied below
  std::vector<std::pair<std::string, double>> factors_;  // by class
  std::mutex mutex_;                  // guards who adds a row or draws a curve
  uint32_t nrows_ = 0;
  bool has_brought_ = false;          // set before anybody else sees the model
  ModelCurves curves_;
  std::vector<StoredCell> foreign_;
  std::atomic<bool> news_{false}, told_{false};  // relaxed: something was measured; somebody was warned
  std::atomic<Row *> buckets_[kBuckets] = {};  // owned; release where a row is linked pairs with the acquire of find()
};

}  // namespace consort
