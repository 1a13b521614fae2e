// COMMUTE and accesses without order, alone and mixed with REDUX (ACC-05, ACC-06, DEP-04, RED-01).
#include <consort/settings.h>

#include <random>

#include "api/sums.hpp"

using namespace consort_test;

// -- COMMUTE ----------------------------------------------------------------------------------------------------

TEST(Commute, RunsOneTaskAtATime) {  // ACC-06
  for (const char *n : {"1", "2", "4"}) {
    Rt rt(workers(n));
    Bodies bodies;
    int64_t sum = 0;
    std::atomic<int> inside{0}, most{0};
    const auto x = variable_of(rt, &sum);
    const auto add = bodies(rt, "add", [&](const consort_call &c) {
      if (inside.fetch_add(1) != 0) most.store(2);
      ++*pointer<int64_t>(c, 0);
      inside.fetch_sub(1);
      return CONSORT_OK;
    });
    for (int i = 0; i < 20000; ++i) Desc(add).use(x, kCommute).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(sum, 20000);
    EXPECT_EQ(most.load(), 0);
  }
}

TEST(Commute, MayRunOutOfOrder) {
  Rt rt(workers("2"));
  Bodies bodies;
  Gate gate;
  int64_t a = 0, b = 0;
  std::atomic<bool> second{false};
  const auto x = variable_of(rt, &a), y = variable_of(rt, &b);
  const auto stand = bodies(rt, "stand", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
  const auto go = bodies(rt, "go", [&](const consort_call &) { second = true; return CONSORT_OK; });
  const auto none = bodies(rt, "none", [&](const consort_call &) { return CONSORT_OK; });
  Desc(stand).rw(y).must(rt);
  Desc(none).r(y).use(x, kCommute).must(rt);  // its turn on x would be first, but y is not ready
  Desc(go).use(x, kCommute).must(rt);
  EXPECT_TRUE(eventually([&] { return second.load(); }));
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(Commute, ReadersAndWritersKeepProgramOrder) {
  for (const char *scheduler : {"lws", "eager", "prio", "ws", "random"}) {
    Rt rt(workers("4", scheduler));
    Bodies bodies;
    int64_t sum = 0;
    std::atomic<int> wrong{0};
    const auto x = variable_of(rt, &sum);
    const auto add = bodies(rt, "add", [](const consort_call &c) { ++*pointer<int64_t>(c, 0); return CONSORT_OK; });
    const auto check = bodies(rt, "check", [&](const consort_call &c) {
      if (*pointer<int64_t>(c, 0) != value<int64_t>(c, 0)) wrong.fetch_add(1);
      return CONSORT_OK;
    });
    const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = value<int64_t>(c, 0); return CONSORT_OK; });
    int64_t want = 0;
    std::mt19937 random(7);
    for (int i = 0; i < 3000; ++i) switch (random() % 5) {
        case 0: Desc(check).r(x).arg(want).must(rt); break;
        case 1: Desc(set).w(x).arg(want = static_cast<int64_t>(random() % 1000)).must(rt); break;
        case 2: Desc(add).rw(x).must(rt); ++want; break;
        default: Desc(add).use(x, kCommute).must(rt); ++want;
      }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(read(rt, x), want);
  }
}

