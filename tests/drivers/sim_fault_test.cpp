// Driver sim: injected failures: memory, copies, kernels, a device that is lost or slow.
#include <algorithm>

#include "drivers/sim_machine.hpp"

namespace consort_test {
namespace {

// -- what goes wrong --------------------------------------------------------------------------------------------------

TEST(SimFaults, FailsTheNthAllocationCopyOrKernel) {
  Machine m(Params{{"devices", "2"}, {"depth", "8"}, {"faults", "oom@3,copy@2/1,kernel@2/0"}});
  consort_addr a[2]{};
  for (uint32_t d = 0; d < 2; ++d) {
    a[d] = m.alloc(64, d);
    m.alloc(64, d);
    consort_addr x{};
    EXPECT_EQ(m.ops->alloc(m.devices[d], m.space(d), 64, 0, 0, &x), CONSORT_E_NOMEM);
    EXPECT_NE(m.plugin.failure().find("as set by faults"), std::string::npos);
    m.alloc(64, d);
  }
  int runs = 0;
  char v[64] = "right";
  Body body([&] { ++runs; return CONSORT_OK; });
  for (uint32_t d = 0; d < 2; ++d) {
    void *q = m.open_queue(d);
    const consort_op in = m.to_device(v, a[d], 64, d);
    const auto done = m.run(q, {in, in, in, body.op(), body.op(), body.op()});
    for (uint32_t i = 0; i < 6; ++i) {
      const bool bad = d == 1 ? i == 1 : i == 4;
      EXPECT_EQ(done[i].status, bad ? CONSORT_E_IO : CONSORT_OK) << d << i;
      EXPECT_EQ(done[i].bytes, bad || i > 2 ? 0u : 64u);
    }
  }
  EXPECT_EQ(runs, 5) << "a kernel that goes wrong has not run";
}

TEST(SimFaults, SameSeedFailsTheSameOps) {
  const auto pattern = [](const std::string &seed) {
    Machine m(Params{{"faults", "kernel%0.2"}, {"seed", seed}, {"devices", "2"}});
    void *a = m.open_queue(0), *b = m.open_queue(1);
    Body body([] { return CONSORT_OK; });
    std::string out;
    for (void *q : {a, b})
      for (const auto &d : m.run(q, std::vector<consort_op>(200, body.op()))) out += d.status == CONSORT_OK ? '.' : 'x';
    return out;
  };
  const std::string one = pattern("5");
  EXPECT_EQ(one, pattern("5"));
  EXPECT_NE(one, pattern("6"));
  EXPECT_NE(one.substr(0, 200), one.substr(200)) << "devices have luck of their own";
  const auto n = std::count(one.begin(), one.end(), 'x');
  EXPECT_GT(n, 40);
  EXPECT_LT(n, 130);
}

void expect_lost(Machine &m, const std::vector<consort_done> &done, size_t from) {
  for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i].status, i >= from ? CONSORT_E_DEVICE_LOST : CONSORT_OK) << i;
  const auto events = m.plugin.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].what, uint32_t{CONSORT_EV_DEVICE_LOST});
  EXPECT_EQ(events[0].object, Machine::kToken);
}

