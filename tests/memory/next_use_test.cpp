// Which submitted task uses a datum next, from what submitters note.
#include "memory/next_use.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "task/data.hpp"
#include "task/task_room.hpp"

namespace consort {
namespace {

struct NextUseOfData : ::testing::Test {
  consort_test::TaskRoom room;
  Codelet &codelet = room.add_codelet("any");
  NextUse next_use{room.tasks};
  int values[2] = {};
  Datum &x = add(0), &y = add(1);

  Datum &add(int i) {
    const consort_variable_args a{&values[i], sizeof(int)};
    const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, nullptr};
    return *consort_test::must(room.data.add(d));
  }
  Task &note(std::initializer_list<consort_access> uses) {
    Task &t = room.take_task(codelet);
    t.pub.naccess = static_cast<uint16_t>(uses.size());
    std::copy(uses.begin(), uses.end(), t.accesses());
    next_use.note(t);
    return t;
  }
  void end(Task &t) { t.word.store((t.pub.id & ~uint64_t{0xffffffff}) + (uint64_t{1} << 32)); }
};

TEST_F(NextUseOfData, FirstUnfinishedTaskIsNext) {
  Task &first = note({{&x.pub, CONSORT_M_R, 0}});
  note({{&x.pub, CONSORT_M_R, 0}, {&y.pub, CONSORT_M_R, 0}});
  EXPECT_EQ(next_use.next(x).place, NextUse::kNever) << "nothing was taken in yet";
  next_use.refresh();
  const uint64_t of_first = next_use.next(x).place, of_second = next_use.next(y).place;
  EXPECT_LT(of_first, of_second) << "in the order of submission";
  end(first);
  EXPECT_EQ(next_use.next(x).place, of_second);
}

TEST_F(NextUseOfData, OverwrittenContentsAreNotRead) {
  Task &writer = note({{&x.pub, CONSORT_M_W, 0}});
  note({{&x.pub, CONSORT_M_R, 0}});
  next_use.refresh();
  EXPECT_EQ(next_use.next(x).place, NextUse::kNever);
  EXPECT_TRUE(next_use.next(x).rewritten);
  next_use.used(x, writer.pub.id);  // done with it, though its name lives
  EXPECT_NE(next_use.next(x).place, NextUse::kNever);
  EXPECT_FALSE(next_use.next(x).rewritten);
}

TEST_F(NextUseOfData, PrivateMemoryIsNoUse) {
  note({{&x.pub, CONSORT_M_SCRATCH, 0}, {&y.pub, CONSORT_M_REDUX, 0}});
  next_use.refresh();
  EXPECT_EQ(next_use.size(), 0u);
}

TEST_F(NextUseOfData, UsesOfAForgottenDatumGo) {
  note({{&x.pub, CONSORT_M_RW, 0}, {&y.pub, CONSORT_M_R, 0}});
  next_use.refresh();
  EXPECT_EQ(next_use.size(), 2u);
  next_use.forget(x);
  EXPECT_EQ(next_use.size(), 1u);
  EXPECT_EQ(next_use.next(x).place, NextUse::kNever);
}

TEST_F(NextUseOfData, EndedTasksTakeNoMemoryForEver) {
  for (int i = 0; i < 40000; ++i) {
    Task &t = note({{&x.pub, CONSORT_M_R, 0}});
    end(t);
    room.thread().give_record(&t);
    if (i % 100 == 0) next_use.refresh();
  }
  next_use.refresh();
  EXPECT_LE(next_use.size(), 8192u);
}

}  // namespace
}  // namespace consort
