// Matching of messages with receives, and the reported results.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

unsigned char letter(uint64_t number, uint64_t i) { return static_cast<unsigned char>(number * 131 + i * 7 + i / 251); }

void fill(Block &b, uint64_t number, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) b[i] = letter(number, i);
}
bool holds(Block &b, uint64_t number, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i)
    if (b[i] != letter(number, i)) return false;
  return true;
}

// Transfers one message and checks all that is reported of it.
void pass(Trial &t, World &w, uint64_t n, uint64_t number, uint16_t flags = 0) {
  t.doing("a message of %llu bytes", static_cast<unsigned long long>(n));
  Block from(n), to(n + 8, 0x11);
  fill(from, number, n);
  const uint64_t r = w.post(w.b(), receive_of(w.a().number(), to.addr(), n + 8, number));
  consort_msg m = send_of(w.b().number(), from.addr(), n, number);
  m.flags = flags;
  const uint64_t s = w.post(w.a(), m);
  if (flags & CONSORT_MF_INLINE) std::fill_n(from.data(), n, 0xee);
  const consort_done sent = w.end(w.a(), s), got = w.end(w.b(), r);
  t.check(sent.status == CONSORT_OK && got.status == CONSORT_OK,
          "a message of %llu bytes ends with %d where it is sent, %d where it is received",
          static_cast<unsigned long long>(n), sent.status, got.status);
  t.check(got.bytes == n, "a receive of %llu bytes is told as one of %llu", static_cast<unsigned long long>(n),
          static_cast<unsigned long long>(got.bytes));
  t.check(got.source == w.a().number(), "a message of rank %u is told as one of %u", w.a().number(), got.source);
  t.check(got.tag == number, "a message with tag 0x%llx is told as one with 0x%llx",
          static_cast<unsigned long long>(number), static_cast<unsigned long long>(got.tag));
  t.check(holds(to, number, n), "the bytes of a message of %llu come as others%s", static_cast<unsigned long long>(n),
          flags & CONSORT_MF_INLINE ? ", those that were written after post() took it inline" : "");
  t.check(to.is_kept() && to[n] == 0x11 && to[n + 7] == 0x11, "more than the %llu bytes of a message is written",
          static_cast<unsigned long long>(n));
}

}  // namespace

CONFORM_CASE(T, 10, behaviour, a_receive_takes_what_matches) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const uint32_t a = w.a().number(), b = w.b().number();
  struct Try {
    uint64_t tag, ignore, sent;
    bool matches;
  };
  constexpr uint64_t kTop = uint64_t{1} << 63;
  constexpr Try tries[] = {{5, 0, 5, true},
                           {5, 0, 4, false},
                           {5, 0, 5 | kTop, false},
                           {5, 1, 4, true},
                           {4, 1, 5, true},
                           {0, UINT64_MAX, 99, true},
                           {0xff00, 0xff, 0xffab, true},
                           {0xff00, 0xff, 0xfeab, false},
                           {kTop | 1, 0, 1, false},
                           {kTop, kTop, 0, true},
                           {0, 0, uint64_t{1} << 32, false}};
  for (const Try &x : tries)
    for (const bool receive_first : {true, false})
      for (const uint32_t source : {a, static_cast<uint32_t>(CONSORT_NONE)}) {
        t.doing("tag 0x%llx for a receive with 0x%llx that ignores 0x%llx", static_cast<unsigned long long>(x.sent),
                static_cast<unsigned long long>(x.tag), static_cast<unsigned long long>(x.ignore));
        Block from(4, 1), to(4, 0);
        uint64_t r = 0, s = 0;
        if (receive_first) r = w.post(w.b(), receive_of(source, to.addr(), 4, x.tag, x.ignore));
        s = w.post(w.a(), send_of(b, from.addr(), 4, x.sent));
        if (!receive_first) r = w.post(w.b(), receive_of(source, to.addr(), 4, x.tag, x.ignore));
        if (x.matches) {
          w.end(w.b(), r);
        } else {
          for (int i = 0; i < 20; ++i) w.pump();
          t.check(!w.b().end_of(r), "a message with tag 0x%llx went into a receive with tag 0x%llx that ignores 0x%llx",
                  static_cast<unsigned long long>(x.sent), static_cast<unsigned long long>(x.tag),
                  static_cast<unsigned long long>(x.ignore));
          w.b().cancel(r);
          w.end(w.b(), r);
          const uint64_t rest = w.post(w.b(), receive_of(a, to.addr(), 4, 0, UINT64_MAX));  // removes the message
          t.check(w.end(w.b(), rest).tag == x.sent, "a message that was passed over is not there any more");
        }
        w.end(w.a(), s);
      }
}

