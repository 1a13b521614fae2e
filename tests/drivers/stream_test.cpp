// The stream double keeps the contract of an asynchronous device: tests of the kernel rely on it.
#include <poll.h>

#include <atomic>
#include <thread>

#include "drivers/driver_harness.hpp"
#include "drivers/ram.hpp"
#include "plugins/stream/stream.h"

namespace consort_test {
namespace {

using Params = PluginHost::Params;

struct Counted {
  uint64_t counters[STREAM_COUNTERS] = {};
  Params with(Params p) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<void *>(counters));
    p["counters"] = text;
    return p;
  }
  uint64_t operator[](int i) const { return __atomic_load_n(&counters[i], __ATOMIC_RELAXED); }
};

// A call that appends its number to a list.
struct Note {
  consort_call call{};
  std::vector<int> *list;
  int number;
  Note(std::vector<int> *l, int n) : list(l), number(n) { call.size = sizeof call; }
  static consort_status run(const consort_call *c) {
    auto *n = static_cast<Note *>(c->user);
    n->list->push_back(n->number);
    return CONSORT_OK;
  }
  consort_op op(uint64_t cookie) {
    call.user = this;
    consort_op o = op_of(CONSORT_OP_CALL, cookie);
    o.u.call = {run, &call};
    return o;
  }
};

