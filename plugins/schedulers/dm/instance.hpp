// instance.hpp — one instance of this family: a queue for each worker, and each worker's expected end.
//
// A ready task goes to the worker where it ends first by the models (and by its transfer cost). A worker's expected end is
// corrected at each start or end of a task there. The instance's own lock guards all state; it is held for a decision or a
// queue operation, and no blocking function is called under it. Any thread pushes, a worker's owner pops; the rest is
// [control]. Memory grows with the largest number of waiting tasks, and is kept.
#pragma once
#include <array>
#include <memory>

#include "../estimates.hpp"
#include "../queue.hpp"
#include "../serving.hpp"
#include "traits.hpp"

namespace policies {
class Graph;
}

namespace dm {

using namespace policies;  // shared headers

class Instance {
 public:
  Instance(const Settings &, const consort_host *, const consort_topology &, uint64_t epoch);
  ~Instance();

  consort_status workers(const consort_topology &, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd);
  uint32_t push(const consort_push &) noexcept;
  uint32_t pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept;
  uint32_t drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept;
  consort_status quiesce(uint64_t deadline) noexcept { return serving_.quiesce(deadline); }
  uint32_t dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept;
  void started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept;
  void finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept;
  void submitted(const consort_task *const *tasks, uint32_t n) noexcept;
  const consort_host *host() const noexcept { return host_; }

 private:
  static constexpr uint32_t kPopped = 16;     // popped tasks recorded per worker
  static constexpr uint32_t kLook = 16;    // queued tasks whose data one pop compares

  struct Popped {
    uint64_t id;
    float exec;
    bool started;
    const TeamGroup::One *team;            // the team that this worker leads; nullptr: runs here alone
  };
  struct WorkerState {  // state of one worker; guarded by lock_
    Queue queue;
    Popped popped[kPopped];                         // popped, unfinished tasks, oldest first: Mark::npopped
    uint32_t running = 0;
    uint32_t unknown = 0;                  // queued tasks without a known time
    float usual = 0;                       // recent average ns of a task here
    double lent = 0;                       // ns of team tasks that this worker joins without leading

    double queued() const noexcept { return queue.sum() + lent; }
  };
  // Fields of every worker that a decision reads, contiguous to touch few cache lines.
  struct Mark {
    double end = 0;                        // expected end of all its work, in ns of host->now()
    double queued = 0;                     // copy of WorkerState::queued()
    uint32_t waiting = 0, npopped = 0;        // number of tasks in its queue; popped and unfinished
  };
  struct Choice {
    uint32_t worker = CONSORT_NONE, group = 0, impl = CONSORT_NONE;
    float exec = 0, transfer = 0;
    uint64_t mask = 0, groups = 0;
    bool known = true;
    const TeamGroup::One *team = nullptr;
    double end = 0;                        // end of a team's task
  };

  const WorkerGroups &served() const noexcept { return serving_.served(); }
  void publish(Members &&, const consort_topology &);

  void place(const WorkerGroups &, consort_task *const *tasks, uint32_t n, uint32_t from, uint32_t flags,
             consort_wake *) noexcept;
  Choice choose(const WorkerGroups &, const consort_task *, const Estimates &, uint32_t index, double now) noexcept;
  double through_at(uint32_t worker, double now) const noexcept;
  double free_at(uint32_t worker, const consort_task *, double now) const noexcept;
  void note(uint32_t worker) noexcept {    // after a change of its queue or load
    marks_[worker].queued = states_[worker].queued();
  }
  const TeamGroup::One *soonest(const TeamGroup &, const consort_task *, double now, double *at) const noexcept;
  void lend(const TeamGroup::One &, float ns) noexcept;
  uint32_t soonest(const WorkerGroups &, const Group &, const consort_task *, double now, double *at) const noexcept;
  uint32_t &queued_beside(uint32_t worker) noexcept { return queued_[served().members.klass[worker] % queued_.size()]; }
  void insert(Node *, const Choice &) noexcept;
  Node *next_of(const WorkerGroups &, uint32_t worker) noexcept;
  Node *steal(const WorkerGroups &, uint32_t worker, double now) noexcept;
  void take(Node *) noexcept;
  void hand_out(uint32_t worker, Node *, double now, consort_pick *) noexcept;
  bool has_enough(const WorkerGroups &, uint32_t worker) const noexcept;
  void forget(uint32_t worker, uint64_t id) noexcept;
  void wake_for(const WorkerGroups &, uint32_t worker, uint32_t from, double now, consort_wake *) const noexcept;
  double now() const noexcept { return static_cast<double>(host_->now(host_)); }

  const Settings &settings_;
  const consort_host *const host_;
  const consort_sched_host *const models_;  // nullptr: the host has no models
  const bool tells_;                   // the host records decisions
  Serving serving_;

  mutable SpinLock lock_;                   // guards what follows
  std::vector<WorkerState> states_;                 // by worker
  std::vector<Mark> marks_;                 // by worker
  std::array<uint32_t, 64> queued_{};       // by class: tasks in the queues of its workers
  Pool pool_;
  Queue strays_;                            // tasks without an eligible worker
  uint64_t seq_ = 0, turns_ = 0;
  std::unique_ptr<Graph> graph_;            // has its own lock
};

}  // namespace dm
