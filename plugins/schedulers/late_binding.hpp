// late_binding.hpp — what policies have in common that bind a task to a worker only when that comes for it: what is ready
// waits by its kind, each worker has what it was handed out, ranks say what hangs on a task.
//
// A policy is a class over it that chooses. One lock guards all; it is held for a decision, and nothing that may wait
// is called under it. Any thread pushes, a worker's owner pops; the rest is [control]. Memory grows with the most that
// ever waited, and stays.
#pragma once
#include <algorithm>
#include <atomic>
#include <mutex>

#include "estimates.hpp"
#include "graph.hpp"
#include "task_kinds.hpp"
#include "prices.hpp"
#include "serving.hpp"

namespace policies {

// How long what costs others less is left to them: as long as what hangs on it and those that wait for these others
// take up less than a part of the time to the end.
struct Patience {
  double share = 0.4;                          // that part
  double queue = 1;                            // how often those that wait count: while they are done more of them come
  double loose = 1;                            // how much longer all work takes than if units did it without a gap
};

class Late {
 public:
  // ahead: tasks that a worker is given at once, if they take long
  Late(const consort_host *, const consort_topology &, uint64_t epoch, uint32_t ahead, Patience = {});
  virtual ~Late() = default;

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
  static constexpr uint32_t kOut = 16;         // popped tasks that are remembered of a worker
  static constexpr uint32_t kLook = 64;        // tasks of a kind that are compared, at most
  static constexpr uint32_t kAsked = 12;       // of these, whose copies' time is asked for
  static constexpr uint32_t kClasses = 64;
  static constexpr uint32_t kSome = 16;
  static constexpr uint32_t kAlways = ~uint32_t{0};
  static constexpr double kSoon = 200e3;       // ns of work that may wait at a worker beside what it does
  // What a task changes stays where it is changed next; brought elsewhere it is lost to those, while what is only read
  // is there for all that read it later. So the way of the former counts that much more.
  static constexpr double kStays = 4;
  // From which part of the time to the end on nothing but its own time counts of a task's way.
  static constexpr double kUrgent = 1.5;

  struct Out {
    uint64_t id;
    double at;                                 // ns: when it was handed out, then when it was issued
    float exec, rank;
    uint32_t kind, place;                      // place: in the graph
    bool started, known;
  };
  struct alignas(64) Seat {                    // of a worker
    uint32_t running = 0;
    double since = 0;                          // when the first of those that run began, as far as is known
    Out out[kOut];                             // popped, not ended; the oldest first: nout_ of them
  };
  struct Nothing {                             // of a group
    uint64_t change = 0;
    double at = 0;
  };
  struct Found {
    Node *node = nullptr;
    uint32_t kind = 0;
  };

  // -- what a policy says; all of it under the lock --
  virtual Found choose(const Crew &, uint32_t worker, double now) noexcept = 0;
  virtual bool would_take(const Crew &, uint32_t group, double now) noexcept = 0;  // an idle one of these
  virtual bool brings_ahead() const noexcept { return false; }  // data of what follows, while others do nothing
  virtual void queued(Node *) noexcept {}      // is in its kind's queue now
  virtual void gone(Node *) noexcept {}        // is about to leave it
  virtual void taken(const Crew &, uint32_t /*worker*/, Node *) noexcept {}  // chosen, about to leave for this worker

  // Among the foremost of kinds that have this priority, the one on which most hangs, less what its data's way costs:
  // the more, the more units stand still for want of theirs, and the more there is to carry for each ns of work.
  struct Search {
    Search(Late &, const Crew &, uint32_t group, double now, int32_t priority, double near, uint32_t look,
           double beta) noexcept;
    void look_at(uint32_t kind, double floor) noexcept;  // those of more rank than this
    Found best;

   private:
    double cost(const Node *, double ns) const noexcept;

    Late &late_;
    const uint32_t group_, space_, look_;
    const int32_t priority_;
    const double weight_, stays_, crowd_, urgent_;
    double score_;
  };

  const Crew &crew() const noexcept { return serving_.crew(); }
  // There was nothing for units of this group that have nothing to do, and it was not the host who said so: as long as
  // nothing changes the next one of them, who asks at the same time, need not look.
  void found_nothing(uint32_t group, double now) noexcept { nothing_[group] = {change_, now}; }
  bool finds_nothing(uint32_t group, double now) const noexcept {
    return nothing_[group].change == change_ && nothing_[group].at == now;
  }
  void changed() noexcept { ++change_, left_at_ = -1; }  // what is known: what waits, who has what, when it began
  bool waits_at_home(uint32_t group) const noexcept {
    for (const Kind &k : kinds_.all())
      if (k.nready && k.can(group) && k.at_home(group)) return true;
    return false;
  }
  Found unknown(uint32_t group) noexcept;
  // Of what this worker does about as fast as any and is not left to others.
  Found most_urgent(const Crew &, uint32_t worker, double now, double near, uint32_t look, double beta = 1) noexcept;
  // What a unit that does it slowly may take and the end does not come later by it: the kind that loses least here, of
  // that the task on which least hangs. slack: part of the time to the end that it may take up.
  Found costs_nothing(const Crew &, uint32_t group, double now, double slack) noexcept;
  double left_ns(const Crew &, double now) noexcept;
  bool is_full(uint32_t space) const noexcept;
  double pace(uint32_t group) const noexcept { return group < pace_.size() ? pace_[group] : 0; }
  // Those of no more rank than this can wait for units that take longer for the kind, and yet lose less by it.
  double floor_of(const Crew &, const Kind &, uint32_t group, double now) noexcept;
  // Would it end sooner on units that have nothing to do and come for it? Then it is left to them.
  bool awaits_quicker(const Crew &, const Kind &, uint32_t worker, double now) const noexcept;
  // Does something that it was handed out go on? Then it asks again when that ends. Tasks that wait for exclusive access
  // may wait for a task that is ready here, so a worker that has these alone refuses nothing.
  bool asks_again(uint32_t worker) const noexcept;
  uint32_t idle_in(const Crew &, uint32_t group) const noexcept;
  // Places that units which do it well have free for it just now.
  uint32_t vacant(const Crew &, const Kind &) const noexcept;

