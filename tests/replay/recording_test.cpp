// Recordings on executors that are stepped by hand: their edges, replays one after the other, handles, failures.
#include "replay/recording.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/last_error.hpp"
#include "replay/replay_room.hpp"

namespace consort {
namespace {

struct RecordedTasks : ::testing::Test {
  consort_test::ReplayRoom room;
  std::string ran;
  Codelet &append = room.add_codelet("append", [](const consort_call *c) -> consort_status {
    static_cast<std::string *>(c->user)->push_back(*static_cast<const char *>(consort_ptr(*static_cast<const consort_addr *>(c->views[0]))));
    return CONSORT_OK;
  }, &ran);
  char a = 'a', b = 'b', c = 'c';
  consort_data_id da = room.add_variable(&a, "a"), db = room.add_variable(&b, "b"), dc = room.add_variable(&c, "c");

  consort_use r(consort_data_id d) { return {d, CONSORT_M_R, 0}; }
  consort_use rw(consort_data_id d) { return {d, CONSORT_M_RW, 0}; }
};

TEST_F(RecordedTasks, EdgesAreThoseOfTheAccesses) {
  Recording &all = room.record([&] {
    room.submit_desc(CONSORT_TASK_INIT);  // an empty task
    room.submit_task(append, {rw(da)});
    room.submit_task(append, {r(da), rw(dc)});
    room.submit_task(append, {r(da)});
    room.submit_task(append, {rw(da), rw(dc)});
  });
  EXPECT_EQ(all.ntasks, 5u);
  EXPECT_EQ(all.nnodes.load(), 6u) << "one node comes after all";
  // The writer precedes two readers, and these the next writer (the edge by c is that by a). That writer and the empty
  // task precede the last node.
  EXPECT_EQ(all.nedges, 6u);
  EXPECT_EQ(all.roots.size(), 2u);
  EXPECT_EQ(all.uses.size(), 2u);
  EXPECT_EQ(ran, "") << "a recording alone runs nothing";
}

TEST_F(RecordedTasks, ReplaysRunInOrderOneAfterTheOther) {
  Recording &all = room.record([&] {
    room.submit_task(append, {r(da), rw(dc)});
    room.submit_task(append, {r(db), rw(dc)});
  });
  ASSERT_EQ(room.replay(all), CONSORT_OK);
  ASSERT_EQ(room.replay(all), CONSORT_OK);
  room.run_all();
  EXPECT_EQ(ran, "abab");
  EXPECT_EQ(all.replays, 2u);
  EXPECT_TRUE(room.groups.all_idle());
}

TEST_F(RecordedTasks, TasksOutsideComeInTheirOrder) {
  Recording &all = room.record([&] { room.submit_task(append, {r(da), rw(dc)}); });
  ASSERT_EQ(room.replay(all), CONSORT_OK);
  room.submit_task(append, {rw(dc)});
  ASSERT_EQ(room.replay(all), CONSORT_OK);
  room.run_all();
  EXPECT_EQ(ran, "aca");
}

TEST_F(RecordedTasks, HandleOfADestroyedRecordingIsStale) {
  Recording &all = room.record([&] { room.submit_task(append, {rw(da)}); });
  const consort_recording_id id = all.id();
  EXPECT_EQ(room.recordings.find(id), &all);
  all.live = false;
  room.recordings.give_back(all);
  Recording &next = room.record([&] { room.submit_task(append, {rw(db)}); });
  EXPECT_EQ(&next, &all) << "its shell is used again";
  EXPECT_NE(next.id().v, id.v);
  EXPECT_EQ(submit_replay(room, room.thread(), id, *room.standard_group, nullptr), CONSORT_E_STALE);
  EXPECT_EQ(room.replay(next), CONSORT_OK);
  room.run_all();
  EXPECT_EQ(ran, "b");
}

TEST_F(RecordedTasks, FailureOfATaskIsThatOfItsReplay) {
  Codelet &fail = room.add_codelet("fail", [](const consort_call *) -> consort_status { return CONSORT_E_IO; });
  Recording &all = room.record([&] {
    room.submit_task(fail, {rw(dc)});
    room.submit_task(append, {r(dc)});
    room.submit_task(append, {rw(da)});
  });
  consort_task_id id{0};
  ASSERT_EQ(submit_replay(room, room.thread(), all.id(), *room.standard_group, &id), CONSORT_OK);
  room.run_all();
  EXPECT_EQ(ran, "a") << "what reads c does not run";
  const auto why = room.failures.find(id.v);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->root().status, CONSORT_E_IO);
}

TEST_F(RecordedTasks, RecordsInARowAreGivenOutOnce) {
  const uint32_t first = room.recordings.take_records(10), second = room.recordings.take_records(5);
  EXPECT_GE(second, first + 10);
  room.recordings.give_records(first, 10);
  EXPECT_EQ(room.recordings.take_records(4), first);
  EXPECT_EQ(room.recordings.take_records(6), first + 4);
}

}  // namespace
}  // namespace consort
