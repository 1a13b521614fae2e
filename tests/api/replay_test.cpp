// replay.h: which tasks are recorded, how a replay is ordered with other tasks, and from which threads it may come.
#include "api/recordings.hpp"

using namespace consort_test;

namespace {

TEST_F(Replay, RunsRecordedTasksInOrder) {
  const auto r = record(rt, [&] {
    for (int64_t k = 0; k < 3; ++k) Desc(add).rw(dx).arg(k).must(rt);
    Desc(copy).r(dx).w(dy).must(rt);
  });
  EXPECT_EQ(ran, 0);  // recorded only
  const auto i = info(rt, r);
  EXPECT_EQ(i.ntasks, 4u);
  EXPECT_EQ(i.ndata, 2u);
  EXPECT_EQ(i.nedges, 4u);  // three, and that to the end of all
  EXPECT_GT(i.bytes, 4u * 192);
  int64_t want = 0;
  for (int turn = 0; turn < 5; ++turn) {
    wait(rt, replay(rt, r));
    for (int64_t k = 0; k < 3; ++k) want = want * 2 + k;
    EXPECT_EQ(x, want);
    EXPECT_EQ(y, want);
  }
  EXPECT_EQ(info(rt, r).replays, 5u);
  EXPECT_OK(consort_recording_destroy(rt, r));
  EXPECT_SAYS(CONSORT_E_STALE, consort_replay(rt, r, {0}, nullptr), "destroyed");
  EXPECT_SAYS(CONSORT_E_STALE, consort_recording_destroy(rt, r), "destroyed");
}

TEST_F(Replay, RunsWhileRecording) {
  const auto r = record(rt, [&] { for (int64_t k = 0; k < 3; ++k) Desc(add).rw(dx).arg(k).must(rt); }, 0);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 3);
  EXPECT_EQ(x, 4);
  wait(rt, replay(rt, r));
  EXPECT_EQ(ran, 6);
}

TEST_F(Replay, ReplaysOfOneDatumAreOrdered) {
  const auto r = record(rt, [&] { for (int k = 0; k < 10; ++k) Desc(add).rw(dx).arg(int64_t{0}).must(rt); });
  x = 1;
  for (int k = 0; k < 6; ++k) replay(rt, r);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, int64_t{1} << 60);
}

TEST_F(Replay, OtherTasksAreOrderedWithReplays) {
  const auto r = record(rt, [&] { Desc(add).rw(dx).arg(int64_t{5}).must(rt); Desc(copy).r(dx).w(dy).must(rt); });
  int64_t want = 0, z = 0;
  const auto dz = variable_of(rt, &z);
  for (int k = 0; k < 50; ++k) {
    Desc(add).rw(dx).arg(int64_t{k}).must(rt);
    replay(rt, r);
    if (k % 3 == 0) replay(rt, r);
    if (k % 2) Desc(copy).r(dy).w(dz).must(rt);
    want = want * 2 + k;
    want = want * 2 + 5;
    if (k % 3 == 0) want = want * 2 + 5;
    want &= 0xffff;
    Desc mask(bodies(rt, "mask", [](const consort_call &c) { return *pointer<int64_t>(c, 0) &= 0xffff, CONSORT_OK; }));
    mask.rw(dx).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, want);
  EXPECT_EQ(z, y);
}

TEST_F(Replay, AcquireIsOrderedBetweenReplays) {
  Gate gate;
  const auto slow = bodies(rt, "slow", [&](const consort_call &c) { gate.pass(); *pointer<int64_t>(c, 0) += 1; return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(slow).rw(dx).must(rt); });
  gate.open();
  wait(rt, replay(rt, r));
  replay(rt, r);
  consort_hold hold{};
  EXPECT_OK(consort_acquire(rt, dx, CONSORT_M_RW, kLong, &hold));
  EXPECT_EQ(x, 2);
  const auto next = replay(rt, r);
  EXPECT_EQ(consort_task_state(rt, next), CONSORT_AGAIN);
  x = 10;
  EXPECT_OK(consort_release(rt, hold));
  wait(rt, next);
  EXPECT_EQ(x, 11);
}

TEST_F(Replay, ReadersRunBesideReadOnlyReplays) {
  Gate gate;
  const auto waits = bodies(rt, "waits", [&](const consort_call &) { gate.pass(); return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(waits).r(dx).must(rt); });
  const auto t = replay(rt, r);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  Desc(copy).r(dx).w(dy).must(rt);  // while it runs
  EXPECT_TRUE(eventually([&] {
    consort_hold h{};
    if (consort_acquire(rt, dy, CONSORT_M_R, 1'000'000, &h) < 0) return false;
    need(consort_release(rt, h), "release");
    return true;
  }));
  EXPECT_EQ(consort_task_state(rt, t), CONSORT_AGAIN);
  gate.open();
  wait(rt, t);
}

