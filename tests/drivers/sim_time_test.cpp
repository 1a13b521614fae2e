// Driver sim: how long things take, in the world's time and in the model's own; the same seed, the same trace.
#include <consort/times.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "drivers/sim_machine.hpp"

namespace consort_test {
namespace {

// -- how long it takes, in the world's time ---------------------------------------------------------------------------

// By the wall clock, from submit() to the last completion; the best of some.
double best_bandwidth(Machine &m, void *q, const std::vector<consort_op> &list, uint64_t bytes, double enough) {
  double best = 0;
  const Patience patience;
  do {
    const double t = Clocked::now();
    m.run(q, list);
    best = std::max(best, static_cast<double>(bytes) / (Clocked::now() - t));
  } while (best < enough && patience.lasts());
  return best;
}

TEST(Sim, CopiesTakeTheConfiguredBandwidth) {
  for (const auto &[text, rate] : {std::pair{"500M", 5e8}, {"1500M", 1.5e9}}) {
    Machine m(Params{{"bandwidth", text}, {"latency", "5us"}});
    void *q = m.open_queue();
    constexpr uint64_t kBytes = 4 << 20;
    const consort_addr a = m.alloc(kBytes);
    std::vector<char> buffer(kBytes, 1);
    const auto in = m.to_device(buffer.data(), a, kBytes), out = m.from_device(a, buffer.data(), kBytes);
    for (const auto &op : {in, out}) {
      const double got = best_bandwidth(m, q, {op, op, op}, 3 * kBytes, 0.97 * rate);
      EXPECT_LT(got / rate, 1.05) << text;
      EXPECT_TRUE(!kTimely || got / rate > 0.95) << got << " instead of " << text;
    }
    for (const auto &d : m.run(q, {in, out})) {
      EXPECT_EQ(d.bytes, kBytes);
      EXPECT_GE(seconds(d), kBytes / rate) << "no faster than it may";
    }
  }
}

TEST(Sim, EachCopyPaysLatency) {
  Machine m(Params{{"latency", "400us"}});
  void *q = m.open_queue();
  const consort_addr a = m.alloc(64);
  char buffer[64] = {};
  const double t = Clocked::now();
  const auto done = m.run(q, std::vector<consort_op>(10, m.to_device(buffer, a, 64)));
  EXPECT_GE(Clocked::now() - t, 10 * 400e-6) << "one after the other";
  for (const auto &d : done) EXPECT_LT(seconds(d), 400e-6) << "the link is busy while bytes move, not while the copy waits";
  void *free = m.open_queue(0, CONSORT_NONE);
  double least = 1;
  const Patience patience;
  do {
    const double start = Clocked::now();
    m.run(free, std::vector<consort_op>(10, m.to_device(buffer, a, 64)));
    least = std::min(least, Clocked::now() - start);
  } while (least >= 2 * 400e-6 && patience.lasts());
  EXPECT_TRUE(!kTimely || least < 2 * 400e-6) << least << ": at the same time";
}

TEST(SimTimes, ReportTimesWithoutNoise) {
  Virtual m(Params{{"times", "gemm=200us"}, {"rate", "1G"}, {"delay", "3us"}, {"speed", "0.5"}, {"noise", "0.5"}, {"faults", "slow@4"}});
  const auto get = m.plugin.plugin()->get;
  ASSERT_NE(get, nullptr);
  EXPECT_EQ(get(m.plugin.self(), "consort.nothing/1"), nullptr);
  const auto *times = static_cast<const consort_times *>(get(m.plugin.self(), CONSORT_TIMES_ID));
  ASSERT_NE(times, nullptr);
  ASSERT_TRUE(CONSORT_HAS_FN(times, consort_times, kernel_ns));
  const auto ask = [&](const char *codelet, uint64_t work) {
    const consort_times_query q{codelet, 1000, 0, work, 0, CONSORT_NONE};
    return times->kernel_ns(m.devices[0], &q);
  };
  EXPECT_EQ(ask("gemm", 0), 203'000.);
  EXPECT_EQ(ask("gemm", 7), 203'000.);
  EXPECT_EQ(ask("other", 1000), 5'000.) << "work at the rate, at half the speed";
  EXPECT_TRUE(std::isnan(ask("other", 0)));
  EXPECT_TRUE(std::isnan(ask(nullptr, 0)));
}

TEST(SimVirtual, SharesLinksFairly) {
  std::vector<char> buffer(16 << 20);
  const auto end = [](const consort_done &d, uint64_t start) { return static_cast<double>(d.t1 - start) / 1e3; };  // us
  {
    Virtual m(Params{{"bandwidth", "1G"}, {"latency", "0"}, {"units", "2"}, {"memory", "64M"}});
    void *a = m.open_queue(0, 0), *b = m.open_queue(0, 1), *back = m.open_queue(0, CONSORT_NONE);
    const consort_addr x = m.alloc(16 << 20), y = m.alloc(16 << 20);
    const consort_op one = m.to_device(buffer.data(), x, 1'000'000), two = m.to_device(buffer.data(), y, 3'000'000), out = m.from_device(y, buffer.data(), 2'000'000);
    m.ops->submit(a, &one, 1), m.ops->submit(b, &two, 1), m.ops->submit(back, &out, 1);
    auto done = m.play();
    EXPECT_NEAR(end(done[a][0], 1'000'000), 2000, 1) << "half of the link until the first is through";
    EXPECT_NEAR(end(done[b][0], 1'000'000), 4000, 1) << "then all of it";
    EXPECT_NEAR(end(done[back][0], 1'000'000), 2000, 1) << "the other way is another wire";
  }
  {
    Virtual m(Params{{"bandwidth", "1G"}, {"latency", "0"}, {"duplex", "false"}, {"memory", "64M"}});
    void *q = m.open_queue(0, CONSORT_NONE);
    const consort_addr x = m.alloc(16 << 20);
    const consort_op list[] = {m.to_device(buffer.data(), x, 1'000'000), m.from_device({x.base, 8 << 20}, buffer.data() + (8 << 20), 1'000'000)};
    m.ops->submit(q, list, 2);
    auto done = m.play();
    for (const auto &d : done[q]) EXPECT_NEAR(end(d, 1'000'000), 2000, 1) << "both ways share one wire";
  }
  {  // a bus of 3 for three links of 1, 2 and 4: 1 gets 0.75, then the rest is shared
    TextFile f("[[bus]]\nname = \"b\"\nbandwidth = \"3G\"\n[[device]]\ncount = 3\nmemory = \"64M\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim0\"\nbandwidth = \"500M\"\nlatency = \"0\"\nbus = \"b\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim1\"\nbandwidth = \"2G\"\nlatency = \"0\"\nbus = \"b\"\n"
           "[[link]]\nfrom = \"host\"\nto = \"sim2\"\nbandwidth = \"4G\"\nlatency = \"0\"\nbus = \"b\"\n");
    Virtual m(Params{{"machine", f.path}});
    const double want[] = {10'000'000 / 0.5e3, 10'000'000 / 1.25e3, 10'000'000 / 1.25e3};  // us: 0.5 is all its link has, the rest is halved
    std::vector<void *> queues;
    for (uint32_t d = 0; d < 3; ++d) {
      queues.push_back(m.open_queue(d, CONSORT_NONE));
      const consort_op op = m.to_device(buffer.data(), m.alloc(10'000'000, d), 10'000'000, d);
      m.ops->submit(queues.back(), &op, 1);
    }
    auto done = m.play();
    for (int d = 0; d < 3; ++d) EXPECT_NEAR(end(done[queues[d]][0], 1'000'000), want[d], 1) << d;
  }
}

TEST(Sim, KernelsTakeTheirTimeByTheFactor) {
  Machine m(Params{{"speed", "0.25"}, {"delay", "1ms"}});
  void *q = m.open_queue();
  Body busy([] {
    const double end = Clocked::now() + 2e-3;
    while (Clocked::now() < end) {
    }
    return CONSORT_OK;
  });
  auto done = m.run(q, {busy.op()});
  EXPECT_GE(seconds(done[0]), 9e-3);
  for (int i = 0; i < 100 && seconds(done[0]) >= 60e-3; ++i) done = m.run(q, {busy.op()});  // the core was taken away
  EXPECT_LT(seconds(done[0]), 60e-3);
  EXPECT_EQ(done[0].status, CONSORT_OK);
  Body bad([] { return CONSORT_E_INVAL; });
  EXPECT_EQ(m.status_of(q, bad.op()), CONSORT_E_INVAL);
  Machine given(Params{{"times", "gemm=3ms,other=1us"}, {"devices", "1"}});
  given.ops->codelet(given.devices[0], 7, "gemm", nullptr, 0);
  q = given.open_queue();
  Body nothing([] { return CONSORT_OK; });
  double shortest = 1;
  for (int i = 0; i < 20; ++i) {
    const double t = seconds(given.run(q, {nothing.op(7)})[0]);
    EXPECT_GE(t, 3e-3);
    shortest = std::min(shortest, t);
  }
  EXPECT_LT(shortest, 4e-3);
  for (int i = 0; i < 20; ++i) shortest = std::min(shortest, seconds(given.run(q, {nothing.op(8)})[0]));
  EXPECT_LT(shortest, 3e-3) << "no time is given for that one";
}

// -- virtual time -----------------------------------------------------------------------------------------------------

TEST(SimVirtual, TimesFollowTheModel) {
  Virtual m(Params{{"bandwidth", "2G"}, {"depth", "16"}, {"latency", "7us"}, {"times", "k=250us"}, {"rate", "1G"}, {"delay", "3us"}, {"speed", "2"}, {"inner", "100G"}});
  EXPECT_EQ(m.plugin.plugin()->flags & CONSORT_PF_VIRTUAL, uint32_t{CONSORT_PF_VIRTUAL});
  EXPECT_EQ(m.units[0][0].flags, uint32_t{CONSORT_UNIT_SIMULATED});
  m.ops->codelet(m.devices[0], 3, "k", nullptr, 0);
  void *q = m.open_queue();
  EXPECT_EQ(m.ops->event_fd(q), -1);
  EXPECT_EQ(m.ops->next_event(q), CONSORT_NEVER);
  const consort_addr a = m.alloc(1'000'000);
  std::vector<char> buffer(1'000'000, 42);
  int runs = 0;
  Body body([&] { ++runs; return CONSORT_OK; });
  consort_op measured = body.op(4), free = op_of(CONSORT_OP_CALL, 0), fill = op_of(CONSORT_OP_FILL, 0);
  measured.work = 600'000;  // at 2e9 a second
  free.flags = fill.flags = CONSORT_OPF_TIME;  // no function: time alone
  fill.u.fill = {a, 1'000'000, m.space(0), 7};
  const std::vector<consort_op> list = {m.to_device(buffer.data(), a, 1'000'000), body.op(3), measured, free, fill};
  ASSERT_EQ(m.ops->submit(q, list.data(), 5), 5u);
  EXPECT_EQ(runs, 0) << "nothing of the application's runs inside submit()";
  EXPECT_EQ(m.ops->next_event(q), 1'007'000u) << "the latency is over";
  const auto done = m.play()[q];
  const uint64_t want[] = {507'000, 253'000, 303'000, 53'000, 10'000};
  uint64_t t = 1'000'000;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].t0, i ? t : t + 7'000) << "a copy begins when its bytes move";
    EXPECT_EQ(done[i].t1, t += want[i]) << i;
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(*static_cast<char *>(consort_ptr(a)), 7);
}

TEST(SimVirtual, MayRunNoKernels) {
  Virtual m(Params{{"execute", "false"}, {"usual", "1ms"}});
  void *q = m.open_queue();
  Body body([]() -> consort_status { ADD_FAILURE() << "called"; return CONSORT_OK; });
  const consort_op op = body.op();
  m.ops->submit(q, &op, 1);
  EXPECT_EQ(m.play()[q][0].t1, 2'000'000u);
}

TEST(SimVirtual, OffersASimulatedHost) {
  Params p = Virtual::with({{"cores", "3"}, {"devices", "2"}, {"host_memory", "2G"}});
  Machine m(p, false);
  ASSERT_EQ(m.devices.size(), 3u);
  EXPECT_STREQ(m.spaces[2].domain, "host");
  EXPECT_EQ(m.spaces[2].flags, uint32_t{CONSORT_SP_CPU | CONSORT_SP_COHERENT});
  EXPECT_EQ(m.spaces[2].capacity, uint64_t{2} << 30);
  ASSERT_EQ(m.units[2].size(), 3u);
  EXPECT_STREQ(m.units[2][0].klass, "cpu");
  EXPECT_EQ(m.links.count({m.space(2), m.space(0)}), 1u);
  EXPECT_EQ(m.links.count({m.space(0), m.space(2)}), 1u);
}

// Random ops on random queues, with tickets, faults and noise.
std::string random_run(uint64_t seed, const std::string &trace) {
  Virtual m(Params{{"devices", "3"}, {"units", "2"}, {"depth", "16"}, {"bus", "5G"}, {"peer", "8G"}, {"noise", "0.3"}, {"faults", "copy%0.05,kernel%0.05,lost@90/2"},
             {"seed", std::to_string(seed)}, {"trace", trace}});
  std::vector<std::pair<void *, uint32_t>> queues;
  std::vector<uint64_t> accepted;
  for (uint32_t d = 0; d < 3; ++d)
    for (uint32_t u : {0u, 1u, CONSORT_NONE}) queues.emplace_back(m.open_queue(d, u), d), accepted.push_back(0);
  std::vector<consort_addr> blocks;
  for (uint32_t d = 0; d < 3; ++d) blocks.push_back(m.alloc(1 << 16, d, CONSORT_AL_ZERO));
  std::vector<char> home(1 << 16);
  std::mt19937 rng(static_cast<uint32_t>(seed));
  std::stringstream order;
  Body body([&] { order << "k "; return CONSORT_OK; });
  uint64_t cookie = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 8; ++i) {
      const size_t k = rng() % queues.size();
      const auto [q, d] = queues[k];
      const uint32_t other = rng() % 3;
      const uint64_t n = 1 + rng() % (1 << 16);
      consort_op op = rng() % 3 == 0 ? body.op(rng() % 5) : rng() % 2 ? m.to_device(home.data(), blocks[d], n, d) : Machine::copy(m.space(d), blocks[d], m.space(other), blocks[other], n);
      op.cookie = ++cookie;
      const size_t w = rng() % queues.size();
      const consort_ticket t{w + 1, accepted[w]};
      if (accepted[w]) op.wait = &t, op.nwait = 1;
      if (m.ops->submit(q, &op, 1)) ++accepted[k];
    }
    if (round % 3 == 0)
      for (auto &[q, all] : m.play())
        for (const auto &x : all) order << x.cookie << ':' << x.status << ':' << x.t0 << '-' << x.t1 << ' ';
  }
  std::map<uint64_t, std::string> sorted;
  for (auto &[q, all] : m.play())
    for (const auto &x : all) sorted[x.cookie] = std::to_string(x.status) + ':' + std::to_string(x.t0) + '-' + std::to_string(x.t1);
  for (auto &[c, text] : sorted) order << c << text << ' ';
  EXPECT_EQ(m.plugin.events().size(), 1u) << "device 2 goes at its 90th op";
  uint64_t total = 0;
  for (uint64_t n : accepted) total += n;
  EXPECT_GT(total, 200u);
  return order.str();
}

TEST(SimVirtual, SameSeedGivesTheSameTrace) {
  const auto read = [](const std::string &path) {
    std::ifstream in(path);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  };
  TextFile a(""), b(""), c("");
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    random_run(seed, a.path);
    random_run(seed, b.path);
    random_run(seed + 100, c.path);
    const std::string one = read(a.path);
    EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 200);
    EXPECT_EQ(one, read(b.path)) << seed;
    EXPECT_NE(one, read(c.path));
  }
}

}  // namespace
}  // namespace consort_test
