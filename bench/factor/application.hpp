// A factorisation as a graph of tasks on tiles: what each program of this folder runs, whatever the runtime.
// An application gives: kernels (a table of Kernel), Application(n, tile), operator bool, blocks(), at(block),
// elements(block), each_task(f) in the order of the loops, fill(), flops(), residual(). Its blocks are owned by it;
// kernels are pure functions of their operands, on any thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace bench {

enum class Access : uint8_t { read, write, update };

inline constexpr unsigned max_operands = 4;

struct Kernel {
  const char *name;
  unsigned operands;
  std::array<Access, max_operands> access;
  bool (*run)(float *const *operands, int tile); // false: the matrix has no such factorisation
};

struct Task {
  unsigned kernel; // its place in the application's table
  std::array<uint32_t, max_operands> block;
  int priority; // the longest way from the task to the end of the graph
};

} // namespace bench
