// Ranks in threads of their own; sleeping on the descriptor; calls of post and poll out of the plugin's file.
#include <poll.h>
#include <sched.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "conform/calls.hpp"
#include "conform/stepper.hpp"
#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

constexpr size_t kSlots = 16, kRoom = 6000;

// Sends `all` messages to the other rank and receives as many; number i must arrive as the i-th.
void talk(Trial &t, Rank &me, uint32_t other, uint64_t all, std::atomic<uint32_t> &there) {
  struct Slot {
    std::unique_ptr<Block> block = std::make_unique<Block>(kRoom);
    uint64_t cookie = 0, number = 0;
  };
  const auto bytes_of = [](uint64_t i) { return 16 + (i % 17 == 0 ? 5000 + i % 900 : i % 300); };
  std::vector<Slot> out(kSlots), in(kSlots);
  uint64_t sent = 0, wanted = 0, received = 0;
  for (World::Patience patience(10); sent < all || received < all || me.under_way();) {
    bool any = false;
    for (Slot &s : out) {
      if (s.cookie && !me.end_of(s.cookie)) continue;
      s.cookie = 0;
      if (sent == all) continue;
      std::memcpy(s.block->data(), &sent, sizeof sent);
      (*s.block)[bytes_of(sent) - 1] = static_cast<unsigned char>(sent + 1);
      if ((s.cookie = me.try_post(send_of(other, s.block->addr(), bytes_of(sent), 1))) == 0) break;
      ++sent, any = true;
    }
    for (Slot &s : in) {
      if (s.cookie || wanted == all) continue;
      s.number = wanted;
      if ((s.cookie = me.try_post(receive_of(other, s.block->addr(), kRoom, 1))) == 0) break;
      ++wanted, any = true;
    }
    any = me.poll() || any;
    for (Slot &s : in) {
      const consort_done *d = s.cookie ? me.end_of(s.cookie) : nullptr;
      if (!d) continue;
      uint64_t is;
      std::memcpy(&is, s.block->data(), sizeof is);
      const uint64_t n = bytes_of(s.number);
      if (!t.check(d->status == CONSORT_OK && d->bytes == n && is == s.number &&
                       (*s.block)[n - 1] == static_cast<unsigned char>(is + 1),
                   "message %llu came as number %llu, with %llu bytes and status %d", number(s.number), number(is),
                   number(d->bytes), d->status))
        break;
      s.cookie = 0, ++received;
    }
    if (t.failed()) break;
    if (any)
      patience = World::Patience(10);
    else if (!t.check(patience.wait(), "nothing moves any more; rank %u has %llu of %llu messages", me.number(),
                      number(received), number(all)))
      break;
  }
  --there;
  while (there) {  // the other may still need this rank's poll()
    if (!me.poll()) sched_yield();
    if (t.failed()) break;
  }
}

template <class F>
std::thread in_thread(F f) {
  return std::thread([f] {
    try {
      f();
    } catch (const Stop &) {
    }
  });
}

// Frequent actions of a rank, to be watched, in equal rounds. After each round but the first calls `seen` and resets
// the counts.
template <class Seen>
void live(World &w, int rounds, const Seen &seen) {
  Block from(3000, 1), to(3000, 0), theirs(3000);
  consort_mr mr{};
  const bool reaches = w.a().can(CONSORT_TC_RMA) && w.b().reg(theirs, 0, 3000, &mr) >= 0;
  for (int round = 0; round < rounds; ++round) {
    Calls::forget();
    for (uint64_t i = 0; i < 1000; ++i) {
      const uint64_t n = i % 3 ? 40 : 3000;
      if (w.a().can(CONSORT_TC_TAGGED)) {
        const uint64_t r = i % 2 ? w.post(w.b(), receive_of(w.a().number(), to.addr(), n, 1)) : 0;
        const uint64_t s = w.post(w.a(), send_of(w.b().number(), from.addr(), n, 1));
        w.end(w.b(), r ? r : w.post(w.b(), receive_of(CONSORT_NONE, to.addr(), n, 1)));
        w.end(w.a(), s);
      }
      if (reaches)
        w.end(w.a(), w.post(w.a(), reach_of(i % 2 ? CONSORT_MSG_PUT : CONSORT_MSG_GET, w.b().number(), from.addr(), n,
                                            theirs.addr(), mr)));
    }
    if (round) seen();
  }
  if (reaches) w.b().dereg(mr);
}

