// Grids of tasks: a number of columns, step by step; which columns of the step before a task reads is the grid's shape.
// Made before the clock starts, read-only from then on, by any thread. Half of the shapes and widths are held out: they
// are measured, but nothing is tuned by them.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace bench {

// xorshift: the sequence of data is part of the benchmark, so it hangs on no library's generator.
inline uint64_t next_random(uint64_t &state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

enum class Shape { none, line, stencil, fft, spread, fan, sweep, near, random };

struct ShapeName {
  std::string_view name;
  Shape shape;
  bool held_out;
};
inline constexpr ShapeName shape_names[] = {
    {"line", Shape::line, false},       // its own column: 1 input
    {"stencil", Shape::stencil, false}, // and both neighbours: 3
    {"fft", Shape::fft, false},         // and one at a distance of 1, 2, 4, ...: 2
    {"spread", Shape::spread, false},   // five, evenly over the width
    {"fan", Shape::fan, true},          // column x / 2, which two others read, too: 1
    {"sweep", Shape::sweep, true},      // its own, and the left neighbour of the same step: 2
    {"near", Shape::near, true},        // four on each side, and its own: 9
    {"random", Shape::random, true},    // 1 to 9, by a fixed seed
};

inline constexpr unsigned max_inputs = 9;
inline constexpr uint32_t max_width = 1u << 14;
inline constexpr uint16_t same_step = 1u << 15; // in an input: not of the step before

// One task's inputs, as columns.
struct GridTask {
  uint16_t count = 0;
  std::array<uint16_t, max_inputs> column{};

  void add(int64_t x, uint32_t width) {
    if (x >= 0 && x < width && std::find(column.begin(), column.begin() + count, x) == column.begin() + count)
      column[count++] = static_cast<uint16_t>(x);
  }
};

// The tasks of as many steps as there are before they repeat: step t of column x is at (t % period) * width + x.
struct Grid {
  uint32_t width = 0, period = 1;
  std::vector<GridTask> tasks;
};

inline Grid make_grid(Shape shape, uint32_t width) {
  Grid g;
  g.width = width;
  const auto levels = static_cast<uint32_t>(std::max(std::bit_width(width - 1), decltype(std::bit_width(width)){1}));
  g.period = shape == Shape::fft ? levels : shape == Shape::random ? 16 : 1;
  g.tasks.resize(static_cast<size_t>(g.period) * width);
  uint64_t state = 0x9e3779b97f4a7c15ull;
  for (uint32_t t = 0; t < g.period; ++t)
    for (uint32_t x = 0; x < width; ++x) {
      GridTask &task = g.tasks[static_cast<size_t>(t) * width + x];
      const auto near = [&](int64_t by) { task.add(static_cast<int64_t>(x) + by, width); };
      switch (shape) {
      case Shape::stencil:
        for (int by = -1; by <= 1; ++by) near(by);
        break;
      case Shape::near:
        for (int by = -4; by <= 4; ++by) near(by);
        break;
      case Shape::fft:
        near(0);
        task.add(x ^ (1u << t), width);
        break;
      case Shape::spread:
        for (uint32_t k = 0; k < 5; ++k) task.add((x + k * std::max(1u, width / 5)) % width, width);
        break;
      case Shape::fan: task.add(x / 2, width); break;
      case Shape::sweep:
        near(0);
        if (x > 0) task.column[task.count++] = static_cast<uint16_t>((x - 1) | same_step);
        break;
      case Shape::random:
        for (uint64_t k = 1 + next_random(state) % max_inputs; k > 0; --k) task.add(static_cast<int64_t>(next_random(state) % width), width);
        break;
      default: near(0); break;
      }
    }
  return g;
}

} // namespace bench
