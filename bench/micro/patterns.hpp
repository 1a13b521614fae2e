// The patterns of the micro benchmark: which task uses which data, in which order; the same for every runtime.
// Owned by the process that measures; a Plan is built before the clock starts and is read-only from then on, by any
// thread. It must never know a runtime: a backend sees task numbers and data numbers, and nothing else.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

enum class Pattern { independent, chain, wavefront, data2, data4, stencil, sync, acquire_release, register_unregister, redux, commute, partition };

struct PatternName {
  std::string_view name;
  Pattern pattern;
  unsigned submitters;
  bool replayed = false; // drawn up once, run many times; only the runs are timed
};

inline constexpr PatternName pattern_names[] = {
    {"independent", Pattern::independent, 1},
    {"chain", Pattern::chain, 1},
    {"wavefront", Pattern::wavefront, 1},
    {"data2", Pattern::data2, 1},
    {"data4", Pattern::data4, 1},
    {"stencil", Pattern::stencil, 1},
    {"sync", Pattern::sync, 1},
    {"acquire_release", Pattern::acquire_release, 1},
    {"register_unregister", Pattern::register_unregister, 1},
    {"redux", Pattern::redux, 1},
    {"commute", Pattern::commute, 1},
    {"partition", Pattern::partition, 1},
    {"independent_2sub", Pattern::independent, 2},
    {"chain_2sub", Pattern::chain, 2},
    {"wavefront_2sub", Pattern::wavefront, 2},
    {"data4_2sub", Pattern::data4, 2},
    {"replay_chain", Pattern::chain, 1, true},
    {"replay_wavefront", Pattern::wavefront, 1, true},
    {"replay_data4", Pattern::data4, 1, true},
};

// The data of one task: all are read, the last is read and written.
template <unsigned N> struct Uses {
  std::array<uint32_t, N> id;
  static constexpr unsigned count = N;
};

inline constexpr uint32_t pool_size = 1000;
inline constexpr uint32_t table_size = 1u << 16; // a power of two; a fixed size, so that a longer run costs no more to prepare
inline constexpr uint32_t stencil_width = 8;
inline constexpr uint32_t partition_parts = 64; // into which one vector is divided, used and brought together

struct Plan {
  Pattern pattern = Pattern::independent;
  unsigned submitters = 1;
  uint64_t n = 0;                              // tasks, of all submitters together
  uint64_t rows = 0, cols = 0;                 // of one submitter's wavefront
  uint64_t data = 0;                           // how many data the runtime must know
  std::vector<std::array<uint16_t, 4>> table;  // data4, data2: which of the pool

  uint64_t share() const { return n / submitters; }
};

// xorshift: the sequence of data is part of the benchmark, so it hangs on no library's generator.
inline uint64_t next_random(uint64_t &state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

inline Plan make_plan(Pattern pattern, unsigned submitters, uint64_t n) {
  Plan p;
  p.pattern = pattern;
  p.submitters = submitters;
  p.n = n / submitters * submitters;
  switch (pattern) {
  case Pattern::wavefront: {
    // one submitter: a square; two: two halves of it, each a wavefront of its own
    const auto side = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(n))));
    p.rows = side / submitters;
    p.cols = side;
    p.n = p.rows * p.cols * submitters;
    p.data = p.n;
    break;
  }
  case Pattern::data2:
  case Pattern::data4: {
    p.data = pool_size;
    p.table.resize(table_size);
    uint64_t state = 0x9e3779b97f4a7c15ull;
    for (auto &entry : p.table) {
      for (unsigned k = 0; k < 4;) {
        const auto d = static_cast<uint16_t>(next_random(state) % pool_size);
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
  case Pattern::chain:
  case Pattern::redux:
  case Pattern::commute:
  case Pattern::acquire_release:
  case Pattern::register_unregister:
  case Pattern::partition:
    p.data = 1;
    break;
  default:
    break;
  }
  return p;
}

// Calls f(i, uses) for each task of one submitter, in its order of submission. Task numbers are dense over all
// submitters: submitter s owns [s * share, (s + 1) * share).
template <class F> inline void each_task(const Plan &p, unsigned s, F &&f) {
  const uint64_t begin = s * p.share(), end = begin + p.share();
  switch (p.pattern) {
  case Pattern::independent:
    for (uint64_t i = begin; i < end; ++i) f(i, Uses<0>{});
    break;
  case Pattern::chain: // one datum for everybody
  case Pattern::redux: // … which all add to, on copies
  case Pattern::commute: // … in any order, one at a time
    for (uint64_t i = begin; i < end; ++i) f(i, Uses<1>{{0}});
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
    for (uint64_t i = begin; i < end; ++i) {
      const auto &e = p.table[i & (table_size - 1)];
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
  default:
    break;
  }
}

} // namespace bench
