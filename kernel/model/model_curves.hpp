// model_curves.hpp — the curves of a model: one for each kind of unit and implementation, made anew as sizes become known.
//
// Owned by its Model. Any thread reads without a lock; one at a time writes, with the model's mutex. A reader that
// meets a writer looks again a few times, then does not know.
#pragma once
#include <consort/model.h>

#include <atomic>
#include <memory>

#include "model/regression.hpp"

namespace consort {

class ModelCurves {
 public:
  ModelCurves(const consort_model &, size_t places);  // of other kinds there are none
  bool any() const noexcept { return shape_.kind != CurveShape::Kind::kNone; }
  const CurveShape &shape() const noexcept { return shape_; }
  bool is(const consort_model &) const noexcept;      // would it have the same?

  double at(size_t place, const double *measures) const noexcept { return curve(place).at(shape_, measures); }
  Regression curve(size_t place) const noexcept;           // points 0: none
  void put(size_t place, const Regression &) noexcept;     // with the model's mutex
  // More is known of a size there, or something at last. True: enough to make the curve anew.
  bool learned(size_t place, bool at_last) noexcept;

  static bool is_kind(uint32_t kind) noexcept { return kind >= CONSORT_MODEL_LINEAR && kind <= CONSORT_MODEL_TERMS; }
  static CurveShape shape_of(const consort_model &) noexcept;

 private:
  static constexpr size_t kWords = sizeof(Regression) / sizeof(double);
  struct Slot {
    // Odd: somebody writes. Words are stored with release and loaded with acquire, so that whoever saw one of them sees
    // the turn that came before it, too: a mixture is noticed.
    std::atomic<uint32_t> turn{0};
    std::atomic<double> words[kWords] = {};  // see turn
    std::atomic<uint32_t> news{0};                    // relaxed: a count of what the curve does not go by yet
  };
  const CurveShape shape_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace consort
