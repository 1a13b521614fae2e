// The plugins that `consort new` begins with, in both languages, as they stand in sdk/new. The scheduler gets threads,
// the driver strided copies and back-pressure, the interface hostile bytes. The transport gets matching and bounds.
#include <consort/scheduler.h>
#include <consort/transport.h>

#include <poll.h>

#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "../../sdk/new/interface/all/new-name.h"
#include "drivers/driver_harness.hpp"
#include "interfaces/layout_harness.hpp"

namespace consort_test {
namespace {

class PluginTemplates : public testing::TestWithParam<const char *> {
 protected:
  std::string name(const char *kind) const { return std::string("new-") + kind + "-" + GetParam(); }
  const std::string folder = CONSORT_TEST_PLUGIN_DIR;
};
INSTANTIATE_TEST_SUITE_P(, PluginTemplates, testing::Values("c", "cpp"), [](const auto &i) { return i.param; });

// -- the scheduler ----------------------------------------------------------------------------------------------------

struct Policy {
  explicit Policy(const std::string &name, const std::string &folder) : plugin(name, {}, folder) {
    topology.size = sizeof topology;
    topology.nworkers = 4;
    topology.nclasses = 2;
    topology.workers = workers;
    topology.classes = classes;
    if (!plugin.ready()) {
      ADD_FAILURE() << plugin.failure();
      return;
    }
    ops = plugin.ops<consort_scheduler_ops>();
    EXPECT_EQ(ops->create(plugin.self(), plugin.host(), &topology, 1, &s), CONSORT_OK) << plugin.failure();
  }
  ~Policy() {
    if (s) ops->destroy(s);
  }
  uint32_t push(consort_task *t, uint32_t n, uint64_t epoch = 1, uint64_t *bits = nullptr) {
    std::vector<consort_task *> all(n);
    for (uint32_t i = 0; i < n; ++i) all[i] = &t[i];
    uint64_t own = 0;
    consort_wake wake{1, 0, bits ? bits : &own};
    const consort_push p{epoch, CONSORT_NONE, CONSORT_PUSH_NEW, all.data(), n, 0, &wake};
    const uint32_t taken = ops->push(s, &p);
    EXPECT_EQ(wake.k, taken);
    return taken;
  }
  PluginHost plugin;
  const consort_scheduler_ops *ops = nullptr;
  void *s = nullptr;
  const consort_worker workers[4] = {
      {0, 0, 0, 0, 1, -1}, {1, 0, 0, 0, 1, -1}, {2, 0, 0, 0, 1, -1}, {3, 1, 0, 0, 1, -1}};
  const char *const classes[2] = {"a", "b"};
  consort_topology topology{};
};

TEST_P(PluginTemplates, SchedulerKeepsOrderClassesAndEpoch) {
  Policy p(name("scheduler"), folder);
  ASSERT_TRUE(p.s);
  std::vector<consort_task> t(6);
  for (size_t i = 0; i < 6; ++i) t[i].id = i, t[i].where = i % 2 ? 2 : 1;
  uint64_t bits = 0;
  EXPECT_EQ(p.push(t.data(), 6, 2), 0u);
  EXPECT_EQ(p.push(t.data(), 6, 1, &bits), 6u);
  EXPECT_EQ(bits, 15u);
  consort_pick pick[8];
  ASSERT_EQ(p.ops->pop(p.s, 3, pick, 1), 1u);
  EXPECT_EQ(pick[0].task, &t[1]);
  ASSERT_EQ(p.ops->pop(p.s, 0, pick, 8), 2u);  // its share of five among four
  EXPECT_EQ(pick[0].task, &t[0]);
  EXPECT_EQ(pick[1].task, &t[2]);
  const uint32_t add[] = {0, 1}, no[] = {9};
  EXPECT_EQ(p.ops->workers(p.s, &p.topology, no, 1, nullptr, 0), CONSORT_E_INVAL);
  EXPECT_EQ(p.ops->workers(p.s, &p.topology, add, 2, nullptr, 0), CONSORT_OK);
  EXPECT_EQ(p.ops->pop(p.s, 3, pick, 8), 0u);  // it serves two workers now
  consort_task *const gone[] = {&t[3], &t[0]};
  consort_task *held[2];
  ASSERT_EQ(p.ops->dropped(p.s, gone, 2, held), 1u);
  EXPECT_EQ(held[0], &t[3]);
  consort_task *out[8];
  ASSERT_EQ(p.ops->drain(p.s, CONSORT_NEVER, out, 8), 2u);
  EXPECT_EQ(out[0], &t[4]);
  EXPECT_EQ(out[1], &t[5]);
  EXPECT_EQ(p.push(t.data(), 1), 0u);
  EXPECT_EQ(p.ops->quiesce(p.s, CONSORT_NEVER), CONSORT_OK);
}

TEST_P(PluginTemplates, SchedulerPopsOnceUnderThreads) {
  Policy p(name("scheduler"), folder);
  ASSERT_TRUE(p.s);
  constexpr uint32_t kEach = 4000, kPushers = 3;
  std::vector<consort_task> t(kPushers * kEach);
  std::vector<std::atomic<int>> seen(t.size());
  for (size_t i = 0; i < t.size(); ++i) t[i].id = i, t[i].where = 1;
  std::atomic<uint64_t> popped{0};
  std::vector<std::thread> threads;
  for (uint32_t k = 0; k < kPushers; ++k)
    threads.emplace_back([&, k] {
      for (uint32_t i = 0; i < kEach; i += 5) EXPECT_EQ(p.push(&t[k * kEach + i], 5), 5u);
    });
  for (uint32_t w = 0; w < 3; ++w)
    threads.emplace_back([&, w] {
      consort_pick pick[4];
      while (popped < t.size()) {
        const uint32_t n = p.ops->pop(p.s, w, pick, 4);
        for (uint32_t i = 0; i < n; ++i) ++seen[pick[i].task->id];
        popped += n;
        if (!n) std::this_thread::yield();
      }
    });
  for (std::thread &thread : threads) thread.join();
  for (const auto &n : seen) ASSERT_EQ(n, 1);
}

// -- the driver -------------------------------------------------------------------------------------------------------

consort_space_desc host_memory() {
  consort_space_desc s{};
  s.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  s.domain = "host";
  return s;
}

TEST_P(PluginTemplates, DriverCopiesFillsCallsAndLimitsDepth) {
  DriverHarness d(name("driver"), {{"depth", "4"}, {"units", "2"}, {"bytes", "8192"}}, folder, {host_memory()});
  ASSERT_TRUE(d.dev) << d.plugin.failure();
  ASSERT_EQ(d.own_spaces, 1u);
  ASSERT_EQ(d.units.size(), 2u);
  EXPECT_EQ(d.units[1].space, d.spaces[0].id);
  EXPECT_STREQ(d.units[0].klass, "new-name");
  EXPECT_TRUE(d.link(0, 1).size && d.link(1, 0).size && d.link(0, 0).size);
  EXPECT_EQ(d.link(1, 1).size, 0u);  // the host's own affair
  void *q = d.open_queue();
  EXPECT_EQ(d.desc.flags, uint32_t{CONSORT_Q_IN_ORDER});

  consort_addr there{};
  EXPECT_EQ(d.ops->alloc(d.dev, d.spaces[0].id, 1 << 20, 64, 0, &there), CONSORT_E_NOMEM);
  EXPECT_NE(d.plugin.failure().find("bytes"), std::string::npos);
  EXPECT_EQ(d.ops->alloc(d.dev, d.spaces[0].id, 64, 3, 0, &there), CONSORT_E_INVAL);
  EXPECT_EQ(d.ops->alloc(d.dev, d.spaces[0].id, 64, 64, CONSORT_AL_EXPORT, &there), CONSORT_E_UNSUPPORTED);
  for (int i = 0; i < 100; ++i) {  // freed memory is available again
    ASSERT_EQ(d.ops->alloc(d.dev, d.spaces[0].id, 4096, 64, CONSORT_AL_ZERO, &there), CONSORT_OK) << d.plugin.failure();
    d.ops->free(d.dev, d.spaces[0].id, there, 4096);
  }
  ASSERT_EQ(d.ops->alloc(d.dev, d.spaces[0].id, 4096, 64, CONSORT_AL_ZERO, &there), CONSORT_OK);

  // Strided, there and back, against a loop.
  std::mt19937 random(7);
  std::vector<unsigned char> from(4096), to(4096), expected(4096);
  for (int round = 0; round < 50; ++round) {
    for (auto &b : from) b = static_cast<unsigned char>(random());
    std::fill(to.begin(), to.end(), 0);
    std::fill(expected.begin(), expected.end(), 0);
    consort_op ops[3] = {op_of(CONSORT_OP_COPY, 1), op_of(CONSORT_OP_COPY, 2), op_of(CONSORT_OP_MARK, 3)};
    consort_copy &in = ops[0].u.copy, &out = ops[1].u.copy;
    in.run = 1 + random() % 16, in.n[0] = 1 + random() % 8, in.n[1] = 1 + random() % 4;
    in.src = {reinterpret_cast<uint64_t>(from.data()), 2000}, in.dst = {there.base, there.off};
    in.src_step[0] = round % 2 ? 32 : -32, in.src_step[1] = 300;  // backwards, too
    in.dst_step[0] = 16, in.dst_step[1] = 128;
    in.src_space = d.spaces[1].id, in.dst_space = d.spaces[0].id;
    out = in;
    out.src = in.dst, out.dst = {reinterpret_cast<uint64_t>(to.data()), 100}, out.src_space = in.dst_space,
    out.dst_space = in.src_space;
    out.src_step[0] = 16, out.src_step[1] = 128, out.dst_step[0] = 24, out.dst_step[1] = 400;
    for (uint64_t z = 0; z < in.n[1]; ++z)
      for (uint64_t y = 0; y < in.n[0]; ++y)
        std::memcpy(&expected[100 + z * 400 + y * 24], &from[2000 + z * 300 + int64_t(y) * in.src_step[0]], in.run);
    ASSERT_EQ(d.ops->submit(q, ops, 3), 3u);
    const auto done = d.collect(q, 3);
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(done[i].cookie, i + 1);  // in order
      EXPECT_EQ(done[i].status, CONSORT_OK);
    }
    EXPECT_EQ(done[0].bytes, in.run * in.n[0] * in.n[1]);
    ASSERT_EQ(to, expected) << round;
  }

