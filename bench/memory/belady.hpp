// belady.hpp — programs over tiles, and how many tiles an optimal (Belady) replacement loads. Shared with the tests.
#pragma once
#include <consort/consort.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace bench {

struct Use { int tile; bool reads, writes; };
using Step = std::vector<Use>;
inline uint32_t mode(const Use &u) { return (u.reads ? uint32_t{CONSORT_M_R} : 0u) | (u.writes ? uint32_t{CONSORT_M_W} : 0u); }

// Tiles that an optimal replacement loads for these steps in this order, with room for so many.
inline uint64_t optimal_loads(const std::vector<Step> &steps, size_t room) {
  std::map<int, std::vector<size_t>> uses;  // places in the order, the last first
  for (size_t i = steps.size(); i-- > 0;)
    for (const Use &u : steps[i]) uses[u.tile].push_back(i);
  std::set<int> there;
  uint64_t loads = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto needed = [&](int tile) {
      return std::any_of(steps[i].begin(), steps[i].end(), [&](const Use &u) { return u.tile == tile; });
    };
    for (const Use &u : steps[i]) {
      if (there.contains(u.tile)) continue;
      if (there.size() == room) {
        int victim = -1;
        size_t farthest = 0;
        for (const int t : there) {
          const auto &later = uses[t];
          const size_t next = later.empty() ? SIZE_MAX : later.back();
          if (!needed(t) && (victim < 0 || next > farthest)) victim = t, farthest = next;
        }
        there.erase(victim);
      }
      there.insert(u.tile);
      loads += u.reads;
    }
    for (const Use &u : steps[i]) uses[u.tile].pop_back();
  }
  return loads;
}

inline std::vector<Step> cholesky(int n) {
  std::vector<Step> steps;
  const auto at = [](int i, int j) { return i * (i + 1) / 2 + j; };
  for (int k = 0; k < n; ++k) {
    steps.push_back({{at(k, k), true, true}});
    for (int i = k + 1; i < n; ++i) steps.push_back({{at(k, k), true, false}, {at(i, k), true, true}});
    for (int i = k + 1; i < n; ++i) {
      for (int j = k + 1; j < i; ++j) steps.push_back({{at(i, k), true, false}, {at(j, k), true, false}, {at(i, j), true, true}});
      steps.push_back({{at(i, k), true, false}, {at(i, i), true, true}});
    }
  }
  return steps;
}

inline std::vector<Step> product(int n) {
  std::vector<Step> steps;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k)
        steps.push_back({{i * n + k, true, false}, {n * n + k * n + j, true, false}, {2 * n * n + i * n + j, true, true}});
  return steps;
}

} // namespace bench
