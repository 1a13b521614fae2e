// Factorisations on StarPU 1.3: the same tiles, kernels, order and priorities as on Consort. Owned by main().
#include "report.hpp"
#include <starpu.h>

namespace {

template <class A, unsigned K> void body(void *buffers[], void *) {
  constexpr const bench::Kernel &kernel = A::kernels[K];
  float *operands[bench::max_operands] = {};
  for (unsigned k = 0; k < kernel.operands; ++k) operands[k] = reinterpret_cast<float *>(STARPU_VECTOR_GET_PTR(buffers[k]));
  if (!bench::run_timed(kernel, operands, bench::tile_size)) std::exit(1);
}

template <class A> std::array<starpu_codelet, std::size(A::kernels)> make_codelets() {
  constexpr starpu_data_access_mode modes[] = {STARPU_R, STARPU_W, STARPU_RW};
  std::array<starpu_codelet, std::size(A::kernels)> made{};
  [&]<size_t... K>(std::index_sequence<K...>) {
    const starpu_cpu_func_t bodies[] = {body<A, K>...};
    for (size_t k = 0; k < made.size(); ++k) {
      const bench::Kernel &kernel = A::kernels[k];
      made[k].cpu_funcs[0] = bodies[k];
      made[k].name = kernel.name;
      made[k].nbuffers = static_cast<int>(kernel.operands);
      for (unsigned u = 0; u < kernel.operands; ++u) made[k].modes[u] = modes[static_cast<int>(kernel.access[u])];
    }
  }(std::make_index_sequence<std::size(A::kernels)>());
  return made;
}

bool start(const bench::Options &o) {
  setenv("STARPU_SILENT", "1", 1);
  setenv("STARPU_HOME", "/tmp/consort-bench-starpu", 0);
  setenv("STARPU_CALIBRATE", "0", 1);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = static_cast<int>(o.workers);
  conf.ncuda = 0;
  conf.nopencl = 0;
  static std::string scheduler;
  scheduler = o.scheduler.empty() ? "lws" : o.scheduler;
  conf.sched_policy_name = scheduler.c_str();
  return starpu_init(&conf) == 0;
}

template <class A> int measure(const bench::Options &o, const A &a) {
  if (!start(o)) return 1;
  auto codelets = make_codelets<A>();
  std::vector<starpu_data_handle_t> handles(a.blocks());
  for (uint32_t b = 0; b < a.blocks(); ++b)
    starpu_vector_data_register(&handles[b], STARPU_MAIN_RAM, reinterpret_cast<uintptr_t>(a.at(b)), static_cast<uint32_t>(a.elements(b)), sizeof(float));
  bench::report("starpu", o, a, [&] {
    a.each_task([&](const bench::Task &task) {
      starpu_task *t = starpu_task_create();
      t->cl = &codelets[task.kernel];
      t->priority = task.priority;
      for (unsigned k = 0; k < A::kernels[task.kernel].operands; ++k) t->handles[k] = handles[task.block[k]];
      if (starpu_task_submit(t) != 0) std::exit(1);
    });
    starpu_task_wait_for_all();
  }, [](bool asleep) { asleep ? starpu_pause() : starpu_resume(); });
  for (auto &handle : handles) starpu_data_unregister(handle);
  starpu_shutdown();
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  return bench::factor_main(argc, argv, [](const auto &o, const auto &a) { return measure(o, a); });
}
