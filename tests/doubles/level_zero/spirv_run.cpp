// spirv_run.cpp — executes a kernel: group after group, within one each work item up to the next barrier.
//
// On the caller's thread. Values stand in one array for each work item, kLanes words for each id. Functions do not call
// themselves in OpenCL C, so one array is enough.
#include <cmath>
#include <cstring>

#include "spirv.hpp"
#include "spirv_words.hpp"

namespace ze_double::spirv {
namespace {

struct Stop { std::string why; };
[[noreturn]] void stop(const std::string &why) { throw Stop{why}; }

uint64_t cut(uint64_t v, uint32_t width) { return width >= 64 ? v : v & ((uint64_t{1} << width) - 1); }
int64_t sign(uint64_t v, uint32_t width) { return static_cast<int64_t>(v << (64 - width)) >> (64 - width); }
double real(uint64_t v, uint32_t width) {
  if (width == 64) {
    double d;
    std::memcpy(&d, &v, 8);
    return d;
  }
  float f;
  std::memcpy(&f, &v, 4);
  return static_cast<double>(f);
}
uint64_t bits(double d, uint32_t width) {
  uint64_t v = 0;
  const auto f = static_cast<float>(d);
  std::memcpy(&v, width == 64 ? static_cast<const void *>(&d) : &f, width / 8);
  return v;
}
// Beyond the range of the integer: the nearest value in range.
uint64_t to_integer(double d, bool is_signed, uint32_t width) {
  if (std::isnan(d)) return 0;
  const double most = std::ldexp(1.0, static_cast<int>(width) - (is_signed ? 1 : 0));
  if (is_signed) {
    if (d >= most) return cut((uint64_t{1} << (width - 1)) - 1, width);
    return cut(static_cast<uint64_t>(d < -most ? INT64_MIN : static_cast<int64_t>(d)), width);
  }
  return d <= 0 ? 0 : d >= most ? cut(~uint64_t{0}, width) : static_cast<uint64_t>(d);
}

struct Frame { uint32_t pc, label, previous, result; };
struct Item {
  std::vector<uint64_t> values;
  std::vector<unsigned char> memory;
  std::vector<Frame> frames;
  uint32_t pc = 0, label = 0, previous = 0;
  uint64_t id[3] = {0, 0, 0};
  bool over = false;
};
struct Span { uint64_t at = 0, size = 0; bool write = false; };

class Runner {
 public:
  Runner(const Program &p, const Launch &l, const Ask &ask) : p_(p), l_(l), ask_(ask) {}

  void run() {
    uint64_t items = 1, records = 0;
    for (const uint32_t s : l_.size) items *= s;
    local_bytes_ = p_.local_bytes;
    for (size_t i = 0; i < l_.args.size(); ++i) {
      const Param &param = l_.entry->params[i];
      if (param.kind == Param::local) local_bytes_ = (local_bytes_ + 15) / 16 * 16 + l_.args[i].size;
      if (param.kind == Param::record) records += (param.size + 15u) / 16 * 16;
    }
    local_.resize(local_bytes_ / 8 + 2);
    items_.resize(p_.barriers ? items : 1);
    for (Item &i : items_) {
      i.values = p_.constants;
      i.memory.resize(p_.privates + records + 16);
    }
    for (group_[2] = 0; group_[2] < l_.groups[2]; ++group_[2])
      for (group_[1] = 0; group_[1] < l_.groups[1]; ++group_[1])
        for (group_[0] = 0; group_[0] < l_.groups[0]; ++group_[0]) {
          std::memset(local_.data(), 0xa5, local_.size() * 8);
          if (p_.barriers) together(items);
          else
            for (uint64_t i = 0; i < items; ++i) {
              begin(items_[0], i);
              while (!go(items_[0])) {}
            }
        }
  }

 private:
  void together(uint64_t n) {
    for (uint64_t i = 0; i < n; ++i) begin(items_[i], i);
    for (;;) {
      uint64_t over = 0, waiting = 0;
      for (Item &i : items_) {
        if (!i.over) i.over = go(i);
        i.over ? ++over : ++waiting;
      }
      if (!waiting) return;
      if (over) stop("some work items of a group end and others wait in a barrier");
    }
  }

