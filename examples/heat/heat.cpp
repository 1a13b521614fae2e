// heat — a square plate, one edge hot, the others cold, until it does not change any more. Two copies of the plate in
// bands of rows take turns: a band of the new one comes from three bands of the old one. Every few steps each band also
// says how much it changed, and the program looks: reading a datum waits for the task that writes it, and for nothing
// else, and while the program decides the next steps already run. Prints the steps, the heat in the middle, and the
// largest error.
#include "../example.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace {

using consort::Matrix, consort::read, consort::write;

double next(double here, double up, double down, double left, double right) {
  return here + 0.2 * (up + down + left + right - 4 * here);
}

// The plate's own edges keep their heat: first and last column here; first and last row are bands of their own.
void advance(Matrix<const double> above, Matrix<const double> old, Matrix<const double> below, Matrix<double> fresh) {
  const size_t nx = old.nx(), ny = old.ny();
  for (size_t y = 0; y < ny; ++y) {
    const auto up = y > 0 ? old.line(y - 1) : above.line(above.ny() - 1),
               down = y + 1 < ny ? old.line(y + 1) : below.line(0);
    fresh(0, y) = old(0, y), fresh(nx - 1, y) = old(nx - 1, y);
    for (size_t x = 1; x + 1 < nx; ++x) fresh(x, y) = next(old(x, y), up[x], down[x], old(x - 1, y), old(x + 1, y));
  }
}

// The same for OpenCL devices: a work item for each point of the new band (datum 3); and one for the one number of
// `difference` (datum 2).
constexpr const char *kernels = R"(
  #pragma OPENCL EXTENSION cl_khr_fp64 : enable
  #pragma OPENCL FP_CONTRACT OFF
  __kernel void advance(__global const double *above, ulong na, ulong lda, __global const double *old, ulong nx,
                        ulong ny, ulong ldo, __global const double *below, __global double *fresh, ulong ldf) {
    size_t x = get_global_id(0), y = get_global_id(1);
    double here = old[y * ldo + x];
    if (x > 0 && x + 1 < nx) {
      double up = y > 0 ? old[(y - 1) * ldo + x] : above[(na - 1) * lda + x];
      double down = y + 1 < ny ? old[(y + 1) * ldo + x] : below[x];
      here += 0.2 * (up + down + old[y * ldo + x - 1] + old[y * ldo + x + 1] - 4 * here);
    }
    fresh[y * ldf + x] = here;
  }
  __kernel void difference(__global const double *a, ulong nx, ulong ny, ulong lda, __global const double *b, ulong ldb,
                           __global double *worst) {
    *worst = 0;
    for (ulong y = 0; y < ny; ++y)
      for (ulong x = 0; x < nx; ++x) *worst = fmax(*worst, fabs(a[y * lda + x] - b[y * ldb + x]));
  })";
using consort::arg, consort::over;
const consort::Codelet step{
    "step", consort::cpu(advance),
    consort::opencl_source(kernels, "advance",
                           {.grid = over(arg(3)),
                            .args = {arg(0).ptr(), arg(0).size(1), arg(0).step(1), arg(1).ptr(), arg(1).size(0),
                                     arg(1).size(1), arg(1).step(1), arg(2).ptr(), arg(3).ptr(), arg(3).step(1)}})};
const consort::Codelet difference{
    "difference", consort::cpu([](Matrix<const double> a, Matrix<const double> b, double &worst) {
      worst = 0;
      for (size_t y = 0; y < a.ny(); ++y)
        for (size_t x = 0; x < a.nx(); ++x) worst = std::max(worst, std::abs(a(x, y) - b(x, y)));
    }),
    consort::opencl_source(kernels, "difference",
                           {.grid = over(arg(2)),
                            .args = {arg(0).ptr(), arg(0).size(0), arg(0).size(1), arg(0).step(1), arg(1).ptr(),
                                     arg(1).step(1), arg(2).ptr()}})};

std::vector<double> plate(size_t n) {
  std::vector<double> p(n * n, 0);
  std::fill_n(p.begin(), n, 100);
  return p;
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"n", 64, "rows and columns of the plate"},
                               {"bands", 4, "bands of rows"},
                               {"every", 50, "steps between two looks"},
                               {"digits", 4, "it stands still where a step changes less than 10^-digits"}});
  const size_t n = std::max<size_t>(size["n"], 3), bands = std::min(size["bands"], n - 2), every = size["every"];
  const double still = std::pow(10.0, -static_cast<double>(size["digits"]));
  std::array<std::vector<double>, 2> copy{plate(n), plate(n)};
  size_t steps = 0;

  {
    consort::Runtime rt(size.settings());
    std::array<std::vector<consort::Data<Matrix<double>>>, 2> band;  // the first and the last: one row, an edge
    std::vector<consort::Data<double &>> change;
    for (size_t c = 0; c < 2; ++c)
      for (size_t b = 0, row = 0; b < bands + 2; ++b) {
        const size_t end = b <= bands ? 1 + (n - 2) * b / bands : n;
        band[c].push_back(rt.matrix(&copy[c][row * n], n, end - row, n, "band"));
        row = end;
      }
    for (size_t b = 0; b < bands; ++b) change.push_back(rt.variable<double>("change"));

    const auto submit_steps = [&](bool look) {
      for (size_t s = 0; s < every; ++s, ++steps) {
        const auto &old = band[steps % 2], &fresh = band[(steps + 1) % 2];
        for (size_t b = 1; b <= bands; ++b)
          rt.submit(step, read(old[b - 1]), read(old[b]), read(old[b + 1]), write(fresh[b]));
        if (look && s + 1 == every)
          for (size_t b = 1; b <= bands; ++b) rt.submit(difference, read(old[b]), read(fresh[b]), write(change[b - 1]));
      }
    };
    for (double worst = still; worst >= still;) {
      submit_steps(true);
      submit_steps(false);  // work for while we look
      worst = 0;
      for (const auto &c : change) worst = std::max(worst, *c.read());
    }
    rt.wait();
  }

  std::vector<double> expected = plate(n);
  size_t expected_steps = 0;
  for (double worst = still; worst >= still; expected_steps += 2 * every)
    for (size_t s = 0; s < 2 * every; ++s) {
      const std::vector<double> old = expected;
      for (size_t y = 1; y + 1 < n; ++y)
        for (size_t x = 1; x + 1 < n; ++x) {
          const double *p = &old[y * n + x];
          expected[y * n + x] = next(*p, p[-static_cast<ptrdiff_t>(n)], p[n], p[-1], p[1]);
        }
      if (s + 1 == every) worst = example::difference(old, expected);
    }
  const std::vector<double> &result = copy[steps % 2];
  const double error = example::difference(result, expected);
  return example::end(error < 1e-9 && steps == expected_steps,
                      "heat: %zu x %zu points, still after %zu steps, %.3f degrees in the middle, largest error %g", n,
                      n, steps, result[n / 2 * n + n / 2], error);
} catch (const std::exception &e) {
  return example::failed(e);
}
