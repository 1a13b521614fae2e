// qr — a tiled Householder QR factorisation, A = Q R. Column of tiles by column: the tile on the diagonal is
// factorised, then the tiles below it are folded into it, one after the other; what each fold means for the tiles to
// the right is a task for each of these, and runs beside the next fold. Kernels are plain loops, reflection by
// reflection: for speed one would take LAPACK's geqrt, tpqrt and their companions. Prints how far RT R is from AT A.
#include "../example.hpp"

#include <algorithm>
#include <span>

namespace {

using consort::Matrix, consort::read, consort::readwrite, consort::write;
using Reflections = std::span<double>;  // their factors tau; their vectors lie below R, in the tile itself

// H = I - tau v vT with v = (1, tail) that takes (head, tail) to (beta, 0); the tail becomes that of v. Answers tau.
double reflection(double &head, Matrix<double> m, size_t column, size_t from) {
  double tail2 = 0;
  for (size_t i = from; i < m.ny(); ++i) tail2 += m(column, i) * m(column, i);
  if (tail2 == 0) return 0;
  const double beta = -std::copysign(std::sqrt(head * head + tail2), head), scale = head - beta;
  for (size_t i = from; i < m.ny(); ++i) m(column, i) /= scale;
  const double tau = -scale / beta;
  head = beta;
  return tau;
}

// Applies it to columns `first` and on of the row `head` and the rows `from` and on of `tail`.
void reflect(double tau, Matrix<const double> v, size_t column, std::span<double> head, Matrix<double> tail,
             size_t first, size_t from) {
  for (size_t j = first; j < head.size(); ++j) {
    double sum = head[j];
    for (size_t i = from; i < tail.ny(); ++i) sum += v(column, i) * tail(j, i);
    head[j] -= tau * sum;
    for (size_t i = from; i < tail.ny(); ++i) tail(j, i) -= tau * sum * v(column, i);
  }
}

const consort::Codelet geqrt{"geqrt", consort::cpu([](Matrix<double> a, Reflections tau) {
                               for (size_t k = 0; k < std::min(a.nx(), a.ny()); ++k) {
                                 tau[k] = reflection(a(k, k), a, k, k + 1);
                                 reflect(tau[k], a, k, a.line(k), a, k + 1, k + 1);
                               }
                             })};
const consort::Codelet unmqr{"unmqr",
                             consort::cpu([](Matrix<const double> v, std::span<const double> tau, Matrix<double> c) {
                               for (size_t k = 0; k < std::min(v.nx(), v.ny()); ++k)
                                 reflect(tau[k], v, k, c.line(k), c, 0, k + 1);
                             })};
const consort::Codelet tsqrt{"tsqrt", consort::cpu([](Matrix<double> top, Matrix<double> a, Reflections tau) {
                               for (size_t k = 0; k < a.nx(); ++k) {
                                 tau[k] = reflection(top(k, k), a, k, 0);
                                 reflect(tau[k], a, k, top.line(k), a, k + 1, 0);
                               }
                             })};
const consort::Codelet tsmqr{"tsmqr", consort::cpu([](Matrix<const double> v, std::span<const double> tau,
                                                      Matrix<double> top, Matrix<double> c) {
                               for (size_t k = 0; k < v.nx(); ++k) reflect(tau[k], v, k, top.line(k), c, 0, 0);
                             })};

struct Tile {
  consort::Data<Matrix<double>> a;
  consort::Data<Reflections> tau;  // without a home: the runtime's memory
};

void factorise(consort::Runtime &rt, const std::vector<Tile> &tiles, size_t n) {
  const auto A = [&](size_t i, size_t j) -> const consort::Data<Matrix<double>> & { return tiles[i * n + j].a; };
  const auto T = [&](size_t i, size_t k) -> const consort::Data<Reflections> & { return tiles[i * n + k].tau; };
  for (size_t k = 0; k < n; ++k) {
    rt.submit({.priority = 2}, geqrt, readwrite(A(k, k)), write(T(k, k)));
    for (size_t j = k + 1; j < n; ++j) rt.submit(unmqr, read(A(k, k)), read(T(k, k)), readwrite(A(k, j)));
    for (size_t i = k + 1; i < n; ++i) {
      rt.submit({.priority = 1}, tsqrt, readwrite(A(k, k)), readwrite(A(i, k)), write(T(i, k)));
      for (size_t j = k + 1; j < n; ++j)
        rt.submit(tsmqr, read(A(i, k)), read(T(i, k)), readwrite(A(k, j)), readwrite(A(i, j)));
    }
  }
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 256, "rows and columns"}, {"tile", 32, "rows and columns of a tile"}});
  const size_t n = size["n"], tile = size["tile"], across = (n + tile - 1) / tile;
  std::vector<double> a(n * n);
  for (size_t i = 0; i < n * n; ++i) a[i] = static_cast<double>(i * 7919 % 1009) / 1009 - 0.5;
  for (size_t i = 0; i < n; ++i) a[i * n + i] += 10;
  const std::vector<double> original = a;

  {
    consort::Runtime rt(size.settings());
    std::vector<Tile> tiles;
    for (size_t i = 0; i < n; i += tile)
      for (size_t j = 0; j < n; j += tile)
        tiles.push_back({rt.matrix(&a[i * n + j], std::min(tile, n - j), std::min(tile, n - i), n, "A"),
                         rt.vector<double>(std::min(tile, n - j), "tau")});
    factorise(rt, tiles, across);
    rt.wait();
  }

  // Q leaves lengths and angles as they are: AT A = RT R.
  double error = 0, largest = 0;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double before = 0, after = 0;
      for (size_t k = 0; k < n; ++k) before += original[k * n + i] * original[k * n + j];
      for (size_t k = 0; k <= j; ++k) after += a[k * n + i] * a[k * n + j];
      if (const double wrong = std::abs(before - after); !(wrong <= error)) error = wrong;
      largest = std::max(largest, std::abs(before));
    }
  return example::end(error < 1e-12 * largest, "qr: %zu x %zu in tiles of %zu, |AT A - RT R| / |AT A| = %.1g", n, n,
                      tile, error / largest);
} catch (const std::exception &e) {
  return example::failed(e);
}
