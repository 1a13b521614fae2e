// spirv_parse.cpp — words become a Program, or one line about the word that is not understood.
#include <cstring>
#include <map>
#include <set>

#include "spirv.hpp"
#include "spirv_words.hpp"

namespace ze_double::spirv {
namespace {

struct Bad { std::string why; };
[[noreturn]] void bad(const std::string &why) { throw Bad{why}; }

uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

constexpr uint64_t kLargest = uint64_t{1} << 32, kMostMemory = 1 << 20;  // bytes of a type; of all tables, of a kernel's own memory, of a group's
constexpr uint64_t kMostElements = 1 << 24;

// How many operands an instruction of a function has at least, its type and result not counted.
uint32_t fewest(uint32_t op) {
  switch (op) {
    case kUndef: case kReturn: case kUnreachable: case kPhi: case kMemoryBarrier: return 0;
    case kStore: case kVectorExtractDynamic: case kVectorShuffle: case kCompositeExtract: case kPtrAccessChain: case kInBoundsPtrAccessChain: case kSwitch:
    case kVectorTimesScalar: case kDot: return 2;
    case kVectorInsertDynamic: case kCompositeInsert: case kCopyMemorySized: case kBranchConditional: case kSelect: case kExtInst: return 3;
    default: return (op >= kIAdd && op <= kFMod) || (op >= kLogicalEqual && op <= kLogicalAnd) || (op >= kIEqual && op <= kBitwiseAnd) ? 2 : 1;
  }
}
// Which operands are ids: those from the first on to behind the last.
std::pair<uint32_t, uint32_t> ids_of(uint32_t op, uint32_t count) {
  switch (op) {
    case kExtInst: return {2, count};
    case kCompositeExtract: case kSwitch: return {0, 1};
    case kVectorShuffle: case kCompositeInsert: return {0, 2};
    case kCopyMemorySized: return {0, 3};
    case kStore: return {0, 2};
    case kLoad: return {0, 1};
    case kBranch: case kControlBarrier: return {0, 0};  // labels, scopes
    case kBranchConditional: return {0, 1};
    default: return {0, count};
  }
}

class Parser {
 public:
  explicit Parser(std::vector<uint32_t> words) : p_(std::make_shared<Program>()) { p_->words = std::move(words); }

  std::shared_ptr<Program> parse() {
    const auto &w = p_->words;
    if (w.size() < 5 || w[0] != 0x07230203) bad("no SPIR-V: the first word is not 0x07230203");
    p_->bound = w[3];
    if (p_->bound > 1 << 20 || p_->bound > 16 * w.size() + 1024) bad("more ids than can be: " + std::to_string(p_->bound));
    p_->types.resize(p_->bound);
    p_->type_of.resize(p_->bound);
    p_->constants.resize(size_t{p_->bound} * kLanes);
    for (size_t at = 5; at < w.size();) {
      const uint32_t op = w[at] & 0xffff, n = w[at] >> 16;
      if (n == 0 || at + n > w.size()) bad("instruction at word " + std::to_string(at) + " goes beyond the end");
      take(op, &w[at + 1], n - 1);
      at += n;
    }
    finish();
    return p_;
  }

 private:
  uint32_t id(const uint32_t *o, uint32_t n, uint32_t i) {
    if (i >= n || o[i] >= p_->bound) bad("an id that is none");
    return o[i];
  }
  // A result id, not defined before. Operands are defined first, so no result is made of itself.
  uint32_t fresh(uint32_t id) {
    if (id >= p_->bound) bad("an id that is none");
    if (!defined_.emplace(id).second) bad("%" + std::to_string(id) + " is defined twice");
    return id;
  }
  // A type and a result.
  uint32_t typed(const uint32_t *o, uint32_t n) {
    type(id(o, n, 0));
    const uint32_t me = fresh(id(o, n, 1));
    p_->type_of[me] = o[0];
    return me;
  }
  static void need(uint32_t op, uint32_t n, uint32_t least) {
    if (n < least) bad("Op" + std::to_string(op) + " is cut short");
  }
  static uint64_t bounded(uint64_t bytes, uint64_t most = kLargest) {
    if (bytes > most) bad("more memory than the double knows: " + std::to_string(bytes) + " bytes");
    return bytes;
  }
  Type &type(uint32_t id) {
    if (id >= p_->bound || p_->types[id].kind == Type::none) bad("type %" + std::to_string(id) + " is none that is known");
    return p_->types[id];
  }
  static std::string text(const uint32_t *o, uint32_t n, uint32_t *used = nullptr) {
    const char *c = reinterpret_cast<const char *>(o);
    const size_t length = strnlen(c, size_t{n} * 4);
    if (used) *used = static_cast<uint32_t>(length / 4 + 1);
    return {c, length};
  }

