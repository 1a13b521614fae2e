// What the programs of this folder share: options, the application by its name, the time of the kernels, and the line
// of JSON. Owned by main(), on the main thread.
#pragma once
#include "../micro/process.hpp"
#include "cholesky.hpp"
#include "lu.hpp"
#include "qr.hpp"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <type_traits>

namespace bench {

struct Options {
  std::string app = "cholesky";
  int n = 4096, tile = 256;
  unsigned workers = 2, reps = 3;
  std::string scheduler;
};

inline Options options(int argc, char **argv) {
  Options o;
  bool good = true;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    const char *const value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--app") o.app = value;
    else if (key == "--n") o.n = std::atoi(value);
    else if (key == "--tile") o.tile = std::atoi(value);
    else if (key == "--workers") o.workers = static_cast<unsigned>(std::atoi(value));
    else if (key == "--reps") o.reps = static_cast<unsigned>(std::atoi(value));
    else if (key == "--scheduler") o.scheduler = value;
    else good = false;
  }
  if (!good || o.n < 1 || o.tile < 1 || o.workers < 1 || o.reps < 1 || o.n % o.tile != 0 || (o.app != "cholesky" && o.app != "lu" && o.app != "qr")) {
    std::fprintf(stderr, "usage: %s [--app cholesky|lu|qr] [--n N, a multiple of T] [--tile T] [--workers W] [--reps R] [--scheduler S]\n", argv[0]);
    std::exit(2);
  }
  return o;
}

// Calls run(application) with the one of that name, of tiles of that size.
template <class F> int with_application(const Options &o, int tile, F run) {
  const auto made = [&](auto &&a) {
    if (!a) return std::fprintf(stderr, "no memory for the matrix\n"), 1;
    return run(a);
  };
  if (o.app == "lu") return made(Lu(o.n, tile));
  if (o.app == "qr") return made(Qr(o.n, tile));
  return made(Cholesky(o.n, tile));
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

inline bool run_timed(const Kernel &kernel, float *const *operands, int tile) {
  if (my_kernel_time == nullptr) my_kernel_time = &kernel_times[kernel_threads.fetch_add(1, std::memory_order_relaxed) % 64];
  const uint64_t t0 = ticks();
  const bool good = kernel.run(operands, tile);
  my_kernel_time->spent += ticks() - t0;
  return good;
}

template <class A> void run_here(const A &a, int tile) {
  a.each_task([&](const Task &t) {
    const Kernel &kernel = A::kernels[t.kernel];
    float *operands[max_operands] = {};
    for (unsigned k = 0; k < kernel.operands; ++k) operands[k] = a.at(t.block[k]);
    if (!kernel.run(operands, tile)) {
      std::fprintf(stderr, "%s found no factorisation\n", kernel.name);
      std::exit(1);
    }
  });
}

// factorise() submits everything and returns when it is done. What the runtime loses is the part of the wall time
// that the same kernels, one after the other on one thread and shared out evenly, would not have taken. Both are timed
// in turns, and the least of each is compared: noise only ever adds. rest(true) sends the runtime's workers to sleep,
// where they would spin on the core that times the kernels alone; rest(false) wakes them. Beside it: the part of the
// workers' time that was not spent in kernels, by the clock inside the tasks. Kernels run slower where both cores
// share memory and heat, so that the first figure holds the machine's part too, and the second the runtime's alone.
template <class A, class F, class R> void report(const char *runtime, const Options &o, const A &a, F factorise, R rest) {
  double kernels = 1e300, least = 1e300, outside = 0;
  std::vector<double> wall;
  for (unsigned r = 0; r <= o.reps; ++r) {
    rest(true);
    a.fill();
    double t0 = now_ns();
    run_here(a, o.tile);
    const double alone = now_ns() - t0;
    a.fill();
    rest(false);
    for (auto &k : kernel_times) k.spent = 0;
    const uint64_t begin = ticks();
    t0 = now_ns();
    factorise();
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
  std::printf("{\"runtime\": \"%s\", \"app\": \"%s\", \"workers\": %u, \"n\": %d, \"tile\": %d, \"gflops\": %.2f, \"gflops_best\": %.2f, "
              "\"kernels_alone_gflops\": %.2f, \"loss_percent\": %.2f, \"outside_percent\": %.2f, \"residual\": %.3g}\n",
              runtime, o.app.c_str(), o.workers, o.n, o.tile, a.flops() / median(wall), a.flops() / least, a.flops() / kernels,
              100 * (1 - kernels / o.workers / least), outside, a.residual());
}

inline int tile_size; // of the kernels that run; set before the first task

// main() of a runtime's program: measure(options, application) starts the runtime, reports, and stops it.
template <class F> int factor_main(int argc, char **argv, F measure) {
  const Options o = options(argc, argv);
  pin(o.workers);
  cholesky::use_one_thread();
  tile_size = o.tile;
  return with_application(o, o.tile, [&](const auto &a) { return measure(o, a); });
}

} // namespace bench
