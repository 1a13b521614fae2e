// lu — a tiled LU factorisation without pivoting, A = L U in place, of a matrix whose diagonal outweighs its rows. The
// graph is in factorise(), the three loops of the textbook; kernels are plain loops, so that the example needs no
// library. Prints the size, the tasks, and how far L U is from A.
#include "../example.hpp"

#include <algorithm>

namespace {

using consort::Matrix, consort::r, consort::rw;

// m(x, y) is column x of row y: rows lie one after the other, and the inner loops run along them.
const consort::Codelet getrf{"getrf", consort::cpu([](Matrix<double> a) {  // A := L\U
                               for (size_t k = 0; k < a.ny(); ++k)
                                 for (size_t i = k + 1; i < a.ny(); ++i) {
                                   const double l = a(k, i) /= a(k, k);
                                   for (size_t j = k + 1; j < a.nx(); ++j) a(j, i) -= l * a(j, k);
                                 }
                             })};
const consort::Codelet trsm_right{"trsm right",
                                  consort::cpu([](Matrix<const double> u, Matrix<double> b) {  // B := B U^-1
                                    for (size_t i = 0; i < b.ny(); ++i)
                                      for (size_t k = 0; k < b.nx(); ++k) {
                                        const double l = b(k, i) /= u(k, k);
                                        for (size_t j = k + 1; j < b.nx(); ++j) b(j, i) -= l * u(j, k);
                                      }
                                  })};
const consort::Codelet trsm_left{"trsm left",
                                 consort::cpu([](Matrix<const double> l, Matrix<double> b) {  // B := L^-1 B
                                   for (size_t k = 0; k < b.ny(); ++k)
                                     for (size_t i = k + 1; i < b.ny(); ++i)
                                       for (size_t j = 0; j < b.nx(); ++j) b(j, i) -= l(k, i) * b(j, k);
                                 })};
const consort::Codelet gemm{"gemm", consort::cpu([](Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
                              for (size_t i = 0; i < c.ny(); ++i)  // C := C - A B
                                for (size_t k = 0; k < a.nx(); ++k)
                                  for (size_t j = 0; j < c.nx(); ++j) c(j, i) -= a(k, i) * b(j, k);
                            })};

class Tiles {
 public:
  Tiles(consort::Runtime &rt, std::vector<double> &a, size_t n, size_t tile) : count_((n + tile - 1) / tile) {
    for (size_t i = 0; i < n; i += tile)
      for (size_t j = 0; j < n; j += tile)
        tiles_.push_back(rt.matrix(&a[i * n + j], std::min(tile, n - j), std::min(tile, n - i), n, "A"));
  }
  size_t count() const { return count_; }
  const consort::Data<Matrix<double>> &operator()(size_t i, size_t j) const { return tiles_[i * count_ + j]; }

 private:
  size_t count_;
  std::vector<consort::Data<Matrix<double>>> tiles_;
};

// What stands nearer to the diagonal is more urgent: more hangs on it.
void factorise(consort::Runtime &rt, const Tiles &A) {
  const size_t n = A.count();
  const auto urgent = [&](size_t i, size_t j) { return static_cast<int32_t>(2 * n - i - j); };
  for (size_t k = 0; k < n; ++k) {
    rt.submit({.priority = urgent(k, k)}, getrf, rw(A(k, k)));
    for (size_t i = k + 1; i < n; ++i) {
      rt.submit({.priority = urgent(i, k)}, trsm_right, r(A(k, k)), rw(A(i, k)));
      rt.submit({.priority = urgent(k, i)}, trsm_left, r(A(k, k)), rw(A(k, i)));
    }
    for (size_t i = k + 1; i < n; ++i)
      for (size_t j = k + 1; j < n; ++j)
        rt.submit({.priority = urgent(i, j)}, gemm, r(A(i, k)), r(A(k, j)), rw(A(i, j)));
  }
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 384, "rows and columns"}, {"tile", 64, "rows and columns of a tile"}});
  const size_t n = size["n"];
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(i * 7919 % 1009) / 1009 - 0.5;
  for (size_t i = 0; i < n; ++i) a[i * n + i] += static_cast<double>(n);
  const std::vector<double> original = a;

  unsigned long long tasks = 0;
  {
    consort::Runtime rt(size.settings());
    const Tiles A(rt, a, n, size["tile"]);
    factorise(rt, A);
    rt.wait();
    tasks = rt.info().finished;
  }

  std::vector<double> product(n * n, 0);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k <= i; ++k)
      for (size_t j = k; j < n; ++j) product[i * n + j] += (k < i ? a[i * n + k] : 1) * a[k * n + j];
  const double error = example::difference(product, original) / static_cast<double>(n);
  return example::end(error < 1e-12, "lu: %zu x %zu by %llu tasks, |A - L U| / |A| = %.1g", n, n, tasks, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
