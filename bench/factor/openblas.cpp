// A factorisation by OpenBLAS with its own threads, of the whole matrix as one tile. Owned by main().
#include "report.hpp"

int main(int argc, char **argv) {
  const auto o = bench::options(argc, argv);
  bench::pin(o.workers);
  cholesky::use_threads(static_cast<int>(o.workers));
  return bench::with_application(o, o.n, [&](const auto &a) {
    std::vector<double> wall;
    for (unsigned r = 0; r <= o.reps; ++r) {
      a.fill();
      const double t0 = bench::now_ns();
      if (!a.factorise_whole()) return 1;
      if (r != 0) wall.push_back(bench::now_ns() - t0);
    }
    std::printf("{\"runtime\": \"openblas\", \"app\": \"%s\", \"workers\": %u, \"n\": %d, \"gflops\": %.2f, \"gflops_best\": %.2f, \"residual\": %.3g}\n",
                o.app.c_str(), o.workers, o.n, a.flops() / bench::median(wall), a.flops() / *std::min_element(wall.begin(), wall.end()), a.residual());
    return 0;
  });
}
