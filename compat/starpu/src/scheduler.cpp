// Priorities, and which worker can run a task.
#include <cstdlib>

#include "codelet.hpp"
#include "handle.hpp"
#include "instance.hpp"

using namespace starpu_layer;

int starpu_sched_get_min_priority(void) { return instance.least_priority; }
int starpu_sched_get_max_priority(void) { return instance.most_priority; }
int starpu_sched_set_min_priority(int min_prio) {
  instance.least_priority = min_prio;
  return 0;
}
int starpu_sched_set_max_priority(int max_prio) {
  instance.most_priority = max_prio;
  return 0;
}

int starpu_worker_can_execute_task(unsigned workerid, struct starpu_task *task, unsigned nimpl) {
  return workerid < instance.workers.size() && nimpl < STARPU_MAXIMPLEMENTATIONS && may_run(task, workerid, nimpl);
}

int starpu_worker_can_execute_task_impl(unsigned workerid, struct starpu_task *task, unsigned *impl_mask) {
  unsigned mask = 0;
  for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; ++i)
    if (starpu_worker_can_execute_task(workerid, task, i)) mask |= 1u << i;
  if (impl_mask && mask) *impl_mask = mask;
  return mask != 0;
}

int starpu_worker_can_execute_task_first_impl(unsigned workerid, struct starpu_task *task, unsigned *nimpl) {
  for (unsigned i = 0; i < STARPU_MAXIMPLEMENTATIONS; ++i) {
    if (!starpu_worker_can_execute_task(workerid, task, i)) continue;
    if (nimpl) *nimpl = i;
    return 1;
  }
  return 0;
}

uint32_t starpu_task_data_footprint(struct starpu_task *task) {
  uint32_t h = 0;
  const unsigned n = task->cl ? STARPU_TASK_GET_NBUFFERS(task) : 0;
  for (unsigned i = 0; i < n; ++i) {
    const uint64_t bytes = bytes_of(STARPU_TASK_GET_HANDLE(task, i)->home);
    h = starpu_hash_crc32c_be_n(&bytes, sizeof bytes, h);
  }
  return h;
}

int starpu_get_prefetch_flag(void) { return 1; }
