// A square matrix in tiles, each contiguous and column-major. Elements of the original are a function of their place,
// so a residual is measured against what was really factorised. Owned by the thread that created it.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace bench {

class Square {
public:
  // `heavy` is added to each element of the diagonal.
  Square(int n, int tile, float heavy)
      : n_(n), tile_(tile), count_(n / tile), heavy_(heavy), step_((static_cast<size_t>(tile) * tile * sizeof(float) + 127) / 128 * 128 + 128),
        memory_(static_cast<std::byte *>(std::aligned_alloc(128, step_ * count_ * count_))) {}

  explicit operator bool() const { return memory_ != nullptr; }
  int n() const { return n_; }
  int tile() const { return tile_; }
  int count() const { return count_; } // tiles along a side
  uint32_t block(int i, int j) const { return static_cast<uint32_t>(i * count_ + j); }
  float *at(uint32_t block) const { return reinterpret_cast<float *>(memory_.get() + step_ * block); }

  float original(int64_t row, int64_t col) const {
    uint64_t h = static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(col) * 0xc2b2ae3d27d4eb4full;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
    return static_cast<float>(static_cast<double>(h >> 40) / (1 << 24) - 0.5) + (row == col ? heavy_ : 0.0f);
  }
  void fill() const {
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j < count_; ++j) {
        float *const t = at(block(i, j));
        for (int c = 0; c < tile_; ++c)
          for (int r = 0; r < tile_; ++r) t[static_cast<size_t>(c) * tile_ + r] = original(int64_t{i} * tile_ + r, int64_t{j} * tile_ + c);
      }
  }

  // f(row, col, value) for each element of the tiles as they are now.
  template <class F> void each(F f) const {
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j < count_; ++j) {
        const float *const t = at(block(i, j));
        for (int c = 0; c < tile_; ++c)
          for (int r = 0; r < tile_; ++r) f(static_cast<size_t>(i) * tile_ + r, static_cast<size_t>(j) * tile_ + c, t[static_cast<size_t>(c) * tile_ + r]);
      }
  }
  template <class F> void each_of_original(F f) const {
    for (int col = 0; col < n_; ++col)
      for (int row = 0; row < n_; ++row) f(static_cast<size_t>(row), static_cast<size_t>(col), original(row, col));
  }

private:
  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  int n_, tile_, count_;
  float heavy_;
  size_t step_; // bytes from tile to tile; a spare line keeps equal places of neighbours out of one cache set
  std::unique_ptr<std::byte[], Free> memory_;
};

inline std::vector<double> random_signs(int n) {
  std::vector<double> x(static_cast<size_t>(n));
  uint64_t state = 88172645463325252ull;
  for (double &e : x) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    e = state >> 63 ? 1.0 : -1.0;
  }
  return x;
}

inline double norm_of(const std::vector<double> &x) {
  double sum = 0;
  for (double e : x) sum += e * e;
  return std::sqrt(sum);
}

} // namespace bench
