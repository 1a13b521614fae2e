// PUT and GET: the bytes moved, the bytes accessible, the target's notification.
#include <algorithm>
#include <cstring>

#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

// A region of the target, surrounded by memory that must not be accessed; and the origin's own memory.
struct Reach {
  explicit Reach(Trial &trial, size_t n = 4096)
      : t(trial), w(trial, 2, 0, {CONSORT_TC_RMA, "PUT and GET"}), theirs(n + 2 * kAround, 0x22), mine(n, 0x77), bytes(n) {
    w.must(CONSORT_TC_RMA, "PUT and GET");
    const consort_status s = w.b().reg(theirs, kAround, n, &mr);
    if (s == CONSORT_E_UNSUPPORTED) t.skip("it registers no memory of the CPU: %s", w.b().host().failure().c_str());
    t.need(s >= 0, "reg of %zu bytes fails: %s", n, w.b().host().failure().c_str());
    t.check(mr.nrkey <= w.b().caps().max_rkey, "a key has %u bytes; max_rkey is %u", mr.nrkey, w.b().caps().max_rkey);
  }
  consort_msg message(uint16_t kind, uint64_t from, uint64_t n) {  // from: offset in the region
    return reach_of(kind, w.b().number(), mine.addr(), n, theirs.addr(kAround + from), mr);
  }
  consort_done run(const consort_msg &m) { return w.end(w.a(), w.post(w.a(), m)); }
  unsigned char *region() { return theirs.data() + kAround; }
  bool is_around_kept() {
    return theirs.is_kept() && std::all_of(theirs.data(), region(), [](unsigned char c) { return c == 0x22; }) &&
           std::all_of(region() + bytes, theirs.data() + theirs.size(), [](unsigned char c) { return c == 0x22; });
  }

  static constexpr size_t kAround = 8192;
  Trial &t;
  World w;
  Block theirs, mine;
  size_t bytes;
  consort_mr mr{};
};

}  // namespace

