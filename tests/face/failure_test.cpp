// The C++ face's failures as values, and statuses as error codes.
#include <consort/consort.hpp>
#include <consort/error_code.hpp>

#include "api/harness.hpp"

using consort::Failure, consort::FailedTask, consort::r, consort::rw, consort::w;
using consort_test::kFourCores;

namespace {

const consort::Codelet load{"load", consort::cpu([](std::span<int>) { throw std::runtime_error("the file is gone"); })};
const consort::Codelet copy{"copy", consort::cpu([](std::span<const int>, std::span<int>) {})};

struct FaceFailure : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
  std::vector<int> v = std::vector<int>(4);
};

TEST_F(FaceFailure, GroupFailureHasNumbersAndCauses) {
  Failure kept;
  {
    auto group = rt.group("input");
    auto x = rt.vector(v, "x"), y = rt.vector<int>(4, "y"), z = rt.vector<int>(4, "z");
    EXPECT_FALSE(group.last_failure());
    const auto first = rt.submit({.worker = 1, .name = "load x", .group = group}, load, rw(x));
    rt.submit({.group = group}, copy, r(x), w(y));
    EXPECT_THROW(group.wait(), consort::Error);
    kept = group.last_failure();
    EXPECT_EQ(kept.task_id.v, first.id().v);
    EXPECT_EQ(kept.worker_id, 1u);
    EXPECT_EQ(kept.worker, rt.worker(1).name);
    EXPECT_EQ(kept.failed, 2u);
    rt.submit({.group = group}, copy, r(y), w(z));
    EXPECT_THROW(group.wait(), consort::Error);
    const Failure later = group.last_failure();
    EXPECT_EQ(later.status, CONSORT_E_POISONED);
    EXPECT_EQ(later.datum, "y");
    ASSERT_EQ(later.causes.size(), 2u) << later.chain;
    EXPECT_EQ(later.causes[0].task, "copy");
    EXPECT_EQ(later.causes[0].datum, "x");
    EXPECT_EQ(later.causes[1].task, "load x");
    EXPECT_EQ(&later.root(), &later.causes[1]);
    EXPECT_EQ(later.root().text, "the file is gone");
    x.invalidate(), y.invalidate(), z.invalidate();
  }
  rt.stop();
  EXPECT_TRUE(kept) << "a value that outlives its runtime";
  EXPECT_EQ(kept.task, "load x");
  EXPECT_EQ(kept.text, "the file is gone");
  EXPECT_EQ(kept.status, CONSORT_E_INTERNAL);
  EXPECT_TRUE(kept.causes.empty());
  EXPECT_EQ(kept.root().task, "load x");
}

TEST_F(FaceFailure, ErrorOfAWaitHasTheFailure) {
  auto x = rt.vector(v, "x"), y = rt.vector<int>(4, "y");
  rt.submit(load, rw(x));
  try {
    rt.submit(copy, r(x), w(y)).wait();
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    const Failure f = e.failure();
    EXPECT_EQ(f.status, CONSORT_E_POISONED);
    EXPECT_EQ(f.chain, e.what());
    EXPECT_EQ(f.task, "copy");
    EXPECT_EQ(f.datum, "x");
    ASSERT_EQ(f.causes.size(), 1u) << e.what();
    EXPECT_EQ(f.root().task, "load");
    EXPECT_EQ(f.root().text, "the file is gone");
    EXPECT_FALSE(f.root().worker.empty());
  }
  EXPECT_THROW(rt.wait(), consort::Error);
  EXPECT_EQ(rt.last_failure().task, "load") << "of the default group";
  x.invalidate(), y.invalidate();
}

TEST_F(FaceFailure, ErrorOfARefusedCallHasNone) {
  auto x = rt.vector(v, "x");
  try {
    x.prefetch(99);
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_FALSE(e.failure());
    EXPECT_EQ(e.failure().text, e.what());
    EXPECT_EQ(e.failure().status, CONSORT_E_INVAL);
  }
}

