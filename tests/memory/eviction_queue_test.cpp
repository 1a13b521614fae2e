// Which data leave a memory that is too small: data that no submitted task reads, then those that are read last
// (MEM-02). On a simulated device in virtual time, so the same copies every time; and the two files behind it alone.
#include <consort/memory.h>
#include <kernel/api/runtime.hpp>
#include <kernel/memory/eviction_queue.hpp>
#include <kernel/memory/next_use.hpp>

#include <numeric>
#include <random>

#include "../../bench/memory/belady.hpp"
#include "../api/harness.hpp"

namespace {

using namespace consort_test;

constexpr uint64_t kBytes = 4096;

// A device that has room for so many data of 4 KiB, one core to wait on, and the data.
struct Small {
  std::string memory;
  std::vector<std::vector<char>> bytes;  // home of the data, as long as there is a runtime
  Rt rt;
  Bodies bodies;
  std::vector<consort_data_id> x;
  uint32_t home = 0, far = 0;
  consort_codelet_id step{};
  Small(uint64_t room, int data, Pairs more = {})
      : memory(std::to_string(room * kBytes)), bytes(static_cast<size_t>(data), std::vector<char>(kBytes)),
        rt(pairs(std::move(more))) {
    for (auto &b : bytes) x.push_back(vector_of(rt, b.data(), kBytes, 1));
    const consort_impl impl{"gpu", run_body, &body, nullptr, nullptr, nullptr, nullptr, 0};
    step = codelet_of(rt, "step", {&impl, 1});
    for (uint32_t s = 0; s < 2; ++s) {
      consort_space_info info{sizeof info, 0, nullptr, nullptr, nullptr, 0, 0, 0};
      need(consort_get_space(rt, s, &info), "space");
      (std::string(info.name).find("sim") == 0 ? far : home) = s;
    }
  }
  Pairs pairs(Pairs more) const {
    Pairs p = {{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.memory", memory.c_str()}, {"sim.times", "step=200us"},
               {"sim.runs", ""}, {"window", "0"}};
    p.insert(p.end(), more.begin(), more.end());
    return p;
  }
  uint64_t loaded() {
    consort_link_use use = CONSORT_LINK_USE_INIT;
    need(consort_get_link_use(rt, home, far, &use), "link");
    return use.copies;
  }
  consort_space_use use() {
    consort_space_use use = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(rt, far, &use), "space");
    return use;
  }
  bool has(int i) {
    uint32_t bits = 0;
    need(consort_data_in(rt, x[static_cast<size_t>(i)], far, &bits), "in");
    return bits & CONSORT_IN_VALID;
  }
  Body body = [](const consort_call &) { return CONSORT_OK; };
};

TEST(EvictionQueue, EvictsUnreadDataBeforeLeastRecentlyUsed) {
  Small m(6, 8, {{"sim.depth", "1"}});
  for (const int i : {0, 1, 2, 3, 4, 5}) Desc(m.step).r(m.x[static_cast<size_t>(i)]).must(m.rt);
  ASSERT_OK(consort_wait_all(m.rt, kLong, 0));
  ASSERT_EQ(m.loaded(), 6u);
  // Room for two is needed. 0 and 1 are the longest unused, but all of those come once more, except 4 and 5.
  for (const int i : {6, 7, 0, 1, 2, 3}) Desc(m.step).r(m.x[static_cast<size_t>(i)]).must(m.rt);
  ASSERT_OK(consort_wait_all(m.rt, kLong, 0));
  EXPECT_EQ(m.loaded(), 8u) << "nothing was loaded twice";
  EXPECT_FALSE(m.has(4) || m.has(5));
  EXPECT_TRUE(m.has(0) && m.has(1) && m.has(2) && m.has(3) && m.has(6) && m.has(7));
}

TEST(EvictionQueue, CyclicAccessKeepsAPart) {
  constexpr int kData = 24, kRounds = 8, kRoom = 18;
  Small m(kRoom, kData);
  std::vector<bench::Step> steps;
  for (int r = 0; r < kRounds; ++r)
    for (int i = 0; i < kData; ++i) {
      steps.push_back({{i, true, false}});
      Desc(m.step).r(m.x[static_cast<size_t>(i)]).must(m.rt);
    }
  ASSERT_OK(consort_wait_all(m.rt, kLong, 0));
  // By last use each would be loaded in every round.
  EXPECT_LT(m.loaded(), kRounds * kData * 6 / 10);
  EXPECT_GE(m.loaded(), bench::optimal_loads(steps, kRoom));
}

struct Order {                   // in which tasks began
  std::vector<uint64_t> tasks;
  static void note(void *user, const consort_trace_event *e) {
    if (e->what == 0) static_cast<Order *>(user)->tasks.push_back(e->task);
  }
};

void little_more_than_the_best(const std::vector<bench::Step> &steps, int tiles, const char *scheduler) {
  const size_t room = static_cast<size_t>(tiles) / 4;
  Small m(room, tiles, {{"scheduler", scheduler}});
  Order order;
  ASSERT_OK(consort_trace(m.rt, Order::note, &order));
  std::map<uint64_t, size_t> step_of;
  for (size_t i = 0; i < steps.size(); ++i) {
    Desc d(m.step);
    for (const bench::Use &u : steps[i]) u.writes ? d.rw(m.x[static_cast<size_t>(u.tile)]) : d.r(m.x[static_cast<size_t>(u.tile)]);
    step_of[d.must(m.rt).v] = i;
  }
  ASSERT_OK(consort_wait_all(m.rt, kLong, 0));
  std::vector<bench::Step> ran;
  for (const uint64_t t : order.tasks)
    if (const auto it = step_of.find(t); it != step_of.end()) ran.push_back(steps[it->second]);
  ASSERT_EQ(ran.size(), steps.size());
  const uint64_t best = bench::optimal_loads(ran, room);
  EXPECT_LE(static_cast<double>(m.loaded()), 1.25 * static_cast<double>(best)) << scheduler << ", best " << best;
  EXPECT_GE(m.loaded(), best);
  EXPECT_EQ(m.use().needed_evictions, 0u);
  EXPECT_GT(m.use().evictions, 0u);
}

TEST(EvictionQueue, CholeskyLoadsNearTheOptimum) {
  for (const char *scheduler : {"lws", "eager"}) little_more_than_the_best(bench::cholesky(20), 210, scheduler);
}
TEST(EvictionQueue, ProductLoadsNearTheOptimum) {
  for (const char *scheduler : {"lws", "eager"}) little_more_than_the_best(bench::product(12), 432, scheduler);
}

TEST(EvictionQueue, HeapKeepsTheFirstVictimOnTop) {
  std::mt19937 random(5);
  consort::EvictionQueue heap;
  std::vector<consort::Replica> all(200);
  heap.expect(all.size());
  std::vector<bool> in(all.size());
  for (int i = 0; i < 20000; ++i) {
    const size_t k = random() % all.size();
    consort::Replica &r = all[k];
    switch (random() % 4) {
      case 0:
        if (!in[k]) r.rank = random() % 50, r.age = random(), heap.add(r), in[k] = true;
        break;
      case 1:
        heap.remove(r), in[k] = false;
        break;
      case 2:
        if (in[k]) r.rank = random() % 50, heap.moved(r);
        break;
      default:
        if (i % 97 == 0) heap.rank_all([&](consort::Replica &one) { one.rank = random() % 50; });
    }
    const consort::Replica *best = nullptr;
    size_t n = 0;
    for (size_t j = 0; j < all.size(); ++j) {
      if (!in[j]) continue;
      ++n;
      if (!best || all[j].rank < best->rank || (all[j].rank == best->rank && all[j].age < best->age)) best = &all[j];
    }
    ASSERT_EQ(heap.size(), n);
    ASSERT_EQ(heap.first(), best);
  }
}

// Tasks that only exist in an arena: an outlook asks for their words.
struct Tasks {
  consort::TaskArena arena;
  std::vector<consort::Datum> data{8};
  std::vector<std::vector<consort_access>> accesses;
  Tasks() {
    arena.reserve(1 << 16);
    accesses.reserve(1 << 16);
  }
  consort::Task &make(std::initializer_list<std::pair<size_t, uint32_t>> uses) {
    const uint32_t i = arena.carve(1);
    consort::Task &t = *arena.at(i);
    accesses.emplace_back();
    for (const auto &[d, mode] : uses) accesses.back().push_back({&data[d].pub, mode, 0});
    t.pub.id = i | uint64_t{1} << 32;
    t.pub.access = accesses.back().data();
    t.pub.naccess = static_cast<uint16_t>(uses.size());
    t.word.store(t.pub.id, std::memory_order_relaxed);
    return t;
  }
  static void end(consort::Task &t) { t.word.store(uint64_t{2} << 32, std::memory_order_release); }
};

TEST(NextUse, FindsTheNextReader) {
  Tasks tasks;
  consort::NextUse outlook(tasks.arena);
  consort::Task &a = tasks.make({{0, CONSORT_M_R}, {1, CONSORT_M_RW}}), &b = tasks.make({{0, CONSORT_M_RW}, {2, CONSORT_M_SCRATCH}}),
                &c = tasks.make({{0, CONSORT_M_W}});
  for (consort::Task *t : {&a, &b, &c}) outlook.note(*t);
  EXPECT_EQ(outlook.next(tasks.data[0]).place, consort::NextUse::kNever) << "not taken in yet";
  outlook.refresh();
  const uint64_t first = outlook.next(tasks.data[0]).place;
  EXPECT_EQ(outlook.next(tasks.data[1]).place, first);
  EXPECT_TRUE(outlook.next(tasks.data[1]).rewritten);
  EXPECT_FALSE(outlook.next(tasks.data[0]).rewritten);
  EXPECT_EQ(outlook.next(tasks.data[2]).place, consort::NextUse::kNever) << "scratch is no contents";
  outlook.used(tasks.data[0], a.pub.id);
  EXPECT_EQ(outlook.next(tasks.data[0]).place, first + 1);
  EXPECT_EQ(outlook.next(tasks.data[1]).place, first) << "it is done with one datum only";
  Tasks::end(a);
  EXPECT_EQ(outlook.next(tasks.data[1]).place, consort::NextUse::kNever);
  Tasks::end(b);
  EXPECT_EQ(outlook.next(tasks.data[0]).place, consort::NextUse::kNever) << "it is overwritten";
  EXPECT_TRUE(outlook.next(tasks.data[0]).rewritten);
  outlook.forget(tasks.data[0]);
  EXPECT_FALSE(outlook.next(tasks.data[0]).rewritten);
}

TEST(NextUse, ForgetsEndedTasks) {
  Tasks tasks;
  consort::NextUse outlook(tasks.arena);
  consort::Task &last = tasks.make({{3, CONSORT_M_R}});
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 9000; ++i) {
      consort::Task &t = tasks.make({{0, CONSORT_M_R}, {static_cast<size_t>(4 + i % 4), CONSORT_M_R}});
      outlook.note(t);
      if (round == 1 && i == 5000) outlook.note(last);
      if (i % 1000 == 999) outlook.refresh();
      Tasks::end(t);
    }
  outlook.refresh();
  EXPECT_LE(outlook.size(), 20000u) << "of 54001 uses one is still to come";
  EXPECT_EQ(outlook.next(tasks.data[0]).place, consort::NextUse::kNever);
  EXPECT_NE(outlook.next(tasks.data[3]).place, consort::NextUse::kNever);
}

}  // namespace
