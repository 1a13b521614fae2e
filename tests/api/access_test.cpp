// access_test.cpp — COMMUTE, REDUX and accesses without order, alone and mixed (ACC-05, ACC-06, DEP-04, RED-01..05).
#include <cmath>
#include <random>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

constexpr uint32_t kCommute = CONSORT_M_RW | CONSORT_M_COMMUTE;

Pairs workers(const char *n, const char *scheduler = "lws") {
  return {{"workers", n}, {"cpu.topology", kFourCores}, {"scheduler", scheduler}};
}

// The sum of int64_t by reduction.
struct Sum {
  Bodies bodies;
  consort_codelet_id init, combine, add;
  std::atomic<int> inits{0}, combines{0};
  explicit Sum(consort_runtime *rt) {
    init = bodies(rt, "zero", [this](const consort_call &c) {
      inits.fetch_add(1);
      *pointer<int64_t>(c, 0) = 0;
      return CONSORT_OK;
    }, 1);
    combine = bodies(rt, "plus", [this](const consort_call &c) {
      combines.fetch_add(1);
      *pointer<int64_t>(c, 0) += *pointer<int64_t>(c, 1);
      return CONSORT_OK;
    }, 2);
    add = bodies(rt, "add", [](const consort_call &c) {
      *pointer<int64_t>(c, 0) += value<int64_t>(c, 0);
      return CONSORT_OK;
    });
  }
};

int64_t read(consort_runtime *rt, consort_data_id x) {
  consort_hold hold;
  need(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold), "acquire");
  const auto *view = static_cast<const consort_variable_view *>(hold.view);
  const int64_t v = *static_cast<int64_t *>(consort_ptr(view->addr));
  need(consort_release(rt, hold), "release");
  return v;
}

}  // namespace

// -- COMMUTE ----------------------------------------------------------------------------------------------------

TEST(Commute, OneAtATimeAndNoneLost) {  // ACC-06
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

TEST(Commute, NeedNotRunInOrder) {
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

TEST(Commute, ReadersAndWritersKeepTheirPlace) {
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

TEST(Commute, SeveralDataAtOnceNeitherCollideNorStarve) {  // the dining philosophers
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

TEST(Commute, OneThatNeedsAllGetsThereWhileOthersKeepComing) {
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

TEST(Commute, AnEmptyTaskTakesItsPlaceAmongTheOthers) {
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

TEST(Commute, AFailurePoisonsAndACancelledOneReleases) {
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

// -- REDUX ------------------------------------------------------------------------------------------------------

TEST(Redux, TheSumIsThereForWhoeverReads) {  // RED-01, RED-02, RED-03
  for (const char *n : {"1", "2", "3", "4"})
    for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
      Rt rt(workers(n));
      Sum sum(rt);
      int64_t v = 1000;
      const auto x = variable_of(rt, &v);
      ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
      int64_t want = 1000;
      for (int round = 0; round < 5; ++round) {
        for (int64_t i = 0; i < 700; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt), want += i;
        if (round & 1) EXPECT_EQ(read(rt, x), want);
        else Desc(sum.add).rw(x).arg(int64_t{5}).must(rt), want += 5;
      }
      EXPECT_EQ(read(rt, x), want);
      EXPECT_OK(consort_unregister(rt, x));
      EXPECT_EQ(v, want);
    }
}

TEST(Redux, UnregisteringBringsTheContributionsHome) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t v = 1;
  const auto x = variable_of(rt, &v);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  for (int64_t i = 1; i <= 10; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX).arg(i).must(rt);
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(v, 56);
}

TEST(Redux, OverwritingDropsContributions) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Rt rt(workers("2"));
    Sum sum(rt);
    Bodies bodies;
    int64_t v = 1;
    const auto x = variable_of(rt, &v);
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 7; return CONSORT_OK; });
    for (int64_t i = 1; i <= 100; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt);
    Desc(set).w(x).must(rt);
    for (int64_t i = 1; i <= 3; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt);
    EXPECT_EQ(read(rt, x), 13);
  }
}

TEST(Redux, NeverWrittenBeginsWithNothing) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Rt rt(workers("2"));
    Sum sum(rt);
    const auto x = variable_of(rt, static_cast<int64_t *>(nullptr));  // no home either
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    for (int64_t i = 1; i <= 100; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt);
    EXPECT_EQ(read(rt, x), 5050);
  }
}

