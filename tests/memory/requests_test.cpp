// Memory requests of the application (memory.h): prefetch, with priority and cancel; eviction; write-through; placement
// and counters (DAT-11, DAT-12, DAT-13, DAT-18, MEM-03, MEM-04, MEM-06). Over the stream double with a memory of its
// own.
#include <consort/memory.h>

#include <random>

#include "memory_machine.hpp"
#include "api/settled.hpp"

namespace {

using namespace consort_test;

constexpr uint32_t kHome = 0, kApart = 1;
constexpr uint64_t kBytes = 4096;

uint32_t in(consort_runtime *rt, consort_data_id x, uint32_t space) {
  uint32_t bits = 99;
  need(consort_data_in(rt, x, space, &bits), "data_in");
  return bits;
}
bool valid_in(consort_runtime *rt, consort_data_id x, uint32_t space) { return in(rt, x, space) & CONSORT_IN_VALID; }
consort_link_use link_of(consort_runtime *rt, uint32_t from, uint32_t to) {
  consort_link_use u = CONSORT_LINK_USE_INIT;
  need(consort_get_link_use(rt, from, to, &u), "link use");
  return u;
}
consort_status fill(const consort_call &c) {
  const auto &v = *static_cast<const consort_vector_view *>(c.views[0]);
  for (uint64_t i = 0; i < v.n; ++i) pointer<uint64_t>(c, 0)[i] = c.args[0].scalar;
  return CONSORT_OK;
}
struct Block {  // 4 KiB
  std::vector<uint64_t> memory = std::vector<uint64_t>(kBytes / 8, 1);
  consort_data_id x;
  explicit Block(consort_runtime *rt, const char *name = "block") : x(vector_of(rt, memory.data(), memory.size(), 8, name)) {}
};
Pairs room_for(uint32_t blocks) {
  static std::string limit;
  limit = "stream0:ram=" + std::to_string(blocks * kBytes);
  return {{"limits", limit.c_str()}};
}

TEST(Prefetch, DataArriveBeforeTheTask) {
  MemoryMachine m;
  Block b(m);
  EXPECT_EQ(in(m, b.x, kHome), uint32_t{CONSORT_IN_ROOM | CONSORT_IN_VALID});
  EXPECT_EQ(in(m, b.x, kApart), 0u);
  consort_prefetch_id wish{0};
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, 0, &wish));
  EXPECT_NE(wish.v, 0u);
  ASSERT_TRUE(eventually([&] { return valid_in(m, b.x, kApart); }));
  EXPECT_TRUE(valid_in(m, b.x, kHome)) << "it was copied, not moved";
  EXPECT_EQ(link_of(m, kHome, kApart).bytes, kBytes);
  Desc(m.on("stream", nullptr, triple)).rw(b.x).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(link_of(m, kHome, kApart).copies, 1u) << "the task found it";
  EXPECT_FALSE(valid_in(m, b.x, kHome));
  EXPECT_EQ(consort_prefetch_cancel(m, wish), CONSORT_AGAIN) << "it is long over";
  ASSERT_OK(consort_unregister(m, b.x));
  EXPECT_EQ(b.memory[0], 4u);
}

// DAT-12: memory, contents on their way, contents; of each memory by itself.
TEST(Prefetch, PlacementShowsCopiesInFlight) {
  MemoryMachine m(Pairs{{"stream.latency_ns", "100000000"}});
  Block b(m);
  EXPECT_EQ(in(m, b.x, kApart), 0u) << "no memory there";
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, 0, nullptr));
  EXPECT_TRUE(eventually([&] { return in(m, b.x, kApart) == (CONSORT_IN_ROOM | CONSORT_IN_COMING); })) << "memory, no contents yet";
  EXPECT_EQ(in(m, b.x, kHome), uint32_t{CONSORT_IN_ROOM | CONSORT_IN_VALID});
  EXPECT_TRUE(eventually([&] { return in(m, b.x, kApart) == (CONSORT_IN_ROOM | CONSORT_IN_VALID); }));
  Desc(m.on("stream", nullptr, triple)).rw(b.x).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(in(m, b.x, kApart), uint32_t{CONSORT_IN_ROOM | CONSORT_IN_VALID});
  EXPECT_EQ(in(m, b.x, kHome), uint32_t{CONSORT_IN_ROOM}) << "its memory is there, its contents are old";
  ASSERT_OK(consort_unregister(m, b.x));
}

