// graph.hpp — tiled Cholesky, LU and product as lists of tasks over tiles, with their bottom levels. Plain data; main().
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace bench {

struct TileUse { uint32_t tile; bool writes; };  // one that is written is read, too
struct TileTask {
  uint32_t kernel;  // of Graph::kernels
  std::array<TileUse, 3> uses;
  uint32_t nuses;
};

struct Graph {
  std::vector<std::string> kernels;
  std::vector<uint32_t> operands;  // tiles, by kernel
  std::vector<TileTask> tasks;     // in the order of a sequential run
  uint32_t tiles = 0;
  double flops = 0;                // all of it
  uint32_t chain = 0;              // links of the critical chain: factorised diagonal blocks

  void add(uint32_t kernel, std::initializer_list<TileUse> uses) {
    TileTask t{kernel, {}, static_cast<uint32_t>(uses.size())};
    std::copy(uses.begin(), uses.end(), t.uses.begin());
    tasks.push_back(t);
  }
  std::vector<uint64_t> counts() const {
    std::vector<uint64_t> n(kernels.size());
    for (const TileTask &t : tasks) ++n[t.kernel];
    return n;
  }
  // Of each task the longest way to an end of the graph, itself included.
  std::vector<double> bottom_levels(const std::vector<double> &time) const {
    std::vector<double> level(tasks.size()), writer(tiles), readers(tiles);
    for (size_t i = tasks.size(); i-- > 0;) {
      const TileTask &t = tasks[i];
      double below = 0;
      for (uint32_t u = 0; u < t.nuses; ++u)
        below = std::max({below, writer[t.uses[u].tile], t.uses[u].writes ? readers[t.uses[u].tile] : 0});
      level[i] = below + time[t.kernel];
      for (uint32_t u = 0; u < t.nuses; ++u) {
        const uint32_t x = t.uses[u].tile;
        if (t.uses[u].writes) writer[x] = level[i], readers[x] = 0;
        else readers[x] = std::max(readers[x], level[i]);
      }
    }
    return level;
  }
};

inline Graph cholesky(uint32_t n, double tile) {  // right-looking, lower half
  Graph g{{"potrf", "trsm", "syrk", "gemm"}, {1, 2, 2, 3}, {}, n * (n + 1) / 2, 0, n};
  const double size = n * tile;
  g.flops = size * size * size / 3;
  const auto at = [](uint32_t i, uint32_t j) { return i * (i + 1) / 2 + j; };
  for (uint32_t k = 0; k < n; ++k) {
    g.add(0, {{at(k, k), true}});
    for (uint32_t i = k + 1; i < n; ++i) g.add(1, {{at(k, k), false}, {at(i, k), true}});
    for (uint32_t i = k + 1; i < n; ++i) {
      for (uint32_t j = k + 1; j < i; ++j) g.add(3, {{at(i, k), false}, {at(j, k), false}, {at(i, j), true}});
      g.add(2, {{at(i, k), false}, {at(i, i), true}});
    }
  }
  return g;
}

inline Graph lu(uint32_t n, double tile) {  // without pivoting
  Graph g{{"getrf", "trsm_ll", "trsm_ru", "gemm"}, {1, 2, 2, 3}, {}, n * n, 0, n};
  const double size = n * tile;
  g.flops = 2 * size * size * size / 3;
  const auto at = [n](uint32_t i, uint32_t j) { return i * n + j; };
  for (uint32_t k = 0; k < n; ++k) {
    g.add(0, {{at(k, k), true}});
    for (uint32_t j = k + 1; j < n; ++j) g.add(1, {{at(k, k), false}, {at(k, j), true}});
    for (uint32_t i = k + 1; i < n; ++i) g.add(2, {{at(k, k), false}, {at(i, k), true}});
    for (uint32_t i = k + 1; i < n; ++i)
      for (uint32_t j = k + 1; j < n; ++j) g.add(3, {{at(i, k), false}, {at(k, j), false}, {at(i, j), true}});
  }
  return g;
}

inline Graph gemm(uint32_t n, double tile) {  // C += A B
  Graph g{{"gemm"}, {3}, {}, 3 * n * n, 0, 0};
  const double size = n * tile;
  g.flops = 2 * size * size * size;
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t k = 0; k < n; ++k)
        g.add(0, {{n * n + i * n + k, false}, {2 * n * n + k * n + j, false}, {i * n + j, true}});
  return g;
}

}  // namespace bench
