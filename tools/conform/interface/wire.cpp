// Shapes on the wire, and invalid data in their place.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "layout.hpp"

namespace conform {
namespace {

// The results about a shape, as far as they are defined.
struct Answers {
  uint64_t footprint, bytes;
  std::string text;
  std::vector<unsigned char> wire;
  std::vector<uint64_t> blocks;
  bool operator==(const Answers &) const = default;
};
Answers answers_of(Layout &l, const Pod &shape) {
  Answers a{l.ops.footprint(shape.at()), l.ops.bytes(shape.at()), l.text(shape), l.wire(shape), {}};
  for (const consort_block &b : l.blocks(shape)) a.blocks.push_back(b.bytes), a.blocks.push_back(b.align);
  return a;
}

size_t peak_kib() {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("VmPeak:")) return static_cast<size_t>(std::strtoull(line.c_str() + 7, nullptr, 10));
  return 0;
}

// A shape decoded from untrusted bytes: all results derived from it stay within bounds.
bool is_sound(Layout &l, const Pod &shape, const char *whence) {
  Trial &t = l.t;
  t.doing("bytes() of a shape %s", whence);
  const uint64_t bytes = l.ops.bytes(shape.at());
  l.ops.footprint(shape.at());
  if (!t.check(bytes <= INT64_MAX, "a shape %s has %llu bytes", whence, static_cast<unsigned long long>(bytes))) return false;
  const std::vector<consort_block> blocks = l.blocks(shape);
  uint64_t all = 0;
  bool over = false;
  std::vector<consort_addr> at;
  for (const consort_block &b : blocks) {
    over = over || __builtin_add_overflow(all, b.bytes, &all) || all > INT64_MAX;
    at.push_back({uint64_t{1} << 62, at.size() * 64});
  }
  if (!t.check(blocks.size() <= 16 && !over, "a shape %s wants blocks of more than 2^63 bytes, or more than 16 of them", whence)) return false;
  if (!t.check(all >= bytes, "a shape %s has %llu bytes, but blocks of %llu: a number has run over", whence,
               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(all)))
    return false;
  const std::string text = l.text(shape);
  const consort_space_desc space = some_space(0);
  Pod view;
  t.doing("view() of a shape %s: %s", whence, text.c_str());
  if (!t.check(l.ops.view(shape.at(), &space, at.data(), static_cast<uint32_t>(at.size()), view.at()) >= 0,
               "view() refuses the blocks of a shape %s (%s)", whence, text.c_str()))
    return false;
  uint64_t reach = 0;
  for (const consort_extent &e : l.extents(shape, view)) over = over || __builtin_add_overflow(reach, e.bytes, &reach);
  if (!t.check(!over && reach <= all, "the extents of a replica of a shape %s have %llu bytes, its blocks %llu (%s)", whence,
               static_cast<unsigned long long>(reach), static_cast<unsigned long long>(all), text.c_str()))
    return false;
  t.doing("filters of a shape %s: %s", whence, text.c_str());
  for (uint32_t i = 0; i < l.ops.nfilters; ++i) {
    const consort_filter &f = l.ops.filters[i];
    if (f.params_size) continue;
    Pod child;
    const uint32_t n = f.count(shape.at(), nullptr);
    if (n) f.shape(shape.at(), nullptr, n - 1, child.at());
  }
  const std::vector<unsigned char> wire = l.wire(shape);
  Pod again;
  t.doing("decode() of what encode() wrote of a shape %s", whence);
  return t.check(l.ops.decode(wire.data(), static_cast<uint32_t>(wire.size()), again.at()) >= 0,
                 "decode() refuses what encode() wrote of a shape %s (%s)", whence, text.c_str());
}

uint64_t nasty(Random &random) {
  switch (random.below(8)) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return uint64_t{1} << 63;
    case 3: return (uint64_t{1} << 63) - 1;
    case 4: return uint64_t{1} << (32 + random.below(31));
    case 5: return UINT32_MAX;
    case 6: return uint64_t{1} << random.below(64);
    default: return random.next();
  }
}

constexpr size_t kReasonKib = 64 << 10;

}  // namespace

CONFORM_CASE(I, 30, behaviour, decode_brings_back_what_encode_wrote) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const std::vector<unsigned char> wire = l.wire(home.shape);
    t.check(!wire.empty(), "encode() writes nothing");
    const Guarded sealed(wire.data(), wire.size());
    const Answers wanted = answers_of(l, home.shape);
    for (const unsigned char fill : {0x00, 0xff}) {
      Pod shape(fill);
      t.doing("decode() of %zu bytes", wire.size());
      const consort_status st = l.ops.decode(sealed.data(), static_cast<uint32_t>(sealed.size()), shape.at());
      if (!t.check(st >= 0, "decode() refuses what encode() wrote, with status %d (%s)", st, wanted.text.c_str())) continue;
      t.check(answers_of(l, shape) == wanted, "what encode() wrote of %s comes back as %s, or answers otherwise", wanted.text.c_str(),
              l.text(shape).c_str());
    }
  }
}

CONFORM_CASE(I, 31, fault, decode_refuses_other_lengths) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const std::vector<unsigned char> wire = l.wire(home.shape);
    for (size_t n = 0; n <= wire.size() + 9; ++n) {
      Guarded cut(n);
      std::memset(cut.data(), 0, n);
      std::memcpy(cut.data(), wire.data(), std::min(n, wire.size()));
      cut.seal();
      Pod shape;
      t.doing("decode() of %zu bytes of %zu", n, wire.size());
      const consort_status st = l.ops.decode(cut.data(), static_cast<uint32_t>(n), shape.at());
      t.check(st < 0 || n == wire.size(), "decode() takes %zu bytes with status %d; encode() wrote %zu", n, st, wire.size());
    }
  }
}

