// A tiled Cholesky in double precision on cores and GPU, from the host's memory and back to it, against cuSOLVER's potrf of the
// whole matrix with the two copies that it needs.
#include "cases.hpp"

#include <cblas.h>
#include <consort/libraries.h>
#include <dlfcn.h>

#include <cmath>

extern "C" {
void openblas_set_num_threads(int n);
void dpotrf_(const char *half, const int *n, double *a, const int *ld, int *info);
}

namespace bench::gpu {
namespace {

struct Tile { double *at; int n, ld; };
Tile tile(const consort_call *c, uint32_t k) {
  const auto *v = static_cast<const consort_matrix_view *>(c->views[k]);
  return {reinterpret_cast<double *>(v->addr.base + v->addr.off), static_cast<int>(v->nx), static_cast<int>(v->ld)};
}
constexpr double kOne = 1, kMinusOne = -1;
constexpr int kLower = 0, kRight = 1, kNone = 0, kTransposed = 1, kNonUnit = 0;  // cuBLAS'

template <class... A>
consort_status enqueue(const consort_call *c, const char *library, const char *name, A... a) {
  void *handle = nullptr, *function = nullptr;
  consort_status s = consort_library_handle(c, library, &handle);
  if (s >= 0) s = consort_library_symbol(c, library, name, &function);
  if (s < 0) return s;
  return consort_library_check(c, library, name, reinterpret_cast<int (*)(void *, A...)>(function)(handle, a...));
}

consort_status potrf_cpu(const consort_call *c) {
  const Tile a = tile(c, 0);
  int info = 0;
  dpotrf_("L", &a.n, a.at, &a.ld, &info);
  return info ? consort_fail(CONSORT_E_INVAL, "the matrix is not positive definite") : consort_status{CONSORT_OK};
}
// views[1]: what cuSOLVER works in, and behind it what it has to say.
consort_status potrf_gpu(const consort_call *c) {
  const Tile a = tile(c, 0);
  const auto *w = static_cast<const consort_vector_view *>(c->views[1]);
  auto *work = reinterpret_cast<double *>(w->addr.base + w->addr.off);
  const int room = static_cast<int>(w->n) - 1;
  return enqueue(c, "cusolver", "cusolverDnDpotrf", kLower, a.n, a.at, a.ld, work, room, reinterpret_cast<int *>(work + room));
}
consort_status trsm_cpu(const consort_call *c) {
  const Tile l = tile(c, 0), b = tile(c, 1);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b.n, l.n, 1, l.at, l.ld, b.at, b.ld);
  return CONSORT_OK;
}
consort_status trsm_gpu(const consort_call *c) {
  const Tile l = tile(c, 0), b = tile(c, 1);
  return enqueue(c, "cublas", "cublasDtrsm_v2", kRight, kLower, kTransposed, kNonUnit, b.n, l.n, &kOne, static_cast<const double *>(l.at), l.ld, b.at, b.ld);
}
consort_status syrk_cpu(const consort_call *c) {
  const Tile a = tile(c, 0), s = tile(c, 1);
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, s.n, a.n, -1, a.at, a.ld, 1, s.at, s.ld);
  return CONSORT_OK;
}
consort_status syrk_gpu(const consort_call *c) {
  const Tile a = tile(c, 0), s = tile(c, 1);
  return enqueue(c, "cublas", "cublasDsyrk_v2", kLower, kNone, s.n, a.n, &kMinusOne, static_cast<const double *>(a.at), a.ld, &kOne, s.at, s.ld);
}
consort_status gemm_cpu(const consort_call *c) {
  const Tile a = tile(c, 0), b = tile(c, 1), s = tile(c, 2);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, s.n, s.n, a.n, -1, a.at, a.ld, b.at, b.ld, 1, s.at, s.ld);
  return CONSORT_OK;
}
consort_status gemm_gpu(const consort_call *c) {
  const Tile a = tile(c, 0), b = tile(c, 1), s = tile(c, 2);
  return enqueue(c, "cublas", "cublasDgemm_v2", kNone, kTransposed, s.n, s.n, a.n, &kMinusOne, static_cast<const double *>(a.at), a.ld,
                 static_cast<const double *>(b.at), b.ld, &kOne, s.at, s.ld);
}