TEST(Stream, SpaceFollowsTheSetting) {
  DriverHarness host("stream", {{"units", "2"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  EXPECT_EQ(host.own_spaces, 0u);
  ASSERT_EQ(host.units.size(), 2u);
  EXPECT_EQ(host.units[1].space, host.kFirstSpace) << "as link() named it";
  EXPECT_STREQ(host.units[0].klass, "stream");
  DriverHarness own("stream", {{"space", "own"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  EXPECT_EQ(own.own_spaces, 1u);
  EXPECT_EQ(own.units[0].space, own.kFirstSpace);
  EXPECT_TRUE(own.link(0, 1).flags & CONSORT_LK_LOADSTORE);
  EXPECT_TRUE(own.link(1, 0).flags & CONSORT_LK_LOADSTORE);
  EXPECT_EQ(own.link(1, 1).size, 0u) << "not its affair";
  DriverHarness apart("stream", {{"space", "apart"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  EXPECT_EQ(apart.spaces[0].flags, 0u);
  EXPECT_TRUE(apart.link(1, 0).flags & CONSORT_LK_ASYNC);
  EXPECT_FALSE(apart.link(1, 0).flags & CONSORT_LK_LOADSTORE);
}

TEST(Stream, RunsInOrderWithoutHostCalls) {
  Counted counted;
  DriverHarness d("stream", counted.with({{"latency_ns", "1000000"}, {"depth", "16"}}), CONSORT_TEST_PLUGIN_DIR,
                  {ram()});
  void *q = d.open_queue();
  std::vector<int> order;
  std::vector<Note> notes;
  for (int i = 0; i < 16; ++i) notes.emplace_back(&order, i);
  std::vector<consort_op> ops;
  for (int i = 0; i < 16; ++i) ops.push_back(notes[i].op(100 + i));
  ops.push_back(op_of(CONSORT_OP_MARK, 1));
  EXPECT_EQ(d.ops->submit(q, ops.data(), 4), 4u);
  EXPECT_EQ(d.ops->submit(q, ops.data() + 4, 13), 12u) << "no more than its depth";
  const auto done = d.collect(q, 16);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(order[i], i);
    EXPECT_EQ(done[i].cookie, 100u + i);
    EXPECT_EQ(done[i].status, CONSORT_OK);
  }
  EXPECT_EQ(counted[STREAM_SUBMITS], 2u);
  EXPECT_EQ(counted[STREAM_OPS], 16u);
  EXPECT_EQ(counted[STREAM_ROUND_TRIPS], 1u);
  EXPECT_EQ(counted[STREAM_COMPLETED], 16u);
  EXPECT_EQ(counted[STREAM_IN_FLIGHT], 16u);
  EXPECT_EQ(d.ops->submit(q, ops.data() + 16, 1), 1u);
  d.collect(q, 1);
  EXPECT_EQ(counted[STREAM_ROUND_TRIPS], 2u);
}

TEST(Stream, QueuesWaitForEachOthersTickets) {
  Counted counted;
  DriverHarness d("stream", counted.with({{"latency_ns", "2000000"}, {"waits", "true"}}), CONSORT_TEST_PLUGIN_DIR,
                  {ram()});
  void *a = d.open_queue(1);
  EXPECT_TRUE(d.desc.flags & CONSORT_Q_WAITS);
  const uint64_t sync = d.desc.sync;
  void *b = d.open_queue(2);
  EXPECT_NE(sync, 0u);
  EXPECT_EQ(d.desc.sync, sync);
  std::vector<int> order;  // the two queues never run at once, for each waits for the other
  std::vector<Note> notes;
  for (int i = 0; i < 10; ++i) notes.emplace_back(&order, i);
  for (int i = 0; i < 10; ++i) {
    consort_op o = notes[i].op(i);
    const consort_ticket t{i % 2 ? 1u : 2u, static_cast<uint64_t>((i + 1) / 2)};
    if (i) o.wait = &t, o.nwait = 1;
    EXPECT_EQ(d.ops->submit(i % 2 ? b : a, &o, 1), 1u);
  }
  d.collect(a, 5);
  d.collect(b, 5);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(order[i], i);
  EXPECT_GE(counted[STREAM_WAITS], 1u);
  const consort_ticket gone{99, 7};  // of a queue that is closed
  consort_op o = op_of(CONSORT_OP_MARK, 5);
  o.wait = &gone, o.nwait = 1;
  EXPECT_EQ(d.ops->submit(a, &o, 1), 1u);
  d.collect(a, 1);
}

// A function that only enqueues runs inside submit(); its work, and its completion, come when the stream gets there.
TEST(Stream, EnqueuedWorkRunsOnTheStream) {
  DriverHarness d("stream", {{"latency_ns", "1000000"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  void *q = d.open_queue();
  struct State {
    std::thread::id enqueued, ran;
    std::atomic<int> steps{0};
  } state;
  consort_call call{};
  call.size = sizeof call;
  call.user = &state;
  consort_op o = op_of(CONSORT_OP_CALL, 1);
  o.flags = CONSORT_OPF_ENQUEUE;
  o.u.call = {[](const consort_call *c) -> consort_status {
                auto *native = static_cast<stream_native *>(c->native_queue);
                static_cast<State *>(c->user)->enqueued = std::this_thread::get_id();
                for (int i = 0; i < 2; ++i)
                  native->enqueue(native, [](void *arg) {
                    auto *s = static_cast<State *>(arg);
                    s->ran = std::this_thread::get_id();
                    ++s->steps;
                  }, c->user);
                return CONSORT_OK;
              }, &call};
  const consort_op first = op_of(CONSORT_OP_MARK, 0);
  ASSERT_EQ(d.ops->submit(q, &first, 1), 1u);
  ASSERT_EQ(d.ops->submit(q, &o, 1), 1u);
  EXPECT_EQ(state.enqueued, std::this_thread::get_id());
  const auto done = d.collect(q, 2);
  EXPECT_EQ(done[1].cookie, 1u);
  EXPECT_EQ(state.steps, 2);
  EXPECT_NE(state.ran, std::this_thread::get_id());
}

TEST(Stream, FdWakesArmedSleepers) {
  DriverHarness d("stream", {{"latency_ns", "3000000"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  void *q = d.open_queue();
  pollfd fd{d.ops->event_fd(q), POLLIN, 0};
  const consort_op mark = op_of(CONSORT_OP_MARK, 4);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(d.ops->submit(q, &mark, 1), 1u);
    ASSERT_EQ(d.ops->arm(q), CONSORT_OK);
    EXPECT_EQ(poll(&fd, 1, 0), 0);
    EXPECT_EQ(poll(&fd, 1, 10000), 1);
    EXPECT_EQ(d.ops->arm(q), CONSORT_E_BUSY) << "something is there: poll first";
    d.collect(q, 1);
  }
}

TEST(Stream, FailsTheNthOp) {
  DriverHarness d("stream", {{"fail_op", "2"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  void *q = d.open_queue();
  const std::vector<consort_op> ops(3, op_of(CONSORT_OP_MARK, 0));
  ASSERT_EQ(d.ops->submit(q, ops.data(), 3), 3u);
  const auto done = d.collect(q, 3);
  EXPECT_EQ(done[0].status, CONSORT_OK);
  EXPECT_EQ(done[1].status, CONSORT_E_IO);
  EXPECT_EQ(done[2].status, CONSORT_OK);
}

TEST(Stream, LostDeviceStaysLost) {
  DriverHarness d("stream", {{"lost_after", "3"}, {"latency_ns", "200000"}}, CONSORT_TEST_PLUGIN_DIR, {ram()});
  void *a = d.open_queue(1), *b = d.open_queue(2);
  std::vector<consort_op> ops;
  for (uint64_t i = 0; i < 12; ++i) ops.push_back(op_of(CONSORT_OP_MARK, i));
  ASSERT_EQ(d.ops->submit(a, ops.data(), 12), 12u);
  ASSERT_EQ(d.ops->submit(b, ops.data(), 12), 12u);
  int lost = 0;
  for (void *q : {a, b}) {
    const auto done = d.collect(q, 12);
    bool gone = false;
    for (uint64_t i = 0; i < 12; ++i) {
      EXPECT_EQ(done[i].cookie, i) << "in order";
      gone |= done[i].status == CONSORT_E_DEVICE_LOST;
      EXPECT_EQ(done[i].status, gone ? CONSORT_E_DEVICE_LOST : CONSORT_OK);
      lost += gone;
    }
  }
  EXPECT_GE(lost, 21);
  while (d.plugin.events().empty()) std::this_thread::yield();
  ASSERT_EQ(d.ops->submit(a, ops.data(), 2), 2u) << "accepted, and given back";
  for (const auto &done : d.collect(a, 2)) EXPECT_EQ(done.status, CONSORT_E_DEVICE_LOST);
  consort_addr addr{};
  EXPECT_EQ(d.ops->alloc(d.dev, 0, 64, 64, 0, &addr), CONSORT_E_DEVICE_LOST);
  ASSERT_EQ(d.plugin.events().size(), 1u);
  EXPECT_EQ(d.plugin.events()[0].what, uint32_t{CONSORT_EV_DEVICE_LOST});
  EXPECT_EQ(d.plugin.events()[0].object, d.kToken);
}

}  // namespace
}  // namespace consort_test
