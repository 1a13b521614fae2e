#include "model/sample_window.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace consort {
namespace {

constexpr uint32_t kNewer = 8;       // measurements that can outvote all older ones
constexpr float kOutlier = 6;        // in spreads from the median
constexpr float kUsual = 0.02f;      // of the median: the smallest spread assumed
constexpr float kDrift = 0.25f;      // of the median: the smallest change that counts
constexpr float kNormal = 1.4826f;   // standard deviation over median distance, for a normal distribution

float middle(float *v, uint32_t n) noexcept {
  std::nth_element(v, v + n / 2, v + n);
  const float upper = v[n / 2];
  return n % 2 ? upper : (upper + *std::max_element(v, v + n / 2)) / 2;
}

float reach_of(const SampleWindow::Figure &f) noexcept { return kOutlier * std::max(f.spread, kUsual * f.median); }

}  // namespace

SampleWindow::Figure figure_of(std::span<const float> values) noexcept {
  const auto n = static_cast<uint32_t>(values.size());
  if (!n || n > SampleWindow::kMost) return {NAN, NAN, 0, 0};
  float v[SampleWindow::kMost];
  std::copy(values.begin(), values.end(), v);
  SampleWindow::Figure f{middle(v, n), 0, n, 0};
  for (uint32_t i = 0; i < n; ++i) v[i] = std::fabs(values[i] - f.median);
  f.spread = kNormal * middle(v, n);
  const float reach = reach_of(f);
  for (const float x : values) f.outliers += std::fabs(x - f.median) > reach;
  f.used = n - f.outliers;
  return f;
}

SampleWindow::Figure SampleWindow::figure() const noexcept { return figure_of(values()); }

bool SampleWindow::add(float x) noexcept {
  if (n_ == kMost) std::memmove(all_, all_ + 1, --n_ * sizeof *all_);
  const Figure before = figure();
  all_[n_++] = x;
  return before.used >= 4 && std::fabs(x - before.median) > reach_of(before);
}

void SampleWindow::keep_last(uint32_t n) noexcept {
  if (n >= n_) return;
  std::memmove(all_, all_ + (n_ - n), n * sizeof *all_);
  n_ = n;
}

bool SampleWindow::drop_if_drifted() noexcept {
  if (n_ < 2 * kNewer) return false;
  const uint32_t older = n_ - kNewer;
  const Figure then = figure_of({all_, older}), now = figure_of({all_ + older, kNewer});
  const float change = std::fabs(now.median - then.median);
  if (change < kDrift * std::min(now.median, then.median) || change < reach_of(now) || change < reach_of(then) / 2)
    return false;
  keep_last(kNewer);
  return true;
}

}  // namespace consort