TEST(Prefetch, FollowsEarlierTasks) {
  MemoryMachine m;
  Block b(m);
  Gate gate;
  Desc(m.on("cpu", nullptr, [&](const consort_call &c) {
    gate.pass();
    return fill(c);
  })).w(b.x).arg(uint64_t{7}).must(m);
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 5, 0, nullptr));
  EXPECT_TRUE(settled());
  EXPECT_EQ(in(m, b.x, kApart), 0u);
  gate.open();
  ASSERT_TRUE(eventually([&] { return valid_in(m, b.x, kApart); }));
  uint64_t seen = 0;
  const auto y = variable_of(m, &seen);
  Desc(m.on("stream", nullptr, [](const consort_call &c) { return *pointer<uint64_t>(c, 1) = pointer<uint64_t>(c, 0)[9], CONSORT_OK; })).r(b.x).w(y).must(m);
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(seen, 7u);
}

TEST(Prefetch, MayBeCancelledWhilePending) {
  MemoryMachine m(room_for(1));
  Block a(m), b(m), c(m);
  Gate gate;
  Desc(m.on("cpu", nullptr, [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).rw(a.x).must(m);
  consort_prefetch_id first{0}, second{0};
  ASSERT_OK(consort_prefetch(m, a.x, kApart, 0, 0, &first));
  EXPECT_EQ(consort_prefetch_cancel(m, first), CONSORT_OK) << "its turn has not come";
  gate.open();
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(in(m, a.x, kApart), 0u);
  Desc(m.on("stream", nullptr, fill)).w(b.x).arg(uint64_t{3}).must(m);  // takes all the room there
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_prefetch(m, c.x, kApart, 0, 0, &second));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(use_of(m, kApart).wishes, 1u) << "a prefetch evicts no data";
  EXPECT_EQ(consort_prefetch_cancel(m, second), CONSORT_OK);
  EXPECT_EQ(use_of(m, kApart).wishes, 0u);
  EXPECT_EQ(consort_prefetch_cancel(m, second), CONSORT_AGAIN);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_prefetch_cancel(m, {12345}), "no prefetch", "consort_prefetch()");
  for (const auto x : {a.x, b.x, c.x}) ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(b.memory[0], 3u);
}

TEST(Prefetch, HighestPriorityTakesFreeMemory) {
  MemoryMachine m(room_for(1));
  Block a(m), b(m), c(m);
  Desc(m.on("stream", nullptr, fill)).w(a.x).arg(uint64_t{3}).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 1, 0, nullptr));
  ASSERT_OK(consort_prefetch(m, c.x, kApart, 2, 0, nullptr));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(use_of(m, kApart).wishes, 2u);
  ASSERT_OK(consort_wont_use(m, a.x));  // it is written back, and then its room is free for a wish
  ASSERT_TRUE(eventually([&] { return valid_in(m, c.x, kApart); }));
  EXPECT_EQ(a.memory[0], 3u) << "home again";
  EXPECT_EQ(in(m, b.x, kApart), 0u);
  EXPECT_EQ(use_of(m, kApart).wishes, 1u);
  Desc(m.on("cpu", nullptr, fill)).w(b.x).arg(uint64_t{4}).must(m);
  for (const auto x : {a.x, b.x, c.x}) ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(use_of(m, kApart).wishes, 0u) << "the request has ended";
}

