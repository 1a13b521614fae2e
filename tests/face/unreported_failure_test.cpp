// A failure is never lost in the C++ face: destructors keep it, stop() throws it, and ~Runtime logs it.
#include <consort/consort.hpp>

#include "api/harness.hpp"

using consort::r, consort::rw, consort::w;
using consort_test::kFourCores;

namespace {

std::vector<std::string> logged;
void to_list(void *, int32_t, const char *text) { logged.push_back(text); }
std::string all_logged() {
  std::string all;
  for (const std::string &l : logged) all += l + "\n";
  return all;
}
consort::Settings two() {
  logged.clear();
  return consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores).log(to_list);
}

const consort::Codelet throws{"throws", consort::cpu([](std::span<int>) { throw std::runtime_error("no such matrix"); })};
const consort::Codelet copies{"copies", consort::cpu([](std::span<const int>, std::span<int>) {})};

TEST(FaceUnreportedFailure, IsPrintedOnStderr) {
  ::testing::internal::CaptureStderr();
  {
    consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
    std::vector<int> a(4), b(4);
    auto x = rt.vector(a, "x"), y = rt.vector(b, "y");
    rt.submit({.name = "load"}, throws, rw(x));
    rt.submit({.name = "use"}, copies, r(x), w(y));
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("consort error: ~Runtime()"), std::string::npos) << said;
  EXPECT_NE(said.find("task 'load' failed"), std::string::npos) << said;
  EXPECT_NE(said.find("no such matrix"), std::string::npos) << said;
}

TEST(FaceUnreportedFailure, GoesToTheRuntimesLog) {
  {
    consort::Runtime rt{two()};
    std::vector<int> a(4);
    rt.submit({.name = "load"}, throws, rw(rt.vector(a, "x")));  // the handle ends at once, and waits
  }
  EXPECT_NE(all_logged().find("task 'load' failed"), std::string::npos) << all_logged();
}

TEST(FaceUnreportedFailure, MovedRuntimeReportsOnce) {
  {
    consort::Runtime first{two()};
    consort::Runtime rt = std::move(first);
    std::vector<int> a(4);
    auto x = rt.vector(a, "x");
    EXPECT_THROW(rt.submit(throws, rw(x)).wait(), consort::Error);
  }
  EXPECT_EQ(all_logged().find("no such matrix"), std::string::npos) << all_logged();
  {
    consort::Runtime first{two()};
    std::vector<int> a(4);
    auto x = first.vector(a, "x");
    first.submit(throws, rw(x));
    first = consort::Runtime{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
    EXPECT_NE(all_logged().find("no such matrix"), std::string::npos) << "the one that was replaced ended: " << all_logged();
  }
}

void stop_throws(consort::Runtime &rt, consort_status status, const char *words) {
  try {
    rt.stop();
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.status(), status);
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

TEST(FaceUnreportedFailure, StopThrowsFailuresOfHandlesAndGroups) {
  consort::Runtime rt{two()};
  {
    std::vector<int> a(4);
    auto group = rt.group("input");
    auto x = rt.vector(a, "x");
    rt.submit({.name = "load", .group = group}, throws, rw(x));
  }
  stop_throws(rt, CONSORT_E_INTERNAL, "task 'load' failed");
}

TEST(FaceUnreportedFailure, RefusedStopKeepsTheRuntime) {
  consort::Runtime rt{two()};
  std::vector<int> a(4);
  auto x = rt.vector(a, "x");
  {
    auto held = x.acquire();
    stop_throws(rt, CONSORT_E_BUSY, "release");  // this thread holds data
  }
  EXPECT_NE(rt.c(), nullptr);
  consort_status inside = CONSORT_OK;
  const consort::Codelet stops{"stops", consort::cpu([&](std::span<int>) {
                                 try {
                                   rt.stop();
                                 } catch (const consort::Error &e) {
                                   inside = e.status();
                                 }
                               })};
  rt.submit(stops, rw(x)).wait();
  EXPECT_EQ(inside, CONSORT_E_BUSY);
  EXPECT_NO_THROW(rt.wait());
  EXPECT_NO_THROW(rt.stop());
  EXPECT_EQ(rt.c(), nullptr);
}

TEST(FaceUnreportedFailure, TaskFailedWithBusyStillStops) {
  consort::Runtime rt{two()};
  const consort::Codelet busy{"busy", consort::cpu([]() -> consort_status { return consort_fail(CONSORT_E_BUSY, "engaged"); })};
  rt.submit(busy);
  stop_throws(rt, CONSORT_E_BUSY, "engaged");
  EXPECT_EQ(rt.c(), nullptr);
}

TEST(FaceUnreportedFailure, RefusedDestructorIsLogged) {
  std::vector<int> a(4);
  consort_runtime *left = nullptr;
  auto rt = std::make_unique<consort::Runtime>(two());
  left = rt->c();
  {
    auto x = rt->vector(a, "x");
    auto held = x.acquire();
    rt.reset();
    EXPECT_NE(all_logged().find("goes on without an owner"), std::string::npos) << all_logged();
  }
  EXPECT_EQ(consort_stop(left), CONSORT_OK) << "its handles are good until then";
}

TEST(FaceUnreportedFailure, UnregisterThrowsAndEndsTheHandle) {
  consort::Runtime rt{two()};
  std::vector<int> a(4);
  auto x = rt.vector(a, "x");
  rt.submit({.name = "load"}, throws, rw(x));
  EXPECT_THROW(x.unregister(), consort::Error);
  EXPECT_FALSE(x) << "it is unregistered all the same";
  EXPECT_NO_THROW(rt.stop()) << "that was told";
}

TEST(FaceUnreportedFailure, RefusedUnregisterKeepsTheHandle) {
  consort::Runtime rt{two()};
  std::vector<int> a(4);
  auto x = rt.vector(a, "x");
  {
    auto held = x.acquire();
    EXPECT_THROW(x.unregister(), consort::Error) << "this thread holds it";
    EXPECT_TRUE(x);
  }
  EXPECT_NO_THROW(x.unregister());
  EXPECT_FALSE(x);
}

}  // namespace
