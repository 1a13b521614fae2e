#include "model/regression.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace consort {
namespace {

constexpr double kBeyond = 8;        // how far outside its measurements a curve is used
constexpr double kWide = 1.1;        // the exponent is fitted if sizes differ by this factor
constexpr double kFar = 6 * 1.4826;  // median errors: an outlier
constexpr double kForgiven = 0.05;   // an error up to this never makes an outlier
constexpr double kHarmless = 0.2;    // below this error no outliers are sought
constexpr size_t kEnough = 256;      // points
constexpr double kLeast = 0.05, kMost = 6;  // range of exponents
constexpr uint32_t kColumns = CurveShape::kMostTerms + 1;

double power(double x, double e) noexcept { return e == 1 ? x : e == 2 ? x * x : e == 0 ? 1 : std::pow(x, e); }

double term(const CurveShape &s, uint32_t t, const double *at) noexcept {
  double product = 1;
  for (uint32_t m = 0; m < s.measures; ++m) product *= power(at[m], s.exponents[t][m]);
  return product;
}

// Least squares by orthogonal columns (modified Gram-Schmidt, right side included). Returns false if two columns are
// linearly dependent.
class Squares {
 public:
  explicit Squares(uint32_t columns) : n_(columns) {}
  void row(const double *values, double right) {
    all_.insert(all_.end(), values, values + n_);
    all_.push_back(right);
  }
  bool solve(double *out) {
    const size_t width = n_ + 1, rows = all_.size() / width;
    double r[kColumns][kColumns + 1] = {}, scale[kColumns];
    const auto a = [&](size_t i, size_t j) -> double & { return all_[i * width + j]; };
    for (uint32_t j = 0; j < n_; ++j) {
      double sum = 0;
      for (size_t i = 0; i < rows; ++i) sum += a(i, j) * a(i, j);
      scale[j] = std::sqrt(sum);
      if (!(scale[j] > 0) || !std::isfinite(scale[j])) return false;
      for (size_t i = 0; i < rows; ++i) a(i, j) /= scale[j];
    }
    for (uint32_t j = 0; j < n_; ++j) {
      double sum = 0;
      for (size_t i = 0; i < rows; ++i) sum += a(i, j) * a(i, j);
      r[j][j] = std::sqrt(sum);
      if (r[j][j] < 1e-6) return false;
      for (size_t i = 0; i < rows; ++i) a(i, j) /= r[j][j];
      for (uint32_t k = j + 1; k <= n_; ++k) {
        double dot = 0;
        for (size_t i = 0; i < rows; ++i) dot += a(i, j) * a(i, k);
        r[j][k] = dot;
        for (size_t i = 0; i < rows; ++i) a(i, k) -= dot * a(i, j);
      }
    }
    for (uint32_t j = n_; j-- > 0;) {
      double x = r[j][n_];
      for (uint32_t k = j + 1; k < n_; ++k) x -= r[j][k] * out[k];
      out[j] = x / r[j][j];
    }
    for (uint32_t j = 0; j < n_; ++j) out[j] /= scale[j];
    return true;
  }

 private:
  const uint32_t n_;
  std::vector<double> all_;          // rows, each with its right side
};

struct Weighed : CurvePoint {
  double weight;                     // weight of a residual
};
using Points = std::vector<Weighed>;

bool fit_terms(const CurveShape &s, const Points &points, Regression *c) {
  Squares squares(s.terms + 1);
  for (const Weighed &p : points) {
    double row[kColumns];
    for (uint32_t t = 0; t < s.terms; ++t) row[t] = term(s, t, p.at) * p.weight;
    row[s.terms] = p.weight;
    squares.row(row, p.value * p.weight);
  }
  double found[kColumns];
  if (!squares.solve(found)) return false;
  std::copy_n(found, s.terms, c->factors);
  c->constant = found[s.terms];
  return true;
}

bool fit_power(const Points &points, Regression *c) {  // a linear fit of the logarithms
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Weighed &p : points) {
    const double lx = std::log(p.at[0]), ly = std::log(p.value), w = p.weight * p.value * p.weight * p.value;
    n += w, x += w * lx, y += w * ly, xx += w * lx * lx, xy += w * lx * ly;
  }
  const double across = n * xx - x * x;
  if (!(across > 0)) return false;
  c->exponent = (n * xy - x * y) / across;
  c->factors[0] = std::exp((y - c->exponent * x) / n);
  c->constant = 0;
  return std::isfinite(c->factors[0]) && c->factors[0] > 0;
}

// Best a and c for this exponent; returns the sum of squares. The constant, time before any work, is at least 0.
double with_exponent(const Points &points, double e, double *a, double *c) noexcept {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (const Weighed &p : points) {
    const double u = std::pow(p.at[0], e) * p.weight, v = p.weight, r = p.value * p.weight;
    uu += u * u, uv += u * v, vv += v * v, u1 += u * r, v1 += v * r;
  }
  const double across = uu * vv - uv * uv;
  *a = across > 0 ? (u1 * vv - v1 * uv) / across : 0;
  *c = across > 0 ? (v1 * uu - u1 * uv) / across : -1;
  if (*c < 0) *c = 0, *a = u1 / uu;
  if (*a < 0) *a = 0, *c = v1 / vv;
  double off = 0;
  for (const Weighed &p : points) {
    const double d = (*a * std::pow(p.at[0], e) + *c - p.value) * p.weight;
    off += d * d;
  }
  return std::isfinite(off) ? off : INFINITY;
}

