/* starpu_task_bundle.h: tasks that should run on one worker. */
#ifndef CONSORT_STARPU_TASK_BUNDLE_H
#define CONSORT_STARPU_TASK_BUNDLE_H
#ifdef __cplusplus
extern "C" {
#endif
struct starpu_task;
typedef struct _starpu_task_bundle *starpu_task_bundle_t;
void starpu_task_bundle_create(starpu_task_bundle_t *bundle);
int starpu_task_bundle_insert(starpu_task_bundle_t bundle, struct starpu_task *task);
int starpu_task_bundle_remove(starpu_task_bundle_t bundle, struct starpu_task *task);
void starpu_task_bundle_close(starpu_task_bundle_t bundle);
#ifdef __cplusplus
}
#endif
#endif
