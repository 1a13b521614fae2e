// block_cyclic — the tiled Cholesky factorisation on several ranks. The tiles are dealt out to a grid of ranks, row by row
// and column by column in turn (2-D block cyclic), so each rank has work in every step. The loops are those of one
// machine: every rank submits all tasks, a task runs where the tile lives that it writes, and the tiles that it reads are
// sent there once. Run it by `consort run -n 4 -- block_cyclic`. Each rank compares its tiles with a plain factorisation.
// It gives its rank as a function, so `consort sim -n 1024 --one-process` runs it on a described cluster.
#include <consort/distributed.hpp>

#include <memory>

#include "../clock.hpp"
#include "../example.hpp"

namespace {

using consort::Matrix, consort::read, consort::readwrite;

// A tile (x: column, y: row).
void potrf_tile(Matrix<double> a) {
  for (size_t k = 0; k < a.ny(); ++k) {
    for (size_t p = 0; p < k; ++p) a(k, k) -= a(p, k) * a(p, k);
    a(k, k) = std::sqrt(a(k, k));
    for (size_t i = k + 1; i < a.ny(); ++i) {
      for (size_t p = 0; p < k; ++p) a(k, i) -= a(p, i) * a(p, k);
      a(k, i) /= a(k, k);
    }
  }
}

void trsm_tile(Matrix<const double> l, Matrix<double> b) {
  for (size_t i = 0; i < b.ny(); ++i)
    for (size_t k = 0; k < b.nx(); ++k) {
      for (size_t p = 0; p < k; ++p) b(k, i) -= b(p, i) * l(p, k);
      b(k, i) /= l(k, k);
    }
}

void gemm_tile(Matrix<const double> a, Matrix<const double> b, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t j = 0; j < c.nx(); ++j) {
      double sum = 0;
      for (size_t p = 0; p < a.nx(); ++p) sum += a(p, i) * b(p, j);
      c(j, i) -= sum;
    }
}

void syrk_tile(Matrix<const double> a, Matrix<double> c) {
  for (size_t i = 0; i < c.ny(); ++i)
    for (size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (size_t p = 0; p < a.nx(); ++p) sum += a(p, i) * a(p, j);
      c(j, i) -= sum;
    }
}

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

struct Grid {
  uint32_t rows, cols;
  explicit Grid(uint32_t ranks) : rows(rows_of_grid(ranks)), cols(ranks / rows) {}
  uint32_t owner(size_t i, size_t j) const { return static_cast<uint32_t>(i % rows * cols + j % cols); }
};

// The tiles of the lower triangle: all are registered, and this rank has memory for its own.
class Tiles {
 public:
  Tiles(size_t n, size_t tile, consort::Runtime &rt, consort::Job &job)
      : count((n + tile - 1) / tile), grid(job.ranks()), n_(n), tile_(tile), memory_(count * count), all_(count * count) {
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j <= i; ++j) {
        auto &a = all_[i * count + j];
        if (grid.owner(i, j) == job.rank()) a = rt.matrix(fill(i, j), rows(j), rows(i));
        else a = rt.matrix<double>(rows(j), rows(i));
        job.distribute(a, i * count + j, grid.owner(i, j));
      }
  }
  const consort::Data<Matrix<double>> &operator()(size_t i, size_t j) const { return all_[i * count + j]; }
  void unregister() { all_.clear(); }

  // The largest difference from the plain factor, and the number of tiles looked at. Call unregister() before.
  double error(size_t *checked) const {
    const std::vector<double> expected = plain_factor(n_);
    double worst = 0;
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const double *const mine = memory_[i * count + j].get();
        *checked += mine != nullptr;
        for (size_t y = 0; y < rows(i) && mine; ++y)
          for (size_t x = 0; x < rows(j) && (i > j || x <= y); ++x)
            worst = std::max(worst, std::abs(mine[y * rows(j) + x] - expected[(i * tile_ + y) * n_ + j * tile_ + x]));
      }
    return worst;
  }

  const size_t count;
  const Grid grid;

 private:
  size_t rows(size_t i) const { return std::min(tile_, n_ - i * tile_); }
  double *fill(size_t i, size_t j) {
    auto &mine = memory_[i * count + j];
    mine.reset(new double[rows(i) * rows(j)]);
    if (example::is_nothing_computed()) return mine.get();  // address space alone
    for (size_t y = 0; y < rows(i); ++y)
      for (size_t x = 0; x < rows(j); ++x) mine[y * rows(j) + x] = element(i * tile_ + y, j * tile_ + x, n_);
    return mine.get();
  }

  const size_t n_, tile_;
  std::vector<std::unique_ptr<double[]>> memory_;
  std::vector<consort::Data<Matrix<double>>> all_;
};

// Returns the number of tasks of the whole graph; those of this rank are submitted here, the others dropped. The codelets
// are this rank's own: many ranks of one process would search one list.
size_t factorise(consort::Runtime &rt, consort::Job &job, const Tiles &A) {
  const consort::Codelet potrf{"potrf", consort::cpu(potrf_tile)};
  const consort::Codelet trsm{"trsm", consort::cpu(trsm_tile)};
  const consort::Codelet syrk{"syrk", consort::cpu(syrk_tile)};
  const consort::Codelet gemm{"gemm", consort::cpu(gemm_tile)};
  size_t tasks = 0;
  for (size_t k = 0; k < A.count; ++k) {
    job.submit(potrf, readwrite(A(k, k)));
    for (size_t i = k + 1; i < A.count; ++i) job.submit(trsm, read(A(k, k)), readwrite(A(i, k)));
    for (size_t i = k + 1; i < A.count; ++i) {
      job.submit(syrk, read(A(i, k)), readwrite(A(i, i)));
      for (size_t j = k + 1; j < i; ++j) job.submit(gemm, read(A(i, k)), read(A(j, k)), readwrite(A(i, j)));
    }
    const size_t below = A.count - k - 1;
    tasks += 1 + 2 * below + below * (below - (below > 0)) / 2;
  }
  rt.wait_all();
  return tasks;
}

int rank_main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 256, "rows"}, {"tile", 32, "rows of a tile"}});
  const size_t n = size["n"], tile = std::min(size["tile"], n);
  consort::Runtime rt(size.settings());
  consort::Job job(rt);
  Tiles A(n, tile, rt, job);
  const Grid grid = A.grid;
  job.barrier();
  const uint64_t begin = example::now_ns(rt);
  const size_t tasks = factorise(rt, job, A);
  job.barrier();
  const double seconds = static_cast<double>(example::now_ns(rt) - begin) * 1e-9;
  A.unregister();

  if (example::is_nothing_computed()) {
    if (job.rank() == 0)
      std::printf("block_cyclic: %zu x %zu, %zu tasks on %u x %u ranks, %.6f s, %.1f Gflop/s; not computed\n", n, n, tasks, grid.rows,
                  grid.cols, seconds, static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / 3 / seconds * 1e-9);
    return 0;
  }
  size_t checked = 0;
  const double error = A.error(&checked);
  job.barrier();
  const bool right = error < 1e-9 * static_cast<double>(n);
  if (job.rank() > 0 && right) return 0;
  return example::end(right, "block_cyclic: %zu x %zu in %zu tiles on %u x %u ranks, rank %u has %zu, largest error %g", n, n,
                      A.count * (A.count + 1) / 2, grid.rows, grid.cols, job.rank(), checked, error);
} catch (const std::exception &e) {
  return example::failed(e);
}

}  // namespace

int main(int argc, char **argv) { return consort_rank_main(rank_main, argc, argv); }
