/* starpu_scheduler.h: priorities, and which worker can run a task. */
#ifndef CONSORT_STARPU_SCHEDULER_H
#define CONSORT_STARPU_SCHEDULER_H
#include <starpu_perfmodel.h>
#include <starpu_task.h>
#ifdef __cplusplus
extern "C" {
#endif
#define STARPU_MIN_PRIO (starpu_sched_get_min_priority())
#define STARPU_MAX_PRIO (starpu_sched_get_max_priority())
int starpu_sched_get_min_priority(void);
int starpu_sched_get_max_priority(void);
int starpu_sched_set_min_priority(int min_prio);
int starpu_sched_set_max_priority(int max_prio);
int starpu_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl);
int starpu_worker_can_execute_task_impl(unsigned workerid, struct starpu_task *task, unsigned *impl_mask);
int starpu_worker_can_execute_task_first_impl(unsigned workerid, struct starpu_task *task, unsigned *nimpl);
unsigned long starpu_task_get_job_id(struct starpu_task *task);
uint32_t starpu_task_data_footprint(struct starpu_task *task);
int starpu_get_prefetch_flag(void);
#ifdef __cplusplus
}
#endif
#endif
