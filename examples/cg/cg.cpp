// cg — conjugate gradients, A x = b with a symmetric positive definite matrix in blocks. Scalar products are
// reductions; the sums of a product A p commute: whichever block of A is at hand adds to its part of q. The factors
// alpha and beta stay data that tasks read, so the program runs ahead of the numbers, and looks only at the residual,
// once per iteration. Prints the iterations, the residual, and how far x is from the solution that b was made of.
#include "../example.hpp"

#include <algorithm>
#include <span>

namespace {

using consort::commute, consort::Matrix, consort::read, consort::redux, consort::readwrite, consort::write;
using Vector = std::span<double>;
using Fixed = std::span<const double>;

// For OpenCL devices: a work item for each element of the datum that a codelet is `over`; the scalar product in one
// group, whose sums meet in the group's memory.
constexpr const char *kernels = R"(
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  __kernel void zero(__global double *sum) { *sum = 0; }
  __kernel void unite(__global double *sum, __global const double *more) { *sum += *more; }
  __kernel void product(__global const double *x, ulong n, __global const double *y,
                      __global double *sum) {
    __local double part[64];
    size_t me = get_local_id(0);
    double mine = 0;
    for (ulong i = me; i < n; i += 64) mine += x[i] * y[i];
    part[me] = mine;
    for (size_t left = 32; left > 0; left /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (me < left) part[me] += part[me + left];
    }
    if (me == 0) *sum += part[0];
  }
  __kernel void clear(__global double *x) { x[get_global_id(0)] = 0; }
  __kernel void gemv(__global const double *a, ulong n, ulong ld, __global const double *x, __global double *y) {
    size_t i = get_global_id(0);
    double sum = 0;
    for (ulong j = 0; j < n; ++j) sum += a[i * ld + j] * x[j];
    y[i] += sum;
  }
  __kernel void add(double sign, __global const double *above, __global const double *below, __global const double *x,
                    __global double *y) {
    y[get_global_id(0)] += sign * *above / *below * x[get_global_id(0)];
  }
  __kernel void turn(__global const double *x, __global const double *above, __global const double *below,
                     __global double *y) {
    y[get_global_id(0)] = x[get_global_id(0)] + *above / *below * y[get_global_id(0)];
  })";
using consort::arg, consort::over;
auto kernel(const char *entry, consort::Launch how) { return consort::opencl_source(kernels, entry, std::move(how)); }

const consort::Codelet zero{"zero", consort::cpu([](double &sum) { sum = 0; }),
                            kernel("zero", {.args = {arg(0).ptr()}})};
const consort::Codelet unite{"unite", consort::cpu([](double &sum, const double &more) { sum += more; }),
                             kernel("unite", {.args = {arg(0).ptr(), arg(1).ptr()}})};
const consort::Codelet dot{
    "dot", consort::cpu([](Fixed x, Fixed y, double &sum) {
      for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    }),
    kernel("product",
           {.grid = over(arg(2)), .block = {64}, .args = {arg(0).ptr(), arg(0).size(0), arg(1).ptr(), arg(2).ptr()}})};
const consort::Codelet clear{"clear", consort::cpu([](Vector x) { std::fill(x.begin(), x.end(), 0); }),
                             kernel("clear", {.args = {arg(0).ptr()}})};
const consort::Codelet gemv{
    "gemv", consort::cpu([](Matrix<const double> a, Fixed x, Vector y) {
      for (size_t i = 0; i < y.size(); ++i)
        for (size_t j = 0; j < x.size(); ++j) y[i] += a(j, i) * x[j];
    }),
    kernel("gemv",
           {.grid = over(arg(2)), .args = {arg(0).ptr(), arg(0).size(0), arg(0).step(1), arg(1).ptr(), arg(2).ptr()}})};
// y += sign * (above / below) * x
const consort::Codelet add{
    "add", consort::cpu([](double sign, const double &above, const double &below, Fixed x, Vector y) {
      for (size_t i = 0; i < y.size(); ++i) y[i] += sign * above / below * x[i];
    }),
    kernel("add", {.grid = over(arg(4)), .args = {arg(0), arg(1).ptr(), arg(2).ptr(), arg(3).ptr(), arg(4).ptr()}})};
// y := x + (above / below) * y
const consort::Codelet turn{
    "turn", consort::cpu([](Fixed x, const double &above, const double &below, Vector y) {
      for (size_t i = 0; i < y.size(); ++i) y[i] = x[i] + above / below * y[i];
    }),
    kernel("turn", {.grid = over(arg(3)), .args = {arg(0).ptr(), arg(1).ptr(), arg(2).ptr(), arg(3).ptr()}})};

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
      rt.submit(zero, write(sum));
      for (size_t b = 0; b < blocks; ++b) rt.submit(dot, read(u[b]), read(v[b]), redux(sum));
    };

    product(R, R, rr[0]);
    for (left = *rr[0].read(); left > 1e-20 && iterations < 10 * n; left = *rr[iterations % 2].read()) {
      const auto &now = rr[iterations % 2], &next = rr[++iterations % 2];
      for (size_t i = 0; i < blocks; ++i) {
        rt.submit(clear, write(Q[i]));
        for (size_t j = 0; j < blocks; ++j) rt.submit(gemv, read(A[i * blocks + j]), read(P[j]), commute(Q[i]));
      }
      product(P, Q, pq);
      for (size_t b = 0; b < blocks; ++b) {
        rt.submit(add, 1, read(now), read(pq), read(P[b]), readwrite(X[b]));
        rt.submit(add, -1, read(now), read(pq), read(Q[b]), readwrite(R[b]));
      }
      product(R, R, next);
      for (size_t b = 0; b < blocks; ++b) rt.submit(turn, read(R[b]), read(next), read(now), readwrite(P[b]));
    }
    rt.wait();
  }

  const double error = example::difference(x, solution);
  return example::end(error < 1e-9, "cg: %zu unknowns, %zu iterations, residual %.1g, largest error %.1g", n,
                      iterations, std::sqrt(left), error);
} catch (const std::exception &e) {
  return example::failed(e);
}
