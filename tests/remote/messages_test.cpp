// Messages between the ranks of a job: order, lengths, requests, callbacks, tags, and what is refused.
#include <consort/layouts.h>

#include "remote/job_ranks.hpp"

namespace {

using namespace consort_test;

consort_status add_one(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) ++elements<int64_t>(c)[i];
  return CONSORT_OK;
}

// Each rank adds its number to what the rank before has sent.
void go_around(uint64_t n, const std::vector<consort_setting> &settings = {}) {
  as_ranks(3, [&](JobRank &me) {
    std::vector<int64_t> v(n);
    const auto add_c = me.codelet("add one", add_one);
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, v.data(), n, 8, &x), CONSORT_OK);
    constexpr int kRounds = 20;
    const uint32_t next = (me.rank() + 1) % 3, before = (me.rank() + 2) % 3;
    const consort_use use{x, CONSORT_M_RW, 0};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = add_c, d.uses = &use, d.nuses = 1;
    for (int i = 0; i < kRounds; ++i) {
      if (i || me.rank()) me.receive(me.message(x, before, 7));
      ASSERT_EQ(consort_submit(me.rt, &d, nullptr), CONSORT_OK);
      if (i + 1 < kRounds || me.rank() != 2) me.send(me.message(x, next, 7));
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK) << consort_error();
    for (const int64_t e : v) ASSERT_EQ(e, 3 * (kRounds - 1) + me.rank() + 1);
  }, settings);
}
TEST(JobMessages, ShortMessagesGoAround) { go_around(1); }
TEST(JobMessages, LongMessagesGoAround) { go_around(20'000); }

// The tasks run on a device with a memory of its own: contents go by way of the host.
TEST(JobMessages, MessagesOfDataOnDevices) {
  go_around(20'000, {{"drivers", "cpu,sim"}, {"sim.class", "cpu"}, {"cpu.units", "false"}});
}

TEST(JobMessages, LengthsMustAgree) {
  as_ranks(2, [](JobRank &me) {
    std::vector<int64_t> v(1000);
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, v.data(), me.rank() ? 1000 : 999, 8, &x), CONSORT_OK);
    const auto request = me.rank() ? me.receive(me.message(x, 0, 1)) : me.send(me.message(x, 1, 1));
    EXPECT_EQ(me.wait(request), CONSORT_E_INVAL);
    EXPECT_NE(std::string(consort_error()).find("register it with the same sizes on all ranks"), std::string::npos) << consort_error();
    (void)me.wait_all();
  });
}

TEST(JobMessages, RequestsMayBeTestedAndCallbacksAreCalled) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = me.rank() ? 0 : 9;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    std::atomic<int> called{0};
    consort_message m = me.message(x, 1 - me.rank(), 5);
    m.flags = CONSORT_MESSAGE_SYNC * !me.rank();
    m.done = [](void *arg, const consort_outcome *o) { *static_cast<std::atomic<int> *>(arg) += o->status == CONSORT_OK; };
    m.done_arg = &called;
    if (!me.rank()) {
      const auto request = me.send(m);
      EXPECT_EQ(consort_task_wait(me.rt, request, 20'000'000, 0), CONSORT_E_TIMEOUT) << "no receive has begun";
      EXPECT_EQ(consort_task_state(me.rt, request), CONSORT_AGAIN);
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
      EXPECT_EQ(me.wait(request), CONSORT_OK) << consort_error();
    } else {
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
      EXPECT_EQ(me.wait(me.receive(m)), CONSORT_OK) << consort_error();
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK);
    EXPECT_EQ(called, 1);
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK);
    EXPECT_EQ(a, 9);
  });
}

