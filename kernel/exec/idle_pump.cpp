#include "exec/idle_pump.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "exec/execution.hpp"
#include "exec/wait.hpp"
#include "exec/wait_condition.hpp"

namespace consort {

static constexpr int64_t kPeriod = 1'000'000;  // ns between two checks
static constexpr uint32_t kLooks = 4;           // checks at which all threads must have slept, before the first step

// Parses "TID (NAME) STATE ...": the name may contain brackets. A thread that cannot be read has ended.
static bool sleeps(int tasks, const char *tid) noexcept {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "%s/stat", tid);
  const int fd = ::openat(tasks, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  const ssize_t n = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (n <= 0) return true;
  text[n] = 0;
  const char *const name_end = std::strrchr(text, ')');
  return name_end && name_end[1] == ' ' && std::strchr("SIZX", name_end[2]);
}

static bool all_others_sleep() noexcept {
  const std::unique_ptr<DIR, int (*)(DIR *)> tasks(::opendir("/proc/self/task"), ::closedir);
  if (!tasks) return false;
  const pid_t self = ::gettid();
  while (const dirent *e = ::readdir(tasks.get())) {
    if (e->d_name[0] == '.' || std::atoi(e->d_name) == self) continue;
    if (!sleeps(::dirfd(tasks.get()), e->d_name)) return false;
  }
  return true;
}

void IdlePump::begin() noexcept {
  if (begun_.load(std::memory_order_relaxed)) return;  // the lock orders all that follows
  std::lock_guard lock(mutex_);
  if (begun_.exchange(true, std::memory_order_relaxed)) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception &e) {
    rt_.log(1, std::string("no thread that steps the workers while the program sleeps in an event loop: virtual time then "
                          "goes on only while a thread waits in the runtime: ") + e.what());
  }
}

void IdlePump::end() noexcept {
  ending_.store(true, std::memory_order_relaxed);  // wake() releases it to the thread
  parker_.wake();
  std::lock_guard lock(mutex_);
  if (thread_.joinable()) thread_.join();
}

void IdlePump::run() noexcept {
  name_this_thread("idle pump");
  ThreadState *const thread = rt_.this_thread();
  if (!thread)
    return rt_.log(1, "no memory for the thread that steps the workers while the program sleeps in an event loop");
  // A thread inside a step holds the turn: its sleep is part of a task.
  const auto may_step = [&] {
    return !ending_.load(std::memory_order_relaxed) && !rt_.pumping.load(std::memory_order_relaxed) &&
           rt_.finished() != rt_.submitted() && all_others_sleep();
  };
  for (uint32_t looks = 0; !ending_.load(std::memory_order_relaxed);) {
    parker_.wait(kPeriod);
    looks = may_step() ? looks + 1 : 0;
    if (looks < kLooks) continue;
    do {
      charge_submissions(rt_);
    } while (pump_all(rt_, *thread, CONSORT_NEVER) && may_step());
    looks = 0;
  }
}

}  // namespace consort