  void begin(Item &i, uint64_t number) {
    i.id[0] = number % l_.size[0], i.id[1] = number / l_.size[0] % l_.size[1], i.id[2] = number / l_.size[0] / l_.size[1];
    i.over = false;
    i.frames.clear();
    i.previous = i.label = 0;
    i.pc = p_.functions.at(l_.entry->function).first;
    uint64_t local = p_.local_bytes, record = p_.privates;
    for (const auto &[id, place] : p_.locals) value(i, id)[0] = reinterpret_cast<uint64_t>(local_.data()) + place;
    for (const auto &[id, place] : p_.variables) value(i, id)[0] = reinterpret_cast<uint64_t>(i.memory.data()) + place;
    for (size_t k = 0; k < l_.args.size(); ++k) {
      const Param &param = l_.entry->params[k];
      uint64_t *v = value(i, param.id);
      if (param.kind == Param::local) {
        local = (local + 15) / 16 * 16;
        v[0] = reinterpret_cast<uint64_t>(local_.data()) + local;
        local += l_.args[k].size;
      } else if (param.kind == Param::record) {
        std::memcpy(i.memory.data() + record, l_.args[k].bytes.data(), param.size);
        v[0] = reinterpret_cast<uint64_t>(i.memory.data()) + record;
        record += (param.size + 15u) / 16 * 16;
      } else {
        unpack(p_.types[param.type], l_.args[k].bytes.data(), v);
      }
    }
  }

  uint64_t *value(Item &i, uint32_t id) const {
    if (id >= p_.bound) stop("an id that is none");
    return &i.values[size_t{id} * kLanes];
  }
  const Type &element(const Type &t) const { return t.kind == Type::vector ? p_.types[t.element] : t; }
  void unpack(const Type &t, const void *from, uint64_t *v) const {
    const uint32_t lanes = t.kind == Type::vector ? t.count : 1;
    const uint64_t size = element(t).size;
    for (uint32_t i = 0; i < lanes; ++i) {
      v[i] = 0;
      std::memcpy(&v[i], static_cast<const char *>(from) + i * size, size);
    }
  }

  // -- memory

  void may(Item &i, uint64_t at, uint64_t size, bool write) {
    const auto in = [&](uint64_t first, uint64_t bytes) { return at >= first && bytes >= size && at - first <= bytes - size; };
    for (const Span &s : spans_)
      if (in(s.at, s.size) && (s.write || !write)) return;
    if (in(reinterpret_cast<uint64_t>(i.memory.data()), i.memory.size()) || in(reinterpret_cast<uint64_t>(local_.data()), local_bytes_)) return;
    for (const auto &[first, bytes] : p_.global_ranges)
      if (in(first, bytes) && !write) return;
    Span s;
    s.write = write;
    if (!ask_(at, size, write, &s.at, &s.size)) stop("a kernel touches memory that is not its own");
    spans_[next_span_++ % 4] = s;
  }

  bool builtin(Item &i, uint32_t id, uint64_t *out) const {
    const auto b = p_.builtins.find(id);
    if (b == p_.builtins.end()) return false;
    uint64_t linear = 0, all = 1;
    for (int d = 0; d < 3; ++d) {
      const uint64_t global = uint64_t{group_[d]} * l_.size[d] + i.id[d];
      switch (b->second) {
        case kNumWorkgroups: out[d] = l_.groups[d]; break;
        case kWorkgroupSize: case kEnqueuedWorkgroupSize: out[d] = l_.size[d]; break;
        case kWorkgroupId: out[d] = group_[d]; break;
        case kLocalInvocationId: out[d] = i.id[d]; break;
        case kGlobalInvocationId: out[d] = global; break;
        case kGlobalSize: out[d] = uint64_t{l_.groups[d]} * l_.size[d]; break;
        case kGlobalOffset: out[d] = 0; break;
        case kWorkDim: out[0] = 3; break;
        case kLocalInvocationIndex: case kGlobalLinearId: {
          const bool local = b->second == kLocalInvocationIndex;
          linear += (local ? i.id[d] : global) * all;
          all *= local ? l_.size[d] : uint64_t{l_.groups[d]} * l_.size[d];
          out[0] = linear;
          break;
        }
        default: stop("built-in " + std::to_string(b->second) + " is more than the double knows");
      }
    }
    return true;
  }

