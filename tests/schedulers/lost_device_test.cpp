// A device is lost while tasks are pending that only its workers can run. Under every policy each of them ends with
// E_DEVICE_LOST, or runs on a worker beside a context (TSK-09).
#include "api/device_home.hpp"
#include "api/in_context.hpp"
#include "schedulers/every_policy.hpp"

namespace consort_test {
namespace {

class LostDevice : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string name_ = GetParam();
  Machine m{Pairs{{"sim.devices", "1"}, {"sim.runs", ""}, {"sim.faults", "lost@1/0"}, {"scheduler", name_.c_str()}, {"keep_models", "no"}, {"log", "error"}}, true};
  uint64_t x = 0, y = 0;
  consort_data_id lost = vector_of(m, &x, 1, 8, "lost"), late = vector_of(m, &y, 1, 8, "late");
  // A task that loses the device, and one on a core that is over later, in virtual time.
  void lose() {
    lost_ = Desc(m.add).rw(lost).arg(uint64_t{1}).on(m.devices[0]).must(m);
    Desc(m.add).rw(late).arg(uint64_t{1}).on(m.cores[0]).must(m);
  }
  void expect_lost() {
    EXPECT_SAYS(CONSORT_E_DEVICE_LOST, consort_task_wait(m, lost_, kLong, 0), "could not be copied", "a device is lost");
  }
  consort_task_id lost_{0};
};

TEST_P(LostDevice, FailsTasksThatBecomeReadyLater) {
  const consort_impl impl = {"gpu", [](const consort_call *) -> consort_status { return CONSORT_OK; }, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  const auto far = codelet_of(m, "far", {&impl, 1});
  lose();
  const auto t = Desc(far).rw(late).must(m);
  EXPECT_SAYS(CONSORT_E_DEVICE_LOST, consort_task_wait(m, t, kLong, 0), "'far'", "devices are lost");
  expect_lost();
}

TEST_P(LostDevice, EndsTasksOfItsContext) {
  if (name_ == "auto") GTEST_SKIP() << "it is for the runtime alone";
  const auto c = create(m, {m.devices[0]}, nullptr, name_.c_str());
  lose();
  consort_task_id t{0};
  {
    const Inside inside(m, c);
    t = Desc(m.add).rw(late).arg(uint64_t{2}).must(m);
  }
  ASSERT_OK(consort_task_wait(m, t, kLong, 0));
  expect_lost();
  ASSERT_OK(consort_unregister(m, late));
  EXPECT_EQ(y, 3u);
}

INSTANTIATE_TEST_SUITE_P(All, LostDevice, ::testing::ValuesIn(schedulers()), [](const auto &i) {
  std::string s = i.param;
  std::replace_if(s.begin(), s.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return s;
});

}  // namespace
}  // namespace consort_test
