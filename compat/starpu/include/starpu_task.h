/* starpu_task.h: codelets and tasks. */
#ifndef CONSORT_STARPU_TASK_H
#define CONSORT_STARPU_TASK_H
#include <assert.h>
#include <errno.h>
#include <math.h>

#include <starpu_data.h>
#include <starpu_task_bundle.h>
#include <starpu_task_dep.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of workers, for starpu_codelet.where and starpu_task.where. */
#define STARPU_NOWHERE (1ULL << 0)
#define STARPU_CPU (1ULL << 1)
#define STARPU_CUDA (1ULL << 3)
#define STARPU_OPENCL (1ULL << 6)
#define STARPU_MIC (1ULL << 7)
#define STARPU_MPI_MS (1ULL << 9)

#define STARPU_CODELET_SIMGRID_EXECUTE (1 << 0)
#define STARPU_CODELET_SIMGRID_EXECUTE_AND_INJECT (1 << 1)
#define STARPU_CODELET_NOPLANS (1 << 2)
#define STARPU_CUDA_ASYNC (1 << 0)
#define STARPU_OPENCL_ASYNC (1 << 0)
#define STARPU_MAIN_RAM 0

enum starpu_codelet_type { STARPU_SEQ = 0, STARPU_SPMD, STARPU_FORKJOIN };
enum starpu_task_status {
  STARPU_TASK_INIT,
  STARPU_TASK_BLOCKED,
  STARPU_TASK_READY,
  STARPU_TASK_RUNNING,
  STARPU_TASK_FINISHED,
  STARPU_TASK_BLOCKED_ON_TAG,
  STARPU_TASK_BLOCKED_ON_TASK,
  STARPU_TASK_BLOCKED_ON_DATA,
  STARPU_TASK_STOPPED
};
#define STARPU_TASK_INIT STARPU_TASK_INIT
#define STARPU_TASK_INVALID STARPU_TASK_INIT

typedef void (*starpu_cpu_func_t)(void **, void *);
typedef void (*starpu_cuda_func_t)(void **, void *);
typedef void (*starpu_opencl_func_t)(void **, void *);
typedef void (*starpu_mic_kernel_t)(void **, void *);
typedef starpu_mic_kernel_t (*starpu_mic_func_t)(void);
typedef void (*starpu_mpi_ms_kernel_t)(void **, void *);
typedef starpu_mpi_ms_kernel_t (*starpu_mpi_ms_func_t)(void);

#define STARPU_MULTIPLE_CPU_IMPLEMENTATIONS ((starpu_cpu_func_t)-1)
#define STARPU_MULTIPLE_CUDA_IMPLEMENTATIONS ((starpu_cuda_func_t)-1)
#define STARPU_MULTIPLE_OPENCL_IMPLEMENTATIONS ((starpu_opencl_func_t)-1)
#define STARPU_VARIABLE_NBUFFERS (-1)
#define STARPU_SPECIFIC_NODE_LOCAL (-1)
#define STARPU_SPECIFIC_NODE_CPU (-2)
#define STARPU_SPECIFIC_NODE_SLOW (-3)
#define STARPU_SPECIFIC_NODE_FAST (-4)
#define STARPU_DEFAULT_PRIO 0

struct starpu_task;
struct starpu_perfmodel;
struct starpu_codelet {
  uint32_t where;
  int (*can_execute)(unsigned workerid, struct starpu_task *task, unsigned nimpl);
  enum starpu_codelet_type type;
  int max_parallelism;
  starpu_cpu_func_t cpu_func; /* these three are of StarPU 1.0: the arrays below are used */
  starpu_cuda_func_t cuda_func;
  starpu_opencl_func_t opencl_func;
  starpu_cpu_func_t cpu_funcs[STARPU_MAXIMPLEMENTATIONS];
  starpu_cuda_func_t cuda_funcs[STARPU_MAXIMPLEMENTATIONS];
  char cuda_flags[STARPU_MAXIMPLEMENTATIONS];
  starpu_opencl_func_t opencl_funcs[STARPU_MAXIMPLEMENTATIONS];
  char opencl_flags[STARPU_MAXIMPLEMENTATIONS];
  starpu_mic_func_t mic_funcs[STARPU_MAXIMPLEMENTATIONS];
  starpu_mpi_ms_func_t mpi_ms_funcs[STARPU_MAXIMPLEMENTATIONS];
  const char *cpu_funcs_name[STARPU_MAXIMPLEMENTATIONS];
  int nbuffers;
  enum starpu_data_access_mode modes[STARPU_NMAXBUFS];
  enum starpu_data_access_mode *dyn_modes;
  unsigned specific_nodes;
  int nodes[STARPU_NMAXBUFS];
  int *dyn_nodes;
  struct starpu_perfmodel *model;
  struct starpu_perfmodel *energy_model;
  unsigned long per_worker_stats[STARPU_NMAXWORKERS];
  const char *name;
  unsigned color;
  void (*callback_func)(void *);
  int flags;
  int checked; /* the implementation's own */
};

