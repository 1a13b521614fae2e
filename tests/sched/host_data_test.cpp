// Queries and hints of policies about data (consort.sched/1: transfer_ns, resident, room, prefetch, unneeded; the hops
// of the topology). Links are simulated: their costs, queued traffic, prefetched contents. A policy that queries, in
// virtual time; and one that gives random hints about tasks that may have run, under real threads.
#include <consort/memory.h>
#include <consort/plugin.h>
#include <consort/scheduler.h>

#include <cmath>
#include <random>

#include "memory/memory_machine.hpp"
#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

// First come, first served, but nothing before `closed_until`. The two functions make its queries.
struct Asker : Fifo {
  uint64_t closed_until = 0;
  const consort_sched_host *sched = nullptr;
  std::vector<uint64_t> started;
  std::function<void(const consort_task *)> on_push, before_pop;
} asker;
using Lock = std::lock_guard<std::mutex>;

constexpr consort_scheduler_ops base = fifo_policy<asker>();
constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = base;
  o.create = [](void *user, const consort_host *host, const consort_topology *t, uint64_t epoch, void **out) -> consort_status {
    asker.sched = static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID));
    return asker.sched ? base.create(user, host, t, epoch, out) : CONSORT_E_UNSUPPORTED;
  };
  o.push = [](void *, const consort_push *p) -> uint32_t {
    const Lock lock(asker.mutex);
    if (p->epoch != asker.epoch) return 0;
    for (uint32_t i = 0; asker.on_push && i < p->n; ++i) asker.on_push(p->ready[i]);
    return asker.accept(p);
  };
  o.pop = [](void *, uint32_t worker, consort_pick *out, uint32_t max) -> uint32_t {
    const Lock lock(asker.mutex);
    const auto mine = std::find_if(asker.waiting.begin(), asker.waiting.end(), [&](const consort_task *t) {
      return t->where >> asker.topology->workers[worker].klass & 1;
    });
    if (!max || mine == asker.waiting.end()) return 0;
    if (asker.before_pop) asker.before_pop(*mine);
    if (asker.closed_until && asker.host->now(asker.host) < asker.closed_until) return 0;
    *out = {*mine, CONSORT_NONE, CONSORT_NONE};
    asker.waiting.erase(mine);
    return 1;
  };
  o.started = [](void *, uint32_t, const consort_task *const *, uint32_t) {
    const Lock lock(asker.mutex);
    asker.started.push_back(asker.host->now(asker.host));
  };
  o.next_event = [](void *) -> uint64_t {
    const Lock lock(asker.mutex);
    const bool later = !asker.waiting.empty() && asker.host->now(asker.host) < asker.closed_until;
    return later ? asker.closed_until : CONSORT_NEVER;
  };
  return o;
}();

constexpr uint32_t kFlags = CONSORT_PF_SWAPPABLE | CONSORT_PF_VIRTUAL;
constexpr consort_plugin plugin = consort_test::policy_plugin("asker", "queries and hints", ops, kFlags);
CONSORT_MODULE(asker, SCHEDULER, kFlags, "asker", "1.0", plugin);

void forget_all() {
  asker.waiting.clear();
  asker.started.clear();
  asker.closed_until = 0;
  asker.on_push = asker.before_pop = nullptr;
}
consort_runtime *start_with_asker(const Pairs &pairs) {
  static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(asker);
  const consort_settings s = settings_with(pairs, entry);
  consort_runtime *rt = nullptr;
  need(consort_start(&s, &rt), "start");
  return rt;
}

