// Copies and fills of the OpenCL driver on PoCL: boxes of every kind, on queues with and without order.

#include "drivers/device_copies.hpp"
#include "drivers/device_queues.hpp"
#include "drivers/opencl_machine.hpp"

#if !defined(CONSORT_HAS_OPENCL)
TEST(OpenClCopies, SkippedWithoutTheDriver) { GTEST_SKIP() << "the driver was left out: no CL/cl.h"; }
#else

namespace consort_test {
namespace {

using OpenClCopies = OpenCl;

TEST_F(OpenClCopies, CopiesBoxesOfEveryKind) {
  Machine m;
  copies_boxes_of_every_kind(m);
  unsigned char more[400];
  const consort_addr a = m.alloc(4096);
  EXPECT_LT(m.run(m.queues[0], {m.to_device(more, {a.base, 4096}, 400)})[0], 0) << "beyond the buffer";
}

TEST_F(OpenClCopies, CopyQueuesAreUnordered) {
  Machine m;
  copies_without_order(m);
}

TEST_F(OpenClCopies, CopiesOvertakeWaitingCopies) {
  Machine m;
  void *unit = m.open_queue(11), *copies = m.open_queue(12, CONSORT_NONE);
  const uint64_t slow = m.load("__kernel void slow(__global int *x, int n) { int s = 0; for (int i = 0; i < n; ++i) s = s * 3 + x[1]; x[0] = s; }", "slow");
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO), b = m.alloc(64, CONSORT_AL_ZERO);
  int from_a[16], from_b[16];
  bool overtook = false;
  uint64_t kernels = 0;
  for (int n = 1'000'000; !overtook && n <= 256'000'000; n *= 4) {  // long enough for a thread off its core
    const std::vector<consort_arg> args = {at(a, 64), value<int>(n)};
    consort_op kernel = launch_of(slow, args, 1);
    ASSERT_EQ(m.ops->submit(unit, &kernel, 1), 1u);
    const consort_ticket t{11, ++kernels};
    consort_op ops[] = {m.from_device(a, from_a, 64), m.from_device(b, from_b, 64)};
    ops[0].wait = &t, ops[0].nwait = 1;
    ops[1].cookie = 1;
    ASSERT_EQ(m.ops->submit(copies, ops, 2), 2u);
    const auto done = m.collect(copies, 2);
    overtook = done[0].cookie == 1;
    EXPECT_NE(done[0].cookie, done[1].cookie);
    m.collect(unit, 1);
  }
  EXPECT_TRUE(overtook);
}

TEST_F(OpenClCopies, EachUnorderedCopyWakesTheSleeper) {
  Machine m;
  void *q = m.open_queue(2, CONSORT_NONE);
  const int fd = m.ops->event_fd(q);
  std::vector<unsigned char> large(4 << 20), small(64);
  const consort_addr a = m.alloc(large.size()), b = m.alloc(64);
  uint32_t slept = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<consort_op> ops = {m.to_device(large.data(), a, large.size()), m.to_device(small.data(), b, 64)};
    ASSERT_EQ(m.ops->submit(q, ops.data(), 2), 2u);
    ASSERT_NO_FATAL_FAILURE(sleep_for(m, q, fd, 2, &slept)) << "in round " << i;
  }
}

TEST_F(OpenClCopies, SettingKeepsCopiesInOrder) {
  Machine m(Params{{"any_order", "false"}});
  void *q = m.open_queue(2, CONSORT_NONE);
  EXPECT_TRUE(m.desc.flags & CONSORT_Q_IN_ORDER);
  std::vector<unsigned char> v(1 << 20, 5), back(1 << 20);
  const consort_addr a = m.alloc(v.size());
  EXPECT_EQ(m.run(q, {m.to_device(v.data(), a, v.size()), m.from_device(a, back.data(), back.size())}),
            (std::vector<consort_status>{0, 0}));
  EXPECT_EQ(v, back);
}

TEST_F(OpenClCopies, FillsAtAnyOffset) {
  Machine m;
  fills_at_any_offset(m);
}

}  // namespace
}  // namespace consort_test
#endif