struct starpu_data_descr {
  starpu_data_handle_t handle;
  enum starpu_data_access_mode mode;
};

struct starpu_profiling_task_info;
struct starpu_omp_task;
struct starpu_task {
  const char *name;
  struct starpu_codelet *cl;
  int32_t where;
  int nbuffers;
  starpu_data_handle_t *dyn_handles;
  void **dyn_interfaces;
  enum starpu_data_access_mode *dyn_modes;
  starpu_data_handle_t handles[STARPU_NMAXBUFS];
  void *interfaces[STARPU_NMAXBUFS];
  enum starpu_data_access_mode modes[STARPU_NMAXBUFS];
  unsigned char *handles_sequential_consistency;
  void *cl_arg;
  size_t cl_arg_size;
  void (*callback_func)(void *);
  void *callback_arg;
  void (*prologue_callback_func)(void *);
  void *prologue_callback_arg;
  void (*prologue_callback_pop_func)(void *);
  void *prologue_callback_pop_arg;
  starpu_tag_t tag_id;
  unsigned cl_arg_free : 1;
  unsigned callback_arg_free : 1;
  unsigned prologue_callback_arg_free : 1;
  unsigned prologue_callback_pop_arg_free : 1;
  unsigned use_tag : 1;
  unsigned sequential_consistency : 1;
  unsigned synchronous : 1;
  unsigned execute_on_a_specific_worker : 1;
  unsigned detach : 1;
  unsigned destroy : 1;
  unsigned regenerate : 1;
  unsigned no_submitorder : 1;
  unsigned char mf_skip;
  unsigned char scheduled;
  unsigned char prefetched;
  unsigned workerid;
  unsigned workerorder;
  uint32_t *workerids;
  unsigned workerids_len;
  int priority;
  enum starpu_task_status status;
  int magic;
  unsigned type;
  unsigned color;
  unsigned sched_ctx;
  int hypervisor_tag;
  unsigned possibly_parallel;
  starpu_task_bundle_t bundle;
  struct starpu_profiling_task_info *profiling_info;
  double flops;
  double predicted;
  double predicted_transfer;
  double predicted_start;
  struct starpu_task *prev;
  struct starpu_task *next;
  void *starpu_private; /* the implementation's own */
  struct starpu_omp_task *omp_task;
  unsigned nb_termination_call_required;
  void *sched_data;
};

#define STARPU_TASK_TYPE_NORMAL 0
#define STARPU_TASK_TYPE_INTERNAL (1 << 0)
#define STARPU_TASK_TYPE_DATA_ACQUIRE (1 << 1)

/* For static tasks; what is not named is 0. */
#define STARPU_TASK_INITIALIZER                                                                                      \
  {                                                                                                                  \
    .where = -1, .sequential_consistency = 1, .detach = 1, .priority = STARPU_DEFAULT_PRIO,                          \
    .status = STARPU_TASK_INIT, .magic = 42, .sched_ctx = STARPU_NMAX_SCHED_CTXS, .predicted = NAN,                  \
    .predicted_transfer = NAN, .predicted_start = NAN                                                                \
  }

#define STARPU_TASK_GET_NBUFFERS(task) \
  ((unsigned)((task)->cl->nbuffers == STARPU_VARIABLE_NBUFFERS ? (task)->nbuffers : (task)->cl->nbuffers))
