// replay.h: how a recording changes, how it ends, and which tasks cannot be recorded.
#include "api/recordings.hpp"

using namespace consort_test;

namespace {

TEST_F(Replay, SetDataReplacesADatum) {
  int64_t z = 0;
  const auto dz = variable_of(rt, &z, "z");
  const auto r = record(rt, [&] { Desc(add).rw(dx).arg(int64_t{5}).must(rt); Desc(copy).r(dx).w(dy).must(rt); });
  wait(rt, replay(rt, r));
  EXPECT_EQ(x, 5);
  z = 100;
  EXPECT_OK(consort_recording_set_data(rt, r, dx, dz));
  wait(rt, replay(rt, r));
  EXPECT_EQ(x, 5);
  EXPECT_EQ(z, 205);
  EXPECT_EQ(y, 205);
  EXPECT_OK(consort_unregister(rt, dx));  // not used any more
  wait(rt, replay(rt, r));
  EXPECT_EQ(y, 415);

  const auto v = vector_of(rt, &x, 1, 8, "v");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_data(rt, r, dz, v), "'z'", "variable", "'v'", "vector");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_data(rt, r, dz, dy), "uses datum 'y' already");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_data(rt, r, v, dz), "does not use");
  EXPECT_SAYS(CONSORT_E_STALE, consort_recording_set_data(rt, r, dz, dx), "new datum");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_data(rt, r, dz, {0}), "null");
  EXPECT_OK(consort_recording_set_data(rt, r, dz, dz));
}

TEST_F(Replay, SetArgAndSetPriority) {
  struct Big { int64_t a[6]; };
  int64_t seen = 0;
  uint32_t bytes = 0;
  const auto takes = bodies(rt, "takes", [&](const consort_call &c) {
    bytes = c.args[1].bytes;
    int64_t first;
    std::memcpy(&first, reinterpret_cast<const void *>(c.args[1].scalar), sizeof first);
    seen = value<int64_t>(c, 0) * 1000 + first;
    return CONSORT_OK;
  });
  Big big{{1, 2, 3, 4, 5, 6}};
  const auto by_value = [](const Big &b, uint32_t n) {
    return consort_arg{CONSORT_ARG_BYTES, n, {0, 0}, 0, reinterpret_cast<uint64_t>(&b)};
  };
  const auto r = record(rt, [&] {
    Desc d(takes);
    d.arg(int64_t{4});
    d.args.push_back(by_value(big, sizeof big));
    d.must(rt);
  });
  wait(rt, replay(rt, r));
  EXPECT_EQ(seen, 4001);
  big.a[0] = 9;
  consort_arg seven = scalar(int64_t{7}), given = by_value(big, 8);
  EXPECT_OK(consort_recording_set_arg(rt, r, 0, 0, &seven));
  EXPECT_OK(consort_recording_set_arg(rt, r, 0, 1, &given));
  wait(rt, replay(rt, r));
  EXPECT_EQ(seen, 7009);
  EXPECT_EQ(bytes, 8u);
  given = by_value(big, sizeof big);
  EXPECT_OK(consort_recording_set_arg(rt, r, 0, 1, &given));
  given.bytes = sizeof big + 1;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_arg(rt, r, 0, 1, &given), "48 bytes", "49");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_arg(rt, r, 0, 1, &seven), "kind");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_arg(rt, r, 0, 2, &seven), "2 values");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_arg(rt, r, 1, 0, &seven), "task 1", "there are 1");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_arg(rt, r, 0, 0, nullptr), "NULL");
  EXPECT_OK(consort_recording_set_priority(rt, r, 0, 5));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_recording_set_priority(rt, r, 7, 5), "task 7");
  wait(rt, replay(rt, r));
}

TEST(ReplayPriorities, LastSetPriorityApplies) {
  Rt rt({{"workers", "1"}, {"scheduler", "prio"}, {"bypass", "0"}});
  Bodies bodies;
  std::vector<int64_t> order;
  const auto note = bodies(rt, "note", [&](const consort_call &c) { order.push_back(value<int64_t>(c, 0)); return CONSORT_OK; });
  const auto first = bodies(rt, "first", [](const consort_call &) { return CONSORT_OK; });
  const auto t = token_of(rt);
  const auto r = record(rt, [&] {
    Desc(first).rw(t).must(rt);
    for (int64_t k = 0; k < 3; ++k) Desc(note).r(t).arg(k).must(rt);
  });
  ASSERT_OK(consort_recording_set_priority(rt, r, 2, 1));
  ASSERT_OK(consort_recording_set_priority(rt, r, 3, 2));
  wait(rt, replay(rt, r));
  EXPECT_EQ(order, (std::vector<int64_t>{2, 1, 0}));
}

