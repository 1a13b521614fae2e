// The factorisation by OpenBLAS with its own threads, of the whole matrix as one tile. Owned by main().
#include "common.hpp"

int main(int argc, char **argv) {
  auto o = bench::cholesky_options(argc, argv);
  bench::pin(o.workers);
  cholesky::use_threads(static_cast<int>(o.workers));
  cholesky::Tiled a(o.n, o.n);
  if (!a) return 1;
  std::vector<double> wall;
  for (unsigned r = 0; r <= o.reps; ++r) {
    a.fill();
    const double t0 = bench::now_ns();
    if (!cholesky::potrf(a.at(0, 0), o.n, o.n)) return 1;
    if (r != 0) wall.push_back(bench::now_ns() - t0);
  }
  std::printf("{\"runtime\": \"openblas\", \"workers\": %u, \"n\": %d, \"gflops\": %.2f, \"gflops_best\": %.2f, \"residual\": %.3g}\n", o.workers,
              o.n, a.flops() / bench::median(wall), a.flops() / *std::min_element(wall.begin(), wall.end()), a.residual());
  return 0;
}