CONFORM_CASE(T, 11, behaviour, the_oldest_of_a_peer_first) {
  World w(t, 3);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const size_t n = t.scaled(30, 60), from = w.is_alone() ? 1 : 2;
  std::vector<std::unique_ptr<Block>> blocks;
  const size_t to = w.is_alone() ? 0 : 2;
  std::vector<uint64_t> count(from, 0);  // taken messages
  for (uint64_t i = 0; i < n; ++i)
    for (size_t k = 0; k < from; ++k) {  // odd and even tags, lengths from zero to large
      const uint64_t bytes = 8 + (i % 5 == 3 ? 70'000 : i % 7 * 50);
      blocks.push_back(std::make_unique<Block>(bytes, 0));
      std::memcpy(blocks.back()->data(), &i, sizeof i);
      if (count[k] == i && w[k].try_post(send_of(w[to].number(), blocks.back()->addr(), bytes, i % 2))) ++count[k];
      w.pump();
    }
  uint64_t all = 0;
  for (const uint64_t c : count) t.need(c > 0, "post() takes not a single message"), all += c;
  std::vector<uint64_t> next(from * 2, 0);
  for (size_t k = 0; k < 2 * from; ++k) next[k] = k % 2;
  Block into(80'000);
  for (uint64_t i = 0; i < all && !t.failed(); ++i) {
    std::vector<size_t> left;  // {peer, tag} with messages not received yet
    for (size_t k = 0; k < 2 * from; ++k)
      if (next[k] < count[k / 2]) left.push_back(k);
    const size_t k = left[t.random().below(left.size())];
    const bool any_tag = t.random().one_in(3), any_peer = t.random().one_in(3);
    const uint64_t r = w.post(w[to], receive_of(any_peer ? CONSORT_NONE : w[k / 2].number(), into.addr(), into.size(),
                                                any_tag ? 0 : k % 2, any_tag ? UINT64_MAX : 0));
    const consort_done d = w.end(w[to], r);
    uint64_t number;
    std::memcpy(&number, into.data(), sizeof number);
    const size_t sender = w.is_alone() ? 0 : d.source;
    if (!t.check(sender < from && d.tag < 2, "a message is told as one of rank %u with tag %llu", d.source,
                 static_cast<unsigned long long>(d.tag)))
      return;
    const size_t got = 2 * sender + d.tag;
    t.check(number == next[got] && (!any_tag || next[got] <= next[got ^ 1]),
            "message %llu of rank %u comes while an older one that matches, %llu, has not come",
            static_cast<unsigned long long>(number), d.source,
            static_cast<unsigned long long>(std::min(next[got], any_tag ? next[got ^ 1] : next[got])));
    next[got] = number + 2;
  }
  w.settle();
}

CONFORM_CASE(T, 12, behaviour, receives_are_served_in_their_order) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  constexpr uint64_t kCount = 20;
  std::vector<std::unique_ptr<Block>> into;
  for (uint64_t i = 0; i < kCount; ++i) {
    into.push_back(std::make_unique<Block>(70'000, 0xff));
    w.post(w.b(), receive_of(i % 3 ? w.a().number() : CONSORT_NONE, into[i]->addr(), 70'000, i % 2 ? 4 : 0,
                             i % 2 ? 0 : UINT64_MAX));
  }
  for (uint64_t i = 0; i < kCount; ++i) {
    Block from(i % 4 == 1 ? 70'000 : 1, static_cast<unsigned char>(i));
    w.end(w.a(), w.post(w.a(), send_of(w.b().number(), from.addr(), from.size(), 4)));
  }
  w.settle();
  for (uint64_t i = 0; i < kCount; ++i)
    t.check((*into[i])[0] == i, "receive %llu of several that match got message %u", static_cast<unsigned long long>(i),
            (*into[i])[0]);
}

CONFORM_CASE(T, 13, behaviour, a_longer_message_is_cut) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  for (const uint64_t n : {1u, 9u, 100u, 5000u, 100'000u, 3'000'000u})
    for (const bool receive_first : {true, false}) {
      t.doing("a message of %llu bytes that is too long", static_cast<unsigned long long>(n));
      Block from(n), to(n / 2, 0);
      fill(from, 3, n);
      uint64_t r = 0;
      if (receive_first) r = w.post(w.b(), receive_of(w.a().number(), to.addr(), to.size(), 3));
      const uint64_t s = w.post(w.a(), send_of(w.b().number(), from.addr(), n, 3));
      if (!receive_first) r = w.post(w.b(), receive_of(w.a().number(), to.addr(), to.size(), 3));
      const consort_done got = w.end(w.b(), r);
      w.end(w.a(), s);
      t.check(got.status == CONSORT_E_TRUNCATED,
              "a message that is longer than its receive ends with %d, not E_TRUNCATED", got.status);
      t.check(got.bytes == n, "of a message of %llu bytes that was cut %llu are told",
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(got.bytes));
      t.check(holds(to, 3, to.size()), "the buffer of a message that was cut is not filled with its beginning");
      t.check(to.is_kept(), "a message of %llu bytes is written beyond its buffer of %zu",
              static_cast<unsigned long long>(n), to.size());
    }
}

CONFORM_CASE(T, 14, behaviour, messages_of_all_lengths) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const uint64_t most = std::min<uint64_t>(w.a().caps().max_message, t.scaled(4 << 20, 64 << 20));
  for (uint64_t n = 0; n <= most; n = n < 4 ? n + 1 : n * 2) {
    pass(t, w, n, n + 1);
    if (n > 2 && n < most) pass(t, w, n - 1, n), pass(t, w, n + 1, n);
  }
}

CONFORM_CASE(T, 15, behaviour, what_is_inline_is_taken_by_post) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const uint32_t most = w.a().caps().max_inline;
  if (!most) t.skip("max_inline is 0");
  for (const uint64_t n : {uint64_t{1}, uint64_t{most} / 2, uint64_t{most}}) pass(t, w, n, n, CONSORT_MF_INLINE);
  Block from(most, 1), to(most, 0);  // before its receive is posted
  consort_msg m = send_of(w.b().number(), from.addr(), most, 5);
  m.flags = CONSORT_MF_INLINE;
  const uint64_t s = w.post(w.a(), m);
  std::fill_n(from.data(), most, 0xee);
  w.end(w.b(), w.post(w.b(), receive_of(w.a().number(), to.addr(), most, 5)));
  w.end(w.a(), s);
  t.check(to.is(1), "an inline message that came before its receive has bytes that were written after post() took it");
}

CONFORM_CASE(T, 16, behaviour, many_messages_of_random_size) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  struct Slot {
    std::unique_ptr<Block> block = std::make_unique<Block>(40'000);
    uint64_t cookie = 0, number = 0;
  };
  constexpr size_t kSlots = 48;
  std::vector<Slot> out(kSlots), in(kSlots);
  const uint64_t all = t.scaled(3000, 100'000), seed = t.random().next();
  const auto bytes_of = [&](uint64_t number) {
    Random r(seed + number);
    return r.one_in(50) ? r.below(40'000) : r.below(r.one_in(4) ? 3000 : 100);
  };
  uint64_t sent = 0, wanted = 0, received = 0;
  t.doing("%llu messages of random size", static_cast<unsigned long long>(all));
  for (World::Patience patience; received < all && !t.failed();) {
    bool any = false;
    for (Slot &s : out) {
      if (s.cookie && !w.a().end_of(s.cookie)) continue;
      s.cookie = 0;
      if (sent == all || t.random().one_in(4)) continue;
      const uint64_t n = bytes_of(sent);
      fill(*s.block, sent, n);
      s.cookie = w.a().try_post(send_of(w.b().number(), s.block->addr(), n, sent & 7));
      if (!s.cookie) break;
      ++sent, any = true;
    }
    for (Slot &s : in) {
      if (s.cookie || wanted == all || t.random().one_in(3)) continue;
      s.number = wanted;
      s.cookie = w.b().try_post(
          receive_of(t.random().one_in(2) ? CONSORT_NONE : w.a().number(), s.block->addr(), s.block->size(), 0, 7));
      if (!s.cookie) break;
      ++wanted, any = true;
    }
    any = w.pump() || any;
    for (Slot &s : in) {
      const consort_done *d = s.cookie ? w.b().end_of(s.cookie) : nullptr;
      if (!d) continue;
      const uint64_t n = bytes_of(s.number);
      t.check(d->status == CONSORT_OK && d->bytes == n && d->tag == (s.number & 7) && holds(*s.block, s.number, n) &&
                  s.block->is_kept(),
              "message %llu, of %llu bytes, came as one of %llu with tag %llu and status %d, or as other bytes",
              static_cast<unsigned long long>(s.number), static_cast<unsigned long long>(n),
              static_cast<unsigned long long>(d->bytes), static_cast<unsigned long long>(d->tag), d->status);
      s.cookie = 0, ++received;
    }
    if (any)
      patience = World::Patience();
    else
      t.need(patience.wait(), "nothing moves any more; %llu of %llu messages have come",
             static_cast<unsigned long long>(received), static_cast<unsigned long long>(all));
  }
  w.settle();
}

CONFORM_CASE(T, 17, behaviour, a_batch_beyond_all_room_is_taken_in_part) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  Block from(8, 1), to(8, 0);
  std::vector<consort_msg> batch(50'000, receive_of(w.a().number(), to.addr(), 8, 3));
  t.doing("post of 50000 receives in one call, with nothing under way");
  const uint32_t n = w.b().post_all(batch);
  t.check(n > 0, "post() of 50000 receives takes none, though nothing is under way");
  for (uint32_t i = 0; i < n; ++i) w.end(w.a(), w.post(w.a(), send_of(w.b().number(), from.addr(), 8, 3)));
  w.settle();
}

CONFORM_CASE(T, 17, behaviour, post_takes_a_prefix) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  constexpr uint64_t kCount = 20'000;  // more than any transport buffers; no rank polls
  Block from(100, 7), to(100, 0);
  std::vector<consort_msg> batch(64);
  uint64_t sent = 0;
  for (World::Patience patience; sent < kCount;) {
    for (consort_msg &m : batch) m = send_of(w.b().number(), from.addr(), 100, 9);
    const uint32_t n = w.a().post_all(batch);
    sent += n;
    if (n < batch.size()) break;
  }
  t.figure("%llu messages of 100 bytes are taken while no rank polls", static_cast<unsigned long long>(sent));
  t.need(sent > 0, "post() takes nothing at all");
  for (uint64_t i = 0; i < sent; ++i) {  // all accepted messages arrive, and capacity returns
    const uint64_t r = w.post(w.b(), receive_of(w.a().number(), to.addr(), 100, 9));
    if (i == 0) t.check(w.b().poll(0) == 0 && w.a().poll(0) == 0, "poll() of at most 0 answers something");
    w.end(w.b(), r);
    if (i == 0) t.check(to.is(7), "a message that waited is not as it was sent");
  }
  w.settle();
  pass(t, w, 50, 3);
}

CONFORM_CASE(T, 18, behaviour, what_is_cancelled_ends_once) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  Block to(100'000, 0), from(100'000, 1);
  const uint64_t r = w.post(w.b(), receive_of(w.a().number(), to.addr(), to.size(), 1));
  w.idle();
  w.b().cancel(r);
  const consort_done d = w.end(w.b(), r);
  t.check(d.status == CONSORT_E_CANCELLED, "a receive that nothing had come for, and that was cancelled, ends with %d",
          d.status);
  w.b().cancel(r);  // it has ended: no effect
  const uint64_t other = w.post(w.b(), receive_of(w.a().number(), to.addr(), to.size(), 2));
  w.b().cancel(other + 1);  // an unknown cookie
  w.idle();
  t.check(!w.b().end_of(other), "a CANCEL ends an operation that it does not name");
  w.b().cancel(other);
  w.end(w.b(), other);
  const uint64_t s = w.post(w.a(), send_of(w.b().number(), from.addr(), from.size(), 1));
  w.idle();
  t.check(to.is(0), "a receive that was cancelled takes a message");
  w.a().cancel(s);
  t.doing("CANCEL of a SEND without a receive");
  Block late(100'000, 0);
  w.idle();  // it may be too late to cancel: then it waits for its receive
  const consort_done *over = w.a().end_of(s);
  const bool is_off = over && over->status == CONSORT_E_CANCELLED;
  const uint64_t last = w.post(w.b(), receive_of(w.a().number(), late.addr(), late.size(), 1));
  if (is_off) {
    w.idle();
    t.check(!w.b().end_of(last), "a SEND that ended with E_CANCELLED is received all the same");
    pass(t, w, 10, 77);
    w.b().cancel(last);
  }
  w.settle();
}

CONFORM_CASE(T, 19, fault, what_means_nothing_ends_with_an_error) {
  World w(t);
  Block b(64, 1);
  const auto refused = [&](consort_msg m, const char *what) {
    t.doing("%s", what);
    const consort_status s = w.end(w.a(), w.post(w.a(), m)).status;
    t.check(s < 0, "%s ends with status %d, not with an error", what, s);
  };
  const consort_msg good = send_of(w.b().number(), b.addr(), 8, 1);
  consort_msg m = good;
  m.kind = 77;
  refused(m, "a message of a kind that there is not");
  for (const uint16_t kind : {CONSORT_MSG_SEND, CONSORT_MSG_RECV, CONSORT_MSG_PUT}) {
    m = good, m.kind = static_cast<uint16_t>(0x100 | kind);
    refused(m, "a message of a kind whose low byte there is");
  }
  m = good, m.peer = 1'000'000;
  refused(m, "a SEND to a rank that there is not");
  m = good, m.peer = CONSORT_NONE;
  refused(m, "a SEND to any rank");
  Block large(std::min<uint64_t>(w.a().caps().max_inline, 1 << 24) + 1, 1);
  m = good, m.flags = CONSORT_MF_INLINE, m.bytes = uint64_t{w.a().caps().max_inline} + 1, m.local = large.addr();
  if (m.bytes == large.size()) refused(m, "an inline message of more than max_inline");
  if (w.a().caps().max_message < UINT64_MAX) {
    m = good, m.bytes = w.a().caps().max_message + 1;
    refused(m, "a message of more than max_message");
  }
}

CONFORM_CASE(T, 20, behaviour, memory_for_unreceived_messages_has_a_limit) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  const auto kib = [] {
    unsigned long long all = 0, resident = 0;
    if (FILE *f = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(f, "%llu %llu", &all, &resident) != 2) resident = 0;
      std::fclose(f);
    }
    return resident * 4;
  };
  constexpr uint64_t kBytes = 2 << 20, kCount = 128;
  Block from(kBytes, 1), to(kBytes, 0);
  const unsigned long long before = kib();
  uint64_t sent = 0;
  for (; sent < kCount; ++sent) {
    bool taken = false;
    for (int i = 0; i < 30 && !taken; ++i)
      taken = w.a().try_post(send_of(w.b().number(), from.addr(), kBytes, 6)) != 0 || (w.pump(), false);
    if (!taken) break;
  }
  w.idle();
  const unsigned long long more = kib() - std::min(before, kib());
  t.check(more < (100 << 10), "%llu messages of 2 MiB without a receive take %llu MiB",
          static_cast<unsigned long long>(sent), more >> 10);
  for (uint64_t i = 0; i < sent; ++i) w.end(w.b(), w.post(w.b(), receive_of(w.a().number(), to.addr(), kBytes, 6)));
  t.check(to.is(1), "a message that waited is not as it was sent");
  w.settle();
}

}  // namespace conform