  void load(Item &i, const Inst &in) {
    uint64_t *out = value(i, in.result);
    if (builtin(i, in.operands[0], out)) return;
    const Type &t = p_.types[in.type];
    const uint64_t at = value(i, in.operands[0])[0], size = t.kind == Type::vector ? t.count * element(t).size : t.size;
    may(i, at, size, false);
    unpack(t, reinterpret_cast<const void *>(at), out);
  }
  void store(Item &i, const Inst &in) {
    const uint64_t at = value(i, in.operands[0])[0];
    const uint64_t *v = value(i, in.operands[1]);
    const Type &t = p_.types[p_.type_of[in.operands[1]]];
    const uint32_t lanes = t.kind == Type::vector ? t.count : 1;
    const uint64_t size = element(t).size;
    may(i, at, lanes * size, true);
    for (uint32_t k = 0; k < lanes; ++k) std::memcpy(reinterpret_cast<char *>(at) + k * size, &v[k], size);
  }
  void chain(Item &i, const Inst &in) {
    uint64_t at = value(i, in.operands[0])[0];
    uint32_t type = p_.types[p_.type_of[in.operands[0]]].element, k = 1;
    const auto index = [&](uint32_t operand) { return sign(value(i, operand)[0], p_.types[p_.type_of[operand]].width); };
    if (in.op == kPtrAccessChain || in.op == kInBoundsPtrAccessChain) at += static_cast<uint64_t>(index(in.operands[k++])) * p_.types[type].size;
    for (; k < in.count; ++k) {
      const Type &t = p_.types[type];
      const int64_t n = index(in.operands[k]);
      if (t.kind == Type::record) {
        at += t.offsets.at(static_cast<size_t>(n));
        type = t.members.at(static_cast<size_t>(n));
      } else {
        at += static_cast<uint64_t>(n) * p_.types[t.element].size;
        type = t.element;
      }
    }
    value(i, in.result)[0] = at;
  }

  // -- control: true where the item is over or waits in a barrier

  void jump(Item &i, uint32_t label) {
    i.previous = i.label;
    i.label = label;
    i.pc = p_.labels.at(label) + 1;
    // All phis of a block read the values from before it.
    std::vector<std::pair<uint32_t, uint32_t>> moves;
    for (; i.pc < p_.code.size() && p_.code[i.pc].op == kPhi; ++i.pc) {
      const Inst &phi = p_.code[i.pc];
      for (uint32_t k = 0; k + 1 < phi.count; k += 2)
        if (phi.operands[k + 1] == i.previous) moves.emplace_back(phi.result, phi.operands[k]);
    }
    std::vector<uint64_t> seen(moves.size() * kLanes);
    for (size_t k = 0; k < moves.size(); ++k) std::memcpy(&seen[k * kLanes], value(i, moves[k].second), kLanes * 8);
    for (size_t k = 0; k < moves.size(); ++k) std::memcpy(value(i, moves[k].first), &seen[k * kLanes], kLanes * 8);
  }