TEST(Commute, TasksOnSeveralDataNeitherCollideNorStarve) {  // the dining philosophers
  for (const char *n : {"1", "2", "4"}) {
    Rt rt(workers(n));
    Bodies bodies;
    constexpr int kData = 6;
    int64_t sums[kData] = {};
    std::atomic<int> inside[kData] = {};
    std::atomic<int> collisions{0}, big{0};
    consort_data_id x[kData];
    for (int i = 0; i < kData; ++i) x[i] = variable_of(rt, &sums[i]);
    const auto add = bodies(rt, "add", [&](const consort_call &c) {
      for (uint32_t i = 0; i < c.nviews; ++i) {
        const auto k = pointer<int64_t>(c, i) - sums;
        if (inside[k].fetch_add(1)) collisions.fetch_add(1);
        ++sums[k];
      }
      for (uint32_t i = 0; i < c.nviews; ++i) inside[pointer<int64_t>(c, i) - sums].fetch_sub(1);
      big.fetch_add(c.nviews == kData);
      return CONSORT_OK;
    });
    std::mt19937 random(3);
    int64_t want[kData] = {};
    int nbig = 0;
    for (int i = 0; i < 12000; ++i) {
      Desc d(add);
      uint32_t set = random() % 16 == 0 ? (1u << kData) - 1 : 1u << random() % kData | 1u << random() % kData;
      for (int k = kData; k-- > 0;)
        if (set >> k & 1) d.use(x[k], kCommute), ++want[k];
      nbig += set == (1u << kData) - 1;
      d.must(rt);
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    for (int k = 0; k < kData; ++k) EXPECT_EQ(sums[k], want[k]);
    EXPECT_EQ(collisions.load(), 0);
    EXPECT_EQ(big.load(), nbig);
  }
}

TEST(Commute, TaskOnAllDataIsNotStarved) {
  Rt rt(workers("2"));
  Bodies bodies;
  int64_t a = 0, b = 0;
  std::atomic<bool> done{false};
  const auto x = variable_of(rt, &a), y = variable_of(rt, &b);
  const auto spin = bodies(rt, "spin", [&](const consort_call &) { return CONSORT_OK; });
  const auto both = bodies(rt, "both", [&](const consort_call &) { done = true; return CONSORT_OK; });
  for (int i = 0; i < 200; ++i) Desc(spin).use(i & 1 ? x : y, kCommute).must(rt);
  Desc(both).use(x, kCommute).use(y, kCommute).must(rt);
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 100; ++i) Desc(spin).use(i & 1 ? x : y, kCommute).must(rt);
    return done.load();
  }));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(Commute, EmptyTasksCommuteWithOthers) {
  Rt rt(workers("2"));
  Bodies bodies;
  int64_t a = 0, b = 0;
  const auto x = variable_of(rt, &a), y = variable_of(rt, &b);
  const auto add = bodies(rt, "add", [](const consort_call &c) { ++*pointer<int64_t>(c, 0); return CONSORT_OK; });
  for (int i = 0; i < 300; ++i) {
    Desc(add).use(x, kCommute).must(rt);
    Desc empty;
    empty.use(x, kCommute);
    if (i & 1) empty.use(y, kCommute);
    empty.must(rt);
    if (i % 5 == 0) Desc(add).rw(x).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(read(rt, x), 360);
}

TEST(Commute, FailurePoisonsAndCancellationReleases) {
  Rt rt(workers("2"));
  Bodies bodies;
  int64_t a = 0, b = 0;
  const auto x = variable_of(rt, &a, "x"), y = variable_of(rt, &b);
  const auto fail = bodies(rt, "fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
  const auto none = bodies(rt, "none", [](const consort_call &) { return CONSORT_OK; });
  Desc(fail).use(x, kCommute).use(y, kCommute).must(rt);
  Desc(none).use(y, kCommute).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "no luck");
  Desc(none).use(x, kCommute).must(rt);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_wait_all(rt, kLong, 0), "x");
  EXPECT_OK(consort_invalidate(rt, x));
  EXPECT_OK(consort_invalidate(rt, y));
  const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 1; return CONSORT_OK; });
  Desc(set).w(x).must(rt);
  Gate gate;
  const auto stand = bodies(rt, "stand", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
  Desc(stand).use(x, kCommute).must(rt);
  EXPECT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  const auto parked = Desc(none).use(x, kCommute).must(rt);
  const auto last = Desc(none).use(x, kCommute).must(rt);
  EXPECT_OK(consort_task_cancel(rt, parked));
  gate.open();
  (void)last;
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_wait_all(rt, kLong, 0));
}

// -- without order ------------------------------------------------------------------------------------------------

TEST(Unordered, AccessesAddNoDependences) {  // DEP-04
  for (const bool by_datum : {false, true}) {
    Rt rt(workers("2"));
    Bodies bodies;
    Gate gate;
    int64_t v = 0;
    std::atomic<bool> ran{false};
    const auto x = variable_of(rt, &v);
    const auto stand = bodies(rt, "stand", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
    const auto go = bodies(rt, "go", [&](const consort_call &) { ran = true; return CONSORT_OK; });
    Desc first(stand), then(go);
    if (by_datum) EXPECT_OK(consort_data_set_ordered(rt, x, 0));
    else first.d.flags = CONSORT_TASK_UNORDERED;
    first.rw(x).must(rt);
    then.rw(x).must(rt);
    EXPECT_TRUE(eventually([&] { return ran.load() && gate.waiting() == 1; }));  // not here, where a wait helps
    consort_hold hold;
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_acquire(rt, x, CONSORT_M_R, 1'000'000, &hold));  // waits for all
    gate.open();
    EXPECT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
    EXPECT_OK(consort_release(rt, hold));
    EXPECT_OK(consort_data_set_ordered(rt, x, 1));
    EXPECT_OK(consort_unregister(rt, x));
  }
}

