// Descriptions by an interface of a shape and a view: blocks, extents, arguments, sizes, text.
#include <cstring>
#include <ctime>
#include <map>

#include "layout.hpp"

namespace conform {
namespace {

bool is_utf8(const std::string &text) {
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i++]);
    const int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : -1;
    if (more < 0 || c == 0) return false;
    for (int k = 0; k < more; ++k)
      if (i >= text.size() || (static_cast<unsigned char>(text[i++]) & 0xc0) != 0x80) return false;
  }
  return true;
}

}  // namespace

CONFORM_CASE(I, 17, behaviour, blocks_hold_the_datum) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    for (const uint32_t space : {0u, 1u}) {
      const std::vector<consort_block> blocks = l.blocks(home.shape, space);
      t.check(blocks.size() <= 16, "a replica is to have %zu blocks; at most 16", blocks.size());
      uint64_t all = 0;
      for (const consort_block &b : blocks) {
        t.check(b.bytes > 0, "a block of no bytes (%s)", l.text(home.shape).c_str());
        t.check(b.align && !(b.align & (b.align - 1)), "a block is aligned to %llu, which is no power of two", static_cast<unsigned long long>(b.align));
        all += b.bytes;
      }
      const uint64_t bytes = l.ops.bytes(home.shape.at());
      t.check(all >= bytes, "the blocks have %llu bytes, the datum %llu (%s)", static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(bytes), l.text(home.shape).c_str());
    }
  }
}

CONFORM_CASE(I, 18, behaviour, view_takes_its_blocks_and_no_others) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const Datum replica = l.replica(home.shape);
    const std::vector<consort_block> blocks = l.blocks(home.shape);
    std::vector<consort_addr> at = Layout::place(*replica.arena, blocks);
    for (const consort_extent &e : l.extents(replica)) {
      bool inside = false;
      for (size_t i = 0; i < at.size(); ++i)
        inside = inside || (e.addr.base + e.addr.off >= at[i].base + at[i].off &&
                            e.addr.base + e.addr.off + e.bytes <= at[i].base + at[i].off + blocks[i].bytes);
      t.check(inside, "an extent of a replica lies outside of the blocks that it was given (%s)", l.text(home.shape).c_str());
    }
    const consort_space_desc space = some_space(0);
    at.push_back({1, 0});
    const auto n = static_cast<uint32_t>(blocks.size());
    for (const uint32_t wrong : {n + 1, n - 1}) {
      if (wrong == UINT32_MAX) continue;
      Pod view;
      t.doing("view() with %u blocks for %u", wrong, n);
      const consort_status st = l.ops.view(home.shape.at(), &space, at.data(), wrong, view.at());
      t.check(st < 0, "view() takes %u blocks for %u with status %d", wrong, n, st);
    }
  }
}

CONFORM_CASE(I, 19, behaviour, arguments_lie_within_the_datum) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), replica = l.replica(home.shape);
    for (const Datum *d : {&home, &replica}) {
      t.doing("args()");
      const auto args = all_of<consort_arg>(t, "args()", [&](consort_arg *out, uint32_t max) {
        return l.ops.args(d->shape.at(), d->view.at(), out, max);
      });
      for (size_t i = 0; i < args.size(); ++i) {
        const consort_arg &a = args[i];
        t.check(a.kind >= CONSORT_ARG_ADDR && a.kind <= CONSORT_ARG_SHARED, "argument %zu is of kind %u, which is none", i, a.kind);
        if (a.kind == CONSORT_ARG_SCALAR) t.check(a.bytes >= 1 && a.bytes <= 8, "argument %zu is a scalar of %u bytes", i, a.bytes);
        if (a.kind == CONSORT_ARG_ADDR && a.extent)
          t.check(d->arena->find(a.addr, a.extent) >= 0, "argument %zu reaches out of the datum's memory (%s)", i, l.text(home.shape).c_str());
      }
    }
  }
}

CONFORM_CASE(I, 20, behaviour, footprints_tell_sizes_apart) {
  Layout l(t);
  std::map<uint64_t, uint64_t> bytes_of;
  uint64_t least = UINT64_MAX, most = 0;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), again = l.home(s);
    t.doing("footprint()");
    const uint64_t f = l.ops.footprint(home.shape.at()), bytes = l.ops.bytes(home.shape.at());
    t.check(f == l.ops.footprint(again.shape.at()), "equal arguments at another place are of another size class (%s)", l.text(home.shape).c_str());
    bytes_of[f] = bytes;
    least = std::min(least, bytes), most = std::max(most, bytes);
  }
  if (most < 4 * (least + 1)) return;
  t.check(bytes_of.size() > 1, "data of %llu and of %llu bytes are of the same size class", static_cast<unsigned long long>(least),
          static_cast<unsigned long long>(most));
}