consort_codelet_id both(const Machine &m, const char *name, consort_call_fn *cpu, consort_call_fn *gpu) {
  const consort_impl impls[] = {{"cpu", cpu, nullptr, nullptr, nullptr, nullptr, nullptr, 0}, {"cuda", gpu, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = name;
  d.impls = impls;
  d.nimpls = 2;
  d.flags = CONSORT_CL_ASYNC;
  consort_codelet_id id{0};
  must(consort_codelet_add(m, &d, &id), "codelet");
  return id;
}

// cuSOLVER by hand, on the peer's stream.
class Solver {
 public:
  Solver(Peer &peer, const std::string &library) : peer_(peer) {
    for (const char *name : {library.c_str(), "libcusolver.so.12", "libcusolver.so.11", "libcusolver.so", "/usr/local/cuda/lib64/libcusolver.so"})
      if (*name && !library_) library_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library_ || !dlsym(library_, "cusolverDnDpotrf")) return;
    check(get<int(void **)>("cusolverDnCreate")(&handle_), "cusolverDnCreate");
    check(get<int(void *, void *)>("cusolverDnSetStream")(handle_, peer.stream()), "cusolverDnSetStream");
  }
  Solver(const Solver &) = delete;
  ~Solver() {
    if (handle_) check(get<int(void *)>("cusolverDnDestroy")(handle_), "cusolverDnDestroy");
  }
  explicit operator bool() const { return handle_; }
  int room(int n) const {
    int room = 0;
    check(get<int(void *, int, int, double *, int, int *)>("cusolverDnDpotrf_bufferSize")(handle_, kLower, n, nullptr, n, &room), "potrf_bufferSize");
    return room;
  }
  // ns, from the host's memory and back.
  double factorise(double *a, int n) {
    const size_t bytes = sizeof(double) * static_cast<size_t>(n) * static_cast<size_t>(n);
    const int r = room(n);
    const uint64_t there = peer_.alloc(bytes), work = peer_.alloc(sizeof(double) * static_cast<size_t>(r)), info = peer_.alloc(sizeof(int));
    const double start = now_ns();
    peer_.in(there, a, bytes);
    check(get<int(void *, int, int, double *, int, double *, int, int *)>("cusolverDnDpotrf")(
              handle_, kLower, n, reinterpret_cast<double *>(there), n, reinterpret_cast<double *>(work), r, reinterpret_cast<int *>(info)), "potrf");
    peer_.out(a, there, bytes);
    peer_.wait();
    const double took = now_ns() - start;
    for (const uint64_t at : {there, work, info}) peer_.free(at);
    return took;
  }

 private:
  template <class F>
  F *get(const char *name) const { return reinterpret_cast<F *>(dlsym(library_, name)); }
  static void check(int status, const char *what) {
    if (status) std::fprintf(stderr, "gpu: %s answers %d\n", what, status), std::exit(1);
  }
  Peer &peer_;
  void *library_ = nullptr, *handle_ = nullptr;
};

void fill(double *a, int n) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) a[static_cast<size_t>(j) * static_cast<size_t>(n) + static_cast<size_t>(i)] = ((i + j) % 17) / 17.0 + (i == j ? n : 0);
}

}  // namespace

