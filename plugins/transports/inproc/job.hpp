// job.hpp — the shared state of the ranks of one job: one Job for each job with an open rank in this process.
//
// The list of jobs is the only state of this plugin that belongs to the process instead of a runtime: ranks are
// runtimes that know nothing of each other. It is empty before the first open() and after the last close(), and has
// no constructor.
//
// Lock order: the list's lock, in open() and close() alone; then one job's lock, which guards every rank of that
// job. No rank locks two jobs. No host function is called and no long message copied under either.
#pragma once
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include <consort/plugin/host.hpp>

namespace inproc {

class Inproc;

struct Job {
  Job(const char *job_name, uint32_t n) : name(job_name), ranks(n) {}

  const std::string name;
  std::mutex mutex;               // guards the fields below, and all fields of ranks that say so
  std::condition_variable still;  // signals the end of a copy to [control] functions
  uint32_t waiting = 0;           // waiters on `still`
  std::vector<Inproc *> ranks;    // by number; nullptr: not open

  uint32_t users = 0;  // guarded by the list's lock
  Job *next = nullptr;
};

// A rank's membership in its job; the last one destroys the job.
class JobMembership {
 public:
  JobMembership(const char *job, uint32_t nranks) {
    const std::lock_guard guard(list_mutex);
    for (Job *h = first; h && !job_; h = h->next)
      if (h->name == job) job_ = h;
    if (!job_) {
      job_ = new Job(job, nranks);
      job_->next = first;
      first = job_;
    }
    if (job_->ranks.size() != nranks)
      throw consort::plugin::Error(
          CONSORT_E_INVAL,
          "job \"" + job_->name + "\" has " + std::to_string(job_->ranks.size()) +
              " ranks according to an open rank, and " + std::to_string(nranks) +
              " according to this one; give all ranks of a job the same number, and each job its own name");
    ++job_->users;
    number_ = ++last_number;
  }
  JobMembership(const JobMembership &) = delete;
  JobMembership &operator=(const JobMembership &) = delete;
  ~JobMembership() {
    const std::lock_guard guard(list_mutex);
    if (--job_->users) return;
    Job **at = &first;
    while (*at != job_) at = &(*at)->next;
    *at = job_->next;
    delete job_;
  }
  Job &operator*() const noexcept { return *job_; }
  Job *operator->() const noexcept { return job_; }
  uint64_t number() const noexcept { return number_; }  // number of this open() in the process; never reused

 private:
  static inline constinit std::mutex list_mutex;
  static inline constinit Job *first = nullptr;
  static inline constinit uint64_t last_number = 0;
  Job *job_ = nullptr;
  uint64_t number_;
};

}  // namespace inproc
