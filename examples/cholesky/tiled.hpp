// A symmetric matrix in tiles: the lower half, each tile contiguous and column-major. Owned by the thread that created it;
// only tiles are passed to tasks. It must never hold the original beside the factor: elements of
// the original are a function of their place, so the residual is measured against what was really factorised.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace cholesky {

class Tiled {
public:
  Tiled(int n, int tile)
      : n_(n), tile_(tile), count_((n + tile - 1) / tile), step_((static_cast<size_t>(tile) * tile * sizeof(float) + 127) / 128 * 128 + 128),
        memory_(static_cast<std::byte *>(std::aligned_alloc(128, step_ * number_of_tiles()))) {}

  explicit operator bool() const { return memory_ != nullptr; }
  int n() const { return n_; }
  int tile() const { return tile_; }
  int count() const { return count_; } // tiles along a side
  size_t number_of_tiles() const { return static_cast<size_t>(count_) * (count_ + 1) / 2; }
  int size(int i) const { return i + 1 < count_ ? tile_ : n_ - (count_ - 1) * tile_; } // rows of tile row i
  float *at(int i, int j) const {
    return reinterpret_cast<float *>(memory_.get() + step_ * (static_cast<size_t>(i) * (i + 1) / 2 + static_cast<size_t>(j)));
  }
  std::span<float> span(int i, int j) const { return {at(i, j), static_cast<size_t>(tile_) * tile_}; }

  // Element of the matrix to be factorised: symmetric, noise in [-1/2, 1/2), and a diagonal that outweighs it.
  float original(int64_t row, int64_t col) const { return element(row, col, n_); }
  static float element(int64_t row, int64_t col, int n) {
    if (row < col) std::swap(row, col);
    uint64_t h = static_cast<uint64_t>(row) * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(col) * 0xc2b2ae3d27d4eb4full;
    h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
    return static_cast<float>(static_cast<double>(h >> 40) / (1 << 24) - 0.5) + (row == col ? static_cast<float>(n) : 0.0f);
  }

  // A tile, wherever it is to lie, of the matrix of n rows; (row, col) is its first element there.
  static void fill(float *tile, int rows, int cols, int ld, int64_t row, int64_t col, int n) {
    for (int c = 0; c < cols; ++c)
      for (int r = 0; r < rows; ++r) tile[static_cast<size_t>(c) * ld + r] = element(row + r, col + c, n);
  }
  void fill() const {
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j <= i; ++j) fill(at(i, j), size(i), size(j), tile_, int64_t{i} * tile_, int64_t{j} * tile_, n_);
  }

  // ‖A - L Lᵀ‖ / ‖A‖ in the Frobenius norm, in double precision. The numerator by random vectors of ±1: the mean of
  // ‖(A - L Lᵀ) x‖² over them is ‖A - L Lᵀ‖².
  double residual() const {
    constexpr int samples = 4;
    const auto n = static_cast<size_t>(n_);
    std::vector<double> x(samples * n), y(samples * n), z(samples * n);
    uint64_t state = 88172645463325252ull;
    for (double &e : x) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      e = state >> 63 ? 1.0 : -1.0;
    }
    each_of_factor([&](size_t row, size_t col, double l) { // y = Lᵀ x
      for (int s = 0; s < samples; ++s) y[col * samples + s] += l * x[row * samples + s];
    });
    each_of_factor([&](size_t row, size_t col, double l) { // z = L y
      for (int s = 0; s < samples; ++s) z[row * samples + s] += l * y[col * samples + s];
    });
    double norm = 0;
    for (size_t col = 0; col < n; ++col)
      for (size_t row = col; row < n; ++row) { // z -= A x
        const double a = original(static_cast<int64_t>(row), static_cast<int64_t>(col));
        norm += (row == col ? 1 : 2) * a * a;
        for (int s = 0; s < samples; ++s) {
          z[row * samples + s] -= a * x[col * samples + s];
          if (row != col) z[col * samples + s] -= a * x[row * samples + s];
        }
      }
    double wrong = 0;
    for (double e : z) wrong += e * e;
    return std::sqrt(wrong / samples / norm);
  }

  double flops() const { // of the factorisation
    const double n = n_;
    return n * n * n / 3 + n * n / 2 + n / 6;
  }

private:
  template <class F> void each_of_factor(F f) const {
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j <= i; ++j)
        for (int c = 0; c < size(j); ++c)
          for (int r = i == j ? c : 0; r < size(i); ++r)
            f(static_cast<size_t>(i) * tile_ + r, static_cast<size_t>(j) * tile_ + c, at(i, j)[static_cast<size_t>(c) * tile_ + r]);
  }

  struct Free {
    void operator()(std::byte *p) const { std::free(p); }
  };
  int n_, tile_, count_;
  size_t step_; // bytes from tile to tile; a spare line keeps equal places of neighbours out of one cache set
  std::unique_ptr<std::byte[], Free> memory_;
};

} // namespace cholesky
