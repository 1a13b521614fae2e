// instance.hpp — one instance of graph-lookahead: ready tasks wait by kind, and are bound to a worker when it
// pops.
//
// A worker that is about as fast on a kind as any takes the task with the greatest rank minus transfer cost.
// A slower worker takes a task only if that does not delay the end of all known work: of the kind on which it loses least,
// the task with the smallest rank. Threads, the lock and memory:
// late_binding.hpp.
#pragma once
#include "../late_binding.hpp"

namespace lookahead {

using policies::WorkerGroups, policies::Group, policies::Kind, policies::TaskKinds, policies::Node;

struct Settings {
  double near = 4;      // weight of transfer time while units stall for data
  double slack = 1;     // share of the remaining time that a task may take on a slow unit
  uint32_t look = 64;   // tasks of a kind that are compared
  uint32_t ahead = 2;   // tasks in flight on a fast unit
  double beta = 1;      // weight of transfer time
  policies::Urgency urgency{.strict = false, .worth = 0.1, .homes = true};
  policies::Weights weights;
};

class Instance final : public policies::LateBinding {
 public:
  Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
      : LateBinding(host, t, epoch, settings.ahead, {kShare, kQueue, kLoose}, settings.urgency), settings_(settings) {
    kinds_.weigh(settings.weights);
  }

 private:
  // Slower units get most of a kind, but little more than they can start at once: waiting tasks have a weight of eight, since
  // more arrive meanwhile.
  static constexpr double kShare = 0.8, kQueue = 8, kLoose = 1.1;

  // -- under the lock --
  Found choose(const WorkerGroups &, uint32_t worker, double now) noexcept override;
  bool prefetches_successors() const noexcept override { return true; }
  bool would_take(const WorkerGroups &, uint32_t group, double now) noexcept override;

  const Settings &settings_;
};

}  // namespace lookahead
