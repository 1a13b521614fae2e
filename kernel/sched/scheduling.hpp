// scheduling.hpp — the state of the room sched: the policies and the models, and how sleeping workers are woken.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "model/models.hpp"
#include "sched/policy.hpp"
#include "sched/policy_set.hpp"
#include "task/core.hpp"
#include "task/worker.hpp"

namespace consort {

class GraphObserver;

struct Scheduling : Core {
  Scheduling(uint64_t number, std::shared_ptr<Config> c) : Core(number, std::move(c)), models(std::make_unique<Models>(*this)) {}

  // Wakes up to want.k sleeping workers of those in want.bits. Any thread.
  void wake(const consort_wake &want) noexcept;
  // The holder of its token is about to begin something that does not come from the policy, or came from there before it
  // was woken: if it owes a look, the other sleeping workers look instead. See Worker::owes_look.
  void pass_on_wake(Worker &w) noexcept {
    if (w.owes_look) [[unlikely]] look_instead_of(w);
  }
  // Decides which tasks may use the fast submission path, and whether starts and ends are reported. Called after each
  // change of the policy, the models, the observers or `profile`. Any thread.
  void choose_paths() noexcept;

  GraphObserver *graph_observer = nullptr; // called at each submission; nullptr: none. Set at the start
  bool shared_domains = false;             // some queues wait for tickets of others; set at the start
  // whether a submitter may hold back ready tasks (graph/link_steps.hpp); relaxed: a hint. A byte: g++ 12 does not
  // inline the load of an atomic bool everywhere
  std::atomic<uint8_t> keep_back{false};

  std::mutex paths_mutex;                  // of choose_paths(): the last of two calls sees both changes

  // -- in the order of construction --
  Policy policy;
  PolicySet policies{policy};
  const std::unique_ptr<Models> models;

 private:
  void look_instead_of(Worker &) noexcept;
};

// The Scheduling of the runtime that gave this host to a plugin.
inline Scheduling &scheduling_of(const consort_host *host) noexcept {
  return static_cast<Scheduling &>(*static_cast<Core *>(host_user(host)));
}

}  // namespace consort
