// block_cyclic — the tiled Cholesky factorisation on several ranks. The tiles are dealt out to a grid of ranks, row by row
// and column by column in turn (2-D block cyclic), so each rank has work in every step. The loops are those of one
// machine: every rank submits all tasks, a task runs where the tile lives that it writes, and the tiles that it reads are
// sent there once. Run it by `consort run -n 4 -- block_cyclic`. Each rank compares its tiles with a plain factorisation.
#include <consort/distributed.hpp>

#include "../example.hpp"

namespace {

using consort::Matrix, consort::read, consort::readwrite;

// A tile (x: column, y: row).
const consort::Codelet potrf{"potrf", consort::cpu([](Matrix<double> a) {
  for (size_t k = 0; k < a.ny(); ++k) {
    for (size_t p = 0; p < k; ++p) a(k, k) -= a(p, k) * a(p, k);
    a(k, k) = std::sqrt(a(k, k));
    for (size_t i = k + 1; i < a.ny(); ++i) {
      for (size_t p = 0; p < k; ++p) a(k, i) -= a(p, i) * a(p, k);
      a(k, i) /= a(k, k);
    }
  }
})};
const consort::Codelet trsm{"trsm", consort::cpu([](Matrix<const double> l, Matrix<double> b) {
  for (size_t i = 0; i < b.ny(); ++i)
    for (size_t k = 0; k < b.nx(); ++k) {
      for (size_t p = 0; p < k; ++p) b(k, i) -= b(p, i) * l(p, k);
      b(k, i) /= l(k, k);
    }
})};
const consort::Codelet gemm{"gemm", consort::cpu([](Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t j = 0; j < c.nx(); ++j) {
      double sum = 0;
      for (size_t p = 0; p < a.nx(); ++p) sum += a(p, i) * b(p, j);
      c(j, i) -= sum;
    }
})};
const consort::Codelet syrk{"syrk", consort::cpu([](Matrix<const double> a, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (size_t p = 0; p < a.nx(); ++p) sum += a(p, i) * a(p, j);
      c(j, i) -= sum;
    }
})};

double element(size_t row, size_t col, size_t n) {
  if (row < col) std::swap(row, col);
  return static_cast<double>((row * 7919 + col * 104729) % 1000) / 1000 + (row == col ? static_cast<double>(n) : 0);
}

// The grid of ranks is as square as their number allows.
uint32_t rows_of_grid(uint32_t ranks) {
  uint32_t rows = 1;
  for (uint32_t r = 1; r * r <= ranks; ++r)
    if (ranks % r == 0) rows = r;
  return rows;
}

std::vector<double> plain_factor(size_t n) {
  std::vector<double> l(n * n);
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = element(i, j, n);
      for (size_t p = 0; p < j; ++p) sum -= l[i * n + p] * l[j * n + p];
      l[i * n + j] = i == j ? std::sqrt(sum) : sum / l[j * n + j];
    }
  return l;
}

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 256, "rows"}, {"tile", 32, "rows of a tile"}});
  const size_t n = size["n"], tile = std::min(size["tile"], n), tiles = (n + tile - 1) / tile;
  consort::Runtime rt(size.settings());
  consort::Job job(rt);
  const uint32_t grid_rows = rows_of_grid(job.ranks()), grid_cols = job.ranks() / grid_rows;
  const auto owner = [&](size_t i, size_t j) { return static_cast<uint32_t>(i % grid_rows * grid_cols + j % grid_cols); };
  const auto rows = [&](size_t i) { return std::min(tile, n - i * tile); };

  std::vector<std::vector<double>> memory(tiles * tiles);
  {
    std::vector<consort::Data<Matrix<double>>> all(tiles * tiles);
    const auto A = [&](size_t i, size_t j) -> const auto & { return all[i * tiles + j]; };
    for (size_t i = 0; i < tiles; ++i)
      for (size_t j = 0; j <= i; ++j) {
        std::vector<double> &mine = memory[i * tiles + j];
        auto &a = all[i * tiles + j];
        if (owner(i, j) == job.rank()) {
          for (size_t y = 0; y < rows(i); ++y)
            for (size_t x = 0; x < rows(j); ++x) mine.push_back(element(i * tile + y, j * tile + x, n));
          a = rt.matrix(mine.data(), rows(j), rows(i));
        } else {
          a = rt.matrix<double>(rows(j), rows(i));
        }
        job.distribute(a, i * tiles + j, owner(i, j));
      }

    for (size_t k = 0; k < tiles; ++k) {
      job.submit(potrf, readwrite(A(k, k)));
      for (size_t i = k + 1; i < tiles; ++i) job.submit(trsm, read(A(k, k)), readwrite(A(i, k)));
      for (size_t i = k + 1; i < tiles; ++i) {
        job.submit(syrk, read(A(i, k)), readwrite(A(i, i)));
        for (size_t j = k + 1; j < i; ++j) job.submit(gemm, read(A(i, k)), read(A(j, k)), readwrite(A(i, j)));
      }
    }
    rt.wait_all();
  }

  const std::vector<double> expected = plain_factor(n);
  double error = 0;
  size_t checked = 0;
  for (size_t i = 0; i < tiles; ++i)
    for (size_t j = 0; j <= i; ++j) {
      const std::vector<double> &mine = memory[i * tiles + j];
      checked += !mine.empty();
      for (size_t y = 0; y < rows(i) && !mine.empty(); ++y)
        for (size_t x = 0; x < rows(j) && (i > j || x <= y); ++x)
          error = std::max(error, std::abs(mine[y * rows(j) + x] - expected[(i * tile + y) * n + j * tile + x]));
    }
  job.barrier();
  const bool right = error < 1e-9 * static_cast<double>(n);
  if (job.rank() > 0 && right) return 0;
  return example::end(right, "block_cyclic: %zu x %zu in %zu tiles on %u x %u ranks, rank %u has %zu, largest error %g", n, n,
                      tiles * (tiles + 1) / 2, grid_rows, grid_cols, job.rank(), checked, error);
} catch (const std::exception &e) {
  return example::failed(e);
}
