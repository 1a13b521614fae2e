// Tiled Cholesky on StarPU 1.3: the same tiles, kernels, order and priorities as on Consort. Owned by main().
#include "common.hpp"
#include <starpu.h>

namespace {

using bench::Kernel;

int tile_size; // set before the first task; tiles are whole here

float *tile(void *buffer) { return reinterpret_cast<float *>(STARPU_VECTOR_GET_PTR(buffer)); }
void potrf(void *d[], void *) {
  bench::in_kernel([&] { cholesky::potrf(tile(d[0]), tile_size, tile_size); });
}
void trsm(void *d[], void *) {
  bench::in_kernel([&] { cholesky::trsm(tile(d[0]), tile(d[1]), tile_size, tile_size, tile_size); });
}
void syrk(void *d[], void *) {
  bench::in_kernel([&] { cholesky::syrk(tile(d[0]), tile(d[1]), tile_size, tile_size, tile_size); });
}
void gemm(void *d[], void *) {
  bench::in_kernel([&] { cholesky::gemm(tile(d[0]), tile(d[1]), tile(d[2]), tile_size, tile_size, tile_size, tile_size); });
}

starpu_codelet make(starpu_cpu_func_t fn, const char *name, int uses) {
  starpu_codelet c{};
  c.cpu_funcs[0] = fn;
  c.name = name;
  c.nbuffers = uses;
  for (int u = 0; u < uses; ++u) c.modes[u] = u + 1 == uses ? STARPU_RW : STARPU_R;
  return c;
}

} // namespace

int main(int argc, char **argv) {
  const auto o = bench::cholesky_options(argc, argv);
  if (o.n % o.tile != 0) {
    std::fprintf(stderr, "--n must be a multiple of --tile here\n");
    return 2;
  }
  bench::pin(o.workers);
  cholesky::use_one_thread();
  tile_size = o.tile;
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_HOME", "/tmp/consort-bench-starpu", 0);
  setenv("STARPU_CALIBRATE", "0", 1);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = static_cast<int>(o.workers);
  conf.ncuda = 0;
  conf.nopencl = 0;
  const std::string scheduler = o.scheduler.empty() ? "lws" : o.scheduler;
  conf.sched_policy_name = scheduler.c_str();
  if (starpu_init(&conf) != 0) return 1;
  starpu_codelet codelets[] = {make(potrf, "potrf", 1), make(trsm, "trsm", 2), make(syrk, "syrk", 2), make(gemm, "gemm", 3)};

  cholesky::Tiled a(o.n, o.tile);
  if (!a) return 1;
  std::vector<starpu_data_handle_t> handles(a.number_of_tiles());
  const auto h = [&](int i, int j) -> starpu_data_handle_t & { return handles[static_cast<size_t>(i) * (i + 1) / 2 + j]; };
  for (int i = 0; i < a.count(); ++i)
    for (int j = 0; j <= i; ++j)
      starpu_vector_data_register(&h(i, j), STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(a.at(i, j)), a.span(i, j).size(), sizeof(float));

  bench::report_cholesky("starpu", o, a, [&](cholesky::Tiled &) {
    bench::each_kernel(a.count(), [&](Kernel kernel, int i, int j, int k, int priority) {
      starpu_task *t = starpu_task_create();
      t->cl = &codelets[static_cast<int>(kernel)];
      t->priority = priority;
      switch (kernel) {
      case Kernel::potrf: t->handles[0] = h(k, k); break;
      case Kernel::trsm: t->handles[0] = h(k, k), t->handles[1] = h(i, k); break;
      case Kernel::syrk: t->handles[0] = h(i, k), t->handles[1] = h(i, i); break;
      case Kernel::gemm: t->handles[0] = h(i, k), t->handles[1] = h(j, k), t->handles[2] = h(i, j); break;
      }
      if (starpu_task_submit(t) != 0) std::exit(1);
    });
    starpu_task_wait_for_all();
  }, [](bool asleep) { asleep ? starpu_pause() : starpu_resume(); });
  for (auto &handle : handles) starpu_data_unregister(handle);
  starpu_shutdown();
  return 0;
}
