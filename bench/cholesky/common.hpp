// What the Cholesky benchmarks share: the graph, the same for every runtime, the kernels one after the other without a
// runtime, and the line of JSON. Owned by main(), on the main thread.
#pragma once
#include "../micro/harness.hpp"
#include "kernels.hpp"
#include "tiled.hpp"

namespace bench {

struct CholeskyOptions {
  int n = 4096, tile = 256;
  unsigned workers = 2, reps = 3;
  std::string scheduler;
};

inline CholeskyOptions cholesky_options(int argc, char **argv) {
  CholeskyOptions o;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    const char *const value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--n") o.n = std::atoi(value);
    else if (key == "--tile") o.tile = std::atoi(value);
    else if (key == "--workers") o.workers = static_cast<unsigned>(std::atoi(value));
    else if (key == "--reps") o.reps = static_cast<unsigned>(std::atoi(value));
    else if (key == "--scheduler") o.scheduler = value;
    else o.n = 0;
  }
  if (o.n < 1 || o.tile < 1 || o.workers < 1 || o.reps < 1) {
    std::fprintf(stderr, "usage: %s [--n N] [--tile T] [--workers W] [--reps R] [--scheduler S]\n", argv[0]);
    std::exit(2);
  }
  return o;
}

enum class Kernel { potrf, trsm, syrk, gemm };

// Calls task(kernel, i, j, k, priority) in the order of the loops. The priority is the length of the longest path from
// the task to the end of the graph.
template <class F> void each_kernel(int count, F task) {
  const auto priority = [&](int i, int j, int k) { return 3 * count - (i + j + k); };
  for (int k = 0; k < count; ++k) {
    task(Kernel::potrf, k, k, k, priority(k, k, k));
    for (int i = k + 1; i < count; ++i) task(Kernel::trsm, i, k, k, priority(i, k, k));
    for (int i = k + 1; i < count; ++i) {
      for (int j = k + 1; j < i; ++j) task(Kernel::gemm, i, j, k, priority(i, j, k));
      task(Kernel::syrk, i, i, k, priority(i, i, k));
    }
  }
}

inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc(); // a third of a clock call: tiles of 64 take 6 us
#else
  return static_cast<uint64_t>(now_ns());
#endif
}

// Ticks that tasks spent in kernels; a slot for each thread, summed when nothing runs.
struct alignas(64) KernelTime {
  uint64_t spent = 0;
};
inline KernelTime kernel_times[64];
inline std::atomic<unsigned> kernel_threads{0}; // gives out the slots; relaxed, it orders nothing
inline thread_local KernelTime *my_kernel_time = nullptr;

template <class F> inline auto in_kernel(F kernel) {
  if (my_kernel_time == nullptr) my_kernel_time = &kernel_times[kernel_threads.fetch_add(1, std::memory_order_relaxed) % 64];
  const uint64_t t0 = ticks();
  if constexpr (std::is_void_v<decltype(kernel())>) {
    kernel();
    my_kernel_time->spent += ticks() - t0;
  } else {
    const auto answer = kernel();
    my_kernel_time->spent += ticks() - t0;
    return answer;
  }
}

inline void run_kernel(const cholesky::Tiled &a, Kernel kernel, int i, int j, int k) {
  switch (kernel) {
  case Kernel::potrf: cholesky::potrf(a.at(k, k), a.size(k), a.tile()); break;
  case Kernel::trsm: cholesky::trsm(a.at(k, k), a.at(i, k), a.size(i), a.size(k), a.tile()); break;
  case Kernel::syrk: cholesky::syrk(a.at(i, k), a.at(i, i), a.size(i), a.size(k), a.tile()); break;
  case Kernel::gemm: cholesky::gemm(a.at(i, k), a.at(j, k), a.at(i, j), a.size(i), a.size(j), a.size(k), a.tile()); break;
  }
}

// factorise(a) submits everything and returns when it is done. What the runtime loses is the part of the wall time
// that the same kernels, one after the other on one thread and shared out evenly, would not have taken. Both are timed
// in turns, and the least of each is compared: noise only ever adds. rest(true) sends the runtime's workers to sleep,
// where they would spin on the core that times the kernels alone; rest(false) wakes them. Beside it: the part of the
// workers' time that was not spent in kernels, by the clock inside the tasks. Kernels run slower where both cores
// share memory and heat, so that the first figure holds the machine's part too, and the second the runtime's alone.
template <class F, class R>
void report_cholesky(const char *runtime, const CholeskyOptions &o, cholesky::Tiled &a, F factorise, R rest) {
  double kernels = 1e300, least = 1e300, outside = 0;
  std::vector<double> wall;
  for (unsigned r = 0; r <= o.reps; ++r) {
    rest(true);
    a.fill();
    double t0 = now_ns();
    each_kernel(a.count(), [&](Kernel kernel, int i, int j, int k, int) { run_kernel(a, kernel, i, j, k); });
    const double alone = now_ns() - t0;
    a.fill();
    rest(false);
    for (auto &k : kernel_times) k.spent = 0;
    const uint64_t begin = ticks();
    t0 = now_ns();
    factorise(a);
    const double together = now_ns() - t0;
    const auto all = static_cast<double>(ticks() - begin) * o.workers;
    double inside = 0;
    for (const auto &k : kernel_times) inside += static_cast<double>(k.spent);
    if (r == 0) continue; // warm-up
    kernels = std::min(kernels, alone);
    if (together < least) outside = 100 * (1 - inside / all);
    least = std::min(least, together);
    wall.push_back(together);
  }
  std::printf("{\"runtime\": \"%s\", \"workers\": %u, \"n\": %d, \"tile\": %d, \"gflops\": %.2f, \"gflops_best\": %.2f, "
              "\"kernels_alone_gflops\": %.2f, \"loss_percent\": %.2f, \"outside_percent\": %.2f, \"residual\": %.3g}\n",
              runtime, o.workers, a.n(), a.tile(), a.flops() / median(wall), a.flops() / least, a.flops() / kernels,
              100 * (1 - kernels / o.workers / least), outside, a.residual());
}

} // namespace bench
