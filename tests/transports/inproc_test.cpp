// The transport inproc: each message arrives once, complete and in its place; refusals have a message.
#include <sys/eventfd.h>

#include <poll.h>

#include <cstring>
#include <numeric>

#include "transports/ranks.hpp"

namespace {

using namespace consort_test;
using Params = PluginHost::Params;

struct Pair {
  explicit Pair(const Params &params = {}) : a(job, 0, params), b(job, 1, params) { join(a, b); }
  Job job;
  Rank a, b;
};

TEST(Inproc, PeerIsUpWhenBothSidesConnected) {
  const Job job;
  Rank a(job, 0), b(job, 1);
  ASSERT_EQ(a.opened(), CONSORT_OK) << a.host().failure();
  ASSERT_EQ(a.connect(b), CONSORT_OK);
  EXPECT_TRUE(a.poll().empty() && b.poll().empty());
  EXPECT_EQ(a.count(CONSORT_EV_PEER_UP, 1) + b.count(CONSORT_EV_PEER_UP, 0), 0u);
  EXPECT_EQ(a.connect(b), CONSORT_E_BUSY);
  ASSERT_EQ(b.connect(a), CONSORT_OK);
  a.poll(), b.poll();
  EXPECT_EQ(a.count(CONSORT_EV_PEER_UP, 1), 1u);
  EXPECT_EQ(b.count(CONSORT_EV_PEER_UP, 0), 1u);
}

TEST(Inproc, RankConnectsToItself) {
  const Job job;
  Rank a(job, 0);
  join(a, a);
  EXPECT_EQ(a.count(CONSORT_EV_PEER_UP, 0), 1u);
  int from = 5, to = 0;
  ASSERT_EQ(a.post({Rank::send(0, 1, &from, sizeof from), Rank::recv(0, 2, &to, sizeof to)}), 2u);
  EXPECT_EQ(a.poll().size(), 2u);
  EXPECT_EQ(to, 5);
  consort_mr mr = a.reg(&to, sizeof to);
  from = 6;
  ASSERT_TRUE(a.post(Rank::reach(CONSORT_MSG_PUT, 0, 3, &from, sizeof from, &to, mr)));
  EXPECT_EQ(a.one().status, CONSORT_OK);
  EXPECT_EQ(to, 6);
}

// -- matching --------------------------------------------------------------------------------------------------------

TEST(Inproc, ReceiveTakesTheOldestMatch) {
  Pair p;
  int sent[] = {10, 11, 12, 13}, got[4] = {};
  const uint64_t tags[] = {0x10, 0x21, 0x12, 0x10};
  for (uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(p.a.post(Rank::send(1, i, &sent[i], sizeof(int), tags[i])));
  ASSERT_TRUE(p.b.post(Rank::recv(0, 100, &got[0], sizeof(int), 0x02, 0xf0)));  // of any high digit: the third
  ASSERT_TRUE(p.b.post(Rank::recv(CONSORT_NONE, 101, &got[1], sizeof(int), 0x10)));
  ASSERT_TRUE(p.b.post(Rank::recv(0, 102, &got[2], sizeof(int), 0x10)));
  ASSERT_TRUE(p.b.post(Rank::recv(CONSORT_NONE, 103, &got[3], sizeof(int), 0, UINT64_MAX)));
  const std::vector<consort_done> done = p.b.poll();
  ASSERT_EQ(done.size(), 4u);
  EXPECT_EQ(done[3].tag, 0x21u);
  for (const consort_done &d : done) EXPECT_TRUE(d.status == CONSORT_OK && d.source == 0 && d.bytes == sizeof(int));
  EXPECT_TRUE(got[0] == 12 && got[1] == 10 && got[2] == 13 && got[3] == 11);
  EXPECT_EQ(p.a.poll().size(), 4u);
}

TEST(Inproc, ReceivesMatchInPostedOrder) {
  Pair p;
  int sent[] = {1, 2, 3}, got[3] = {};
  ASSERT_EQ(p.b.post({Rank::recv(0, 0, &got[0], sizeof(int), 8), Rank::recv(CONSORT_NONE, 1, &got[1], sizeof(int), 9),
                      Rank::recv(0, 2, &got[2], sizeof(int), 9)}),
            3u);
  for (int &i : sent) ASSERT_TRUE(p.a.post(Rank::send(1, 0, &i, sizeof i, 9)));
  EXPECT_EQ(p.b.poll().size(), 2u);
  EXPECT_TRUE(got[0] == 0 && got[1] == 1 && got[2] == 2);
}

TEST(Inproc, LongerMessageIsTruncatedWithItsLength) {
  Pair p;
  for (const size_t n : {size_t{10}, size_t{100'000}}) {
    std::vector<char> from(n, 'x'), to(n, '-');
    ASSERT_TRUE(p.a.post(Rank::send(1, 1, from.data(), n, 4)));
    ASSERT_TRUE(p.b.post(Rank::recv(0, 2, to.data(), n - 3, 4)));
    const consort_done d = p.b.one();
    EXPECT_TRUE(d.status == CONSORT_E_TRUNCATED && d.bytes == n && d.tag == 4);
    EXPECT_TRUE(to[n - 4] == 'x' && to[n - 3] == '-');
    EXPECT_EQ(p.a.one().status, CONSORT_OK);
  }
  ASSERT_TRUE(p.a.post(Rank::send(1, 1, nullptr, 0, 4)));
  ASSERT_TRUE(p.b.post(Rank::recv(0, 2, nullptr, 0, 4)));
  EXPECT_EQ(p.b.one().status, CONSORT_OK);
}

TEST(Inproc, InlineDataAreCopiedByPost) {
  Pair p(Params{{"unexpected", "0"}});
  std::vector<char> from(p.a.caps().max_inline, 'x'), to(from.size());
  consort_msg m = Rank::send(1, 1, from.data(), from.size());
  m.flags = CONSORT_MF_INLINE;
  ASSERT_TRUE(p.a.post(m));
  std::fill(from.begin(), from.end(), 'y');
  ASSERT_TRUE(p.b.post(Rank::recv(0, 2, to.data(), to.size())));
  EXPECT_EQ(to.front(), 'x');
  EXPECT_EQ(to.back(), 'x');
  EXPECT_EQ(p.a.one().status, CONSORT_OK);
  ++m.bytes;
  ASSERT_TRUE(p.a.post(m));
  EXPECT_EQ(p.a.one().status, CONSORT_E_INVAL);
}

TEST(Inproc, LongMessageStaysWithItsSender) {
  Pair p;
  std::vector<char> from(300'000, 'x'), to(from.size());
  ASSERT_TRUE(p.a.post(Rank::send(1, 1, from.data(), from.size())));
  EXPECT_TRUE(p.a.poll().empty());
  std::fill(from.begin(), from.end(), 'y');  // not copied yet: visible by a look that a program may not take
  ASSERT_TRUE(p.b.post(Rank::recv(0, 2, to.data(), to.size())));
  EXPECT_EQ(to, from);
  EXPECT_EQ(p.a.one().status, CONSORT_OK);
}

TEST(Inproc, LimitsUnexpectedMessages) {
  Pair p(Params{{"unexpected", "3"}});
  char c = 'c', to = 0;
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(p.a.post(Rank::send(1, i, &c, 1)));
  EXPECT_EQ(p.a.poll().size(), 3u);  // the other two wait for their receives
  for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(p.b.post(Rank::recv(0, i, &to, 1)));
  EXPECT_EQ(p.a.poll().size(), 2u);
  EXPECT_EQ(p.b.poll().size(), 5u);
}

TEST(Inproc, PostAcceptsAPrefixUntilPolled) {
  Pair p(Params{{"depth", "4"}, {"unexpected", "0"}});
  char c = 'c', to[8] = {};
  std::vector<consort_msg> sends, receives;
  for (uint64_t i = 0; i < 6; ++i)
    sends.push_back(Rank::send(1, i, &c, 1)), receives.push_back(Rank::recv(CONSORT_NONE, i, &to[i], 1));
  EXPECT_EQ(p.a.post(sends), 4u);
  EXPECT_EQ(p.a.post(receives), 4u);  // a budget of its own: two ranks that only send do not lock each other out
  EXPECT_EQ(p.b.post(receives), 4u);
  EXPECT_EQ(p.a.post(sends), 0u);
  EXPECT_EQ(p.a.poll(3).size(), 3u);
  EXPECT_EQ(p.a.post(sends), 3u);
  EXPECT_EQ(p.b.poll().size(), 4u);
  EXPECT_EQ(p.b.post(receives), 4u);
}

TEST(Inproc, CancelledMessagesEndOnce) {
  Pair p;
  std::vector<char> data(1000), to(1000);
  ASSERT_EQ(p.b.post({Rank::recv(0, 5, to.data(), 1000, 1), Rank::cancel(5), Rank::cancel(5), Rank::cancel(6)}), 4u);
  EXPECT_EQ(p.b.one().status, CONSORT_E_CANCELLED);
  ASSERT_EQ(p.a.post({Rank::send(1, 7, data.data(), 1000, 1), Rank::cancel(7)}), 2u);
  EXPECT_EQ(p.a.one().status, CONSORT_E_CANCELLED);
  ASSERT_TRUE(p.b.post(Rank::recv(0, 8, to.data(), 1000, 1)));
  EXPECT_TRUE(p.b.poll().empty());  // neither is there any more
  ASSERT_TRUE(p.a.post(Rank::send(1, 9, data.data(), 1000, 1)));
  ASSERT_TRUE(p.b.post(Rank::cancel(8)));
  EXPECT_EQ(p.b.one().status, CONSORT_OK);  // too late
}

TEST(Inproc, RefusesBadMessages) {
  Pair p;
  char c = 0;
  consort_msg m = Rank::send(1, 1, &c, 1);
  const auto status_of = [&](const consort_msg &msg) { return p.a.post(msg) ? p.a.one().status : CONSORT_AGAIN; };
  m.kind = 99;
  EXPECT_EQ(status_of(m), CONSORT_E_UNSUPPORTED);
  m.kind = CONSORT_MSG_SEND, m.flags = 64;
  EXPECT_EQ(status_of(m), CONSORT_E_UNSUPPORTED);
  m.flags = CONSORT_MF_NOTIFY;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.flags = 0, m.bytes = UINT64_MAX;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.bytes = uint64_t{1} << 62, m.rows = 8;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.bytes = 1, m.rows = 1, m.peer = 2;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.peer = CONSORT_NONE;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.peer = 0;
  EXPECT_EQ(status_of(m), CONSORT_E_PEER_LOST);  // not connected
}

// -- memory of others ------------------------------------------------------------------------------------------------

TEST(Inproc, PutAndGetStayWithinRegisteredMemory) {
  Pair p;
  std::vector<char> theirs(1000, '-'), mine(1000, 'x');
  const consort_mr mr = p.b.reg(&theirs[100], 800);
  const auto status_of = [&](uint16_t kind, size_t at, uint64_t bytes) {
    consort_msg m = Rank::reach(kind, 1, 1, mine.data(), bytes, &theirs[100], mr);
    m.remote.off = at - 100;
    EXPECT_TRUE(p.a.post(m));
    return p.a.one().status;
  };
  EXPECT_EQ(status_of(CONSORT_MSG_PUT, 100, 800), CONSORT_OK);
  EXPECT_TRUE(theirs[99] == '-' && theirs[100] == 'x' && theirs[899] == 'x' && theirs[900] == '-');
  std::fill(theirs.begin(), theirs.end(), '-');
  std::fill(mine.begin(), mine.end(), 'y');
  for (const uint16_t kind : {CONSORT_MSG_PUT, CONSORT_MSG_GET}) {
    consort_msg m = Rank::reach(kind, 1, 1, mine.data(), 800, &theirs[100], mr);
    const auto refused = [&](uint64_t off, uint64_t bytes, uint32_t rows = 1, int64_t step = 0) {
      m.remote.off = off, m.bytes = bytes, m.rows = rows, m.remote_step = step;
      EXPECT_TRUE(p.a.post(m));
      EXPECT_EQ(p.a.one().status, CONSORT_E_INVAL) << off << " " << bytes << " " << rows << " " << step;
    };
    refused(1, 800);
    refused(UINT64_MAX, 1);
    refused(800, 1);
    refused(0, 801);
    refused(UINT64_MAX - 1, 4);
    refused(0, 10, 3, -1);
    refused(0, 10, 3, 396);
    refused(799, 1, 2, INT64_MAX);
    refused(0, 1, UINT32_MAX, INT64_MIN);
    m.remote.base += 1, m.remote.off = UINT64_MAX, m.bytes = 1, m.rows = 1;
    ASSERT_TRUE(p.a.post(m));
    EXPECT_EQ(p.a.one().status, CONSORT_E_INVAL);  // the same place, said otherwise
  }
  EXPECT_TRUE(std::all_of(theirs.begin(), theirs.end(), [](char c) { return c == '-'; }));
  EXPECT_TRUE(std::all_of(mine.begin(), mine.end(), [](char c) { return c == 'y'; }));
}

TEST(Inproc, KeysAreBoundToRankAndLifetime) {
  Pair p;
  char theirs[64] = {}, mine[64] = {1};
  const consort_mr mr = p.b.reg(theirs, sizeof theirs), own = p.a.reg(mine, sizeof mine);
  const auto status_of = [&](const consort_msg &m) { return p.a.post(m) ? p.a.one().status : CONSORT_AGAIN; };
  consort_msg m = Rank::reach(CONSORT_MSG_PUT, 1, 1, mine, 8, theirs, mr);
  EXPECT_EQ(status_of(m), CONSORT_OK);
  m.nrkey--;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  m.nrkey++, m.rkey = nullptr;
  EXPECT_EQ(status_of(m), CONSORT_E_INVAL);
  EXPECT_EQ(status_of(Rank::reach(CONSORT_MSG_PUT, 1, 1, mine, 8, mine, own)), CONSORT_E_STALE);  // of another rank
  p.b.ops().dereg(p.b.raw(), &mr);
  EXPECT_EQ(status_of(Rank::reach(CONSORT_MSG_PUT, 1, 1, mine, 8, theirs, mr)), CONSORT_E_STALE);
  const consort_mr again = p.b.reg(theirs, sizeof theirs);
  EXPECT_EQ(status_of(Rank::reach(CONSORT_MSG_GET, 1, 1, mine, 8, theirs, mr)), CONSORT_E_STALE);
  EXPECT_EQ(status_of(Rank::reach(CONSORT_MSG_GET, 1, 1, mine, 8, theirs, again)), CONSORT_OK);
  consort_space_desc device{};
  device.size = sizeof device;
  consort_mr none{};
  EXPECT_EQ(p.b.ops().reg(p.b.raw(), &device, {}, 8, &none), CONSORT_E_UNSUPPORTED);
}

TEST(Inproc, CopiesStridedRows) {
  Pair p;
  std::vector<int> theirs(100, -1), mine(100);
  std::iota(mine.begin(), mine.end(), 0);
  const consort_mr mr = p.b.reg(theirs.data(), 400);
  consort_msg m = Rank::reach(CONSORT_MSG_PUT, 1, 1, &mine[90], 8, theirs.data(), mr);
  m.rows = 5, m.local_step = -40, m.remote_step = 20, m.remote.off = 8;
  ASSERT_TRUE(p.a.post(m));
  const consort_done d = p.a.one();
  EXPECT_TRUE(d.status == CONSORT_OK && d.bytes == 40);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(theirs[2 + 5 * i] == 90 - 10 * i && theirs[3 + 5 * i] == 91 - 10 * i && theirs[4 + 5 * i] == -1);
  std::vector<int> back(100, -1);
  consort_msg g = Rank::reach(CONSORT_MSG_GET, 1, 1, back.data(), 8, theirs.data(), mr);
  g.rows = 5, g.local_step = 8, g.remote_step = -20, g.remote.off = 88;
  ASSERT_TRUE(p.a.post(g));
  EXPECT_EQ(p.a.one().status, CONSORT_OK);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(back[2 * i] == 50 + 10 * i && back[2 * i + 1] == 51 + 10 * i) << i;
  // rows that were sent come as one stream, into rows of another length
  consort_msg s = Rank::send(1, 2, mine.data(), 12, 7), r = Rank::recv(0, 3, theirs.data(), 16, 7);
  s.rows = 4, s.local_step = 40, r.rows = 3, r.local_step = 100;
  ASSERT_TRUE(p.a.post(s) && p.b.post(r));
  EXPECT_EQ(p.b.one().bytes, 48u);
  EXPECT_TRUE(theirs[3] == 10 && theirs[25] == 11 && theirs[50] == 22 && theirs[53] == 32);
}

TEST(Inproc, NotificationsDoNotMatchReceives) {
  Pair p(Params{{"notifications", "3"}});
  char theirs[8] = {}, mine[8] = {1, 2, 3, 4, 5}, to = 0;
  const consort_mr mr = p.b.reg(theirs, sizeof theirs);
  ASSERT_TRUE(p.b.post(Rank::recv(CONSORT_NONE, 4, &to, 1, 0, UINT64_MAX)));
  std::vector<consort_msg> puts;
  for (uint64_t i = 0; i < 5; ++i) {
    puts.push_back(Rank::reach(CONSORT_MSG_PUT, 1, i, &mine[i], 1, theirs, mr));
    puts[i].flags = CONSORT_MF_NOTIFY | CONSORT_MF_INLINE, puts[i].tag = i << 60 | i, puts[i].remote.off = i;
  }
  EXPECT_EQ(p.a.post(puts), 3u);
  EXPECT_EQ(p.a.poll().size(), 3u);
  EXPECT_FALSE(p.a.post(puts[3]));  // until there is room for its notification
  const std::vector<consort_done> done = p.b.poll();
  ASSERT_EQ(done.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(done[i].cookie == CONSORT_NOTIFIED && done[i].tag == (i << 60 | i) && done[i].source == 0 &&
                done[i].bytes == 1 && theirs[i]);
  EXPECT_TRUE(p.a.post(puts[3]) && p.a.post(puts[4]));
  EXPECT_EQ(p.b.poll().size(), 2u);
}

// -- leaving ---------------------------------------------------------------------------------------------------------

void lose(bool closes) {
  Job job{.nranks = 3};
  const Params one{{"unexpected", "1"}};
  Rank a(job, 0, one), b(job, 1, one), c(job, 2);
  join(a, b), join(a, c), join(b, c);
  std::vector<char> data(1000), to(1000);
  const consort_mr mr = b.reg(to.data(), 1000);
  char k = 1;
  ASSERT_EQ(a.post({Rank::send(1, 1, data.data(), 1000), Rank::send(1, 2, &k, 1), Rank::send(1, 3, &k, 1),
                    Rank::recv(1, 4, data.data(), 1000), Rank::recv(CONSORT_NONE, 5, data.data(), 1000),
                    Rank::recv(2, 6, &k, 1)}),
            6u);
  EXPECT_EQ(a.one().cookie, 2u);  // this one went along
  if (closes)
    b.close();
  else
    b.disconnect(a);
  EXPECT_EQ(a.count(CONSORT_EV_PEER_LOST, 1), 0u);
  std::vector<consort_done> done = a.poll();
  ASSERT_EQ(done.size(), 3u);
  for (const consort_done &d : done)
    EXPECT_TRUE(d.status == CONSORT_E_PEER_LOST && (d.cookie == 1 || d.cookie == 3 || d.cookie == 4));
  EXPECT_EQ(a.count(CONSORT_EV_PEER_LOST, 1), 0u);  // after all that was under way, and no sooner
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a.poll().empty());
  EXPECT_EQ(a.count(CONSORT_EV_PEER_LOST, 1), 1u);
  ASSERT_EQ(a.post({Rank::send(1, 7, &k, 1), Rank::recv(1, 8, &k, 1),
                    Rank::reach(CONSORT_MSG_PUT, 1, 9, &k, 1, to.data(), mr)}),
            3u);
  done = a.poll();
  ASSERT_EQ(done.size(), 3u);
  for (const consort_done &d : done) EXPECT_EQ(d.status, CONSORT_E_PEER_LOST);
  ASSERT_TRUE(c.post(Rank::send(0, 1, data.data(), 10, 0)));  // the receive from any, and from another, stay
  EXPECT_EQ(a.one().cookie, 5u);
  EXPECT_EQ(a.count(CONSORT_EV_PEER_LOST, 1), 1u);
  c.poll();
  EXPECT_EQ(c.count(CONSORT_EV_PEER_LOST, 1), closes ? 1u : 0u);
}

TEST(Inproc, ClosingPeerIsLost) { lose(true); }
TEST(Inproc, DisconnectingPeerIsLost) { lose(false); }

TEST(Inproc, DisconnectEndsOwnMessagesWithoutAnEvent) {
  Pair p;
  std::vector<char> data(1000);
  ASSERT_EQ(p.a.post({Rank::send(1, 1, data.data(), 1000), Rank::recv(1, 2, data.data(), 10)}), 2u);
  p.a.disconnect(p.b);
  p.a.disconnect(p.b);
  const std::vector<consort_done> done = p.a.poll();
  ASSERT_EQ(done.size(), 2u);
  for (const consort_done &d : done) EXPECT_EQ(d.status, CONSORT_E_PEER_LOST);
  EXPECT_EQ(p.a.poll().size() + p.a.count(CONSORT_EV_PEER_LOST, 1), 0u);
}

TEST(Inproc, LostPeerMayReconnect) {
  Pair p;
  p.a.disconnect(p.b);
  EXPECT_EQ(p.b.connect(p.a), CONSORT_E_BUSY);  // it has not heard of it yet
  p.b.poll();
  EXPECT_EQ(p.b.count(CONSORT_EV_PEER_LOST, 0), 1u);
  join(p.a, p.b);
  EXPECT_EQ(p.b.count(CONSORT_EV_PEER_UP, 0), 2u);
  int from = 1, to = 0;
  ASSERT_TRUE(p.a.post(Rank::send(1, 1, &from, 4)) && p.b.post(Rank::recv(0, 1, &to, 4)));
  EXPECT_TRUE(p.a.one().status == CONSORT_OK && p.b.one().status == CONSORT_OK);
  const std::vector<char> old = p.b.address();
  p.b.close();
  p.a.poll();
  EXPECT_EQ(p.a.connect(1, old), CONSORT_E_PEER_LOST);
  Rank heir(p.job, 1);
  EXPECT_EQ(p.a.connect(1, old), CONSORT_E_PEER_LOST);
  join(p.a, heir);
  EXPECT_EQ(heir.count(CONSORT_EV_PEER_UP, 0), 1u);
}

// -- admission -------------------------------------------------------------------------------------------------------

TEST(Inproc, RefusesForeignPeers) {
  const Job job;
  Rank a(job, 0), b(job, 1);
  const std::vector<char> there = b.address();
  const auto refused = [](Rank &r, uint32_t rank, std::vector<char> address, consort_status s,
                          const std::string &word) {
    EXPECT_EQ(r.connect(rank, address), s);
    EXPECT_NE(r.host().failure().find(word), std::string::npos) << r.host().failure();
  };
  refused(a, 1, {}, CONSORT_E_INVAL, "bytes");
  refused(a, 1, std::vector<char>(there.size()), CONSORT_E_INVAL, "not an address");
  refused(a, 0, there, CONSORT_E_INVAL, "belongs to rank 1, not to rank 0");
  refused(a, 2, there, CONSORT_E_INVAL, "2 ranks");
  std::vector<char> elsewhere = there;
  elsewhere[8] = static_cast<char>(elsewhere[8] ^ 1);
  refused(a, 1, elsewhere, CONSORT_E_UNSUPPORTED, "process");
  Rank same(job, 0);
  EXPECT_EQ(same.opened(), CONSORT_E_BUSY);
  EXPECT_NE(same.host().failure().find("already"), std::string::npos);
  Rank more(Job{.nranks = 3}, 2);
  EXPECT_EQ(more.opened(), CONSORT_E_INVAL);
  Rank beyond(Job{.nranks = 2, .name = "other"}, 2);
  EXPECT_EQ(beyond.opened(), CONSORT_E_INVAL);
  Rank foreign(Job{.name = "other"}, 0);
  refused(foreign, 1, there, CONSORT_E_INVAL, "another job");
  a.close();
  Rank liar(Job{.secret = {3, 1, 4, 1, 5, 8}}, 0);
  refused(liar, 1, there, CONSORT_E_INVAL, "secret");
  refused(b, 0, liar.address(), CONSORT_E_INVAL, "secret");
  liar.close();
  Rank shorter(Job{.secret = {3}}, 0);
  refused(shorter, 1, there, CONSORT_E_INVAL, "secret");
  shorter.close();
  Rank timeless(Job{.sim_domain = 4}, 0);
  refused(timeless, 1, there, CONSORT_E_INVAL, "clock");
}

TEST(Inproc, AddressHidesTheSecret) {
  const Job job{.secret = {'s', 'e', 'c', 'r', 'e', 't', '!', '?'}};
  Rank a(job, 0);
  const std::vector<char> there = a.address();
  EXPECT_EQ(there.size(), a.caps().max_address);
  EXPECT_EQ(std::search(there.begin(), there.end(), job.secret.begin(), job.secret.begin() + 4), there.end());
  uint32_t n = 3;
  char small[3];
  EXPECT_EQ(a.ops().address(a.raw(), small, &n), CONSORT_E_TRUNCATED);
  EXPECT_EQ(n, there.size());
}

// -- sleeping --------------------------------------------------------------------------------------------------------

TEST(Inproc, FdIsReadableWhenPollHasEvents) {
  Pair p;
  const int fd = p.b.ops().event_fd(p.b.raw());
  ASSERT_GE(fd, 0);
  const auto is_readable = [&] {
    pollfd f{fd, POLLIN, 0};
    return poll(&f, 1, 0) == 1;
  };
  char c = 1, to = 0;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(p.b.ops().arm(p.b.raw()), CONSORT_OK);
    EXPECT_FALSE(is_readable());
    ASSERT_TRUE(p.b.post(Rank::recv(0, 1, &to, 1)));
    EXPECT_FALSE(is_readable());
    ASSERT_TRUE(p.a.post(Rank::send(1, 1, &c, 1)));
    EXPECT_TRUE(is_readable());
    EXPECT_EQ(p.b.ops().arm(p.b.raw()), CONSORT_E_BUSY);
    p.b.one(), p.a.one();
  }
  ASSERT_EQ(p.b.ops().arm(p.b.raw()), CONSORT_OK);
  p.a.close();  // an event is something to poll, too
  EXPECT_TRUE(is_readable());
  EXPECT_EQ(p.b.ops().arm(p.b.raw()), CONSORT_E_BUSY);
  p.b.poll();
  EXPECT_EQ(p.b.count(CONSORT_EV_PEER_LOST, 0), 1u);
}

TEST(Inproc, MessagesTakeNoVirtualTime) {
  Pair p;
  p.b.host().set_clock(1234);
  EXPECT_EQ(p.b.ops().next_event(p.b.raw()), CONSORT_NEVER);
  char c = 1, to = 0;
  ASSERT_TRUE(p.a.post(Rank::send(1, 1, &c, 1)) && p.b.post(Rank::recv(0, 1, &to, 1)));
  EXPECT_EQ(p.b.ops().next_event(p.b.raw()), 1234u);
  p.b.poll();
  EXPECT_EQ(p.b.ops().next_event(p.b.raw()), CONSORT_NEVER);
}

}  // namespace
