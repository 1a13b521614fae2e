/* starpu_perfmodel.h: models of the time and energy of codelets. */
#ifndef CONSORT_STARPU_PERFMODEL_H
#define CONSORT_STARPU_PERFMODEL_H
#include <stdio.h>

#include <starpu_task.h>
#include <starpu_worker.h>
#ifdef __cplusplus
extern "C" {
#endif

#define STARPU_NARCH STARPU_ANY_WORKER
struct starpu_perfmodel_device {
  enum starpu_worker_archtype type;
  int devid;
  int ncores;
};
struct starpu_perfmodel_arch {
  int ndevices;
  struct starpu_perfmodel_device *devices;
};
enum starpu_perfmodel_type {
  STARPU_PERFMODEL_INVALID = 0,
  STARPU_PER_ARCH,
  STARPU_COMMON,
  STARPU_HISTORY_BASED,
  STARPU_REGRESSION_BASED,
  STARPU_NL_REGRESSION_BASED,
  STARPU_MULTIPLE_REGRESSION_BASED
};
typedef struct _starpu_perfmodel_state *starpu_perfmodel_state_t;
struct starpu_perfmodel {
  enum starpu_perfmodel_type type;
  double (*cost_function)(struct starpu_task *, unsigned nimpl);
  double (*arch_cost_function)(struct starpu_task *, struct starpu_perfmodel_arch *arch, unsigned nimpl);
  size_t (*size_base)(struct starpu_task *, unsigned nimpl);
  uint32_t (*footprint)(struct starpu_task *);
  const char *symbol;
  unsigned is_loaded;
  unsigned benchmarking;
  unsigned is_init;
  void (*parameters)(struct starpu_task *task, double *parameters);
  const char **parameters_names;
  unsigned nparameters;
  unsigned **combinations;
  unsigned ncombinations;
  starpu_perfmodel_state_t state;
};
extern struct starpu_perfmodel starpu_perfmodel_nop;
void starpu_perfmodel_init(struct starpu_perfmodel *model);
struct starpu_perfmodel_arch *starpu_worker_get_perf_archtype(int workerid, unsigned sched_ctx_id);
char *starpu_perfmodel_get_archtype_name(enum starpu_worker_archtype archtype);
void starpu_perfmodel_free_sampling(void);
int starpu_perfmodel_unload_model(struct starpu_perfmodel *model);

#ifdef __cplusplus
}
#endif
#endif