// Two devices of one unit each behind links of 1 GB/s and 10 us; kernels take a millisecond, as a megabyte does.
constexpr uint64_t kBytes = 1'000'000, kMs = 1'000'000, kBefore = 10'000;
struct HostData : ::testing::Test {
  void begin(const Pairs &more = {}) {
    forget_all();
    Pairs pairs = {{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.devices", "2"}, {"sim.bandwidth", "1G"},
                   {"sim.latency", "10us"}, {"sim.usual", "1ms"}, {"sim.runs", ""}, {"scheduler", "asker"}, {"save_ahead", "0"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = start_with_asker(pairs);
    const consort_impl impl{"gpu", run_body, &nothing, nullptr, nullptr, nullptr, nullptr, 0};
    step = codelet_of(rt, "step", {&impl, 1});
    for (auto &v : memory) x.push_back(vector_of(rt, v.data(), v.size(), 1));
    far.clear();
    for (uint32_t w = 0; w < asker.topology->nworkers; ++w) {
      const consort_worker &one = asker.topology->workers[w];
      if (std::string(asker.topology->classes[one.klass]) == "gpu") far.push_back({w, one.space});
      else home = one.space;
    }
  }
  void TearDown() override {
    for (const auto one : x) EXPECT_OK(consort_unregister(rt, one));
    EXPECT_OK(consort_stop(rt));
    forget_all();
  }
  void wait() { ASSERT_OK(consort_wait_all(rt, kLong, 0)); }
  uint64_t copies() {
    uint64_t sum = 0;
    for (const Unit &u : far) {
      consort_link_use use = CONSORT_LINK_USE_INIT;
      need(consort_get_link_use(rt, home, u.space, &use), "link use");
      sum += use.copies;
    }
    return sum;
  }
  bool is_in(size_t i, uint32_t space) {
    uint32_t bits = 0;
    need(consort_data_in(rt, x[i], space, &bits), "in");
    return bits & CONSORT_IN_VALID;
  }
  std::vector<float> transfers(const consort_task *t) const {  // home, one device, the other, nowhere
    const uint32_t spaces[] = {home, far[0].space, far[1].space, 77};
    std::vector<float> ns(4);
    asker.sched->transfer_ns(asker.host, &t, 1, spaces, 4, ns.data());
    return ns;
  }
  std::vector<uint64_t> residents(const consort_task *t) const {
    const uint32_t spaces[] = {home, far[0].space, far[1].space, 77};
    std::vector<uint64_t> bytes(4);
    asker.sched->resident(asker.host, &t, 1, spaces, 4, bytes.data());
    return bytes;
  }
  static consort_room room(uint32_t space) {
    consort_room r{};
    asker.sched->room(asker.host, &space, 1, &r);
    return r;
  }

  Body nothing = [](const consort_call &) { return CONSORT_OK; };
  consort_runtime *rt = nullptr;
  consort_codelet_id step{};
  struct Unit { uint32_t worker, space; };
  std::vector<Unit> far;  // the devices
  uint32_t home = 0;
  std::vector<std::vector<char>> memory = std::vector<std::vector<char>>(5, std::vector<char>(kBytes, 1));
  std::vector<consort_data_id> x;
};

// A task that must not start before 50 ms: its data come meanwhile, or after.
TEST_F(HostData, PrefetchPrecedesTheTask) {
  for (const bool ahead : {false, true}) {
    if (ahead) TearDown(), x.clear();
    begin();
    asker.on_push = [&](const consort_task *t) {
      if (ahead) asker.sched->prefetch(asker.host, t, far[0].space, 0);
    };
    Desc(step).r(x[0]).must(rt);
    wait();
    const uint64_t before = copies(), then = asker.host->now(asker.host);
    asker.started.clear();
    asker.closed_until = then + 50 * kMs;
    Desc(step).r(x[1]).must(rt);
    wait();
    ASSERT_EQ(asker.started.size(), 1u);
    // The first worker to ask has it: that of the first device.
    const uint64_t late = asker.started[0] - asker.closed_until;
    if (ahead) EXPECT_LT(late, kMs / 10);
    else EXPECT_GE(late, kMs + kBefore) << "a megabyte has to come first";
    EXPECT_EQ(copies(), before + 1) << "once";
  }
}

TEST_F(HostData, TransferCostFollowsTheLinks) {
  begin();
  std::vector<std::vector<float>> ns;
  std::vector<std::vector<uint64_t>> bytes;
  asker.on_push = [&](const consort_task *t) { ns.push_back(transfers(t)), bytes.push_back(residents(t)); };
  Desc(step).r(x[0]).must(rt);
  Desc(step).w(x[1]).must(rt);
  wait();
  const double over = 1.01 * kMs;
  ASSERT_EQ(ns.size(), 2u);
  for (const auto &one : ns) EXPECT_TRUE(std::isnan(one[3])) << "there is no such space";
  EXPECT_EQ(ns[0][0], 0);
  EXPECT_NEAR(ns[0][1], over, over / 100);
  EXPECT_NEAR(ns[0][2], over, over / 100);
  EXPECT_EQ(bytes[0], (std::vector<uint64_t>{kBytes, 0, 0, 0}));
  for (uint32_t s = 0; s < 3; ++s) EXPECT_EQ(ns[1][s], 0) << "it reads nothing";
  // The last wrote on a device; which, is chance to this test.
  ASSERT_TRUE(is_in(1, far[0].space) != is_in(1, far[1].space));
  const uint32_t there = is_in(1, far[0].space) ? 1 : 2, other = 3 - there;
  ns.clear(), bytes.clear();
  Desc(step).r(x[1]).must(rt);
  ASSERT_EQ(ns.size(), 1u);
  EXPECT_EQ(ns[0][there], 0);
  EXPECT_NEAR(ns[0][0], over, over / 100);
  EXPECT_NEAR(ns[0][other], 2 * over, over / 50) << "over home";
  EXPECT_EQ(bytes[0][there], kBytes);
  EXPECT_EQ(bytes[0][other], 0u);
  wait();
}

// A datum that the task only writes is not lacking, nor is one that is resident or on its way. Its codelet has the
// given name.
TEST_F(HostData, LackingListsMissingReads) {
  begin();
  std::vector<std::vector<uint64_t>> lacks;
  std::string name;
  asker.on_push = [&](const consort_task *t) {
    const uint32_t spaces[] = {home, far[0].space, far[1].space};
    std::vector<uint64_t> bits(3);
    asker.sched->lacking(asker.host, &t, 1, spaces, 3, bits.data());
    lacks.push_back(bits);
    name = asker.sched->codelet_name(asker.host, t);
  };
  Desc(step).r(x[0]).r(x[1]).w(x[2]).must(rt);
  wait();
  EXPECT_EQ(name, "step");
  ASSERT_EQ(lacks.size(), 1u);
  EXPECT_EQ(lacks[0], (std::vector<uint64_t>{0, 0b11, 0b11}));
  const uint32_t there = is_in(0, far[0].space) ? 1 : 2;
  Desc(step).r(x[2]).r(x[3]).r(x[0]).must(rt);
  wait();
  ASSERT_EQ(lacks.size(), 2u);
  EXPECT_EQ(lacks[1][0], 0b001u) << "data written on the device are not at home";
  EXPECT_EQ(lacks[1][there], 0b010u);
  EXPECT_EQ(lacks[1][3 - there], 0b111u);
}

TEST_F(HostData, TransferCostCountsQueuedCopies) {
  begin();
  float most = 0, least = INFINITY;
  const consort_task *last = nullptr;
  asker.on_push = [&](const consort_task *t) { last = t; };
  asker.before_pop = [&](const consort_task *) {
    const float ns = transfers(last)[1];
    most = std::max(most, ns), least = std::min(least, ns);
  };
  for (size_t i = 0; i < 3; ++i) Desc(step).r(x[i]).on(far[0].worker).must(rt);  // on the way as soon as the first is
  asker.closed_until = 50 * kMs;
  Desc(step).r(x[3]).must(rt);
  wait();
  EXPECT_NEAR(least, 1.01 * kMs, kMs / 10) << "nothing is on its way any more";
  EXPECT_NEAR(most, 4.01 * kMs, kMs / 10) << "three more before it";
}

// While copies go to the first device, one more copy to the second gets half of the bus.
TEST_F(HostData, TransferCostCountsTheSharedBus) {
  for (const bool is_shared : {false, true}) {
    if (is_shared) TearDown(), x.clear();
    begin(is_shared ? Pairs{{"sim.bus", "1G"}} : Pairs{});
    float most = 0, least = INFINITY;
    const consort_task *last = nullptr;
    asker.on_push = [&](const consort_task *t) { last = t; };
    asker.before_pop = [&](const consort_task *) {
      const float ns = transfers(last)[2];
      most = std::max(most, ns), least = std::min(least, ns);
    };
    for (size_t i = 0; i < 3; ++i) Desc(step).r(x[i]).on(far[0].worker).must(rt);
    asker.closed_until = 50 * kMs;
    Desc(step).r(x[3]).must(rt);
    wait();
    EXPECT_NEAR(least, 1.01 * kMs, kMs / 100) << "nothing is on its way any more";
    EXPECT_NEAR(most, (is_shared ? 2.01 : 1.01) * kMs, kMs / 100);
  }
}

TEST_F(HostData, TransferCostCoversSeveralHops) {
  begin();
  const uint32_t one = far[0].space, other = far[1].space;
  const auto hop = [](uint32_t a, uint32_t b) { return asker.topology->hops[a * asker.topology->nspaces + b]; };
  ASSERT_EQ(asker.topology->nspaces, 3u);
  EXPECT_EQ(hop(home, one).bytes_per_s, 1'000'000'000u);
  EXPECT_EQ(hop(home, one).latency_ns, 10'000u);
  EXPECT_NEAR(static_cast<double>(hop(one, other).bytes_per_s), 5e8, 5e6);
  EXPECT_EQ(hop(one, other).latency_ns, 20'000u);
  EXPECT_NE(hop(one, other).flags, 0u);
}

TEST_F(HostData, RoomFollowsTheLimit) {
  begin({{"sim.memory", "3200000"}});
  const uint32_t there = far[0].space;
  EXPECT_EQ(room(there).capacity, 3'200'000u);
  EXPECT_EQ(room(there).reserved, 0u);
  EXPECT_EQ(room(there).evictable, 0u);
  EXPECT_EQ(room(77).capacity, 0u);
  consort_room in_use{};
  asker.before_pop = [&](const consort_task *) {
    if (const consort_room r = room(there); r.reserved > in_use.reserved) in_use = r;
  };
  asker.closed_until = 50 * kMs;
  for (size_t i = 0; i < 2; ++i) Desc(step).r(x[i]).on(far[0].worker).must(rt);
  Desc(step).r(x[0]).must(rt);
  wait();
  EXPECT_GE(in_use.reserved, kBytes);
  EXPECT_EQ(room(there).reserved, 0u);
  EXPECT_GE(room(there).evictable, 2 * kBytes);
  EXPECT_LT(room(there).evictable, 2 * kBytes + 10'000) << "but for the rounding of an allocation";
}

TEST_F(HostData, UnneededDataAreEvictedFirst) {
  begin({{"sim.memory", "3200000"}});
  const Unit there = far[0];
  for (size_t i = 0; i < 3; ++i) {
    Desc(step).r(x[i]).on(there.worker).must(rt);
    wait();
  }
  asker.sched->unneeded(asker.host, x[2].v, there.space);
  asker.sched->unneeded(asker.host, x[1].v, 77);
  asker.sched->unneeded(asker.host, 12345, there.space);
  Desc(step).r(x[3]).on(there.worker).must(rt);
  wait();
  const auto is_there = [&](size_t i) { return is_in(i, there.space); };
  EXPECT_TRUE(is_there(0) && is_there(1) && !is_there(2) && is_there(3)) << "not the longest unused";
}

// Random hints for any task and space, also for data that may be gone, while other tasks run and write. They change no
// value and block no task.
TEST(PolicyHints, RandomHintsChangeNoValues) {
  forget_all();
  consort_runtime *rt = start_with_asker({{"drivers", "cpu, sim"}, {"cpu.workers", "2"}, {"cpu.topology", kFourCores},
                                          {"sim.devices", "2"}, {"sim.memory", "48K"}, {"sim.latency", "1us"}, {"scheduler", "asker"}});
  Body triple_it = triple;
  Body add = [](const consort_call &c) { return *pointer<uint64_t>(c, 0) += *pointer<uint64_t>(c, 1), CONSORT_OK; };
  const auto anywhere = [&](Body &body) {
    const consort_impl impls[] = {{"cpu", run_body, &body, nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", run_body, &body, nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(rt, "anywhere", {impls, 2});
  };
  const auto one = anywhere(triple_it), two = anywhere(add);
  std::mt19937 chance(7);  // under the policy's mutex
  const auto wish = [&](const consort_task *t) {
    asker.sched->prefetch(asker.host, t, static_cast<uint32_t>(chance() % 4), static_cast<int32_t>(chance() % 5));
  };
  asker.on_push = [&](const consort_task *t) {
    wish(t);
    const consort_task *next[4];
    const uint32_t n = std::min(4u, asker.sched->successors(asker.host, t, next, 4));
    for (uint32_t i = 0; i < n; ++i) wish(next[i]);
    const uint32_t spaces[] = {0, 1, 2};
    float ns[3];
    asker.sched->transfer_ns(asker.host, &t, 1, spaces, 3, ns);
    for (const float f : ns) EXPECT_GE(f, 0);
    consort_room rooms[3];
    asker.sched->room(asker.host, spaces, 3, rooms);
    if (t->naccess && chance() % 4 == 0) asker.sched->unneeded(asker.host, t->access[0].datum->id, static_cast<uint32_t>(chance() % 3));
  };
  asker.before_pop = [&](const consort_task *t) { wish(t); };
  constexpr size_t kData = 10, kCells = 1024;
  std::mt19937 lot(11);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::vector<uint64_t>> v(kData, std::vector<uint64_t>(kCells, 1));
    std::vector<uint64_t> want(kData, 1);
    std::vector<consort_data_id> x;
    for (auto &m : v) x.push_back(vector_of(rt, m.data(), m.size(), 8));
    for (int i = 0; i < 150; ++i) {
      const size_t a = lot() % kData, b = (a + 1 + lot() % (kData - 1)) % kData;
      if (lot() % 2) {
        Desc(one).rw(x[a]).must(rt);
        want[a] = want[a] * 3 + 1;
      } else {
        Desc(two).rw(x[a]).r(x[b]).must(rt);
        want[a] += want[b];
      }
    }
    for (size_t i = 0; i < kData; ++i) EXPECT_OK(consort_unregister(rt, x[i]));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    for (size_t i = 0; i < kData; ++i) EXPECT_EQ(v[i][0], want[i]) << "round " << round << ", datum " << i;
  }
  for (uint32_t s = 0; s < 3; ++s) {
    consort_space_use use = CONSORT_SPACE_USE_INIT;
    ASSERT_OK(consort_get_space_use(rt, s, &use));
    EXPECT_EQ(use.needed_evictions, 0u);
    EXPECT_EQ(use.wishes, 0u) << "a wish goes with its datum";
  }
  EXPECT_OK(consort_stop(rt));
  forget_all();
}

}  // namespace
