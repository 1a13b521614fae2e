// regression.hpp — fits a curve through measurements at several sizes, to estimate sizes without measurements.
//
// Pure values; any thread. Minimizes the relative error, so that small sizes weigh as much as large ones. Points far
// from the curve of most others are left out.
#pragma once
#include <cstdint>
#include <span>

namespace consort {

// The form of a curve: a sum of terms, each a product of powers of the task's measures, and a constant.
struct CurveShape {
  static constexpr uint32_t kMostMeasures = 4, kMostTerms = 8;
  enum class Kind { kNone, kTerms, kPower, kPowerOffset };  // kPower: one measure, fitted exponent, no constant
  Kind kind = Kind::kNone;
  uint32_t measures = 1, terms = 1;
  double exponents[kMostTerms][kMostMeasures] = {{1}};
  uint32_t needs() const noexcept;  // minimum number of points
};

struct CurvePoint {
  double at[CurveShape::kMostMeasures], value;
};

struct Regression {
  double factors[CurveShape::kMostTerms] = {};
  double exponent = 1, constant = 0;
  double points = 0;                  // number of points used; 0: no curve
  double error = 0;                   // median relative error
  double low[CurveShape::kMostMeasures] = {}, high[CurveShape::kMostMeasures] = {};  // range of the measures
  // NaN: too far from any measurement, or not a finite positive number.
  double at(const CurveShape &, const double *measures) const noexcept;
};

// Returns points 0 if there are too few, or if they do not determine the terms. May throw bad_alloc.
Regression fit(const CurveShape &, std::span<const CurvePoint>);

}  // namespace consort
