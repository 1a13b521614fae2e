// device_queues.hpp — the duties of the queue of any device with memory of its own: its depth, the wake of sleepers.
#pragma once
#include <poll.h>

#include <atomic>
#include <thread>

#include "drivers/device_machine.hpp"

namespace consort_test {

// m: of depth 4.
inline void several_are_in_flight(DeviceMachine &m) {
  void *q = m.open_queue();
  EXPECT_EQ(m.desc.depth, 4u);
  std::atomic<bool> go{false};
  Call waits([&](const consort_call *) {
    while (!go) std::this_thread::yield();
    return CONSORT_OK;
  });
  std::vector<consort_op> ops = {waits.op(false)};
  for (int i = 0; i < 5; ++i) ops.push_back(op_of(CONSORT_OP_MARK, 0));
  EXPECT_EQ(m.ops->submit(q, ops.data(), 6), 4u);
  EXPECT_EQ(m.ops->submit(q, ops.data() + 4, 2), 0u);
  consort_done done[8];
  EXPECT_EQ(m.ops->poll(q, done, 8), 0u);
  go = true;
  EXPECT_EQ(m.collect(q, 4).size(), 4u);
  EXPECT_EQ(m.ops->submit(q, ops.data() + 4, 2), 2u);
  EXPECT_EQ(m.collect(q, 2).size(), 2u);
}

// Until so many ops are over, asleep where nothing is to be polled; *slept: how often that was.
inline void sleep_for(DeviceMachine &m, void *q, int fd, uint32_t ops, uint32_t *slept) {
  while (ops) {
    consort_done done[4];
    if (const uint32_t k = m.ops->poll(q, done, 4)) {
      ops -= k;
      continue;
    }
    if (m.ops->arm(q) == CONSORT_E_BUSY) continue;
    pollfd p{fd, POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 20000), 1) << "a wake-up was lost";
    ++*slept;
  }
}

// spin(x, n): a kernel that takes the longer the larger n is; n_slow: an n for some milliseconds.
inline void arm_wakes_for_the_oldest(DeviceMachine &m, uint64_t spin, int n_slow) {
  void *q = m.open_queue();
  const int fd = m.ops->event_fd(q);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(m.ops->arm(q), CONSORT_OK) << "nothing is under way";
  const consort_addr a = m.alloc(64, CONSORT_AL_ZERO);
  const std::vector<consort_arg> quick = {at(a, 64), value<int>(1)}, slow = {at(a, 64), value<int>(n_slow)};
  Call helped([](const consort_call *) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // nap: the thread of the test sleeps meanwhile
    return CONSORT_OK;
  });
  uint32_t slept = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<consort_op> ops = {i % 3 == 2 ? helped.op(false) : launch_of(spin, i % 3 ? quick : slow, 1), launch_of(spin, quick, 1)};
    ASSERT_EQ(m.ops->submit(q, ops.data(), 2), 2u);
    ASSERT_NO_FATAL_FAILURE(sleep_for(m, q, fd, 2, &slept)) << "in round " << i;
  }
  EXPECT_GT(slept, 0u);
}

}  // namespace consort_test