bool fit_power_offset(const Points &points, Regression *curve) {
  constexpr int kSteps = 20;
  const double ratio = std::pow(kMost / kLeast, 1.0 / kSteps);
  double a, c, best = kLeast, least = INFINITY;
  for (int i = 0; i <= kSteps; ++i)
    if (const double e = kLeast * std::pow(ratio, i), off = with_exponent(points, e, &a, &c); off < least)
      least = off, best = e;
  double low = best / ratio, high = best * ratio;  // the minimum is between the neighbours: golden section search
  constexpr double kGolden = 0.6180339887498949;
  for (int i = 0; i < 20; ++i) {
    const double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    if (with_exponent(points, left, &a, &c) < with_exponent(points, right, &a, &c)) high = right;
    else low = left;
  }
  curve->exponent = (low + high) / 2;
  const double off = with_exponent(points, curve->exponent, &curve->factors[0], &curve->constant);
  return std::isfinite(off);
}

bool fit_once(const CurveShape &s, const Points &points, Regression *c) {
  switch (s.kind) {
    case CurveShape::Kind::kTerms: return fit_terms(s, points, c);
    case CurveShape::Kind::kPower: return fit_power(points, c);
    case CurveShape::Kind::kPowerOffset: return fit_power_offset(points, c);
    case CurveShape::Kind::kNone: break;
  }
  return false;
}

double middle(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

// The relative error of each point, over the larger of measurement and estimate: at most 1.
std::vector<double> errors(const CurveShape &s, const Points &points, const Regression &c) {
  std::vector<double> off;
  for (const Weighed &p : points) {
    const double x = c.at(s, p.at);
    off.push_back(std::isnan(x) ? 1 : std::fabs(x - p.value) / std::max(x, p.value));
  }
  return off;
}

// Iteratively reweighted fit: points far from the curve count less in each round.
bool settle(const CurveShape &s, Points points, Regression *c) {
  constexpr int kTurns = 8;
  for (int turn = 0; turn < kTurns; ++turn) {
    if (!fit_once(s, points, c)) return false;
    const std::vector<double> off = errors(s, points, *c);
    const double reach = std::max(1.5 * middle(off), kForgiven / 4);
    for (size_t i = 0; i < points.size(); ++i) {
      Weighed &p = points[i];
      const double x = c->at(s, p.at);
      p.weight = std::min(1.0, reach / off[i]) / (std::isnan(x) ? p.value : std::max(x, p.value));
    }
  }
  return true;
}

// The points without outliers. Starts from two fits: points that are far too small mislead the relative one but not the
// absolute one.
Points trusted(const CurveShape &s, const Points &points, Regression *c) {
  std::vector<double> best;
  for (const bool relative : {true, false}) {
    Points first = points;
    for (Weighed &p : first) p.weight = relative ? 1 / p.value : 1;
    Regression found = *c;
    if (!settle(s, std::move(first), &found)) continue;
    std::vector<double> off = errors(s, points, found);
    if (best.empty() || middle(off) < middle(best)) best = std::move(off);
  }
  if (best.empty()) return points;
  const double reach = std::max(kFar * middle(best), kForgiven);
  Points near;
  for (size_t i = 0; i < points.size(); ++i)
    if (best[i] <= reach) near.push_back(points[i]);
  return near.size() < std::max<size_t>(s.needs(), points.size() / 2) ? points : near;
}

}  // namespace

uint32_t CurveShape::needs() const noexcept {
  return kind == Kind::kPower ? 3 : kind == Kind::kPowerOffset ? 4 : terms + 2;
}

double Regression::at(const CurveShape &s, const double *m) const noexcept {
  if (!(points > 0)) return NAN;
  for (uint32_t i = 0; i < s.measures; ++i)
    if (!(m[i] * kBeyond >= low[i]) || !(m[i] <= high[i] * kBeyond)) return NAN;
  double sum = constant;
  if (s.kind == CurveShape::Kind::kTerms)
    for (uint32_t t = 0; t < s.terms; ++t) sum += factors[t] * term(s, t, m);
  else
    sum += factors[0] * std::pow(m[0], exponent);
  return sum > 0 && std::isfinite(sum) ? sum : NAN;
}

Regression fit(const CurveShape &s, std::span<const CurvePoint> all) {
  const bool one = s.kind != CurveShape::Kind::kTerms;
  Points points;
  for (const CurvePoint &p : all) {
    bool good = p.value > 0 && std::isfinite(p.value);
    for (uint32_t i = 0; i < s.measures; ++i)
      good = good && std::isfinite(p.at[i]) && (one ? p.at[i] > 0 : p.at[i] >= 0);
    if (good) points.push_back({p, 1 / p.value});
  }
  if (points.size() > kEnough) {     // more points add no information
    std::vector<size_t> order(points.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return points[a].at[0] != points[b].at[0] ? points[a].at[0] < points[b].at[0] : a < b;
    });
    Points some;
    for (size_t i = 0; i < kEnough; ++i) some.push_back(points[order[i * (order.size() - 1) / (kEnough - 1)]]);
    points.swap(some);
  }
  Regression c;
  for (int turn = 0;; ++turn) {
    if (points.size() < s.needs()) return {};
    for (uint32_t i = 0; i < s.measures; ++i) {
      const auto [low, high] = std::minmax_element(points.begin(), points.end(),
                                                   [i](const auto &a, const auto &b) { return a.at[i] < b.at[i]; });
      c.low[i] = low->at[i];
      c.high[i] = high->at[i];
    }
    c.points = static_cast<double>(points.size());
    if ((one && c.high[0] < kWide * c.low[0]) || !fit_once(s, points, &c)) return {};
    const std::vector<double> off = errors(s, points, c);
    c.error = middle(off);
    if (turn || *std::max_element(off.begin(), off.end()) <= kHarmless) return c;
    Points near = trusted(s, points, &c);
    if (near.size() == points.size()) return c;
    points = std::move(near);
  }
}

}  // namespace consort