std::string times(uint64_t n) { return n == 1 ? "once" : std::to_string(n) + " times"; }

void no_complaints(Trial &t, World &w) {
  for (Rank *r : {&w.a(), &w.b()})
    for (const std::string &what : r->host().complaints()) t.check(false, "%s", what.c_str());
}

// Waiting functions; read() and write() of a non-blocking descriptor are a transport's work.
bool waits(const std::string &name) {
  for (const char *word : {"sleep", "sem_wait", "cond_", "condition_variable", "join", "fopen"})
    if (name.find(word) != name.npos) return true;
  return false;
}

}  // namespace

CONFORM_CASE(T, 50, threads, two_ranks_in_two_threads) {
  World w(t);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  if (w.is_alone()) t.skip("it reaches no other rank");
  const uint64_t all = t.scaled(CONSORT_SAN ? 1000 : 3000, 30'000);
  t.doing("%llu messages each way between two threads", number(all));
  std::atomic<uint32_t> there{2};
  std::thread other = in_thread([&] { talk(t, w.b(), 0, all, there); });
  try {
    talk(t, w.a(), 1, all, there);
  } catch (const Stop &) {
  }
  other.join();
}

CONFORM_CASE(T, 51, threads, a_peer_leaves_amid_messages) {
  const uint64_t rounds = t.scaled(8, 60);
  for (uint64_t round = 0; round < rounds && !t.failed() && (round < 4 || t.has_time()); ++round) {
    World w(t);
    w.must(CONSORT_TC_TAGGED, "messages by tag");
    if (w.is_alone()) t.skip("it reaches no other rank");
    std::atomic<bool> gone{false};
    const uint64_t pace = t.random().below(40);
    t.doing("a peer that %s while messages come and go", round % 2 ? "closes" : "disconnects");
    std::thread other = in_thread([&] {
      {
        Block from(200'000, 1), to(200'000, 0);  // freed with the rank
        for (uint64_t k = 0; k < pace; ++k) {
          w.b().try_post(send_of(0, from.addr(), k % 2 ? 200'000 : 50, 1));
          w.b().try_post(receive_of(0, to.addr(), 200'000, 1));
          w.b().poll();
        }
        if (round % 2 == 0) w.b().disconnect(0);
        w.b().close();
      }
      gone = true;
    });
    Block from(200'000, 2), to(200'000, 0);
    try {
      while (!gone) {
        for (int k = 0; k < 3; ++k) {
          w.a().try_post(send_of(1, from.addr(), k % 2 ? 200'000 : 50, 1));
          w.a().try_post(receive_of(1, to.addr(), 200'000, 1));
        }
        if (!w.a().poll()) sched_yield();
      }
      w.until("what was under way to a peer that left has ended",
              [&] { return w.a().under_way() == 0 && w.a().count(CONSORT_EV_PEER_LOST, 1); });
    } catch (const Stop &) {
    }
    other.join();
    if (t.failed()) return;
    w.idle();
    t.check(w.a().count(CONSORT_EV_PEER_LOST, 1) == 1, "of a peer that left %u events tell",
            w.a().count(CONSORT_EV_PEER_LOST, 1));
  }
}

CONFORM_CASE(T, 52, behaviour, the_descriptor_says_when_to_poll) {
  World w(t);
  w.must(CONSORT_TC_FD, "a descriptor");
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  Rank &b = w.b();
  const int fd = b.ops().event_fd(b.raw());
  t.need(fd >= 0, "claims a descriptor, but event_fd() answers %d", fd);
  t.check(b.ops().event_fd(b.raw()) == fd, "event_fd() answers another descriptor when it is asked again");
  const auto is_readable = [&](int ms) {
    pollfd p{fd, POLLIN, 0};
    return poll(&p, 1, ms) == 1;
  };
  const auto arm = [&] {
    const Inside inside(Tag::kQueue, "arm");
    return b.arm();
  };
  const auto armed = [&] {  // polls until there is nothing more
    for (World::Patience patience;;) {
      if (arm() == CONSORT_OK) return;
      if (!w.pump()) t.need(patience.wait(), "arm() answers E_BUSY again and again, though poll() has nothing");
    }
  };
  for (int round = 0; round < 5; ++round) {
    Block from(round * 50'000 + 8, 1), to(from.size(), 0);
    const uint64_t r = w.post(b, receive_of(w.a().number(), to.addr(), to.size(), 1));
    armed();
    t.doing("a message to a rank that is armed");
    const uint64_t s = w.a().try_post(send_of(b.number(), from.addr(), from.size(), 1));
    t.need(s != 0, "post() takes no message");
    bool woken = false;
    for (World::Patience patience; !woken && patience.wait();) {
      woken = is_readable(1);
      if (&w.a() != &b) w.a().poll();
    }
    t.need(woken, "a message comes to a rank that is armed, and its descriptor does not become readable");
    while (!b.end_of(r)) {  // awake: polls until it is there, and sleeps only if arm() permits it
      if (!b.poll() && arm() == CONSORT_OK)
        for (World::Patience patience; !is_readable(1);) {
          t.need(patience.wait(), "the end of a receive comes, and the descriptor does not become readable");
          if (&w.a() != &b) w.a().poll();
        }
      if (&w.a() != &b) w.a().poll();
    }
    w.end(w.a(), s);
  }
  Block late(8, 1), into(8, 0);  // something to poll, and no rank has polled: no sleep
  const uint64_t r = w.post(b, receive_of(w.a().number(), into.addr(), 8, 2));
  armed();
  const uint64_t s = w.post(w.a(), send_of(b.number(), late.addr(), 8, 2));
  for (World::Patience patience; !is_readable(1) && patience.wait();)
    if (&w.a() != &b) w.a().poll();
  for (int i = 0; i < 50 && &w.a() != &b; ++i) w.a().poll();
  const consort_status busy = arm();
  const uint32_t came = b.poll();
  t.check(busy == CONSORT_E_BUSY || came == 0,
          "arm() answers %d, and then poll() has something: a thread that sleeps in between is not woken", busy);
  w.end(b, r), w.end(w.a(), s);
}

CONFORM_CASE(T, 53, threads, no_wake_is_lost) {
  World w(t);
  w.must(CONSORT_TC_FD, "a descriptor");
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  if (w.is_alone()) t.skip("it reaches no other rank");
  const uint64_t rounds = t.scaled(400, 5000);
  t.doing("a message back and forth between two threads that sleep meanwhile");
  std::atomic<bool> over{false};
  const auto turn = [&](Rank &me, uint32_t other) {
    const int fd = me.ops().event_fd(me.raw());
    Block from(8, 1), to(8, 0);
    for (uint64_t round = 0; round < rounds && !over && (round < 100 || t.has_time()); ++round) {
      const uint64_t r = me.try_post(receive_of(other, to.addr(), 8, 1));
      if (me.number() == 0) me.try_post(send_of(other, from.addr(), 8, 1));
      while (!me.end_of(r) && !over) {
        if (me.poll() || me.arm() != CONSORT_OK) continue;
        pollfd p{fd, POLLIN, 0};
        for (int ms = 0; !over && poll(&p, 1, 50) != 1; ms += 50)
          if (!t.check(ms < 10'000, "armed in round %llu, and not woken for ten seconds", number(round))) over = true;
      }
      if (me.number() == 1) me.try_post(send_of(other, from.addr(), 8, 1));
    }
    if (!t.has_time() || me.number() == 0) over = true;
  };
  std::thread other = in_thread([&] { turn(w.b(), 0); });
  try {
    turn(w.a(), 1);
  } catch (const Stop &) {
  }
  over = true;
  other.join();
}

CONFORM_CASE(T, 53, threads, no_end_slips_through_an_arm_that_stands) {
  if (!Stepper::can()) t.skip("calls are stopped before an instruction on x86-64 alone, without a sanitizer");
  World w(t);
  w.must(CONSORT_TC_FD, "a descriptor");
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  if (w.is_alone()) t.skip("it reaches no other rank");
  Rank &b = w.b();
  const int fd = b.ops().event_fd(b.raw());
  Stepper stepper(t.subject().path);
  consort_status armed = CONSORT_OK;
  const auto arm = [&] {
    const Inside inside(Tag::kQueue, "arm");
    armed = b.arm();
  };
  Block from(8, 1), to(8, 0);
  w.settle();
  for (const uint64_t k : stepper.points(arm, 20'000, 40)) {
    const uint64_t r = w.post(b, receive_of(w.a().number(), to.addr(), 8, 1));
    uint64_t s = 0;
    t.doing("arm, stopped before instruction %llu, while a message comes", number(k));
    const auto how = stepper.race(k, arm, [&] { s = w.a().try_post(send_of(b.number(), from.addr(), 8, 1)); });
    if (how == Stepper::Other::kNotStopped) s = w.a().try_post(send_of(b.number(), from.addr(), 8, 1));
    for (int turn = 0; turn < 20; ++turn) w.a().poll();
    pollfd f{fd, POLLIN, 0};
    if (armed == CONSORT_OK)
      t.need(poll(&f, 1, 2000) > 0 || b.poll() == 0,
             "a message comes while arm() stands; arm() says OK, and the descriptor does not become readable");
    w.end(b, r);
    if (s) w.end(w.a(), s);
  }
}

CONFORM_CASE(T, 54, threads, post_and_poll_do_not_wait) {
  World w(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  live(w, 2, [&] {
    for (const Calls::Seen &s : Calls::seen())
      if (s.tag != Tag::kControl && (s.kind == Calls::kThread || (s.kind == Calls::kBlocking && waits(s.name))))
        t.check(false, "%s, which is [%s], calls %s (%s)", s.function.c_str(), tag_name(s.tag), s.name.c_str(),
                times(s.count).c_str());
  });
  no_complaints(t, w);
}

CONFORM_CASE(T, 55, threads, post_and_poll_do_not_allocate) {
  if (CONSORT_SAN) t.skip("a sanitizer's heap is not the plugin's");
  World w(t);
  if (!Calls::attach(t.subject().path)) t.skip("calls out of a file cannot be watched on this system");
  constexpr int kRounds = 5;
  std::map<std::string, std::pair<int, uint64_t>> found;  // by called function: number of rounds, number of calls
  live(w, kRounds, [&] {
    for (const Calls::Seen &s : Calls::seen())
      if (s.kind == Calls::kMemory && s.tag != Tag::kControl) {
        auto &[rounds, count] = found[s.function + ", which is [" + tag_name(s.tag) + "], calls " + s.name];
        ++rounds, count += s.count;
      }
  });
  for (const auto &[what, seen] : found)  // amortised growth allocates in one of several equal rounds, not in each
    t.check(seen.first < kRounds - 1, "%s in each of %d equal rounds of 1000 messages (%s in all)", what.c_str(),
            kRounds - 1, times(seen.second).c_str());
}

CONFORM_CASE(T, 72, life, goes_on_without_growing) {
  World w(t);
  MemoryMarks memory(64, 2, 3);
  live(w, 2, [&] { memory.mark(); });
  while (memory.is_undecided()) live(w, 2, [&] { memory.mark(); });
  t.check(!memory.leaks(), "%zu bytes more after each 2000 messages that came and went", memory.growth());
}

}  // namespace conform
