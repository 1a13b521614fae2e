// The host's memory is limited, and acquired data count towards the limit. The runtime evicts other data for them. A
// thread never waits for memory that it holds itself (MEM-02, DAT-09).
#include "api/device_home.hpp"
#include "api/division.hpp"
#include "api/settled.hpp"
#include "support/folder.hpp"

using namespace consort_test;

namespace {

constexpr uint64_t kN = 512;  // 4 KiB each; twice as much there is

struct AcquiredDataMemory : ::testing::Test {
  const Folder folder{"held", "/var/tmp"};
  Machine m{Pairs{{"drivers", "cpu,sim,disk_posix"}, {"disk_posix.path", folder.path().c_str()}, {"disk_posix.capacity", "1M"},
                  {"limits", "ram=8K"}, {"save_ahead", "0"}}};
  consort_data_id fresh(const char *name, uint64_t n = kN) { return vector_of(m, static_cast<uint64_t *>(nullptr), n, 8, name); }
  consort_space_use use() const {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(m, m.host, &u), "use");
    return u;
  }
  void fill(consort_data_id d, uint64_t value) {
    consort_hold hold{};
    ASSERT_OK(consort_acquire(m, d, CONSORT_M_W, kLong, &hold));
    const auto *v = static_cast<const consort_vector_view *>(hold.view);
    for (uint64_t i = 0; i < v->n; ++i) static_cast<uint64_t *>(consort_ptr(v->addr))[i] = value + i;
    EXPECT_LE(use().used, 8192u);
    ASSERT_OK(consort_release(m, hold));
  }
  void expect_filled(consort_data_id d, uint64_t value) {
    consort_hold hold{};
    ASSERT_OK(consort_acquire(m, d, CONSORT_M_R, kLong, &hold));
    const auto *v = static_cast<const consort_vector_view *>(hold.view);
    for (uint64_t i = 0; i < v->n; ++i) ASSERT_EQ(static_cast<uint64_t *>(consort_ptr(v->addr))[i], value + i);
    ASSERT_OK(consort_release(m, hold));
  }
};

TEST_F(AcquiredDataMemory, AcquireToWriteIsCounted) {
  std::vector<consort_data_id> all;
  for (uint64_t i = 0; i < 6; ++i) {
    all.push_back(fresh("first"));
    ASSERT_NO_FATAL_FAILURE(fill(all[i], 1000 * i));
    EXPECT_EQ(use().used, std::min<uint64_t>(i + 1, 2) * 4096);
  }
  for (uint64_t i = 0; i < 6; ++i) ASSERT_NO_FATAL_FAILURE(expect_filled(all[i], 1000 * i)) << i;
  EXPECT_GE(use().evictions, 4u);
  for (const auto d : all) ASSERT_OK(consort_unregister(m, d));
  EXPECT_EQ(use().used, 0u);
}

TEST_F(AcquiredDataMemory, RefusesMoreThanTheLimit) {
  const auto large = fresh("large", 2 * kN + 1);
  consort_hold hold{};
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_acquire(m, large, CONSORT_M_W, kLong, &hold), "'large'", "bytes in ram at once", "there are 8192");
  ASSERT_OK(consort_unregister(m, large));
}

TEST_F(AcquiredDataMemory, RefusesWaitForOwnHolds) {
  const auto a = fresh("a"), b = fresh("b"), c = fresh("c");
  consort_hold ha{}, hb{}, hc{};
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_W, kLong, &ha));
  ASSERT_OK(consort_acquire(m, b, CONSORT_M_W, kLong, &hb));
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_acquire(m, c, CONSORT_M_W, kLong, &hc), "'c'", "this thread holds 8192 itself", "consort_release");
  ASSERT_OK(consort_release(m, ha));
  ASSERT_OK(consort_acquire(m, c, CONSORT_M_W, kLong, &hc));
  ASSERT_OK(consort_release(m, hb));
  ASSERT_OK(consort_release(m, hc));
  for (const auto d : {a, b, c}) ASSERT_OK(consort_unregister(m, d));
}

// The same datum twice to read is the same memory.
TEST_F(AcquiredDataMemory, DoubleReadHoldCountsOnce) {
  const auto a = fresh("a", 2 * kN);
  ASSERT_NO_FATAL_FAILURE(fill(a, 7));
  consort_hold one{}, two{};
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_R, kLong, &one));
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_R, kLong, &two));
  ASSERT_OK(consort_release(m, one));
  ASSERT_OK(consort_release(m, two));
  ASSERT_OK(consort_unregister(m, a));
}