CONFORM_CASE(T, 30, behaviour, put_and_get_move_bytes) {
  Reach r(t, 300'000);
  for (const uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{7}, uint64_t{300}, uint64_t{5000}, uint64_t{299'993}}) {
    const uint64_t from = n > 200'000 ? 7 : 100;
    for (size_t i = 0; i < n; ++i) r.mine[i] = static_cast<unsigned char>(i * 13 + n);
    std::fill_n(r.region(), r.bytes, 0x33);
    t.doing("PUT of %llu bytes", number(n));
    consort_done d = r.run(r.message(CONSORT_MSG_PUT, from, n));
    t.check(d.status == CONSORT_OK, "a PUT of %llu bytes within the region ends with %d", number(n), d.status);
    r.w.idle();
    t.check(!std::memcmp(r.region() + from, r.mine.data(), n), "a PUT of %llu bytes writes others", number(n));
    t.check((from + n == r.bytes || r.region()[from + n] == 0x33) && r.region()[from - 1] == 0x33 && r.is_around_kept(),
            "a PUT of %llu bytes writes more than these", number(n));
    std::fill_n(r.mine.data(), r.mine.size(), 0x44);
    t.doing("GET of %llu bytes", number(n));
    d = r.run(r.message(CONSORT_MSG_GET, from, n));
    t.check(d.status == CONSORT_OK, "a GET of %llu bytes within the region ends with %d", number(n), d.status);
    t.check(!std::memcmp(r.region() + from, r.mine.data(), n), "a GET of %llu bytes reads others", number(n));
    t.check((n == r.bytes || r.mine[n] == 0x44) && r.mine.is_kept(), "a GET of %llu bytes writes more than these",
            number(n));
  }
}

CONFORM_CASE(T, 31, fault, no_byte_beyond_a_region) {
  Reach r(t);
  const uint64_t n = r.bytes;
  struct Try {
    uint64_t from, bytes;
  };
  const Try tries[] = {{0, n + 1},
                       {1, n},
                       {n, 1},
                       {n - 1, 2},
                       {n + 1, 1},
                       {uint64_t{0} - 1, 1},
                       {uint64_t{0} - 1, 2},
                       {uint64_t{0} - 8, 16},
                       {uint64_t{0} - 4000, n},
                       {n + 4000, 8},
                       {8, UINT64_MAX - 4}};
  Block large(2 * n + 64, 0x77);
  for (const uint16_t kind : {CONSORT_MSG_PUT, CONSORT_MSG_GET})
    for (const Try &x : tries) {
      consort_msg m = r.message(kind, x.from, x.bytes);
      m.local = large.addr();
      t.doing("a %s of %llu bytes at %lld of a region of %llu", kind == CONSORT_MSG_PUT ? "PUT" : "GET",
              number(x.bytes), static_cast<long long>(x.from), number(n));
      const consort_done d = r.run(m);
      t.check(d.status < 0, "%llu bytes at %lld of a region of %llu end with status %d, not with an error",
              number(x.bytes), static_cast<long long>(x.from), number(n), d.status);
      t.check(d.status != CONSORT_E_PEER_LOST, "a rank that reaches too far loses the peer");
      r.w.idle();
      t.check(r.is_around_kept(), "memory beside a region was written");
      t.check(large.is(0x77) && large.is_kept(), "memory beside a region was read");
    }
  t.check(r.run(r.message(CONSORT_MSG_PUT, 0, n)).status == CONSORT_OK,
          "after that the region cannot be reached any more");
}

CONFORM_CASE(T, 32, fault, a_key_is_not_believed) {
  Reach r(t);
  t.need(r.mr.nrkey > 0, "a key has no bytes, so that it names no region");
  uint8_t key[sizeof r.mr.rkey];
  consort_msg m = r.message(CONSORT_MSG_PUT, 0, 64);
  m.rkey = key;
  const auto tried = [&](const char *what) {
    t.doing("a PUT with %s", what);
    const consort_done d = r.run(m);
    for (int k = 0; k < 3; ++k) r.w.pump();
    t.check(r.is_around_kept(), "a PUT with %s writes memory beside the region", what);
    return d.status;
  };
  for (uint32_t bit = 0; bit < 8 * r.mr.nrkey && !t.failed(); ++bit) {
    std::memcpy(key, r.mr.rkey, sizeof key);
    key[bit / 8] = static_cast<uint8_t>(key[bit / 8] ^ 1u << bit % 8);
    tried("a bit of the key turned");
    m.remote = r.theirs.addr(0);  // outside the region: a faulty key might cover it
    t.check(tried("a bit of the key turned") < 0,
            "with bit %u of a key turned memory can be reached that was not registered", bit);
    m.remote = r.theirs.addr(Reach::kAround);
  }
  std::memset(key, 0, sizeof key);
  t.check(tried("a key of zeroes") < 0, "a key of zeroes is good for something");
  std::memset(key, 0xff, sizeof key);
  t.check(tried("a key of ones") < 0, "a key of ones is good for something");
  std::memcpy(key, r.mr.rkey, sizeof key);
  m.nrkey = r.mr.nrkey - 1;
  t.check(tried("a key that was cut") < 0, "a key that was cut is good for something");
  m.nrkey = 0, m.rkey = nullptr;
  t.check(tried("no key") < 0, "memory can be reached without a key");
}

CONFORM_CASE(T, 33, behaviour, a_key_is_over_with_dereg) {
  Reach r(t);
  for (int round = 0; round < 3; ++round) {
    t.need(r.run(r.message(CONSORT_MSG_PUT, 0, 64)).status == CONSORT_OK, "a PUT within the region fails");
    const consort_mr old = r.mr;
    r.w.b().dereg(r.mr);
    r.w.idle();
    std::fill_n(r.region(), 64, 0x33);
    for (const uint16_t kind : {CONSORT_MSG_PUT, CONSORT_MSG_GET}) {
      const consort_done d = r.run(r.message(kind, 0, 64));
      t.check(d.status < 0, "memory is reached by the key of a region that was taken back (status %d)", d.status);
    }
    t.check(r.region()[0] == 0x33 && r.region()[63] == 0x33, "a PUT writes to a region that was taken back");
    t.need(r.w.b().reg(r.theirs, Reach::kAround, r.bytes, &r.mr) >= 0, "reg fails after dereg");
    consort_msg m = r.message(CONSORT_MSG_PUT, 0, 64);
    m.rkey = old.rkey, m.nrkey = old.nrkey;
    t.check(r.run(m).status < 0, "the key of a region that was taken back is good for one that came later");
  }
}

// Several regions at a time, two of them in one block: each is over with its own dereg, and with no other.
CONFORM_CASE(T, 33, behaviour, dereg_ends_the_region_it_is_given) {
  Reach r(t, 8192);
  Rank &b = r.w.b();
  constexpr size_t kEach = 512, kRegions = 4;
  Block second(kEach, 0x22), third(kEach, 0x22);
  struct Region {
    Block *block;
    size_t from;
    consort_mr mr{};
    bool is_over = false;
  };
  b.dereg(r.mr);
  const size_t orders[][kRegions] = {{1, 3, 0, 2}, {2, 1, 3, 0}, {0, 2, 3, 1}, {3, 0, 1, 2}};
  for (const auto &order : orders) {
    Region regions[kRegions] = {{&r.theirs, Reach::kAround}, {&second, 0}, {&r.theirs, Reach::kAround + 4096}, {&third, 0}};
    for (Region &x : regions) {
      const consort_status s = b.reg(*x.block, x.from, kEach, &x.mr);
      if (s == CONSORT_E_NOMEM || s == CONSORT_E_UNSUPPORTED) t.skip("it has no room for %zu regions: %s", kRegions, b.host().failure().c_str());
      t.need(s >= 0, "reg of %zu bytes fails beside other regions: %s", kEach, b.host().failure().c_str());
    }
    const auto look = [&](const char *when) {
      for (size_t i = 0; i < kRegions; ++i) {
        t.doing("a PUT to region %zu of %zu, %s", i, kRegions, when);
        const consort_status s =
            r.run(reach_of(CONSORT_MSG_PUT, b.number(), r.mine.addr(), 64, regions[i].block->addr(regions[i].from), regions[i].mr)).status;
        if (regions[i].is_over) t.need(s < 0, "region %zu of %zu, which was taken back, is reached %s (status %d)", i, kRegions, when, s);
        else t.need(s == CONSORT_OK, "a PUT to region %zu of %zu, which is registered, ends with %d %s", i, kRegions, s, when);
      }
    };
    look("when all are registered");
    for (const size_t i : order) {
      b.dereg(regions[i].mr);
      regions[i].is_over = true;
      r.w.idle();
      look("after a dereg");
    }
  }
  t.need(b.reg(r.theirs, Reach::kAround, r.bytes, &r.mr) >= 0, "reg fails after dereg");
}

CONFORM_CASE(T, 34, behaviour, a_notification_comes_after_its_bytes) {
  Reach r(t, 200'000);
  r.w.must(CONSORT_TC_NOTIFY, "notifications");
  Rank &b = r.w.b();
  const uint64_t mask = b.caps().notify_bits >= 64 ? UINT64_MAX : (uint64_t{1} << b.caps().notify_bits) - 1;
  Block bait(64, 0x55);
  const uint64_t any = r.w.post(b, receive_of(CONSORT_NONE, bait.addr(), 64, 0, UINT64_MAX));
  for (uint64_t i = 0; i < 40; ++i) {
    const uint64_t n = i % 4 == 3 ? 150'000 : i % 4 == 2 ? 0 : 60;
    std::fill_n(r.mine.data(), n, static_cast<unsigned char>(i + 1));
    consort_msg m = r.message(CONSORT_MSG_PUT, 16, n);
    m.flags = CONSORT_MF_NOTIFY, m.tag = (i << 56) | (i + 1);
    const size_t before = b.notes.size();
    const uint64_t cookie = r.w.post(r.w.a(), m);
    r.w.until("a notification comes", [&] { return b.notes.size() > before; });
    t.check(n == 0 || (r.region()[16] == i + 1 && r.region()[16 + n - 1] == i + 1),
            "a notification comes before the bytes of its PUT of %llu", number(n));
    const consort_done &d = b.notes.back();
    t.check(d.status == CONSORT_OK && d.bytes == n && d.source == r.w.a().number(),
            "the notification of a PUT of %llu bytes by rank %u says %llu by rank %u, status %d", number(n),
            r.w.a().number(), number(d.bytes), d.source, d.status);
    t.check((d.tag & mask) == (m.tag & mask),
            "a notification with tag 0x%llx comes with 0x%llx, though %u bits are promised", number(m.tag),
            number(d.tag), b.caps().notify_bits);
    t.check(r.w.end(r.w.a(), cookie).status == CONSORT_OK,
            "a PUT that notifies does not end well for its sender");
    r.w.idle();
    t.check(b.notes.size() == before + 1, "one PUT notifies %zu times", b.notes.size() - before);
  }
  t.check(!b.end_of(any), "a notification goes into a receive");
  b.cancel(any);
  r.w.end(b, any);
  const size_t before = b.notes.size();
  r.run(r.message(CONSORT_MSG_PUT, 0, 8));
  consort_msg beyond = r.message(CONSORT_MSG_PUT, r.bytes, 8);
  beyond.flags = CONSORT_MF_NOTIFY;
  r.run(beyond);
  r.w.idle();
  t.check(b.notes.size() == before, "a PUT that does not ask for it, or that failed, notifies");
}

CONFORM_CASE(T, 35, behaviour, notifications_are_kept) {
  Reach r(t);
  r.w.must(CONSORT_TC_NOTIFY, "notifications");
  Rank &a = r.w.a(), &b = r.w.b();
  if (r.w.is_alone()) t.skip("the rank that puts polls, too");
  uint64_t posted = 0;
  const uint64_t all = t.scaled(3000, 20'000);
  t.doing("%llu PUTs that notify a rank which does not poll", number(all));
  for (int turns = 0; posted < all && turns < 2000;) {  // the origin alone polls, until it accepts no more
    consort_msg m = r.message(CONSORT_MSG_PUT, posted % 1000, 1);
    m.flags = CONSORT_MF_NOTIFY, m.tag = posted;
    if (a.try_post(m))
      ++posted, turns = 0;
    else
      a.poll(), ++turns;
  }
  t.figure("%llu notifications wait for a rank that does not poll", number(posted));
  r.w.until("all notifications have come", [&] { return b.notes.size() >= posted; });
  r.w.idle();
  r.w.settle();
  const uint64_t mask = b.caps().notify_bits >= 32 ? UINT32_MAX : (uint64_t{1} << b.caps().notify_bits) - 1;
  std::vector<char> seen(posted, 0);
  for (const consort_done &d : b.notes)
    if ((d.tag & mask) < posted) seen[d.tag & mask] = 1;
  t.check(b.notes.size() == posted, "%llu PUTs notify %zu times", number(posted), b.notes.size());
  if (mask >= posted)
    t.check(std::count(seen.begin(), seen.end(), 0) == 0, "%llu notifications of %llu never come",
            number(static_cast<uint64_t>(std::count(seen.begin(), seen.end(), 0))), number(posted));
}

CONFORM_CASE(T, 36, behaviour, rows_go_to_rows) {
  Reach r(t, 100'000);
  r.w.must(CONSORT_TC_2D, "rows");
  constexpr uint32_t kRow = 24, kRows = 50;
  for (const int64_t step : {int64_t{24}, int64_t{100}, int64_t{-100}, int64_t{1999}})
    for (const uint16_t kind : {CONSORT_MSG_PUT, CONSORT_MSG_GET}) {
      t.doing("rows with a step of %lld", static_cast<long long>(step));
      const uint64_t from = step < 0 ? static_cast<uint64_t>(-step) * kRows : 10;
      consort_msg m = r.message(kind, from, kRow);
      m.rows = kRows, m.local_step = 30, m.remote_step = step;
      std::fill_n(r.region(), r.bytes, 0x33);
      for (size_t i = 0; i < r.mine.size(); ++i) r.mine[i] = static_cast<unsigned char>(i * 11);
      std::vector<unsigned char> there(r.region(), r.region() + r.bytes),
          here(r.mine.data(), r.mine.data() + r.mine.size());
      if (kind == CONSORT_MSG_GET)
        for (size_t i = 0; i < r.bytes; ++i) there[i] = r.region()[i] = static_cast<unsigned char>(i * 17);
      for (uint32_t k = 0; k < kRows; ++k) {
        unsigned char *far = there.data() + static_cast<int64_t>(from) + k * step, *near = here.data() + k * 30;
        kind == CONSORT_MSG_PUT ? std::memcpy(far, near, kRow) : std::memcpy(near, far, kRow);
      }
      const bool notifies = kind == CONSORT_MSG_PUT && r.w.a().can(CONSORT_TC_NOTIFY);
      if (notifies) m.flags = CONSORT_MF_NOTIFY, m.tag = 1;
      const size_t notes = r.w.b().notes.size();
      const consort_done d = r.run(m);
      r.w.idle();
      if (notifies && t.check(r.w.b().notes.size() == notes + 1, "a PUT of rows notifies %zu times", r.w.b().notes.size() - notes))
        t.check(r.w.b().notes.back().bytes == uint64_t{kRow} * kRows, "a notification of %u rows of %u bytes names %llu bytes", kRows, kRow,
                number(r.w.b().notes.back().bytes));
      t.check(d.status == CONSORT_OK, "%u rows of %u bytes, %lld from each to the next, end with %d", kRows, kRow,
              static_cast<long long>(step), d.status);
      t.check(!std::memcmp(there.data(), r.region(), r.bytes) && !std::memcmp(here.data(), r.mine.data(), here.size()),
              "%u rows of %u bytes, %lld from each to the next, are not where they belong", kRows, kRow,
              static_cast<long long>(step));
    }
  const int64_t beyond[] = {-1, 3000, INT64_MAX, INT64_MIN, int64_t{1} << 62};
  for (const int64_t step : beyond) {
    consort_msg m = r.message(CONSORT_MSG_PUT, 10, kRow);
    m.rows = kRows, m.local_step = 30, m.remote_step = step;
    t.doing("rows beyond the region, with a step of %lld", static_cast<long long>(step));
    t.check(r.run(m).status < 0, "rows that leave the region, %lld from each to the next, end well",
            static_cast<long long>(step));
    r.w.idle();
    t.check(r.is_around_kept(), "memory beside a region was written by rows that leave it");
  }
}

}  // namespace conform
