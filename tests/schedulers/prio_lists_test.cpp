// The tasks of `prio` in order: lists for the first waiting priorities and a tree for the rest, against a map of queues.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

#include "plugins/schedulers/prio/lists.hpp"

namespace {

struct PrioLists : ::testing::TestWithParam<int> {};  // the number of priorities

// Random insertions and removals; the container runs empty from time to time, and fills in between.
TEST_P(PrioLists, LeaveInOrderOfPriorityThenArrival) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::vector<consort_task> tasks(4000);
    std::map<int32_t, std::deque<consort_task *>> expected;
    prio::Lists lists;
    size_t made = 0, waiting = 0;
    const auto pop = [&] {
      ASSERT_FALSE(lists.empty());
      auto &[priority, queue] = *expected.rbegin();
      ASSERT_EQ(lists.top(), priority);
      ASSERT_EQ(lists.pop(), queue.front()) << "seed " << seed << ", task " << made;
      queue.pop_front();
      --waiting;
      if (queue.empty()) expected.erase(priority);
    };
    while (made < tasks.size() || waiting) {
      const bool fills = (made / 500) % 2 == 0;  // by turns: mostly insertions, mostly removals
      if (made < tasks.size() && (!waiting || random() % 4 < (fills ? 3u : 1u))) {
        consort_task &t = tasks[made++];
        const auto n = static_cast<uint32_t>(GetParam());
        t.priority = static_cast<int32_t>(random() % n) - GetParam() / 2;
        if (random() % 512 == 0) t.priority = random() % 2 ? INT32_MAX : INT32_MIN;
        lists.push(&t);
        expected[t.priority].push_back(&t);
        ++waiting;
      } else {
        pop();
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_TRUE(lists.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Priorities, PrioLists, ::testing::Values(1, 2, 8, prio::Lists::kLists, prio::Lists::kLists + 1, 1000));

}  // namespace
