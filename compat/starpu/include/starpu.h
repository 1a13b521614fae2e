/* starpu.h: StarPU's C API over Consort (docs/starpu.md). Names, values and members are StarPU's (1.3). */
#ifndef CONSORT_STARPU_H
#define CONSORT_STARPU_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu_config.h>
#include <starpu_util.h>
#include <starpu_thread.h>
#include <starpu_thread_util.h>
#include <starpu_data.h>
#include <starpu_data_interfaces.h>
#include <starpu_data_filters.h>
#include <starpu_helper.h>
#include <starpu_stdlib.h>
#include <starpu_task_bundle.h>
#include <starpu_task_dep.h>
#include <starpu_task.h>
#include <starpu_task_list.h>
#include <starpu_task_util.h>
#include <starpu_worker.h>
#include <starpu_perfmodel.h>
#include <starpu_scheduler.h>
#include <starpu_profiling.h>
#include <starpu_expert.h>
#include <starpu_rand.h>
#include <starpu_hash.h>
#include <starpu_bitmap.h>
#ifdef __cplusplus
extern "C" {
#endif

struct starpu_sched_policy;
struct starpu_driver;
struct starpu_conf {
  int magic;
  int will_use_mpi;
  const char *sched_policy_name;
  struct starpu_sched_policy *sched_policy;
  void (*sched_policy_init)(unsigned);
  int precedence_over_environment_variables;
  int ncpus;
  int reserve_ncpus;
  int ncuda;
  int nopencl;
  int nmic;
  int nmpi_ms;
  unsigned use_explicit_workers_bindid;
  unsigned workers_bindid[STARPU_NMAXWORKERS];
  unsigned use_explicit_workers_cuda_gpuid;
  unsigned workers_cuda_gpuid[STARPU_NMAXWORKERS];
  unsigned use_explicit_workers_opencl_gpuid;
  unsigned workers_opencl_gpuid[STARPU_NMAXWORKERS];
  unsigned use_explicit_workers_mic_deviceid;
  unsigned workers_mic_deviceid[STARPU_NMAXWORKERS];
  unsigned use_explicit_workers_mpi_ms_deviceid;
  unsigned workers_mpi_ms_deviceid[STARPU_NMAXWORKERS];
  int bus_calibrate;
  int calibrate;
  int single_combined_worker;
  char *mic_sink_program_path;
  int disable_asynchronous_copy;
  int disable_asynchronous_cuda_copy;
  int disable_asynchronous_opencl_copy;
  int disable_asynchronous_mic_copy;
  int disable_asynchronous_mpi_ms_copy;
  unsigned *cuda_opengl_interoperability;
  unsigned n_cuda_opengl_interoperability;
  struct starpu_driver *not_launched_drivers;
  unsigned n_not_launched_drivers;
  uint64_t trace_buffer_size;
  int global_sched_ctx_min_priority;
  int global_sched_ctx_max_priority;
  int catch_signals;
  unsigned driver_spinning_backoff_min;
  unsigned driver_spinning_backoff_max;
};

int starpu_conf_init(struct starpu_conf *conf);
int starpu_init(struct starpu_conf *conf) STARPU_WARN_UNUSED_RESULT;
int starpu_initialize(struct starpu_conf *user_conf, int *argc, char ***argv);
int starpu_is_initialized(void);
void starpu_wait_initialized(void);
void starpu_shutdown(void);
void starpu_pause(void);
void starpu_resume(void);
#define STARPU_THREAD_ACTIVE (1 << 0)
int starpu_asynchronous_copy_disabled(void);
int starpu_asynchronous_cuda_copy_disabled(void);
int starpu_asynchronous_opencl_copy_disabled(void);
int starpu_asynchronous_mic_copy_disabled(void);
int starpu_asynchronous_mpi_ms_copy_disabled(void);
void starpu_display_stats(void);
void starpu_topology_print(FILE *f);
void starpu_get_version(int *major, int *minor, int *release);

#ifdef __cplusplus
}
#endif
#endif
