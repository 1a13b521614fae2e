// Runs: the bytes that a copy of a datum moves.
#include <algorithm>
#include <cstring>
#include "layout.hpp"

namespace conform {
namespace {

// For data whose gaps must be kept: returns whether a byte was written that the moves do not name.
bool differs_elsewhere(const Moves &m, const std::vector<unsigned char> &before, const Arena &now) {
  for (size_t i = 0; i < before.size(); ++i)
    if (m.from[i] == kNowhere && before[i] != now.data()[i]) return true;
  return false;
}

}  // namespace

CONFORM_CASE(I, 12, behaviour, runs_write_each_byte_once) {
  Layout l(t);
  if (l.packs_only()) t.skip("it says CONSORT_IF_PACK_ONLY: it has no runs");
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), other = l.home(s), replica = l.replica(home.shape), second = l.replica(home.shape, 1);
    const struct { const Datum &src, &dst; const char *operation; } ways[] = {{home, replica, "a copy from home to a replica"},
                                                                       {replica, home, "a copy from a replica to home"},
                                                                       {replica, second, "a copy from replica to replica"},
                                                                       {home, other, "a copy from home to another home"}};
    const uint64_t bytes = l.ops.bytes(home.shape.at());
    std::vector<bool> of_home(home.arena->size());  // what the first path reads there, the second writes
    for (const auto &w : ways) {
      const Moves m = follow(t, l.runs(home.shape, w.src.view, w.dst.view), *w.src.arena, *w.dst.arena, w.operation);
      if (!m.good) continue;
      t.check(m.bytes == bytes, "%s is of %llu bytes, bytes() says %llu (%s)", w.operation, static_cast<unsigned long long>(m.bytes),
              static_cast<unsigned long long>(bytes), l.text(home.shape).c_str());
      for (const unsigned n : m.read)
        if (!t.check(n <= 1, "%s reads a byte %u times (%s)", w.operation, n, l.text(home.shape).c_str())) break;
      if (&w == &ways[0]) std::copy(m.read.begin(), m.read.end(), of_home.begin());
      bool same = true;
      for (size_t i = 0; &w == &ways[1] && i < of_home.size(); ++i) same = same && of_home[i] == (m.from[i] != kNowhere);
      t.check(same, "%s writes other bytes than a copy from there reads (%s)", w.operation, l.text(home.shape).c_str());
    }
  }
}

CONFORM_CASE(I, 13, behaviour, runs_stay_within_the_extents) {
  Layout l(t);
  if (l.packs_only()) t.skip("it says CONSORT_IF_PACK_ONLY: it has no runs");
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), replica = l.replica(home.shape);
    const Moves m = follow(t, l.runs(home.shape, home.view, replica.view), *home.arena, *replica.arena, "a copy from home to a replica");
    if (!m.good) continue;
    const auto outside = [&](size_t i) { t.check(false, "extent %zu lies outside of the datum's memory", i); };
    const std::vector<bool> src = held_by(l.extents(home), *home.arena, outside), dst = held_by(l.extents(replica), *replica.arena, outside);
    bool reads = true, writes = true;
    for (size_t i = 0; i < src.size(); ++i) reads = reads && (src[i] || !m.read[i]);
    for (size_t i = 0; i < dst.size(); ++i) writes = writes && (dst[i] || m.from[i] == kNowhere);
    t.check(reads, "a copy reads what no extent of its source holds (%s)", l.text(home.shape).c_str());
    t.check(writes, "a copy writes what no extent of its target holds (%s)", l.text(home.shape).c_str());
  }
}

