// Edges between recorded tasks, from accesses by number.
#include "replay/recorded_graph.hpp"

#include <consort/consort.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace consort {
namespace {

using Edges = std::set<std::pair<uint32_t, uint32_t>>;

Edges edges(const RecordedGraph &g) {
  Edges all;
  for (const auto &e : g.edges()) EXPECT_TRUE(all.insert({e.from, e.to}).second) << e.from << " to " << e.to << " twice";
  return all;
}

constexpr uint32_t kRead = CONSORT_M_R, kWrite = CONSORT_M_RW, kCommute = CONSORT_M_RW | CONSORT_M_COMMUTE;

TEST(RecordedGraph, ReadersStandBetweenWriters) {
  RecordedGraph g(4);
  AccessChains chains(g, 1);
  chains.use(0, 0, kWrite);
  chains.use(1, 0, kRead);
  chains.use(2, 0, kRead);
  chains.use(3, 0, kWrite);
  EXPECT_EQ(edges(g), (Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
}

TEST(RecordedGraph, EdgesByTwoDataAreOne) {
  RecordedGraph g(2);
  AccessChains chains(g, 2);
  for (uint32_t task = 0; task < 2; ++task)
    for (uint32_t datum = 0; datum < 2; ++datum) chains.use(task, datum, kWrite);
  EXPECT_EQ(edges(g), (Edges{{0, 1}}));
}

TEST(RecordedGraph, JunctionStandsBetweenReadersAndThoseThatCommute) {
  RecordedGraph g(4);
  AccessChains chains(g, 1);
  chains.use(0, 0, kRead);
  chains.use(1, 0, kRead);
  chains.use(2, 0, kCommute);
  chains.use(3, 0, kCommute);
  EXPECT_EQ(g.size(), 5u) << "a node was added";
  EXPECT_EQ(edges(g), (Edges{{0, 4}, {1, 4}, {4, 2}, {4, 3}}));
}

TEST(RecordedGraph, OneNodeComesAfterAll) {
  for (const uint32_t n : {0u, 1u, 64u, 65u, 5000u}) {
    RecordedGraph g(n);
    g.finish();
    std::vector<bool> followed(g.size());
    std::vector<uint32_t> before(g.size());
    for (const auto &e : g.edges()) {
      EXPECT_LT(e.from, e.to);
      followed[e.from] = true;
      ++before[e.to];
    }
    for (uint32_t i = 0; i + 1 < g.size(); ++i) EXPECT_TRUE(followed[i]) << i << " of " << n;
    for (const uint32_t b : before) EXPECT_LE(b, RecordedGraph::kFan);
    EXPECT_GT(g.size(), n);
  }
}

}  // namespace
}  // namespace consort
