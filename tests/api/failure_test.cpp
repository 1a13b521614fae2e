// Failing tasks: message, name, poisoned data, how poison is cleared, how the cause is reported.
#include <stdexcept>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct TaskFailure : ::testing::Test {
  Rt rt;
  Bodies body;
  int x = 0, y = 0, z = 0;
  consort_data_id a = variable_of(rt, &x, "alpha"), b = variable_of(rt, &y, "beta"), c = variable_of(rt, &z, "gamma");
  std::atomic<int> ran{0};
  consort_codelet_id good = body(rt, "good", [this](const consort_call &) { return ++ran, CONSORT_OK; });
  consort_codelet_id bad =
      body(rt, "bad", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "the well is dry"); });
  void TearDown() override { (void)consort_wait_all(rt, kLong, 0); }
  consort_failure collected() {
    consort_failure f{};
    f.size = sizeof f;
    need(consort_group_failure(rt, {0}, &f), "failure");
    return f;
  }
};

TEST_F(TaskFailure, MessageReachesTheWait) {
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, Desc(bad).name("bucket").must(rt), kLong, 0), "bucket",
              "the well is dry");
}

TEST_F(TaskFailure, FailReturnsItsCodeAndKeepsTheText) {
  EXPECT_EQ(consort_fail(CONSORT_E_NOMEM, "words"), CONSORT_E_NOMEM);
  EXPECT_STREQ(consort_error(), "words");
  EXPECT_EQ(consort_fail(CONSORT_E_IO, nullptr), CONSORT_E_IO);
  EXPECT_EQ(consort_fail(CONSORT_E_IO, std::string(100000, 'x').c_str()), CONSORT_E_IO);
  EXPECT_GT(std::strlen(consort_error()), 100u) << "as much as fits";
}

TEST_F(TaskFailure, FailureWithoutAMessageNamesTask) {
  const auto mute = body(rt, "mute", [](const consort_call &) { return CONSORT_E_UNSUPPORTED; });
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_wait(rt, Desc(mute).must(rt), kLong, 0), "mute", "E_UNSUPPORTED");
}

TEST_F(TaskFailure, EarlierMessagesAreNotReused) {
  const auto mute = body(rt, "mute", [](const consort_call &) { return CONSORT_E_IO; });
  const auto talks =
      body(rt, "talks", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "old words"), CONSORT_OK; });
  for (int i = 0; i < 20; ++i) Desc(talks).must(rt);
  for (int i = 0; i < 5; ++i) {
    const Answer a(consort_task_wait(rt, Desc(mute).must(rt), kLong, 0));
    EXPECT_EQ(a.text.find("old words"), std::string::npos) << a.text;
  }
}

TEST_F(TaskFailure, AcceptsUnknownAndPositiveCodes) {
  const auto odd = body(rt, "odd", [](const consort_call &k) { return value<int>(k, 0); });
  const Answer a(consort_task_wait(rt, Desc(odd).arg(-4711).must(rt), kLong, 0));
  EXPECT_LT(a.status, 0);
  EXPECT_NE(a.text.find("odd"), std::string::npos) << a.text;
  EXPECT_OK(consort_task_wait(rt, Desc(odd).arg(7).must(rt), kLong, 0)) << "> 0 is a good answer of another kind";
}

TEST_F(TaskFailure, PoisonCarriesTheCauseChain) {
  Desc(bad).w(a).name("first").must(rt);
  Desc(good).r(a).rw(b).name("second").must(rt);
  const auto t = Desc(good).r(b).rw(c).name("third").must(rt);
  const Answer third(consort_task_wait(rt, t, kLong, 0));
  EXPECT_TRUE(
      answered(CONSORT_E_POISONED, third, {"third", "because", "second", "first", "the well is dry", "beta", "alpha"}));
  EXPECT_LT(third.text.find("third"), third.text.find("second"));
  EXPECT_LT(third.text.find("second"), third.text.find("first"));
  EXPECT_EQ(ran, 0);
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, {0}, kLong, 0), "first", "the well is dry");
  const auto f = collected();
  EXPECT_EQ(f.nfailed, 3u);
  EXPECT_STREQ(f.task_name, "first");
  EXPECT_STREQ(f.text, "the well is dry");
}

TEST_F(TaskFailure, FailedReadersPoisonNothing) {
  Desc(bad).r(a).must(rt);
  EXPECT_OK(consort_task_wait(rt, Desc(good).rw(a).must(rt), kLong, 0));
  EXPECT_EQ(ran, 1);
}

