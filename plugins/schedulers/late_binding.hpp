// late_binding.hpp — base class of policies with late binding: a task is bound to a worker only when that worker pops. Ready tasks wait
// by kind; ranks (critical path lengths) order them; popped, unfinished tasks are recorded per worker.
//
// A policy derives from it and chooses. One lock guards all state; it is held for a decision, and no blocking function is called
// under it. Any thread pushes, a worker's owner pops; the rest is [control]. Memory grows with the largest number of waiting
// tasks, and is kept.
#pragma once
#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "estimates.hpp"
#include "graph.hpp"
#include "task_kinds.hpp"
#include "area_bound.hpp"
#include "serving.hpp"

namespace policies {

// When a unit leaves a task to a class of units that loses less on it: if the task's rank plus the time of the class's waiting tasks is
// below a share of the remaining time.
struct Deferral {
  double share = 0.4;                          // that share
  double queue = 1;                            // weight of the waiting tasks: more arrive while they run
  double loose = 1;                            // factor on the area bound, for gaps in the schedule
};

// Meaning of a task's priority, and of the place of its data.
struct Urgency {
  bool strict = true;                          // a task precedes all tasks of lower priority
  double worth = 0;                            // otherwise: rank of the highest priority seen, in run times of the task
  bool homes = false;                          // tasks wait for the units that have their data, if they end sooner there
};

class LateBinding {
 public:
  // ahead: number of long tasks that a worker holds at a time
  LateBinding(const consort_host *, const consort_topology &, uint64_t epoch, uint32_t ahead, Deferral = {}, Urgency = {});
  virtual ~LateBinding() = default;

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

 protected:
  static constexpr uint32_t kPopped = 16;         // popped tasks recorded per worker
  static constexpr uint32_t kLook = 64;        // at most so many tasks of a kind are compared
  static constexpr uint32_t kAsked = 12;       // of these, transfer times are queried for so many
  static constexpr uint32_t kClasses = 64;
  static constexpr uint32_t kSome = 16;
  static constexpr uint32_t kAlways = ~uint32_t{0};
  static constexpr double kSoon = 200e3;       // ns of work that may wait at a worker beside the running task
  // Weight of moving data that a task writes. Moved elsewhere, they are lost to the tasks that write them next; data that are only
  // read stay valid in both places.
  static constexpr double kStays = 4;
  // Above this share of the remaining time, only a task's own transfer time counts.
  static constexpr double kUrgent = 1.5;

  struct Popped {
    uint64_t id;
    double at;                                 // ns: time of the pop
    float exec, rank;
    uint32_t kind, place;                      // place: position in the graph
    bool started, known, tried;                // tried: popped to learn its time
  };
  struct alignas(64) WorkerState {  // of one worker
    uint32_t running = 0;
    double since = 0;                          // start of the oldest running task, if known
    Popped popped[kPopped];                             // popped, unfinished tasks, oldest first: npopped_ of them
  };
  struct EmptySearch {                             // of one group
    uint64_t change = 0;
    double at = 0;
  };
  struct Found {
    Node *node = nullptr;
    uint32_t kind = 0;
  };

  // -- decisions of a policy; called under the lock --
  virtual Found choose(const WorkerGroups &, uint32_t worker, double now) noexcept = 0;
  virtual bool would_take(const WorkerGroups &, uint32_t group, double now) noexcept = 0;  // an idle worker of the group
  virtual bool prefetches_successors() const noexcept { return false; }  // whether to prefetch data of successors while units are idle
  virtual void queued(Node *) noexcept {}      // the node was added to its kind's queue
  virtual void gone(Node *) noexcept {}        // the node is about to leave its kind's queue
  virtual void taken(const WorkerGroups &, uint32_t /*worker*/, Node *) noexcept {}  // the node was chosen for this worker

  // Among the first tasks of kinds with this priority, finds the one with the greatest rank minus weighted transfer cost. The weight
  // grows with data stalls of the units and with the ratio of transfer to computation.
  struct Search {
    Search(LateBinding &, const WorkerGroups &, uint32_t worker, double now, int32_t priority, double near, uint32_t look,
           double beta) noexcept;
    void look_at(uint32_t kind, double floor) noexcept;  // considers tasks with a rank above floor
    Found best;

   private:
    double cost(const Node *, double ns) const noexcept;

    LateBinding &policy_;
    const WorkerGroups &served_;
    const double now_;
    const uint32_t worker_, group_, space_, look_;
    const bool may_leave_;
    const int32_t priority_;
    const double weight_, stays_, congestion_, urgent_;
    double score_;
  };

