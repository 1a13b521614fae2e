// spirv.hpp — the double's reader of SPIR-V: enough for the kernels that clang and llvm-spirv make of plain OpenCL C.
//
// A Program is made once and constant afterwards; run() may be called by several threads at once. An unknown
// instruction is a build error that names it. Every address that a kernel touches is checked first.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace ze_double::spirv {

struct Argument {
  bool set = false;
  uint64_t size = 0;           // of local memory
  std::vector<uint8_t> bytes;  // else
};

struct Param {
  enum Kind { value, pointer, local, record } kind = value;  // record: a struct by value
  uint32_t size = 0, type = 0, id = 0;
};

struct Entry {
  std::string name;
  uint32_t function = 0;
  std::vector<Param> params;
  uint32_t required[3] = {0, 0, 0};
};

struct Type {
  enum Kind { none, nothing, boolean, integer, real, vector, array, record, pointer, function } kind = none;
  uint32_t width = 0, element = 0, count = 0, storage = 0;
  uint64_t size = 0, align = 1;
  std::vector<uint32_t> members;
  std::vector<uint64_t> offsets;
};

struct Inst {
  uint32_t op = 0, type = 0, result = 0, count = 0;
  const uint32_t *operands = nullptr;
};

struct Function {
  uint32_t first = 0;  // in Program::code
  std::vector<Param> params;
  uint64_t privates = 0;  // bytes of its variables
};

struct Program {
  std::vector<uint32_t> words;
  std::vector<Entry> entries;
  std::vector<Type> types;                         // by id
  std::vector<uint32_t> type_of;                   // by id
  std::vector<uint64_t> constants;                 // kLanes for each id
  std::vector<Inst> code;
  std::unordered_map<uint32_t, uint32_t> labels;   // id to place in the code
  std::unordered_map<uint32_t, Function> functions;
  std::unordered_map<uint32_t, uint64_t> variables;  // of a function: their place in its memory
  std::unordered_map<uint32_t, uint32_t> builtins;   // id of the variable to which one it is
  std::vector<std::pair<uint32_t, uint64_t>> locals; // memory of the group: id, place
  uint64_t privates = 0, local_bytes = 0;
  std::vector<std::unique_ptr<uint64_t[]>> globals;  // constant tables
  std::vector<std::pair<uint64_t, uint64_t>> global_ranges;
  uint32_t bound = 0;
  bool barriers = false;
};

constexpr uint32_t kLanes = 16;

std::shared_ptr<Program> parse(std::vector<uint32_t> words, std::string *log);

struct Launch {
  const Entry *entry = nullptr;
  std::vector<Argument> args;
  uint32_t groups[3] = {1, 1, 1}, size[3] = {1, 1, 1};
};
// Of memory that the kernel is about to touch: the range around it that it may, or false.
using Ask = std::function<bool(uint64_t at, uint64_t size, bool write, uint64_t *first, uint64_t *bytes)>;

// false: it touched memory that it may not, `why` names it; it has stopped there.
bool run(const Program &, const Launch &, const Ask &, std::string *why);

}  // namespace ze_double::spirv