TEST_F(Replay, KeepsPredecessorsBindingsNamesAndEmptyTasks) {
  std::vector<int> order;
  std::mutex mutex;
  const auto note = bodies(rt, "note", [&](const consort_call &c) {
    std::lock_guard lock(mutex);
    order.push_back(static_cast<int>(value<int64_t>(c, 0)) * 10 + static_cast<int>(c.worker));
    return CONSORT_OK;
  });
  const auto r = record(rt, [&] {
    const auto a = Desc(note).arg(int64_t{1}).on(1).must(rt);
    const auto b = Desc().then(a).must(rt);
    Desc(note).arg(int64_t{2}).on(0).then(b).name("second").must(rt);
  });
  for (int k = 0; k < 3; ++k) {
    order.clear();
    wait(rt, replay(rt, r));
    EXPECT_EQ(order, (std::vector<int>{11, 20}));
  }
}

TEST_F(Replay, AcceptsEmptyRecordings) {
  const auto r = record(rt, [] {});
  EXPECT_EQ(info(rt, r).ntasks, 0u);
  for (int k = 0; k < 4; ++k) replay(rt, r);
  wait(rt, replay(rt, r));
  const auto only = record(rt, [&] { Desc().rw(dx).must(rt); Desc().rw(dx).must(rt); });
  wait(rt, replay(rt, only));
  EXPECT_OK(consort_recording_destroy(rt, r));
}

TEST_F(Replay, RunsManyRootsAndLeaves) {
  std::atomic<int> n{0};
  const auto count = bodies(rt, "count", [&](const consort_call &) { ++n; return CONSORT_OK; });
  const auto r = record(rt, [&] {
    for (int k = 0; k < 5000; ++k) Desc(count).r(dx).must(rt);
    Desc(add).rw(dx).must(rt);
    for (int k = 0; k < 5000; ++k) Desc(count).must(rt);
  });
  for (int k = 1; k <= 3; ++k) {
    wait(rt, replay(rt, r));
    EXPECT_EQ(n, 10000 * k);
    EXPECT_EQ(ran, k);
  }
}

