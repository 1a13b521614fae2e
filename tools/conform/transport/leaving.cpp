// Peers that leave: by close, by disconnect, by a kill.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "conform/transport/ranks.hpp"

namespace conform {
namespace {

// Operations in progress when the peer leaves: long and short messages, receives, and some that do not involve the
// peer.
struct UnderWay {
  UnderWay(Trial &trial, World &world) : t(trial), w(world), data(600'000, 1), to(600'000, 0) {
    Rank &a = w.a();
    const uint32_t b = w.b().number();
    const bool tagged = a.can(CONSORT_TC_TAGGED);
    for (int k = 0; tagged && k < 6; ++k) {
      try_post(send_of(b, data.addr(), k % 2 ? 600'000 : 40, 100 + k));
      try_post(receive_of(b, to.addr(k * 1000), 1000, 200 + k));
    }
    if (tagged && !w.is_alone()) any = w.a().try_post(receive_of(CONSORT_NONE, to.addr(300'000), 8, 0, UINT64_MAX));
  }
  void try_post(const consort_msg &m) {
    if (const uint64_t cookie = w.a().try_post(m))
      cookies.push_back(cookie), receives.push_back(m.kind == CONSORT_MSG_RECV);
  }
  // All of them must end, with E_PEER_LOST where only the loss can end them. The event comes once, after all of them.
  void must_end(const char *how, bool with_event) {
    Rank &a = w.a();
    const uint32_t b = w.b().number();
    t.doing("polls until what was under way to a peer that %s has ended", how);
    for (World::Patience patience;;) {  // one at a time, so that an event between two ends is seen
      const bool any = a.poll(1) != 0;
      const uint32_t lost = a.count(CONSORT_EV_PEER_LOST, b);
      bool all = true;
      for (const uint64_t c : cookies) all = all && a.end_of(c);
      t.check(all || !lost, "the event comes before all that was under way to a peer that %s has ended", how);
      if (all && (lost || !with_event)) break;
      if (any) patience = World::Patience();
      if (w.b().is_open() && !w.is_alone()) w.b().poll();
      if (!any)
        t.need(patience.wait(), "%s, of a peer that %s", all ? "no event tells" : "not all that was under way ends",
               how);
    }
    for (size_t i = 0; i < cookies.size(); ++i) {  // a short message may have been delivered before
      const consort_status s = a.end_of(cookies[i])->status;
      t.check(s == CONSORT_E_PEER_LOST || (s == CONSORT_OK && !receives[i]),
              "what was under way to a peer that %s ends with %d", how, s);
    }
    w.idle();
    const uint32_t lost = a.count(CONSORT_EV_PEER_LOST, b);
    if (with_event) t.check(lost == 1, "of a peer that %s %u events tell", how, lost);
    Block small(8, 0);
    std::vector<consort_msg> later = {send_of(b, data.addr(), 8, 1), send_of(b, data.addr(), 100'000, 1),
                                      receive_of(b, small.addr(), 8, 1)};
    if (a.can(CONSORT_TC_RMA)) later.push_back(reach_of(CONSORT_MSG_PUT, b, data.addr(), 8, key_at, key));
    for (const consort_msg &m : later) {
      if (!a.can(CONSORT_TC_TAGGED) && m.kind != CONSORT_MSG_PUT) continue;
      t.doing("a post to a peer that %s", how);
      const consort_status s = w.end(a, w.post(a, m)).status;
      t.check(s == CONSORT_E_PEER_LOST, "a later post to a peer that %s ends with %d, not with E_PEER_LOST", how, s);
    }
    t.check(!any || !a.end_of(any), "a receive from any ends with %d because one peer is lost",
            any && a.end_of(any) ? a.end_of(any)->status : 0);
    w.idle();
    t.check(a.count(CONSORT_EV_PEER_LOST, b) == lost, "the event comes again");
  }
  void cancel_any() {
    if (!any || w.a().end_of(any)) return;
    w.a().cancel(any);
    w.end(w.a(), any);
  }
  Trial &t;
  World &w;
  Block data, to;
  consort_mr key{};
  consort_addr key_at{};
  std::vector<uint64_t> cookies;
  std::vector<char> receives;
  uint64_t any = 0;
};

void must_have_two(Trial &t, World &w) {
  if (w.is_alone()) t.skip("it reaches no other rank");
}

}  // namespace

CONFORM_CASE(T, 40, behaviour, a_peer_that_closes_is_lost) {
  World w(t);
  must_have_two(t, w);
  Block theirs(4096);
  UnderWay u(t, w);
  if (w.b().can(CONSORT_TC_RMA)) w.b().reg(theirs, 0, 4096, &u.key), u.key_at = theirs.addr();
  w.idle();
  w.b().close();
  u.must_end("has closed", true);
  u.cancel_any();
}

// The best of some rounds, since another process may have the core.
CONFORM_CASE(T, 73, life, closes_soon_after_its_peer) {
  constexpr uint64_t kMost = 500'000'000 * (CONSORT_SAN ? 4 : 1);
  uint64_t best = UINT64_MAX;
  for (int round = 0; round < 4 && best > kMost / 4; ++round) {
    World w(t);
    must_have_two(t, w);
    if (w.a().can(CONSORT_TC_TAGGED)) {
      Block from(40, 1), to(40, 0);
      w.post(w.b(), receive_of(w.a().number(), to.addr(), 40, 1));
      w.post(w.a(), send_of(w.b().number(), from.addr(), 40, 1));
      w.settle();
    }
    w.a().close();
    for (World::Patience patience; !w.b().count(CONSORT_EV_PEER_LOST, w.a().number());) {
      w.b().poll();
      t.need(patience.wait(), "a peer closes, and poll() tells nothing of it");
    }
    const uint64_t began = Board::now();
    w.b().close();
    best = std::min(best, Board::now() - began);
  }
  t.figure("close after the peer's: %.1f ms", static_cast<double>(best) * 1e-6);
  t.check(best < kMost, "close takes %.0f ms after its only peer has closed", static_cast<double>(best) * 1e-6);
}

CONFORM_CASE(T, 41, behaviour, a_peer_that_disconnects_is_lost) {
  World w(t);
  must_have_two(t, w);
  Block theirs(4096);
  UnderWay u(t, w);
  if (w.b().can(CONSORT_TC_RMA)) w.b().reg(theirs, 0, 4096, &u.key), u.key_at = theirs.addr();
  w.idle();
  w.b().disconnect(0);
  u.must_end("has disconnected", true);
  u.cancel_any();
}

CONFORM_CASE(T, 42, behaviour, a_disconnect_leaves_nothing_in_progress) {
  World w(t);
  Block theirs(4096);
  UnderWay u(t, w);
  if (w.b().can(CONSORT_TC_RMA)) w.b().reg(theirs, 0, 4096, &u.key), u.key_at = theirs.addr();
  w.a().disconnect(w.b().number());
  u.must_end("this rank has disconnected from", false);
  u.cancel_any();
}

CONFORM_CASE(T, 43, behaviour, other_peers_stay) {
  World w(t, 3);
  must_have_two(t, w);
  w.must(CONSORT_TC_TAGGED, "messages by tag");
  Block from(100'000, 5), to(100'000, 0), other(8, 0);
  const uint64_t any = w.post(w[0], receive_of(CONSORT_NONE, to.addr(), 100'000, 4));
  const uint64_t lost = w.post(w[0], receive_of(1, other.addr(), 8, 5));
  w[1].close();
  t.check(w.end(w[0], lost).status == CONSORT_E_PEER_LOST,
          "a receive from a peer that has closed does not end with E_PEER_LOST");
  w.until("the event has come",
          [&] { return w[0].count(CONSORT_EV_PEER_LOST, 1) && w[2].count(CONSORT_EV_PEER_LOST, 1); });
  t.check(!w[0].end_of(any), "a receive from any ends because one peer of two is lost");
  t.check(!w[0].count(CONSORT_EV_PEER_LOST, 2), "a peer is told as lost that is there");
  const uint64_t s = w.post(w[2], send_of(0, from.addr(), 100'000, 4));
  const consort_done d = w.end(w[0], any);
  t.check(d.status == CONSORT_OK && d.source == 2 && to.is(5),
          "after one peer is lost a message of another ends with %d", d.status);
  t.check(w.end(w[2], s).status == CONSORT_OK, "after one peer is lost a message to another fails");
}

// Rank 1 as a process of its own: reports that it is up, receives one message, then polls until it is killed.
[[noreturn]] static void be_rank_one(Trial &t, Board &board, const JobOptions &job, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  try {
    Rank me(t, board, 1, job);
    if (me.opened() < 0) _exit(2);
    const std::vector<unsigned char> mine = me.address();
    board.put(1, "address", mine.data(), static_cast<uint32_t>(mine.size()));
    std::vector<unsigned char> other(1024);
    uint32_t n = 1024;
    if (board.get(0, "address", other.data(), &n, Board::now() + 20'000'000'000u) < 0) _exit(3);
    other.resize(n);
    if (me.connect(0, other) < 0) _exit(4);
    while (!me.count(CONSORT_EV_PEER_UP, 0)) me.poll(), usleep(100);
    board.put(1, "up", "", 0);
    for (;;) me.poll(), usleep(1000);
  } catch (const Stop &) {
  }
  _exit(5);
}

CONFORM_CASE(T, 44, behaviour, a_peer_that_is_killed_is_lost) {
  Board board;
  JobOptions job;
  job.job = fresh_job();
  const pid_t parent = getpid(), child = fork();  // before the plugin is loaded
  t.need(child >= 0, "no process for a rank");
  if (child == 0) be_rank_one(t, board, job, parent);
  const auto end_child = [&] { kill(child, SIGKILL), waitpid(child, nullptr, 0); };
  Rank a(t, board, 0, job);
  if (a.opened() < 0 || !a.can(CONSORT_TC_PEER_FAILURE))
    end_child(), t.skip("it does not claim to see that peers fail");
  const std::vector<unsigned char> mine = a.address();
  board.put(0, "address", mine.data(), static_cast<uint32_t>(mine.size()));
  std::vector<unsigned char> other(1024);
  uint32_t n = 1024;
  t.doing("wait for the address of a rank that is a process");
  if (board.get(1, "address", other.data(), &n, Board::now() + 20'000'000'000u) < 0)
    end_child(), t.need(false, "a rank that is a process has no address");
  other.resize(n);
  const consort_status s = a.connect(1, other);
  if (s == CONSORT_E_UNSUPPORTED)
    end_child(), t.skip("it does not reach other processes: %s", a.host().failure().c_str());
  if (s < 0)
    end_child(), t.need(false, "connect to a rank that is another process fails: %s", a.host().failure().c_str());
  const auto until = [&](const char *what, auto holds) {
    for (World::Patience patience(15); !holds();)
      if (a.poll())
        patience = World::Patience(15);
      else if (!patience.wait())
        end_child(), t.need(false, "nothing moves any more, while waiting until %s", what);
  };
  until("a rank that is a process is up", [&] { return a.count(CONSORT_EV_PEER_UP, 1) != 0; });
  Block from(4 << 20, 1), to(4 << 20, 0);
  std::vector<uint64_t> cookies;
  const auto post = [&](const consort_msg &m) {
    if (const uint64_t c = a.try_post(m)) cookies.push_back(c);
  };
  for (int k = 0; k < 4; ++k)
    post(send_of(1, from.addr(), k % 2 ? 4 << 20 : 100, 1)), post(receive_of(1, to.addr(), 100, 1));
  t.doing("a peer is killed by SIGKILL");
  end_child();
  until("what was under way to a killed peer has ended", [&] {
    bool all = true;
    for (const uint64_t c : cookies) all = all && a.end_of(c);
    t.check(all || !a.count(CONSORT_EV_PEER_LOST, 1), "the event comes before all that was under way has ended");
    return all && a.count(CONSORT_EV_PEER_LOST, 1);
  });
  for (int i = 0; i < 50; ++i) a.poll(), usleep(200);
  t.check(a.count(CONSORT_EV_PEER_LOST, 1) == 1, "of a peer that was killed %u events tell",
          a.count(CONSORT_EV_PEER_LOST, 1));
  uint64_t later = a.try_post(send_of(1, from.addr(), 8, 1));
  t.need(later != 0, "a post to a peer that was killed is not taken");
  until("a later post has ended", [&] { return a.end_of(later) != nullptr; });
  t.check(a.end_of(later)->status == CONSORT_E_PEER_LOST, "a later post to a killed peer ends with %d",
          a.end_of(later)->status);
}

}  // namespace conform