  consort_op fill = op_of(CONSORT_OP_FILL, 4), unknown = op_of(99, 5), call = op_of(CONSORT_OP_CALL, 6);
  fill.u.fill = {{reinterpret_cast<uint64_t>(to.data()), 1}, 7, d.spaces[1].id, 0x04030201};
  fill.flags = CONSORT_OPF_TIME;
  consort_call frame{};
  frame.size = sizeof frame;
  call.u.call = {[](const consort_call *) -> consort_status { return CONSORT_E_IO; }, &frame};
  const consort_op three[] = {fill, unknown, call};
  ASSERT_EQ(d.ops->submit(q, three, 3), 3u);
  const auto done = d.collect(q, 3);
  EXPECT_EQ(std::vector<int>(&to[1], &to[8]), (std::vector<int>{1, 2, 3, 4, 1, 2, 3}));
  EXPECT_TRUE(done[0].t0 && done[0].t1 >= done[0].t0);
  EXPECT_EQ(done[1].status, CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(done[2].status, CONSORT_E_IO);  // the function's own

  const std::vector<consort_op> many(9, op_of(CONSORT_OP_MARK, 8));
  EXPECT_EQ(d.ops->submit(q, many.data(), 9), 4u);  // as deep as it is; a short prefix, no more
  EXPECT_EQ(d.ops->submit(q, many.data(), 9), 0u);  // until they are polled
  d.collect(q, 4);

  for (int i = 0; i < 200; ++i) {  // no completion is slept through
    ASSERT_EQ(d.ops->submit(q, many.data(), 1), 1u);
    if (d.ops->arm(q) == CONSORT_OK) {
      pollfd fd = {d.ops->event_fd(q), POLLIN, 0};
      ASSERT_EQ(::poll(&fd, 1, 20'000), 1);
    }
    d.collect(q, 1);
  }
  d.ops->free(d.dev, d.spaces[0].id, there, 4096);
}

// -- the interface ----------------------------------------------------------------------------------------------------

TEST_P(PluginTemplates, InterfaceRoundTripsAndRefusesHostileBytes) {
  LayoutHarness h(name("interface"), folder);
  ASSERT_TRUE(h.ops);
  std::vector<double> home(100), back(100);
  std::iota(home.begin(), home.end(), 1);
  Pod shape, view;
  ASSERT_EQ(h.make(new_name_args{home.data(), 100, 8}, shape, view), CONSORT_OK);
  EXPECT_EQ(h.make(new_name_args{home.data(), 100, 0}, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(h.make(new_name_args{home.data(), UINT64_MAX / 8, 8}, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(h.make(new_name_args{reinterpret_cast<void *>(UINT64_MAX - 9), 2, 8}, shape, view), CONSORT_E_INVAL);
  EXPECT_EQ(h.make(int{}, shape, view), CONSORT_E_INVAL);
  ASSERT_EQ(h.make(new_name_args{home.data(), 100, 8}, shape, view), CONSORT_OK);
  EXPECT_EQ(h.describe(shape), "new-name of 100 x 8 B");
  std::vector<unsigned char> memory;
  const Pod replica = h.replica(shape, memory);
  h.copy(shape, view, replica);
  EXPECT_EQ(std::memcmp(memory.data(), home.data(), 800), 0);
  EXPECT_EQ(h.touched(shape, view, replica, false, memory), std::vector<int>(800, 1));
  EXPECT_EQ(h.ops->packed_bytes(shape, replica), 800u);
  EXPECT_EQ(h.ops->pack(shape, replica, back.data(), 799), CONSORT_E_TRUNCATED);
  ASSERT_EQ(h.ops->pack(shape, replica, back.data(), 800), CONSORT_OK);
  EXPECT_EQ(back, home);
  EXPECT_EQ(h.ops->unpack(shape, view, back.data(), 801), CONSORT_E_INVAL);

  const auto wire = h.wire(shape);
  Pod again;
  ASSERT_EQ(h.ops->decode(wire.data(), uint32_t(wire.size()), again), CONSORT_OK);
  EXPECT_EQ(h.wire(again), wire);
  EXPECT_EQ(h.ops->footprint(again), h.ops->footprint(shape));
  for (uint32_t n = 0; n < wire.size(); ++n) EXPECT_EQ(h.ops->decode(wire.data(), n, again), CONSORT_E_TRUNCATED);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    auto bad = wire;
    bad[random() % bad.size()] = static_cast<unsigned char>(random());
    if (h.ops->decode(bad.data(), uint32_t(bad.size()), again) != CONSORT_OK) continue;
    EXPECT_LE(h.ops->bytes(again), uint64_t{INT64_MAX});
    EXPECT_EQ(h.wire(again), bad);
  }

  const consort_filter &f = h.ops->filters[0];
  for (const uint32_t parts : {1u, 3u, 7u, 100u, 250u}) {  // they tile the parent
    const new_name_split split{parts};
    ASSERT_EQ(f.count(shape, &split), parts);
    uint64_t at = reinterpret_cast<uint64_t>(home.data());
    for (uint32_t i = 0; i < parts; ++i) {
      Pod s, v;
      ASSERT_EQ(f.shape(shape, &split, i, s), CONSORT_OK);
      ASSERT_EQ(f.alias(shape, view, &split, i, v), CONSORT_OK);
      consort_extent e{};
      const uint64_t bytes = h.ops->bytes(s);
      ASSERT_EQ(h.ops->extents(s, v, &e, 1), bytes ? 1u : 0u);
      if (bytes) {
        EXPECT_EQ(e.addr.base + e.addr.off, at);
      }
      at += bytes;
    }
    EXPECT_EQ(at, reinterpret_cast<uint64_t>(home.data() + 100));
    Pod s;
    EXPECT_EQ(f.shape(shape, &split, parts, s), CONSORT_E_INVAL);
  }
  const new_name_split none{0};
  EXPECT_EQ(f.count(shape, &none), 0u);
}

// -- the transport ----------------------------------------------------------------------------------------------------

TEST_P(PluginTemplates, TransportMatchesTruncatesAndCancels) {
  PluginHost plugin(name("transport"), {{"depth", "4"}}, folder);
  ASSERT_TRUE(plugin.ready()) << plugin.failure();
  const auto *ops = plugin.ops<consort_transport_ops>();
  consort_boot boot{};
  boot.size = sizeof boot, boot.rank = 2, boot.nranks = 5;
  consort_tcaps caps{};
  caps.size = sizeof caps;
  void *t = nullptr;
  ASSERT_EQ(ops->open(plugin.self(), plugin.host(), &boot, 77, &t, &caps), CONSORT_OK);
  char address[64], data[200], got[200];
  uint32_t n = sizeof address;
  ASSERT_EQ(ops->address(t, address, &n), CONSORT_OK);
  EXPECT_EQ(ops->connect(t, 2, address, n - 1), CONSORT_E_INVAL);
  EXPECT_EQ(ops->connect(t, 3, address, n), CONSORT_E_INVAL);  // rank 2's address
  const auto msg = [&](uint16_t kind, uint64_t cookie, void *local, uint64_t bytes, uint64_t tag) {
    consort_msg m{};
    m.kind = kind, m.peer = 2, m.cookie = cookie, m.local.base = reinterpret_cast<uint64_t>(local), m.bytes = bytes,
    m.tag = tag;
    m.rows = 1;
    return m;
  };
  const auto post = [&](const consort_msg &m) { return ops->post(t, &m, 1); };
  const auto poll = [&] {
    std::vector<consort_done> all(32);
    all.resize(ops->poll(t, all.data(), 32));
    return all;
  };
  EXPECT_EQ(post(msg(CONSORT_MSG_SEND, 1, data, 5, 0)), 1u);  // not connected
  auto done = poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, CONSORT_E_PEER_LOST);
  ASSERT_EQ(ops->connect(t, 2, address, n), CONSORT_OK);
  ASSERT_EQ(plugin.events().size(), 1u);
  EXPECT_EQ(plugin.events()[0].object, 77u);

  std::iota(data, data + sizeof data, 0);
  consort_msg small = msg(CONSORT_MSG_SEND, 1, data + 1, 3, 0xa1);
  small.flags = CONSORT_MF_INLINE;
  EXPECT_EQ(post(small), 1u);
  data[1] = 99;  // inline data have been copied
  EXPECT_EQ(post(msg(CONSORT_MSG_SEND, 2, data, 200, 0xb1)), 1u);
  EXPECT_TRUE(poll().empty());
  consort_msg receive = msg(CONSORT_MSG_RECV, 3, got, 100, 0x01);
  receive.ignore = 0xf0, receive.peer = CONSORT_NONE;
  EXPECT_EQ(post(receive), 1u);
  done = poll();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].cookie, 3u);
  EXPECT_EQ(done[1].tag, 0xa1u);  // the oldest that matches
  EXPECT_EQ(done[1].source, 2u);
  EXPECT_EQ(done[1].bytes, 3u);
  EXPECT_EQ(got[0], 1);
  EXPECT_EQ(post(receive), 1u);
  done = poll();
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].status, CONSORT_E_TRUNCATED);
  EXPECT_EQ(done[1].bytes, 200u);
  EXPECT_EQ(std::memcmp(got, data, 100), 0);

  EXPECT_EQ(post(msg(CONSORT_MSG_RECV, 8, got, 4, 5)), 1u);  // cancelled: ends once
  EXPECT_EQ(post(msg(CONSORT_MSG_CANCEL, 8, nullptr, 0, 0)), 1u);
  EXPECT_EQ(post(msg(CONSORT_MSG_CANCEL, 8, nullptr, 0, 0)), 1u);
  done = poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, CONSORT_E_CANCELLED);