TEST_F(Replay, KeepsCommuteScratchAndUnorderedAccesses) {
  int64_t inside = 0, most = 0;
  const auto commutes = bodies(rt, "commutes", [&](const consort_call &c) {
    int64_t &v = *pointer<int64_t>(c, 0);
    most = std::max(most, ++inside);
    v += 1;
    --inside;
    return CONSORT_OK;
  });
  const auto both = bodies(rt, "both", [](const consort_call &c) { *pointer<int64_t>(c, 0) += 1; *pointer<int64_t>(c, 1) += 1; return CONSORT_OK; });
  const consort_vector_args like{nullptr, 8, 8};
  const consort_data_desc d{sizeof d, 0, "vector", &like, sizeof like, "pad"};
  consort_data_id pad{0};
  ASSERT_OK(consort_register(rt, &d, &pad));
  const auto scratch = bodies(rt, "scratch", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 7; return CONSORT_OK; });
  std::atomic<int> loose{0};
  const auto free = bodies(rt, "free", [&](const consort_call &) { ++loose; return CONSORT_OK; });
  const auto r = record(rt, [&] {
    for (int k = 0; k < 20; ++k) Desc(commutes).use(dx, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
    for (int k = 0; k < 20; ++k) Desc(both).use(dx, CONSORT_M_RW | CONSORT_M_COMMUTE).use(dy, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
    for (int k = 0; k < 5; ++k) Desc(copy).r(dx).w(dy).must(rt);
    for (int k = 0; k < 4; ++k) Desc(commutes).use(dx, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
    for (int k = 0; k < 10; ++k) Desc(scratch).scratch(pad).must(rt);
    Desc u(free);
    u.d.flags = CONSORT_TASK_UNORDERED;
    u.rw(dx).must(rt);
  });
  for (int k = 1; k <= 5; ++k) {
    wait(rt, replay(rt, r));
    EXPECT_EQ(x, 44 * k);
    EXPECT_EQ(y, 44 * (k - 1) + 40);
    EXPECT_EQ(loose, k);
  }
  EXPECT_EQ(most, 1);
}

TEST_F(Replay, FailureIsTheReplaysStatus) {
  std::atomic<bool> fail{true};
  const auto maybe = bodies(rt, "maybe", [&](const consort_call &c) -> consort_status {
    if (fail) return consort_fail(CONSORT_E_IO, "no luck");
    *pointer<int64_t>(c, 0) = 3;
    return CONSORT_OK;
  });
  std::atomic<int> last{0};
  const auto after = bodies(rt, "after", [&](const consort_call &) { ++last; return CONSORT_OK; });
  const auto ok = record(rt, [&] {
    const auto first = Desc(maybe).w(dx).must(rt);
    Desc(copy).r(dx).w(dy).name("poor copy").must(rt);
    Desc(after).then(first).must(rt);
  });
  for (int k = 0; k < 2; ++k) {
    const auto t = replay(rt, ok);
    EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t, kLong, 0), "replay", "maybe", "no luck");
    EXPECT_EQ(last, 0);
    EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "no luck");
    consort_hold h{};
    EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, dy, CONSORT_M_R, kLong, &h), "poor copy");
  }
  fail = false;
  wait(rt, replay(rt, ok));
  EXPECT_EQ(y, 3);
  EXPECT_EQ(last, 1);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Replay, CancelStopsUnstartedTasks) {
  Gate gate;
  std::atomic<bool> closed{true};
  const auto slow = bodies(rt, "slow", [&](const consort_call &) { if (closed) gate.pass(); return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(slow).rw(dx).must(rt); for (int k = 0; k < 20; ++k) Desc(add).rw(dx).must(rt); });
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  const auto first = replay(rt, r, g);
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  const auto second = replay(rt, r, g);
  EXPECT_OK(consort_group_cancel(rt, g));
  closed = false;
  gate.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, first, kLong, 0), "cancelled");
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, second, kLong, 0), "cancelled");
  EXPECT_EQ(ran, 0);
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_group_wait(rt, g, kLong, 0), "cancelled");
  EXPECT_OK(consort_invalidate(rt, dx));
  Desc(bodies(rt, "zero", [](const consort_call &c) { *pointer<int64_t>(c, 0) = 0; return CONSORT_OK; })).w(dx).must(rt);
  wait(rt, replay(rt, r, g));
  EXPECT_EQ(ran, 20);

  Gate again;
  closed = true;
  const auto held = bodies(rt, "held", [&](const consort_call &) { again.pass(); return CONSORT_OK; });
  const auto s = record(rt, [&] { Desc(held).rw(dy).must(rt); for (int k = 0; k < 20; ++k) Desc(add).rw(dy).must(rt); });
  const auto runs = replay(rt, s), waits = replay(rt, s), last = replay(rt, s);
  ASSERT_TRUE(eventually([&] { return again.waiting() == 1; }));
  EXPECT_OK(consort_task_cancel(rt, runs));
  EXPECT_OK(consort_task_cancel(rt, waits));
  again.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, runs, kLong, 0), "cancelled");
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, waits, kLong, 0), "cancelled");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, last, kLong, 0), "not run");  // not cancelled, but its datum is poisoned
  EXPECT_EQ(ran, 20);
}

TEST_F(Replay, CountsAsOneTaskOfItsGroup) {
  consort_info before{};
  before.size = sizeof before;
  const auto r = record(rt, [&] { for (int k = 0; k < 100; ++k) Desc(add).rw(dx).must(rt); });
  ASSERT_OK(consort_get_info(rt, &before));
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &g));
  replay(rt, r, g);
  EXPECT_OK(consort_group_wait(rt, g, kLong, 0));
  EXPECT_EQ(ran, 100);
  consort_info after = before;
  ASSERT_OK(consort_get_info(rt, &after));
  EXPECT_EQ(after.submitted, before.submitted + 1);
  EXPECT_TRUE(eventually([&] { return consort_get_info(rt, &after) == CONSORT_OK && after.finished == before.finished + 1; }));
}

TEST_F(Replay, RecordedBodiesMaySubmitAndWait) {
  std::atomic<int> children{0};
  const auto child = bodies(rt, "child", [&](const consort_call &) { ++children; return CONSORT_OK; });
  const auto parent = bodies(rt, "parent", [&](const consort_call &) {
    consort_group_id g{0};
    need(consort_group_create(rt, nullptr, &g), "group");
    for (int k = 0; k < 10; ++k) Desc(child).in(g).must(rt);
    need(consort_group_wait(rt, g, kLong, 0), "group_wait");
    need(consort_group_destroy(rt, g), "group_destroy");
    EXPECT_SAYS(CONSORT_E_BUSY, consort_task_wait(rt, consort_current_task(rt), kLong, 0), "itself");
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_task_end_hold(rt, consort_current_task(rt)), "parent", "recorded");
    return CONSORT_OK;
  });
  const auto r = record(rt, [&] { for (int k = 0; k < 5; ++k) Desc(parent).rw(dx).must(rt); for (int k = 0; k < 5; ++k) Desc(parent).must(rt); });
  for (int k = 0; k < 3; ++k) replay(rt, r);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(children, 300);
}

