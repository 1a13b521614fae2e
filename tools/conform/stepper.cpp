#include "conform/stepper.hpp"

#include <consort/plugin.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "conform/host.hpp"

namespace conform {
namespace {

constexpr uint64_t kTrap = 0x100;                          // in the flags: a SIGTRAP after each instruction
constexpr size_t kMostRanges = 8, kMostLocking = 4096;

// The state of the SIGTRAP handler. One thread steps at a time; others read its results after a semaphore.
struct Steps {
  uintptr_t begin[kMostRanges], end[kMostRanges];
  size_t ranges;
  uint64_t executed, stop_at;                              // in the file; 0: nowhere
  uint64_t locking[kMostLocking];
  size_t nlocking;
  bool was_stopped;
  sem_t stopped, go_on;
};
Steps steps;

#if defined(__x86_64__)

// Returns whether the instruction locks memory, or jumps through a table (the linker's, the host's).
bool is_locking(const unsigned char *p) {
  while (*p == 0x66 || *p == 0xF2 || *p == 0xF3 || *p == 0x2E || *p == 0x3E || *p == 0x64) ++p;
  if (*p == 0xF0) return true;
  if ((*p & 0xF0) == 0x40) ++p;
  if (*p == 0x86 || *p == 0x87) return (p[1] & 0xC0) != 0xC0;  // xchg with memory
  return *p == 0xFF && ((p[1] >> 3 & 7) == 2 || (p[1] >> 3 & 7) == 4);
}

void on_trap(int, siginfo_t *, void *context) {
  const int error = errno;
  auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  const auto at = static_cast<uintptr_t>(registers[REG_RIP]);
  bool inside = false;
  for (size_t r = 0; r < steps.ranges; ++r) inside = inside || (at >= steps.begin[r] && at < steps.end[r]);
  if (inside) {
    ++steps.executed;
    if (!steps.stop_at && steps.nlocking < kMostLocking && is_locking(reinterpret_cast<const unsigned char *>(at)))
      steps.locking[steps.nlocking++] = steps.executed;
    if (steps.executed == steps.stop_at) {
      steps.was_stopped = true;
      registers[REG_EFL] &= ~static_cast<greg_t>(kTrap);   // the rest at full speed
      sem_post(&steps.stopped);
      while (sem_wait(&steps.go_on) != 0) {
      }
    }
  }
  errno = error;
}

[[gnu::noinline]] void set_trap(bool on) {
  if (on) asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "cc", "memory");
  else asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "cc", "memory");
}

void watch_traps() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGTRAP, &action, nullptr);
}

#else

void set_trap(bool) {}
void watch_traps() {}

#endif

void step_through(const std::function<void()> &call) {
  Inside::watch = set_trap;
  call();
  Inside::watch = nullptr;
}

// Returns whether the thread sleeps, as if it waited for a lock.
bool is_asleep(pid_t tid) {
  char path[64], state = 'R';
  std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
  if (FILE *f = std::fopen(path, "re")) {
    if (std::fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 'R';
    std::fclose(f);
  }
  return state == 'S';
}

// Waits until it has ended, or has computed or slept so long that it must be waiting. Time in which other processes use
// the cores does not count.
bool has_ended(std::atomic<bool> &over, std::atomic<pid_t> &tid, std::atomic<clockid_t> &clock) {
  constexpr long kSpinsNs = 100'000;
  for (int asleep = 0, turn = 0; !over.load(std::memory_order_acquire); ++turn) {  // pairs with the other thread's end
    sched_yield();
    if (!tid.load(std::memory_order_acquire)) continue;    // pairs with its start
    timespec computed{};
    clock_gettime(clock.load(std::memory_order_relaxed), &computed);
    if (computed.tv_sec > 0 || computed.tv_nsec > kSpinsNs) return over.load(std::memory_order_acquire);
    if (turn % 32 != 31) continue;
    asleep = is_asleep(tid) ? asleep + 1 : 0;
    if (asleep > 2) return over.load(std::memory_order_acquire);
    if (asleep) usleep(50);
  }
  return true;
}

}  // namespace

bool Stepper::can() {
#if defined(__x86_64__)
  return CONSORT_SAN == 0;
#else
  return false;
#endif
}

Stepper::Stepper(const std::string &path) {
  char whole[PATH_MAX];
  const std::string name = realpath(path.c_str(), whole) ? whole : path;
  FILE *maps = std::fopen("/proc/self/maps", "re");
  char line[PATH_MAX + 200], flags[8], file[PATH_MAX];
  while (maps && std::fgets(line, sizeof line, maps)) {
    uintptr_t begin, end;
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %*s %4095[^\n]", &begin, &end, flags, file) == 4 && flags[2] == 'x' &&
        name == file && text_.size() < kMostRanges)
      text_.push_back({begin, end});
  }
  if (maps) std::fclose(maps);
  steps = {};
  steps.ranges = text_.size();
  for (size_t r = 0; r < text_.size(); ++r) steps.begin[r] = text_[r].first, steps.end[r] = text_[r].second;
  sem_init(&steps.stopped, 0, 0);
  sem_init(&steps.go_on, 0, 0);
  watch_traps();
}

std::vector<uint64_t> Stepper::points(const std::function<void()> &call, uint64_t most, uint64_t most_points) const {
  steps.executed = steps.stop_at = 0;
  steps.nlocking = 0;
  std::thread([&] { step_through(call); }).join();
  const uint64_t n = steps.executed, room = std::clamp<uint64_t>(most / std::max<uint64_t>(n, 1), 8, most_points);
  std::vector<uint64_t> all;
  if (n <= room) {
    for (uint64_t k = 1; k <= n; ++k) all.push_back(k);
    return all;
  }
  const size_t locking = std::min<size_t>(steps.nlocking, room / 2);
  for (size_t k = 0; k < locking; ++k) all.push_back(steps.locking[k * steps.nlocking / locking]);
  for (uint64_t k = 0; k < room - locking; ++k) all.push_back(1 + k * n / (room - locking));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Stepper::Other Stepper::race(uint64_t k, const std::function<void()> &call, const std::function<void()> &other) const {
  steps.executed = 0;
  steps.stop_at = k;
  steps.was_stopped = false;
  std::thread stepped([&] {
    step_through(call);
    if (!steps.was_stopped) sem_post(&steps.stopped);
  });
  while (sem_wait(&steps.stopped) != 0) {
  }
  if (!steps.was_stopped) return stepped.join(), Other::kNotStopped;
  std::atomic<bool> over{false};
  std::atomic<pid_t> tid{0};
  std::atomic<clockid_t> clock{CLOCK_MONOTONIC};
  std::thread beside([&] {
    clockid_t mine = CLOCK_THREAD_CPUTIME_ID;
    pthread_getcpuclockid(pthread_self(), &mine);
    clock.store(mine, std::memory_order_relaxed);
    tid.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_release);  // pairs with has_ended()
    other();
    over.store(true, std::memory_order_release);           // pairs with has_ended()
  });
  const bool ended = has_ended(over, tid, clock);
  sem_post(&steps.go_on);
  beside.join();
  stepped.join();
  return ended ? Other::kEnded : Other::kWaited;
}

}  // namespace conform