  const WorkerGroups &served() const noexcept { return serving_.served(); }
  Found task_at_home(uint32_t group) noexcept;  // of slow units
  // Records that a search for idle units of this group found nothing, without a reason on the host's side. While nothing changes, the
  // next idle unit that pops at the same time skips the search.
  void found_nothing(uint32_t group, double now) noexcept { nothing_[group] = {change_, now}; }
  bool finds_nothing(uint32_t group, double now) const noexcept {
    return nothing_[group].change == change_ && nothing_[group].at == now;
  }
  void changed() noexcept { ++change_, remaining_at_ = -1; }  // the waiting tasks, the popped tasks or their starts
  bool has_fast_task(uint32_t group) const noexcept {
    for (const Kind &k : kinds_.all())
      if (k.nready && k.can(group) && k.fast_on(group)) return true;
    return false;
  }
  Found unknown(uint32_t group, double now) noexcept;
  // The best task of the kinds that this worker runs about as fast as any, without tasks left to others.
  Found most_urgent(const WorkerGroups &, uint32_t worker, double now, double near, uint32_t look, double beta = 1) noexcept;
  // A task that a slow unit may take without delaying the end: of the kind that loses least here, the task with the smallest rank.
  // slack: share of the remaining time that the task may take.
  Found slack_task(const WorkerGroups &, uint32_t group, double now, double slack) noexcept;
  double remaining_ns(const WorkerGroups &, double now) noexcept;
  bool is_full(uint32_t space) const noexcept;
  double ns_per_byte(uint32_t group) const noexcept { return group < ns_per_byte_.size() ? ns_per_byte_[group] : 0; }
  // Tasks up to this rank can wait for slower units, which lose less on the kind. -1: none.
  double rank_floor(const WorkerGroups &, const Kind &, uint32_t group, double now) noexcept;
  // Whether the kind's tasks would end sooner on idle units that will pop them; then this worker leaves them.
  bool leaves_to_faster(const WorkerGroups &, const Kind &, uint32_t worker, double now) const noexcept;
  // Whether a popped task of the worker is running, so that the worker pops again at its end. A worker whose popped tasks all wait
  // for exclusive access takes any task, because they may wait for a task that is ready here.
  bool will_pop_again(uint32_t worker) const noexcept;
  // Whether the worker has no popped task, or none after which it pops: then it takes a task rather than leaving it.
  bool is_idle(uint32_t worker) const noexcept { return !npopped_[worker] || !will_pop_again(worker); }
  uint32_t idle_in(const WorkerGroups &, uint32_t group) const noexcept;
  uint32_t free_before(const WorkerGroups &, uint32_t group, double now, double ns, uint32_t most) const noexcept;
  // Free places for the kind on units that run it fast, at which a task ends within `ns`.
  uint32_t vacant(const WorkerGroups &, const Kind &, double ns, double now) const noexcept;

  const consort_host *const host_;
  const consort_sched_host *const models_;     // nullptr: the host has no models
  const decltype(consort_sched_host::lacking) lacking_;  // nullptr: the host lacks it
  const uint32_t ahead_;
  const Deferral deferral_;
  const Urgency urgency_;
  Serving serving_;

  mutable SpinLock lock_;                      // guards what follows
  std::vector<WorkerState> states_;                    // by worker
  std::vector<uint32_t> npopped_;                 // by worker; contiguous for scans over all workers
  std::vector<uint64_t> idle_bits_;            // bit set of workers without popped tasks
  std::vector<uint64_t> not_running_;           // bit set of workers without a running task
  std::vector<double> remaining_;                    // by worker: remaining_of(), at version remaining_version_ of the kinds' times
  std::vector<double> remaining_max_;               // maximum of each kSome of these
  std::vector<int32_t> idle_;                  // by group: number of idle workers, approximate while workers change
  std::vector<float> ns_per_byte_;                    // by group: average ns per byte from the other groups
  TaskKinds kinds_;
  Pool pool_;
  uint64_t seq_ = 0;
  uint32_t nready_ = 0;
  uint32_t changes_ = kAlways;                 // changes of the unstarted tasks since it was set to 0
  struct DataStalls {  // of units of one class, decaying
    double waited = 0, worked = 0;             // ns of waiting for data with work at hand; ns of work
    double share() const noexcept { return waited > 0 ? waited / (waited + worked) : 0; }
  };
  DataStalls stalls_[kClasses];                      // the last entry covers all further classes
  DataStalls &stalls_of(const WorkerGroups &served, uint32_t group) noexcept {
    return stalls_[std::min(served.groups[group].klass, kClasses - 1)];
  }

