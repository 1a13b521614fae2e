// instance.hpp — one instance of heteroprio: each class of units prefers the kinds of tasks at which it is
// better than the others. Threads, the lock and memory: late_binding.hpp.
#pragma once
#include "../late_binding.hpp"
#include "orders.hpp"

namespace heteroprio {

using policies::WorkerGroups, policies::Group, policies::Kind, policies::TaskKinds, policies::Node;

struct Settings {
  Orders orders;        // from the setting; empty: models alone decide
  double bucket = 1.5;  // kinds whose advantages differ by a smaller factor share a bucket
  double critical = 0.8;  // share of the remaining time: tasks with a larger rank precede other buckets
  double near = 8;      // weight of transfer time while units stall for data
  uint32_t look = 32;   // tasks of a kind that are compared for their data
  uint32_t ahead = 2;   // tasks in flight on a fast unit
  policies::Weights weights;
};

class Instance final : public policies::LateBinding {
 public:
  Instance(const Settings &, const consort_host *, const consort_topology &, uint64_t epoch);
  consort_status workers(const consort_topology &, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd);

 private:
  struct Named {                         // per kind, at the same index as in kinds_
    uint32_t codelet = CONSORT_NONE;
    std::vector<uint32_t> place;         // position in the class's list, by class
  };

  // -- under the lock --
  Found choose(const WorkerGroups &, uint32_t worker, double now) noexcept override;
  bool would_take(const WorkerGroups &, uint32_t group, double now) noexcept override;
  void queued(Node *) noexcept override;
  Node *open(const WorkerGroups &, Kind &, uint32_t group, double *left, double now) noexcept;
  double advantage(const WorkerGroups &, const Kind &, uint32_t klass) const noexcept;
  uint32_t place_of(uint32_t kind, uint32_t klass) const noexcept;
  void name_classes(const consort_topology &);

  const Settings &settings_;
  bool names_ = false;                   // orders are set, and the host provides codelets' names
  std::vector<std::string> classes_;     // guarded by lock_
  std::vector<Named> named_;             // by kind
};

}  // namespace heteroprio
