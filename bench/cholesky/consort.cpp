// Tiled Cholesky on Consort, by its C API. Owned by main(). examples/cholesky is the same thing as a user writes it.
#include "common.hpp"
#include <consort/consort.h>

namespace {

using bench::Kernel;

int tile_size; // set before the first task; tiles are whole here

void must(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

float *tile(const consort_call *c, int k) {
  const consort_addr at = static_cast<const consort_vector_view *>(c->views[k])->addr;
  return reinterpret_cast<float *>(at.base + at.off);
}
consort_status potrf(const consort_call *c) {
  const bool good = bench::in_kernel([&] { return cholesky::potrf(tile(c, 0), tile_size, tile_size); });
  return good ? CONSORT_OK : consort_fail(CONSORT_E_INVAL, "not positive definite");
}
consort_status trsm(const consort_call *c) {
  bench::in_kernel([&] { cholesky::trsm(tile(c, 0), tile(c, 1), tile_size, tile_size, tile_size); });
  return CONSORT_OK;
}
consort_status syrk(const consort_call *c) {
  bench::in_kernel([&] { cholesky::syrk(tile(c, 0), tile(c, 1), tile_size, tile_size, tile_size); });
  return CONSORT_OK;
}
consort_status gemm(const consort_call *c) {
  bench::in_kernel([&] { cholesky::gemm(tile(c, 0), tile(c, 1), tile(c, 2), tile_size, tile_size, tile_size, tile_size); });
  return CONSORT_OK;
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
  const std::string workers = std::to_string(o.workers);
  std::vector<consort_setting> set{{"workers", workers.c_str()}};
  if (!o.scheduler.empty()) set.push_back({"scheduler", o.scheduler.c_str()});
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set.data();
  settings.nset = static_cast<uint32_t>(set.size());
  consort_runtime *rt = nullptr;
  must(consort_start(&settings, &rt), "start");

  struct { const char *name; consort_call_fn *fn; } kernels[] = {{"potrf", potrf}, {"trsm", trsm}, {"syrk", syrk}, {"gemm", gemm}};
  consort_codelet_id codelets[4];
  for (int c = 0; c < 4; ++c) {
    consort_impl impl{};
    impl.klass = "cpu";
    impl.fn = kernels[c].fn;
    consort_codelet desc = CONSORT_CODELET_INIT;
    desc.name = kernels[c].name;
    desc.impls = &impl;
    desc.nimpls = 1;
    must(consort_codelet_add(rt, &desc, &codelets[c]), "codelet_add");
  }

  cholesky::Tiled a(o.n, o.tile);
  if (!a) return 1;
  std::vector<consort_data_id> data(a.number_of_tiles());
  const auto d = [&](int i, int j) -> consort_data_id & { return data[static_cast<size_t>(i) * (i + 1) / 2 + j]; };
  for (int i = 0; i < a.count(); ++i)
    for (int j = 0; j <= i; ++j) must(consort_register_vector(rt, a.at(i, j), a.span(i, j).size(), sizeof(float), &d(i, j)), "register");

  bench::report_cholesky("consort", o, a, [&](cholesky::Tiled &) {
    bench::each_kernel(a.count(), [&](Kernel kernel, int i, int j, int k, int priority) {
      consort_use use[3];
      uint32_t n = 0;
      const auto r = [&](int x, int y) { use[n++] = {d(x, y), CONSORT_M_R, 0}; };
      const auto rw = [&](int x, int y) { use[n++] = {d(x, y), CONSORT_M_RW, 0}; };
      switch (kernel) {
      case Kernel::potrf: rw(k, k); break;
      case Kernel::trsm: r(k, k), rw(i, k); break;
      case Kernel::syrk: r(i, k), rw(i, i); break;
      case Kernel::gemm: r(i, k), r(j, k), rw(i, j); break;
      }
      consort_task_desc t{};
      t.size = CONSORT_TASK_BRIEF;
      t.codelet = codelets[static_cast<int>(kernel)];
      t.worker = CONSORT_NONE;
      t.uses = use;
      t.nuses = n;
      t.priority = priority;
      must(consort_submit(rt, &t, nullptr), "submit");
    });
    must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait_all");
  }, [](bool) {}); // its workers sleep by themselves
  for (consort_data_id id : data) must(consort_unregister(rt, id), "unregister");
  must(consort_stop(rt), "stop");
  return 0;
}
