// instance.hpp — one instance of lookahead: what is ready waits by its kind, and is bound to a worker only when that
// comes for it.
//
// A worker that does a kind about as fast as any takes the task on which most hangs, less what bringing its data costs.
// A worker that does it slower takes it if the end of all that is known is so far away that it does not come later by
// it: of those the kind that loses least, and of that kind the task on which least hangs. Threads, the lock and memory:
// late_binding.hpp.
#pragma once
#include "../late_binding.hpp"

namespace lookahead {

using policies::Crew, policies::Group, policies::Kind, policies::Kinds, policies::Node;

struct Settings {
  double near = 4;      // how much more the way of data counts when units wait for theirs
  double slack = 1;     // part of the time to the end that a task may take up where it is slow
  uint32_t look = 64;   // tasks of a kind that are compared
  uint32_t ahead = 2;   // tasks in flight on a fast unit
  double beta = 1;      // weight of the way of data
  policies::Weights weights;
};

class Instance final : public policies::Late {
 public:
  Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
      : Late(host, t, epoch, settings.ahead, {kShare, kQueue, kLoose}), settings_(settings) {
    kinds_.weigh(settings.weights);
  }

 private:
  // Much is left to slower units, but little more than they begin at once: what waits for them counts eight times, since
  // more of it comes while they are at it.
  static constexpr double kShare = 0.8, kQueue = 8, kLoose = 1.1;

  // -- under the lock --
  Found choose(const Crew &, uint32_t worker, double now) noexcept override;
  bool brings_ahead() const noexcept override { return true; }
  bool would_take(const Crew &, uint32_t group, double now) noexcept override;

  const Settings &settings_;
};

}  // namespace lookahead
