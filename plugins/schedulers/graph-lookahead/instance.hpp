// instance.hpp — one instance of lookahead: what is ready waits by its kind, and is bound to a worker only when that
// comes for it.
//
// A worker that does a kind about as fast as any takes the task on which most hangs, less what bringing its data costs.
// A worker that does it slower takes it if the end of all that is known is so far away that it does not come later by
// it: of those the kind that loses least, and of that kind the task on which least hangs. One lock guards all; it is
// held for a decision, and nothing that may wait is called under it. Any thread pushes, a worker's owner pops; the rest
// is [control]. Memory grows with the most that ever waited, and stays.
#pragma once
#include <atomic>
#include <memory>

#include "../graph.hpp"
#include "kinds.hpp"

namespace lookahead {

struct Settings {
  double near = 8;      // how much more the way of data counts when units wait for theirs
  double slack = 1;     // part of the time to the end that a task may take up where it is slow
  uint32_t look = 64;   // tasks of a kind that are compared
  uint32_t ahead = 2;   // tasks in flight on a fast unit
};

class Instance {
 public:
  Instance(const Settings &, const consort_host *, const consort_topology &, uint64_t epoch);

  consort_status workers(const consort_topology &, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd);
  uint32_t push(const consort_push &) noexcept;
  uint32_t pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept;
  uint32_t drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept;
  consort_status quiesce(uint64_t deadline) noexcept;
  uint32_t dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept;
  void started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept;
  void finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept;
  void submitted(const consort_task *const *tasks, uint32_t n) noexcept;
  const consort_host *host() const noexcept { return host_; }

 private:
  static constexpr uint32_t kOut = 16;       // popped tasks that are remembered of a worker
  static constexpr uint32_t kClasses = 64, kLook = 64;
  static constexpr uint32_t kAlways = ~uint32_t{0};
  static constexpr double kSoon = 200e3;     // ns of work that may wait at a worker beside what it does

  struct Out {
    uint64_t id;
    double at;                               // ns: when it was handed out, then when it was issued
    float exec, rank;
    uint32_t kind;
    bool started, known;
  };
  struct Seat {                              // of a worker
    Out out[kOut];                           // popped, not ended; the oldest first
    uint32_t nout = 0, running = 0;
    double since = 0;                        // when the first of those that run began, as far as is known

    double work() const noexcept {
      double all = 0;
      for (uint32_t i = 0; i < nout; ++i) all += out[i].exec;
      return all;
    }
    double end(double now) const noexcept {  // when it is through
      return nout == 0 ? now : std::max(now, (running ? since : now) + work());
    }
  };
  struct alignas(policies::kLine) Line {
    policies::Visitors visitors;             // calls of one worker's owner
  };

  const Crew &crew() const noexcept { return *crew_.load(std::memory_order_seq_cst); }  // pairs with publish()
  void publish(Crew &&);
  policies::Visitors &visitors_of(uint32_t worker) noexcept;
  bool nobody_inside(uint64_t deadline) const noexcept;

  // -- under the lock --
  struct Found {
    Node *node = nullptr;
    uint32_t kind = 0;
  };
  Found choose(const Crew &, uint32_t worker, double now) noexcept;
  bool would_take(const Crew &, uint32_t group, double now) noexcept;
  Found unknown(uint32_t group) noexcept;
  Found most_urgent(const Crew &, uint32_t group) noexcept;
  Found costs_nothing(const Crew &, uint32_t group, double now) noexcept;
  uint32_t vacant(const Crew &, const Kind &) const noexcept;
  double left_ns(const Crew &, double now) noexcept;
  double area_ns() noexcept;
  bool has_enough(const Crew &, uint32_t worker, const Seat &) const noexcept;
  void wake(const Crew &, const consort_push &, double now) noexcept;
  void take(Kind &, Node *) noexcept;
  bool forget(uint32_t worker, uint64_t id) noexcept;  // was it there?
  double now() const noexcept { return static_cast<double>(host_->now(host_)); }

  const Settings &settings_;
  const consort_host *const host_;
  const consort_sched_host *const models_;   // nullptr: this host has none
  std::atomic<uint64_t> epoch_;
  std::atomic<const Crew *> crew_{nullptr};
  std::vector<std::unique_ptr<Crew>> crews_;  // all there were; [control]
  std::vector<std::unique_ptr<Line>> lines_;  // by worker; [control], read through the crew's count
  std::atomic<Line *const *> line_of_{nullptr};
  std::vector<std::vector<Line *>> line_tables_;
  alignas(policies::kLine) policies::Visitors outsiders_;

  mutable policies::SpinLock lock_;          // guards what follows
  std::vector<Seat> seats_;                  // by worker
  std::vector<uint32_t> class_count_;        // workers by class
  Kinds kinds_;
  dm::Pool pool_;
  uint64_t seq_ = 0;
  uint32_t nready_ = 0;
  uint32_t changes_ = kAlways;                     // of what is left, since its area was computed
  double area_ = 0, price_[kClasses];
  bool priced_ = false;
  double waited_ = 0, worked_ = 0;           // ns that workers had something to do and no data for it; and had both
  dm::Graph graph_;                          // has a lock of its own
};

}  // namespace lookahead
