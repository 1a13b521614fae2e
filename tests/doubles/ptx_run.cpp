// A launch, interpreted. Each thread of a block has registers of its own and goes on to its end or to the next barrier.
// Then the next thread does.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "ptx.hpp"

namespace ptx {

namespace {

struct Thread {
  std::vector<uint64_t> registers;
  std::vector<unsigned char> local;
  unsigned id[3] = {};
  uint32_t at = 0;
  bool done = false;
};

uint64_t cut(uint64_t value, Type type) {
  size_t bits = 8 * size_of(type);
  return type == Type::pred ? value & 1 : bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

int64_t extended(uint64_t value, Type type) {
  size_t shift = 64 - 8 * size_of(type);
  return static_cast<int64_t>(value << shift) >> shift;
}

double real(uint64_t value, Type type) {
  return type == Type::f32 ? std::bit_cast<float>(static_cast<uint32_t>(value)) : std::bit_cast<double>(value);
}

uint64_t bits(double value, Type type) {
  return type == Type::f32 ? std::bit_cast<uint32_t>(static_cast<float>(value)) : std::bit_cast<uint64_t>(value);
}

// As an f32 or f64 would have it: an f64 of two f32 holds their sum and product exactly enough to be rounded once more.
uint64_t float_op(Op op, Type type, uint64_t x, uint64_t y, uint64_t z) {
  double a = real(x, type), b = real(y, type), c = real(z, type);
  bool one = type == Type::f32;
  switch (op) {
    case Op::add:
      return bits(a + b, type);
    case Op::sub:
      return bits(a - b, type);
    case Op::mul:
      return bits(a * b, type);
    case Op::mad:
    case Op::fma:
      return one ? bits(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)), type)
                 : bits(std::fma(a, b, c), type);
    case Op::div:
      return bits(a / b, type);
    case Op::min:
      return bits(std::fmin(a, b), type);
    case Op::max:
      return bits(std::fmax(a, b), type);
    case Op::neg:
      return bits(-a, type);
    case Op::abs:
      return bits(std::fabs(a), type);
    case Op::sqrt:
      return bits(std::sqrt(a), type);
    case Op::rcp:
      return bits(1.0 / a, type);
    case Op::rsqrt:
      return bits(1.0 / std::sqrt(a), type);
    default:
      return 0;
  }
}

uint64_t product(const Instruction &in, uint64_t x, uint64_t y) {
  size_t width = 8 * size_of(in.type);
  if (is_signed(in.type)) {
    auto all = static_cast<__int128>(extended(x, in.type)) * extended(y, in.type);
    return static_cast<uint64_t>(in.mode == Mode::hi ? all >> width : all);
  }
  auto all = static_cast<unsigned __int128>(cut(x, in.type)) * cut(y, in.type);
  return static_cast<uint64_t>(in.mode == Mode::hi ? all >> width : all);
}

uint64_t whole_op(const Instruction &in, uint64_t x, uint64_t y, uint64_t z) {
  Type type = in.type;
  int64_t a = extended(x, type), b = extended(y, type);
  uint64_t ua = cut(x, type), ub = cut(y, type);
  bool sign = is_signed(type);
  size_t width = 8 * size_of(type);
  switch (in.op) {
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:
      return product(in, x, y);
    case Op::mad:
      return product(in, x, y) + z;
    case Op::div:
      return ub == 0 ? ~uint64_t{0} : sign ? (b == -1 ? 0 - x : static_cast<uint64_t>(a / b)) : ua / ub;
    case Op::rem:
      return ub == 0 ? x : sign ? (b == -1 ? 0 : static_cast<uint64_t>(a % b)) : ua % ub;
    case Op::min:
      return sign ? static_cast<uint64_t>(std::min(a, b)) : std::min(ua, ub);
    case Op::max:
      return sign ? static_cast<uint64_t>(std::max(a, b)) : std::max(ua, ub);
    case Op::neg:
      return 0 - x;
    case Op::abs:
      return static_cast<uint64_t>(a < 0 ? 0 - a : a);
    case Op::bit_not:
      return ~x;
    case Op::bit_and:
      return x & y;
    case Op::bit_or:
      return x | y;
    case Op::bit_xor:
      return x ^ y;
    case Op::shl:
      return cut(y, Type::u32) >= width ? 0 : x << cut(y, Type::u32);
    case Op::shr: {
      uint64_t by = std::min<uint64_t>(cut(y, Type::u32), width);
      return sign ? static_cast<uint64_t>(a >> std::min<uint64_t>(by, 63)) : by >= width ? 0 : ua >> by;
    }
    default:
      return 0;
  }
}

template <class T>
bool compared(Compare how, T a, T b) {
  switch (how) {
    case Compare::eq:
    case Compare::equ:
      return a == b;
    case Compare::ne:
    case Compare::neu:
      return a != b;
    case Compare::lt:
    case Compare::ltu:
      return a < b;
    case Compare::le:
    case Compare::leu:
      return a <= b;
    case Compare::gt:
    case Compare::gtu:
      return a > b;
    case Compare::ge:
    case Compare::geu:
      return a >= b;
    default:
      return false;
  }
}

bool set(const Instruction &in, uint64_t x, uint64_t y) {
  if (!is_float(in.type)) {
    return is_signed(in.type) ? compared(in.compare, extended(x, in.type), extended(y, in.type))
                              : compared(in.compare, cut(x, in.type), cut(y, in.type));
  }
  double a = real(x, in.type), b = real(y, in.type);
  if (std::isnan(a) || std::isnan(b)) return in.compare >= Compare::equ && in.compare != Compare::num;
  return in.compare == Compare::num || (in.compare != Compare::nan && compared(in.compare, a, b));
}

uint64_t converted(const Instruction &in, uint64_t value) {
  Type to = in.type, from = in.from;
  if (is_float(to)) {
    if (is_float(from)) {
      double a = real(value, from);
      a = in.round == Round::even   ? std::nearbyint(a)
          : in.round == Round::zero ? std::trunc(a)
          : in.round == Round::down ? std::floor(a)
          : in.round == Round::up   ? std::ceil(a)
                                    : a;
      return bits(a, to);
    }
    if (to == Type::f32) {  // rounded once
      float a = is_signed(from) ? static_cast<float>(extended(value, from)) : static_cast<float>(cut(value, from));
      return std::bit_cast<uint32_t>(a);
    }
    return bits(is_signed(from) ? static_cast<double>(extended(value, from)) : static_cast<double>(cut(value, from)),
                to);
  }
  if (!is_float(from)) {
    return is_signed(from) ? static_cast<uint64_t>(extended(value, from)) : cut(value, from);
  }
  double a = real(value, from);
  a = in.round == Round::down   ? std::floor(a)
      : in.round == Round::up   ? std::ceil(a)
      : in.round == Round::even ? std::nearbyint(a)
                                : std::trunc(a);
  int width = static_cast<int>(8 * size_of(to));
  double most = std::ldexp(1.0, is_signed(to) ? width - 1 : width), least = is_signed(to) ? -most : 0.0;
  if (std::isnan(a)) return 0;
  if (a >= most) return is_signed(to) ? (uint64_t{1} << (width - 1)) - 1 : ~uint64_t{0};
  if (a < least) return is_signed(to) ? uint64_t{1} << (width - 1) : 0;
  return is_signed(to) ? static_cast<uint64_t>(static_cast<int64_t>(a)) : static_cast<uint64_t>(a);
}

class Block {
 public:
  Block(const Entry &of, void **given, const consort_double_launch &how, bool (*ask)(void *, uint64_t, size_t),
        void *asked)
      : entry(of), params(given), launch(how), allowed(ask), context(asked), shared(of.shared + how.shared) {}

