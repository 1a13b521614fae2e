// The demo: a tiled Cholesky factorisation on all CPUs, and on devices where the settings name a driver of theirs. The
// graph is in factorise(), three loops as in the textbook; the rest makes the matrix, shows progress, and says what it
// cost. Runs on the main thread, kernels on the workers.
#include <consort/consort.hpp>

#include "../clock.hpp"
#include "kernels.hpp"
#include "kernels_cl.hpp"
#include "kernels_gpu.hpp"
#include "progress.hpp"
#include "tiled.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using cholesky::Tiled;
using consort::Matrix, consort::read, consort::readwrite, consort::scratch, consort::write;
using example::Cuda, example::Hip;

int rows(const auto &m) { return static_cast<int>(m.nx()); }
int cols(const auto &m) { return static_cast<int>(m.ny()); }
int ld(const auto &m) { return static_cast<int>(m.ld()); }

// All implementations of a codelet have one signature: those for GPUs need the call, to find their worker's handle.
const consort::Codelet potrf{"potrf", consort::cpu([](Matrix<float> a) {
  if (!cholesky::potrf(a.data(), rows(a), ld(a))) throw std::domain_error("the matrix is not positive definite");
}), cholesky::cl::potrf()};
const consort::Codelet potrf_on_gpus{"potrf", consort::cpu([](const consort_call &, Matrix<float> a, std::span<float>) {
  if (!cholesky::potrf(a.data(), rows(a), ld(a))) throw std::domain_error("the matrix is not positive definite");
}), consort::cuda(cholesky::gpu::potrf), consort::async};
const consort::Codelet trsm{"trsm", consort::cpu([](const consort_call &, Matrix<const float> l, Matrix<float> b) {
  cholesky::trsm(l.data(), ld(l), b.data(), ld(b), rows(b), cols(b));
}), cholesky::cl::trsm(), consort::cuda(cholesky::gpu::trsm<Cuda>), consort::impl("hip", cholesky::gpu::trsm<Hip>), consort::async};
const consort::Codelet syrk{"syrk", consort::cpu([](const consort_call &, Matrix<const float> a, Matrix<float> c) {
  cholesky::syrk(a.data(), ld(a), c.data(), ld(c), rows(c), cols(a));
}), cholesky::cl::syrk(), consort::cuda(cholesky::gpu::syrk<Cuda>), consort::impl("hip", cholesky::gpu::syrk<Hip>), consort::async};
const consort::Codelet gemm{"gemm", consort::cpu([](const consort_call &, Matrix<const float> a, Matrix<const float> b, Matrix<float> c) {
  cholesky::gemm(a.data(), ld(a), b.data(), ld(b), c.data(), ld(c), rows(c), cols(c), cols(a));
}), cholesky::cl::gemm(), consort::cuda(cholesky::gpu::gemm<Cuda>), consort::impl("hip", cholesky::gpu::gemm<Hip>), consort::async};
const consort::Codelet fill{"fill", consort::cpu([](Matrix<float> a, int64_t row, int64_t col, int n) {
  Tiled::fill(a.data(), rows(a), cols(a), ld(a), row, col, n);
}), cholesky::cl::fill()};

// The tiles as the runtime knows them: the lower half.
class Tiles {
public:
  Tiles(consort::Runtime &rt, const Tiled &m) : count_(m.count()) {
    for (int i = 0; i < count_; ++i)
      for (int j = 0; j <= i; ++j)
        tiles_.push_back(rt.matrix(m.at(i, j), static_cast<size_t>(m.size(i)), static_cast<size_t>(m.size(j)), static_cast<size_t>(m.tile())));
  }
  int count() const { return count_; }
  void bring_home() const { // from whichever memory they were last written in
    for (const auto &tile : tiles_) (void)tile.read();
  }
  const consort::Data<Matrix<float>> &operator()(int i, int j) const { return tiles_[static_cast<size_t>(i) * (i + 1) / 2 + j]; }

private:
  int count_;
  std::vector<consort::Data<Matrix<float>>> tiles_;
};

// The more tasks still hang on a task, one after the other, the more urgent it is. work: for potrf on GPUs, if they have it.
void factorise(consort::Runtime &rt, const Tiles &A, const consort::Data<std::span<float>> *work) {
  const int n = A.count();
  for (int k = 0; k < n; ++k) {
    if (work)
      rt.submit({.priority = 3 * (n - k)}, potrf_on_gpus, readwrite(A(k, k)), scratch(*work));
    else
      rt.submit({.priority = 3 * (n - k)}, potrf, readwrite(A(k, k)));
    for (int i = k + 1; i < n; ++i) rt.submit({.priority = 3 * n - i - 2 * k}, trsm, read(A(k, k)), readwrite(A(i, k)));
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j < i; ++j)
        rt.submit({.priority = 3 * n - i - j - k}, gemm, read(A(i, k)), read(A(j, k)), readwrite(A(i, j)));
      rt.submit({.priority = 3 * n - 2 * i - k}, syrk, read(A(i, k)), readwrite(A(i, i)));
    }
  }
}