CONFORM_CASE(I, 21, behaviour, descriptions_are_text) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const std::string text = l.text(home.shape);
    t.check(!text.empty() && is_utf8(text), "describe() answers what is no text");
    for (const uint32_t cap : {1u, 2u, 5u, static_cast<uint32_t>(text.size()), static_cast<uint32_t>(text.size() + 1)}) {
      std::vector<char> room(cap + 8, '?');
      l.ops.describe(home.shape.at(), room.data(), cap);
      t.check(std::memchr(room.data(), 0, cap) != nullptr, "describe() into %u bytes does not end with NUL (%s)", cap, text.c_str());
    }
  }
}

CONFORM_CASE(I, 22, behaviour, sizes_fit_the_datum) {
  Layout l(t);
  if (!l.ops.sizes) t.skip("it has no sizes()");
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    t.doing("sizes()");
    const auto n = all_of<uint64_t>(t, "sizes()", [&](uint64_t *out, uint32_t max) { return l.ops.sizes(home.shape.at(), out, max); });
    t.check(!n.empty(), "sizes() names no dimension (%s)", l.text(home.shape).c_str());
    bool empty = false;
    for (const uint64_t k : n) empty = empty || !k;
    t.check(empty == (l.ops.bytes(home.shape.at()) == 0), "sizes() says that there are %s elements, bytes() that there are %llu bytes (%s)",
            empty ? "no" : "some", static_cast<unsigned long long>(l.ops.bytes(home.shape.at())), l.text(home.shape).c_str());
  }
}

CONFORM_CASE(I, 23, behaviour, reshape_leaves_what_did_not_change) {
  Layout l(t);
  if (!(l.ops.flags & CONSORT_IF_DYNAMIC)) t.skip("it does not say CONSORT_IF_DYNAMIC");
  t.need(l.ops.reshape, "says CONSORT_IF_DYNAMIC, but has no reshape()");
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    Pod shape(0x11);
    t.doing("reshape()");
    const consort_status st = l.ops.reshape(home.shape.at(), home.view.at(), shape.at());
    if (!t.check(st >= 0, "reshape() refuses contents that shape() took, with status %d", st)) continue;
    t.check(shape.kept_behind(l.ops.shape_size), "reshape() writes more than a shape");
    t.check(l.ops.bytes(shape.at()) == l.ops.bytes(home.shape.at()) && l.wire(shape) == l.wire(home.shape),
            "reshape() of contents that did not change answers another shape (%s)", l.text(home.shape).c_str());
  }
}

CONFORM_CASE(I, 24, fault, registration_looks_at_its_arguments) {
  Layout l(t);
  uint32_t homeless = 0;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    const size_t n = s.args.size;
    for (const size_t wrong : {n - 1, n + 1, n / 2, size_t{0}}) {
      if (wrong == n || wrong > n + 1) continue;
      Guarded args(wrong);
      std::memcpy(args.data(), s.args.words.data(), std::min(n, wrong));
      Pod shape, view;
      t.doing("shape() with %zu bytes of arguments instead of %zu", wrong, n);
      const consort_status st = l.ops.shape(args.data(), wrong, shape.at(), view.at());
      t.check(st < 0, "shape() takes %zu bytes of arguments for %zu with status %d", wrong, n, st);
    }
    if (n) {
      Pod shape, view;
      t.doing("shape() with NULL for arguments");
      t.check(l.ops.shape(nullptr, n, shape.at(), view.at()) < 0, "shape() takes NULL for arguments");
    }
    Blob args;
    if (!l.sampler().args(s.number, nullptr, &args)) continue;
    ++homeless;
    Pod shape, view;
    t.doing("shape() without a home");
    const consort_status st = l.ops.shape(args.data(), args.size, shape.at(), view.at());
    if (t.check(st >= 0, "shape() refuses sample %u without a home, with status %d", s.number, st))
      t.check(l.wire(shape) == l.wire(home.shape), "the same datum without a home has another shape (%s)", l.text(home.shape).c_str());
  }
  t.figure("%u of %zu samples also without a home", homeless, l.samples.size());
}

// The kernel's questions when a datum is registered and a replica made; the results are cached, so they need not be
// faster.
CONFORM_CASE(I, 60, perf, answers_are_quick) {
  Layout l(t);
  const auto ns = [] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  };
  constexpr int kRounds = 200;
  double slowest = 0;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), replica = l.replica(home.shape);
    const consort_space_desc space = some_space(0);
    consort_block blocks[16];
    consort_extent extents[16];
    consort_run runs[16];
    const double begin = ns();
    for (int i = 0; i < kRounds; ++i) {
      l.ops.footprint(home.shape.at()), l.ops.bytes(home.shape.at());
      l.ops.blocks(home.shape.at(), &space, blocks, 16);
      l.ops.extents(home.shape.at(), home.view.at(), extents, 16);
      if (!l.packs_only()) l.ops.runs(home.shape.at(), home.view.at(), replica.view.at(), runs, 16);
    }
    slowest = std::max(slowest, (ns() - begin) / kRounds);
  }
  t.figure("footprint, bytes, blocks, extents and runs of one datum: %.0f ns at most", slowest);
  t.check(slowest < 100'000, "footprint, bytes, blocks, extents and runs of one datum take %.0f ns", slowest);
}

}  // namespace conform
