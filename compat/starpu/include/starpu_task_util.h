/* starpu_task_util.h: tasks in one call, and packed arguments. */
#ifndef CONSORT_STARPU_TASK_UTIL_H
#define CONSORT_STARPU_TASK_UTIL_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <starpu_task.h>
#ifdef __cplusplus
extern "C" {
#endif

/* What follows a tag among the arguments of starpu_task_insert(). */
#define STARPU_MODE_SHIFT 17
#define STARPU_VALUE (1 << STARPU_MODE_SHIFT)
#define STARPU_CALLBACK (2 << STARPU_MODE_SHIFT)
#define STARPU_CALLBACK_WITH_ARG (3 << STARPU_MODE_SHIFT)
#define STARPU_CALLBACK_ARG (4 << STARPU_MODE_SHIFT)
#define STARPU_PRIORITY (5 << STARPU_MODE_SHIFT)
#define STARPU_EXECUTE_ON_NODE (6 << STARPU_MODE_SHIFT)
#define STARPU_EXECUTE_ON_DATA (7 << STARPU_MODE_SHIFT)
#define STARPU_DATA_ARRAY (8 << STARPU_MODE_SHIFT)
#define STARPU_DATA_MODE_ARRAY (9 << STARPU_MODE_SHIFT)
#define STARPU_TAG (10 << STARPU_MODE_SHIFT)
#define STARPU_HYPERVISOR_TAG (11 << STARPU_MODE_SHIFT)
#define STARPU_FLOPS (12 << STARPU_MODE_SHIFT)
#define STARPU_SCHED_CTX (13 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK (14 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK_ARG (15 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK_POP (16 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK_POP_ARG (17 << STARPU_MODE_SHIFT)
#define STARPU_EXECUTE_ON_WORKER (18 << STARPU_MODE_SHIFT)
#define STARPU_EXECUTE_WHERE (19 << STARPU_MODE_SHIFT)
#define STARPU_TAG_ONLY (20 << STARPU_MODE_SHIFT)
#define STARPU_POSSIBLY_PARALLEL (21 << STARPU_MODE_SHIFT)
#define STARPU_WORKER_ORDER (22 << STARPU_MODE_SHIFT)
#define STARPU_NODE_SELECTION_POLICY (23 << STARPU_MODE_SHIFT)
#define STARPU_NAME (24 << STARPU_MODE_SHIFT)
#define STARPU_CL_ARGS (25 << STARPU_MODE_SHIFT)
#define STARPU_CL_ARGS_NFREE (26 << STARPU_MODE_SHIFT)
#define STARPU_TASK_DEPS_ARRAY (27 << STARPU_MODE_SHIFT)
#define STARPU_TASK_COLOR (28 << STARPU_MODE_SHIFT)
#define STARPU_HANDLES_SEQUENTIAL_CONSISTENCY (29 << STARPU_MODE_SHIFT)
#define STARPU_TASK_SYNCHRONOUS (30 << STARPU_MODE_SHIFT)
#define STARPU_TASK_END_DEPS_ARRAY (31 << STARPU_MODE_SHIFT)
#define STARPU_TASK_END_DEP (32 << STARPU_MODE_SHIFT)
#define STARPU_TASK_WORKERIDS (33 << STARPU_MODE_SHIFT)
#define STARPU_SEQUENTIAL_CONSISTENCY (34 << STARPU_MODE_SHIFT)
#define STARPU_TASK_PROFILING_INFO (35 << STARPU_MODE_SHIFT)
#define STARPU_TASK_NO_SUBMITORDER (36 << STARPU_MODE_SHIFT)
#define STARPU_CALLBACK_ARG_NFREE (37 << STARPU_MODE_SHIFT)
#define STARPU_CALLBACK_WITH_ARG_NFREE (38 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK_ARG_NFREE (39 << STARPU_MODE_SHIFT)
#define STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE (40 << STARPU_MODE_SHIFT)
#define STARPU_TASK_SCHED_DATA (41 << STARPU_MODE_SHIFT)
#define STARPU_SHIFTED_MODE_MAX (42 << STARPU_MODE_SHIFT)

int starpu_task_set(struct starpu_task *task, struct starpu_codelet *cl, ...);
struct starpu_task *starpu_task_build(struct starpu_codelet *cl, ...);
int starpu_task_insert(struct starpu_codelet *cl, ...);
int starpu_insert_task(struct starpu_codelet *cl, ...);
void starpu_task_insert_data_make_room(struct starpu_codelet *cl, struct starpu_task *task, int *allocated_buffers,
    int current_buffer, int room);
void starpu_task_insert_data_process_arg(struct starpu_codelet *cl, struct starpu_task *task, int
    *allocated_buffers, int *current_buffer, int arg_type, starpu_data_handle_t handle);
void starpu_task_insert_data_process_array_arg(struct starpu_codelet *cl, struct starpu_task *task, int
    *allocated_buffers, int *current_buffer, int nb_handles, starpu_data_handle_t *handles);
void starpu_task_insert_data_process_mode_array_arg(struct starpu_codelet *cl, struct starpu_task *task, int
    *allocated_buffers, int *current_buffer, int nb_descrs, struct starpu_data_descr *descrs);

struct starpu_codelet_pack_arg_data {
  char *arg_buffer;
  size_t arg_buffer_size;
  size_t current_offset;
  int nargs;
};
void starpu_codelet_pack_args(void **arg_buffer, size_t *arg_buffer_size, ...);
void starpu_codelet_pack_arg_init(struct starpu_codelet_pack_arg_data *state);
void starpu_codelet_pack_arg(struct starpu_codelet_pack_arg_data *state, const void *ptr, size_t ptr_size);
void starpu_codelet_pack_arg_fini(struct starpu_codelet_pack_arg_data *state, void **cl_arg, size_t *cl_arg_size);
void starpu_codelet_unpack_args(void *cl_arg, ...);
void starpu_codelet_unpack_args_and_copyleft(void *cl_arg, void *buffer, size_t buffer_size, ...);

#ifdef __cplusplus
}
#endif
#endif