// Memory that another thread holds is waited for, as that thread may release it.
TEST_F(AcquiredDataMemory, WaitsForHoldsOfOtherThreads) {
  const auto a = fresh("a", 2 * kN), b = fresh("b");
  consort_hold ha{};
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_W, kLong, &ha));
  std::atomic<bool> got{false};
  std::thread other([&] {
    consort_hold hb{};
    EXPECT_OK(consort_acquire(m, b, CONSORT_M_W, kLong, &hb));
    got = true;
    EXPECT_OK(consort_release(m, hb));
  });
  EXPECT_TRUE(settled());
  EXPECT_FALSE(got);
  ASSERT_OK(consort_release(m, ha));
  other.join();
  for (const auto d : {a, b}) ASSERT_OK(consort_unregister(m, d));
}

// A task waits for memory that this thread holds. A further acquire of this thread does not queue behind that task.
TEST_F(AcquiredDataMemory, HolderIsAdmittedBeforeWaitingTasks) {
  const auto a = fresh("a"), b = fresh("b"), all = fresh("all", 2 * kN);
  consort_hold ha{}, hb{};
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_W, kLong, &ha));
  Desc(m.add).w(all).arg(uint64_t{0}).on(m.cores[0]).must(m);
  ASSERT_TRUE(eventually([&] {
    char text[4096] = {};
    consort_explain(m, {0}, text, sizeof text);
    return std::strstr(text, "1 tasks wait for room") != nullptr;
  }));
  ASSERT_OK(consort_acquire(m, b, CONSORT_M_W, kLong, &hb));
  ASSERT_OK(consort_release(m, hb));
  ASSERT_OK(consort_release(m, ha));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (const auto d : {a, b, all}) ASSERT_OK(consort_unregister(m, d));
}

// A whole that has no memory yet gets it when its parts are first written: counted, too.
TEST_F(AcquiredDataMemory, FirstWrittenPartCountsTheWhole) {
  const auto full = fresh("full", 2 * kN), x = fresh("x");
  ASSERT_NO_FATAL_FAILURE(fill(full, 1));
  consort_plan_id plan{0};
  const auto part = split(m, x, "blocks", 4, &plan);
  for (const auto p : part) ASSERT_NO_FATAL_FAILURE(fill(p, 50));
  EXPECT_EQ(use().used, 4096u) << "the other one is on the disk";
  for (const auto p : part) ASSERT_NO_FATAL_FAILURE(expect_filled(p, 50));
  ASSERT_OK(consort_unregister(m, x));  // used parts keep their memory on the host until the whole is unregistered
  ASSERT_NO_FATAL_FAILURE(expect_filled(full, 1));
  ASSERT_OK(consort_unregister(m, full));
}

// A datum ends that is on its way between two devices. The queue for the host's memory, in which its end would stand,
// does not concern it. (That end was once made twice: when the way had ended, and again when its turn had come.)
TEST(AcquiredDataMemoryOfOthers, UnregisterDoesNotWaitForMemory) {
  const Folder folder("held", "/var/tmp");
  Machine m(Pairs{{"drivers", "cpu,sim,disk_posix"}, {"disk_posix.path", folder.path().c_str()}, {"disk_posix.capacity", "1M"},
                  {"limits", "ram=8K"}, {"sim.latency", "20ms"}});
  const auto x = vector_of(m, static_cast<uint64_t *>(nullptr), kN, 8, "x"), a = vector_of(m, static_cast<uint64_t *>(nullptr), kN, 8, "a"),
             all = vector_of(m, static_cast<uint64_t *>(nullptr), 2 * kN, 8, "all");
  Desc(m.add).w(x).arg(uint64_t{0}).on(m.devices[0]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  consort_hold hold{};
  ASSERT_OK(consort_acquire(m, a, CONSORT_M_W, kLong, &hold));
  Desc(m.add).w(all).arg(uint64_t{0}).on(m.cores[0]).must(m);
  const auto waiting = [&] {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(m, m.host, &u), "use");
    return u.waiting;
  };
  ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  ASSERT_OK(consort_prefetch(m, x, m.space[1], 0, 0, nullptr));
  ASSERT_TRUE(eventually([&] {
    uint32_t bits = 0;
    need(consort_data_in(m, x, m.space[1], &bits), "in");
    return (bits & CONSORT_IN_COMING) != 0;
  }));
  ASSERT_OK(consort_unregister(m, x)) << "while a task waits for this thread's hold";
  EXPECT_EQ(waiting(), 1u);
  std::vector<uint64_t> here(kN, 1);  // a copy home to memory of the application does not wait, either
  const auto mine = vector_of(m, here.data(), kN, 8, "mine");
  Desc(m.add).rw(mine).arg(uint64_t{1}).on(m.devices[0]).must(m);
  ASSERT_OK(consort_unregister(m, mine));
  EXPECT_EQ(here, std::vector<uint64_t>(kN, 2));
  EXPECT_EQ(waiting(), 1u);
  ASSERT_OK(consort_release(m, hold));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (const auto d : {a, all}) ASSERT_OK(consort_unregister(m, d));
}

}  // namespace
