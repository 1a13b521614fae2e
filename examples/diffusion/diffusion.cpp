// diffusion — a 5-point stencil on several ranks: each point becomes the mean of its four neighbours, step after step. The
// grid lies in bands of rows, dealt out to the ranks; a band's first and last row are data of their own, its edges. Every
// rank submits all tasks. A task runs where its band lives, and the edges that it reads come by themselves. Edges are held
// twice, for even and odd steps. Run it by `consort run -n 4 -- diffusion`. Each rank compares its bands with a plain loop.
#include <consort/distributed.hpp>

#include <array>
#include <span>

#include "../example.hpp"

namespace {

using consort::Matrix, consort::read, consort::readwrite, consort::write;
using Line = std::span<double>;
using Halo = std::span<const double>;

constexpr double kOutside = 10;

void publish(Matrix<const double> band, Line first, Line last) {
  for (size_t x = 0; x < band.nx(); ++x) first[x] = band(x, 0), last[x] = band(x, band.ny() - 1);
}

// One step of nx x ny points at `at`, with the lines above and below them.
void advance(double *at, size_t nx, size_t ny, const double *above, const double *below) {
  const std::vector<double> old(at, at + nx * ny);
  const auto value = [&](size_t x, size_t y) { return old[y * nx + x]; };
  for (size_t y = 0; y < ny; ++y)
    for (size_t x = 0; x < nx; ++x)
      at[y * nx + x] = 0.25 * ((y > 0 ? value(x, y - 1) : above[x]) + (y + 1 < ny ? value(x, y + 1) : below[x]) +
                               (x > 0 ? value(x - 1, y) : kOutside) + (x + 1 < nx ? value(x + 1, y) : kOutside));
}

const consort::Codelet edges{"edges", consort::cpu([](Matrix<const double> band, Line first, Line last) { publish(band, first, last); })};
const consort::Codelet step{"step", consort::cpu([](Matrix<double> band, Halo above, Halo below, Line first, Line last) {
  advance(band.data(), band.nx(), band.ny(), above.data(), below.data());
  publish(band, first, last);
})};

struct Band {
  consort::Data<Matrix<double>> points;
  std::array<std::array<consort::Data<Line>, 2>, 2> edge;  // of even and odd steps: the first row, the last one
};

double start(size_t i) { return static_cast<double>(i * 7919 % 1000) / 100; }

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 200, "points along a side"}, {"bands", 8, "bands"}, {"steps", 50, "steps"}});
  const size_t n = size["n"], steps = size["steps"], bands = std::min(size["bands"], n);
  consort::Runtime rt(size.settings());
  consort::Job job(rt);
  const auto first_row = [&](size_t b) { return b * n / bands; };
  const auto owner = [&](size_t b) { return static_cast<uint32_t>(b * job.ranks() / bands); };

  std::vector<double> grid(n * n), outside(n, kOutside), expected(n * n);
  for (size_t i = 0; i < n * n; ++i) grid[i] = expected[i] = start(i);
  double error = 0;
  {
    const auto border = rt.vector(outside, "border");  // the same on all ranks: none of the job
    std::vector<Band> all(bands);
    uint64_t tag = 0;
    for (size_t b = 0; b < bands; ++b) {
      const size_t rows = first_row(b + 1) - first_row(b);
      all[b].points = owner(b) == job.rank() ? rt.matrix(grid.data() + first_row(b) * n, n, rows) : rt.matrix<double>(n, rows);
      job.distribute(all[b].points, tag++, owner(b));
      for (auto &of_parity : all[b].edge)
        for (auto &line : of_parity) {
          line = rt.vector<double>(n);
          job.distribute(line, tag++, owner(b));
        }
    }
    for (const Band &b : all) job.submit(edges, read(b.points), write(b.edge[0][0]), write(b.edge[0][1]));
    for (size_t s = 0; s < steps; ++s)
      for (size_t b = 0; b < bands; ++b) {
        const auto &mine = all[b].edge[(s + 1) % 2];
        const auto &above = b > 0 ? all[b - 1].edge[s % 2][1] : border;
        const auto &below = b + 1 < bands ? all[b + 1].edge[s % 2][0] : border;
        job.submit(step, readwrite(all[b].points), read(above), read(below), write(mine[0]), write(mine[1]));
      }
    rt.wait_all();
  }
  for (size_t s = 0; s < steps; ++s) advance(expected.data(), n, n, outside.data(), outside.data());
  for (size_t b = 0; b < bands; ++b)
    for (size_t i = first_row(b) * n; owner(b) == job.rank() && i < first_row(b + 1) * n; ++i)
      error = std::max(error, std::abs(grid[i] - expected[i]));

  // The largest error of all ranks.
  double largest = error;
  std::vector<consort::Data<double &>> errors;
  for (uint32_t r = 0; r < job.ranks(); ++r) {
    errors.push_back(r == job.rank() ? rt.variable(error) : rt.variable<double>());
    job.distribute(errors[r], 1'000'000 + r, r);
    job.fetch(errors[r], 0);
    if (job.rank() == 0) largest = std::max(largest, static_cast<double>(*errors[r].read()));
  }
  rt.wait_all();
  if (job.rank() > 0) return error < 1e-12 ? 0 : 1;
  return example::end(largest < 1e-12, "diffusion: %zu x %zu points in %zu bands on %u ranks, %zu steps, largest error %g", n, n,
                      bands, job.ranks(), steps, largest);
} catch (const std::exception &e) {
  return example::failed(e);
}
