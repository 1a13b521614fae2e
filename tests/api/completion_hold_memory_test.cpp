// Tasks whose end waits for other tasks (TSK-16) and the memory of devices (MEM-02). A task that waits for memory gets
// that of tasks that wait for its end.
#include <consort/order.h>

#include "api/device_home.hpp"

using namespace consort_test;

namespace {

constexpr uint64_t kN = 512;  // 4 KiB each; of these a device holds one

struct CompletionHoldMemory : ::testing::Test {
  Machine m{Pairs{{"sim.memory", "4096"}, {"sim.devices", "1"}, {"save_ahead", "0"}}, true};
  consort_data_id fresh(const char *name) {
    consort_data_id d = vector_of(m, static_cast<uint64_t *>(nullptr), kN, 8, name);
    consort_hold hold{};
    need(consort_acquire(m, d, CONSORT_M_W, kLong, &hold), "acquire");
    std::fill_n(static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr)), kN, 0);
    need(consort_release(m, hold), "release");
    return d;
  }
  void expect_all(consort_data_id d, uint64_t want) {
    consort_hold hold{};
    ASSERT_OK(consort_acquire(m, d, CONSORT_M_R, kLong, &hold));
    const auto *v = static_cast<const uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
    for (uint64_t i = 0; i < kN; ++i) ASSERT_EQ(v[i], want);
    ASSERT_OK(consort_release(m, hold));
  }
  // Writes 3 to the datum on the device, in a task with these options.
  consort_task_id write_3(consort_data_id d, const consort_task_more &more) {
    Desc task(m.add);
    task.rw(d).arg(uint64_t{3}).on(m.devices[0]);
    task.d.more = &more;
    return task.must(m);
  }
  // The same, with a hold on its end; its body is over.
  consort_task_id held_writer(consort_data_id d) {
    consort_task_more more = CONSORT_TASK_MORE_INIT;
    more.end_holds = 1;
    const consort_task_id held = write_3(d, more);
    expect_waits(held);
    return held;
  }
  void expect_waits(consort_task_id task) { EXPECT_EQ(consort_task_wait(m, task, 10'000'000, 0), CONSORT_E_TIMEOUT); }
};

TEST_F(CompletionHoldMemory, EndAfterGivesMemoryToTheAwaitedTask) {
  const auto a = fresh("a"), b = fresh("b"), c = fresh("c");
  const auto first = Desc(m.add).rw(c).arg(uint64_t{1}).on(m.cores[0]).must(m);
  const auto late = Desc(m.add).rw(a).arg(uint64_t{2}).on(m.devices[0]).then(first).must(m);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.end_after = &late;
  more.nend_after = 1;
  const auto held = write_3(b, more);
  const auto behind = Desc(m.add).rw(b).arg(uint64_t{4}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_task_wait(m, held, kLong, 0));
  EXPECT_EQ(consort_task_state(m, late), CONSORT_OK);
  ASSERT_OK(consort_task_wait(m, behind, kLong, 0));
  ASSERT_NO_FATAL_FAILURE(expect_all(a, 2));
  ASSERT_NO_FATAL_FAILURE(expect_all(b, 7));
  ASSERT_NO_FATAL_FAILURE(expect_all(c, 1));
}

// The task waits for its hold first, and then for other tasks alone: these get its memory.
TEST_F(CompletionHoldMemory, LastReleaseGivesMemoryToTheAwaitedTask) {
  const auto a = fresh("a"), b = fresh("b"), c = fresh("c");
  const auto first = Desc(m.add).rw(c).arg(uint64_t{1}).on(m.cores[0]).must(m);
  const auto late = Desc(m.add).rw(a).arg(uint64_t{2}).on(m.devices[0]).then(first).must(m);
  consort_task_more more = CONSORT_TASK_MORE_INIT;
  more.end_holds = 2;
  more.end_after = &late;
  more.nend_after = 1;
  const auto held = write_3(b, more);
  expect_waits(late);
  EXPECT_TRUE(m.is_in(b, m.space[0]));
  ASSERT_OK(consort_task_end_release(m, held));
  expect_waits(late);
  ASSERT_OK(consort_task_end_release(m, held));
  ASSERT_OK(consort_task_wait(m, late, kLong, 0));
  ASSERT_OK(consort_task_wait(m, held, kLong, 0));
  EXPECT_EQ(consort_task_end_release(m, held), CONSORT_E_INVAL);
  ASSERT_NO_FATAL_FAILURE(expect_all(a, 2));
  ASSERT_NO_FATAL_FAILURE(expect_all(b, 3));
}

// The application releases an end when a task is over that needs the memory: nothing can go on, and both are named.
TEST_F(CompletionHoldMemory, ExplainNamesTheHeldTaskThatKeepsTheRoom) {
  const auto a = fresh("a"), b = fresh("b");
  const auto held = held_writer(b);
  struct Releaser {
    consort_runtime *rt;
    consort_task_id held;
  } releaser{m, held};
  Desc late(m.add);
  late.rw(a).arg(uint64_t{2}).on(m.devices[0]);
  late.d.done = [](void *p, const consort_outcome *) {
    const auto &r = *static_cast<Releaser *>(p);
    (void)consort_task_end_release(r.rt, r.held);
  };
  late.d.done_arg = &releaser;
  const auto releasing = late.must(m);
  expect_waits(releasing);
  char text[1024];
  ASSERT_GT(consort_explain(m, releasing, text, sizeof text), 0u);
  const std::string named = "task #" + std::to_string(held.v) + " is over and keeps room there: its end is held";
  EXPECT_NE(std::string(text).find(named), std::string::npos) << text;
  EXPECT_NE(std::string(text).find("it waits for room in sim0"), std::string::npos) << text;
  ASSERT_OK(consort_task_end_release(m, held));
  ASSERT_OK(consort_task_wait(m, releasing, kLong, 0));
  ASSERT_NO_FATAL_FAILURE(expect_all(a, 2));
  ASSERT_NO_FATAL_FAILURE(expect_all(b, 3));
}

// The application may still write to the memory of a task whose completion it holds, so the memory stays in place.
TEST_F(CompletionHoldMemory, HeldTasksKeepTheirMemory) {
  const auto a = fresh("a"), b = fresh("b");
  const auto held = held_writer(b);
  const auto late = Desc(m.add).rw(a).arg(uint64_t{2}).on(m.devices[0]).must(m);
  expect_waits(late);
  EXPECT_TRUE(m.is_in(b, m.space[0]));
  ASSERT_OK(consort_task_end_release(m, held));
  ASSERT_OK(consort_task_wait(m, late, kLong, 0));
  ASSERT_NO_FATAL_FAILURE(expect_all(a, 2));
  ASSERT_NO_FATAL_FAILURE(expect_all(b, 3));
}

}  // namespace
