// The patterns of the micro benchmark: which task uses which data, in which order; the same for every runtime.
// Owned by the process that measures; a Plan is built before the clock starts and is read-only from then on, by any
// thread. It must never know a runtime: a backend sees task numbers and data numbers, and nothing else.
#pragma once
#include "grids.hpp"
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class Pattern {
  independent, chain, wavefront, data2, data4, data4_wide, stencil, sync, acquire_release, acquire_task, register_unregister,
  register_task, redux, commute, partition, grid
};

// One row of the benchmark: a pattern, and in what its tasks differ from those of the others.
struct Case {
  std::string_view name;
  Pattern pattern;
  unsigned submitters = 1;
  bool replayed = false; // drawn up once, run many times; only the runs are timed
  bool bare = false;     // its tasks carry no value
  bool priority = false; // its tasks have one of eight priorities
  Shape shape = Shape::none;
  uint32_t width = 0;
};

inline constexpr Case cases[] = {
    {.name = "independent", .pattern = Pattern::independent},
    {.name = "chain", .pattern = Pattern::chain},
    {.name = "wavefront", .pattern = Pattern::wavefront},
    {.name = "data2", .pattern = Pattern::data2},
    {.name = "data4", .pattern = Pattern::data4},
    {.name = "data4_wide", .pattern = Pattern::data4_wide},
    {.name = "stencil", .pattern = Pattern::stencil},
    {.name = "sync", .pattern = Pattern::sync},
    {.name = "independent_prio", .pattern = Pattern::independent, .priority = true},
    {.name = "wavefront_prio", .pattern = Pattern::wavefront, .priority = true},
    {.name = "independent_bare", .pattern = Pattern::independent, .bare = true},
    {.name = "chain_bare", .pattern = Pattern::chain, .bare = true},
    {.name = "wavefront_bare", .pattern = Pattern::wavefront, .bare = true},
    {.name = "data2_bare", .pattern = Pattern::data2, .bare = true},
    {.name = "data4_bare", .pattern = Pattern::data4, .bare = true},
    {.name = "acquire_release", .pattern = Pattern::acquire_release},
    {.name = "acquire_task", .pattern = Pattern::acquire_task},
    {.name = "register_unregister", .pattern = Pattern::register_unregister},
    {.name = "register_task", .pattern = Pattern::register_task},
    {.name = "redux", .pattern = Pattern::redux},
    {.name = "commute", .pattern = Pattern::commute},
    {.name = "partition", .pattern = Pattern::partition},
    {.name = "independent_2sub", .pattern = Pattern::independent, .submitters = 2},
    {.name = "chain_2sub", .pattern = Pattern::chain, .submitters = 2},
    {.name = "wavefront_2sub", .pattern = Pattern::wavefront, .submitters = 2},
    {.name = "data4_2sub", .pattern = Pattern::data4, .submitters = 2},
    {.name = "replay_chain", .pattern = Pattern::chain, .replayed = true},
    {.name = "replay_wavefront", .pattern = Pattern::wavefront, .replayed = true},
    {.name = "replay_data4", .pattern = Pattern::data4, .replayed = true},
};

// The case of that name; grid:SHAPE:WIDTH is one, too.
inline std::optional<Case> find_case(const std::string &name) {
  for (const Case &c : cases)
    if (c.name == name) return c;
  if (!name.starts_with("grid:")) return {};
  const size_t colon = name.find(':', 5);
  if (colon == std::string::npos) return {};
  const std::string_view shape = std::string_view(name).substr(5, colon - 5);
  const unsigned long width = std::strtoul(name.c_str() + colon + 1, nullptr, 10);
  for (const ShapeName &s : shape_names)
    if (s.name == shape && width >= 2 && width <= max_width)
      return Case{.name = "grid", .pattern = Pattern::grid, .shape = s.shape, .width = static_cast<uint32_t>(width)};
  return {};
}

// The data of one task: all are read, the last is read and written.
template <unsigned N> struct Uses {
  std::array<uint32_t, N> id;
  static constexpr unsigned count = N;
};
inline constexpr unsigned max_uses = max_inputs + 1;

inline constexpr uint32_t pool_size = 1000, wide_pool_size = 100000;
inline constexpr uint32_t table_size = 1u << 16; // a power of two; a fixed size, so that a longer run costs no more to prepare
inline constexpr uint32_t stencil_width = 8;
inline constexpr uint32_t partition_parts = 64; // into which one vector is divided, used and brought together

struct Plan {
  Pattern pattern = Pattern::independent;
  unsigned submitters = 1;
  uint64_t n = 0;                             // tasks, of all submitters together
  uint64_t rows = 0, cols = 0;                // of one submitter's wavefront
  uint64_t data = 0;                          // how many data the runtime must know
  std::vector<std::array<uint32_t, 4>> table; // data4, data2: which of the pool
  Grid grid;

  uint64_t share() const { return n / submitters; }
};

