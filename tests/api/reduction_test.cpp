// REDUX: contributions, how they are united, how they are dropped (ACC-05, RED-01..05).
#include <cmath>
#include <random>

#include "api/settled.hpp"
#include "api/sums.hpp"

using namespace consort_test;

TEST(Reduction, ReadersSeeTheSum) {  // RED-01, RED-02, RED-03
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

TEST(Reduction, UnregisterCombinesContributions) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t v = 1;
  const auto x = variable_of(rt, &v);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  for (int64_t i = 1; i <= 10; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX).arg(i).must(rt);
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(v, 56);
}

TEST(Reduction, OverwritingDropsContributions) {
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

TEST(Reduction, UnwrittenDataStartFromInit) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Rt rt(workers("2"));
    Sum sum(rt);
    const auto x = variable_of(rt, static_cast<int64_t *>(nullptr));  // no home either
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    for (int64_t i = 1; i <= 100; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(i).must(rt);
    EXPECT_EQ(read(rt, x), 5050);
  }
}

TEST(Reduction, FixedTreeIsBitwiseReproducible) {  // DECISIONS 14
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

TEST(Reduction, UsesOneCopyPerThread) {
  Rt rt(workers("2"));
  Sum sum(rt);
  int64_t v = 0;
  const auto x = variable_of(rt, &v);
  ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
  for (int i = 0; i < 5000; ++i) Desc(sum.add).use(x, CONSORT_M_REDUX).arg(int64_t{1}).must(rt);
  EXPECT_EQ(read(rt, x), 5000);
  EXPECT_LE(sum.inits.load(), 3);  // one for each thread that ran a task: two workers, and the waiting thread
}

TEST(Reduction, MixedAccessesGiveTheSequentialValues) {
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

TEST(Reduction, FailedContributionPoisonsUntilWritten) {
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

TEST(Reduction, PoisonDoesNotStayInCopies) {
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

TEST(Reduction, WaitingBodiesHaveTheirOwnCopy) {
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
    if (consort_task_wait(rt, t, kLong, 0) < 0 || mine != before) return consort_fail(CONSORT_E_INTERNAL, "another task wrote here");
    mine = before + 1;
    return static_cast<consort_status>(CONSORT_OK);
  });
  for (int i = 0; i < 200; ++i) Desc(outer).use(x, CONSORT_M_REDUX).must(rt);
  EXPECT_EQ(read(rt, x), 200);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(Reduction, RefusesBadArguments) {
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

TEST(Reduction, CodeletsAreBusyWhileContributionsArePending) {
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
      both_stay();  // they are unread
      EXPECT_EQ(read(rt, x), 10);
      contribute();
      EXPECT_EQ(read(rt, x), 20);
      // The union is pending: removal waits for it as for a task.
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
      EXPECT_TRUE(settled());
      EXPECT_FALSE(removed);
      gate.open();
      remover.join();
      EXPECT_EQ(read(rt, x), 30);
      EXPECT_SAYS(CONSORT_E_STALE, Desc(sum.add).use(x, CONSORT_M_REDUX | hint).arg(int64_t{1}).to(rt), "'total'", "begins");
    }
}

TEST(Reduction, DroppedContributionsReleaseCodelets) {
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

// The thread's last call was to the other runtime when the copies are united.
TEST(Reduction, UnitesAfterABodyCalledAnotherRuntime) {
  for (const uint32_t hint : {0u, uint32_t{CONSORT_M_FIXED_TREE}}) {
    Rt rt(workers("1")), other(workers("1"));
    Sum sum(rt);
    Bodies bodies, others;
    int64_t v = 0;
    const auto x = variable_of(rt, &v);
    ASSERT_OK(consort_data_set_reduction(rt, x, sum.init, sum.combine));
    const auto nothing = others(other, "nothing", [](const consort_call &) { return CONSORT_OK; });
    const auto add = bodies(rt, "add", [&](const consort_call &c) {
      *pointer<int64_t>(c, 0) += 1;
      return Desc(nothing).to(other);
    });
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 5; ++i) Desc(add).use(x, CONSORT_M_REDUX | hint).must(rt);
      EXPECT_EQ(read(rt, x), 5 * (round + 1));
    }
    EXPECT_OK(consort_unregister(rt, x));
    EXPECT_OK(consort_wait_all(other, kLong, 0));
  }
}
