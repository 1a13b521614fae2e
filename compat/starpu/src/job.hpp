// job.hpp — the layer's record of a task, at starpu_task.starpu_private.
//
// The record outlives its task: a run that has not ended, and tasks that were declared to end with it, hold references. A
// task may be submitted again from its own callback, so the end of a run takes all that it needs before the callback, and
// looks at the task afterwards only where the task must still exist.
#pragma once
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "instance.hpp"

namespace starpu_layer {

// A lock for a few instructions; never held across a call into Consort or the application.
class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      while (taken_.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

struct Job;
// A counted reference.
class JobRef {
 public:
  JobRef() = default;
  explicit JobRef(Job *job);
  JobRef(const JobRef &other) : JobRef(other.job_) {}
  JobRef(JobRef &&other) noexcept : job_(std::exchange(other.job_, nullptr)) {}
  JobRef &operator=(JobRef other) noexcept {
    std::swap(job_, other.job_);
    return *this;
  }
  ~JobRef();
  Job *operator->() const { return job_; }
  Job &operator*() const { return *job_; }

 private:
  Job *job_ = nullptr;
};

// What few tasks have: declared dependencies, ends that are held.
struct Relations {
  std::vector<consort_task_id> after;     // predecessors of the next run
  std::vector<JobRef> ends;               // tasks whose end waits for this one's
  std::vector<starpu_task *> successors;  // as declared
  consort_task_id stand_in{0};  // an empty task that ends with this one: what is declared before the submission waits for it
  uint32_t end_holds = 0;       // of the next run
  uint32_t early_releases = 0;  // of holds of a run whose id is not known yet
  uint32_t inner_holds = 0;     // of a short run, made by its own function
  bool body_over = false;       // of a short run
};

struct Job {
  enum class State : uint8_t { fresh, submitting, submitted, ended };
  explicit Job(starpu_task *t) : task(t) {}
  // What few tasks have; made on demand. Under the lock.
  Relations &more() {
    if (!relations) relations = std::make_unique<Relations>();
    return *relations;
  }

  starpu_task *task;
  std::atomic<uint32_t> refs{1};
  SpinLock lock;  // state, id, relations
  std::atomic<State> state{State::fresh};
  std::atomic<uint32_t> runs{0};  // submissions so far
  consort_task_id id{0};          // of the last run, once its submission has returned
  std::unique_ptr<Relations> relations;
  std::vector<uint32_t> views;  // which view each buffer is, where a handle is used twice; else empty
  uint32_t implementation = 0;
  uint64_t number = 0;     // of its last submission
  bool embedded = false;   // it lies beside its task, in a TaskBlock
  bool short_run = false;  // the function's return ends the run: the runtime is not asked to tell
  std::unique_ptr<starpu_profiling_task_info> info;  // where the program gave none and times are kept
};

// The record of a task; made at the first call.
Job &job_of(starpu_task *task);
// Removes one reference.
void unref(Job *job);
// Lets go of the record.
void drop_job(starpu_task *task);
// The function of a short run has returned: ends the run, unless the function holds its end.
void end_of_short_run(Job &job);
// Waits until the job's last run has ended, its callback included.
void wait_for_end(Job &job);
// Ends a run: dependents, callback, resubmission, release of the task.
void end_of_run(void *job, const consort_outcome *outcome);
// Lets the tasks go on that were declared to wait for this one.
void release_dependents(Job &job);
// Removes one hold of the job's end.
void release_end(Job &job);

// Submits a task; answers as starpu_task_submit().
int submit(starpu_task *task);
// An empty task in Consort, without predecessors, whose end is held. Null where the runtime refuses.
consort_task_id submit_held();
// Frees what a task owns, and the task itself.
void destroy_task(starpu_task *task);

}  // namespace starpu_layer
