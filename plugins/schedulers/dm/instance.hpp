// instance.hpp — one instance of this family: a queue for each worker, and when each worker is expected to be through.
//
// A task goes, when it becomes ready, to the worker where it ends soonest by the models (and by what the data's way
// there costs). What is expected of a worker is put right whenever a task starts or ends there. One lock of its own
// guards all; it is held for a decision or a step in a queue, and no call that may wait is made under it. Any thread
// pushes, a worker's owner pops; the rest is [control]. Memory grows with the most that ever waited, and stays.
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

using namespace policies;  // what is shared

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
  static constexpr uint32_t kOut = 16;     // popped tasks that are remembered of a worker
  static constexpr uint32_t kLook = 16;    // queued tasks that one pop looks at for their data

  struct Out {
    uint64_t id;
    float exec;
    bool started;
    const TeamGroup::One *team;            // which this worker leads for it; nullptr: it runs here alone
  };
  struct Seat {  // of a worker; guarded by lock_
    Queue queue;
    Out out[kOut];                         // popped, not ended; the oldest first: Mark::nout
    uint32_t running = 0;
    uint32_t unknown = 0;                  // queued ones that no model knows
    float usual = 0;                       // ns of a task here, lately
    double lent = 0;                       // ns of tasks that teams are to run, of which this worker is one that does not lead

    double queued() const noexcept { return queue.sum() + lent; }
  };
  // What a decision reads of every worker, side by side: a look at all of them touches few cache lines.
  struct Mark {
    double end = 0;                        // ns of host->now(): when all that it has is done, as told last
    double queued = 0;                     // Seat::queued(), noted whenever that changes
    uint32_t waiting = 0, nout = 0;        // in its queue; popped, not ended
  };
  struct Choice {
    uint32_t worker = CONSORT_NONE, group = 0, impl = CONSORT_NONE;
    float exec = 0, transfer = 0;
    uint64_t mask = 0, groups = 0;
    bool known = true;
    const TeamGroup::One *team = nullptr;
    double end = 0;                        // of a team's
  };

  const Crew &crew() const noexcept { return serving_.crew(); }
  void publish(Members &&, const consort_topology &);

  void place(const Crew &, consort_task *const *tasks, uint32_t n, uint32_t from, uint32_t flags,
             consort_wake *) noexcept;
  Choice choose(const Crew &, const consort_task *, const Estimates &, uint32_t index, double now) noexcept;
  double through_at(uint32_t worker, double now) const noexcept;
  double free_at(uint32_t worker, const consort_task *, double now) const noexcept;
  void note(uint32_t worker) noexcept {    // its queue, or what it lends, is another
    marks_[worker].queued = seats_[worker].queued();
  }
  const TeamGroup::One *soonest(const TeamGroup &, const consort_task *, double now, double *at) const noexcept;
  void lend(const TeamGroup::One &, float ns) noexcept;
  uint32_t soonest(const Crew &, const Group &, const consort_task *, double now, double *at) const noexcept;
  uint32_t &queued_beside(uint32_t worker) noexcept { return queued_[crew().members.klass[worker] % queued_.size()]; }
  void insert(Node *, const Choice &) noexcept;
  Node *next_of(const Crew &, uint32_t worker) noexcept;
  Node *steal(const Crew &, uint32_t worker, double now) noexcept;
  void take(Node *) noexcept;
  void hand_out(uint32_t worker, Node *, double now, consort_pick *) noexcept;
  bool has_enough(const Crew &, uint32_t worker) const noexcept;
  void forget(uint32_t worker, uint64_t id) noexcept;
  void wake_for(const Crew &, uint32_t worker, uint32_t from, double now, consort_wake *) const noexcept;
  double now() const noexcept { return static_cast<double>(host_->now(host_)); }

  const Settings &settings_;
  const consort_host *const host_;
  const consort_sched_host *const models_;  // nullptr: this host has none
  const bool tells_;                   // the host wants to know what was decided
  Serving serving_;

  mutable SpinLock lock_;                   // guards what follows
  std::vector<Seat> seats_;                 // by worker
  std::vector<Mark> marks_;                 // by worker
  std::array<uint32_t, 64> queued_{};       // by class: tasks in the queues of its workers
  Pool pool_;
  Queue strays_;                            // what nobody can run just now
  uint64_t seq_ = 0, turns_ = 0;
  std::unique_ptr<Graph> graph_;            // has a lock of its own
};

}  // namespace dm
