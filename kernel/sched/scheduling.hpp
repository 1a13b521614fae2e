// scheduling.hpp — the state of the room sched: the policy and the models, and how sleeping workers are woken.
#pragma once
#include <atomic>
#include <memory>

#include "model/models.hpp"
#include "sched/policy.hpp"
#include "task/core.hpp"
#include "task/worker.hpp"

namespace consort {

class GraphObserver;

struct Scheduling : Core {
  Scheduling(uint64_t number, std::shared_ptr<Config> c) : Core(number, std::move(c)), models(std::make_unique<Models>(*this)) {}

  // Wakes up to want.k of the workers in want.bits that sleep. Any thread.
  void wake(const consort_wake &want) noexcept;
  // Settles which tasks may be submitted the short way, and whether starts and ends are reported. Called after each
  // change of the policy, the models or the observers.
  void choose_paths() noexcept;

  GraphObserver *graph_observer = nullptr; // told of each submission; nullptr: none. Set at the start
  bool shared_domains = false;             // some queues wait for one another's tickets; set at the start
  std::atomic<bool> keep_back{false};      // may a submitter hold ready tasks back for a moment? (graph/link_steps.hpp); relaxed: a hint

  // -- in the order of their lives --
  Policy policy;
  const std::unique_ptr<Models> models;
};

// The Scheduling of the runtime that gave a plugin this host.
inline Scheduling &scheduling_of(const consort_host *host) noexcept {
  return static_cast<Scheduling &>(*static_cast<Core *>(host_user(host)));
}

}  // namespace consort