#define STARPU_TASK_GET_HANDLES(task) ((task)->dyn_handles ? (task)->dyn_handles : (task)->handles)
#define STARPU_TASK_GET_HANDLE(task, i) (STARPU_TASK_GET_HANDLES(task)[i])
#define STARPU_TASK_SET_HANDLE(task, handle, i) ((void)(STARPU_TASK_GET_HANDLES(task)[i] = (handle)))
#define STARPU_CODELET_MODES_(codelet) ((codelet)->dyn_modes ? (codelet)->dyn_modes : (codelet)->modes)
#define STARPU_CODELET_GET_MODE(codelet, i) (STARPU_CODELET_MODES_(codelet)[i])
#define STARPU_CODELET_SET_MODE(codelet, mode, i) ((void)(STARPU_CODELET_MODES_(codelet)[i] = (mode)))
#define STARPU_TASK_GET_MODE(task, i)                                             \
  ((task)->dyn_modes                                       ? (task)->dyn_modes[i] \
   : (task)->cl->nbuffers == STARPU_VARIABLE_NBUFFERS ? (task)->modes[i]          \
                                                      : STARPU_CODELET_GET_MODE((task)->cl, i))
#define STARPU_TASK_SET_MODE(task, mode, i)                                                             \
  do {                                                                                                  \
    if ((task)->cl->nbuffers != STARPU_VARIABLE_NBUFFERS && (task)->cl->nbuffers <= STARPU_NMAXBUFS)    \
      STARPU_CODELET_SET_MODE((task)->cl, mode, i);                                                     \
    else if ((task)->dyn_modes)                                                                         \
      (task)->dyn_modes[i] = (mode);                                                                    \
    else                                                                                                \
      (task)->modes[i] = (mode);                                                                        \
  } while (0)
#define STARPU_CODELET_NODES_(codelet) ((codelet)->dyn_nodes ? (codelet)->dyn_nodes : (codelet)->nodes)
#define STARPU_CODELET_GET_NODE(codelet, i) (STARPU_CODELET_NODES_(codelet)[i])
#define STARPU_CODELET_SET_NODE(codelet, node, i) ((void)(STARPU_CODELET_NODES_(codelet)[i] = (node)))

void starpu_codelet_init(struct starpu_codelet *cl);
void starpu_codelet_display_stats(struct starpu_codelet *cl);
void starpu_task_init(struct starpu_task *task);
void starpu_task_clean(struct starpu_task *task);
struct starpu_task *starpu_task_create(void) STARPU_ATTRIBUTE_MALLOC;
void starpu_task_destroy(struct starpu_task *task);
struct starpu_task *starpu_task_dup(struct starpu_task *task);
int starpu_task_submit(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;
int starpu_task_submit_to_ctx(struct starpu_task *task, unsigned sched_ctx_id);
int starpu_task_finished(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;
int starpu_task_wait(struct starpu_task *task) STARPU_WARN_UNUSED_RESULT;
int starpu_task_wait_array(struct starpu_task **tasks, unsigned nb_tasks) STARPU_WARN_UNUSED_RESULT;
int starpu_task_wait_for_all(void);
int starpu_task_wait_for_n_submitted(unsigned n);
int starpu_task_wait_for_all_in_ctx(unsigned sched_ctx_id);
int starpu_task_wait_for_n_submitted_in_ctx(unsigned sched_ctx_id, unsigned n);
int starpu_task_wait_for_no_ready(void);
int starpu_task_nsubmitted(void);
void starpu_iteration_push(unsigned long iteration);
void starpu_iteration_pop(void);
void starpu_do_schedule(void);
struct starpu_task *starpu_task_get_current(void);
int starpu_task_get_current_data_node(unsigned i);
const char *starpu_task_get_model_name(struct starpu_task *task);
const char *starpu_task_get_name(struct starpu_task *task);
void starpu_task_set_implementation(struct starpu_task *task, unsigned impl);
unsigned starpu_task_get_implementation(struct starpu_task *task);
void starpu_create_sync_task(starpu_tag_t sync_tag, unsigned ndeps, starpu_tag_t *deps, void (*callback)(void *),
    void *callback_arg);
void starpu_create_callback_task(void (*callback)(void *), void *callback_arg);

#ifdef __cplusplus
}
#endif
#endif
