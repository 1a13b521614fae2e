// graphs.hpp — the programs that the policies are compared by: lists of tasks over tiles, in the order of submission.
//
// Plain data. Add a graph of your own to all_graphs(): kernels are those of the machines' files.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace bench {

inline constexpr const char *kKernels[] = {"factor", "solve", "update"};  // of one, two and three tiles
inline constexpr double kCost[] = {1.5, 2.5, 4};                          // what the program knows of them, for priorities

struct Task {
  uint32_t kernel;
  std::vector<uint32_t> uses;  // tiles; the last one is written, the others are read
};
struct Graph {
  std::string name;
  uint32_t tiles = 0;
  std::vector<Task> tasks;

  // Of each task the longest way to an end of the graph, as a number from 0 to 1000: the priority that a program gives.
  std::vector<int32_t> priorities() const {
    std::vector<double> level(tasks.size()), after_write(tiles), after_reads(tiles);
    for (size_t i = tasks.size(); i-- > 0;) {
      const Task &t = tasks[i];
      double below = 0;
      for (const uint32_t x : t.uses) below = std::max(below, after_write[x]);
      below = std::max(below, after_reads[t.uses.back()]);
      level[i] = below + kCost[t.kernel];
      for (const uint32_t x : t.uses) after_reads[x] = std::max(after_reads[x], level[i]);
      after_write[t.uses.back()] = level[i], after_reads[t.uses.back()] = 0;
    }
    const double longest = *std::max_element(level.begin(), level.end());
    std::vector<int32_t> all;
    for (const double l : level) all.push_back(static_cast<int32_t>(l / longest * 1000));
    return all;
  }
};

// Tiled Cholesky factorisation: a long chain, and much beside it.
inline Graph cholesky(uint32_t n) {
  Graph g{"cholesky", n * (n + 1) / 2, {}};
  const auto at = [](uint32_t i, uint32_t j) { return i * (i + 1) / 2 + j; };
  for (uint32_t k = 0; k < n; ++k) {
    g.tasks.push_back({0, {at(k, k)}});
    for (uint32_t i = k + 1; i < n; ++i) g.tasks.push_back({1, {at(k, k), at(i, k)}});
    for (uint32_t i = k + 1; i < n; ++i) {
      for (uint32_t j = k + 1; j < i; ++j) g.tasks.push_back({2, {at(i, k), at(j, k), at(i, j)}});
      g.tasks.push_back({1, {at(i, k), at(i, i)}});
    }
  }
  return g;
}

// A table whose entries need their neighbours above and to the left: little to do at first and in the end.
inline Graph wavefront(uint32_t n) {
  Graph g{"wavefront", n * n, {}};
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j) {
      std::vector<uint32_t> uses;
      if (i) uses.push_back((i - 1) * n + j);
      if (j) uses.push_back(i * n + j - 1);
      uses.push_back(i * n + j);
      g.tasks.push_back({static_cast<uint32_t>(uses.size()) - 1, uses});
    }
  return g;
}

// Each task reads up to two results of the sixty before it; the same graph in each run.
inline Graph random_graph(uint32_t n) {
  Graph g{"random", n, {}};
  std::mt19937 random(12345);
  for (uint32_t i = 0; i < n; ++i) {
    std::vector<uint32_t> uses;
    const uint32_t most = std::min(i, static_cast<uint32_t>(random() % 3));
    for (uint32_t k = 0; k < most; ++k) {
      const uint32_t x = i - 1 - random() % std::min(i, 60u);
      if (std::find(uses.begin(), uses.end(), x) == uses.end()) uses.push_back(x);
    }
    uses.push_back(i);
    g.tasks.push_back({static_cast<uint32_t>(uses.size()) - 1, uses});
  }
  return g;
}

// Nothing depends on anything: it is only asked where each task runs.
inline Graph independent(uint32_t n) {
  Graph g{"independent", n + 2, {}};
  std::mt19937 random(54321);
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t kernel = random() % 3;
    std::vector<uint32_t> uses;
    for (uint32_t k = 0; k < kernel; ++k) uses.push_back(n + k);  // which all of them read
    uses.push_back(i);
    g.tasks.push_back({kernel, uses});
  }
  return g;
}

inline std::vector<Graph> all_graphs(bool quick) {
  if (quick) return {cholesky(5), random_graph(40)};
  return {cholesky(12), wavefront(18), random_graph(400), independent(300)};
}

}  // namespace bench
