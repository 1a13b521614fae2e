// Factorisations on Consort, by its C API. Owned by main(). examples/cholesky is one of them as a user writes it.
#include "report.hpp"
#include <consort/consort.h>

namespace {

void must(consort_status s, const char *what) {
  if (s >= 0) return;
  std::fprintf(stderr, "%s: %s\n", what, consort_error());
  std::exit(1);
}

consort_status run(const consort_call *c, const bench::Kernel &kernel) {
  float *operands[bench::max_operands] = {};
  for (unsigned k = 0; k < kernel.operands; ++k) {
    const consort_addr at = static_cast<const consort_vector_view *>(c->views[k])->addr;
    operands[k] = reinterpret_cast<float *>(at.base + at.off);
  }
  return bench::run_timed(kernel, operands, bench::tile_size) ? CONSORT_OK : consort_fail(CONSORT_E_INVAL, "the matrix has no such factorisation");
}

template <class A, unsigned K> consort_status body(const consort_call *c) { return run(c, A::kernels[K]); }

template <class A> std::array<consort_codelet_id, std::size(A::kernels)> add_codelets(consort_runtime *rt) {
  std::array<consort_codelet_id, std::size(A::kernels)> ids;
  [&]<size_t... K>(std::index_sequence<K...>) {
    consort_call_fn *const bodies[] = {body<A, K>...};
    for (size_t k = 0; k < ids.size(); ++k) {
      consort_impl impl{};
      impl.klass = "cpu";
      impl.fn = bodies[k];
      consort_codelet desc = CONSORT_CODELET_INIT;
      desc.name = A::kernels[k].name;
      desc.impls = &impl;
      desc.nimpls = 1;
      must(consort_codelet_add(rt, &desc, &ids[k]), "codelet_add");
    }
  }(std::make_index_sequence<std::size(A::kernels)>());
  return ids;
}

consort_runtime *start(const bench::Options &o) {
  const std::string workers = std::to_string(o.workers);
  std::vector<consort_setting> set{{"workers", workers.c_str()}};
  if (!o.scheduler.empty()) set.push_back({"scheduler", o.scheduler.c_str()});
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set.data();
  settings.nset = static_cast<uint32_t>(set.size());
  consort_runtime *rt = nullptr;
  must(consort_start(&settings, &rt), "start");
  return rt;
}

template <class A> int measure(const bench::Options &o, const A &a) {
  constexpr uint32_t modes[] = {CONSORT_M_R, CONSORT_M_W, CONSORT_M_RW};
  consort_runtime *const rt = start(o);
  const auto codelets = add_codelets<A>(rt);
  std::vector<consort_data_id> data(a.blocks());
  for (uint32_t b = 0; b < a.blocks(); ++b) must(consort_register_vector(rt, a.at(b), a.elements(b), sizeof(float), &data[b]), "register");
  bench::report("consort", o, a, [&] {
    a.each_task([&](const bench::Task &task) {
      const bench::Kernel &kernel = A::kernels[task.kernel];
      consort_use use[bench::max_operands];
      for (unsigned k = 0; k < kernel.operands; ++k) use[k] = {data[task.block[k]], modes[static_cast<int>(kernel.access[k])], 0};
      consort_task_desc t{};
      t.size = CONSORT_TASK_BRIEF;
      t.codelet = codelets[task.kernel];
      t.worker = CONSORT_NONE;
      t.uses = use;
      t.nuses = kernel.operands;
      t.priority = task.priority;
      must(consort_submit(rt, &t, nullptr), "submit");
    });
    must(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait_all");
  }, [](bool) {}); // its workers sleep by themselves
  for (consort_data_id id : data) must(consort_unregister(rt, id), "unregister");
  must(consort_stop(rt), "stop");
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  return bench::factor_main(argc, argv, [](const auto &o, const auto &a) { return measure(o, a); });
}
