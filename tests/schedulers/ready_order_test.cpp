// Waiting tasks of one kind: after any insertions and removals they are read in the order of urgency, from the front
// and the back.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plugins/schedulers/ready.hpp"

namespace consort_test {
namespace {

using policies::Node, policies::Ready, policies::more_urgent;

void expect_order(const Ready &ready, std::vector<Node *> all) {
  std::sort(all.begin(), all.end(), [](const Node *a, const Node *b) { return more_urgent(a, b); });
  ASSERT_EQ(ready.empty(), all.empty());
  ASSERT_EQ(ready.front(), all.empty() ? nullptr : all.front());
  ASSERT_EQ(ready.back(), all.empty() ? nullptr : all.back());
  std::vector<Node *> seen(all.size() + 1);
  uint32_t n = ready.first(seen.data(), static_cast<uint32_t>(all.size() / 3));
  ASSERT_EQ(n, all.size() / 3);
  n = ready.first(seen.data(), static_cast<uint32_t>(seen.size()), n);  // it goes on where it was
  ASSERT_EQ(n, all.size());
  seen.pop_back();
  ASSERT_EQ(seen, all);
}

TEST(ReadyOrder, KeepsUrgencyOrder) {
  std::mt19937 random(7);
  std::vector<Node> nodes(200);
  for (const uint32_t ranks : {1u, 5u, 1000u}) {
    Ready ready;
    std::vector<Node *> free, in;
    for (Node &n : nodes) free.push_back(&n);
    uint64_t seq = 0;
    for (uint32_t step = 0; step < 3000; ++step) {
      const bool more = in.empty() || (!free.empty() && random() % 100 < (step / 500 % 2 ? 40 : 60));
      std::vector<Node *> &from = more ? free : in, &to = more ? in : free;
      const auto it = from.begin() + static_cast<std::ptrdiff_t>(random() % from.size());
      Node *const n = *it;
      from.erase(it);
      to.push_back(n);
      if (more) {
        *n = Node{};
        n->seq = ++seq;
        n->priority = static_cast<int32_t>(random() % 3);
        n->rank = static_cast<float>(random() % ranks);
        ready.push(n);
      } else {
        ready.remove(n);
      }
      ASSERT_NO_FATAL_FAILURE(expect_order(ready, in)) << "after step " << step;
    }
  }
}

}  // namespace
}  // namespace consort_test