TEST(Prefetch, MemoryOnlyPrefetchAllocates) {  // DAT-11
  MemoryMachine m;
  Block b(m);
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, CONSORT_PREFETCH_ROOM, nullptr));
  ASSERT_TRUE(eventually([&] { return in(m, b.x, kApart) == CONSORT_IN_ROOM; }));
  Desc(m.on("stream", nullptr, fill)).w(b.x).arg(uint64_t{8}).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(link_of(m, kHome, kApart).copies, 0u) << "data that are overwritten need no copy";
  ASSERT_OK(consort_unregister(m, b.x));
  EXPECT_EQ(b.memory[5], 8u);
}

TEST(Evict, SavesTheOnlyCopy) {  // DAT-13
  MemoryMachine m;
  const auto x = vector_of(m, static_cast<uint64_t *>(nullptr), 512, 8, "homeless");
  Desc(m.on("stream", nullptr, fill)).w(x).arg(uint64_t{6}).must(m);
  ASSERT_OK(consort_evict(m, x, kApart));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_TRUE(eventually([&] { return in(m, x, kApart) == 0; }));
  EXPECT_TRUE(valid_in(m, x, kHome));
  const auto u = use_of(m, kApart);
  EXPECT_EQ(u.evictions, 1u);
  EXPECT_EQ(u.saves, 1u);
  EXPECT_EQ(u.needed_evictions, 0u);
  EXPECT_EQ(u.used, 0u);
  uint64_t seen = 0;
  const auto y = variable_of(m, &seen);
  Desc(m.on("cpu", nullptr, [](const consort_call &c) { return *pointer<uint64_t>(c, 1) = pointer<uint64_t>(c, 0)[511], CONSORT_OK; })).r(x).w(y).must(m);
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(seen, 6u);
  ASSERT_OK(consort_unregister(m, x));
}

TEST(Evict, WaitsForCopiesInFlight) {
  MemoryMachine m(Pairs{{"stream.latency_ns", "3000000"}});
  Block b(m);
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, 0, nullptr));
  ASSERT_OK(consort_evict(m, b.x, kApart));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_TRUE(eventually([&] { return in(m, b.x, kApart) == 0; }));
  EXPECT_TRUE(valid_in(m, b.x, kHome));
  ASSERT_OK(consort_unregister(m, b.x));
}

TEST(MemoryRequests, AreNeitherCancelledNorRecorded) {
  MemoryMachine m;
  Block b(m);
  Gate gate;
  Desc(m.on("cpu", nullptr, [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).r(b.x).must(m);
  ASSERT_OK(consort_evict(m, b.x, kApart));
  ASSERT_OK(consort_data_set_write_through(m, b.x, 1 << kHome));
  need(consort_group_cancel(m, {0}), "cancel");
  gate.open();
  (void)consort_wait_all(m, kLong, 0);
  Desc(m.on("stream", nullptr, triple)).rw(b.x).must(m);
  EXPECT_OK(consort_wait_all(m, kLong, 0)) << "an eviction that is given up spoils no contents";
  consort_recording_id rec{0};
  ASSERT_OK(consort_record_begin(m, 0));
  Desc(m.on("stream", nullptr, triple)).rw(b.x).must(m);
  ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, 0, nullptr));
  ASSERT_OK(consort_record_end(m, &rec));
  consort_recording_info info{sizeof info, 0, 0, 0, 0, 0, 0};
  ASSERT_OK(consort_recording_get_info(m, rec, &info));
  EXPECT_EQ(info.ntasks, 1u);
  ASSERT_OK(consort_replay(m, rec, {0}, nullptr));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_OK(consort_recording_destroy(m, rec));
  ASSERT_OK(consort_unregister(m, b.x));
  EXPECT_EQ(b.memory[0], 40u);
}