TEST(SimFaults, LostDeviceStaysLost) {
  Machine m(Params{{"devices", "2"}, {"depth", "16"}, {"faults", "lost@5/0"}, {"peer", "10G"}});
  void *q = m.open_queue(0), *idle = m.open_queue(0, CONSORT_NONE), *other = m.open_queue(1);
  const consort_addr a = m.alloc(64), b = m.alloc(64, 1);
  char v[64] = {};
  std::atomic<int> runs{0};
  Body body([&] {
    ++runs;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // nap: later ops are in the queue before the loss
    return CONSORT_OK;
  });
  auto list = std::vector<consort_op>(12, body.op());
  for (size_t i = 0; i < list.size(); ++i) list[i].cookie = i;
  ASSERT_EQ(m.ops->submit(q, list.data(), 12), 12u);
  const auto done = m.collect(q, 12);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(done[i].cookie, i) << "in order";
  EXPECT_EQ(runs, 4);
  expect_lost(m, done, 4);
  EXPECT_EQ(m.status_of(q, body.op()), CONSORT_E_DEVICE_LOST) << "accepted, and given back";
  EXPECT_EQ(m.status_of(idle, m.to_device(v, a, 64)), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.status_of(other, Machine::copy(m.space(0), a, m.space(1), b, 64)), CONSORT_E_IO) << "from a memory that is gone";
  EXPECT_EQ(m.status_of(other, body.op()), CONSORT_OK) << "the other one lives";
  consort_addr x{};
  void *late = nullptr;
  uint64_t code = 0;
  consort_queue_desc desc{};
  desc.size = sizeof desc;
  EXPECT_EQ(m.ops->alloc(m.devices[0], m.space(0), 64, 0, 0, &x), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->attach(m.devices[0], m.host_space, Machine::addr(v), 64, &x), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->load_impl(m.devices[0], "cl", "x", 1, "k", &code), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.ops->queue_open(m.devices[0], 0, 50, &desc, &late), CONSORT_E_DEVICE_LOST);
  EXPECT_EQ(m.plugin.events().size(), 1u) << "told once";
}

// It goes while a function runs: that op comes back when the function does, those behind it after it.
TEST(SimFaults, DeviceIsLostAtATime) {
  Machine m(Params{{"faults", "lost@200ms"}, {"units", "2"}});
  void *q = m.open_queue(0, 0), *copies = m.open_queue(0, CONSORT_NONE);
  std::atomic<bool> inside{false}, over{false};
  Body body([&] {
    inside = true;
    while (!over) std::this_thread::yield();
    inside = false;
    return CONSORT_OK;
  });
  auto list = std::vector<consort_op>(3, body.op());
  ASSERT_EQ(m.ops->submit(q, list.data(), 3), 3u);
  while (m.status_of(copies, op_of(CONSORT_OP_MARK, 0)) != CONSORT_E_DEVICE_LOST) std::this_thread::yield();
  EXPECT_TRUE(inside);
  EXPECT_TRUE(m.plugin.events().empty()) << "not while one is in flight";
  over = true;
  const auto done = m.collect(q, 3);
  EXPECT_FALSE(inside);
  expect_lost(m, done, 0);
}

TEST(SimFaults, DeviceIsLostWhileIdle) {
  Machine m(Params{{"faults", "lost@5ms"}});
  m.open_queue();
  EXPECT_EQ(m.plugin.awaited_events().size(), 1u) << "without a call";
}

TEST(SimFaults, SlowsADevice) {
  Virtual m(Params{{"devices", "2"}, {"bandwidth", "1G"}, {"latency", "10us"}, {"usual", "50us"}, {"faults", "slow@8/1"}});
  Body body([] { return CONSORT_OK; });
  std::vector<char> buffer(1'000'000);
  double took[2][2], moved[2];
  for (uint32_t d = 0; d < 2; ++d) {
    void *q = m.open_queue(d);
    const uint64_t start = d ? 20'000'000 : 1'000'000;
    m.at(start);
    const consort_op list[] = {m.to_device(buffer.data(), m.alloc(1'000'000, d), 1'000'000, d), body.op()};
    ASSERT_EQ(m.ops->submit(q, list, 2), 2u);
    auto done = m.play()[q];
    for (int i = 0; i < 2; ++i) took[d][i] = static_cast<double>(done[i].t1 - done[i].t0);
    moved[d] = static_cast<double>(done[0].t0 - start);
  }
  EXPECT_NEAR(moved[0], 10'000, 2) << "its latency";
  EXPECT_NEAR(took[0][0], 1'000'000, 2);
  EXPECT_NEAR(moved[1], 8 * 10'000, 2);
  EXPECT_NEAR(took[1][0], 8 * 1'000'000, 2);
  EXPECT_EQ(took[0][1], 50'000);
  EXPECT_EQ(took[1][1], 400'000);
  EXPECT_EQ(m.links.at({m.host_space, m.space(0)}).bytes_per_s, m.links.at({m.host_space, m.space(1)}).bytes_per_s) << "it does not say so";
}

}  // namespace
}  // namespace consort_test