TEST(JobMessages, EndOfAMessageMayReachATag) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    consort_message m = me.message(x, 1 - me.rank(), 5);
    m.done = [](void *rt, const consort_outcome *) { (void)consort_tag_notify(static_cast<consort_runtime *>(rt), 77); };
    m.done_arg = me.rt;
    (void)(me.rank() ? me.send(m) : me.receive(m));
    const uint64_t tag = 77;
    EXPECT_EQ(consort_tag_wait(me.rt, &tag, 1, CONSORT_FOREVER, 0), CONSORT_OK) << consort_error();
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  });
}

// Of a matrix whose lines do not lie together at one of the ranks.
TEST(JobMessages, LinesWithGapsArePacked) {
  as_ranks(2, [](JobRank &me) {
    constexpr uint64_t kX = 30, kY = 40, kLd = 50;
    std::vector<double> v(kLd * kY, -1);
    const bool has_gaps = me.rank() == 1;
    consort_data_id x{};
    if (!me.rank())
      for (uint64_t i = 0; i < kX * kY; ++i) v[i] = static_cast<double>(i);
    ASSERT_EQ(consort_register_matrix(me.rt, v.data(), kX, kY, has_gaps ? kLd : kX, 8, &x), CONSORT_OK);
    for (int i = 0; i < 3; ++i) {  // there, back, there
      const bool sends = i % 2 == static_cast<int>(me.rank());
      if (sends) me.send(me.message(x, 1 - me.rank(), 1));
      else me.receive(me.message(x, 1 - me.rank(), 1));
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK);
    for (uint64_t i = 0; i < kX * kY && has_gaps; ++i) ASSERT_EQ(v[i / kX * kLd + i % kX], static_cast<double>(i));
    if (has_gaps) {
      EXPECT_EQ(v[kX], -1) << "the gaps are not written";
    }
  });
}

// Many short messages before any receive: only so many are stored, and the rest waits at the sender.
void receive_late(const std::vector<consort_setting> &settings = {}) {
  as_ranks(2, [](JobRank &me) {
    constexpr int kMessages = 3000;
    std::vector<int64_t> v(kMessages);
    std::vector<consort_data_id> x(kMessages);
    for (int i = 0; i < kMessages; ++i) {
      if (!me.rank()) v[i] = i;
      ASSERT_EQ(consort_register_vector(me.rt, &v[i], 1, 8, &x[i]), CONSORT_OK);
      if (!me.rank()) me.send(me.message(x[i], 1, 1));
    }
    ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
    if (me.rank())  // in the order of the sends, whatever becomes ready first
      for (int i = 0; i < kMessages; ++i) me.receive(me.message(x[i], 0, 1));
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(consort_unregister(me.rt, x[i]), CONSORT_OK);
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(v[i], i);
  }, settings);
}
TEST(JobMessages, ManyMessagesWithoutReceives) { receive_late(); }

// The sender leaves when its transport has taken all messages, while receives wait until the transport takes them.
TEST(JobMessages, SenderLeavesWhileReceivesWaitForTheTransport) {
  for (int i = 0; i < 5; ++i) receive_late({{"inproc.depth", "36"}});
}

TEST(JobMessages, SendAndReceiveRefuseNonsense) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    consort_message m = me.message(x, me.rank(), 1);
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.rank = 2;
    EXPECT_EQ(consort_receive(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.rank = 1 - me.rank(), m.flags = 64;
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.flags = 0, m.data = {x.v + (uint64_t{1} << 32)};
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_STALE);
    EXPECT_EQ(consort_send(me.rt, nullptr, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(consort_data_distribute(me.rt, x, 1, 2), CONSORT_E_INVAL);
    EXPECT_EQ(consort_data_migrate(me.rt, x, 1), CONSORT_E_INVAL);
    const consort_use use{x, CONSORT_M_RW, 0};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.uses = &use, d.nuses = 1;
    EXPECT_EQ(consort_job_submit(me.rt, &d, nullptr, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(consort_job_submit(me.rt, nullptr, nullptr, nullptr), CONSORT_E_INVAL);
  });
}

}  // namespace
