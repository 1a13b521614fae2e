// Tasks and codelets as structs: making, freeing, waiting, asking.
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "codelet.hpp"
#include "job.hpp"
#include "pool.hpp"

namespace starpu_layer {

namespace {

// Whether the task's record lies beside it and thus ends with it.
bool has_embedded_job(const starpu_task *task) {
  const auto *job = static_cast<const Job *>(task->starpu_private);
  return job && job->embedded && job->task == task;
}

void free_arguments(starpu_task *task) {
  if (task->cl_arg_free) std::free(task->cl_arg);
  if (task->callback_arg_free) std::free(task->callback_arg);
  if (task->prologue_callback_arg_free) std::free(task->prologue_callback_arg);
  if (task->prologue_callback_pop_arg_free) std::free(task->prologue_callback_pop_arg);
  task->cl_arg_free = task->callback_arg_free = 0;
  task->prologue_callback_arg_free = task->prologue_callback_pop_arg_free = 0;
  if (task->dyn_handles) std::free(std::exchange(task->dyn_handles, nullptr));
  if (task->dyn_interfaces) std::free(std::exchange(task->dyn_interfaces, nullptr));
  if (task->dyn_modes) std::free(std::exchange(task->dyn_modes, nullptr));
  if (task->profiling_info && task->starpu_private && job_of(task).info.get() == task->profiling_info)
    task->profiling_info = nullptr;
}

// Waits for a task that is not detached, and frees it where it says so.
int wait_for(starpu_task *task) {
  if (must_not_wait()) return -EDEADLK;
  if (task->detach || task->synchronous) return -EINVAL;
  Job &job = job_of(task);
  if (job.runs.load() == 0) return -EINVAL;
  {
    const JobRef kept(&job);
    wait_for_end(job);
  }
  if (task->destroy) destroy_task(task);
  return 0;
}

}  // namespace

void destroy_task(starpu_task *task) {
  const bool embedded = has_embedded_job(task);
  free_arguments(task);
  drop_job(task);
  if (!embedded) std::free(task);
}

}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_codelet_init(struct starpu_codelet *cl) { std::memset(cl, 0, sizeof *cl); }

void starpu_codelet_display_stats(struct starpu_codelet *cl) {
  unsigned long total = 0;
  const size_t n = std::min<size_t>(instance.workers.size(), STARPU_NMAXWORKERS);
  for (size_t w = 0; w < n; ++w) total += cl->per_worker_stats[w];
  std::fprintf(stderr, "Statistics for codelet %s\n", cl->name ? cl->name : "without a name");
  for (size_t w = 0; w < n; ++w)
    std::fprintf(stderr, "\t%s -> %lu / %lu (%2.2f %%)\n", instance.workers[w].name.c_str(), cl->per_worker_stats[w],
                 total, total ? 100.0 * static_cast<double>(cl->per_worker_stats[w]) / static_cast<double>(total) : 0.0);
}

void starpu_task_init(struct starpu_task *task) {
  std::memset(task, 0, sizeof *task);
  task->where = -1;
  task->priority = STARPU_DEFAULT_PRIO;
  task->sequential_consistency = 1;
  task->detach = 1;
  task->magic = 42;
  task->sched_ctx = STARPU_NMAX_SCHED_CTXS;
  task->predicted = task->predicted_transfer = task->predicted_start = NAN;
}

struct starpu_task *starpu_task_create(void) {
  TaskBlock *block = take_block();
  if (!block) return nullptr;
  starpu_task *task = &block->task;
  starpu_task_init(task);
  task->destroy = 1;
  Job *job = new (block->job) Job(task);
  job->embedded = true;
  task->starpu_private = job;
  return task;
}

struct starpu_task *starpu_task_dup(struct starpu_task *task) {
  auto *copy = static_cast<starpu_task *>(std::malloc(sizeof(starpu_task)));
  *copy = *task;
  copy->starpu_private = nullptr;
  copy->profiling_info = nullptr;
  copy->prev = copy->next = nullptr;
  copy->status = STARPU_TASK_INIT;
  return copy;
}