CONFORM_CASE(I, 32, fault, decode_believes_nothing) {
  Layout l(t);
  const uint64_t rounds = t.scaled(200, 5000);
  uint64_t taken = 0, tried = 0;
  const size_t before = peak_kib();
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const std::vector<unsigned char> wire = l.wire(home.shape);
    Guarded hostile(wire.size());
    for (uint64_t i = 0; i < rounds && !t.failed(); ++i) {
      std::memcpy(hostile.data(), wire.data(), wire.size());
      const auto any = [&] { return t.random().below(wire.size()); };
      switch (i % 4) {
        case 0: hostile.data()[any()] ^= static_cast<char>(1u << t.random().below(8)); break;
        case 1:  // the contents after the first four bytes, which often are a signature
          for (size_t k = t.random().one_in(8) ? 0 : 4; k < wire.size(); ++k) hostile.data()[k] = static_cast<char>(t.random().next());
          break;
        default:
          for (uint64_t k = 1 + t.random().below(2); k-- > 0;) {  // numbers of 4 or 8 bytes, at any place
            const size_t width = t.random().one_in(2) ? 8 : 4, at = any() / 4 * 4;
            const uint64_t value = nasty(t.random());
            if (at + width <= wire.size()) std::memcpy(hostile.data() + at, &value, width);
          }
      }
      Pod shape(static_cast<unsigned char>(i));
      t.doing("decode() of hostile bytes, round %llu", static_cast<unsigned long long>(i));
      ++tried;
      const consort_status st = l.ops.decode(hostile.data(), static_cast<uint32_t>(hostile.size()), shape.at());
      if (st >= 0) ++taken, is_sound(l, shape, "from hostile bytes");
    }
  }
  t.figure("%llu of %llu were taken, and sound", static_cast<unsigned long long>(taken), static_cast<unsigned long long>(tried));
  if (!CONSORT_SAN)
    t.check(peak_kib() - before < kReasonKib, "decode() of hostile bytes made the process grow by %zu MiB", (peak_kib() - before) >> 10);
}

CONFORM_CASE(I, 33, fault, registration_believes_nothing) {
  Layout l(t);
  const uint64_t rounds = t.scaled(200, 5000);
  uint64_t taken = 0, tried = 0;
  const size_t before = peak_kib();
  for (const Sample &s : l.samples) {
    if (!s.args.size) continue;
    for (uint64_t i = 0; i < rounds && !t.failed(); ++i) {
      Arena home(kHomeRoom, t.random());
      Blob args;
      if (!l.sampler().args(s.number, t.random().one_in(2) ? &home : nullptr, &args)) continue;
      for (uint64_t k = 1 + t.random().below(3); k-- > 0;) {
        const size_t width = args.size >= 8 && t.random().one_in(2) ? 8 : 4;
        const uint64_t value = nasty(t.random());
        if (args.size < width) continue;
        const size_t at = t.random().below(args.size - width + 1) / width * width;
        std::memcpy(reinterpret_cast<char *>(args.words.data()) + at, &value, width);
      }
      Pod shape(static_cast<unsigned char>(i)), view;
      t.doing("shape() with senseless arguments, round %llu", static_cast<unsigned long long>(i));
      ++tried;
      if (l.ops.shape(args.data(), args.size, shape.at(), view.at()) < 0) continue;
      ++taken;
      if (!is_sound(l, shape, "from senseless arguments")) continue;
      for (const consort_extent &e : l.extents(shape, view))
        t.check(e.addr.base + e.addr.off + e.bytes >= e.addr.base + e.addr.off, "an extent of a home that shape() took wraps around (%s)",
                l.text(shape).c_str());
    }
  }
  if (!tried) t.skip("it has no registration arguments");
  t.figure("%llu of %llu were taken, and sound", static_cast<unsigned long long>(taken), static_cast<unsigned long long>(tried));
  if (!CONSORT_SAN)
    t.check(peak_kib() - before < kReasonKib, "shape() with senseless arguments made the process grow by %zu MiB", (peak_kib() - before) >> 10);
}

CONFORM_CASE(I, 34, fault, unpack_writes_only_the_datum) {
  Layout l(t);
  if (l.packs_only()) t.skip("it says CONSORT_IF_PACK_ONLY: the bytes of a datum are unknown");
  uint64_t taken = 0, tried = 0;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const size_t n = l.packed(home).size();
    for (uint64_t i = 0; n && i < t.scaled(4, 60); ++i) {
      Datum target = l.home(s);
      const Moves m = follow(t, l.runs(home.shape, home.view, target.view), *home.arena, *target.arena, "a copy");
      const std::vector<unsigned char> before = target.arena->copy();
      Guarded hostile(n);
      for (size_t k = 0; k < n; ++k) hostile.data()[k] = static_cast<char>(i % 2 ? t.random().next() : 0xff);
      t.doing("unpack() of %zu hostile bytes", n);
      ++tried;
      if (l.ops.unpack(target.shape.at(), target.view.at(), hostile.data(), n) >= 0) ++taken;
      bool kept = true;
      for (size_t k = 0; m.good && k < before.size(); ++k) kept = kept && (m.from[k] != kNowhere || before[k] == target.arena->data()[k]);
      t.check(kept, "unpack() of hostile bytes writes what is not the datum's (%s)", l.text(home.shape).c_str());
      t.doing("pack() after unpack() of hostile bytes");
      l.packed(target);
    }
  }
  if (!tried) t.skip("its data have no contents");
  t.figure("%llu of %llu were taken", static_cast<unsigned long long>(taken), static_cast<unsigned long long>(tried));
}

}  // namespace conform
