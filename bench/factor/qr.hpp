// QR by tiles, after a flat tree: each tile below the diagonal is folded into the triangle above it.
#pragma once
#include "application.hpp"
#include "kernels.hpp"
#include "square.hpp"
#include <algorithm>

extern "C" {
void sgeqrf_(const int *m, const int *n, float *a, const int *lda, float *tau, float *work, const int *lwork, int *info);
void sgeqrt_(const int *m, const int *n, const int *nb, float *a, const int *lda, float *t, const int *ldt, float *work, int *info);
void sgemqrt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *nb, const float *v, const int *ldv,
              const float *t, const int *ldt, float *c, const int *ldc, float *work, int *info);
void stpqrt_(const int *m, const int *n, const int *l, const int *nb, float *a, const int *lda, float *b, const int *ldb, float *t, const int *ldt,
             float *work, int *info);
void stpmqrt_(const char *side, const char *trans, const int *m, const int *n, const int *k, const int *l, const int *nb, const float *v, const int *ldv,
              const float *t, const int *ldt, float *a, const int *lda, float *b, const int *ldb, float *work, int *info);
}

namespace bench {

inline int qr_inner(int tile) { return std::min(tile, 32); } // columns whose reflectors are applied together
inline float *qr_work(int tile) {
  static thread_local std::vector<float> room;
  const size_t most = static_cast<size_t>(32) * static_cast<size_t>(tile);
  if (room.size() < most) room.resize(most);
  return room.data();
}

class Qr {
public:
  enum : unsigned { geqrt, ormqr, tsqrt, tsmqr };
  // Operands: geqrt A T; ormqr V T C; tsqrt R A T; tsmqr V T C1 C2.
  static constexpr Kernel kernels[] = {
      {"geqrt", 2, {Access::update, Access::write},
       [](float *const *a, int t) {
         const int nb = qr_inner(t);
         int info = 0;
         sgeqrt_(&t, &t, &nb, a[0], &t, a[1], &nb, qr_work(t), &info);
         return info == 0;
       }},
      {"ormqr", 3, {Access::read, Access::read, Access::update},
       [](float *const *a, int t) {
         const int nb = qr_inner(t);
         int info = 0;
         sgemqrt_("L", "T", &t, &t, &t, &nb, a[0], &t, a[1], &nb, a[2], &t, qr_work(t), &info);
         return info == 0;
       }},
      {"tsqrt", 3, {Access::update, Access::update, Access::write},
       [](float *const *a, int t) {
         const int nb = qr_inner(t), zero = 0;
         int info = 0;
         stpqrt_(&t, &t, &zero, &nb, a[0], &t, a[1], &t, a[2], &nb, qr_work(t), &info);
         return info == 0;
       }},
      {"tsmqr", 4, {Access::read, Access::read, Access::update, Access::update},
       [](float *const *a, int t) {
         const int nb = qr_inner(t), zero = 0;
         int info = 0;
         stpmqrt_("L", "T", &t, &t, &t, &zero, &nb, a[0], &t, a[1], &nb, a[2], &t, a[3], &t, qr_work(t), &info);
         return info == 0;
       }},
  };

  Qr(int n, int tile) : a_(n, tile, 0), t_(static_cast<size_t>(a_.count()) * static_cast<size_t>(a_.count()) * reflectors()) {}
  explicit operator bool() const { return static_cast<bool>(a_); }
  uint32_t blocks() const { return 2 * square(); } // the tiles, then the factors of the reflectors
  float *at(uint32_t block) const { return block < square() ? a_.at(block) : const_cast<float *>(t_.data()) + (block - square()) * reflectors(); }
  size_t elements(uint32_t block) const { return block < square() ? static_cast<size_t>(a_.tile()) * static_cast<size_t>(a_.tile()) : reflectors(); }

  template <class F> void each_task(F task) const {
    const int count = a_.count();
    const auto d = [&](int i, int j) { return a_.block(i, j); };
    const auto t = [&](int i, int j) { return square() + a_.block(i, j); };
    const auto priority = [count](int i, int j, int k) { return 3 * count - (i + j + k); };
    for (int k = 0; k < count; ++k) {
      task(Task{geqrt, {d(k, k), t(k, k)}, priority(k, k, k)});
      for (int j = k + 1; j < count; ++j) task(Task{ormqr, {d(k, k), t(k, k), d(k, j)}, priority(k, j, k)});
      for (int i = k + 1; i < count; ++i) {
        task(Task{tsqrt, {d(k, k), d(i, k), t(i, k)}, priority(i, k, k)});
        for (int j = k + 1; j < count; ++j) task(Task{tsmqr, {d(i, k), t(i, k), d(k, j), d(i, j)}, priority(i, j, k)});
      }
    }
  }
  void fill() const { a_.fill(); }
  double flops() const {
    const double n = a_.n();
    return 4 * n * n * n / 3;
  }

  // ‖(AᵀA - RᵀR) x‖ / ‖AᵀA x‖ for a random x.
  double residual() const {
    const auto x = random_signs(a_.n());
    const std::vector<double> zero(x.size());
    std::vector<double> rx = zero, rrx = zero, ax = zero, aax = zero;
    a_.each([&](size_t r, size_t c, double v) { if (r <= c) rx[r] += v * x[c]; });
    a_.each([&](size_t r, size_t c, double v) { if (r <= c) rrx[c] += v * rx[r]; });
    a_.each_of_original([&](size_t r, size_t c, double v) { ax[r] += v * x[c]; });
    a_.each_of_original([&](size_t r, size_t c, double v) { aax[c] += v * ax[r]; });
    const double norm = norm_of(aax);
    for (size_t r = 0; r < rrx.size(); ++r) rrx[r] -= aax[r];
    return norm_of(rrx) / norm;
  }

  // By OpenBLAS, on a matrix that is one tile.
  bool factorise_whole() const {
    const int n = a_.n(), lwork = 64 * n;
    int info = 0;
    std::vector<float> tau(static_cast<size_t>(n)), room(static_cast<size_t>(lwork));
    sgeqrf_(&n, &n, a_.at(0), &n, tau.data(), room.data(), &lwork, &info);
    return info == 0;
  }

private:
  uint32_t square() const { return static_cast<uint32_t>(a_.count() * a_.count()); }
  size_t reflectors() const { return static_cast<size_t>(qr_inner(a_.tile())) * static_cast<size_t>(a_.tile()); }

  Square a_;
  std::vector<float> t_;
};

} // namespace bench