TEST(Redux, AFixedTreeGivesTheSameBitsEveryTime) {  // DECISIONS 14
  std::vector<float> results;
  for (int run = 0; run < 8; ++run) {
    Rt rt(workers(run % 4 == 0 ? "1" : run % 4 == 1 ? "2" : run % 4 == 2 ? "3" : "4"));
    Bodies bodies;
    const auto init = bodies(rt, "zero", [](const consort_call &c) { *pointer<float>(c, 0) = 0; return CONSORT_OK; });
    const auto combine = bodies(rt, "plus", [](const consort_call &c) { *pointer<float>(c, 0) += *pointer<float>(c, 1); return CONSORT_OK; });
    const auto add = bodies(rt, "add", [](const consort_call &c) { *pointer<float>(c, 0) += value<float>(c, 0); return CONSORT_OK; });
    float v = 0;
    const auto x = variable_of(rt, &v);
    ASSERT_OK(consort_data_set_reduction(rt, x, init, combine));
    std::mt19937 random(11);
    for (int i = 0; i < 3000; ++i) Desc(add).use(x, CONSORT_M_REDUX | CONSORT_M_FIXED_TREE).arg(std::ldexp(float(random() % 1000 + 1), int(random() % 40) - 20)).must(rt);
    EXPECT_OK(consort_unregister(rt, x));
    results.push_back(v);
  }
  for (const float r : results) EXPECT_EQ(std::memcmp(&r, &results[0], sizeof r), 0) << r << " " << results[0];
}

TEST(Redux, CopiesAreFew) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t v = 0;
  const auto x = variable_of(rt, &v);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  for (int i = 0; i < 5000; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX).arg(int64_t{1}).must(rt);
  EXPECT_EQ(read(rt, x), 5000);
  EXPECT_LE(sum.inits.load(), 3);  // one per thread that ran some: two workers, and the one that waited
}

TEST(Redux, MixedWithEverythingElse) {
  const char *const schedulers[] = {"lws", "eager", "prio", "ws", "random"}, *const counts[] = {"1", "2", "4"};
  for (unsigned seed = 0; seed < 30; ++seed) {
    Rt rt(workers(counts[seed % 3], schedulers[seed / 3 % 5]));
    Sum sum(rt);
    Bodies bodies;
    int64_t v = 0;
    std::atomic<int> wrong{0};
    const auto x = variable_of(rt, &v);
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    const auto check = bodies(rt, "check", [&](const consort_call &c) {
      if (*pointer<int64_t>(c, 0) != value<int64_t>(c, 0)) wrong.fetch_add(1);
      return CONSORT_OK;
    });
    const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = value<int64_t>(c, 0); return CONSORT_OK; });
    std::mt19937 random(seed);
    int64_t want = 0;
    for (int i = 0; i < 2000; ++i) {
      const auto k = static_cast<int64_t>(random() % 100);
      switch (random() % 8) {
        case 0: Desc(check).r(x).arg(want).must(rt); break;
        case 1: if (random() % 4 == 0) Desc(set).w(x).arg(want = k).must(rt); break;
        case 2: Desc(sum.add).rw(x).arg(k).must(rt), want += k; break;
        case 3: Desc(sum.add).use(x, kCommute).arg(k).must(rt), want += k; break;
        case 4: Desc(sum.add).use(x, CONSORT_M_REDUX | CONSORT_M_FIXED_TREE).arg(k).must(rt), want += k; break;
        default: Desc(sum.add).use(x, CONSORT_M_REDUX).arg(k).must(rt), want += k;
      }
    }
    EXPECT_EQ(read(rt, x), want);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));  // readers may still be at it
    EXPECT_EQ(wrong.load(), 0);
  }
}

TEST(Redux, AFailedPartPoisonsTheWholeUntilItIsWritten) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Rt rt(workers("2"));
    Sum sum(rt);
    Bodies bodies;
    int64_t v = 0;
    const auto x = variable_of(rt, &v, "total");
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    const auto fail = bodies(rt, "fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
    const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 1; return CONSORT_OK; });
    for (int i = 0; i < 20; ++i) Desc(i == 7 ? fail : sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{1}).must(rt);
    consort_hold hold;
    EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, x, CONSORT_M_R, kLong, &hold), "total", "no luck");
    EXPECT_LT(consort_wait_all(rt, kLong, 0), 0);
    Desc(set).w(x).must(rt);
    for (int i = 0; i < 20; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{2}).must(rt);
    EXPECT_EQ(read(rt, x), 41);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
  }
}