  const std::vector<consort_msg> many(9, msg(CONSORT_MSG_SEND, 9, data, 1, 9));
  EXPECT_EQ(ops->post(t, many.data(), 9), 4u);  // a short prefix when it is full, and receives still go in
  for (int i = 0; i < 4; ++i) EXPECT_EQ(post(msg(CONSORT_MSG_RECV, 10, got, 1, 9)), 1u);
  EXPECT_EQ(poll().size(), 8u);

  consort_space_desc space = host_memory(), far{};
  space.size = far.size = sizeof space;
  consort_mr mr{};
  EXPECT_EQ(ops->reg(t, &far, {1, 0}, 9, &mr), CONSORT_E_UNSUPPORTED);
  ASSERT_EQ(ops->reg(t, &space, {reinterpret_cast<uint64_t>(got), 10}, 50, &mr), CONSORT_OK);
  const auto reach = [&](uint64_t off, uint64_t bytes) {
    consort_msg m = msg(CONSORT_MSG_PUT, 11, data, bytes, 6);
    m.remote = {reinterpret_cast<uint64_t>(got), off}, m.rkey = mr.rkey, m.nrkey = mr.nrkey,
    m.flags = CONSORT_MF_NOTIFY;
    EXPECT_EQ(post(m), 1u);
    return poll();
  };
  done = reach(10, 50);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[1].cookie, CONSORT_NOTIFIED);
  for (const auto &[off, bytes] :
       {std::pair<uint64_t, uint64_t>{10, 51}, {9, 1}, {60, 1}, {11, UINT64_MAX - 5}, {UINT64_MAX, 2}}) {
    done = reach(off, bytes);
    ASSERT_EQ(done.size(), 1u) << off;
    EXPECT_EQ(done[0].status, CONSORT_E_INVAL) << off;
  }
  ops->dereg(t, &mr);
  done = reach(10, 1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, CONSORT_E_STALE);

  EXPECT_EQ(post(msg(CONSORT_MSG_RECV, 12, got, 1, 1)), 1u);
  EXPECT_EQ(post(receive), 1u);  // from any: stays
  ops->disconnect(t, 2);
  done = poll();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].cookie, 12u);
  EXPECT_EQ(done[0].status, CONSORT_E_PEER_LOST);
  ops->close(t);
}

}  // namespace
}  // namespace consort_test
