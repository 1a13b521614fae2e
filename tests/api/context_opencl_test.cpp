// Contexts of cores and OpenCL devices: a device's worker goes over to another context while it is at work. Without a platform
// the tests are skipped.
#include "api/harness.hpp"

#if !defined(CONSORT_HAS_OPENCL)
TEST(OpenCl, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else
#include "api/in_context.hpp"
#include "api/opencl_programs.hpp"

namespace consort_test {
namespace {

TEST_F(OpenCl, DeviceWorkersMoveBetweenContexts) {
  for (const char *scheduler : {"lws", "dmda", "graph-lookahead"}) {
    Machine m(Pairs{{"keep_models", "no"}});
    ASSERT_EQ(m.devices.size(), 2u);
    ASSERT_EQ(m.cores.size(), 2u);
    const auto scale = m.scale();
    const auto a = create(m, {m.cores[1], m.devices[0]}, nullptr, scheduler), b = create(m, {m.devices[1]}, nullptr, scheduler);
    std::vector<std::vector<float>> v(6, std::vector<float>(2000, 1.f));
    std::vector<consort_data_id> x;
    for (auto &i : v) x.push_back(vector_of(m, i.data(), i.size(), sizeof(float)));
    constexpr uint32_t kTurns = 12;
    const auto submit = [&](uint32_t turns) {
      for (uint32_t turn = 0; turn < turns; ++turn)
        for (uint32_t i = 0; i < v.size(); ++i) {
          const uint32_t who = (turn + i) % 3;
          if (who) need(consort_context_enter(m, who == 1 ? a : b), "enter");
          EXPECT_OK(Desc(scale).rw(x[i]).arg(turn % 2 ? 0.5f : 4.f).to(m));
          if (who) need(consort_context_leave(m), "leave");
        }
    };
    submit(kTurns);
    ASSERT_OK(consort_wait_all(m, kLong * kSlow, 0));
    EXPECT_EQ(m.worker(m.devices[1]).tasks, kTurns * v.size() / 3) << scheduler << ": b's, which has it alone";
    EXPECT_EQ(m.worker(m.cores[0]).tasks, kTurns * v.size() / 3) << "the runtime's own, which has that core alone";
    EXPECT_EQ(m.worker(m.cores[1]).tasks + m.worker(m.devices[0]).tasks, kTurns * v.size() / 3);
    const uint32_t moved = m.devices[0];
    submit(kTurns);
    EXPECT_OK(consort_context_move(m, a, b, &moved, 1)) << "while tasks are in flight on it";
    submit(kTurns);
    EXPECT_OK(consort_context_move(m, b, a, &moved, 1));
    for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
    for (const auto &i : v)
      for (const float e : i) ASSERT_EQ(e, 262144.f) << scheduler << ": twice two to the sixth, three times over";
    EXPECT_OK(consort_context_destroy(m, a));
    EXPECT_OK(consort_context_destroy(m, b));
  }
}

}  // namespace
}  // namespace consort_test
#endif
