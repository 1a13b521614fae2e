// A thread that waits for tasks behind data that it holds itself: the log says so once, with the datum's name and the
// remedy. It is no error, for another thread may release. Slow waits log nothing.
#include <consort/replay.h>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
  static void take(void *user, int32_t, const char *utf8) {
    auto &to = *static_cast<Log *>(user);
    std::lock_guard lock(to.mutex);
    to.lines.push_back(utf8);
  }
  int64_t about(const std::string &call) {
    std::lock_guard lock(mutex);
    return std::count_if(lines.begin(), lines.end(), [&](const std::string &l) {
      return l.find(call + " waits") != std::string::npos && l.find("'precious' (to write)") != std::string::npos &&
             l.find("consort_release()") != std::string::npos;
    });
  }
};

struct WaitHoldingData : ::testing::TestWithParam<const char *> {
  Log log;
  consort_runtime *rt = nullptr;
  long x = 0, y = 0;
  consort_data_id dx{0}, dy{0};
  consort_codelet_id add{0};

  void SetUp() override {
    const consort_setting set[] = {{"workers", "2"}, {"cpu.topology", kFourCores}, {"pump", GetParam()}};
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = set;
    s.nset = 3;
    s.log = Log::take;
    s.log_user = &log;
    need(consort_start(&s, &rt), "start");
    dx = variable_of(rt, &x, "precious");
    dy = variable_of(rt, &y, "other");
    add = codelet(rt, "add", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });
  }
  void TearDown() override { EXPECT_OK(consort_stop(rt)); }

  // While this thread holds the datum it waits by `wait`; another one releases as soon as the log has said why that takes long.
  void tell(const std::string &call, const std::function<consort_status(consort_task_id)> &wait) {
    consort_hold hold{};
    ASSERT_OK(consort_acquire(rt, dx, CONSORT_M_RW, kLong, &hold));
    const auto t = Desc(add).rw(dx).rw(dy).must(rt);
    std::thread other([&] {
      EXPECT_TRUE(eventually([&] { return log.about(call) > 0; })) << call << " is silent";
      EXPECT_OK(consort_release(rt, hold));
    });
    EXPECT_OK(wait(t));
    other.join();
    EXPECT_EQ(log.about(call), 1);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(x, 1);
  }
};

TEST_P(WaitHoldingData, TaskWaitWarns) {
  tell("consort_task_wait()", [&](consort_task_id t) { return consort_task_wait(rt, t, kLong, 0); });
}
TEST_P(WaitHoldingData, WaitForAnIndirectSuccessorWarns) {
  tell("consort_task_wait()", [&](consort_task_id) {
    consort_task_id last{0};
    for (int i = 0; i < 50; ++i) last = Desc(add).rw(dy).must(rt);
    return consort_task_wait(rt, last, CONSORT_FOREVER, CONSORT_WAIT_NO_HELP);
  });
}
TEST_P(WaitHoldingData, WaitAllWarns) {
  tell("consort_wait_all()", [&](consort_task_id) { return consort_wait_all(rt, kLong, 0); });
}
TEST_P(WaitHoldingData, GroupWaitWarns) {
  tell("consort_group_wait()", [&](consort_task_id) {
    consort_group_id g{0};
    need(consort_group_create(rt, nullptr, &g), "group");
    Desc(add).rw(dy).in(g).must(rt);
    return consort_group_wait(rt, g, kLong, 0);
  });
}
TEST_P(WaitHoldingData, UnregisterWarns) {
  tell("consort_unregister()", [&](consort_task_id) { return consort_unregister(rt, dy); });
}
TEST_P(WaitHoldingData, CodeletRemoveWarns) {
  tell("consort_codelet_remove()", [&](consort_task_id) { return consort_codelet_remove(rt, add); });
}
TEST_P(WaitHoldingData, AcquireWarns) {
  tell("consort_acquire()", [&](consort_task_id) {
    consort_hold hold{};
    if (const auto s = consort_acquire(rt, dy, CONSORT_M_R, kLong, &hold); s < 0) return s;
    return consort_release(rt, hold);
  });
}
TEST_P(WaitHoldingData, RecordingDestroyWarns) {
  consort_recording_id r{0};
  ASSERT_OK(consort_record_begin(rt, 0));
  Desc(add).rw(dy).must(rt);
  ASSERT_OK(consort_record_end(rt, &r));
  tell("consort_recording_destroy()", [&](consort_task_id) {
    need(consort_replay(rt, r, consort_group_id{0}, nullptr), "replay");
    return consort_recording_destroy(rt, r);
  });
}

TEST_P(WaitHoldingData, TaskThatHoldsDataWarns) {
  if (GetParam() != std::string("threads")) GTEST_SKIP() << "one thread pumps";
  Bodies body;
  consort_hold hold{};
  const auto outer = body(rt, "outer", [&](const consort_call &) -> consort_status {
    if (const auto s = consort_acquire(rt, dx, CONSORT_M_RW, kLong, &hold); s < 0) return s;
    consort_task_id child{0};
    if (const auto s = Desc(add).rw(dx).to(rt, &child); s < 0) return s;
    return consort_task_wait(rt, child, kLong, 0);
  });
  const auto t = Desc(outer).must(rt);
  EXPECT_TRUE(eventually([&] { return log.about("consort_task_wait()") > 0; }));
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
}

TEST_P(WaitHoldingData, SlowWaitDoesNotWarn) {
  // nap: longer than the period of the warning, which must not come
  const auto slow = codelet(rt, "slow", [](const consort_call *) -> consort_status { return std::this_thread::sleep_for(1500ms), CONSORT_OK; });
  consort_hold hold{};
  ASSERT_OK(consort_acquire(rt, dx, CONSORT_M_RW, kLong, &hold));
  EXPECT_OK(consort_task_wait(rt, Desc(slow).rw(dy).must(rt), kLong, 0));
  EXPECT_OK(consort_unregister(rt, dy));
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_EQ(log.lines.size(), 0u) << log.lines[0];
}

INSTANTIATE_TEST_SUITE_P(In, WaitHoldingData, ::testing::Values("threads", "manual"), [](const auto &i) { return std::string(i.param); });

}  // namespace