struct Options {
  int n = 8192, tile = 256;
  bool bar = true;
  consort::Settings settings;
};

[[noreturn]] void usage(int code) {
  std::fprintf(code ? stderr : stdout,
               "usage: cholesky [--n N] [--tile T] [--workers W] [--scheduler S] [--no-bar]\n"
               "  factorises an N x N matrix (8192) in tiles of T x T (256) with W workers (one per core)\n");
  std::exit(code);
}

Options parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (key == "--help" || key == "-h") usage(0);
    if (key == "--no-bar") {
      o.bar = false;
      continue;
    }
    if (++i == argc) usage(2);
    char *end = nullptr;
    const long number = std::strtol(argv[i], &end, 10);
    const bool good = *argv[i] != '\0' && *end == '\0' && number > 0 && number <= 1 << 20;
    if (key == "--n" && good) o.n = static_cast<int>(number);
    else if (key == "--tile" && good) o.tile = static_cast<int>(number);
    else if (key == "--workers" && good) o.settings.set("workers", number);
    else if (key == "--scheduler") o.settings.set("scheduler", argv[i]);
    else usage(2);
  }
  if (o.tile > o.n) o.tile = o.n;
  return o;
}

struct Load {
  std::string name;
  uint64_t tasks, busy_ns;
};
std::vector<Load> loads(const consort::Runtime &rt) {
  std::vector<Load> out;
  for (uint32_t k = 0; k < rt.info().nworkers; ++k) {
    const consort_worker_info i = rt.worker(k);
    out.push_back({i.name, i.tasks, i.busy_ns});
  }
  return out;
}

void run(const Options &o) {
  Tiled matrix(o.n, o.tile);
  if (!matrix) throw std::bad_alloc();
  cholesky::use_one_thread();
  consort::Settings settings = o.settings;
  consort::Runtime rt(settings.set("profile", true)); // two looks at the clock per task, for the shares below
  example::start_gpu_blas(rt);
  const int room = cholesky::gpu::room_for_potrf(rt, o.tile);
  const auto work = rt.vector<float>(static_cast<size_t>(room) + 1);
  constexpr float kUntouched = -1;  // no element of the diagonal, before or after: seen again if no kernel was run
  matrix.at(0, 0)[0] = kUntouched;
  const Tiles A(rt, matrix);
  std::printf("Cholesky, single precision: %d x %d in tiles of %d, %u workers, scheduler %s\n", o.n, o.n, o.tile, rt.info().nworkers,
              rt.info().scheduler);

  for (int i = 0; i < A.count(); ++i)
    for (int j = 0; j <= i; ++j) rt.submit(fill, write(A(i, j)), int64_t{i} * o.tile, int64_t{j} * o.tile, o.n);
  rt.wait();

  const uint64_t count = A.count(), tasks = count * (count + 1) * (count + 2) / 6, before = rt.info().finished;
  const std::vector<Load> start = loads(rt);
  ProgressBar bar(o.bar, tasks, [&] { return rt.info().finished - before; });
  const uint64_t t0 = example::now_ns(rt);
  factorise(rt, A, room ? &work : nullptr);
  rt.wait();
  const auto ns = static_cast<double>(example::now_ns(rt) - t0);
  bar.finish();
  A.bring_home();

  const std::vector<Load> end = loads(rt);
  double busy = 0;
  std::string shares;
  for (size_t k = 0; k < end.size(); ++k) {
    const double mine = static_cast<double>(end[k].busy_ns - start[k].busy_ns), done = static_cast<double>(end[k].tasks - start[k].tasks);
    char line[160];
    std::snprintf(line, sizeof line, "  %-14.14s  %5.1f %% of the tasks, %5.1f %% of the time in kernels\n", end[k].name.c_str(),
                  100 * done / static_cast<double>(tasks), 100 * mine / ns);
    busy += mine;
    shares += line;
  }
  const char *const clock = example::is_simulated(rt) ? " of the simulated machine" : "";
  char residual[100] = "not computed: no kernel was run, each only took its time (consort sim --execute runs them)";
  if (matrix.at(0, 0)[0] != kUntouched) std::snprintf(residual, sizeof residual, "%.2g  (|A - L Lt| / |A|)", matrix.residual());
  std::printf("  time            %.3f s%s\n"
              "  speed           %.1f GFlop/s%s\n"
              "  residual        %s\n"
              "  tasks           %llu\n%s"
              "  runtime's cost  %.2f %%  (what the workers did not spend in kernels, idle time included)\n",
              ns / 1e9, clock, matrix.flops() / ns, clock, residual, static_cast<unsigned long long>(tasks), shares.c_str(),
              100 * (1 - busy / (ns * static_cast<double>(end.size()))));
}

} // namespace

int main(int argc, char **argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception &e) { // consort::Error names the task, its worker and its data
    std::fprintf(stderr, "cholesky: %s\n", e.what());
    return 1;
  }
  return 0;
}