 private:
  void request_location_records(const WorkerGroups &, const consort_task *first) noexcept;
  double drained_ns(const WorkerGroups &, const Kind &) const noexcept;
  std::pair<double, double> ways(const WorkerGroups &, const Kind &, const consort_task *, uint32_t group) const noexcept;
  void prefetch_successors(const WorkerGroups &, const consort_task *, double now, double end) noexcept;
  // Whether a worker of another group, in another memory than the first group's, is idle.
  bool idle_elsewhere(const WorkerGroups &served, uint32_t group) const noexcept {
    for (uint32_t g = 0; g < idle_.size() && g < served.groups.size(); ++g)
      if (g != group && idle_[g] > 0 && served.spaces[g] != served.spaces[0]) return true;
    return false;
  }
  static uint64_t changed_by(const consort_task *) noexcept;
  void publish(Members &&, const consort_topology &);
  double area_ns(const WorkerGroups &) noexcept;
  double remaining_of(uint32_t worker) const noexcept;
  void update_remaining(uint32_t worker) noexcept;
  void update_all_remaining() noexcept;
  bool has_enough(const WorkerGroups &, uint32_t worker) const noexcept;
  void wake(const WorkerGroups &, const consort_push &, double now) noexcept;
  void take(Kind &, Node *) noexcept;
  double busy_ns(const WorkerGroups &, uint32_t group, double now) const noexcept;
  void settle_home(const WorkerGroups &, Kind &, Node *, const uint64_t *lacks, double now) noexcept;
  void leave_home(Kind &, Node *) noexcept;
  bool has_home(const Node *n) const noexcept { return n->home < home_ns_.size() && n->group_change == groups_change_; }
  bool ends_sooner_at_home(const WorkerGroups &, const Node *, uint32_t worker, double ns, double way, double now) const noexcept;
  void see_priority(int32_t its) noexcept {
    least_priority_ = std::min(least_priority_, its);
    most_priority_ = std::max(most_priority_, its);
  }
  bool all_idle(const WorkerGroups &served) const noexcept {
    for (uint32_t g = 0; g < idle_.size() && g < served.groups.size(); ++g)
      if (idle_[g] < static_cast<int32_t>(served.groups[g].count)) return false;
    return true;
  }
  void weigh_priority(const Kind &, Node *) noexcept;
  void locate(const WorkerGroups &, const Kind &, Node *, const uint64_t *lacks) const noexcept;
  void set_idle(const WorkerGroups &served, uint32_t worker, bool idle) noexcept {  // idle differs from before
    idle_bits_[worker / 64] ^= uint64_t{1} << worker % 64;
    if (served.serves(worker) && served.group_of[worker] < idle_.size()) idle_[served.group_of[worker]] += idle ? 1 : -1;
  }
  void update_not_running(uint32_t worker) noexcept {
    const uint64_t bit = uint64_t{1} << worker % 64;
    uint64_t &word = not_running_[worker / 64];
    word = states_[worker].running ? word & ~bit : word | bit;
  }
  void believe(const WorkerGroups &, uint32_t worker, const consort_done &, double now) noexcept;
  bool forget(uint32_t worker, uint64_t id, uint32_t *place = nullptr) noexcept;  // false: not recorded
  void forget_unreported(uint32_t worker) noexcept;
  double now() const noexcept { return static_cast<double>(host_->now(host_)); }
  double free_at(uint32_t worker, double now) const noexcept;

  std::vector<EmptySearch> nothing_;               // by group
  std::vector<double> home_ns_;                // by group: run time of the ready tasks that have their home there
  uint32_t groups_change_ = 0;                 // the groups that homes refer to
  uint64_t change_ = 1;
  int32_t least_priority_ = std::numeric_limits<int32_t>::max(), most_priority_ = std::numeric_limits<int32_t>::min();  // seen
  std::vector<double> rows_;                   // scratch of area_ns(), reserved for the largest case
  double area_ = 0, price_[kClasses];          // dual prices of a ns of each class's units
  double congestion_ = 1;                           // weight of transfers by the overall ratio of transfer to computation
  double longest_ = 0;                         // the longest path of remaining_ns(), without the area
  double remaining_at_ = -1, remaining_total_ = 0;             // cached remaining_ns() and its time; -1: stale
  uint32_t remaining_version_ = 0;                     // TaskKinds::times() at the last update
  bool priced_ = false;
  std::atomic<bool> records_requested_{false};              // request_location_records() was called; relaxed: a second call is harmless
  Graph graph_;                                // has its own lock
};

}  // namespace policies

#include "late_binding_prefetch.hpp"
#include "late_binding_remaining.hpp"
#include "late_binding_home.hpp"
#include "late_binding_impl.hpp"
#include "late_binding_search.hpp"