  void take(uint32_t op, const uint32_t *o, uint32_t n) {
    switch (op) {
      case kExtInstImport:
        need(op, n, 2);
        if (text(o + 1, n - 1) != "OpenCL.std") bad("instructions of \"" + text(o + 1, n - 1) + "\": OpenCL.std alone is known");
        return;
      case kMemoryModel:
        if (n < 2 || o[0] != 2 || o[1] != 2) bad("no module of OpenCL with 64-bit addresses: make it with -target spir64");
        return;
      case kEntryPoint: {
        if (n < 3 || o[0] != 6) bad("an entry point that is no kernel");
        Entry e;
        e.function = o[1];
        e.name = text(o + 2, n - 2);
        p_->entries.push_back(e);
        return;
      }
      case kExecutionMode:
        if (n >= 5 && o[1] == 17)
          for (Entry &e : p_->entries)
            if (e.function == o[0]) std::memcpy(e.required, o + 2, sizeof e.required);
        return;
      case kDecorate:
        if (n >= 3 && o[1] == 11) p_->builtins[o[0]] = o[2];
        if (n >= 3 && o[1] == 38 && o[2] == 2) by_value_[o[0]] = true;
        if (n >= 2 && o[1] == 10) packed_[o[0]] = true;
        return;
      case kTypeVoid: make(id(o, n, 0), Type::nothing, 0, 1); return;
      case kTypeBool: make(id(o, n, 0), Type::boolean, 1, 1).width = 1; return;
      case kTypeInt: case kTypeFloat: {
        if (n < 2 || (o[1] != 8 && o[1] != 16 && o[1] != 32 && o[1] != 64) || (op == kTypeFloat && o[1] < 32)) bad("numbers of " + std::to_string(n < 2 ? 0 : o[1]) + " bits");
        make(id(o, n, 0), op == kTypeInt ? Type::integer : Type::real, o[1] / 8, o[1] / 8).width = o[1];
        return;
      }
      case kTypeVector: {
        if (n < 3 || o[2] == 0 || o[2] > kLanes) bad("a vector that long");
        const Type e = type(o[1]);
        if (e.kind != Type::boolean && e.kind != Type::integer && e.kind != Type::real && e.kind != Type::pointer) bad("a vector of a type that is no scalar");
        Type &t = make(id(o, n, 0), Type::vector, e.size * (o[2] == 3 ? 4 : o[2]), e.size * (o[2] == 3 ? 4 : o[2]));
        t.element = o[1], t.count = o[2];
        return;
      }
      case kTypeArray: {
        const Type e = type(id(o, n, 1));
        const uint64_t count = p_->constants[size_t{id(o, n, 2)} * kLanes];
        if (count > kMostElements) bad("an array that long");
        if (!e.size) bad("an array of elements without a size");
        Type &t = make(o[0], Type::array, bounded(e.size * count), e.align);
        t.element = o[1], t.count = static_cast<uint32_t>(count);
        return;
      }
      case kTypeStruct: {
        need(op, n, 1);
        uint64_t at = 0, align = 1;
        Type made;
        for (uint32_t i = 1; i < n; ++i) {
          const Type &m = type(o[i]);
          if (!m.size) bad("a member without a size");
          const uint64_t a = packed_.count(o[0]) ? 1 : m.align;
          at = up(at, a);
          made.members.push_back(o[i]);
          made.offsets.push_back(at);
          at = bounded(at + m.size);
          align = std::max(align, a);
        }
        Type &t = make(id(o, n, 0), Type::record, up(at, align), align);
        t.members = made.members, t.offsets = made.offsets;
        return;
      }
      case kTypePointer: {
        need(op, n, 3);
        Type &t = make(id(o, n, 0), Type::pointer, 8, 8);
        t.storage = o[1], t.element = id(o, n, 2), t.width = 64;
        return;
      }
      case kTypeFunction: make(id(o, n, 0), Type::function, 0, 1); return;
      case kConstantTrue: constant(o, n, 1); return;
      case kConstantFalse: constant(o, n, 0); return;
      case kConstant:
        need(op, n, 3);
        constant(o, n, n > 3 ? o[2] | uint64_t{o[3]} << 32 : o[2]);
        return;
      case kUndef:
        if (!in_function_) {
          typed(o, n);
          return;
        }
        break;
      case kConstantNull: typed(o, n); return;
      case kConstantComposite: {
        need(op, n, 2);
        const Type &t = type(o[0]);
        const size_t most = t.kind == Type::record ? t.members.size() : t.kind == Type::array || t.kind == Type::vector ? t.count : 0;
        if (n - 2 > most) bad("a constant with more parts than its type has");
        for (uint32_t i = 2; i < n; ++i)
          if (!p_->type_of[id(o, n, i)]) bad("a constant made of an unknown one");
        const uint32_t me = typed(o, n);
        parts_[me].assign(o + 2, o + n);
        if (t.kind == Type::vector)
          for (uint32_t i = 2; i < n; ++i) p_->constants[size_t{me} * kLanes + i - 2] = p_->constants[size_t{o[i]} * kLanes];
        return;
      }
      case kFunction: {
        in_function_ = typed(o, n);
        p_->functions[in_function_].first = static_cast<uint32_t>(p_->code.size());
        return;
      }
      case kFunctionParameter: {
        if (!in_function_) bad("a parameter outside of a function");
        const Type &t = type(id(o, n, 0));
        Param p;
        p.id = id(o, n, 1), p.type = o[0], p.size = static_cast<uint32_t>(t.size);
        if (t.kind == Type::pointer) {
          p.kind = t.storage == kWorkgroup ? Param::local : t.storage == kFunctionStorage && by_value_.count(o[1]) ? Param::record : Param::pointer;
          if (p.kind == Param::record) p.size = static_cast<uint32_t>(type(t.element).size);
        }
        typed(o, n);
        p_->functions[in_function_].params.push_back(p);
        return;
      }
      case kFunctionEnd: in_function_ = 0; return;
      case kVariable: variable(o, n); return;
      default: break;
    }
    if (!in_function_) {
      if (op > 30 && op < 71) bad("Op" + std::to_string(op) + " is more than the double knows");
      return;  // names, sources, capabilities, decorations of other kinds
    }
    instruction(op, o, n);
  }