TEST_F(Replay, ChangesAreBusyWhileReplaysArePending) {
  Gate gate;
  const auto slow = bodies(rt, "slow", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(slow).rw(dx).arg(1).must(rt); });
  const auto t = replay(rt, r);
  consort_arg a = scalar(2);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_recording_set_arg(rt, r, 0, 0, &a), "1 replays");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_recording_set_data(rt, r, dx, dy), "pending or running");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_recording_set_priority(rt, r, 0, 1), "pending or running");
  gate.open();
  wait(rt, t);
  EXPECT_OK(consort_recording_set_arg(rt, r, 0, 0, &a));  // over is over
  EXPECT_OK(consort_recording_set_data(rt, r, dx, dy));
}

TEST_F(Replay, DestroyWaitsForPendingReplays) {
  const auto r = record(rt, [&] { for (int k = 0; k < 1000; ++k) Desc(add).rw(dx).arg(int64_t{0}).must(rt); });
  for (int k = 0; k < 5; ++k) replay(rt, r);
  EXPECT_OK(consort_recording_destroy(rt, r));
  EXPECT_EQ(ran, 5000);
  Desc(add).rw(dx).must(rt);
  EXPECT_OK(consort_unregister(rt, dx));
  // its records are those of the next one
  for (int k = 0; k < 200; ++k) {
    const auto next = record(rt, [&] { for (int i = 0; i < k; ++i) Desc(add).rw(dy).arg(int64_t{0}).must(rt); });
    replay(rt, next);
    EXPECT_NE(next.v, r.v);
    EXPECT_OK(consort_recording_destroy(rt, next));
  }
  EXPECT_SAYS(CONSORT_E_STALE, consort_replay(rt, r, {0}, nullptr), "stale");
}

TEST_F(Replay, UnregisteredDatumMakesItStale) {
  const auto r = record(rt, [&] { Desc(add).rw(dx).must(rt); Desc(copy).r(dx).w(dy).must(rt); });
  wait(rt, replay(rt, r));
  replay(rt, r);
  EXPECT_OK(consort_unregister(rt, dy));
  EXPECT_SAYS(CONSORT_E_STALE, consort_replay(rt, r, {0}, nullptr), "datum 'y'", "unregistered");
  EXPECT_SAYS(CONSORT_E_STALE, consort_recording_set_priority(rt, r, 0, 1), "datum 'y'");
  Desc(add).rw(dx).must(rt);
  EXPECT_OK(consort_recording_destroy(rt, r));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 7);
}

TEST_F(Replay, PartsAreUsedBetweenReplays) {
  std::vector<int64_t> v(8, 0);
  const auto dv = vector_of(rt, v.data(), v.size(), sizeof(int64_t), "v");
  const auto plus = bodies(rt, "plus", [](const consort_call &c) {
    const auto &view = *static_cast<const consort_vector_view *>(c.views[0]);
    for (uint64_t i = 0; i < view.n; ++i) pointer<int64_t>(c, 0)[i] += value<int64_t>(c, 0);
    return CONSORT_OK;
  });
  const auto r = record(rt, [&] { Desc(plus).rw(dv).arg(int64_t{1}).must(rt); });
  wait(rt, replay(rt, r));
  replay(rt, r);
  consort_plan_desc d = CONSORT_PLAN_INIT;
  const consort_split two{2, 0};
  d.filter = "blocks";
  d.params = &two;
  d.params_bytes = sizeof two;
  consort_plan_id plan{0};
  consort_data_id part[2];
  ASSERT_OK(consort_plan_create(rt, dv, &d, &plan));
  ASSERT_EQ(consort_plan_parts(rt, plan, part, 2), 2);
  for (int k = 0; k < 10; ++k) {
    Desc(plus).rw(part[0]).arg(int64_t{10}).must(rt);
    replay(rt, r);
    replay(rt, r);
    Desc(plus).rw(part[1]).arg(int64_t{100}).must(rt);
  }
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(plus).rw(part[0]).arg(int64_t{1}).to(rt), "part");
  consort_recording_id none{0};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), "part");
  EXPECT_OK(consort_plan_destroy(rt, plan));
  replay(rt, r);
  wait(rt, replay(rt, r));
  EXPECT_OK(consort_unregister(rt, dv));
  EXPECT_EQ(v[0], 2 + 100 + 20 + 2);
  EXPECT_EQ(v[7], 2 + 1000 + 20 + 2);
}