TEST(Unordered, DefaultHoldsForLaterRegistrations) {  // DEP-03
  Rt rt(workers("2"));
  Bodies bodies;
  Gate gate;
  int64_t v[3] = {};
  std::atomic<int> ran{0};
  const auto before = variable_of(rt, &v[0]);
  int32_t was = 7;
  EXPECT_OK(consort_runtime_set_ordered(rt, 0, &was));
  EXPECT_EQ(was, 1);
  const auto loose = variable_of(rt, &v[1]);
  EXPECT_OK(consort_runtime_set_ordered(rt, 1, &was));
  EXPECT_EQ(was, 0);
  const auto after = variable_of(rt, &v[2]);
  const auto stand = bodies(rt, "stand", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
  const auto go = bodies(rt, "go", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  Desc(stand).rw(before).rw(loose).rw(after).must(rt);
  Desc(go).rw(loose).must(rt);
  EXPECT_TRUE(eventually([&] { return ran == 1 && gate.waiting() == 1; }));
  for (const auto d : {before, after}) {
    consort_hold hold;
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_acquire(rt, d, CONSORT_M_R, 1'000'000, &hold));
    Desc(go).rw(d).must(rt);
  }
  Desc(go).rw(loose).must(rt);
  EXPECT_TRUE(eventually([&] { return ran == 2; }));
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 4);
  for (const auto d : {before, loose, after}) EXPECT_OK(consort_unregister(rt, d));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_runtime_set_ordered(nullptr, 1, nullptr));
}

TEST(Unordered, UnregisterWaitsForAllAccesses) {
  Rt rt(workers("4"));
  Bodies bodies;
  std::vector<int64_t> v(64);
  std::atomic<int> ran{0};
  const auto x = vector_of(rt, v.data(), v.size(), 8);
  EXPECT_OK(consort_data_set_ordered(rt, x, 0));
  const auto one = bodies(rt, "one", [&](const consort_call &c) {
    std::atomic_ref<int64_t>(pointer<int64_t>(c, 0)[value<int>(c, 0)]).store(1);  // the accesses have no order
    ran.fetch_add(1);
    return CONSORT_OK;
  });
  for (int i = 0; i < 5000; ++i) Desc(one).rw(x).arg(i % 64).must(rt);
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(ran.load(), 5000);
}

// -- the short way: no arguments, a few data, beside others of their kind -------------------------------------------

namespace {

// Adds one to every datum; with scratch in between, by way of that.
struct Ones {
  Bodies bodies;
  consort_codelet_id init, combine, one, two, through;
  explicit Ones(consort_runtime *rt) {
    init = bodies(rt, "zero", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 0; return CONSORT_OK; }, 1);
    combine = bodies(rt, "plus", [](const consort_call &c) { *pointer<int64_t>(c, 0) += *pointer<int64_t>(c, 1); return CONSORT_OK; }, 2);
    one = bodies(rt, "one", [](const consort_call &c) { ++*pointer<int64_t>(c, 0); return CONSORT_OK; });
    two = bodies(rt, "two", [](const consort_call &c) { ++*pointer<int64_t>(c, 0), ++*pointer<int64_t>(c, 1); return CONSORT_OK; });
    through = bodies(rt, "through", [](const consort_call &c) {
      *pointer<int64_t>(c, 1) = *pointer<int64_t>(c, 0) + 1;
      *pointer<int64_t>(c, 0) = *pointer<int64_t>(c, 1);
      return CONSORT_OK;
    });
  }
};

}  // namespace

TEST(AccessModes, MixedShortTasksGiveTheSequentialSum) {  // ACC-05, ACC-06, RED-01
  for (unsigned seed = 0; seed < 24; ++seed) {
    const int threads = seed % 3 == 2 ? 3 : 1;
    Rt rt(workers(seed & 1 ? "2" : "4"));
    Ones ones(rt);
    int64_t v[3] = {0, 0, 0}, none = 0;
    consort_data_id x[3];
    for (int i = 0; i < 3; ++i) {
      x[i] = variable_of(rt, &v[i]);
      ASSERT_OK(consort_data_set_reduction(rt, x[i], ones.init, ones.combine));
    }
    const auto scratch = variable_of(rt, &none);
    std::atomic<int64_t> want[3] = {0, 0, 0};
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
      all.emplace_back([&, t] {
        std::mt19937 random(seed * 8 + t);
        for (int i = 0; i < 3000; ++i) {
          const int a = (i / 50 + t) % 3, b = (a + 1) % 3;  // phases long enough to go beside others, and their ends
          const uint32_t kinds[] = {CONSORT_M_REDUX, CONSORT_M_REDUX, CONSORT_M_REDUX, kCommute, kCommute, CONSORT_M_RW};
          const uint32_t mode = kinds[i / 7 % 6];
          ++want[a];
          switch (random() % 5) {
            case 0: Desc(ones.two).use(x[a], mode).use(x[b], CONSORT_M_REDUX).must(rt), ++want[b]; break;
            case 1: Desc(ones.two).use(x[a], kCommute).use(x[b], kCommute).must(rt), ++want[b]; break;
            case 2: Desc(ones.through).use(x[a], mode).use(scratch, CONSORT_M_SCRATCH).must(rt); break;
            case 3: Desc(ones.one).use(x[a], mode).r(x[b]).must(rt); break;
            default: Desc(ones.one).use(x[a], mode).must(rt);
          }
        }
      });
    for (auto &t : all) t.join();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(read(rt, x[i]), want[i].load()) << "seed " << seed << ", datum " << i;
  }
}

