// instance.hpp — one instance of heteroprio: kinds of tasks, of which each class of units prefers those at which it is
// better than the others. Threads, the lock and memory: late_binding.hpp.
#pragma once
#include "../late_binding.hpp"
#include "orders.hpp"

namespace heteroprio {

using policies::Crew, policies::Group, policies::Kind, policies::Kinds, policies::Node;

struct Settings {
  Orders orders;        // by hand; empty: by models alone
  double bucket = 1.5;  // kinds whose advantages differ by less are one bucket
  double critical = 0.8;  // of the time to the end: on what more hangs goes before all that it is better at
  double near = 8;      // how much more the way of data counts when units wait for theirs
  uint32_t look = 32;   // tasks of a kind that are compared for their data
  uint32_t ahead = 2;   // tasks in flight on a fast unit
  policies::Weights weights;
};

class Instance final : public policies::Late {
 public:
  Instance(const Settings &, const consort_host *, const consort_topology &, uint64_t epoch);
  consort_status workers(const consort_topology &, const uint32_t *add, uint32_t na, const uint32_t *del, uint32_t nd);

 private:
  struct Named {                         // of a kind; beside it in kinds_
    uint32_t codelet = CONSORT_NONE;
    std::vector<uint32_t> place;         // in the lists, by class
  };

  // -- under the lock --
  Found choose(const Crew &, uint32_t worker, double now) noexcept override;
  bool would_take(const Crew &, uint32_t group, double now) noexcept override;
  void queued(Node *) noexcept override;
  Node *open(const Crew &, Kind &, uint32_t group, double *left, double now) noexcept;
  double advantage(const Crew &, const Kind &, uint32_t klass) const noexcept;
  uint32_t place_of(uint32_t kind, uint32_t klass) const noexcept;
  void name_classes(const consort_topology &);

  const Settings &settings_;
  bool names_ = false;                   // orders are given, and the host tells codelets' names
  std::vector<std::string> classes_;     // guarded by lock_
  std::vector<Named> named_;             // by kind
};

}  // namespace heteroprio
