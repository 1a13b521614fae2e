// matvecmult — y := A x. A matrix and vectors of the program's own are registered in place, by bands of rows: each band
// of A and its part of y belong to one task, x is read by all of them at the same time. Prints size and largest error.
#include "../example.hpp"

#include <span>

namespace {

using consort::Matrix, consort::read, consort::write;

// Rows lie one after the other: a line of the matrix is a row, a.line(i) a span over it.
const consort::Codelet multiply{
    "multiply", consort::cpu([](Matrix<const double> a, std::span<const double> x, std::span<double> y) {
      for (size_t i = 0; i < y.size(); ++i) {
        double sum = 0;
        for (size_t j = 0; j < x.size(); ++j) sum += a(j, i) * x[j];
        y[i] = sum;
      }
    })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv,
                              {{"rows", 2000, "rows of A"}, {"cols", 1000, "columns of A"}, {"bands", 8, "tasks"}});
  const size_t rows = size["rows"], cols = size["cols"], bands = size["bands"];
  std::vector<double> a(rows * cols), x(cols), y(rows, -1), expected(rows, 0);
  for (size_t i = 0; i < rows * cols; ++i) a[i] = static_cast<double>(i * 7 % 11) - 5;
  for (size_t j = 0; j < cols; ++j) x[j] = static_cast<double>(j % 5) - 2;

  {
    consort::Runtime rt(size.settings());
    const auto dx = rt.vector(x, "x");
    std::vector<consort::Data<Matrix<double>>> da;
    std::vector<consort::Data<std::span<double>>> dy;
    for (size_t b = 0; b < bands; ++b) {
      const size_t begin = rows * b / bands, count = rows * (b + 1) / bands - begin;
      da.push_back(rt.matrix(&a[begin * cols], cols, count, cols, "A"));
      dy.push_back(rt.vector(std::span(y).subspan(begin, count), "y"));
      rt.submit(multiply, read(da[b]), read(dx), write(dy[b]));
    }
    rt.wait();
  }

  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < cols; ++j) expected[i] += a[i * cols + j] * x[j];
  const double error = example::difference(y, expected);
  return example::end(error < 1e-9, "matvecmult: %zu x %zu in %zu bands, largest error %g", rows, cols, bands, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