TEST(AccessModes, FastPathRefusesAsTheFullPathDoes) {
  Rt rt(workers("2"));
  Ones ones(rt);
  int64_t v = 0, w = 0;
  const auto x = variable_of(rt, &v, "total"), y = variable_of(rt, &w, "other");
  ASSERT_OK(consort_data_set_reduction(rt, x, ones.init, ones.combine));
  for (int i = 0; i < 10; ++i) Desc(ones.one).use(x, CONSORT_M_REDUX).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(ones.two).use(x, CONSORT_M_REDUX).use(x, kCommute).to(rt), "total", "twice");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(ones.one).use(x, CONSORT_M_REDUX | CONSORT_M_W).to(rt), "mode");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(ones.one).use(y, CONSORT_M_REDUX).to(rt), "other", "consort_data_set_reduction");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(ones.one).use(y, CONSORT_M_COMMUTE).to(rt), "mode");
  EXPECT_OK(consort_unregister(rt, y));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(ones.one).use(y, kCommute).to(rt), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(ones.two).use(x, CONSORT_M_REDUX).use(y, CONSORT_M_SCRATCH).to(rt), "stale");
  EXPECT_EQ(read(rt, x), 10);
  for (int i = 0; i < 10; ++i) Desc(ones.one).use(x, CONSORT_M_REDUX).must(rt);
  EXPECT_EQ(read(rt, x), 20);
  EXPECT_OK(consort_codelet_remove(rt, ones.combine));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(ones.one).use(x, CONSORT_M_REDUX).to(rt), "combines");
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

// -- several submitters -------------------------------------------------------------------------------------------

TEST(AccessModes, ScratchMayPrecedeWrittenData) {
  Rt rt(workers("2"));
  Bodies bodies;
  const auto through = bodies(rt, "through", [](const consort_call &c) {
    *pointer<int64_t>(c, 0) = *pointer<int64_t>(c, 1) + 1;
    *pointer<int64_t>(c, 1) = *pointer<int64_t>(c, 0);
    return CONSORT_OK;
  });
  int64_t v[2] = {0, 0}, none = 0;
  const auto scratch = variable_of(rt, &none);
  const consort_data_id x[] = {variable_of(rt, &v[0]), variable_of(rt, &v[1])};
  for (int i = 0; i < 20; ++i) {
    Desc(through).use(scratch, CONSORT_M_SCRATCH).rw(x[0]).must(rt);
    Desc(through).use(scratch, CONSORT_M_SCRATCH).use(x[1], CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
    Desc(through).use(scratch, CONSORT_M_SCRATCH).rw(x[1]).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  for (const auto d : x) EXPECT_OK(consort_unregister(rt, d));
  EXPECT_EQ(v[0], 20);
  EXPECT_EQ(v[1], 40);
}

TEST(AccessModes, ConcurrentSubmittersGiveTheSequentialSum) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t a = 0, b = 0, c = 0;
  const auto x = variable_of(rt, &a), y = variable_of(rt, &b), z = variable_of(rt, &c);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  Bodies bodies;
  const auto both = bodies(rt, "both", [](const consort_call &k) { ++*pointer<int64_t>(k, 0); ++*pointer<int64_t>(k, 1); return CONSORT_OK; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        Desc(sum.add).use(x, i % 7 == 0 ? uint32_t{CONSORT_M_RW} : i % 3 ? uint32_t{CONSORT_M_REDUX} : CONSORT_M_REDUX | CONSORT_M_FIXED_TREE).arg(int64_t{1}).must(rt);
        Desc(both).use(t & 1 ? y : z, kCommute).use(t & 1 ? z : y, i % 5 ? kCommute : uint32_t{CONSORT_M_RW}).must(rt);
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(read(rt, x), 6000);
  EXPECT_EQ(read(rt, y), 6000);
  EXPECT_EQ(read(rt, z), 6000);
}