  Type &make(uint32_t id, Type::Kind kind, uint64_t size, uint64_t align) {
    Type &t = p_->types[fresh(id)];
    t.kind = kind, t.size = size, t.align = align ? align : 1;
    return t;
  }
  void constant(const uint32_t *o, uint32_t n, uint64_t value) {
    p_->constants[size_t{typed(o, n)} * kLanes] = value;
  }

  void variable(const uint32_t *o, uint32_t n) {
    const Type &pointer = type(id(o, n, 0));
    const uint32_t me = typed(o, n), storage = n > 2 ? o[2] : 0;
    if (pointer.kind != Type::pointer) bad("a variable that is no pointer");
    if (storage == kInput || p_->builtins.count(me)) {
      if (!p_->builtins.count(me)) bad("an input that is no built-in");
      return;
    }
    const Type &t = type(pointer.element);
    if (storage == kFunctionStorage) {
      p_->privates = up(p_->privates, std::max<uint64_t>(t.align, 8));
      p_->variables[me] = p_->privates;
      p_->privates = bounded(p_->privates + t.size, kMostMemory);
    } else if (storage == kWorkgroup) {
      p_->local_bytes = up(p_->local_bytes, 16);
      p_->locals.emplace_back(me, p_->local_bytes);
      p_->local_bytes = bounded(p_->local_bytes + t.size, kMostMemory);
    } else if (storage == kUniformConstant && n > 3) {
      table_bytes_ = bounded(table_bytes_ + t.size + 16, kMostMemory);
      p_->globals.push_back(std::make_unique<uint64_t[]>(t.size / 8 + 2));
      const auto at = reinterpret_cast<uint64_t>(p_->globals.back().get());
      lay_out(id(o, n, 3), pointer.element, at);
      p_->constants[size_t{me} * kLanes] = at;
      p_->global_ranges.emplace_back(at, t.size);
    } else {
      bad("a variable of storage class " + std::to_string(storage) + " is more than the double knows");
    }
  }
  // Writes a constant of that type; a value of another one would not fit.
  void lay_out(uint32_t value, uint32_t as, uint64_t at) {
    if (p_->type_of[value] != as) bad("a constant of another type than its place");
    const Type &t = type(as);
    const auto parts = parts_.find(value);
    if (t.kind == Type::array || t.kind == Type::record) {
      if (parts == parts_.end()) return;  // null
      for (size_t i = 0; i < parts->second.size(); ++i) {
        const bool array = t.kind == Type::array;
        lay_out(parts->second[i], array ? t.element : t.members[i], at + (array ? i * type(t.element).size : t.offsets[i]));
      }
      return;
    }
    const uint64_t lanes = t.kind == Type::vector ? t.count : 1, size = t.kind == Type::vector ? type(t.element).size : t.size;
    for (uint64_t i = 0; i < lanes; ++i) std::memcpy(reinterpret_cast<void *>(at + i * size), &p_->constants[size_t{value} * kLanes + i], size);
  }

