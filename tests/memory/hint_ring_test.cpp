// The ring of policies' wishes: order, and what happens when it is full.
#include "memory/hint_ring.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace consort {
namespace {

Hints::Hint hint(uint64_t task) { return {{1}, task, 2, 0, Hints::kPrefetch}; }

TEST(HintRing, FirstAddedIsFirstTaken) {
  const auto ring = std::make_unique<Hints>();
  Hints::Hint got{};
  EXPECT_TRUE(ring->empty());
  EXPECT_FALSE(ring->take(&got));
  for (const uint64_t task : {7, 8, 9}) EXPECT_TRUE(ring->add(hint(task)));
  EXPECT_FALSE(ring->empty());
  for (const uint64_t task : {7, 8, 9}) {
    ASSERT_TRUE(ring->take(&got));
    EXPECT_EQ(got.task, task);
  }
  EXPECT_FALSE(ring->take(&got));
}

TEST(HintRing, FullRingRefuses) {
  const auto ring = std::make_unique<Hints>();
  for (uint64_t i = 0; i < Hints::kMost; ++i) EXPECT_TRUE(ring->add(hint(i)));
  EXPECT_FALSE(ring->add(hint(1)));
  Hints::Hint got{};
  ASSERT_TRUE(ring->take(&got));
  EXPECT_TRUE(ring->add(hint(5000))) << "one was taken";
  EXPECT_FALSE(ring->add(hint(1)));
  uint64_t last = 0;
  while (ring->take(&got)) last = got.task;
  EXPECT_EQ(last, 5000u);
}

TEST(HintRing, HintsOfSeveralThreadsArriveOnce) {
  const auto ring = std::make_unique<Hints>();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&ring, t] {
      for (uint64_t i = 0; i < 5000;) i += ring->add(hint(t * 5000 + i));
    });
  std::set<uint64_t> seen;
  for (Hints::Hint got{}; seen.size() < 20000;)
    if (ring->take(&got)) {
      if (!seen.insert(got.task).second) FAIL() << got.task << " came twice";
    }
  for (auto &t : threads) t.join();
  EXPECT_TRUE(ring->empty());
}

}  // namespace
}  // namespace consort
