// regression.hpp — a curve through what was measured at several sizes: what a size takes that nobody has measured.
//
// Pure values; any thread. The error that is made small is the relative one, so that small sizes count as large ones
// do; points that lie far from the curve that most make are left out.
#pragma once
#include <cstdint>
#include <span>

namespace consort {

// What a curve may look like: a sum of terms, each a product of powers of a task's measures, and a constant.
struct CurveShape {
  static constexpr uint32_t kMostMeasures = 4, kMostTerms = 8;
  enum class Kind { kNone, kTerms, kPower, kPowerOffset };  // kPower: one measure, the exponent is found; no constant
  Kind kind = Kind::kNone;
  uint32_t measures = 1, terms = 1;
  double exponents[kMostTerms][kMostMeasures] = {{1}};
  uint32_t needs() const noexcept;  // points
};

struct CurvePoint {
  double at[CurveShape::kMostMeasures], value;
};

struct Regression {
  double factors[CurveShape::kMostTerms] = {};
  double exponent = 1, constant = 0;
  double points = 0;                  // that it goes by; 0: there is none
  double error = 0;                   // half of them lie no further from it, relative
  double low[CurveShape::kMostMeasures] = {}, high[CurveShape::kMostMeasures] = {};  // of the measures
  // NaN: too far from anything that was measured, or nonsense.
  double at(const CurveShape &, const double *measures) const noexcept;
};

// points 0: they are too few, or do not tell the terms apart. May throw bad_alloc.
Regression fit(const CurveShape &, std::span<const CurvePoint>);

}  // namespace consort
