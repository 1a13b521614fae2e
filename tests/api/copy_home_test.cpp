// A copy home that fails has no task of the application behind it: a wait, an unregistration or the stop answers it.
#include "api/harness.hpp"

namespace consort_test {
namespace {

consort_status add_one(const consort_call *c) { return ++*pointer<long>(*c, 0), CONSORT_OK; }

// The device is only played. Its second copy, which brings the contents home, fails.
struct CopyHome : ::testing::Test {
  long home = 0;
  std::unique_ptr<Rt> rt = std::make_unique<Rt>(Pairs{
      {"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.devices", "1"}, {"sim.faults", "copy@2"}});
  consort_data_id x{0};

  void SetUp() override {
    const consort_impl both[] = {{"cpu", add_one, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                                 {"gpu", add_one, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
    x = variable_of(*rt, &home, "far");
    ASSERT_OK(Desc(codelet_of(*rt, "add one", both)).rw(x).on(0).to(*rt));
  }
};

TEST_F(CopyHome, UnregisterReportsTheFailedCopy) {
  EXPECT_SAYS(CONSORT_E_IO, consort_unregister(*rt, x), "far", "could not be copied");
}

TEST_F(CopyHome, NextWaitReportsAfterUnregisterLater) {
  ASSERT_OK(consort_unregister_later(*rt, x));
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(*rt, kLong, 0), "far", "could not be copied");
  EXPECT_OK(rt->stop()) << "it was told";
}

TEST_F(CopyHome, GroupWaitReportsAfterUnregisterLater) {
  ASSERT_OK(consort_unregister_later(*rt, x));
  EXPECT_SAYS(CONSORT_E_IO, consort_group_wait(*rt, {0}, kLong, 0), "far", "could not be copied");
  EXPECT_OK(rt->stop());
}

TEST_F(CopyHome, StopReportsWithoutAWait) {
  ASSERT_OK(consort_unregister_later(*rt, x));
  EXPECT_SAYS(CONSORT_E_IO, rt->stop(), "far", "could not be copied");
}

TEST_F(CopyHome, StopReportsItsOwnFailedCopies) {
  ASSERT_OK(consort_wait_all(*rt, kLong, 0));
  EXPECT_SAYS(CONSORT_E_IO, rt->stop(), "far", "could not be copied");
}

}  // namespace
}  // namespace consort_test