TEST(Redux, PoisonDoesNotStayInTheCopies) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}})
    for (const uint32_t then : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
      Rt rt(workers("4"));
      Sum sum(rt);
      Bodies bodies;
      int64_t v = 0;
      const auto x = variable_of(rt, &v, "total");
      ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
      const auto fail = bodies(rt, "fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
      const auto set = bodies(rt, "set", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 1; return CONSORT_OK; });
      Desc(fail).rw(x).must(rt);
      for (int i = 0; i < 20; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{1}).must(rt);
      Desc(sum.add).rw(x).arg(int64_t{1}).must(rt);  // has them united, which fails
      Desc(set).w(x).must(rt);
      for (int i = 0; i < 20; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | then).arg(int64_t{2}).must(rt);
      EXPECT_EQ(read(rt, x), 41);
      EXPECT_LT(consort_wait_all(rt, kLong, 0), 0);
    }
}

TEST(Redux, BodiesThatWaitHaveACopyOfTheirOwn) {
  Rt rt(workers("1"));
  Sum sum(rt);
  Bodies bodies;
  int64_t v = 0, other = 0;
  const auto x = variable_of(rt, &v), y = variable_of(rt, &other);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  const auto none = bodies(rt, "none", [](const consort_call &) { return CONSORT_OK; });
  const auto outer = bodies(rt, "outer", [&](const consort_call &c) {
    int64_t &mine = *pointer<int64_t>(c, 0);
    const int64_t before = mine;
    const auto t = Desc(none).rw(y).must(rt);
    if (consort_task_wait(rt, t, kLong, 0) < 0 || mine != before) return consort_fail(CONSORT_E_INTERNAL, "somebody was here");
    mine = before + 1;
    return static_cast<consort_status>(CONSORT_OK);
  });
  for (int i = 0; i < 200; ++i) Desc(outer).use(x, CONSORT_M_REDUX).must(rt);
  EXPECT_EQ(read(rt, x), 200);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(Redux, BadInput) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t v = 0;
  const auto x = variable_of(rt, &v, "total");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(sum.add).use(x, CONSORT_M_REDUX).arg(int64_t{1}).to(rt), "total", "consort_data_set_reduction");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_reduction(rt, x, {0}, sum.combine), "init");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_reduction(rt, x, sum.combine, sum.init), "2 data");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_reduction(rt, {0}, sum.init, sum.combine), "null handle");
  EXPECT_SAYS(CONSORT_E_STALE, consort_data_set_reduction(rt, {x.v + (uint64_t{1} << 32)}, sum.init, sum.combine), "stale");
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(sum.add).use(x, CONSORT_M_REDUX).rw(x).arg(int64_t{1}).to(rt), "total", "twice");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(sum.add).use(x, CONSORT_M_RW | CONSORT_M_FIXED_TREE).arg(int64_t{1}).to(rt), "FIXED_TREE");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(sum.add).use(x, CONSORT_M_REDUX | CONSORT_M_W).arg(int64_t{1}).to(rt), "mode");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(sum.add).use(x, CONSORT_M_R | CONSORT_M_COMMUTE).arg(int64_t{1}).to(rt), "mode");
  Desc(sum.add).use(x, CONSORT_M_REDUX).arg(int64_t{1}).must(rt);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_data_set_reduction(rt, x, sum.init, sum.combine), "total");
  EXPECT_EQ(read(rt, x), 1);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  EXPECT_OK(consort_codelet_remove(rt, sum.combine));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(sum.add).use(x, CONSORT_M_REDUX).arg(int64_t{1}).to(rt), "combines");
}

