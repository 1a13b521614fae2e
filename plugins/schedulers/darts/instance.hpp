// instance.hpp — one instance of darts: for units with short memory, it first chooses the data to load, then
// the tasks that they enable. Threads, the lock and memory: late_binding.hpp.
#pragma once
#include <array>

#include "../late_binding.hpp"
#include "uses.hpp"

namespace darts {

using policies::WorkerGroups, policies::Group, policies::Kind, policies::TaskKinds, policies::Node;

struct Settings {
  uint32_t look = 256;   // ready tasks of a kind that a choice compares
  uint32_t plan = 16;    // tasks per plan
  uint32_t ahead = 2;    // tasks in flight on a fast unit
  double near = 4;       // weight of transfer time while units stall for data, if memory is not short
  double critical = 0.3; // share of the remaining time: tasks with a larger rank precede all others
  bool least_used = false;  // evict the least used data first; else the kernel's order
  policies::Urgency urgency{.strict = false, .worth = 1, .homes = true};
  policies::Weights weights;
};

class Instance final : public policies::LateBinding {
 public:
  Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
      : LateBinding(host, t, epoch, settings.ahead, {.loose = 1.1}, settings.urgency), settings_(settings) {
    kinds_.weigh(settings.weights);
  }
  void submitted(const consort_task *const *tasks, uint32_t n) noexcept;
  uint32_t dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept;
  uint32_t drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept;
  uint32_t victim(uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n, uint32_t *order) noexcept;

 private:
  static constexpr uint32_t kMost = 512, kHelps = 8192, kPlan = 64, kGroups = TaskKinds::kGroups;

  struct Plan {                     // the tasks that a group will take, in this order
    Node *nodes[kPlan];
    uint32_t n = 0;
  };
  struct Candidate {
    Node *node;
    uint32_t lacks;                 // number of missing data
    uint64_t bits;                  // the accesses
  };

  struct Help {                     // per datum: number of candidates that lack it, in this round
    uint64_t datum;
    uint32_t round, count;
  };

  // -- under the lock --
  Found choose(const WorkerGroups &, uint32_t worker, double now) noexcept override;
  bool prefetches_successors() const noexcept override { return true; }
  bool would_take(const WorkerGroups &, uint32_t group, double now) noexcept override;
  void gone(Node *) noexcept override;
  void taken(const WorkerGroups &, uint32_t worker, Node *) noexcept override;
  bool open(const WorkerGroups &, const Kind &, uint32_t group) const noexcept;
  bool short_of(uint32_t space) const noexcept;
  bool make_plan(const WorkerGroups &, uint32_t group, int32_t priority, double now) noexcept;
  uint32_t candidates(const WorkerGroups &, uint32_t group, int32_t priority) noexcept;
  bool relieve(const WorkerGroups &, uint32_t group, int32_t priority) noexcept;
  bool leaves_to_others(const WorkerGroups &, uint32_t group) const noexcept;
  void give_up(Plan &) noexcept;
  void count(const consort_task *, bool more) noexcept;

  const Settings &settings_;
  Uses uses_;
  uint64_t bytes_ = 0;              // total size of all data with pending uses
  std::array<Plan, kGroups> plans_;
  uint32_t &help(uint64_t datum) noexcept;

  std::array<Help, kHelps> helps_{};
  uint32_t round_ = 0, nhelps_ = 0;
  uint32_t help_of_others_ = 0;     // of data beyond the table's capacity
  Candidate some_[kMost];           // scratch of one choice
};

}  // namespace darts
