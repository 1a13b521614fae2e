// sample_window.hpp — a bounded window of measurements, and what is believed of them: robust against a few that lie.
//
// A pure value: whoever owns it sees to it that one thread at a time touches it. Allocates nothing.
#pragma once
#include <cstdint>
#include <span>

namespace consort {

class SampleWindow {
 public:
  static constexpr uint32_t kMost = 32;

  struct Figure {
    float median, spread;             // NaN where nothing was measured; spread: about a standard deviation
    uint32_t used, outliers;          // of the window
  };
  // The oldest goes when the window is full. Answers whether the new one lies far from the others.
  bool add(float) noexcept;
  Figure figure() const noexcept;
  // Have things changed for good? The newer part of the window then agrees with itself and not with the older part,
  // which is dropped.
  bool drop_if_drifted() noexcept;

  uint32_t size() const noexcept { return n_; }
  std::span<const float> values() const noexcept { return {all_, n_}; }  // oldest first
  void keep_last(uint32_t n) noexcept;  // of those that there are

 private:
  float all_[kMost];                  // oldest first
  uint32_t n_ = 0;
};

// Of some values: their median, and how far the others lie from it.
SampleWindow::Figure figure_of(std::span<const float>) noexcept;

}  // namespace consort
