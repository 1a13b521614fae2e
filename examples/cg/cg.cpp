// cg — conjugate gradients, A x = b with a symmetric positive definite matrix in blocks. Scalar products are
// reductions; the sums of a product A p commute: whichever block of A is at hand adds to its part of q. The factors
// alpha and beta stay data that tasks read, so the program runs ahead of the numbers, and looks only at the residual,
// once per iteration. Prints the iterations, the residual, and how far x is from the solution that b was made of.
#include "../example.hpp"

#include <algorithm>
#include <span>

namespace {

using consort::commute, consort::Matrix, consort::r, consort::redux, consort::rw, consort::w;
using Vector = std::span<double>;
using Fixed = std::span<const double>;

const consort::Codelet zero{"zero", consort::cpu([](double &sum) { sum = 0; })};
const consort::Codelet unite{"unite", consort::cpu([](double &sum, const double &more) { sum += more; })};
const consort::Codelet dot{"dot", consort::cpu([](Fixed x, Fixed y, double &sum) {
                             for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
                           })};
const consort::Codelet clear{"clear", consort::cpu([](Vector x) { std::fill(x.begin(), x.end(), 0); })};
const consort::Codelet gemv{"gemv", consort::cpu([](Matrix<const double> a, Fixed x, Vector y) {
                              for (size_t i = 0; i < y.size(); ++i)
                                for (size_t j = 0; j < x.size(); ++j) y[i] += a(j, i) * x[j];
                            })};
// y += sign * (above / below) * x
const consort::Codelet add{"add",
                           consort::cpu([](double sign, const double &above, const double &below, Fixed x, Vector y) {
                             for (size_t i = 0; i < y.size(); ++i) y[i] += sign * above / below * x[i];
                           })};
// y := x + (above / below) * y
const consort::Codelet turn{"turn", consort::cpu([](Fixed x, const double &above, const double &below, Vector y) {
                              for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] + above / below * y[i];
                            })};

struct Blocks {  // of a vector
  Blocks(consort::Runtime &rt, std::vector<double> &v, size_t count, const char *name) {
    for (size_t b = 0; b < count; ++b) {
      const size_t begin = v.size() * b / count, end = v.size() * (b + 1) / count;
      part.push_back(rt.vector(std::span(v).subspan(begin, end - begin), name));
    }
  }
  const consort::Data<Vector> &operator[](size_t b) const { return part[b]; }
  std::vector<consort::Data<Vector>> part;
};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 600, "unknowns"}, {"blocks", 4, "blocks along a side of A"}});
  const size_t n = size["n"], blocks = std::min(size["blocks"], n);
  const auto element = [](size_t i, size_t j) {
    return (i == j ? 2.0 : 0.0) + 1 / (1.0 + std::abs(double(i) - double(j)));
  };
  std::vector<double> a(n * n), x(n, 0), q(n), solution(n), residual(n, 0);
  for (size_t i = 0; i < n; ++i) solution[i] = static_cast<double>(i % 7) - 3;
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) residual[i] += (a[i * n + j] = element(i, j)) * solution[j];  // b, as x is 0
  std::vector<double> p = residual;

  double left = 0;
  size_t iterations = 0;
  {
    consort::Runtime rt(size.settings());
    const Blocks X(rt, x, blocks, "x"), R(rt, residual, blocks, "r"), P(rt, p, blocks, "p"), Q(rt, q, blocks, "q");
    std::vector<consort::Data<Matrix<double>>> A;
    for (size_t i = 0; i < blocks; ++i)
      for (size_t j = 0; j < blocks; ++j) {
        const size_t row = n * i / blocks, col = n * j / blocks;
        A.push_back(rt.matrix(&a[row * n + col], n * (j + 1) / blocks - col, n * (i + 1) / blocks - row, n, "A"));
      }
    consort::Data<double &> pq = rt.variable<double>("p q"),
                            rr[2] = {rt.variable<double>("r r"), rt.variable<double>("r r")};
    for (auto *sum : {&pq, &rr[0], &rr[1]}) sum->set_reduction(zero, unite);
    const auto product = [&](const Blocks &u, const Blocks &v, const consort::Data<double &> &sum) {
      rt.submit(zero, w(sum));
      for (size_t b = 0; b < blocks; ++b) rt.submit(dot, r(u[b]), r(v[b]), redux(sum));
    };

    product(R, R, rr[0]);
    for (left = *rr[0].read(); left > 1e-20 && iterations < 10 * n; left = *rr[iterations % 2].read()) {
      const auto &now = rr[iterations % 2], &next = rr[++iterations % 2];
      for (size_t i = 0; i < blocks; ++i) {
        rt.submit(clear, w(Q[i]));
        for (size_t j = 0; j < blocks; ++j) rt.submit(gemv, r(A[i * blocks + j]), r(P[j]), commute(Q[i]));
      }
      product(P, Q, pq);
      for (size_t b = 0; b < blocks; ++b) {
        rt.submit(add, 1, r(now), r(pq), r(P[b]), rw(X[b]));
        rt.submit(add, -1, r(now), r(pq), r(Q[b]), rw(R[b]));
      }
      product(R, R, next);
      for (size_t b = 0; b < blocks; ++b) rt.submit(turn, r(R[b]), r(next), r(now), rw(P[b]));
    }
    rt.wait();
  }

  const double error = example::difference(x, solution);
  return example::end(error < 1e-9, "cg: %zu unknowns, %zu iterations, residual %.1g, largest error %.1g", n,
                      iterations, std::sqrt(left), error);
} catch (const std::exception &e) {
  return example::failed(e);
}
