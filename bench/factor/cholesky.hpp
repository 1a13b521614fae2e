// Cholesky: the tiles and kernels of examples/cholesky.
#pragma once
#include "application.hpp"
#include "kernels.hpp"
#include "tiled.hpp"

namespace bench {

class Cholesky {
public:
  enum : unsigned { potrf, trsm, syrk, gemm };
  static constexpr Kernel kernels[] = {
      {"potrf", 1, {Access::update}, [](float *const *a, int t) { return cholesky::potrf(a[0], t, t); }},
      {"trsm", 2, {Access::read, Access::update}, [](float *const *a, int t) { return cholesky::trsm(a[0], a[1], t, t, t), true; }},
      {"syrk", 2, {Access::read, Access::update}, [](float *const *a, int t) { return cholesky::syrk(a[0], a[1], t, t, t), true; }},
      {"gemm", 3, {Access::read, Access::read, Access::update}, [](float *const *a, int t) { return cholesky::gemm(a[0], a[1], a[2], t, t, t, t), true; }},
  };

  Cholesky(int n, int tile) : a_(n, tile) {}
  explicit operator bool() const { return static_cast<bool>(a_); }
  uint32_t blocks() const { return static_cast<uint32_t>(a_.number_of_tiles()); }
  float *at(uint32_t block) const { return a_.at(0, 0) + (a_.number_of_tiles() > 1 ? static_cast<size_t>(a_.at(1, 0) - a_.at(0, 0)) * block : 0); }
  size_t elements(uint32_t) const { return static_cast<size_t>(a_.tile()) * static_cast<size_t>(a_.tile()); }

  template <class F> void each_task(F task) const {
    const int count = a_.count();
    const auto d = [](int i, int j) { return static_cast<uint32_t>(i * (i + 1) / 2 + j); };
    const auto priority = [count](int i, int j, int k) { return 3 * count - (i + j + k); };
    for (int k = 0; k < count; ++k) {
      task(Task{potrf, {d(k, k)}, priority(k, k, k)});
      for (int i = k + 1; i < count; ++i) task(Task{trsm, {d(k, k), d(i, k)}, priority(i, k, k)});
      for (int i = k + 1; i < count; ++i) {
        for (int j = k + 1; j < i; ++j) task(Task{gemm, {d(i, k), d(j, k), d(i, j)}, priority(i, j, k)});
        task(Task{syrk, {d(i, k), d(i, i)}, priority(i, i, k)});
      }
    }
  }
  void fill() const { a_.fill(); }
  double flops() const { return a_.flops(); }
  double residual() const { return a_.residual(); }

  // By OpenBLAS, on a matrix that is one tile.
  bool factorise_whole() const { return cholesky::potrf(a_.at(0, 0), a_.n(), a_.tile()); }

private:
  cholesky::Tiled a_;
};

} // namespace bench