void starpu_task_clean(struct starpu_task *task) {
  free_arguments(task);
  if (!has_embedded_job(task)) drop_job(task);
}

void starpu_task_destroy(struct starpu_task *task) {
  STARPU_ASSERT_MSG(!task->destroy || !task->detach || task->status == STARPU_TASK_INIT ||
                        task->status == STARPU_TASK_FINISHED,
                    "starpu_task_destroy() of a task that is freed by itself");
  destroy_task(task);
}

int starpu_task_finished(struct starpu_task *task) {
  return task->starpu_private && job_of(task).state.load() == Job::State::ended;
}

int starpu_task_wait(struct starpu_task *task) { return wait_for(task); }

int starpu_task_wait_array(struct starpu_task **tasks, unsigned nb_tasks) {
  for (unsigned i = 0; i < nb_tasks; ++i)
    if (const int rc = wait_for(tasks[i])) return rc;
  return 0;
}

int starpu_task_wait_for_all(void) { return starpu_task_wait_for_n_submitted(0); }

int starpu_task_wait_for_n_submitted(unsigned n) {
  if (must_not_wait()) return -EDEADLK;
  instance.unfinished.wait_until_at_most(n);
  return 0;
}

int starpu_task_wait_for_all_in_ctx(unsigned) { return starpu_task_wait_for_all(); }
int starpu_task_wait_for_n_submitted_in_ctx(unsigned, unsigned n) { return starpu_task_wait_for_n_submitted(n); }

int starpu_task_wait_for_no_ready(void) {
  if (must_not_wait()) return -EDEADLK;
  return errno_of(consort_wait_no_ready(instance.rt, CONSORT_FOREVER, CONSORT_WAIT_NO_HELP | CONSORT_WAIT_KEEP_FAILURE));
}

int starpu_task_nsubmitted(void) { return static_cast<int>(instance.unfinished.now()); }
void starpu_iteration_push(unsigned long) {}
void starpu_iteration_pop(void) {}
void starpu_do_schedule(void) {}

struct starpu_task *starpu_task_get_current(void) { return running.task; }

int starpu_task_get_current_data_node(unsigned) {
  return running.task ? static_cast<int>(starpu_worker_get_local_memory_node()) : -1;
}

const char *starpu_task_get_model_name(struct starpu_task *task) {
  const starpu_codelet *cl = task ? task->cl : nullptr;
  return cl && cl->model ? cl->model->symbol : nullptr;
}

const char *starpu_task_get_name(struct starpu_task *task) {
  if (!task) return nullptr;
  if (task->name) return task->name;
  const starpu_codelet *cl = task->cl;
  if (!cl) return nullptr;
  if (cl->model && cl->model->symbol) return cl->model->symbol;
  return cl->name;
}

void starpu_task_set_implementation(struct starpu_task *task, unsigned impl) { job_of(task).implementation = impl; }
unsigned starpu_task_get_implementation(struct starpu_task *task) { return job_of(task).implementation; }

void starpu_create_sync_task(starpu_tag_t sync_tag, unsigned ndeps, starpu_tag_t *deps, void (*callback)(void *),
                             void *callback_arg) {
  starpu_tag_declare_deps_array(sync_tag, ndeps, deps);
  starpu_task *task = starpu_task_create();
  task->use_tag = 1;
  task->tag_id = sync_tag;
  task->callback_func = callback;
  task->callback_arg = callback_arg;
  STARPU_CHECK_RETURN_VALUE(starpu_task_submit(task), "starpu_create_sync_task");
}

void starpu_create_callback_task(void (*callback)(void *), void *callback_arg) {
  starpu_task *task = starpu_task_create();
  task->callback_func = callback;
  task->callback_arg = callback_arg;
  STARPU_CHECK_RETURN_VALUE(starpu_task_submit(task), "starpu_create_callback_task");
}
