// The effect of a stream's operation, as data: graphs keep it and change it, the checks read from it the touched
// memory.
#pragma once
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "image.h"
#include "memory.hpp"

namespace gpu {

struct Module;

struct Param {
  size_t size, offset;
  unsigned kind;  // consort_double_value, ...
};

struct Function : Object {
  std::weak_ptr<Module> module;
  std::shared_ptr<Context> context;
  std::shared_ptr<void> code;  // resources of `run` stay as long as an operation needs them
  std::string name;
  std::vector<Param> params;
  size_t static_shared = 0, dynamic_shared = size_t{48} << 10;
  int max_threads = 1024;
  // 0 or the fault that it ended with. Runs in a stream's thread, without the machine's lock.
  std::function<int(void **params, const consort_double_launch &)> run;
};

struct Copy {
  uint64_t dst = 0, src = 0;
  size_t width = 0, height = 1, depth = 1, dst_pitch = 0, dst_plane = 0, src_pitch = 0, src_plane = 0;
  bool dst_device = false, src_device = false;  // as the caller states
  std::shared_ptr<std::vector<char>> staged;    // instead of the source, which was pageable

  Region to() const { return {dst, width, height, dst_pitch, depth, dst_plane}; }
  Region from() const { return {src, width, height, src_pitch, depth, src_plane}; }
  size_t bytes() const { return width * height * depth; }
};

struct Fill {
  uint64_t dst = 0;
  unsigned value = 0, element = 1;
  size_t width = 0, height = 1, pitch = 0;  // the width in elements

  Region to() const { return {dst, width * element, height, pitch, 1, pitch * height}; }
};

struct Kernel {
  std::shared_ptr<Function> function;
  consort_double_launch launch{};
  std::vector<unsigned char> params;

  std::vector<void *> pointers();
};

struct HostCall {
  std::function<void(int status)> call;
  bool always = false;                 // also after a fault
  void (*function)(void *) = nullptr;  // for queries of graphs
  void *argument = nullptr;
};

struct Nothing {};

struct Fresh {  // the effect of an allocation in a stream's order
  std::shared_ptr<Block> block;
};

struct Release {
  std::shared_ptr<Block> block;
};

using Work = std::variant<Nothing, Kernel, Copy, Fill, HostCall, Fresh, Release>;

// The bytes that it is known to touch. A kernel touches at least the first byte behind each pointer parameter.
std::vector<Touch> touches(const Work &work);

// Checks whether its addresses are in live blocks and may be reached from there. Throws the result of the call; `fault`
// is the error with which a kernel will end.
void check(const Work &work, const Context &context, int &fault);

// Whether kernels of a context may touch a device's block.
bool reaches(const Context &context, const Block &block);

// Without the lock; 0 or the fault.
int perform(Work &work, int status);

// Where the rows of a copy between `dst` and `src` go.
Copy line(uint64_t dst, uint64_t src, size_t bytes, bool dst_device, bool src_device);

}  // namespace gpu
