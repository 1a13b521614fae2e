// LU without pivoting, of a matrix whose diagonal outweighs the rest.
#pragma once
#include "application.hpp"
#include "kernels.hpp"
#include "square.hpp"

extern "C" void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *pivots, int *info);

namespace bench {

// A := L and U with L U = A, L with ones on its diagonal. Halves, down to what a column loop does best.
inline bool lu_tile(float *a, int n, int ld) {
  const auto at = [&](int r, int c) { return a + static_cast<size_t>(c) * ld + r; };
  if (n <= 16) {
    for (int k = 0; k < n; ++k) {
      if (*at(k, k) == 0) return false;
      const float inverse = 1 / *at(k, k);
      for (int r = k + 1; r < n; ++r) *at(r, k) *= inverse;
      for (int c = k + 1; c < n; ++c)
        for (int r = k + 1; r < n; ++r) *at(r, c) -= *at(r, k) * *at(k, c);
    }
    return true;
  }
  const int h = n / 2, rest = n - h;
  if (!lu_tile(a, h, ld)) return false;
  cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, h, rest, 1.0f, a, ld, at(0, h), ld);
  cblas_strsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, rest, h, 1.0f, a, ld, at(h, 0), ld);
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rest, rest, h, -1.0f, at(h, 0), ld, at(0, h), ld, 1.0f, at(h, h), ld);
  return lu_tile(at(h, h), rest, ld);
}

class Lu {
public:
  enum : unsigned { getrf, row, column, gemm };
  static constexpr Kernel kernels[] = {
      {"getrf", 1, {Access::update}, [](float *const *a, int t) { return lu_tile(a[0], t, t); }},
      {"row", 2, {Access::read, Access::update},
       [](float *const *a, int t) { return cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, t, t, 1.0f, a[0], t, a[1], t), true; }},
      {"column", 2, {Access::read, Access::update},
       [](float *const *a, int t) { return cblas_strsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, t, t, 1.0f, a[0], t, a[1], t), true; }},
      {"gemm", 3, {Access::read, Access::read, Access::update},
       [](float *const *a, int t) { return cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, t, t, t, -1.0f, a[0], t, a[1], t, 1.0f, a[2], t), true; }},
  };

  Lu(int n, int tile) : a_(n, tile, static_cast<float>(n)) {}
  explicit operator bool() const { return static_cast<bool>(a_); }
  uint32_t blocks() const { return static_cast<uint32_t>(a_.count() * a_.count()); }
  float *at(uint32_t block) const { return a_.at(block); }
  size_t elements(uint32_t) const { return static_cast<size_t>(a_.tile()) * static_cast<size_t>(a_.tile()); }

  template <class F> void each_task(F task) const {
    const int count = a_.count();
    const auto d = [&](int i, int j) { return a_.block(i, j); };
    const auto priority = [count](int i, int j, int k) { return 3 * count - (i + j + k); };
    for (int k = 0; k < count; ++k) {
      task(Task{getrf, {d(k, k)}, priority(k, k, k)});
      for (int j = k + 1; j < count; ++j) task(Task{row, {d(k, k), d(k, j)}, priority(k, j, k)});
      for (int i = k + 1; i < count; ++i) {
        task(Task{column, {d(k, k), d(i, k)}, priority(i, k, k)});
        for (int j = k + 1; j < count; ++j) task(Task{gemm, {d(i, k), d(k, j), d(i, j)}, priority(i, j, k)});
      }
    }
  }
  void fill() const { a_.fill(); }
  double flops() const {
    const double n = a_.n();
    return 2 * n * n * n / 3;
  }

  // ‖(A - L U) x‖ / ‖A x‖ for a random x.
  double residual() const {
    const auto x = random_signs(a_.n());
    const std::vector<double> zero(x.size());
    std::vector<double> y = zero, z = zero, original = zero;
    a_.each([&](size_t r, size_t c, double v) { if (r <= c) y[r] += v * x[c]; });
    z = y;
    a_.each([&](size_t r, size_t c, double v) { if (r > c) z[r] += v * y[c]; });
    a_.each_of_original([&](size_t r, size_t c, double v) { original[r] += v * x[c]; });
    const double norm = norm_of(original);
    for (size_t r = 0; r < z.size(); ++r) z[r] -= original[r];
    return norm_of(z) / norm;
  }

  // By OpenBLAS, on a matrix that is one tile. It looks for pivots, and finds each on the diagonal.
  bool factorise_whole() const {
    const int n = a_.n();
    int info = 0;
    std::vector<int> pivots(static_cast<size_t>(n));
    sgetrf_(&n, &n, a_.at(0), &n, pivots.data(), &info);
    return info == 0;
  }

private:
  Square a_;
};

} // namespace bench