  // true: over. false: in a barrier.
  bool go(Item &i) {
    for (;;) {
      if (i.pc >= p_.code.size()) stop("it runs off its end");
      const Inst &in = p_.code[i.pc++];
      switch (in.op) {
        case kLabel: i.label = in.result; break;
        case kBranch: jump(i, in.operands[0]); break;
        case kBranchConditional: jump(i, value(i, in.operands[0])[0] ? in.operands[1] : in.operands[2]); break;
        case kSwitch: {
          const uint32_t width = p_.types[p_.type_of[in.operands[0]]].width, step = width > 32 ? 3 : 2;
          const uint64_t v = value(i, in.operands[0])[0];
          uint32_t to = in.operands[1];
          for (uint32_t k = 2; k + step <= in.count; k += step)
            if (cut(in.operands[k] | (step == 3 ? uint64_t{in.operands[k + 1]} << 32 : 0), width) == v) to = in.operands[k + step - 1];
          jump(i, to);
          break;
        }
        case kFunctionCall: {
          const Function &f = p_.functions.at(in.operands[0]);
          if (f.params.size() + 1 != in.count || i.frames.size() > 64) stop("a call that is not as its function");
          std::vector<uint64_t> args(f.params.size() * kLanes);
          for (size_t k = 0; k < f.params.size(); ++k) std::memcpy(&args[k * kLanes], value(i, in.operands[k + 1]), kLanes * 8);
          for (size_t k = 0; k < f.params.size(); ++k) std::memcpy(value(i, f.params[k].id), &args[k * kLanes], kLanes * 8);
          i.frames.push_back({i.pc, i.label, i.previous, in.result});
          i.pc = f.first;
          break;
        }
        case kReturn: case kReturnValue: {
          if (i.frames.empty()) return true;
          const Frame f = i.frames.back();
          i.frames.pop_back();
          if (in.op == kReturnValue) std::memmove(value(i, f.result), value(i, in.operands[0]), kLanes * 8);
          i.pc = f.pc, i.label = f.label, i.previous = f.previous;
          break;
        }
        case kControlBarrier: return false;
        case kUnreachable: stop("it reaches an unreachable instruction");
        case kLoad: load(i, in); break;
        case kStore: store(i, in); break;
        case kCopyMemorySized: {
          const uint64_t to = value(i, in.operands[0])[0], from = value(i, in.operands[1])[0], size = value(i, in.operands[2])[0];
          may(i, from, size, false);
          may(i, to, size, true);
          std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), size);
          break;
        }
        case kAccessChain: case kInBoundsAccessChain: case kPtrAccessChain: case kInBoundsPtrAccessChain: chain(i, in); break;
        case kVectorShuffle: {
          uint64_t both[2 * kLanes], *out = value(i, in.result);
          const uint32_t first = p_.types[p_.type_of[in.operands[0]]].count;
          std::memcpy(both, value(i, in.operands[0]), first * 8);
          std::memcpy(both + first, value(i, in.operands[1]), p_.types[p_.type_of[in.operands[1]]].count * 8);
          for (uint32_t k = 2; k < in.count; ++k) out[k - 2] = in.operands[k] == UINT32_MAX ? 0 : both[in.operands[k] % (2 * kLanes)];
          break;
        }
        case kCompositeExtract: value(i, in.result)[0] = value(i, in.operands[0])[in.operands[1] % kLanes]; break;
        case kCompositeInsert: {
          const uint64_t v = value(i, in.operands[0])[0];
          std::memmove(value(i, in.result), value(i, in.operands[1]), kLanes * 8);
          value(i, in.result)[in.operands[2] % kLanes] = v;
          break;
        }
        case kCompositeConstruct: {
          uint64_t made[kLanes] = {};
          uint32_t at = 0;
          for (uint32_t k = 0; k < in.count; ++k) {
            const Type &t = p_.types[p_.type_of[in.operands[k]]];
            for (uint32_t lane = 0; lane < (t.kind == Type::vector ? t.count : 1) && at < kLanes; ++lane) made[at++] = value(i, in.operands[k])[lane];
          }
          std::memcpy(value(i, in.result), made, sizeof made);
          break;
        }
        case kVectorExtractDynamic: value(i, in.result)[0] = value(i, in.operands[0])[value(i, in.operands[1])[0] % kLanes]; break;
        case kVectorInsertDynamic: {
          const uint64_t v = value(i, in.operands[1])[0], at = value(i, in.operands[2])[0] % kLanes;
          std::memmove(value(i, in.result), value(i, in.operands[0]), kLanes * 8);
          value(i, in.result)[at] = v;
          break;
        }
        case kUndef: std::memset(value(i, in.result), 0, kLanes * 8); break;
        case kBitcast: bitcast(i, in); break;
        case kDot: dot(i, in); break;
        case kExtInst: math(i, in); break;
        default: arithmetic(i, in);
      }
    }
  }

