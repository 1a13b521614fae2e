// Records of tasks: their making, and the end of a run.
#include "job.hpp"

#include <cstdlib>

#include "pool.hpp"
#include "profiling.hpp"

namespace starpu_layer {

JobRef::JobRef(Job *job) : job_(job) {
  if (job_) job_->refs.fetch_add(1, std::memory_order_relaxed);
}

JobRef::~JobRef() {
  if (job_) unref(job_);
}

void unref(Job *job) {
  if (job->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (!job->embedded) {
    delete job;
    return;
  }
  auto *block = reinterpret_cast<TaskBlock *>(reinterpret_cast<std::byte *>(job) - offsetof(TaskBlock, job));
  job->~Job();
  give_block(block);
}

Job &job_of(starpu_task *task) {
  void *found = __atomic_load_n(&task->starpu_private, __ATOMIC_ACQUIRE);
  if (found) return *static_cast<Job *>(found);
  Job *made = new Job(task);
  if (__atomic_compare_exchange_n(&task->starpu_private, &found, static_cast<void *>(made), false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE))
    return *made;
  delete made;
  return *static_cast<Job *>(found);
}

void drop_job(starpu_task *task) {
  Job *job = static_cast<Job *>(std::exchange(task->starpu_private, nullptr));
  if (job) unref(job);
}

void wait_for_end(Job &job) {
  instance.unfinished.wait([&] { return job.state.load() == Job::State::ended; });
}

namespace {

void finish_short_run(Job &job) {
  job.state.store(Job::State::ended, std::memory_order_relaxed);
  destroy_task(job.task);
  instance.unfinished.remove();
  unref(&job);
}

}  // namespace

void end_of_short_run(Job &job) {
  if (job.relations) [[unlikely]] {
    std::lock_guard lock(job.lock);
    job.relations->body_over = true;
    if (job.relations->inner_holds) return;
  }
  finish_short_run(job);
}

void release_end(Job &job) {
  consort_task_id id{0};
  bool finish = false;
  {
    std::lock_guard lock(job.lock);
    Relations &more = job.more();
    if (job.state == Job::State::fresh || job.state == Job::State::ended) {
      if (more.end_holds) --more.end_holds;
      return;
    }
    if (job.state == Job::State::submitting) {
      ++more.early_releases;
      return;
    }
    id = job.id;
    if (more.inner_holds && --more.inner_holds == 0) finish = more.body_over;
  }
  consort_task_end_release(instance.rt, id);
  if (finish) finish_short_run(job);
}

void release_dependents(Job &job) {
  consort_task_id stand_in{0};
  std::vector<JobRef> ends;
  {
    std::lock_guard lock(job.lock);
    if (!job.relations) return;
    stand_in = std::exchange(job.relations->stand_in, consort_task_id{0});
    ends.swap(job.relations->ends);
    job.relations->successors.clear();
  }
  if (stand_in.v) consort_task_end_release(instance.rt, stand_in);
  for (const JobRef &end : ends) release_end(*end);
}

void end_of_run(void *arg, const consort_outcome *outcome) {
  Job &job = *static_cast<Job *>(arg);
  starpu_task *task = job.task;
  const uint32_t run = job.runs.load(std::memory_order_relaxed);
  const bool destroy = task->destroy, detach = task->detach, regenerate = task->regenerate;
  (void)outcome;
  task->status = STARPU_TASK_FINISHED;
  if (job.relations) [[unlikely]] release_dependents(job);
  void (*callback)(void *) = task->callback_func;
  void *const callback_arg = task->callback_arg;
  if (!callback && task->cl) callback = task->cl->callback_func;
  if (callback) {
    const InCallback in_callback;
    const Running before = std::exchange(running, Running{});
    starpu_profiling_task_info *info = task->profiling_info;
    if (info) stamp(info->callback_start_time);
    running.task = task;
    callback(callback_arg);
    running = before;
    if (info && !(destroy && detach)) stamp(info->callback_end_time);
  }
  // From here on the task exists only if it was not to be destroyed, and may be in its next run.
  const bool again = job.runs.load(std::memory_order_relaxed) != run;
  if (!again && regenerate && task->regenerate) {
    submit(task);
  } else if (!again) {
    job.state.store(Job::State::ended);
    if (destroy && detach) destroy_task(task);
  }
  instance.unfinished.remove();
  unref(&job);
}

}  // namespace starpu_layer
