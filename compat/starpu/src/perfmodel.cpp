// Models as programs declare them. Consort measures and stores under their symbols.
#include <cstring>

#include "instance.hpp"

struct starpu_perfmodel starpu_perfmodel_nop = {};

void starpu_perfmodel_init(struct starpu_perfmodel *model) { model->is_init = 1; }
int starpu_perfmodel_unload_model(struct starpu_perfmodel *model) {
  model->is_loaded = model->is_init = 0;
  return 0;
}
void starpu_perfmodel_free_sampling(void) {}

struct starpu_perfmodel_arch *starpu_worker_get_perf_archtype(int, unsigned) {
  static starpu_perfmodel_device core{STARPU_CPU_WORKER, 0, 1};
  static starpu_perfmodel_arch arch{1, &core};
  return &arch;
}

char *starpu_perfmodel_get_archtype_name(enum starpu_worker_archtype archtype) {
  static char names[][8] = {"cpu", "cuda", "opencl", "mic", "mpi_ms", "any"};
  switch (archtype) {
    case STARPU_CPU_WORKER: return names[0];
    case STARPU_CUDA_WORKER: return names[1];
    case STARPU_OPENCL_WORKER: return names[2];
    case STARPU_MIC_WORKER: return names[3];
    case STARPU_MPI_MS_WORKER: return names[4];
    default: return names[5];
  }
}