  // -- numbers

  void bitcast(Item &i, const Inst &in) {
    const Type &from = p_.types[p_.type_of[in.operands[0]]], &to = p_.types[in.type];
    unsigned char raw[kLanes * 8] = {};
    const uint64_t *v = value(i, in.operands[0]);
    for (uint32_t k = 0; k < (from.kind == Type::vector ? from.count : 1); ++k) std::memcpy(raw + k * element(from).size, &v[k], element(from).size);
    unpack(to, raw, value(i, in.result));
  }
  void dot(Item &i, const Inst &in) {
    const uint32_t width = p_.types[in.type].width;
    double sum = 0;
    for (uint32_t k = 0; k < p_.types[p_.type_of[in.operands[0]]].count; ++k)
      sum += real(value(i, in.operands[0])[k], width) * real(value(i, in.operands[1])[k], width);
    value(i, in.result)[0] = bits(sum, width);
  }

  static double rounded(double d, uint32_t width) { return width == 64 ? d : static_cast<double>(static_cast<float>(d)); }

  void math(Item &i, const Inst &in) {
    const Type &t = p_.types[in.type];
    const uint32_t width = element(t).width, lanes = t.kind == Type::vector ? t.count : 1;
    uint64_t *out = value(i, in.result);
    for (uint32_t k = 0; k < lanes; ++k) {
      uint64_t raw[3] = {};
      double x[3] = {};
      for (uint32_t a = 2; a < in.count && a < 5; ++a) {
        raw[a - 2] = value(i, in.operands[a])[k];
        if (element(t).kind == Type::real) x[a - 2] = real(raw[a - 2], width);
      }
      const auto s = [&](int a) { return sign(raw[a], width); };
      const auto u = [&](int a) { return raw[a]; };
      const uint32_t what = in.operands[1];
      if (element(t).kind == Type::integer) {
        uint64_t r = 0;
        switch (what) {
          case kSAbs: r = static_cast<uint64_t>(s(0) < 0 ? -s(0) : s(0)); break;
          case kSMax: r = static_cast<uint64_t>(std::max(s(0), s(1))); break;
          case kSMin: r = static_cast<uint64_t>(std::min(s(0), s(1))); break;
          case kUMax: r = std::max(u(0), u(1)); break;
          case kUMin: r = std::min(u(0), u(1)); break;
          case kSClamp: r = static_cast<uint64_t>(std::min(std::max(s(0), s(1)), s(2))); break;
          case kUClamp: r = std::min(std::max(u(0), u(1)), u(2)); break;
          case kSMul24: case kUMul24: r = u(0) * u(1); break;
          case kSMad24: case kUMad24: r = u(0) * u(1) + u(2); break;
          default: stop("OpenCL.std " + std::to_string(what) + " is more than the double knows");
        }
        out[k] = cut(r, width);
        continue;
      }
      double r = 0;
      switch (what) {
        case kAcos: r = std::acos(x[0]); break;
        case kAsin: r = std::asin(x[0]); break;
        case kAtan: r = std::atan(x[0]); break;
        case kAtan2: r = std::atan2(x[0], x[1]); break;
        case kCbrt: r = std::cbrt(x[0]); break;
        case kCeil: r = std::ceil(x[0]); break;
        case kCopysign: r = std::copysign(x[0], x[1]); break;
        case kCos: r = std::cos(x[0]); break;
        case kCosh: r = std::cosh(x[0]); break;
        case kErf: r = std::erf(x[0]); break;
        case kExp: r = std::exp(x[0]); break;
        case kExp2: r = std::exp2(x[0]); break;
        case kFabs: r = std::fabs(x[0]); break;
        case kFloor: r = std::floor(x[0]); break;
        case kFma: r = width == 64 ? std::fma(x[0], x[1], x[2])
                                   : static_cast<double>(std::fma(static_cast<float>(x[0]), static_cast<float>(x[1]), static_cast<float>(x[2]))); break;
        case kMad: r = rounded(x[0] * x[1], width) + x[2]; break;
        case kFmax: case kFmaxCommon: r = std::fmax(x[0], x[1]); break;
        case kFmin: case kFminCommon: r = std::fmin(x[0], x[1]); break;
        case kFmodMath: r = std::fmod(x[0], x[1]); break;
        case kHypot: r = std::hypot(x[0], x[1]); break;
        case kLog: r = std::log(x[0]); break;
        case kLog2: r = std::log2(x[0]); break;
        case kLog10: r = std::log10(x[0]); break;
        case kPow: case kPowr: r = std::pow(x[0], x[1]); break;
        case kRint: r = std::rint(x[0]); break;
        case kRound: r = std::round(x[0]); break;
        case kRsqrt: r = 1 / std::sqrt(x[0]); break;
        case kSin: r = std::sin(x[0]); break;
        case kSinh: r = std::sinh(x[0]); break;
        case kSqrt: r = std::sqrt(x[0]); break;
        case kTan: r = std::tan(x[0]); break;
        case kTanh: r = std::tanh(x[0]); break;
        case kTrunc: r = std::trunc(x[0]); break;
        case kFclamp: r = std::fmin(std::fmax(x[0], x[1]), x[2]); break;
        case kMix: r = x[0] + (x[1] - x[0]) * x[2]; break;
        default: stop("OpenCL.std " + std::to_string(what) + " is more than the double knows");
      }
      out[k] = bits(r, width);
    }
  }

