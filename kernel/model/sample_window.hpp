// sample_window.hpp — a bounded window of measurements and a robust estimate from them.
//
// A pure value: the owner ensures that one thread at a time uses it. Allocates nothing.
#pragma once
#include <cstdint>
#include <span>

namespace consort {

class SampleWindow {
 public:
  static constexpr uint32_t kMost = 32;

  struct Figure {
    float median, spread;             // NaN without measurements; spread: about a standard deviation
    uint32_t used, outliers;          // of the window
  };
  // Replaces the oldest if the window is full. Returns whether the new value is an outlier.
  bool add(float) noexcept;
  Figure figure() const noexcept;
  // Detects a lasting change: the newer part agrees with itself but not with the older part. Drops the older part then.
  bool drop_if_drifted() noexcept;

  uint32_t size() const noexcept { return n_; }
  std::span<const float> values() const noexcept { return {all_, n_}; }  // oldest first
  void keep_last(uint32_t n) noexcept;  // of the values in the window

 private:
  float all_[kMost];                  // oldest first
  uint32_t n_ = 0;
};

// Median of the values and their spread around it.
SampleWindow::Figure figure_of(std::span<const float>) noexcept;

}  // namespace consort
