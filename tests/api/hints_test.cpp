// Hints about memory in rare situations: a machine whose data never move, data that were never written.
#include <consort/memory.h>

#include "api/harness.hpp"

namespace consort_test {
namespace {

TEST(Hints, WriteThroughIsANoOpWithoutDeviceMemory) {
  Rt rt({{"workers", "1"}, {"cpu.topology", kFourCores}, {"pump", "manual"}});
  const auto add = codelet(rt, "add", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });
  long home = 1;
  const auto x = variable_of(rt, &home);
  ASSERT_OK(consort_invalidate(rt, x));
  ASSERT_OK(consort_data_set_write_through(rt, x, 1));
  consort_hold hold{};
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_W, kLong, &hold));
  home = 5;
  ASSERT_OK(consort_release(rt, hold));
  const auto t = Desc(add).rw(x).must(rt);
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(home, 6);
}

// The second task is issued behind the first one on the device's queue, before anything tells that `y` has no contents.
TEST(Hints, EarlyIssueReportsUnwrittenData) {
  Rt rt({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"scheduler", "lws"}});
  const auto step = [](const consort_call *) -> consort_status { return CONSORT_OK; };
  const consort_impl both[] = {{"cpu", step, nullptr, nullptr, nullptr, nullptr, nullptr, 0},
                               {"gpu", step, nullptr, nullptr, nullptr, nullptr, nullptr, 0}};
  const auto c = codelet_of(rt, "step", both);
  long home = 1;
  const consort_variable_args none{nullptr, 8};
  const consort_data_desc d{sizeof d, 0, "variable", &none, sizeof none, "y"};
  const auto x = variable_of(rt, &home);
  consort_data_id y{0};
  ASSERT_OK(consort_register(rt, &d, &y));
  (void)Desc(c).rw(x).must(rt);
  const auto t = Desc(c).rw(x).rw(y).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(rt, t, kLong, 0), "never written");
}

}  // namespace
}  // namespace consort_test
