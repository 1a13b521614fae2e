// instance.hpp — one instance of darts: for units whose memory is short, what to load next is chosen first, and then
// the tasks that this makes possible. Threads, the lock and memory: late_binding.hpp.
#pragma once
#include <array>

#include "../late_binding.hpp"
#include "uses.hpp"

namespace darts {

using policies::Crew, policies::Group, policies::Kind, policies::Kinds, policies::Node;

struct Settings {
  uint32_t look = 256;   // ready tasks that a choice looks at
  uint32_t plan = 16;    // tasks that are planned at once
  uint32_t ahead = 2;    // tasks in flight on a fast unit
  double near = 4;       // where memory is not short: how much more the way of data counts when units wait for theirs
  double critical = 0.3; // of the time to the end: on what so much hangs goes before all else
  bool least_used = false;  // what is used least goes first; else the kernel's order
  policies::Weights weights;
};

class Instance final : public policies::Late {
 public:
  Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
      : Late(host, t, epoch, settings.ahead, {.loose = 1.1}), settings_(settings) {
    kinds_.weigh(settings.weights);
  }
  void submitted(const consort_task *const *tasks, uint32_t n) noexcept;
  uint32_t dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept;
  uint32_t drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept;
  uint32_t victim(uint32_t space, uint64_t bytes, const consort_replica *, uint32_t n, uint32_t *order) noexcept;

 private:
  static constexpr uint32_t kMost = 512, kHelps = 8192, kPlan = 64, kGroups = Kinds::kGroups;

  struct Plan {                     // of a group; what it is to take, in this order
    Node *nodes[kPlan];
    uint32_t n = 0;
  };
  struct Candidate {
    Node *node;
    uint32_t lacks;                 // how many data
    uint64_t bits;                  // which
  };

  struct Help {                     // of a datum: candidates that lack it, in this round
    uint64_t datum;
    uint32_t round, count;
  };

  // -- under the lock --
  Found choose(const Crew &, uint32_t worker, double now) noexcept override;
  bool brings_ahead() const noexcept override { return true; }
  bool would_take(const Crew &, uint32_t group, double now) noexcept override;
  void gone(Node *) noexcept override;
  void taken(const Crew &, uint32_t worker, Node *) noexcept override;
  bool open(const Crew &, const Kind &, uint32_t group) const noexcept;
  bool short_of(uint32_t space) const noexcept;
  bool make_plan(const Crew &, uint32_t group, int32_t priority, double now) noexcept;
  uint32_t candidates(const Crew &, uint32_t group, int32_t priority) noexcept;
  bool relieve(const Crew &, uint32_t group, int32_t priority) noexcept;
  bool leaves_to_others(const Crew &, uint32_t group) const noexcept;
  void give_up(Plan &) noexcept;
  void count(const consort_task *, bool more) noexcept;

  const Settings &settings_;
  Uses uses_;
  uint64_t bytes_ = 0;              // of all data that are still to be used
  std::array<Plan, kGroups> plans_;
  uint32_t &help(uint64_t datum) noexcept;

  std::array<Help, kHelps> helps_{};
  uint32_t round_ = 0, nhelps_ = 0;
  uint32_t help_of_others_ = 0;     // of data beyond what the table holds
  Candidate some_[kMost];           // of the choice at hand
};

}  // namespace darts
