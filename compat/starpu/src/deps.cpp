// Dependencies among tasks: of starts and of ends, declared before or after the submission of the predecessor.
#include <cstdarg>

#include "job.hpp"

namespace starpu_layer {
namespace {

// What a task that is declared now must wait for; null: nothing, the predecessor has ended.
consort_task_id predecessor(Job &job, starpu_task *successor) {
  consort_task_id made{0};
  for (;;) {
    {
      std::lock_guard lock(job.lock);
      const Job::State state = job.state;
      if (state == Job::State::ended) break;
      if (state == Job::State::submitted) {
        job.more().successors.push_back(successor);
        if (made.v) break;
        return job.id;
      }
      Relations &more = job.more();
      if (!more.stand_in.v && made.v) more.stand_in = std::exchange(made, consort_task_id{0});
      if (more.stand_in.v) {
        more.successors.push_back(successor);
        if (made.v) break;
        return more.stand_in;
      }
    }
    made = submit_held();  // no lock is held: look again afterwards
  }
  // Too late for the stand-in: it is over at once, and nothing has to wait for it.
  if (!made.v) return {0};
  consort_task_end_release(instance.rt, made);
  std::lock_guard lock(job.lock);
  if (job.state == Job::State::submitted) return job.id;
  return job.relations ? job.relations->stand_in : consort_task_id{0};
}

void declare(starpu_task *task, unsigned n, starpu_task *const *predecessors) {
  Job &job = job_of(task);
  for (unsigned i = 0; i < n; ++i) {
    const consort_task_id id = predecessor(job_of(predecessors[i]), task);
    if (!id.v) continue;
    std::lock_guard lock(job.lock);
    job.more().after.push_back(id);
  }
}

void hold_end(Job &job, unsigned n) {
  if (running.task && running.task == job.task) {  // from its own function: it is under way
    const consort_task_id id = consort_current_task(instance.rt);
    {
      std::lock_guard lock(job.lock);
      job.id = id;
      auto expected = Job::State::submitting;
      job.state.compare_exchange_strong(expected, Job::State::submitted);
      Relations &more = job.more();
      if (job.short_run) more.inner_holds += n;
    }
    while (n--) must(consort_task_end_hold(instance.rt, id), "starpu_task_end_dep_add");
    return;
  }
  std::lock_guard lock(job.lock);
  job.more().end_holds += n;
}

void declare_end(starpu_task *task, unsigned n, starpu_task *const *predecessors) {
  Job &job = job_of(task);
  for (unsigned i = 0; i < n; ++i) {
    Job &before = job_of(predecessors[i]);
    hold_end(job, 1);
    bool ended;
    {
      std::lock_guard lock(before.lock);
      ended = before.state == Job::State::ended;
      if (!ended) before.more().ends.push_back(JobRef(&job));
    }
    if (ended) release_end(job);
  }
}

std::vector<starpu_task *> listed(unsigned n, va_list args) {
  std::vector<starpu_task *> tasks(n);
  for (starpu_task *&t : tasks) t = va_arg(args, starpu_task *);
  return tasks;
}

int successors(starpu_task *task, unsigned n, starpu_task **out) {
  Job &job = job_of(task);
  std::lock_guard lock(job.lock);
  if (!job.relations) return 0;
  const auto &all = job.relations->successors;
  for (unsigned i = 0; i < n && i < all.size(); ++i) out[i] = all[i];
  return static_cast<int>(all.size());
}

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_task_declare_deps_array(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[]) {
  declare(task, ndeps, task_array);
}

void starpu_task_declare_deps(struct starpu_task *task, unsigned ndeps, ...) {
  va_list args;
  va_start(args, ndeps);
  const auto tasks = listed(ndeps, args);
  va_end(args);
  declare(task, ndeps, tasks.data());
}

void starpu_task_declare_end_deps_array(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[]) {
  declare_end(task, ndeps, task_array);
}

void starpu_task_declare_end_deps(struct starpu_task *task, unsigned ndeps, ...) {
  va_list args;
  va_start(args, ndeps);
  const auto tasks = listed(ndeps, args);
  va_end(args);
  declare_end(task, ndeps, tasks.data());
}

int starpu_task_get_task_succs(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[]) {
  return successors(task, ndeps, task_array);
}

int starpu_task_get_task_scheduled_succs(struct starpu_task *task, unsigned ndeps, struct starpu_task *task_array[]) {
  return successors(task, ndeps, task_array);
}

void starpu_task_end_dep_add(struct starpu_task *t, int nb_deps) {
  if (nb_deps > 0) hold_end(job_of(t), static_cast<unsigned>(nb_deps));
}

void starpu_task_end_dep_release(struct starpu_task *t) { release_end(job_of(t)); }