  Fault run(unsigned x, unsigned y, unsigned z) {
    id[0] = x, id[1] = y, id[2] = z;
    const unsigned *size = launch.block;
    threads.assign(size_t{size[0]} * size[1] * size[2], {});
    std::fill(shared.begin(), shared.end(), 0xa5);
    for (size_t i = 0; i < threads.size(); ++i) {
      Thread &thread = threads[i];
      thread.registers.assign(entry.registers, 0);
      thread.local.assign(entry.local, 0xa5);
      thread.id[0] = static_cast<unsigned>(i % size[0]);
      thread.id[1] = static_cast<unsigned>(i / size[0] % size[1]);
      thread.id[2] = static_cast<unsigned>(i / (size_t{size[0]} * size[1]));
    }
    for (bool left = true; left && !fault.line;) {
      left = false;
      for (Thread &thread : threads) {
        if (!thread.done && !fault.line) {
          go_on(thread);
          left = left || !thread.done;
        }
      }
    }
    return fault;
  }

 private:
  const Entry &entry;
  void **params;
  const consort_double_launch &launch;
  bool (*allowed)(void *, uint64_t, size_t);
  void *context;
  std::vector<unsigned char> shared;
  std::vector<Thread> threads;
  unsigned id[3] = {};
  Fault fault;

