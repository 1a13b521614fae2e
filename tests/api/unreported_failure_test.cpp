// Failures that no call has answered: consort_stop() answers the first; every call that answers one counts as telling it.
#include <mutex>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

consort_status fine(const consort_call *) { return CONSORT_OK; }

const Pairs kManual = {{"pump", "manual"}, {"workers", "1"}, {"cpu.topology", kFourCores}};

struct UnreportedFailure : ::testing::Test {
  Rt rt{kManual};
  int x = 0, y = 0;
  consort_data_id a = variable_of(rt, &x, "alpha"), b = variable_of(rt, &y, "beta");
  consort_codelet_id good = codelet(rt, "good", fine);
  consort_codelet_id bad =
      codelet(rt, "bad", [](const consort_call *) -> consort_status { return consort_fail(CONSORT_E_IO, "the disk is gone"); });
};

TEST_F(UnreportedFailure, StopReturnsTheFirstWithItsCauses) {
  Desc(bad).name("load").w(a).must(rt);
  Desc(good).name("use").r(a).w(b).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'load' failed", "the disk is gone");
}

TEST_F(UnreportedFailure, UnregisterReturnsThePoisoningFailure) {
  Desc(bad).name("load").w(a).must(rt);
  Desc(good).name("use").r(a).w(b).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, b), "task 'use' failed", "because task 'load' failed", "the disk is gone");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, b));
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, a), "task 'load' failed");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, a));
  EXPECT_OK(rt.stop());
}

TEST_F(UnreportedFailure, UnregisterOfARewrittenDatumSucceeds) {
  Desc(bad).w(a).must(rt);
  Desc(good).w(a).must(rt);
  EXPECT_OK(consort_unregister(rt, a));
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "the disk is gone");
}

TEST_F(UnreportedFailure, UnregisterReturnsFailuresOfParts) {
  std::vector<int> v(8);
  const consort_data_id whole = vector_of(rt, v.data(), v.size(), sizeof(int), "whole");
  const consort_split half{2, 0};
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = "blocks", d.params = &half, d.params_bytes = sizeof half;
  consort_plan_id plan;
  consort_data_id part[2];
  ASSERT_OK(consort_plan_create(rt, whole, &d, &plan));
  ASSERT_EQ(consort_plan_parts(rt, plan, part, 2), 2);
  Desc(bad).name("half").w(part[1]).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, whole), "task 'half' failed");
}

// Each way to be told; after it the stop has nothing to say.
TEST(FailureReports, EachCallThatReturnsAFailureReportsIt) {
  struct Way {
    const char *name;
    void (*told)(consort_runtime *, consort_task_id, consort_data_id, consort_group_id);
  };
  const Way ways[] = {
      {"task wait", [](auto rt, auto t, auto, auto) { EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t, kLong, 0)); }},
      {"group wait", [](auto rt, auto, auto, auto g) { EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, g, kLong, 0)); }},
      {"wait for all", [](auto rt, auto, auto, auto) { EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0)); }},
      {"unregister", [](auto rt, auto, auto d, auto) { EXPECT_SAYS(CONSORT_E_IO, consort_unregister(rt, d)); }},
      {"acquire",
       [](auto rt, auto, auto d, auto) {
         consort_hold hold;
         EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, d, CONSORT_M_R, kLong, &hold));
       }},
      {"acquire later",
       [](auto rt, auto, auto d, auto) {
         consort_status answer = CONSORT_OK;
         const auto granted = [](void *arg, consort_status s, const consort_hold *) { *static_cast<consort_status *>(arg) = s; };
         EXPECT_OK(consort_acquire_later(rt, d, CONSORT_M_R, granted, &answer));
         while (consort_step(rt, 0) == CONSORT_OK) {
         }
         EXPECT_EQ(answer, CONSORT_E_POISONED);
       }},
      {"tag wait",
       [](auto rt, auto, auto, auto) {
         const uint64_t tag = 7;
         EXPECT_SAYS(CONSORT_E_IO, consort_tag_wait(rt, &tag, 1, kLong, 0));
       }},
      {"wait for a consequence",
       [](auto rt, auto, auto d, auto) {
         const auto reads = codelet(rt, "reads", fine);
         EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, Desc(reads).r(d).must(rt), kLong, 0));
       }},
  };
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    Rt rt(kManual);
    int x = 0;
    const consort_data_id d = variable_of(rt, &x);
    consort_group_id g{};
    ASSERT_OK(consort_group_create(rt, nullptr, &g));
    const auto bad = codelet(rt, "bad", [](const consort_call *) -> consort_status { return consort_fail(CONSORT_E_IO, "no"); });
    Tagged task(bad, 7);
    const consort_task_id t = task.w(d).in(g).must(rt);
    way.told(rt, t, d, g);
    EXPECT_OK(rt.stop());
  }
}

