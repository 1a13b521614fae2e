// model_curves.hpp — the curves of a model: one for each kind of unit and implementation, refitted as sizes become
// known.
//
// Owned by its Model. Any thread reads without a lock; one thread at a time writes, under the model's mutex. A reader
// that meets a writer retries a few times, then returns no curve.
#pragma once
#include <consort/model.h>

#include <atomic>
#include <memory>

#include "model/regression.hpp"

namespace consort {

class ModelCurves {
 public:
  ModelCurves(const consort_model &, size_t places);  // a model of another kind has no curves
  bool any() const noexcept { return shape_.kind != CurveShape::Kind::kNone; }
  const CurveShape &shape() const noexcept { return shape_; }
  bool is(const consort_model &) const noexcept;      // whether that description has the same curves

  double at(size_t place, const double *measures) const noexcept { return curve(place).at(shape_, measures); }
  Regression curve(size_t place) const noexcept;           // points 0: no curve
  void put(size_t place, const Regression &) noexcept;     // precondition: the model's mutex is held
  // Counts a result for a size; at_last: it is the size's first estimate. Returns true if the curve should be refitted.
  bool learned(size_t place, bool at_last) noexcept;

  static bool is_kind(uint32_t kind) noexcept { return kind >= CONSORT_MODEL_LINEAR && kind <= CONSORT_MODEL_TERMS; }
  static CurveShape shape_of(const consort_model &) noexcept;

 private:
  static constexpr size_t kWords = sizeof(Regression) / sizeof(double);
  struct Slot {
    // Odd: a write is in progress. Words are stored with release and loaded with acquire. So a reader that sees a new
    // word also sees the new turn stored before it: mixed words are detected.
    std::atomic<uint32_t> turn{0};
    std::atomic<double> words[kWords] = {};  // see turn
    std::atomic<uint32_t> news{0};                    // relaxed: number of results since the last fit
  };
  const CurveShape shape_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace consort