  uint64_t special(const Thread &thread, uint32_t which) const {
    uint32_t axis = which % 3;
    switch (static_cast<Special>(which / 3)) {
      case Special::tid:
        return thread.id[axis];
      case Special::ntid:
        return launch.block[axis];
      case Special::ctaid:
        return id[axis];
      case Special::nctaid:
        return launch.grid[axis];
      case Special::laneid:
        break;
    }
    return (thread.id[0] + launch.block[0] * (thread.id[1] + launch.block[1] * thread.id[2])) % 32;
  }

  uint64_t value(const Thread &thread, const Operand &operand) const {
    switch (operand.kind) {
      case Operand::reg:
        return thread.registers[operand.index];
      case Operand::special:
        return special(thread, operand.index);
      case Operand::shared_at:
        return operand.value + (operand.index ? entry.shared : 0);
      default:
        return operand.value;
    }
  }

  // Where these bytes are on the host; null, and the fault is told, where they may not be touched.
  unsigned char *bytes(Thread &thread, const Instruction &in, const Operand &operand, size_t size) {
    uint64_t at =
        operand.kind == Operand::reg ? thread.registers[operand.index] + operand.value : value(thread, operand);
    if (operand.kind == Operand::param_at) {
      bool inside = operand.value + size <= entry.params[operand.index].size;
      return inside ? static_cast<unsigned char *>(params[operand.index]) + operand.value : fail(in, operand.value);
    }
    auto within = [&](std::vector<unsigned char> &memory) -> unsigned char * {
      at = cut(at, Type::u32);
      return at + size <= memory.size() ? memory.data() + at : fail(in, at);
    };
    if (in.space == Space::shared || operand.kind == Operand::shared_at) return within(shared);
    if (in.space == Space::local || operand.kind == Operand::local_at) return within(thread.local);
    auto own = [&](const std::vector<unsigned char> &memory) {  // made generic by cvta
      auto base = reinterpret_cast<uint64_t>(memory.data());
      return at >= base && at + size <= base + memory.size();
    };
    if (own(shared) || own(thread.local) || (at % size == 0 && allowed(context, at, size))) {
      return reinterpret_cast<unsigned char *>(at);
    }
    return fail(in, at);
  }
  unsigned char *fail(const Instruction &in, uint64_t address) {
    fault = {address, in.line};
    return nullptr;
  }