TEST_F(UnreportedFailure, CompletionCallbackReports) {
  consort_status seen = CONSORT_OK;
  Desc(bad).done([](void *arg, const consort_outcome *o) { *static_cast<consort_status *>(arg) = o->status; }, &seen).must(rt);
  EXPECT_OK(rt.stop());
  EXPECT_EQ(seen, CONSORT_E_IO);
}

TEST_F(UnreportedFailure, ReportedRootCoversItsConsequencesOnly) {
  const consort_task_id load = Desc(bad).name("load").w(a).must(rt);
  Desc(good).name("use").r(a).must(rt);
  Desc(bad).name("other").w(b).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, load, kLong, 0), "load");
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'other' failed");
}

TEST_F(UnreportedFailure, DestroyedGroupKeepsItsFailures) {
  consort_group_id g{};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  Desc(bad).name("inside").in(g).must(rt);
  while (consort_step(rt, 0) == CONSORT_OK) {
  }
  ASSERT_OK(consort_group_destroy(rt, g));
  consort_group_id next{};  // reuses the slot of the destroyed group, and collects its own failures only
  ASSERT_OK(consort_group_create(rt, nullptr, &next));
  Desc(good).in(next).must(rt);
  EXPECT_OK(consort_group_wait(rt, next, kLong, 0));
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'inside' failed");
}

TEST_F(UnreportedFailure, KeepFailureFlagReportsNothing) {
  consort_group_id g{};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  const consort_task_id t = Desc(bad).name("kept").w(a).in(g).must(rt);
  const uint32_t keep = CONSORT_WAIT_KEEP_FAILURE;
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t, kLong, keep), "kept");
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, g, kLong, keep), "kept");
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, keep), "kept");
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, g, kLong, keep), "kept") << "it was not collected";
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister_wait(rt, a, keep), "kept");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, a)) << "it is unregistered all the same";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unregister_wait(rt, b, 1u << 31));
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'kept' failed");
}

TEST(UnreportedFailureLog, FurtherFailuresAreLogged) {
  static std::vector<std::string> lines;
  lines.clear();
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = kManual.data(), s.nset = static_cast<uint32_t>(kManual.size());
  s.log = [](void *, int32_t, const char *text) { lines.push_back(text); };
  consort_runtime *started = nullptr;
  ASSERT_OK(consort_start(&s, &started));
  Rt rt(started);
  const auto bad = codelet(rt, "bad", [](const consort_call *) -> consort_status { return consort_fail(CONSORT_E_IO, "no"); });
  const auto good = codelet(rt, "good", fine);
  int x = 0;
  const consort_data_id a = variable_of(rt, &x, "alpha");
  Desc(bad).name("first").must(rt);
  Desc(bad).name("second").w(a).must(rt);
  Desc(good).name("consequence").r(a).must(rt);
  Desc(bad).name("third").must(rt);
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'first' failed");
  std::string all;
  for (const std::string &l : lines) all += l + "\n";
  EXPECT_NE(all.find("no call asked for this failure: task 'second' failed"), std::string::npos) << all;
  EXPECT_NE(all.find("task 'third' failed"), std::string::npos) << all;
  EXPECT_EQ(all.find("first"), std::string::npos) << all;
  EXPECT_EQ(all.find("consequence"), std::string::npos) << "its root is told: " << all;
}

// The log of failures is bounded. A task behind a failure that has left it does not run, either.
TEST_F(UnreportedFailure, SuccessorOfAForgottenFailureDoesNotRun) {
  constexpr int kMoreThanKept = 65536 + 16;
  static std::atomic<int> ran;
  ran = 0;
  const auto counts = codelet(rt, "counts", [](const consort_call *) -> consort_status { return ++ran, CONSORT_OK; });
  const consort_task_id first = Desc(bad).name("first").must(rt);
  while (consort_step(rt, 0) == CONSORT_OK) {
  }
  EXPECT_EQ(consort_task_state(rt, first), CONSORT_OK);
  for (int i = 0; i < kMoreThanKept; ++i) Desc(bad).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "first");
  EXPECT_SAYS(CONSORT_E_STALE, consort_task_wait(rt, first, kLong, 0), "not known any more", "65536");
  const consort_task_id next = Desc(counts).name("next").then(first).must(rt);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, next, kLong, 0), "next", "comes after a task that failed", "65536");
  EXPECT_EQ(ran, 0);
  const consort_task_id fine = Desc(counts).must(rt);  // younger than every failure: known to have ended well
  EXPECT_OK(consort_task_wait(rt, fine, kLong, 0));
  EXPECT_OK(rt.stop());
}

TEST_F(UnreportedFailure, StopReturnsAForgottenFailure) {
  constexpr int kMoreThanKept = 65536 + 16;
  Desc(bad).name("first").must(rt);
  while (consort_step(rt, 0) == CONSORT_OK) {
  }
  consort_group_id g{};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  for (int i = 0; i < kMoreThanKept; ++i) Desc(bad).in(g).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(rt, g, kLong, 0));
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "task 'first' failed");
}

}  // namespace
