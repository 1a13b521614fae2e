// policy_harness.hpp — a policy under test: a topology, an instance of the policy, tasks to push and pop.
//
// Owned by one test. push and pop may be called from the threads that own the workers.
#pragma once
#include <consort/scheduler.h>

#include <memory>
#include <string>
#include <vector>

#include "support/plugin_host.hpp"

namespace consort_test {

inline constexpr uint64_t kEpoch = 7;

class PolicyHarness {
 public:
  // klass[w]: the unit class of worker w.
  explicit PolicyHarness(const std::string &name, std::vector<uint32_t> klass = {0, 0, 0, 0},
                         PluginHost::Params params = {})
      : plugin(name, std::move(params)) {
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    ops = plugin.ops<consort_scheduler_ops>();
    describe(klass);
    EXPECT_EQ(ops->create(plugin.self(), plugin.host(), &topology, kEpoch, &instance), CONSORT_OK) << plugin.failure();
    std::vector<uint32_t> all(klass.size());
    for (uint32_t w = 0; w < all.size(); ++w) all[w] = w;
    EXPECT_EQ(ops->workers(instance, &topology, all.data(), topology.nworkers, nullptr, 0), CONSORT_OK);
  }
  ~PolicyHarness() {
    if (instance) ops->destroy(instance);
  }

  void describe(const std::vector<uint32_t> &klass) {
    uint32_t nclasses = 1;
    workers.clear();
    for (uint32_t w = 0; w < klass.size(); ++w) {
      workers.push_back({w, klass[w], 0, 0, 1, static_cast<int32_t>(w / 2)});
      nclasses = std::max(nclasses, klass[w] + 1);
    }
    classes.assign(nclasses, "class");
    topology = {};
    topology.size = sizeof topology;
    topology.generation = 1;
    topology.nworkers = static_cast<uint32_t>(workers.size());
    topology.nspaces = 1;
    topology.nclasses = nclasses;
    topology.workers = workers.data();
    topology.classes = classes.data();
  }

  // Returns the answer of push(); the wake set is in `woken` and `wake_k`.
  uint32_t push(uint32_t from, const std::vector<consort_task *> &tasks, uint64_t epoch = kEpoch) {
    uint64_t bits[2] = {0, 0};
    consort_wake wake{2, 0, bits};
    const consort_push p{epoch, from, CONSORT_PUSH_NEW, tasks.data(), static_cast<uint32_t>(tasks.size()), 0, &wake};
    const uint32_t n = ops->push(instance, &p);
    woken = bits[0];
    wake_k = wake.k;
    return n;
  }
  consort_task *pop(uint32_t worker) {
    consort_pick pick{nullptr, 0, 0};
    const uint32_t n = ops->pop(instance, worker, &pick, 1);
    EXPECT_LE(n, 1u);
    if (n) {
      EXPECT_NE(pick.task, nullptr);
      EXPECT_EQ(pick.team, CONSORT_NONE);
    }
    return n ? pick.task : nullptr;
  }
  std::vector<consort_task *> drain(uint64_t epoch, uint32_t at_once = 3) {
    std::vector<consort_task *> all, some(at_once);
    while (const uint32_t n = ops->drain(instance, epoch, some.data(), at_once))
      all.insert(all.end(), some.begin(), some.begin() + n);
    return all;
  }

  PluginHost plugin;
  const consort_scheduler_ops *ops = nullptr;
  void *instance = nullptr;
  std::vector<consort_worker> workers;
  std::vector<const char *> classes;
  consort_topology topology{};
  uint64_t woken = 0;
  uint32_t wake_k = 0;
};

struct Tasks {  // n tasks for class 0, priority 0, numbered from 0
  explicit Tasks(size_t n) : all(n) {
    for (size_t i = 0; i < n; ++i) {
      all[i].id = i;
      all[i].where = 1;
      all[i].team_min = all[i].team_max = 1;
    }
  }
  consort_task *operator[](size_t i) { return &all[i]; }
  std::vector<consort_task *> range(size_t begin, size_t end) {
    std::vector<consort_task *> out;
    for (size_t i = begin; i < end; ++i) out.push_back(&all[i]);
    return out;
  }
  std::vector<consort_task> all;
};

}  // namespace consort_test
