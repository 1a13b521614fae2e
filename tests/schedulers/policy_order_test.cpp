// The order that each policy promises. Under lws and ws a worker pops its own tasks newest first and steals the oldest;
// lws starves none. Under eager the order is that of arrival, under prio priority and then arrival, under random any.
#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "schedulers/policy_harness.hpp"

namespace consort_test {
namespace {

TEST(Lws, PopsTheNewestOwnPushFirst) {
  PolicyHarness h("lws");
  Tasks tasks(6);
  h.push(0, tasks.range(0, 3));
  h.push(0, tasks.range(3, 6));
  for (size_t i : {3, 4, 5, 0, 1, 2}) EXPECT_EQ(h.pop(0), tasks[i]);
}

TEST(Lws, PopsOutsideTasksOldestFirst) {
  PolicyHarness h("lws");
  Tasks tasks(40);
  for (size_t i = 0; i < 40; ++i) h.push(CONSORT_NONE, tasks.range(i, i + 1));
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(h.pop(1), tasks[i]) << i;
}

TEST(Lws, StealsTheOldest) {
  PolicyHarness h("lws");
  Tasks tasks(8);
  for (size_t i = 0; i < 8; ++i) h.push(0, tasks.range(i, i + 1));
  EXPECT_EQ(h.pop(2), tasks[0]);
  EXPECT_EQ(h.pop(0), tasks[7]);
}

// The only task of a victim is stolen in the end, and pop says 0 only if there is nothing.
TEST(Lws, LastTaskOfAVictimIsStolen) {
  for (const char *patience : {"0", "16", "200"}) {
    PolicyHarness h("lws", {0, 0, 0, 0}, {{"patience", patience}});
    Tasks tasks(1);
    h.push(0, tasks.range(0, 1));
    EXPECT_EQ(h.pop(3), tasks[0]);
  }
}

// A worker that feeds itself without end starves neither tasks of other threads nor its own oldest.
TEST(Lws, OwnPushesDoNotStarveOthers) {
  PolicyHarness h("lws", {0});
  Tasks tasks(100000);
  h.push(0, tasks.range(0, 2));             // the own oldest
  h.push(CONSORT_NONE, tasks.range(2, 3));  // an outsider's
  bool own = false, other = false;
  size_t next = 3, pops = 0;
  while (!(own && other) && next < 100000) {
    h.push(0, tasks.range(next, next + 1));
    ++next;
    consort_task *t = h.pop(0);
    ASSERT_NE(t, nullptr);
    ++pops;
    own |= t == tasks[0] || t == tasks[1];
    other |= t == tasks[2];
  }
  EXPECT_LE(pops, 300u);
}

// Ring, overflow and lists are served by turns.
TEST(Lws, OverflowDoesNotStarve) {
  PolicyHarness h("lws", {0}, {{"depth", "64"}});
  Tasks tasks(100000);
  h.push(CONSORT_NONE, tasks.range(0, 64));
  consort_task *late = tasks[64];
  h.push(CONSORT_NONE, {late});  // the ring is full
  size_t next = 65, pops = 0;
  for (bool found = false; !found && next < 100000; ++pops) {
    h.push(CONSORT_NONE, tasks.range(next, next + 1));
    ++next;
    consort_task *t = h.pop(0);
    ASSERT_NE(t, nullptr);
    found = t == late;
  }
  EXPECT_LE(pops, 400u);
}

TEST(Lws, OrdersByPriority) {
  PolicyHarness h("lws");
  Tasks tasks(6);
  const int32_t priorities[] = {0, -3, 5, 2, -1, 0};
  for (size_t i = 0; i < 6; ++i) {
    tasks[i]->priority = priorities[i];
    h.push(i % 2 ? 0 : CONSORT_NONE, tasks.range(i, i + 1));
  }
  std::vector<int32_t> got;
  while (consort_task *t = h.pop(0)) got.push_back(t->priority);
  EXPECT_EQ(got, (std::vector<int32_t>{5, 2, 0, 0, -1, -3}));
}

TEST(Lws, LargePrioritiesAreOrderedWithinSixPercent) {
  PolicyHarness h("lws");
  std::mt19937 random(1);
  Tasks tasks(500);
  for (size_t i = 0; i < 500; ++i) tasks[i]->priority = static_cast<int32_t>(random() >> (1 + random() % 30));
  tasks[0]->priority = std::numeric_limits<int32_t>::max();
  tasks[1]->priority = std::numeric_limits<int32_t>::min();
  h.push(CONSORT_NONE, tasks.range(0, 500));
  double lowest = 1e300;
  size_t n = 0;
  while (consort_task *t = h.pop(0)) {
    EXPECT_LE(t->priority, lowest * (lowest > 0 ? 1.0667 : 1) + 0.5);
    lowest = std::min<double>(lowest, t->priority);
    ++n;
  }
  EXPECT_EQ(n, 500u);
}

TEST(Lws, PublishesUrgency) {
  PolicyHarness h("lws", {0, 1});
  const int32_t *cpu = h.ops->urgency(h.instance, 0), *other = h.ops->urgency(h.instance, 1);
  ASSERT_NE(cpu, other);
  Tasks tasks(2);
  EXPECT_EQ(*cpu, 0);
  tasks[0]->priority = 9;
  h.push(CONSORT_NONE, tasks.range(0, 1));
  EXPECT_EQ(*cpu, 9);
  EXPECT_EQ(*other, 0);
  EXPECT_EQ(h.pop(0), tasks[0]);
  EXPECT_EQ(*cpu, 0);
}

TEST(Lws, StealsFromNearVictimsFirst) {
  PolicyHarness h("lws");  // workers 0 and 1 share a node, 2 and 3 do
  Tasks tasks(8);
  h.push(1, tasks.range(0, 4));
  h.push(2, tasks.range(4, 8));
  consort_task *t = h.pop(3);
  ASSERT_NE(t, nullptr);
  EXPECT_GE(t->id, 4u);
  t = h.pop(0);
  ASSERT_NE(t, nullptr);
  EXPECT_LT(t->id, 4u);
}

TEST(Eager, FirstComeFirstServed) {
  PolicyHarness h("eager", {0, 0, 1});
  EXPECT_TRUE(h.ops->flags & CONSORT_SF_NO_BYPASS);
  Tasks tasks(30);
  for (size_t i = 0; i < 30; ++i) tasks[i]->where = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 2;
  for (size_t i = 0; i < 30; ++i) h.push(i % 2 ? 0 : CONSORT_NONE, tasks.range(i, i + 1));
  for (size_t i = 0; i < 15; ++i)
    if (i % 3 != 2) {
      EXPECT_EQ(h.pop(0), tasks[i]);
    }
  for (size_t i = 2; i < 15; i += 3) EXPECT_EQ(h.pop(2), tasks[i]);
  for (size_t i = 15; i < 30; ++i)
    if (i % 3 != 0) {
      EXPECT_EQ(h.pop(2), tasks[i]);
    }
}

TEST(Eager, ReturnsDroppedTasks) {
  PolicyHarness h("eager");
  Tasks tasks(5);
  h.push(0, tasks.range(0, 4));
  consort_task *gone[] = {tasks[3], tasks[1], tasks[4]}, *held[3];
  EXPECT_EQ(h.ops->dropped(h.instance, gone, 3, held), 2u);
  EXPECT_EQ(held[0], tasks[3]);
  EXPECT_EQ(held[1], tasks[1]);
  h.push(0, tasks.range(4, 5));
  for (size_t i : {0, 2, 4}) EXPECT_EQ(h.pop(0), tasks[i]);
  EXPECT_EQ(h.pop(0), nullptr);
}

TEST(Prio, OrdersByPriorityThenArrival) {
  for (int range : {1, 3, 40, 1000000}) {
    PolicyHarness h("prio");
    std::mt19937 random(range);
    Tasks tasks(2000);
    std::vector<consort_task *> waiting;
    const auto earlier = [](const consort_task *a, const consort_task *b) {
      return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
    };
    for (size_t next = 0; next < 2000 || !waiting.empty();) {
      if (next < 2000 && random() % 3) {
        tasks[next]->priority = static_cast<int32_t>(random() % range) - range / 2;
        h.push(random() % 2 ? 0 : CONSORT_NONE, tasks.range(next, next + 1));
        waiting.push_back(tasks[next++]);
      } else {
        consort_task *t = h.pop(random() % 4);
        if (waiting.empty()) {
          ASSERT_EQ(t, nullptr);
          continue;
        }
        const auto first = std::min_element(waiting.begin(), waiting.end(), earlier);
        ASSERT_EQ(t, *first);
        waiting.erase(first);
      }
    }
  }
}

TEST(Prio, PublishesUrgency) {
  PolicyHarness h("prio", {0, 1});
  const int32_t *cpu = h.ops->urgency(h.instance, 0), *other = h.ops->urgency(h.instance, 1);
  Tasks tasks(3);
  EXPECT_EQ(*cpu, std::numeric_limits<int32_t>::min());
  tasks[0]->priority = -4;
  tasks[1]->priority = 7;
  tasks[1]->where = 2;
  tasks[2]->priority = 3;
  tasks[2]->where = 3;
  h.push(CONSORT_NONE, tasks.range(0, 1));
  EXPECT_EQ(*cpu, -4);
  h.push(CONSORT_NONE, tasks.range(1, 3));
  EXPECT_EQ(*cpu, 3);
  EXPECT_EQ(*other, 7);
  EXPECT_EQ(h.pop(1), tasks[1]);
  EXPECT_EQ(h.pop(1), tasks[2]);
  EXPECT_EQ(*cpu, -4);
  EXPECT_EQ(*other, std::numeric_limits<int32_t>::min());
}

TEST(Ws, PopsNewestAndStealsOldest) {
  PolicyHarness h("ws");
  Tasks tasks(8);
  for (size_t i = 0; i < 8; ++i) h.push(0, tasks.range(i, i + 1));
  EXPECT_EQ(h.pop(2), tasks[0]);
  EXPECT_EQ(h.pop(0), tasks[7]);
  EXPECT_EQ(h.pop(3), tasks[1]);
  EXPECT_EQ(h.pop(0), tasks[6]);
}

// Victims by lot, near and far alike: a thief does not ask the same one first each time.
TEST(Ws, ChoosesVictimsAtRandom) {
  PolicyHarness h("ws");
  Tasks tasks(600);
  std::set<uint64_t> first;
  for (size_t i = 0; i < 600; i += 3) {
    for (uint32_t w = 0; w < 3; ++w) h.push(w, tasks.range(i + w, i + w + 1));
    consort_task *t = h.pop(3);
    ASSERT_NE(t, nullptr);
    first.insert(t->id % 3);
    while (h.pop(3)) {
    }
  }
  EXPECT_EQ(first.size(), 3u);
}

TEST(Ws, OwnPushesDoNotStarveOthers) {
  PolicyHarness h("ws", {0});
  Tasks tasks(1000);
  h.push(0, tasks.range(0, 1));
  bool found = false;
  for (size_t next = 1; next < 200 && !found; ++next) {
    h.push(0, tasks.range(next, next + 1));
    found = h.pop(0) == tasks[0];
  }
  EXPECT_TRUE(found);
}

// Each eligible worker has the same chance; a task stays with its worker.
TEST(Random, SpreadsTasksEvenly) {
  for (const uint32_t from : {CONSORT_NONE, 1u}) {
    PolicyHarness h("random", {0, 0, 0, 0, 1}, {{"seed", "3"}});
    EXPECT_TRUE(h.ops->flags & CONSORT_SF_NO_BYPASS);
    Tasks tasks(8000);
    for (size_t i = 0; i < 8000; ++i) tasks[i]->where = i < 4000 ? 1 : 3;
    h.push(from, tasks.range(0, 4000));
    for (uint32_t w = 0; w < 5; ++w) {
      double n = 0;
      uint64_t before = 0;
      for (consort_task *t; (t = h.pop(w)); ++n) {
        EXPECT_TRUE(n == 0 || t->id > before) << "not the oldest first";
        before = t->id;
      }
      EXPECT_NEAR(n, w < 4 ? 1000 : 0, 150);
    }
    h.push(from, tasks.range(4000, 8000));
    for (uint32_t w = 0; w < 5; ++w) {
      double n = 0;
      while (h.pop(w)) ++n;
      EXPECT_NEAR(n, 800, 130);
    }
  }
}

TEST(Random, AnotherSeedGivesAnotherAssignment) {
  const auto draw = [](const char *seed) {
    PolicyHarness h("random", {0, 0, 0, 0}, {{"seed", seed}});
    Tasks tasks(64);
    std::vector<uint64_t> lots;
    for (size_t i = 0; i < 64; ++i) {
      h.push(CONSORT_NONE, tasks.range(i, i + 1));
      lots.push_back(h.woken);
    }
    return lots;
  };
  EXPECT_EQ(draw("7"), draw("7"));
  EXPECT_NE(draw("7"), draw("8"));
}

}  // namespace
}  // namespace consort_test