TEST_F(Replay, RemovedCodeletMakesItStale) {
  const auto brief = bodies(rt, "brief", [](const consort_call &) { return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(brief).rw(dx).must(rt); });
  replay(rt, r);
  EXPECT_OK(consort_codelet_remove(rt, brief));
  EXPECT_SAYS(CONSORT_E_STALE, consort_replay(rt, r, {0}, nullptr), "codelet 'brief'", "removed");
  EXPECT_OK(consort_recording_destroy(rt, r));
  // removed while it is recorded
  const auto other = bodies(rt, "other", [](const consort_call &) { return CONSORT_OK; });
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  Desc(other).rw(dx).must(rt);
  EXPECT_OK(consort_codelet_remove(rt, other));
  consort_recording_id none{0};
  EXPECT_SAYS(CONSORT_E_STALE, consort_record_end(rt, &none), "removed");
}

TEST_F(Replay, UnrecordableTasksAreNamed) {
  consort_recording_id none{0};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), "records nothing");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_begin(rt, 64), "0x40");
  const auto refused = [&](Desc d, const char *what) {
    ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
    EXPECT_SAYS(CONSORT_E_BUSY, consort_record_begin(rt, 0), "records already");
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, d.to(rt), what);
    EXPECT_OK(Desc(add).rw(dx).to(rt));  // the recording goes on
    EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), what, "E_UNSUPPORTED");
  };
  refused(Desc(add).rw(dx).done([](void *, const consort_outcome *) {}, nullptr), "callback");
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  refused(Desc(add).rw(dx).in(g), "group");
  refused(Desc(add).use(dx, CONSORT_M_REDUX), "reduction");
  Desc again(add);
  again.d.flags = CONSORT_TASK_REPEAT;
  refused(std::move(again.rw(dx)), "again");
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  Desc tagged(add);
  tagged.d.more = &more;
  refused(std::move(tagged.rw(dx)), "order.h");
  // an ordinary mistake
  ASSERT_OK(consort_record_begin(rt, 0));
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).use(dx, 0).to(rt), "mode");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), "mode", "E_INVAL");
  // a predecessor from elsewhere, and a recorded one elsewhere
  const auto outside = Desc(add).rw(dx).must(rt);
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  const auto inside = Desc(add).rw(dx).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).then(outside).rw(dx).to(rt), "predecessor 0", "recording");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), "predecessor 0");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).then(inside).rw(dx).to(rt), "recorded task");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(rt, inside, 0, 0), "task");
  // a replay
  const auto r = record(rt, [&] { Desc(add).rw(dx).must(rt); });
  ASSERT_OK(consort_record_begin(rt, 0));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_replay(rt, r, {0}, nullptr), "replay");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_end(rt, &none), "replay");
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_replay(rt, {0}, {0}, nullptr), "null");
  EXPECT_SAYS(CONSORT_E_STALE, consort_replay(rt, r, {g.v + (uint64_t{9} << 32)}, nullptr), "group");
}

TEST_F(Replay, WaitsAndHoldsAreNotRecorded) {
  int64_t z = 3;
  const auto r = record(rt, [&] {
    Desc(add).rw(dx).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait_all");
    consort_hold h{};
    need(consort_acquire(rt, dy, CONSORT_M_RW, kLong, &h), "acquire");
    need(consort_release(rt, h), "release");
    Desc(copy).r(dx).w(variable_of(rt, &z)).must(rt);
  });
  EXPECT_EQ(info(rt, r).ntasks, 2u);
  wait(rt, replay(rt, r));
  EXPECT_EQ(z, 1);
}

}  // namespace
