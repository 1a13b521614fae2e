// The settings `watchdog` and `progress`, and consort_get_progress(): what a run says of itself while it lasts.
#include <consort/reports.h>
#include <fcntl.h>
#include <pty.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "api/harness.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace {

using namespace consort_test;
using std::chrono::milliseconds;

class Progresses : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  consort_status start(Pairs pairs) {
    pairs.push_back({"keep_models", "no"});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log = [](void *user, int32_t, const char *text) {
      auto &own = *static_cast<Progresses *>(user);
      const std::lock_guard lock(own.mutex_);
      own.log_ += std::string(text) + "\n";
    };
    s.log_user = this;
    return consort_start(&s, &rt_);
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::mutex mutex_;
  std::string log_;
  Bodies body_;
  consort_runtime *rt_ = nullptr;
};

TEST_F(Progresses, WatchdogSaysWhatEverythingWaitsFor) {
  ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}, {"watchdog", "1"}}));
  int value = 0;
  const auto datum = vector_of(rt_, &value, 1, sizeof value, "mine");
  const auto body = body_(rt_, "blocked", [](const consort_call &) { return CONSORT_OK; });
  consort_hold hold{};
  ASSERT_OK(consort_acquire(rt_, datum, CONSORT_M_RW, kLong, &hold));
  Desc(body).rw(datum).must(rt_);
  for (int i = 0; i < 100 && log().find("mine") == std::string::npos; ++i) std::this_thread::sleep_for(milliseconds(100));  // nap: until it speaks
  const std::string said = log();
  EXPECT_NE(said.find("nothing has moved for 1 s"), std::string::npos) << said;
  EXPECT_NE(said.find(" pending, scheduler eager"), std::string::npos) << said;
  EXPECT_NE(said.find("datum 'mine' is acquired by a thread of the application"), std::string::npos) << said;
  EXPECT_NE(said.find(": the task waits for "), std::string::npos) << said;
  ASSERT_OK(consort_release(rt_, hold));
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_OK(consort_unregister(rt_, datum));
}

TEST_F(Progresses, WatchdogIsSilentWhileTasksEndOrNoneIsLeft) {
  ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}, {"watchdog", "1"}}));
  const auto body = body_(rt_, "moves", [](const consort_call &) {
    std::this_thread::sleep_for(milliseconds(100));  // nap: tasks that take a while
    return CONSORT_OK;
  });
  for (int i = 0; i < 15; ++i) Desc(body).must(rt_);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  std::this_thread::sleep_for(milliseconds(1500));  // nap: longer than its patience
  EXPECT_EQ(log().find("nothing has moved"), std::string::npos) << log();
}

TEST_F(Progresses, CallTellsHowFarARunIs) {
  ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}}));
  std::atomic<bool> go{false};
  const auto waits = body_(rt_, "waits", [&](const consort_call &) {
    while (!go.load()) std::this_thread::yield();
    return CONSORT_OK;
  });
  consort_progress p = CONSORT_PROGRESS_INIT;
  ASSERT_OK(consort_get_progress(rt_, &p));
  EXPECT_EQ(p.submitted + p.done + p.running + p.left_ns, 0u);
  for (int i = 0; i < 5; ++i) Desc(waits).must(rt_);
  ASSERT_OK(consort_get_progress(rt_, &p));
  EXPECT_EQ(p.submitted, 5u);
  EXPECT_EQ(p.done, 0u);
  EXPECT_EQ(p.left_ns, UINT64_MAX);
  go.store(true);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  ASSERT_OK(consort_get_progress(rt_, &p));
  EXPECT_EQ(p.done, 5u);
  EXPECT_EQ(p.running, 0u);
  EXPECT_EQ(p.left_ns, 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_progress(rt_, nullptr), "consort_progress");
  p.size = 4;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_progress(rt_, &p), "consort_progress");
}

// Standard error is `fd` while a program of some tasks runs.
class Redirected {
 public:
  explicit Redirected(int fd) : before_(::dup(STDERR_FILENO)) { ::dup2(fd, STDERR_FILENO); }
  ~Redirected() {
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }

 private:
  const int before_;
};

TEST_F(Progresses, LineIsForTerminalsAlone) {
  const auto program = [&](int fd) {
    const Redirected redirected(fd);
    ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}, {"progress", "true"}}));
    const auto body = body_(rt_, "slow", [](const consort_call &) {
      std::this_thread::sleep_for(milliseconds(150));  // nap: tasks that take a while
      return CONSORT_OK;
    });
    for (int i = 0; i < 10; ++i) Desc(body).must(rt_);
    EXPECT_OK(consort_wait_all(rt_, kLong, 0));
    stop();
  };
  const Folder folder("progress");
  const std::string file = folder / "stderr";
  const int plain = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(plain, 0);
  program(plain);
  ::close(plain);
  EXPECT_EQ(read_file(file), "");
  int terminal = -1, its_end = -1;
  ASSERT_EQ(openpty(&terminal, &its_end, nullptr, nullptr, nullptr), 0);
  program(its_end);
  ::close(its_end);
  std::string shown(4096, '\0');
  const ssize_t n = ::read(terminal, shown.data(), shown.size());
  ::close(terminal);
  shown.resize(n > 0 ? static_cast<size_t>(n) : 0);
  EXPECT_NE(shown.find(" of 10 tasks, 1 running"), std::string::npos) << shown;
  EXPECT_NE(shown.find(" s left"), std::string::npos) << shown;
  EXPECT_EQ(shown.substr(shown.size() - 4), "\r\x1b[K") << "it is removed at the end";
}

}  // namespace