  void access(Thread &thread, const Instruction &in) {
    size_t size = size_of(in.type);
    Operand at = in.operands[in.op == Op::ld ? in.lanes : 0];
    for (uint32_t lane = 0; lane < in.lanes; ++lane, at.value += size) {
      unsigned char *memory = bytes(thread, in, at, size);
      if (!memory) return;
      if (in.op == Op::st) {
        uint64_t what = value(thread, in.operands[1 + lane]);
        std::memcpy(memory, &what, size);
      } else {
        uint64_t what = 0;
        std::memcpy(&what, memory, size);
        thread.registers[in.operands[lane].index] =
            is_signed(in.type) ? static_cast<uint64_t>(extended(what, in.type)) : what;
      }
    }
  }

  template <class Word>
  uint64_t add_atomically(const Instruction &in, unsigned char *memory, uint64_t more) {
    auto *at = reinterpret_cast<Word *>(memory);
    Word old = __atomic_load_n(at, __ATOMIC_RELAXED), sum;
    do {
      sum = static_cast<Word>(is_float(in.type) ? float_op(Op::add, in.type, old, more, 0) : old + more);
    } while (!__atomic_compare_exchange_n(at, &old, sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
  }

  void go_on(Thread &thread) {
    while (!fault.line) {
      if (thread.at >= entry.code.size()) {
        thread.done = true;
        return;
      }
      const Instruction &in = entry.code[thread.at++];
      if (in.predicate >= 0 && ((thread.registers[static_cast<size_t>(in.predicate)] & 1) != 0) == in.negated) continue;
      const auto &ops = in.operands;
      auto get = [&](size_t i) { return i < ops.size() ? value(thread, ops[i]) : 0; };
      switch (in.op) {
        case Op::bra:
          thread.at = in.target;
          break;
        case Op::ret:
          thread.done = true;
          return;
        case Op::bar:
          return;
        case Op::nop:
          break;
        case Op::ld:
        case Op::st:
          access(thread, in);
          break;
        case Op::atom: {
          size_t first = in.single ? 0 : 1;
          unsigned char *memory = bytes(thread, in, ops[first], size_of(in.type));
          if (!memory) return;
          uint64_t old = size_of(in.type) == 8 ? add_atomically<uint64_t>(in, memory, get(first + 1))
                                               : add_atomically<uint32_t>(in, memory, get(first + 1));
          if (!in.single) thread.registers[ops[0].index] = old;
          break;
        }
        default:
          thread.registers[ops[0].index] = computed(thread, in, get);
      }
    }
  }

  template <class Get>
  uint64_t computed(Thread &thread, const Instruction &in, Get &&get) {
    Type into = in.mode == Mode::wide ? (size_of(in.type) == 4 ? Type::u64 : Type::u32) : in.type;
    switch (in.op) {
      case Op::mov:
        return cut(get(1), in.type);
      case Op::cvta: {
        uint64_t base = in.space == Space::shared  ? reinterpret_cast<uint64_t>(shared.data())
                        : in.space == Space::local ? reinterpret_cast<uint64_t>(thread.local.data())
                                                   : 0;
        return in.to ? get(1) - base : get(1) + base;
      }
      case Op::setp:
        return set(in, get(1), get(2));
      case Op::selp:
        return cut(get(3) & 1 ? get(1) : get(2), in.type);
      case Op::cvt:
        return cut(converted(in, get(1)), in.type);
      default:
        break;
    }
    return is_float(in.type) ? float_op(in.op, in.type, get(1), get(2), get(3))
                             : cut(whole_op(in, get(1), get(2), get(3)), into);
  }
};

}  // namespace

Fault run(const Entry &entry, void **params, const consort_double_launch &launch,
          bool (*allowed)(void *, uint64_t, size_t), void *context) {
  Block block(entry, params, launch, allowed, context);
  for (unsigned z = 0; z < launch.grid[2]; ++z) {
    for (unsigned y = 0; y < launch.grid[1]; ++y) {
      for (unsigned x = 0; x < launch.grid[0]; ++x) {
        if (Fault fault = block.run(x, y, z); fault.line) return fault;
      }
    }
  }
  return {};
}

}  // namespace ptx
