// The duties of every policy towards the kernel. A task is popped exactly once, only on an eligible worker, and the
// epoch separates an instance from its successor.
#include <algorithm>
#include <atomic>
#include <bit>
#include <random>
#include <set>
#include <thread>

#include "plugins/schedulers/table.hpp"
#include "schedulers/policy_harness.hpp"

namespace consort_test {
namespace {

class Policy : public testing::TestWithParam<const char *> {
 protected:
  // A task is one worker's from its push on, and only this one is told of it.
  static bool assigns() {
    const std::set<std::string> none = {"lws",    "eager",      "prio",  "ws",  "graph-lookahead",
                                        "peager", "heteroprio", "darts", "auto"};
    return !none.contains(GetParam());
  }
};
INSTANTIATE_TEST_SUITE_P(All, Policy,
                         testing::Values("lws", "eager", "prio", "ws", "random", "dm", "dmda", "dmdar", "dmdas",
                                         "dmdasd", "heft", "pheft", "graph-lookahead", "peager", "heteroprio",
                                         "darts", "auto"),
                         [](const auto &i) {
                           std::string name = i.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Reporting every exception as "out of memory" would hide the cause.
TEST(PolicyGuard, DistinguishesExceptions) {
  PluginHost p("eager");
  const auto told = [&](auto what) {
    const consort_status s = policies::guarded(p.host(), [&]() -> consort_status { throw what; });
    return std::to_string(s) + " " + p.failure();
  };
  EXPECT_EQ(told(std::bad_alloc()), std::to_string(CONSORT_E_NOMEM) + " out of memory for the instance");
  EXPECT_EQ(told(std::logic_error("too many classes")), std::to_string(CONSORT_E_INTERNAL) + " too many classes");
}

TEST_P(Policy, PopsEveryPushedTaskOnce) {
  PolicyHarness h(GetParam());
  Tasks tasks(100);
  EXPECT_EQ(h.pop(0), nullptr);
  EXPECT_EQ(h.push(0, tasks.range(0, 40)), 40u);
  EXPECT_EQ(h.push(CONSORT_NONE, tasks.range(40, 100)), 60u);
  std::set<uint64_t> seen;
  for (int round = 0; round < 100; ++round)
    for (uint32_t w = 0; w < 4; ++w) {
      if (consort_task *t = h.pop(w)) {
        EXPECT_TRUE(seen.insert(t->id).second) << "task " << t->id << " twice";
      }
    }
  EXPECT_EQ(seen.size(), 100u);
}

TEST_P(Policy, AcceptsFortyClassesAndAnUnnamedOne) {
  std::vector<uint32_t> klass(40);
  for (uint32_t c = 0; c < klass.size(); ++c) klass[c] = c;
  PolicyHarness p(GetParam(), klass);
  p.classes[7] = nullptr;
  void *other = nullptr;
  ASSERT_EQ(p.ops->create(p.plugin.self(), p.plugin.host(), &p.topology, kEpoch + 1, &other), CONSORT_OK) << p.plugin.failure();
  p.ops->destroy(other);
}

TEST_P(Policy, OneWorkerPopsEverything) {
  PolicyHarness h(GetParam());
  Tasks tasks(64);
  for (uint32_t w = 0; w < 4; ++w) h.push(w, tasks.range(w * 16, w * 16 + 16));
  std::set<uint64_t> seen;
  while (consort_task *t = h.pop(3)) seen.insert(t->id);  // 0 means that nothing is there to be had
  for (uint32_t w = 0; assigns() && w < 3; ++w)
    while (consort_task *t = h.pop(w)) seen.insert(t->id);
  EXPECT_EQ(seen.size(), 64u);
}

TEST_P(Policy, PushNamesWorkersToWake) {
  PolicyHarness h(GetParam());
  Tasks tasks(4);
  h.push(1, tasks.range(0, 1));
  EXPECT_EQ(h.wake_k, 1u);
  if (assigns()) {
    EXPECT_EQ(h.woken & ~0b1101u, 0u);
    EXPECT_LE(std::popcount(h.woken), 1);
  } else {
    EXPECT_EQ(h.woken, 0b1101u);  // not the pusher
  }
  h.push(CONSORT_NONE, tasks.range(1, 4));
  EXPECT_EQ(h.wake_k, 3u);
  if (assigns()) {
    for (uint32_t w = 0; w < 4; ++w)
      EXPECT_TRUE(!(h.woken >> w & 1) || h.pop(w)) << "woke worker " << w << " for nothing";
    EXPECT_NE(h.woken, 0u);
  } else {
    EXPECT_EQ(h.woken, 0b1111u);
  }
}

TEST_P(Policy, RespectsEligibility) {
  PolicyHarness h(GetParam(), {0, 0, 1, 2});
  std::mt19937 random(3);
  Tasks tasks(3000);
  for (size_t i = 0; i < 3000; ++i) {
    tasks[i]->where = 1 + random() % 7;
    tasks[i]->priority = random() % 3 ? 0 : static_cast<int32_t>(random() % 9) - 4;
  }
  size_t pushed = 0, popped = 0;
  while (popped < 3000) {
    const size_t n = std::min<size_t>(random() % 20, 3000 - pushed);
    const uint32_t from = random() % 5;
    if (n) {
      ASSERT_EQ(h.push(from == 4 ? CONSORT_NONE : from, tasks.range(pushed, pushed + n)), n);
      uint64_t can = 0;
      for (size_t i = pushed; i < pushed + n; ++i)
        for (uint32_t w = 0; w < 4; ++w)
          if (tasks[i]->where >> h.workers[w].klass & 1) can |= uint64_t{1} << w;
      EXPECT_EQ(h.woken & ~can, 0u) << "woke a worker that can run none of them";
      EXPECT_EQ(h.wake_k, n);
    }
    pushed += n;
    bool any = false;
    for (uint32_t k = random() % 30; k-- > 0 || pushed == 3000;) {
      const uint32_t w = random() % 4;
      if (consort_task *t = h.pop(w)) {
        ASSERT_TRUE(t->where >> h.workers[w].klass & 1) << "task " << t->id << " on worker " << w;
        ++popped;
        any = true;
      }
      if (pushed == 3000 && popped == 3000) break;
    }
    ASSERT_TRUE(any || pushed < 3000);
  }
  for (uint32_t w = 0; w < 4; ++w) EXPECT_EQ(h.pop(w), nullptr);
}

// Tasks that a worker may not run must not keep it from its own.
TEST_P(Policy, ClassesDoNotBlockEachOther) {
  PolicyHarness h(GetParam(), {0, 1, 2});
  Tasks tasks(300);
  for (size_t i = 0; i < 300; ++i) tasks[i]->where = i < 200 ? 0b011 : i < 299 ? 0b001 : 0b110;
  for (size_t i = 0; i < 300; i += 10) h.push(CONSORT_NONE, tasks.range(i, i + 10));
  size_t last = 0, n = 0;
  while (consort_task *t = h.pop(2)) {
    EXPECT_EQ(t, tasks[299]);
    ++last;
  }
  EXPECT_TRUE(last == 1 || (assigns() && last == 0));
  while (h.pop(1)) ++n;
  EXPECT_TRUE(assigns() ? n > 60 && n < 140 : n == 200) << n;  // half of the tasks for two workers
  while (h.pop(0)) ++n;
  EXPECT_EQ(last + n, 300u);
}

TEST_P(Policy, PopsOnceUnderFourThreads) {
  constexpr uint32_t kThreads = 4;
  constexpr size_t kTasks = 40000;
  PolicyHarness h(GetParam(), {0, 0, 0, 0}, {{"depth", "64"}});  // small: overflow happens
  Tasks tasks(kTasks);
  std::vector<std::atomic<int>> popped(kTasks);
  std::atomic<size_t> next{0}, done{0};
  const auto priority_of = [](size_t i) { return i % 50 == 0 ? static_cast<int32_t>(i % 7) - 3 : 0; };
  const auto check = [&](consort_task *t) {
    if (t->priority != priority_of(t->id)) ADD_FAILURE() << "task " << t->id << " came without its contents";
    popped[t->id].fetch_add(1, std::memory_order_relaxed);
    done.fetch_add(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (uint32_t w = 0; w < kThreads; ++w)
    threads.emplace_back([&, w] {
      std::mt19937 random(w);
      while (done.load(std::memory_order_relaxed) < kTasks) {
        const size_t want = random() % 100 == 0 ? 100 : random() % 4;
        const size_t begin = next.fetch_add(want);
        if (begin < kTasks) {
          std::vector<consort_task *> batch;
          for (size_t i = begin; i < std::min(begin + want, kTasks); ++i) {
            tasks[i]->priority = priority_of(i);
            batch.push_back(tasks[i]);
          }
          uint64_t bits = 0;
          consort_wake wake{1, 0, &bits};
          const consort_push p{kEpoch, random() % 3 ? w : CONSORT_NONE, CONSORT_PUSH_NEW, batch.data(),
                               static_cast<uint32_t>(batch.size()), 0, &wake};
          if (h.ops->push(h.instance, &p) != batch.size()) ADD_FAILURE() << "refused";
        }
        consort_pick picks[8];
        const uint32_t n = h.ops->pop(h.instance, w, picks, 1 + random() % 8);
        for (uint32_t i = 0; i < n; ++i) check(picks[i].task);
        if (!n && begin >= kTasks) std::this_thread::yield();
      }
    });
  for (auto &t : threads) t.join();
  for (size_t i = 0; i < kTasks; ++i) ASSERT_EQ(popped[i].load(), 1) << "task " << i;
  EXPECT_TRUE(h.drain(CONSORT_NEVER).empty());
}

TEST_P(Policy, DrainReturnsAllAndRefusesPushes) {
  PolicyHarness h(GetParam(), {0, 0, 1, 1});
  Tasks tasks(90);
  for (size_t i = 0; i < 90; ++i) {
    tasks[i]->where = 1 + i % 3;
    tasks[i]->priority = static_cast<int32_t>(i % 5) - 2;
  }
  h.push(0, tasks.range(0, 30));
  h.push(2, tasks.range(30, 60));
  h.push(CONSORT_NONE, tasks.range(60, 90));
  std::set<consort_task *> back;
  for (consort_task *t : h.drain(CONSORT_NEVER)) EXPECT_TRUE(back.insert(t).second);
  EXPECT_EQ(back.size(), 90u);
  EXPECT_EQ(h.push(0, tasks.range(0, 1)), 0u);
  EXPECT_EQ(h.push(CONSORT_NONE, tasks.range(0, 1)), 0u);
  EXPECT_EQ(h.push(CONSORT_NONE, tasks.range(0, 10)), 0u);
  for (uint32_t w = 0; w < 4; ++w) EXPECT_EQ(h.pop(w), nullptr);
  EXPECT_EQ(h.ops->quiesce(h.instance, CONSORT_NEVER), CONSORT_OK);
}

TEST_P(Policy, DrainToANewEpochAcceptsPushes) {
  PolicyHarness h(GetParam());
  Tasks tasks(4);
  h.push(0, tasks.range(0, 2));
  EXPECT_EQ(h.drain(kEpoch + 1).size(), 2u);
  EXPECT_EQ(h.push(0, tasks.range(0, 2), kEpoch), 0u);
  EXPECT_EQ(h.push(0, tasks.range(0, 2), kEpoch + 1), 2u);
  size_t n = 0;
  for (uint32_t w = 0; w < 4; ++w)
    while (h.pop(w)) ++n;
  EXPECT_EQ(n, 2u);
}

// Concurrent pushes, pops and a drain: an accepted task comes out by pop or by drain, once; after the drain none is
// left.
TEST_P(Policy, DrainIsAtomicWithPush) {
  for (int round = 0; round < 20; ++round) {
    PolicyHarness h(GetParam(), {0, 0});
    constexpr size_t kEach = 400;
    Tasks tasks(3 * kEach);
    std::atomic<size_t> accepted{0}, popped{0};
    std::atomic<int> started{0};
    std::vector<std::thread> threads;
    for (uint32_t k = 0; k < 3; ++k)
      threads.emplace_back([&, k] {
        const uint32_t from = k < 2 ? k : CONSORT_NONE;
        ++started;
        for (size_t i = 0; i < kEach; ++i) {
          consort_task *t = tasks[k * kEach + i];
          t->priority = i % 16 == 0;
          const consort_push p{kEpoch, from, CONSORT_PUSH_NEW, &t, 1, 0, nullptr};
          accepted += h.ops->push(h.instance, &p);
          consort_pick pick;
          if (k < 2 && i % 4 == 0) popped += h.ops->pop(h.instance, k, &pick, 1);
        }
      });
    while (started < 3) std::this_thread::yield();
    const size_t first = h.drain(CONSORT_NEVER).size();
    const size_t none = h.drain(CONSORT_NEVER).size();
    for (auto &t : threads) t.join();
    EXPECT_EQ(none, 0u);
    EXPECT_EQ(first + popped, accepted) << "round " << round;
    EXPECT_TRUE(h.drain(CONSORT_NEVER).empty());
    EXPECT_EQ(h.ops->quiesce(h.instance, CONSORT_NEVER), CONSORT_OK);
  }
}

TEST_P(Policy, WorkersMayBeAddedAndRemoved) {
  PolicyHarness h(GetParam());
  Tasks tasks(20);
  const uint32_t two[] = {2, 3};
  h.push(2, tasks.range(0, 10));
  ASSERT_EQ(h.ops->workers(h.instance, &h.topology, nullptr, 0, two, 2), CONSORT_OK);
  EXPECT_EQ(h.pop(2), nullptr);
  h.push(3, tasks.range(10, 20));  // a task that ended on a worker that is gone
  EXPECT_EQ(h.woken, 0b0011u);
  std::set<consort_task *> seen;
  for (uint32_t w = 0; w < (assigns() ? 2 : 1); ++w)
    while (consort_task *t = h.pop(w)) seen.insert(t);
  EXPECT_EQ(seen.size(), 20u);
  h.describe({0, 0, 0, 0, 0, 0});
  h.topology.generation = 2;
  const uint32_t more[] = {3, 5};
  ASSERT_EQ(h.ops->workers(h.instance, &h.topology, more, 2, nullptr, 0), CONSORT_OK);
  if (assigns()) {  // so many that each of the four is drawn
    h.push(CONSORT_NONE, tasks.range(0, 20));
  } else {
    h.push(CONSORT_NONE, tasks.range(0, 2));
  }
  EXPECT_EQ(h.woken, 0b101011u);
  EXPECT_NE(h.pop(5), nullptr);
  EXPECT_NE(h.pop(3), nullptr);
  const uint32_t wrong = 17;
  EXPECT_EQ(h.ops->workers(h.instance, &h.topology, &wrong, 1, nullptr, 0), CONSORT_E_INVAL);
  EXPECT_NE(h.plugin.failure().find("not in the topology"), std::string::npos);
}

TEST_P(Policy, SameSeedGivesTheSameOrder) {
  const auto run = [&] {
    PolicyHarness h(GetParam(), {0, 0, 0, 0}, {{"seed", "5"}});
    Tasks tasks(500);
    std::mt19937 random(11);
    std::vector<uint64_t> order;
    size_t pushed = 0;
    for (int step = 0; step < 4000; ++step) {
      if (random() % 3 == 0 && pushed < 500) {
        const size_t n = std::min<size_t>(1 + random() % 4, 500 - pushed);
        h.push(random() % 4, tasks.range(pushed, pushed + n));
        pushed += n;
      }
      const uint32_t w = random() % 4;
      if (consort_task *t = h.pop(w)) order.push_back(t->id * 4 + w);
    }
    EXPECT_EQ(order.size(), 500u);
    return order;
  };
  EXPECT_EQ(run(), run());
}

TEST_P(Policy, StartsAndStops) {
  PluginHost p(GetParam());
  ASSERT_TRUE(p.ready());
  EXPECT_TRUE(p.plugin()->flags & CONSORT_PF_SWAPPABLE);
  EXPECT_EQ(p.plugin()->quiesce(p.self(), CONSORT_NEVER), CONSORT_OK);
}

}  // namespace
}  // namespace consort_test