TEST(Redux, ItsCodeletsCannotGoWhileThereIsSomethingToUnite) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}})
    for (const char *n : {"1", "4"}) {
      Rt rt(workers(n));
      Sum sum(rt);
      int64_t v = 0;
      const auto x = variable_of(rt, &v, "total");
      ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
      const auto contribute = [&] {
        for (int64_t i = 0; i < 10; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{1}).must(rt);
      };
      const auto both_stay = [&] {
        EXPECT_SAYS(CONSORT_E_BUSY, consort_codelet_remove(rt, sum.init), "'zero'", "contributions", "acquire");
        EXPECT_SAYS(CONSORT_E_BUSY, consort_codelet_remove(rt, sum.combine), "'plus'");
      };
      contribute();
      both_stay();
      EXPECT_OK(consort_wait_all(rt, kLong, 0));
      both_stay();  // nobody has read them yet
      EXPECT_EQ(read(rt, x), 10);
      contribute();
      EXPECT_EQ(read(rt, x), 20);
      // United, but not yet: whoever removes it waits, as for a task.
      Bodies bodies;
      Gate gate;
      const auto stand = bodies(rt, "stand", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
      const auto look = bodies(rt, "look", [](const consort_call &) { return CONSORT_OK; });
      contribute();
      Desc(stand).use(x, CONSORT_M_REDUX | hint).must(rt);
      Desc(look).r(x).must(rt);
      std::atomic<bool> removed{false};
      std::thread remover([&] {
        EXPECT_OK(consort_codelet_remove(rt, sum.init));
        EXPECT_OK(consort_codelet_remove(rt, sum.combine));
        removed = true;
      });
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(removed);
      gate.open();
      remover.join();
      EXPECT_EQ(read(rt, x), 30);
      EXPECT_SAYS(CONSORT_E_STALE, Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{1}).to(rt), "'total'", "begins");
    }
}

TEST(Redux, WhatDropsContributionsLetsTheirCodeletsGo) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}})
    for (int how = 0; how < 4; ++how) {
      Rt rt(workers("2"));
      Sum sum(rt);
      int64_t v = 7;
      const auto x = variable_of(rt, &v, "total");
      ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
      Bodies bodies;
      const auto write = bodies(rt, "write", [](const consort_call &c) { return *pointer<int64_t>(c, 0) = 1, CONSORT_OK; });
      const auto fail = bodies(rt, "fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "on purpose"); });
      for (int64_t i = 0; i < 10; ++i) Desc(how == 3 && i == 4 ? fail : sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt);
      EXPECT_SAYS(CONSORT_E_BUSY, consort_codelet_remove(rt, sum.combine), "'plus'");
      switch (how) {
        case 0: EXPECT_OK(consort_invalidate(rt, x)); break;
        case 1: Desc(write).w(x).must(rt); break;
        case 2: EXPECT_OK(consort_unregister_later(rt, x)); break;
        default: Desc(write).rw(x).must(rt);
      }
      EXPECT_OK(consort_codelet_remove(rt, sum.init));
      EXPECT_OK(consort_codelet_remove(rt, sum.combine));
      const Answer all(consort_wait_all(rt, kLong, 0));
      EXPECT_EQ(all.status, how == 3 ? CONSORT_E_IO : CONSORT_OK) << all.text;
      EXPECT_EQ(how == 2 ? v : 52, 52);
    }
}

// -- without order ------------------------------------------------------------------------------------------------

TEST(Unordered, NeitherWaitsNorIsWaitedFor) {  // DEP-04
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
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_acquire(rt, x, CONSORT_M_R, 1'000'000, &hold));  // whoever takes it waits for all
    gate.open();
    EXPECT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
    EXPECT_OK(consort_release(rt, hold));
    EXPECT_OK(consort_data_set_ordered(rt, x, 1));
    EXPECT_OK(consort_unregister(rt, x));
  }
}

TEST(Unordered, UnregisteringWaitsForAll) {
  Rt rt(workers("4"));
  Bodies bodies;
  std::vector<int64_t> v(64);
  std::atomic<int> ran{0};
  const auto x = vector_of(rt, v.data(), v.size(), 8);
  EXPECT_OK(consort_data_set_ordered(rt, x, 0));
  const auto one = bodies(rt, "one", [&](const consort_call &c) {
    std::atomic_ref<int64_t>(pointer<int64_t>(c, 0)[value<int>(c, 0)]).store(1);  // nobody orders them
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

TEST(Access, ShortTasksOfEveryKindAddUp) {  // ACC-05, ACC-06, RED-01
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

TEST(Access, ShortTasksAreRefusedAsLongOnesAre) {
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

TEST(Access, ScratchMayComeBeforeWhatIsWritten) {
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

TEST(Access, FromSeveralThreads) {
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