CONFORM_CASE(I, 14, behaviour, copies_bring_every_byte_to_its_place) {
  Layout l(t);
  if (l.packs_only()) t.skip("it says CONSORT_IF_PACK_ONLY: it has no runs");
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s), replica = l.replica(home.shape), second = l.home(s);
    const std::string text = l.text(home.shape);
    const Moves out = follow(t, l.runs(home.shape, home.view, replica.view), *home.arena, *replica.arena, "a copy to a replica");
    const Moves back = follow(t, l.runs(home.shape, replica.view, second.view), *replica.arena, *second.arena, "a copy from a replica");
    const Moves direct = follow(t, l.runs(home.shape, home.view, second.view), *home.arena, *second.arena, "a copy to another home");
    if (!out.good || !back.good || !direct.good) continue;
    bool same = true;
    for (size_t i = 0; same && i < back.from.size(); ++i) {
      const int64_t by = back.from[i] == kNowhere ? kNowhere : out.from[static_cast<size_t>(back.from[i])];
      same = by == direct.from[i];
    }
    t.check(same, "a copy by way of a replica ends elsewhere than one straight from home to home (%s)", text.c_str());
    carry_out(out, *home.arena, *replica.arena);
    carry_out(back, *replica.arena, *second.arena);
    const std::vector<unsigned char> packed = l.packed(home);
    t.check(l.packed(replica) == packed, "pack() of a replica that runs() filled says other contents than pack() of its source (%s)", text.c_str());
    t.check(l.packed(second) == packed, "pack() of a home that runs() filled says other contents than pack() of the first source (%s)", text.c_str());
  }
}

CONFORM_CASE(I, 15, behaviour, unpack_brings_back_what_pack_wrote) {
  Layout l(t);
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    Datum replica = l.replica(home.shape), second = l.home(s);
    const std::string text = l.text(home.shape);
    const std::vector<unsigned char> untouched = home.arena->copy(), packed = l.packed(home);
    t.check(home.arena->copy() == untouched, "pack() writes into the datum (%s)", text.c_str());
    const Guarded buffer(packed.data(), packed.size());
    for (Datum *d : {&replica, &second}) {
      const std::vector<unsigned char> before = d->arena->copy();
      t.doing("unpack() of %zu bytes", packed.size());
      const consort_status st = l.ops.unpack(d->shape.at(), d->view.at(), buffer.data(), buffer.size());
      if (!t.check(st >= 0, "unpack() refuses what pack() wrote, with status %d (%s)", st, text.c_str())) continue;
      t.check(l.packed(*d) == packed, "pack() after unpack() says other contents (%s)", text.c_str());
      if (l.packs_only()) continue;
      const Moves m = follow(t, l.runs(home.shape, home.view, d->view), *home.arena, *d->arena, "a copy");
      if (!m.good) continue;
      bool right = true;
      for (size_t i = 0; i < m.from.size(); ++i)
        right = right && (m.from[i] == kNowhere || home.arena->data()[m.from[i]] == d->arena->data()[i]);
      t.check(right, "unpack() of what pack() wrote brings other bytes than runs() (%s)", text.c_str());
      t.check(!differs_elsewhere(m, before, *d->arena), "unpack() writes bytes that are not the datum's (%s)", text.c_str());
    }
  }
}

CONFORM_CASE(I, 16, fault, pack_and_unpack_look_at_the_length) {
  Layout l(t);
  uint32_t tried = 0;
  for (const Sample &s : l.samples) {
    const Datum home = l.home(s);
    Datum target = l.home(s);
    const std::vector<unsigned char> packed = l.packed(home);
    const size_t n = packed.size();
    if (!n) continue;
    ++tried;
    for (const size_t cap : {n - 1, n / 2, size_t{0}}) {
      Guarded room(cap);
      std::memset(room.data(), 0x5A, cap);
      t.doing("pack() of %zu bytes into %zu", n, cap);
      const consort_status st = l.ops.pack(home.shape.at(), home.view.at(), room.data(), cap);
      t.check(st < 0, "pack() of %zu bytes into %zu answers status %d", n, cap, st);
      const bool is_kept = std::all_of(room.data(), room.data() + cap, [](char c) { return c == 0x5A; });
      t.check(is_kept, "pack() refuses a buffer of %zu bytes, but has written some of them", cap);
    }
    for (const size_t given : {n - 1, n / 2, size_t{0}, n + 1}) {
      Guarded from(given);
      std::memcpy(from.data(), packed.data(), std::min(n, given));
      const std::vector<unsigned char> before = target.arena->copy();
      t.doing("unpack() of %zu bytes, %zu given", n, given);
      const consort_status st = l.ops.unpack(target.shape.at(), target.view.at(), from.data(), given);
      t.check(st < 0, "unpack() of %zu bytes takes %zu with status %d", n, given, st);
      t.check(target.arena->copy() == before, "unpack() refuses %zu bytes, but has written some of them", given);
    }
  }
  if (!tried) t.skip("its data have no contents");
}

}  // namespace conform