  void arithmetic(Item &i, const Inst &in) {
    const Type &t = p_.types[in.type];
    const uint32_t lanes = t.kind == Type::vector ? t.count : 1, to = element(t).width;
    const Type &of = p_.types[p_.type_of[in.operands[0]]];
    const uint32_t w = element(of).kind == Type::pointer ? 64 : element(of).width;  // of its components
    uint64_t *out = value(i, in.result);
    const uint64_t *va = value(i, in.operands[0]), *vb = in.count > 1 ? value(i, in.operands[1]) : va, *vc = in.count > 2 ? value(i, in.operands[2]) : va;
    uint64_t made[kLanes];
    for (uint32_t k = 0; k < lanes; ++k) {
      const uint64_t a = va[k], b = vb[in.op == kVectorTimesScalar ? 0 : k];
      const int64_t sa = w ? sign(a, w) : 0, sb = w ? sign(b, w) : 0;
      const auto fa = [&] { return real(a, w); };
      const auto fb = [&] { return real(b, w); };
      const auto fit = [&](double d) { return bits(d, to); };
      const bool unordered = element(of).kind == Type::real && in.count > 1 && (std::isnan(fa()) || std::isnan(fb()));
      uint64_t r = 0;
      switch (in.op) {
        case kCopyObject: case kPtrCastToGeneric: case kGenericCastToPtr: case kConvertPtrToU: case kConvertUToPtr: case kUConvert: r = a; break;
        case kSConvert: r = static_cast<uint64_t>(sa); break;
        case kFConvert: r = fit(fa()); break;
        case kConvertFToU: r = to_integer(fa(), false, to); break;
        case kConvertFToS: r = to_integer(fa(), true, to); break;
        case kConvertSToF: r = to == 32 ? bits(static_cast<double>(static_cast<float>(sa)), 32) : fit(static_cast<double>(sa)); break;
        case kConvertUToF: r = to == 32 ? bits(static_cast<double>(static_cast<float>(a)), 32) : fit(static_cast<double>(a)); break;
        case kSNegate: r = ~a + 1; break;
        case kFNegate: r = fit(-fa()); break;
        case kIAdd: r = a + b; break;
        case kISub: r = a - b; break;
        case kIMul: r = a * b; break;
        case kFAdd: r = fit(fa() + fb()); break;
        case kFSub: r = fit(fa() - fb()); break;
        case kFMul: case kVectorTimesScalar: r = fit(fa() * fb()); break;
        case kFDiv: r = fit(fa() / fb()); break;
        case kFRem: r = fit(std::fmod(fa(), fb())); break;
        case kFMod: r = fit(fa() - fb() * std::floor(fa() / fb())); break;
        case kUDiv: r = b ? a / b : 0; break;
        case kUMod: r = b ? a % b : 0; break;
        case kSDiv: r = !b ? 0 : sb == -1 ? ~a + 1 : static_cast<uint64_t>(sa / sb); break;
        case kSRem: r = !b || sb == -1 ? 0 : static_cast<uint64_t>(sa % sb); break;
        case kSMod: r = !b || sb == -1 ? 0 : static_cast<uint64_t>((sa % sb + sb) % sb); break;
        case kIsNan: r = std::isnan(fa()); break;
        case kIsInf: r = std::isinf(fa()); break;
        case kLogicalEqual: case kIEqual: r = a == b; break;
        case kLogicalNotEqual: case kINotEqual: r = a != b; break;
        case kLogicalOr: case kBitwiseOr: r = a | b; break;
        case kLogicalAnd: case kBitwiseAnd: r = a & b; break;
        case kLogicalNot: r = !a; break;
        case kBitwiseXor: r = a ^ b; break;
        case kNot: r = ~a; break;
        case kSelect: r = va[of.kind == Type::vector ? k : 0] ? vb[k] : vc[k]; break;
        case kUGreaterThan: r = a > b; break;
        case kSGreaterThan: r = sa > sb; break;
        case kUGreaterThanEqual: r = a >= b; break;
        case kSGreaterThanEqual: r = sa >= sb; break;
        case kULessThan: r = a < b; break;
        case kSLessThan: r = sa < sb; break;
        case kULessThanEqual: r = a <= b; break;
        case kSLessThanEqual: r = sa <= sb; break;
        case kFOrdEqual: r = !unordered && fa() == fb(); break;
        case kFUnordEqual: r = unordered || fa() == fb(); break;
        case kFOrdNotEqual: r = !unordered && fa() != fb(); break;
        case kFUnordNotEqual: r = unordered || fa() != fb(); break;
        case kFOrdLessThan: r = !unordered && fa() < fb(); break;
        case kFUnordLessThan: r = unordered || fa() < fb(); break;
        case kFOrdGreaterThan: r = !unordered && fa() > fb(); break;
        case kFUnordGreaterThan: r = unordered || fa() > fb(); break;
        case kFOrdLessThanEqual: r = !unordered && fa() <= fb(); break;
        case kFUnordLessThanEqual: r = unordered || fa() <= fb(); break;
        case kFOrdGreaterThanEqual: r = !unordered && fa() >= fb(); break;
        case kFUnordGreaterThanEqual: r = unordered || fa() >= fb(); break;
        case kShiftRightLogical: r = b < w ? a >> b : 0; break;
        case kShiftRightArithmetic: r = static_cast<uint64_t>(sa >> (b < w ? b : w - 1)); break;
        case kShiftLeftLogical: r = b < w ? a << b : 0; break;
        default: stop("Op" + std::to_string(in.op) + " is more than the double knows");
      }
      made[k] = element(t).kind == Type::pointer ? r : cut(r, to);
    }
    std::memcpy(out, made, lanes * 8);
  }

  const Program &p_;
  const Launch &l_;
  const Ask &ask_;
  uint32_t group_[3] = {0, 0, 0};
  std::vector<Item> items_;
  std::vector<uint64_t> local_;
  uint64_t local_bytes_ = 0;
  Span spans_[4];
  size_t next_span_ = 0;
};

}  // namespace

bool run(const Program &p, const Launch &l, const Ask &ask, std::string *why) {
  try {
    Runner(p, l, ask).run();
    return true;
  } catch (const Stop &s) {
    *why = s.why;
  } catch (const std::exception &e) {
    *why = e.what();
  }
  return false;
}

}  // namespace ze_double::spirv
