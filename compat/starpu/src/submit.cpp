// Submission of tasks.
#include <cerrno>
#include <cstdio>

#include "bundle.hpp"
#include "codelet.hpp"
#include "handle.hpp"
#include "job.hpp"
#include "profiling.hpp"
#include "tags.hpp"

namespace starpu_layer {
namespace {

alignas(64) std::atomic<uint64_t> numbers{0};

// The data of a task as Consort takes them: each once.
class Uses {
 public:
  Uses(starpu_task *task, Job &job);
  const consort_use *data() const { return at_; }
  uint32_t count() const { return n_; }
  // Handles whose accesses take no part in the order, for this task alone.
  std::vector<starpu_data_handle_t> unordered;

 private:
  void add(starpu_data_handle_t handle, uint32_t mode, uint32_t buffer, Job &job);
  consort_use few_[STARPU_NMAXBUFS];
  std::vector<consort_use> many_;
  consort_use *at_ = few_;
  uint32_t n_ = 0;
};

// The mode of a datum that a task uses twice. An access without contents gives way to one with.
uint32_t merged(uint32_t a, uint32_t b) {
  constexpr uint32_t kPlain = CONSORT_M_RW;
  if (!(a & kPlain)) return b;
  if (!(b & kPlain)) return a;
  const uint32_t both = (a | b) & kPlain, hints = (a | b) & ~kPlain & ~uint32_t{CONSORT_M_COMMUTE};
  return both | hints | (a & b & CONSORT_M_COMMUTE);
}

void Uses::add(starpu_data_handle_t handle, uint32_t mode, uint32_t buffer, Job &job) {
  for (uint32_t k = 0; k < n_; ++k) {
    if (at_[k].data.v != handle->id.v) continue;
    if (job.views.empty())
      for (uint32_t b = 0; b < buffer; ++b) job.views.push_back(b);
    at_[k].mode = merged(at_[k].mode, mode);
    job.views.push_back(k);
    return;
  }
  if (!job.views.empty()) job.views.push_back(n_);
  at_[n_++] = {handle->id, mode, 0};
}

Uses::Uses(starpu_task *task, Job &job) {
  if (!job.views.empty()) job.views.clear();
  if (!task->cl) return;
  const uint32_t n = STARPU_TASK_GET_NBUFFERS(task);
  if (n > STARPU_NMAXBUFS) {
    many_.resize(n);
    at_ = many_.data();
  }
  for (uint32_t i = 0; i < n; ++i) {
    starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(task, i);
    const unsigned mode = STARPU_TASK_GET_MODE(task, i);
    if (!handle->written.load(std::memory_order_relaxed)) initialise_if_needed(handle, mode);
    if (mode & (STARPU_W | STARPU_REDUX)) note_written(handle);
    add(handle, mode_of(mode), i, job);
    if (task->handles_sequential_consistency && !task->handles_sequential_consistency[i] && handle->ordered)
      unordered.push_back(handle);
  }
}

// Everything that few tasks have.
struct Rare {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  std::vector<consort_task_id> after;
  bool used = false;
};

void on_ready(void *arg, consort_task_id) {
  starpu_task *task = static_cast<Job *>(arg)->task;
  task->status = STARPU_TASK_READY;
  const InCallback in_callback;
  task->prologue_callback_func(task->prologue_callback_arg);
}

void fill_rare(starpu_task *task, Job &job, Rare &rare) {
  if (task->use_tag) {
    rare.more.flags |= CONSORT_MORE_TAG;
    rare.more.tag = task->tag_id;
    prepare_tag(task->tag_id, task);
    rare.used = true;
  }
  if (task->prologue_callback_func) {
    rare.more.ready = {on_ready, &job, nullptr};
    rare.used = true;
  }
  if (task->bundle) {
    rare.more.bundle = bundle_id(task->bundle);
    rare.used = true;
  }
  if (!job.relations) return;
  std::lock_guard lock(job.lock);
  rare.after.swap(job.relations->after);
  rare.more.end_holds = std::exchange(job.relations->end_holds, 0);
  rare.used |= rare.more.end_holds != 0;
}

// Waits as the limits of submitted tasks ask for.
void wait_for_room() {
  if (!instance.submitted_most || must_not_wait()) return;
  if (instance.unfinished.now() >= instance.submitted_most)
    instance.unfinished.wait_until_at_most(instance.submitted_least);
}

// Publishes the id of the run, and catches up on what happened before it was known.
void publish(Job &job, consort_task_id id, uint32_t run) {
  uint32_t releases = 0;
  {
    std::lock_guard lock(job.lock);
    if (job.runs.load(std::memory_order_relaxed) != run) return;
    job.id = id;
    auto expected = Job::State::submitting;
    job.state.compare_exchange_strong(expected, Job::State::submitted);
    if (job.relations) releases = std::exchange(job.relations->early_releases, 0);
  }
  while (releases--) consort_task_end_release(instance.rt, id);
}

// A task that is refused is as before.
int refused(starpu_task *task, Job &job, consort_status status, int error) {
  if (status < 0) {
    error = errno_of(status);
    if (error != -ENODEV) std::fprintf(stderr, "[starpu] starpu_task_submit: %s\n", consort_error());
  }
  task->status = STARPU_TASK_INIT;
  job.state.store(Job::State::fresh);
  instance.unfinished.remove();
  unref(&job);
  return error;
}

// Whether nothing has to happen at the end of the run but to free the task: then the function's return ends it.
bool is_short(const starpu_task *task, const Job &job, const Variant *variant) {
  return variant && variant->id.v && variant->type == STARPU_SEQ && task->detach && task->destroy && !task->synchronous &&
         !task->regenerate && !task->callback_func && !task->cl->callback_func && !task->prologue_callback_func &&
         !task->use_tag && !task->bundle && !task->profiling_info && !job.relations;
}

}  // namespace

consort_task_id submit_held() {
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.end_holds = 1;
  consort_task_desc desc = CONSORT_TASK_INIT;
  desc.more = &more;
  desc.name = "stand-in";
  consort_task_id id{0};
  must(consort_submit(instance.rt, &desc, &id), "starpu_task_declare_deps_array");
  return id;
}

int submit(starpu_task *task) {
  if (task->magic != 42 || !instance.rt) return -EINVAL;
  if (task->synchronous && must_not_wait()) return -EDEADLK;
  wait_for_room();
  Job &job = job_of(task);
  const bool synchronous = task->synchronous;
  job.refs.fetch_add(1, std::memory_order_relaxed);  // the run's
  const uint32_t run = job.runs.fetch_add(1, std::memory_order_relaxed) + 1;
  job.state.store(Job::State::submitting, std::memory_order_relaxed);
  job.number = numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  task->status = STARPU_TASK_BLOCKED;
  instance.unfinished.add();
  const Variant *variant = nullptr;
  int error = 0;
  if (task->cl && !(variant = variant_for(task, &error))) return refused(task, job, CONSORT_OK, error);
  const starpu_task_bundle_t bundle = task->bundle;
  const Uses uses(task, job);
  Rare rare;
  fill_rare(task, job, rare);
  const consort_arg arg = {CONSORT_ARG_SCALAR, 8, {0, 0}, 0, reinterpret_cast<uint64_t>(&job)};
  consort_task_desc desc = CONSORT_TASK_INIT;
  if (variant) desc.codelet = variant->id;
  desc.uses = uses.data();
  desc.nuses = uses.count();
  if (desc.codelet.v) {
    desc.args = &arg;
    desc.nargs = 1;
    if (task->execute_on_a_specific_worker) desc.worker = task->workerid;
  }
  desc.priority = task->priority;
  if (!task->sequential_consistency) desc.flags |= CONSORT_TASK_UNORDERED;
  desc.after = rare.after.data();
  desc.nafter = static_cast<uint32_t>(rare.after.size());
  desc.name = task->name;
  const bool brief = !task->name && !(task->flops > 0) && !(task->cl && task->cl->model);
  if (task->flops > 0) desc.work = static_cast<uint64_t>(task->flops);
  if (task->cl && task->cl->model && task->cl->model->footprint) desc.footprint = task->cl->model->footprint(task) | 1ull << 32;
  if (rare.used) desc.more = &rare.more;
  if (!task->profiling_info && profiling_on.load(std::memory_order_relaxed)) {
    job.info = std::make_unique<starpu_profiling_task_info>();
    task->profiling_info = job.info.get();
  }
  if (task->profiling_info) {
    stamp(task->profiling_info->submit_time);
    task->profiling_info->push_start_time = task->profiling_info->push_end_time = task->profiling_info->submit_time;
    task->profiling_info->pop_start_time = task->profiling_info->submit_time;
  }
  job.short_run = is_short(task, job, variant);
  if (job.short_run) {
    if (brief) desc.size = CONSORT_TASK_BRIEF;
  } else {
    desc.done = end_of_run;
    desc.done_arg = &job;
  }
  const bool watched = synchronous || rare.used || !task->detach || !task->destroy;  // looked at when the run may be over
  JobRef kept;
  if (watched) kept = JobRef(&job);
  for (starpu_data_handle_t h : uses.unordered) consort_data_set_ordered(instance.rt, h->id, 0);
  consort_task_id id{0};
  const consort_status status = consort_submit(instance.rt, &desc, &id);
  for (starpu_data_handle_t h : uses.unordered) consort_data_set_ordered(instance.rt, h->id, 1);
  if (status < 0) return refused(task, job, status, 0);
  if (watched) publish(job, id, run);
  if (bundle) bundle_submitted(bundle);
  if (synchronous) wait_for_end(job);
  return 0;
}

}  // namespace starpu_layer

using namespace starpu_layer;

int starpu_task_submit(struct starpu_task *task) { return submit(task); }
int starpu_task_submit_to_ctx(struct starpu_task *task, unsigned) { return submit(task); }
unsigned long starpu_task_get_job_id(struct starpu_task *task) { return job_of(task).number; }