TEST(Prefetch, FailureFailsNoTask) {
  for (const char *latency : {"0", "3000000"}) {  // over before the task comes, or joined by it
    MemoryMachine m(Pairs{{"stream.fail_op", "1"}, {"stream.latency_ns", latency}});
    Block b(m);
    ASSERT_OK(consort_prefetch(m, b.x, kApart, 0, 0, nullptr));
    if (*latency == '0') {
      ASSERT_TRUE(eventually([&] { return link_of(m, kHome, kApart).failed == 1; }));
    }
    Desc(m.on("stream", nullptr, triple)).rw(b.x).must(m);
    EXPECT_OK(consort_wait_all(m, kLong, 0)) << "the task tries by itself";
    EXPECT_EQ(link_of(m, kHome, kApart).failed, 1u);
    EXPECT_EQ(link_of(m, kHome, kApart).copies, 1u);
    ASSERT_OK(consort_unregister(m, b.x));
    EXPECT_EQ(b.memory[0], 4u);
  }
}

TEST(Evict, RefusesBadArguments) {
  MemoryMachine m;
  Block b(m, "mine");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_evict(m, b.x, kHome), "mine", "own memory", "unregister");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_evict(m, b.x, 17), "space 17", "there are");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_prefetch(m, b.x, 17, 0, 0, nullptr), "space 17", "there are");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_prefetch(m, b.x, kApart, 0, 0x40, nullptr), "0x40", "CONSORT_PREFETCH_ROOM");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_write_through(m, b.x, uint64_t{1} << 40), "space 40");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_in(m, b.x, kApart, nullptr), "bits is NULL");
  uint32_t bits;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_in(m, b.x, 9, &bits), "space 9");
  consort_space_use space{};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_space_use(m, kApart, &space), "sizeof(consort_space_use)");
  consort_link_use link{};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_link_use(m, kHome, kApart, &link), "sizeof(consort_link_use)");
  ASSERT_OK(consort_unregister(m, b.x));
  EXPECT_SAYS(CONSORT_E_STALE, consort_prefetch(m, b.x, kApart, 0, 0, nullptr), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_wont_use(m, b.x), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_evict(m, b.x, kApart), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_data_in(m, b.x, kApart, &bits), "stale");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_in(m, {0}, kApart, &bits), "null handle");
}

TEST(WriteThrough, CopiesWritesToTheHost) {  // DAT-18
  MemoryMachine m;
  Block b(m);
  ASSERT_OK(consort_data_set_write_through(m, b.x, 1 << kHome));
  const auto there = m.on("stream", nullptr, fill);
  for (uint64_t i = 10; i < 20; ++i) {
    Desc(there).w(b.x).arg(i).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    ASSERT_TRUE(eventually([&] { return valid_in(m, b.x, kHome); }));
    EXPECT_TRUE(valid_in(m, b.x, kApart));
    consort_hold hold;
    ASSERT_OK(consort_acquire(m, b.x, CONSORT_M_R, kLong, &hold));
    EXPECT_EQ(b.memory[3], i);
    ASSERT_OK(consort_release(m, hold));
  }
  EXPECT_EQ(link_of(m, kApart, kHome).copies, 10u);
  ASSERT_OK(consort_data_set_write_through(m, b.x, 0));
  Desc(there).w(b.x).arg(uint64_t{30}).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_FALSE(valid_in(m, b.x, kHome));
  ASSERT_OK(consort_unregister(m, b.x));
  EXPECT_EQ(b.memory[3], 30u);
}

