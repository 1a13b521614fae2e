// Copies, peers and the end of a device, for the drivers of GPUs over the doubles of their vendors' libraries.
#include <poll.h>

#include <thread>

#include "drivers/device_copies.hpp"
#include "gpu/machine.hpp"

namespace consort_test {
namespace {

using GpuCopies = GpuTest;

TEST_P(GpuCopies, CopiesBoxesOfEveryKind) {
  Gpu m;
  copies_boxes_of_every_kind(m);
}
TEST_P(GpuCopies, CopiesWithoutOrder) {
  Gpu m;
  copies_without_order(m);
}
TEST_P(GpuCopies, FillsAtAnyOffset) {
  Gpu m;
  fills_at_any_offset(m);
}

// -- two devices ------------------------------------------------------------------------------------------------------

// The second device of a machine, with its space asked for and its paths to and from the first.
struct Neighbour {
  explicit Neighbour(Gpu &first) : m(first) {
    EXPECT_EQ(m.ops->open(m.plugin.self(), 1, 5, &dev), CONSORT_OK) << m.plugin.failure();
    space.size = sizeof space, space.id = 40;
    EXPECT_EQ(m.ops->space(dev, 0, &space), CONSORT_OK);
    there = m.ops->link(m.dev, &m.spaces[0], &space, &link(to));
    back = m.ops->link(dev, &space, &m.spaces[0], &link(from));
  }
  ~Neighbour() {
    if (q) m.ops->queue_close(q);
    for (auto &[a, n] : blocks) m.ops->free(dev, space.id, a, n);
    m.ops->close(dev);
  }
  static consort_link_desc &link(consort_link_desc &l) { return l.size = sizeof l, l; }
  consort_addr alloc(uint64_t bytes) {
    consort_addr a{};
    EXPECT_EQ(m.ops->alloc(dev, space.id, bytes, 64, 0, &a), CONSORT_OK) << m.plugin.failure();
    blocks.push_back({a, bytes});
    return a;
  }
  void *open_queue() {
    consort_queue_desc d{};
    d.size = sizeof d;
    EXPECT_EQ(m.ops->queue_open(dev, CONSORT_NONE, 21, &d, &q), CONSORT_OK);
    return q;
  }
  Gpu &m;
  void *dev = nullptr, *q = nullptr;
  consort_space_desc space{};
  consort_link_desc to{}, from{};
  consort_status there = 0, back = 0;
  std::vector<std::pair<consort_addr, uint64_t>> blocks;
};

TEST_P(GpuCopies, PeersCopyDirectly) {
  CONSORT_NEEDS_DOUBLE;
  Gpu m;
  Neighbour n(m);
  ASSERT_EQ(n.there, CONSORT_OK) << m.plugin.failure();
  ASSERT_EQ(n.back, CONSORT_OK) << m.plugin.failure();
  EXPECT_TRUE(n.to.flags & CONSORT_LK_3D);
  EXPECT_NE(m.spaces[0].domain_key, n.space.domain_key);
  std::vector<unsigned char> in(4096), out(4096);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned char>(i * 5 + i / 256);
  void *q = m.open_queue(), *other = n.open_queue();
  const consort_addr a = m.alloc(4096), b = n.alloc(4096), c = m.alloc(4096);
  EXPECT_EQ(m.run(q, {m.to_device(in.data(), a, 4096), m.copy(m.own(), a, n.space.id, b, 4096)}), (std::vector<consort_status>{0, 0})) << m.plugin.failure();
  // Rows with a gap on one side: every second line of sixteen bytes.
  EXPECT_EQ(m.run(other, {m.copy(n.space.id, b, m.own(), c, 16, 128, 32, 16)}), (std::vector<consort_status>{0})) << m.plugin.failure();
  EXPECT_EQ(m.run(q, {m.from_device(c, out.data(), 2048)}), (std::vector<consort_status>{0}));
  for (size_t i = 0; i < 2048; ++i) ASSERT_EQ(out[i], in[i / 16 * 32 + i % 16]) << i;
}

TEST_P(GpuCopies, DevicesWithoutPeerAccessHaveNoLink) {
  CONSORT_NEEDS_DOUBLE;
  Double(GetParam()).set("devices=2,memory=64M,peer=none");
  {
    Gpu m;
    Neighbour n(m);
    EXPECT_EQ(n.there, CONSORT_E_UNSUPPORTED);
    EXPECT_EQ(n.back, CONSORT_E_UNSUPPORTED);
  }
  Double(GetParam()).set("devices=2,memory=64M");
  Gpu m(Params{{"peers", "false"}});
  Neighbour n(m);
  EXPECT_EQ(n.there, CONSORT_E_UNSUPPORTED) << "switched off by the setting";
}

// -- the end of a device ----------------------------------------------------------------------------------------------

TEST_P(GpuCopies, LostDeviceEndsEveryOp) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  for (int at : {0, 1, 2, 3, 5, 8, 13, 21}) {
    d.set("devices=1,memory=64M,lost=0:" + std::to_string(at));
    Gpu m;
    if (m.status < 0) continue;  // lost while it was opened
    void *unit = m.open_queue(11), *copies = m.open_queue(12, CONSORT_NONE);
    consort_addr a{}, b{};
    if (m.ops->alloc(m.dev, m.own(), 1 << 16, 64, 0, &a) < 0 || m.ops->alloc(m.dev, m.own(), 1 << 16, 64, 0, &b) < 0) continue;
    std::vector<unsigned char> v(1 << 16, 7);
    const std::vector<consort_op> to_a(4, m.to_device(v.data(), a, v.size())), to_b(4, m.to_device(v.data(), b, v.size()));
    uint32_t over = 0, lost = 0;
    const auto drain = [&](void *q, uint32_t n) {
      for (uint32_t k = 0; k < n;) {
        consort_done done[4];
        const uint32_t got = m.ops->poll(q, done, 4);
        for (uint32_t i = 0; i < got; ++i) ++(done[i].status == CONSORT_E_DEVICE_LOST ? lost : over);
        k += got;
        if (!got) std::this_thread::yield();
      }
    };
    for (int round = 0; round < 4; ++round) {
      ASSERT_EQ(m.ops->submit(copies, to_a.data(), 4), 4u);
      ASSERT_EQ(m.ops->submit(unit, to_b.data(), 4), 4u);
      drain(copies, 4);
      drain(unit, 4);
    }
    EXPECT_EQ(over + lost, 32u) << "lost after " << at;
    EXPECT_GT(lost, 0u) << "lost after " << at;
    const auto events = m.plugin.awaited_events();
    EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const auto &e) { return e.what == CONSORT_EV_DEVICE_LOST; }), 1) << "told once";
    consort_addr none{};
    EXPECT_EQ(m.ops->alloc(m.dev, m.own(), 64, 64, 0, &none), CONSORT_E_DEVICE_LOST);
    for (const consort_addr x : {a, b}) m.ops->free(m.dev, m.own(), x, 1 << 16);
  }
  d.set(words());
}

// A thread that sleeps for an op is woken when the device is lost, though no op on it ever ends.
TEST_P(GpuCopies, LostDeviceWakesSleepers) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  d.set("devices=1,memory=64M,latency_us=200000");
  {
    Gpu m;
    void *q = m.open_queue(11);
    const consort_addr a = m.alloc(64);
    consort_op fill = op_of(CONSORT_OP_FILL, 0);
    fill.u.fill = {a, 64, m.own(), 0};
    ASSERT_EQ(m.ops->submit(q, &fill, 1), 1u);
    consort_done done{};
    while (m.ops->arm(q) == CONSORT_E_BUSY && !m.ops->poll(q, &done, 1)) {
    }
    std::thread end([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // nap: the loss comes while poll() sleeps, or before: both must end it
      d.lose(0);
    });
    pollfd p{m.ops->event_fd(q), POLLIN, 0};
    EXPECT_EQ(::poll(&p, 1, 20000), 1);
    end.join();
    EXPECT_EQ(m.collect(q, 1)[0].status, CONSORT_E_DEVICE_LOST);
  }
  d.set(words());
}

CONSORT_GPU_VENDORS(GpuCopies);

}  // namespace
}  // namespace consort_test