void cholesky(const Device &device) {
  const Options &o = device.options;
  if (device.driver != "cuda") return std::fprintf(stderr, "cholesky is left out: what it is compared with is cuSOLVER\n"), void();
  Solver solver(*device.peer, device.peer->is_double() ? device.library : "");
  if (!solver) return std::fprintf(stderr, "cholesky is left out: there is no cuSOLVER\n"), void();
  const int n = o.smoke ? 96 : 32'768, size = o.smoke ? 32 : 2048, count = n / size, reps = o.reps;
  openblas_set_num_threads(1);
  Machine::Settings settings = device.machine();
  std::erase_if(settings, [](const auto &s) { return s.first == "workers"; });  // as many as there are
  if (device.peer->is_double())
    for (const char *name : {"cublas", "cusolver"}) settings.push_back({device.driver + "." + name, device.library});
  const Machine m(settings);
  void *memory = nullptr;
  if (consort_malloc(m, sizeof(double) * static_cast<uint64_t>(n) * static_cast<uint64_t>(n), CONSORT_MALLOC_PINNED, &memory) < 0)
    return std::fprintf(stderr, "cholesky is left out: %s\n", consort_error()), void();
  auto *a = static_cast<double *>(memory);
  const auto potrf = both(m, "potrf", potrf_cpu, potrf_gpu), trsm = both(m, "trsm", trsm_cpu, trsm_gpu), syrk = both(m, "syrk", syrk_cpu, syrk_gpu),
             gemm = both(m, "gemm", gemm_cpu, gemm_gpu);
  for (const char *name : {"cublas", "cusolver"}) must(consort_library_start(m, "cuda", name), name);
  consort_data_id work{0};
  must(consort_register_vector(m, nullptr, static_cast<uint64_t>(solver.room(size)) + 1, sizeof(double), &work), "register");
  const auto by_tasks = [&] {
    std::vector<consort_data_id> tiles(static_cast<size_t>(count) * static_cast<size_t>(count));
    const auto at = [&](int i, int j) -> consort_data_id & { return tiles[static_cast<size_t>(j * count + i)]; };
    const double start = now_ns();
    for (int j = 0; j < count; ++j)
      for (int i = j; i < count; ++i)
        must(consort_register_matrix(m, a + (static_cast<size_t>(j) * static_cast<size_t>(n) + static_cast<size_t>(i)) * static_cast<size_t>(size),
                                     static_cast<uint64_t>(size), static_cast<uint64_t>(size), static_cast<uint64_t>(n), sizeof(double), &at(i, j)), "register");
    for (int k = 0; k < count; ++k) {
      m.submit(potrf, {{at(k, k), CONSORT_M_RW, 0}, {work, CONSORT_M_SCRATCH, 0}}, 3 * (count - k));
      for (int i = k + 1; i < count; ++i) m.submit(trsm, {{at(k, k), CONSORT_M_R, 0}, {at(i, k), CONSORT_M_RW, 0}}, 3 * count - i - 2 * k);
      for (int i = k + 1; i < count; ++i) {
        for (int j = k + 1; j < i; ++j)
          m.submit(gemm, {{at(i, k), CONSORT_M_R, 0}, {at(j, k), CONSORT_M_R, 0}, {at(i, j), CONSORT_M_RW, 0}}, 3 * count - i - j - k);
        m.submit(syrk, {{at(i, k), CONSORT_M_R, 0}, {at(i, i), CONSORT_M_RW, 0}}, 3 * count - 2 * i - k);
      }
    }
    m.wait();
    for (int j = 0; j < count; ++j)
      for (int i = j; i < count; ++i) must(consort_unregister(m, at(i, j)), "unregister");  // it comes home
    return now_ns() - start;
  };
  const double flops = 1.0 / 3 * n * n * n;
  std::vector<Pair> pairs;
  for (int r = -1; r < reps; ++r) {  // the first teaches the models
    fill(a, n);
    const double tasks = flops / by_tasks();
    std::vector<double> some;
    const auto sample = [&](int k) {
      const int j = k * 7 % n, i = j + (n - 1 - j) * (k % 5) / 5;
      return a[static_cast<size_t>(j) * static_cast<size_t>(n) + static_cast<size_t>(i)];
    };
    for (int k = 0; k < 500; ++k) some.push_back(sample(k));
    fill(a, n);
    const double by_hand = flops / solver.factorise(a, n);
    for (int k = 0; k < 500; ++k)
      if (const double want = sample(k), got = some[static_cast<size_t>(k)]; !(std::fabs(got - want) <= 1e-9 * (1 + std::fabs(want))))
        std::fprintf(stderr, "cholesky: sample %d is %g, and cuSOLVER's %g\n", k, got, want), std::exit(1);
    if (r >= 0) pairs.push_back({tasks, by_hand});
  }
  const Pair middle = middle_of(pairs);
  row("Cholesky in double precision, n = " + std::to_string(n) + ", cores and GPU", middle.kernel, "GFlop/s", middle.raw, ">= 1.0");
  must(consort_unregister(m, work), "unregister");
  must(consort_free(m, memory), "free");
}

}  // namespace bench::gpu