  static bool has_no_result(uint32_t op) {
    return op == kStore || op == kCopyMemorySized || op == kControlBarrier || op == kMemoryBarrier || op == kLoopMerge || op == kSelectionMerge ||
           op == kBranch || op == kBranchConditional || op == kSwitch || op == kReturn || op == kReturnValue || op == kUnreachable ||
           op == kLifetimeStart || op == kLifetimeStop;
  }
  static bool known(uint32_t op) {
    return op == kUndef || op == kExtInst || op == kFunctionCall || op == kLoad || op == kAccessChain || op == kInBoundsAccessChain || op == kPtrAccessChain ||
           op == kInBoundsPtrAccessChain || (op >= kVectorExtractDynamic && op <= kCopyObject) || (op >= kConvertFToU && op <= kFConvert) ||
           op == kConvertPtrToU || (op >= kConvertUToPtr && op <= kGenericCastToPtr) || op == kBitcast || (op >= kSNegate && op <= kVectorTimesScalar) ||
           op == kDot || op == kIsNan || op == kIsInf || (op >= kLogicalEqual && op <= kNot && op != 192 && op != 193) || op == kPhi;
  }
  void instruction(uint32_t op, const uint32_t *o, uint32_t n) {
    if (op == 8 || op == 317 || op == kLoopMerge || op == kSelectionMerge || op == kLifetimeStart || op == kLifetimeStop || op == kMemoryBarrier) return;
    Inst i;
    i.op = op;
    if (op == kLabel) {
      p_->labels[fresh(id(o, n, 0))] = static_cast<uint32_t>(p_->code.size());
      i.result = o[0];
    } else if (has_no_result(op)) {
      i.operands = o, i.count = n;
      p_->barriers |= op == kControlBarrier;
    } else if (known(op)) {
      need(op, n, 2);
      i.type = id(o, n, 0), i.result = id(o, n, 1);
      const Type::Kind kind = type(i.type).kind;
      if (kind == Type::array || kind == Type::record) bad("Op" + std::to_string(op) + " makes a whole struct or array: keep them in memory");
      typed(o, n);
      i.operands = o + 2, i.count = n - 2;
    } else {
      bad("Op" + std::to_string(op) + " is more than the double knows");
    }
    if (op != kLabel) need(op, i.count, fewest(op));
    p_->code.push_back(i);
  }

  // Every named operand exists; types are known by now.
  void finish() {
    for (Entry &e : p_->entries) {
      const auto f = p_->functions.find(e.function);
      if (f == p_->functions.end()) bad("kernel \"" + e.name + "\" has no function");
      e.params = f->second.params;
    }
    for (const Inst &i : p_->code) {
      const auto label = [&](uint32_t id) {
        if (!p_->labels.count(id)) bad("a branch to a non-label");
      };
      if (i.op == kBranch) label(i.operands[0]);
      if (i.op == kBranchConditional) label(i.operands[1]), label(i.operands[2]);
      if (i.op == kSwitch) check_switch(i, label);
      if (i.op == kFunctionCall) check_call(i);
      for (auto [k, end] = ids_of(i.op, i.count); k < end && k < i.count; ++k)
        if (i.operands[k] >= p_->bound) bad("an id that is none");
    }
  }
  // A selector, the default's label, then numbers of its width, each with a label.
  template <class F>
  void check_switch(const Inst &i, F label) {
    if (i.operands[0] >= p_->bound) bad("an id that is none");
    const uint32_t step = p_->types[p_->type_of[i.operands[0]]].width > 32 ? 3 : 2;
    if ((i.count - 2) % step) bad("a switch that is cut short");
    label(i.operands[1]);
    for (uint32_t k = 2; k < i.count; k += step) label(i.operands[k + step - 1]);
  }
  void check_call(const Inst &i) {
    const auto f = p_->functions.find(i.operands[0]);
    if (f == p_->functions.end() || f->second.first >= p_->code.size() || p_->code[f->second.first].op != kLabel) bad("a call of a function that is not here");
    if (i.count - 1 != f->second.params.size()) bad("a call with other arguments than its function has");
  }

  std::shared_ptr<Program> p_;
  uint32_t in_function_ = 0;
  std::map<uint32_t, bool> by_value_, packed_;
  std::map<uint32_t, std::vector<uint32_t>> parts_;
  std::set<uint32_t> defined_;
  uint64_t table_bytes_ = 0;
};

}  // namespace

std::shared_ptr<Program> parse(std::vector<uint32_t> words, std::string *log) {
  try {
    return Parser(std::move(words)).parse();
  } catch (const Bad &b) {
    *log = b.why;
    return nullptr;
  }
}

}  // namespace ze_double::spirv
