// The time of a child process: what it computes and how long it does nothing, not how busy the machine is.
#include "tools/conform/patience.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

class Child {
 public:
  explicit Child(const std::function<void()> &body) {
    pid_ = fork();
    if (pid_) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    _exit(0);
  }
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

[[noreturn]] void spin() {
  for (volatile unsigned n = 0;;) n = n + 1;
}

// Asks until the time of the child is over, or `most` seconds have passed. Returns the reason, "" after `most`.
std::string over_within(double most, conform::Patience *p) {
  for (const auto began = Clock::now(); since(began) < most; usleep(5000))  // nap: between two looks
    if (p->is_over()) return p->reason();
  return "";
}

}  // namespace

TEST(Patience, EndsAChildThatComputesForLong) {
  const Child child([] { spin(); });
  conform::Patience p(child.pid(), 0.2);
  EXPECT_EQ(over_within(100, &p), "computed for");
}

TEST(Patience, EndsAChildThatDoesNothing) {
  const Child child([] { pause(); });
  conform::Patience p(child.pid(), 0.3);
  const auto began = Clock::now();
  EXPECT_EQ(over_within(100, &p), "nothing computed for");
  EXPECT_GE(since(began), 0.3);
}

TEST(Patience, EndsAChildThatWakesUpForEver) {
  const Child child([] {
    for (;; usleep(10'000))  // nap: the behaviour that is under test
      for (const auto began = Clock::now(); since(began) < 0.004;) continue;
  });
  conform::Patience p(child.pid(), 10);
  EXPECT_EQ(over_within(1, &p), "");
  conform::Patience shorter(child.pid(), 0.02);
  EXPECT_NE(over_within(100, &shorter), "");
}

TEST(Patience, BeginsAnewAtASignOfLife) {
  const Child child([] { pause(); });
  conform::Patience p(child.pid(), 0.5);
  for (int k = 0; k < 10; ++k) {
    EXPECT_EQ(over_within(0.1, &p), "") << k;
    p.start_anew();
  }
  EXPECT_EQ(over_within(100, &p), "nothing computed for");
}

// A child without a core keeps its time: both spin on one core, and the system gives an idle process 3 of 1027 parts.
TEST(Patience, SparesAChildThatWaitsForACore) {
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && !CPU_COUNT(&one); ++core)
    if (CPU_ISSET(core, &allowed)) CPU_SET(core, &one);
  const Child busy([&] {
    if (sched_setaffinity(0, sizeof one, &one)) _exit(1);
    spin();
  });
  const Child starved([&] {
    const sched_param none{};
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_IDLE, &none)) _exit(1);
    spin();
  });
  usleep(50'000);  // nap: a child that cannot spin has ended by then; if not, the wait below sees it later
  ASSERT_EQ(waitpid(busy.pid(), nullptr, WNOHANG), 0);
  ASSERT_EQ(waitpid(starved.pid(), nullptr, WNOHANG), 0);
  conform::Patience p(starved.pid(), 0.2);
  EXPECT_EQ(over_within(2, &p), "");
}