  const consort_host *const host_;
  const consort_sched_host *const models_;     // nullptr: this host has none
  const decltype(consort_sched_host::lacking) lacking_;  // nullptr: this host does not tell
  const uint32_t ahead_;
  const Patience patience_;
  Serving serving_;

  mutable SpinLock lock_;                      // guards what follows
  std::vector<Seat> seats_;                    // by worker
  std::vector<uint32_t> nout_;                 // by worker; side by side, for those who look at all
  std::vector<uint64_t> idle_bits_;            // the same by bits: those that have none
  std::vector<uint64_t> still_bits_;           // by worker: none that it was handed out has started, or goes on
  std::vector<double> far_;                    // by worker: farthest() of it, with the times that far_times_ stands for
  std::vector<double> far_most_;               // of each kSome of these the largest
  std::vector<int32_t> idle_;                  // by group: how many have none, about, while workers come and go
  std::vector<float> pace_;                    // by group: ns of a byte's way from the other groups, on the average
  Kinds kinds_;
  Pool pool_;
  uint64_t seq_ = 0;
  uint32_t nready_ = 0;
  uint32_t changes_ = kAlways;                 // of what is left, since somebody set it to 0
  struct Waits {                               // of units of one class, lately
    double waited = 0, worked = 0;             // ns in which they had something to do and no data for it; and had both
    double share() const noexcept { return waited > 0 ? waited / (waited + worked) : 0; }
  };
  Waits waits_[kClasses];                      // the last one is that of all beyond
  Waits &waits_of(const Crew &crew, uint32_t group) noexcept {
    return waits_[std::min(crew.groups[group].klass, kClasses - 1)];
  }

 private:
  void wants_records(const Crew &, const consort_task *first) noexcept;
  void bring_ahead(const Crew &, const consort_task *, double now, double end) noexcept;
  // Somebody who is not of this group, in another memory than the first's, has nothing to do.
  bool idle_elsewhere(const Crew &crew, uint32_t group) const noexcept {
    for (uint32_t g = 0; g < idle_.size() && g < crew.groups.size(); ++g)
      if (g != group && idle_[g] > 0 && crew.spaces[g] != crew.spaces[0]) return true;
    return false;
  }
  static uint64_t changed_by(const consort_task *) noexcept;
  void publish(Members &&, const consort_topology &);
  double area_ns(const Crew &) noexcept;
  double farthest(uint32_t worker) const noexcept;
  void set_far(uint32_t worker) noexcept;
  void set_all_far() noexcept;
  bool has_enough(const Crew &, uint32_t worker) const noexcept;
  void wake(const Crew &, const consort_push &, double now) noexcept;
  void take(Kind &, Node *) noexcept;
  void locate(const Crew &, const Kind &, Node *, const uint64_t *lacks) const noexcept;
  void set_idle(const Crew &crew, uint32_t worker, bool idle) noexcept {  // it was the other way
    idle_bits_[worker / 64] ^= uint64_t{1} << worker % 64;
    if (crew.serves(worker) && crew.group_of[worker] < idle_.size()) idle_[crew.group_of[worker]] += idle ? 1 : -1;
  }
  void set_still(uint32_t worker) noexcept {
    const uint64_t bit = uint64_t{1} << worker % 64;
    uint64_t &word = still_bits_[worker / 64];
    word = seats_[worker].running ? word & ~bit : word | bit;
  }
  bool forget(uint32_t worker, uint64_t id, uint32_t *place = nullptr) noexcept;  // was it there?
  double now() const noexcept { return static_cast<double>(host_->now(host_)); }
  double free_at(uint32_t worker, double now) const noexcept;

  std::vector<Nothing> nothing_;               // by group
  uint64_t change_ = 1;
  std::vector<double> rows_;                   // of area_ns(), as large as it needs at most
  double area_ = 0, price_[kClasses];          // what a ns of a class's units is worth beside one of another's
  double crowd_ = 1;                           // how much more the way of data counts where all of it is a lot
  double left_at_ = -1, left_ = 0;             // left_ns() of that time; -1: something has changed since
  uint32_t far_times_ = 0;                     // of Kinds
  bool priced_ = false;
  std::atomic<bool> told_{false};              // wants_records(); relaxed: twice does no harm
  Graph graph_;                                // has a lock of its own
};

}  // namespace policies

#include "late_binding_prefetch.hpp"
#include "late_binding_remaining.hpp"
#include "late_binding_impl.hpp"
#include "late_binding_search.hpp"