TEST_F(FaceFailure, CallbackOutcomeHasTheFailure) {
  Failure told;
  auto note = [&](const consort_outcome &o) { told = Failure::of(o); };
  auto x = rt.vector(v, "x");
  const auto task = rt.submit({.name = "mine", .done = note}, load, rw(x));
  EXPECT_THROW(rt.wait(), consort::Error);
  EXPECT_EQ(told.task, "mine");
  EXPECT_EQ(told.task_id.v, task.id().v);
  EXPECT_EQ(told.status, CONSORT_E_INTERNAL);
  EXPECT_NE(told.text.find("the file is gone"), std::string::npos) << told.text;
  x.invalidate();
}

// Names may contain any characters: parts that cannot be told apart stay in the text.
TEST(FaceFailureText, UnknownFormsStayInTheText) {
  const FailedTask plain = FailedTask::of("task 'a' failed: no");
  EXPECT_EQ(plain.task, "a");
  EXPECT_EQ(plain.worker + plain.datum, "");
  EXPECT_EQ(plain.text, "no");
  const FailedTask full = FailedTask::of("task 'it's' failed on worker cpu 0, datum 'b[3]': x: y, datum 'z': w");
  EXPECT_EQ(full.task, "it's");
  EXPECT_EQ(full.worker, "cpu 0");
  EXPECT_EQ(full.datum, "b[3]");
  EXPECT_EQ(full.text, "x: y, datum 'z': w");
  for (const char *odd : {"", "task '", "task 'a", "task 'a' failed", "task 'a' failed on worker w", "task 'a' failed, datum 'd", "anything"}) {
    EXPECT_EQ(FailedTask::of(odd).task, "") << odd;
    EXPECT_EQ(FailedTask::of(odd).text, odd);
  }
  const Failure f = Failure::of(CONSORT_E_IO, "task 'a' failed: x; because y; because task 'b' failed: z; because it is not known any more whether");
  EXPECT_EQ(f.text, "x; because y");
  ASSERT_EQ(f.causes.size(), 2u);
  EXPECT_EQ(f.causes[0].task, "b");
  EXPECT_EQ(f.root().text, "it is not known any more whether");
}

TEST(FaceErrorCode, StatusesShareOneCategory) {
  std::error_code code = consort::Status::timeout;
  EXPECT_EQ(&code.category(), &consort::category());
  EXPECT_STREQ(code.category().name(), "consort");
  EXPECT_EQ(code.message(), "E_TIMEOUT");
  EXPECT_TRUE(code == std::errc::timed_out);
  EXPECT_TRUE(code == consort::Status::timeout);
  EXPECT_FALSE(code == std::errc::io_error);
  EXPECT_FALSE(consort::code(CONSORT_OK));
  const std::pair<consort::Status, std::errc> same[] = {{consort::Status::invalid, std::errc::invalid_argument},
                                                        {consort::Status::no_memory, std::errc::not_enough_memory},
                                                        {consort::Status::unsupported, std::errc::not_supported},
                                                        {consort::Status::busy, std::errc::device_or_resource_busy},
                                                        {consort::Status::io, std::errc::io_error},
                                                        {consort::Status::cancelled, std::errc::operation_canceled}};
  for (const auto &[status, condition] : same) EXPECT_TRUE(make_error_code(status) == condition) << make_error_code(status).message();
  EXPECT_EQ(consort::code(CONSORT_E_POISONED).default_error_condition().value(), CONSORT_E_POISONED) << "no word of the library's";
  try {
    throw consort::Error(CONSORT_E_STOPPED, "text");
  } catch (const consort::Error &e) {
    EXPECT_TRUE(consort::code(e) == consort::Status::stopped);
    EXPECT_EQ(consort::code(e).message(), "E_STOPPED");
  }
}

}  // namespace