TEST(WriteThrough, CopiesEverywhereAndIsEvictedLast) {  // MEM-04
  MemoryMachine m(room_for(3));
  Block keep(m), a(m), b(m), c(m);
  ASSERT_OK(consort_data_set_write_through(m, keep.x, 1 << kHome | 1 << kApart));
  Desc(m.on("cpu", nullptr, fill)).w(keep.x).arg(uint64_t{5}).must(m);
  ASSERT_TRUE(eventually([&] { return valid_in(m, keep.x, kApart); }));
  const auto there = m.on("stream", nullptr, triple);
  for (const auto x : {a.x, b.x, c.x, a.x, b.x, c.x}) {
    Desc(there).rw(x).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
  }
  EXPECT_TRUE(valid_in(m, keep.x, kApart)) << "it was used least lately, but it is to be there";
  EXPECT_GE(use_of(m, kApart).evictions, 4u);
  Desc(m.on("stream", nullptr, triple)).rw(a.x).r(b.x).r(c.x).must(m);  // all the room there is
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_FALSE(in(m, keep.x, kApart) & CONSORT_IN_ROOM) << "no other could make room";
  for (const auto x : {keep.x, a.x, b.x, c.x}) ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(a.memory[0], 40u);
  EXPECT_EQ(keep.memory[511], 5u);
}

TEST(MemoryCounters, ExplainShowsThem) {  // MEM-06
  MemoryMachine m(room_for(2));
  std::vector<std::unique_ptr<Block>> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(std::make_unique<Block>(m));
  const auto there = m.on("stream", nullptr, triple);
  for (int turn = 0; turn < 3; ++turn)
    for (auto &b : blocks) {  // one after the other: in any other order some would be used where they are
      Desc(there).rw(b->x).must(m);
      ASSERT_OK(consort_wait_all(m, kLong, 0));
    }
  const auto u = use_of(m, kApart);
  EXPECT_EQ(u.limit, 2 * kBytes);
  EXPECT_LE(u.used, u.limit);
  EXPECT_GE(u.saves, 16u);
  EXPECT_EQ(u.needed_evictions, 0u);
  EXPECT_GE(link_of(m, kHome, kApart).bytes, 18 * kBytes);
  char text[4096];
  consort_explain(m, consort_task_id{0}, text, sizeof text);
  for (const char *part : {"space stream0:ram", "0 of them of what was needed", "saves of", "bytes"})
    EXPECT_NE(std::string(text).find(part), std::string::npos) << part << " is not in: " << text;
  for (auto &b : blocks) {
    ASSERT_OK(consort_unregister(m, b->x));
    EXPECT_EQ(b->memory[0], 40u);
  }
}

// Wishes of every kind strewn over random graphs in tight memory: they change no value, and nothing hangs.
TEST(MemoryRequests, ChangeNoValues) {
  const int rounds = full() ? 400 : CONSORT_SAN ? 8 : 16;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    std::mt19937 random(round);
    MemoryMachine m(round % 4 ? room_for(3 + round % 3) : Pairs{}, round % 3 ? "2" : "1");
    constexpr int kData = 8;
    std::vector<std::unique_ptr<Block>> blocks;
    uint64_t want[kData];
    for (int i = 0; i < kData; ++i) blocks.push_back(std::make_unique<Block>(m)), want[i] = 1;
    const auto body = [](const consort_call &c) {
      uint64_t h = c.args[0].scalar;
      for (uint32_t i = 0; i < c.nviews; ++i) h = h * 31 + pointer<uint64_t>(c, i)[kBytes / 8 - 1];
      for (uint64_t i = 0; i < kBytes / 8; ++i) pointer<uint64_t>(c, 0)[i] = h;
      return CONSORT_OK;
    };
    const consort_codelet_id codelets[] = {m.on("cpu", nullptr, body), m.on("stream", nullptr, body),
                                           m.on("cpu", "stream", body)};
    std::vector<consort_prefetch_id> wishes;
    for (uint64_t t = 0; t < 120; ++t) {
      const auto a = random() % kData, b = (a + 1 + random() % (kData - 1)) % kData;
      const auto x = blocks[random() % kData]->x;
      consort_prefetch_id id{0};
      switch (random() % 11) {
        case 0: case 1: {
          const uint32_t room = random() % 4 ? 0 : CONSORT_PREFETCH_ROOM;
          ASSERT_OK(consort_prefetch(m, x, random() % 2, static_cast<int32_t>(random() % 3), room, &id));
          wishes.push_back(id);
          break;
        }
        case 2: ASSERT_OK(consort_wont_use(m, x)); break;
        case 3: ASSERT_OK(consort_evict(m, x, kApart)); break;
        case 4: ASSERT_OK(consort_data_set_write_through(m, x, random() % 4)); break;
        case 5:
          if (wishes.empty()) break;
          ASSERT_GE(consort_prefetch_cancel(m, wishes[random() % wishes.size()]), CONSORT_OK);
          break;
        case 6: {  // while wishes for it are under way
          if (random() % 4) break;
          consort_hold hold;
          ASSERT_OK(consort_acquire(m, blocks[a]->x, CONSORT_M_RW, kLong, &hold));
          for (auto &v : blocks[a]->memory) v += 7;
          want[a] += 7;
          ASSERT_OK(consort_release(m, hold));
          break;
        }
        default:
          Desc(codelets[random() % 3]).rw(blocks[a]->x).r(blocks[b]->x).arg(t).must(m);
          want[a] = (t * 31 + want[a]) * 31 + want[b];
      }
    }
    ASSERT_OK(consort_wait_all(m, kLong, 0));
    EXPECT_EQ(use_of(m, kApart).needed_evictions, 0u);
    for (int i = 0; i < kData; ++i) {
      ASSERT_OK(consort_unregister(m, blocks[i]->x));
      ASSERT_EQ(blocks[i]->memory[0], want[i]) << "datum " << i;
      ASSERT_EQ(blocks[i]->memory.back(), want[i]);
    }
  }
}

