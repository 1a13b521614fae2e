// filters — a picture, blurred by bands of rows. Each picture has two plans: rows for writing, whose parts do not
// meet, and overlap for reading, whose parts have a border, the shadow, that lies in the neighbours' bands. Between
// the steps a task darkens the whole picture, at the end each of some tiles is summed up. The program does not
// declare when each view is used: the runtime orders tasks by the bytes they share. Prints the sum and the largest error.
#include "../example.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace {

using consort::Matrix, consort::read, consort::redux, consort::readwrite, consort::write;
using Picture = Matrix<double>;

// `first`: the line of `from` that becomes line 0 of `to`. Where the picture ends its last line stands for the next.
void blur_band(Matrix<const double> from, Picture to, size_t first) {
  for (size_t y = 0; y < to.ny(); ++y) {
    const auto here = from.line(y + first), up = from.line(y + first > 0 ? y + first - 1 : 0),
               down = from.line(std::min(y + first + 1, from.ny() - 1));
    for (size_t x = 0; x < to.nx(); ++x) to(x, y) = 0.5 * here[x] + 0.25 * (up[x] + down[x]);
  }
}
const consort::Codelet blur{"blur", consort::cpu(blur_band)};
const consort::Codelet darken{"darken", consort::cpu([](Picture p, double factor) {
                                for (size_t y = 0; y < p.ny(); ++y)
                                  for (double &e : p.line(y)) e *= factor;
                              })};
const consort::Codelet add_up{"add up", consort::cpu([](Matrix<const double> tile, double &sum) {
                                for (size_t y = 0; y < tile.ny(); ++y)
                                  for (const double e : tile.line(y)) sum += e;
                              })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(
      argc, argv,
      {{"rows", 300, "rows"}, {"cols", 200, "columns"}, {"bands", 5, "bands of rows"}, {"steps", 10, "steps"}});
  const size_t rows = size["rows"], cols = size["cols"], steps = size["steps"];
  const size_t bands = std::min(size["bands"], rows);
  std::array<std::vector<double>, 2> copy;
  for (size_t i = 0; i < rows * cols; ++i) copy[0].push_back(static_cast<double>(i * 31 % 256));
  copy[1].resize(rows * cols);
  std::vector<double> expected = copy[0];

  double sum = 0;
  {
    consort::Runtime rt(size.settings());
    auto total = rt.variable(sum, "total");
    rt.reduction(total, 0.0, std::plus<>{});
    std::array<consort::Data<Picture>, 2> whole;
    std::array<consort::Parts<Picture>, 2> band;
    std::array<consort::Parts<Matrix<const double>>, 2> shadow;  // its parts meet: they are read alone
    for (size_t c = 0; c < 2; ++c) {
      whole[c] = rt.matrix(copy[c].data(), cols, rows, cols, c ? "odd" : "even");
      band[c] = whole[c].partition(consort::rows{.parts = bands});
      shadow[c] = whole[c].partition(consort::overlap{.parts = bands, .axis = 1, .width = 1});  // along the lines
    }
    for (size_t s = 0; s < steps; ++s) {
      const size_t from = s % 2, to = 1 - from;
      for (size_t b = 0; b < bands; ++b) rt.submit(blur, read(shadow[from][b]), write(band[to][b]), size_t{b > 0});
      if (s % 4 == 3) rt.submit(darken, readwrite(whole[to]), 0.5);
    }
    for (const auto &tile : whole[steps % 2].partition(consort::tiles{.x = 2, .y = 3}))
      rt.submit(add_up, read(tile), redux(total));
    rt.wait();
  }

  for (size_t s = 0; s < steps; ++s) {
    const std::vector<double> old = expected;
    for (size_t y = 0; y < rows; ++y)
      for (size_t x = 0; x < cols; ++x) {
        const double up = old[(y > 0 ? y - 1 : 0) * cols + x], down = old[std::min(y + 1, rows - 1) * cols + x];
        expected[y * cols + x] = (0.5 * old[y * cols + x] + 0.25 * (up + down)) * (s % 4 == 3 ? 0.5 : 1);
      }
  }
  double expected_sum = 0;
  for (const double e : expected) expected_sum += e;
  const double error = example::difference(copy[steps % 2], expected);
  return example::end(error < 1e-9 && std::abs(sum - expected_sum) <= 1e-9 * expected_sum,
                      "filters: %zu x %zu in %zu bands, %zu steps, sum %.3f, largest error %g", rows, cols, bands, steps,
                      sum, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