inline Plan make_plan(const Case &c, uint64_t n) {
  Plan p;
  p.pattern = c.pattern;
  p.submitters = c.submitters;
  p.n = n / c.submitters * c.submitters;
  switch (c.pattern) {
  case Pattern::wavefront: {
    // one submitter: a square; two: two halves of it, each a wavefront of its own
    const auto side = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(n))));
    p.rows = side / c.submitters;
    p.cols = side;
    p.n = p.rows * p.cols * c.submitters;
    p.data = p.n;
    break;
  }
  case Pattern::data2:
  case Pattern::data4:
  case Pattern::data4_wide: {
    p.data = c.pattern == Pattern::data4_wide ? wide_pool_size : pool_size;
    p.table.resize(c.pattern == Pattern::data4_wide ? 4 * table_size : table_size); // wide: each datum comes ten times
    uint64_t state = 0x9e3779b97f4a7c15ull;
    for (auto &entry : p.table) {
      for (unsigned k = 0; k < 4;) {
        const auto d = static_cast<uint32_t>(next_random(state) % p.data);
        bool fresh = true;
        for (unsigned m = 0; m < k; ++m) fresh &= entry[m] != d;
        if (fresh) entry[k++] = d;
      }
    }
    break;
  }
  case Pattern::stencil:
    p.n = n / stencil_width * stencil_width;
    p.data = 2 * stencil_width;
    break;
  case Pattern::grid:
    p.grid = make_grid(c.shape, c.width);
    p.n = std::max<uint64_t>(n / c.width, 2) * c.width;
    p.data = 2ull * c.width;
    break;
  case Pattern::independent:
  case Pattern::sync:
    break;
  default: // one datum for all
    p.data = 1;
    break;
  }
  return p;
}

// Calls f(i, uses) with the task's inputs, then its own datum. Each step writes the other of two rows.
template <unsigned N, class F> inline void grid_task(const Plan &p, uint64_t i, const GridTask &t, uint32_t x, uint32_t to, F &f) {
  if constexpr (N + 1 <= max_uses) {
    if (t.count != N) return grid_task<N + 1>(p, i, t, x, to, f);
    Uses<N + 1> uses;
    for (unsigned k = 0; k < N; ++k) {
      const uint16_t c = t.column[k];
      uses.id[k] = (c & same_step) ? to + (c & ~same_step) : p.grid.width - to + c;
    }
    uses.id[N] = to + x;
    f(i, uses);
  }
}

// Calls f(i, uses) for each task of one submitter, in its order of submission. Task numbers are dense over all
// submitters: submitter s owns [s * share, (s + 1) * share).
template <class F> inline void each_task(const Plan &p, unsigned s, F &&f) {
  const uint64_t begin = s * p.share(), end = begin + p.share();
  switch (p.pattern) {
  case Pattern::independent:
  case Pattern::sync:
    for (uint64_t i = begin; i < end; ++i) f(i, Uses<0>{});
    break;
  case Pattern::wavefront: {
    const auto cols = static_cast<uint32_t>(p.cols);
    for (uint32_t j = 0; j < cols; ++j) {
      const auto me = static_cast<uint32_t>(begin + j);
      if (j == 0) f(me, Uses<1>{{me}});
      else f(me, Uses<2>{{me - 1, me}});
    }
    for (uint64_t row = 1; row < p.rows; ++row) {
      auto me = static_cast<uint32_t>(begin + row * cols);
      f(me, Uses<2>{{me - cols, me}});
      for (uint32_t j = 1; j < cols; ++j) {
        ++me;
        f(me, Uses<3>{{me - cols, me - 1, me}});
      }
    }
    break;
  }
  case Pattern::data2:
    for (uint64_t i = begin; i < end; ++i) {
      const auto &e = p.table[i & (table_size - 1)];
      f(i, Uses<2>{{e[0], e[1]}});
    }
    break;
  case Pattern::data4:
  case Pattern::data4_wide:
    for (uint64_t i = begin; i < end; ++i) {
      const auto &e = p.table[i & (p.table.size() - 1)];
      f(i, Uses<4>{{e[0], e[1], e[2], e[3]}});
    }
    break;
  case Pattern::stencil: // each step reads the row of the step before, and writes the other row
    for (uint64_t i = begin; i < end; ++i) {
      const auto x = static_cast<uint32_t>(i % stencil_width);
      const uint32_t to = i / stencil_width % 2 * stencil_width, from = stencil_width - to;
      if (x == 0) f(i, Uses<3>{{from, from + 1, to}});
      else if (x == stencil_width - 1) f(i, Uses<3>{{from + x - 1, from + x, to + x}});
      else f(i, Uses<4>{{from + x - 1, from + x, from + x + 1, to + x}});
    }
    break;
  case Pattern::grid: {
    const uint32_t width = p.grid.width;
    uint64_t i = begin;
    for (uint64_t step = 0; i < end; ++step) {
      const GridTask *tasks = p.grid.tasks.data() + step % p.grid.period * width;
      const auto to = static_cast<uint32_t>(step % 2 * width);
      for (uint32_t x = 0; x < width; ++x, ++i) grid_task<1>(p, i, tasks[x], x, to, f);
    }
    break;
  }
  default: // one datum for all
    for (uint64_t i = begin; i < end; ++i) f(i, Uses<1>{{0}});
    break;
  }
}

} // namespace bench
