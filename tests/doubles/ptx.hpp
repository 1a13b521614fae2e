// Programs in PTX: the text as compilers make it for simple kernels, read into instructions that the host interprets.
// An unknown instruction is refused, with its line.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "image.h"

namespace ptx {

enum class Type : uint8_t { b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f32, f64, pred };

size_t size_of(Type type);
bool is_float(Type type);
bool is_signed(Type type);

enum class Op : uint8_t {
  mov,
  cvta,
  ld,
  st,
  add,
  sub,
  mul,
  mad,
  fma,
  div,
  rem,
  min,
  max,
  neg,
  abs,
  bit_not,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  setp,
  selp,
  bra,
  cvt,
  ret,
  bar,
  sqrt,
  rcp,
  rsqrt,
  atom,
  nop
};

enum class Space : uint8_t { generic, global, shared, local, param };
enum class Mode : uint8_t { plain, lo, hi, wide };          // of products
enum class Round : uint8_t { none, even, zero, down, up };  // of conversions to whole numbers
enum class Compare : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class Special : uint8_t { tid, ntid, ctaid, nctaid, laneid };

struct Operand {
  enum Kind : uint8_t { none, reg, number, special, shared_at, local_at, param_at } kind = none;
  uint32_t index = 0;  // of a register; of a parameter; for a special one, 3 * which + axis
  uint64_t value = 0;  // a number, an offset
};

struct Instruction {
  Op op = Op::nop;
  Type type = Type::b32, from = Type::b32;
  Space space = Space::generic;
  Mode mode = Mode::plain;
  Round round = Round::none;
  Compare compare = Compare::eq;
  bool negated = false, to = false, typed = false, single = false;  // @!p; cvta.to; a float product in f32 alone
  int32_t predicate = -1;
  uint32_t target = 0, line = 0, lanes = 1;
  std::vector<Operand> operands;
};

struct Param {
  std::string name;
  size_t size, offset;
  bool pointer;  // may be one, or have one in it
};

struct Entry {
  std::string name;
  std::vector<Param> params;
  std::vector<Instruction> code;
  size_t registers = 0, shared = 0, local = 0;
  bool dynamic_shared = false;
  int max_threads = 1024;
};

// The kernels of a program, or its error, with the line.
bool parse(const std::string &text, std::vector<Entry> &entries, std::string &error);

struct Fault {
  uint64_t address = 0;
  uint32_t line = 0;  // 0: there was none
};

// All blocks of a launch, one after another; `allowed` says of an address and a size whether they may be touched.
Fault run(const Entry &entry, void **params, const consort_double_launch &launch,
          bool (*allowed)(void *, uint64_t, size_t), void *context);

}  // namespace ptx
