// The network of the transport simnet, checked against times worked out by hand: latency, bandwidth, adapters and
// switches that messages share; the order of messages; turns of the ranks; a deadlock; a rank that is lost. And its
// description, and the bytes between processes.
#include "plugins/transports/simnet/network.hpp"

#include <gtest/gtest.h>

#include <map>

#include "plugins/transports/simnet/domain.hpp"
#include "plugins/transports/simnet/wire.hpp"

namespace {

using namespace simnet;

constexpr uint64_t kMessage = 100'000;    // bytes; 10 us at 10 bytes per ns

Network plain() {
  Network net;
  net.latency_ns = 1000, net.bandwidth = 10, net.inside_latency_ns = 100, net.inside_bandwidth = 20;
  return net;
}

Post send(uint32_t to, uint64_t op, uint64_t bytes = kMessage, uint64_t at = 0, uint64_t tag = 1) {
  return {Post::kSend, to, op, at, tag, 0, bytes, {}};
}
Post receive(uint32_t from, uint64_t op, uint64_t tag = 1, uint64_t at = 0, uint64_t bytes = kMessage) {
  return {Post::kReceive, from, op, at, tag, 0, bytes, {}};
}

// All ranks wait, with what they have posted, until nothing comes any more. Returns the time at which each operation was
// reported, by rank and number.
struct Outcome {
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> at;
  std::map<std::pair<uint32_t, uint64_t>, consort_status> status;
  std::vector<std::pair<uint32_t, uint64_t>> turns;
};
Outcome run(const Network &net, std::vector<std::vector<Post>> posts) {
  Domain d(net, static_cast<uint32_t>(posts.size()));
  for (uint32_t r = 0; r < posts.size(); ++r) d.wait(r, 0, CONSORT_NEVER, std::move(posts[r]));
  Outcome all;
  for (;;) {
    const auto g = d.next();
    if (!g || g->now == CONSORT_NEVER) return all;
    all.turns.emplace_back(g->rank, g->now);
    for (const Report &r : g->reports) all.at[{g->rank, r.op}] = g->now, all.status[{g->rank, r.op}] = r.status;
    d.wait(g->rank, g->now, CONSORT_NEVER, {});
  }
}

TEST(SimulatedNetwork, MessageTakesItsLatencyAndItsBytes) {
  const Outcome r = run(plain(), {{send(1, 1)}, {receive(0, 7)}});
  EXPECT_EQ(r.at.at({0, 1}), 10'000u);    // its last byte has left
  EXPECT_EQ(r.at.at({1, 7}), 11'000u);
}

TEST(SimulatedNetwork, AdapterSendsOneAfterTheOther) {
  const Outcome r = run(plain(), {{send(1, 1), send(2, 2)}, {receive(0, 1)}, {receive(0, 1)}});
  EXPECT_EQ(r.at.at({1, 1}), 11'000u);
  EXPECT_EQ(r.at.at({2, 1}), 21'000u);
}

TEST(SimulatedNetwork, AdapterReceivesOneAfterTheOther) {
  const Outcome r = run(plain(), {{send(2, 1)}, {send(2, 1)}, {receive(0, 1), receive(1, 2)}});
  EXPECT_EQ(r.at.at({0, 1}), 10'000u);
  EXPECT_EQ(r.at.at({1, 1}), 10'000u);
  EXPECT_EQ(r.at.at({2, 1}), 11'000u);
  EXPECT_EQ(r.at.at({2, 2}), 21'000u);
}

TEST(SimulatedNetwork, BothWaysDoNotShare) {
  const Outcome r = run(plain(), {{send(1, 1), receive(1, 2)}, {send(0, 1), receive(0, 2)}});
  EXPECT_EQ(r.at.at({0, 2}), 11'000u);
  EXPECT_EQ(r.at.at({1, 2}), 11'000u);
}

TEST(SimulatedNetwork, SwitchesShareTheirLinkUpwards) {
  Network net = plain();
  net.levels.push_back({2, 500, 5});      // a switch for each two nodes; 5 bytes per ns upwards
  const Outcome alone = run(net, {{send(2, 1)}, {}, {receive(0, 1)}, {}});
  EXPECT_EQ(alone.at.at({2, 1}), 1000u + 2 * 500 + kMessage / 5);
  const Outcome both = run(net, {{send(2, 1)}, {send(3, 1)}, {receive(0, 1)}, {receive(1, 1)}});
  EXPECT_EQ(both.at.at({2, 1}), 1000u + 2 * 500 + kMessage / 5);
  EXPECT_EQ(both.at.at({3, 1}), 1000u + 2 * 500 + 2 * kMessage / 5);
  const Outcome inside = run(net, {{send(1, 1)}, {receive(0, 1)}, {}, {}});
  EXPECT_EQ(inside.at.at({1, 1}), 11'000u);
}

TEST(SimulatedNetwork, UpperSwitchIsPassedBetweenItsGroupsAlone) {
  Network net = plain();
  net.levels.push_back({2, 500, 100}), net.levels.push_back({4, 3000, 100});
  std::vector<std::vector<Post>> posts(8);
  posts[0] = {send(2, 1)}, posts[2] = {receive(0, 1)};
  posts[1] = {send(7, 1)}, posts[7] = {receive(1, 1)};
  const Outcome r = run(net, posts);
  EXPECT_EQ(r.at.at({2, 1}), 11'000u + 2 * 500);
  EXPECT_EQ(r.at.at({7, 1}), 11'000u + 2 * 500 + 2 * 3000 + kMessage / 100);  // behind the other, at the link that both use
}

TEST(SimulatedNetwork, RanksOfANodeUseItsMemory) {
  Network net = plain();
  net.ranks_per_node = 2;
  const Outcome r = run(net, {{send(1, 1), send(2, 2)}, {receive(0, 1)}, {receive(0, 1)}, {}});
  EXPECT_EQ(r.at.at({1, 1}), 100u + kMessage / 20);
  EXPECT_EQ(r.at.at({2, 1}), 11'000u);    // the adapter was not used by the other
}

TEST(SimulatedNetwork, ShortMessagesPassBetweenThePacketsOfLongOnes) {
  const Outcome r = run(plain(), {{send(1, 1), send(1, 2, 1000, 50, 2), send(2, 3, kMessage, 60)}, {receive(0, 1), receive(0, 2, 2)}, {receive(0, 1)}});
  EXPECT_EQ(r.at.at({1, 2}), 50u + 1000 + 100);
  EXPECT_EQ(r.at.at({2, 1}), 10'000u + 100 + 10'000 + 1000);  // the long one behind them waits for both
}

TEST(SimulatedNetwork, GapLimitsTheRateOfMessages) {
  Network net = plain();
  net.gap_ns = 400;
  const Outcome r = run(net, {{send(1, 1, 10), send(1, 2, 10), send(1, 3, 10)}, {receive(0, 1), receive(0, 2), receive(0, 3)}});
  EXPECT_EQ(r.at.at({1, 1}), 1001u);
  EXPECT_EQ(r.at.at({1, 2}), 1401u);
  EXPECT_EQ(r.at.at({1, 3}), 1801u);
}

TEST(SimulatedNetwork, MessagesOfOneTagKeepTheirOrder) {
  // The second is short and arrives first, but matches the second receive.
  const Outcome r = run(plain(), {{send(1, 1), send(1, 2, 10)}, {receive(0, 1, 1, 0, kMessage), receive(0, 2, 1, 0, kMessage)}});
  EXPECT_EQ(r.at.at({1, 1}), 11'000u);
  EXPECT_EQ(r.at.at({1, 2}), 11'000u);
}

TEST(SimulatedNetwork, TooSmallAReceiveIsToldSo) {
  const Outcome r = run(plain(), {{send(1, 1)}, {receive(0, 1, 1, 0, 10)}});
  EXPECT_EQ(r.status.at({1, 1}), CONSORT_E_TRUNCATED);
}

TEST(SimulatedNetwork, TurnsGoByTimeThenByNumber) {
  Domain d(plain(), 3);
  d.wait(2, 0, 50, {}), d.wait(0, 0, 70, {});
  EXPECT_FALSE(d.next());                 // rank 1 has not come
  d.wait(1, 0, 50, {});
  const auto a = d.next();
  ASSERT_TRUE(a);
  EXPECT_EQ(a->rank, 1u);
  EXPECT_EQ(a->now, 50u);
  EXPECT_FALSE(d.next());                 // it has the turn
  d.wait(1, 90, 100, {});                 // its clock went on meanwhile
  EXPECT_EQ(d.next()->rank, 2u);
  d.wait(2, 50, 500, {});
  EXPECT_EQ(d.next()->now, 70u);
}

TEST(SimulatedNetwork, BusyRankSeesAMessageWhenItWaits) {
  Domain d(plain(), 2);
  d.wait(0, 0, CONSORT_NEVER, {send(1, 1)});
  d.wait(1, 40'000, 60'000, {receive(0, 1)});  // busy until 40 us
  std::optional<Grant> g = d.next();
  EXPECT_EQ(g->rank, 0u);
  d.wait(0, g->now, CONSORT_NEVER, {});
  g = d.next();
  EXPECT_EQ(g->rank, 1u);
  EXPECT_EQ(g->now, 40'000u);
}

TEST(SimulatedNetwork, DeadlockIsToldToEachRank) {
  Domain d(plain(), 2);
  d.wait(0, 0, CONSORT_NEVER, {receive(1, 1)}), d.wait(1, 0, CONSORT_NEVER, {receive(0, 1)});
  for (uint32_t r = 0; r < 2; ++r) {
    const auto g = d.next();
    ASSERT_TRUE(g);
    EXPECT_EQ(g->rank, r);
    EXPECT_EQ(g->now, CONSORT_NEVER);
    d.wait(r, 0, CONSORT_NEVER, {});
  }
  d.wait(d.next()->rank, 0, CONSORT_NEVER, {send(1, 9)});  // rank 0 goes on after all
  EXPECT_EQ(d.next()->now, 10'000u);
}

TEST(SimulatedNetwork, LossIsToldAMillisecondBehindTheLastMessage) {
  Domain d(plain(), 2);
  d.wait(0, 0, 0, {}), d.wait(1, 0, CONSORT_NEVER, {receive(0, 1), receive(0, 2)});
  ASSERT_EQ(d.next()->rank, 0u);
  d.leave(0, {send(1, 1)});
  auto g = d.next();
  ASSERT_TRUE(g);
  EXPECT_EQ(g->now, 11'000u);
  ASSERT_EQ(g->reports.size(), 1u);
  EXPECT_EQ(g->reports[0].status, CONSORT_OK);
  d.wait(1, g->now, CONSORT_NEVER, {});
  g = d.next();
  ASSERT_TRUE(g);
  EXPECT_EQ(g->now, 1'011'000u);
  ASSERT_EQ(g->reports.size(), 2u);
  EXPECT_EQ(g->reports[0].op, 2u);
  EXPECT_EQ(g->reports[0].status, CONSORT_E_PEER_LOST);
  EXPECT_EQ(g->reports[1].kind, Report::kLost);
  d.wait(1, g->now, CONSORT_NEVER, {send(0, 5)});
  EXPECT_EQ(d.next()->reports.at(0).status, CONSORT_E_PEER_LOST);
}

TEST(SimulatedNetwork, CancelEndsAReceive) {
  const Outcome r = run(plain(), {{receive(1, 1), Post{Post::kCancel, 0, 1, 5, 0, 0, 0, {}}}, {}});
  EXPECT_EQ(r.status.at({0, 1}), CONSORT_E_CANCELLED);
}

// -- the description --------------------------------------------------------------------------------------------------

std::string why(const std::string &text) {
  try {
    (void)Network::read("c.toml", text);
    return "";
  } catch (const std::string &e) {
    return e;
  }
}

TEST(SimulatedNetwork, DescriptionIsRead) {
  const Network net = Network::read("c.toml", "[network]\nlatency = \"2us\"\nbandwidth = \"25G\"\nranks_per_node = 4\ngap = \"100ns\"\n"
                                              "[[switch]]\nnodes = 16\nbandwidth = \"100G\"\nlatency = \"300ns\"\n[[device]]\nname = \"cpu\"\n");
  EXPECT_EQ(net.latency_ns, 2000u);
  EXPECT_EQ(net.bandwidth, 25);
  EXPECT_EQ(net.ranks_per_node, 4u);
  EXPECT_EQ(net.gap_ns, 100u);
  ASSERT_EQ(net.levels.size(), 1u);
  EXPECT_EQ(net.levels[0].nodes, 16u);
  EXPECT_EQ(net.levels[0].latency_ns, 300u);
}

TEST(SimulatedNetwork, WrongDescriptionNamesItsPlace) {
  EXPECT_EQ(why("[[device]]\nname = \"cpu\"\n"), "c.toml has no [network]: say its latency and bandwidth, to simulate several ranks");
  EXPECT_NE(why("[network]\nlatency = \"soon\"\n").find("c.toml:2: latency = \"soon\" is not a time"), std::string::npos);
  EXPECT_NE(why("[network]\nlatancy = \"1us\"\n").find("c.toml:2: latancy: [network] has ranks_per_node"), std::string::npos);
  EXPECT_NE(why("[network]\nbandwidth = \"0\"\n").find("c.toml:2: bandwidth"), std::string::npos);
  EXPECT_NE(why("[network]\n[network]\n").find("c.toml:2: there is one [network] already"), std::string::npos);
  EXPECT_NE(why("[network]\n[[switch]]\nnodes = 4\n").find("c.toml:2: a switch needs nodes and bandwidth"), std::string::npos);
  EXPECT_NE(why("[network]\n[[switch]]\nnodes = 4\nbandwidth = \"1G\"\n[[switch]]\nnodes = 6\nbandwidth = \"1G\"\n").find("c.toml:5: a switch of 6 nodes"),
            std::string::npos);
  EXPECT_NE(why("[network]\nranks_per_node = 0\n").find("no number from 1 to 65536"), std::string::npos);
}

// -- between processes ------------------------------------------------------------------------------------------------

TEST(SimulatedNetwork, TurnsAndGrantsComeBackAsTheyWereSent) {
  Post p = send(3, 17, 4, 99, 5);
  p.contents = Bytes(4, std::byte{7});
  const Turn t{Turn::kLeave, 5, CONSORT_NEVER, {p, receive(CONSORT_NONE, 18)}};
  Turn t2;
  ASSERT_TRUE(decode(encode(t), &t2));
  EXPECT_EQ(t2.kind, Turn::kLeave);
  EXPECT_EQ(t2.until, CONSORT_NEVER);
  ASSERT_EQ(t2.posts.size(), 2u);
  EXPECT_EQ(t2.posts[0].contents, p.contents);
  EXPECT_EQ(t2.posts[1].peer, CONSORT_NONE);
  Grant g{0, 77, {{Report::kDone, CONSORT_E_TRUNCATED, 2, 9, 8, 7, Bytes(7)}, {Report::kLost, CONSORT_E_PEER_LOST, 1, 0, 0, 0, {}}}}, g2;
  ASSERT_TRUE(decode(encode(g), &g2));
  EXPECT_EQ(g2.now, 77u);
  ASSERT_EQ(g2.reports.size(), 2u);
  EXPECT_EQ(g2.reports[0].status, CONSORT_E_TRUNCATED);
  EXPECT_EQ(g2.reports[1].kind, Report::kLost);
}

TEST(SimulatedNetwork, CutBytesAreRefused) {
  const Bytes turn = encode(Turn{Turn::kWait, 1, 2, {send(1, 1)}}), grant = encode(Grant{0, 1, {{Report::kDone, CONSORT_OK, 2, 9, 8, 3, Bytes(3)}}});
  Turn t;
  Grant g;
  for (size_t n = 0; n < turn.size(); ++n) EXPECT_FALSE(decode(std::span(turn).first(n), &t)) << n;
  for (size_t n = 0; n < grant.size(); ++n) EXPECT_FALSE(decode(std::span(grant).first(n), &g)) << n;
  Bytes longer = turn;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode(longer, &t));
}

}  // namespace