TEST_F(Replay, TasksMayReplayAndWait) {
  const auto r = record(rt, [&] { for (int k = 0; k < 50; ++k) Desc(add).rw(dx).arg(int64_t{0}).must(rt); });
  const auto outer = bodies(rt, "outer", [&](const consort_call &) {
    wait(rt, replay(rt, r));
    return CONSORT_OK;
  });
  for (int k = 0; k < 4; ++k) Desc(outer).rw(dy).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 200);
}

TEST_F(Replay, EachRunHasItsOwnTaskId) {
  std::vector<consort_task_id> ids;
  const auto who = bodies(rt, "who", [&](const consort_call &) { ids.push_back(consort_current_task(rt)); return CONSORT_OK; });
  const auto r = record(rt, [&] { Desc(who).rw(dx).must(rt); });
  for (int k = 0; k < 3; ++k) wait(rt, replay(rt, r));
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_NE(ids[0].v, ids[1].v);
  for (const auto id : ids) EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
}

TEST_F(Replay, SeveralRecordingsOnTheSameData) {
  const auto a = record(rt, [&] { Desc(add).rw(dx).arg(int64_t{1}).must(rt); });
  const auto b = record(rt, [&] { Desc(add).rw(dx).arg(int64_t{2}).must(rt); Desc(add).rw(dy).arg(int64_t{3}).must(rt); });
  const auto mask = bodies(rt, "mask", [](const consort_call &c) { return *pointer<int64_t>(c, 0) &= 0xffffff, CONSORT_OK; });
  int64_t want = 0;
  for (int k = 0; k < 100; ++k) {
    replay(rt, k % 3 ? a : b);
    Desc(mask).rw(dx).must(rt);
    Desc(mask).rw(dy).must(rt);
    want = (want * 2 + (k % 3 ? 1 : 2)) & 0xffffff;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, want);
}

TEST_F(Replay, ConcurrentReplays) {
  std::vector<consort_recording_id> all;
  for (int k = 0; k < 3; ++k) all.push_back(record(rt, [&] { Desc(add).rw(dx).arg(int64_t{0}).must(rt); Desc(add).rw(dy).arg(int64_t{0}).must(rt); }));
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 200; ++k) {
        replay(rt, all[static_cast<size_t>(k + t) % 3]);
        if (k % 5 == t) Desc(add).rw(t % 2 ? dx : dy).arg(int64_t{0}).must(rt);
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 3 * 200 * 2 + 3 * 40);
}

TEST(ReplayWithManualPump, RunsStepByStep) {
  Rt rt({{"workers", "2"}, {"pump", "manual"}, {"cpu.topology", kFourCores}});
  Bodies bodies;
  int ran = 0;
  const auto count = bodies(rt, "count", [&](const consort_call &) { ++ran; return CONSORT_OK; });
  const auto t = token_of(rt);
  const auto r = record(rt, [&] { for (int k = 0; k < 30; ++k) Desc(count).rw(t).must(rt); });
  for (int k = 0; k < 3; ++k) replay(rt, r);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 90);
}

// -- repetition -----------------------------------------------------------------------------------------------

TEST(RepeatDetector, ReportsRepeatedSequencesOnce) {
  static std::vector<std::string> said;
  said.clear();
  const consort_setting set[] = {{"workers", "1"}, {"detect_repeats", "true"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = set;
  s.nset = 2;
  s.log = [](void *, int32_t, const char *text) { said.emplace_back(text); };
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&s, &rt));
  Bodies bodies;
  const auto nothing = bodies(rt, "nothing", [](const consort_call &) { return CONSORT_OK; });
  const auto a = token_of(rt), b = token_of(rt);
  consort_repeats got{};
  got.size = sizeof got;
  const auto turn = [&](consort_data_id last) {
    for (int64_t k = 0; k < 10; ++k) Desc(nothing).rw(a).arg(k).must(rt);
    Desc(nothing).rw(last).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait_all");
    need(consort_get_repeats(rt, &got), "get_repeats");
  };
  for (uint64_t k = 0; k < 5; ++k) {
    turn(a);
    EXPECT_EQ(got.times, k);
    EXPECT_EQ(got.ntasks, 11u);
    turn(b);  // another, in between
    EXPECT_EQ(got.times, k);
  }
  const auto told = std::count_if(said.begin(), said.end(), [](const std::string &t) { return t.find("11 tasks has come back 3 times") != std::string::npos; });
  EXPECT_EQ(told, 1);
  EXPECT_OK(consort_stop(rt));

  Rt plain;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_get_repeats(plain, &got), "detect_repeats");
}

}  // namespace