TEST_F(TaskFailure, WriteClearsPoison) {
  Desc(bad).rw(a).must(rt);
  const auto w = Desc(good).w(a).must(rt), r = Desc(good).r(a).must(rt);
  EXPECT_OK(consort_task_wait(rt, w, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, r, kLong, 0));
  EXPECT_EQ(ran, 2);
}

TEST_F(TaskFailure, ReadWriteKeepsPoison) {
  Desc(bad).w(a).must(rt);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, Desc(good).rw(a).must(rt), kLong, 0), "alpha",
              "the well is dry");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, Desc(good).r(a).must(rt), kLong, 0), "the well is dry");
}

TEST_F(TaskFailure, InvalidateClearsPoisonAndContents) {
  Desc(bad).w(a).must(rt);
  EXPECT_OK(consort_invalidate(rt, a));
  const Answer blank(consort_task_wait(rt, Desc(good).r(a).must(rt), kLong, 0));
  EXPECT_LT(blank.status, 0);
  EXPECT_NE(blank.status, CONSORT_E_POISONED);
  EXPECT_OK(consort_task_wait(rt, Desc(good).w(a).must(rt), kLong, 0));
  EXPECT_OK(consort_task_wait(rt, Desc(good).r(a).must(rt), kLong, 0));
}

TEST_F(TaskFailure, AcquireReportsPoison) {
  Desc(bad).w(a).name("culprit").must(rt);
  consort_hold hold;
  EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, a, CONSORT_M_R, kLong, &hold), "alpha", "culprit",
              "the well is dry");
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_W, kLong, &hold));
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_acquire(rt, a, CONSORT_M_R, kLong, &hold)) << "written anew";
  EXPECT_OK(consort_release(rt, hold));
}

TEST_F(TaskFailure, UnregisterOfPoisonedDataReportsAndSucceeds) {
  Desc(bad).w(a).name("culprit").must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, a), "culprit", "the well is dry");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, a));
}

TEST_F(TaskFailure, ExplicitSuccessorsArePoisoned) {
  const auto t = Desc(bad).name("root").must(rt);
  const auto u = Desc(good).then(t).name("leaf").must(rt);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, u, kLong, 0), "leaf", "root", "the well is dry");
  EXPECT_EQ(ran, 0);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, Desc(good).then(t).must(rt), kLong, 0), "root")
      << "also when it failed long ago";
}

TEST_F(TaskFailure, EmptyTasksPropagateFailure) {
  const auto t = Desc(bad).rw(a).name("root").must(rt);
  const auto join = Desc().then(t).must(rt);
  EXPECT_LT(consort_task_wait(rt, join, kLong, 0), 0);
}

TEST_F(TaskFailure, LongCauseChainsNameTheRoot) {
  Desc(bad).rw(a).name("root").must(rt);
  consort_task_id last{0};
  for (int i = 0; i < 5000; ++i) last = Desc(good).rw(a).must(rt);
  const Answer end(consort_task_wait(rt, last, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_POISONED, end, {"root", "the well is dry"}));
  EXPECT_LT(end.text.size(), 20000u);
  EXPECT_EQ(ran, 0);
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, {0}, kLong, 0), "the well is dry");
  EXPECT_EQ(collected().nfailed, 5001u);
}

TEST_F(TaskFailure, ExceptionTextBecomesTheMessage) {
  const auto throws =
      body(rt, "throws", [](const consort_call &) -> consort_status { throw std::runtime_error("a thrown stone"); });
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, Desc(throws).name("thrower").must(rt), kLong, 0), "thrower",
              "a thrown stone");
  const auto odd = body(rt, "odd", [](const consort_call &) -> consort_status { throw 42; });
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, Desc(odd).must(rt), kLong, 0), "odd");
  EXPECT_OK(consort_task_wait(rt, Desc(good).must(rt), kLong, 0));
}

TEST_F(TaskFailure, CountsConcurrentFailures) {
  for (int i = 0; i < 3000; ++i) Desc(i % 3 ? good : bad).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, {0}, kLong, 0), "the well is dry");
  EXPECT_EQ(collected().nfailed, 1000u);
  EXPECT_EQ(ran, 2000);
}

TEST_F(TaskFailure, ScratchIsNotPoisoned) {
  const consort_vector_args args{nullptr, 16, 4};
  const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "pad"};
  consort_data_id pad;
  ASSERT_OK(consort_register(rt, &d, &pad));
  Desc(bad).scratch(pad).must(rt);
  EXPECT_OK(consort_task_wait(rt, Desc(good).scratch(pad).must(rt), kLong, 0));
}

}  // namespace