// A copy of a whole reads its memory at home, which is its parts' memory, too. No task waits for the copy, but it ends
// before a part is written. The simulated link is slow.
TEST(MemoryRequests, CopyOfAWholeEndsBeforePartsAreWritten) {
  constexpr uint64_t kCells = 16384;
  for (const bool read_first : {false, true}) {
    Rt rt({{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"}, {"sim.devices", "1"}, {"sim.bandwidth", "2M"}, {"log", "error"}});
    uint32_t far = CONSORT_NONE;
    for (uint32_t s = 0; far == CONSORT_NONE; ++s) {
      consort_space_info info{sizeof info, 0, nullptr, nullptr, nullptr, 0, 0, 0};
      ASSERT_OK(consort_get_space(rt, s, &info));
      if (std::string(info.driver) == "sim") far = s;
    }
    Bodies bodies;
    std::atomic<int> beside{0};
    std::vector<uint64_t> memory(kCells, 1);
    const auto x = vector_of(rt, memory.data(), kCells, 8, "whole");
    const auto write = bodies(rt, "write", [&](const consort_call &c) {
      uint32_t bits = 0;
      if (consort_data_in(rt, x, far, &bits) < 0 || (bits & CONSORT_IN_COMING)) ++beside;
      return fill(c);
    });
    const auto read = bodies(rt, "read", [](const consort_call &) { return CONSORT_OK; });
    consort_plan_desc d = CONSORT_PLAN_INIT;
    consort_plan_id plan{0};
    std::vector<consort_data_id> part(2);
    const consort_split in_two{2, 0};
    d.filter = "blocks";
    d.params = &in_two;
    d.params_bytes = sizeof in_two;
    ASSERT_OK(consort_plan_create(rt, x, &d, &plan));
    ASSERT_EQ(consort_plan_parts(rt, plan, part.data(), 2), 2);
    for (uint64_t round = 2; round < 5; ++round) {
      if (read_first) Desc(read).r(part[1]).must(rt);
      ASSERT_OK(consort_prefetch(rt, x, far, 0, 0, nullptr));
      Desc(write).w(part[0]).arg(round).must(rt);
      Desc(read).r(x).must(rt);
    }
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(beside, 0) << "of three writers";
    ASSERT_OK(consort_unregister(rt, x));
    EXPECT_EQ(memory[0], 4u);
    EXPECT_EQ(memory[kCells - 1], 1u);
  }
}

}  // namespace
