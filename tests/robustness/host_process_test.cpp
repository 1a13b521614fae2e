// Traps that the host sets: fork, signals, libraries that are closed, a process that ends without a stop.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

consort_status inc(const consort_call *c) { return ++*pointer<long>(*c, 0), CONSORT_OK; }

// Runs f in a child; its exit code, or 1000 + the signal that ended it.
template <class F>
int in_child(F f) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(static_cast<unsigned>(30 * kSlow));  // it may hang: that is under test
    _exit(f());
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The address sanitizer's allocator, unlike the system's, keeps its locks as a fork found them: the parent is to be at rest.
void rest_if_watched(consort_runtime *rt) {
#if CONSORT_SAN == 1
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_TRUE(settled());
#else
  (void)rt;
#endif
}

TEST(Fork, ChildSeesAStoppedRuntime) {
  Rt rt;
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto c = codelet(rt, "inc", inc);
  for (int i = 0; i < 100; ++i) Desc(c).rw(d).must(rt);
  rest_if_watched(rt);
  EXPECT_EQ(0, in_child([&] {
    if (Desc(c).rw(d).to(rt) != CONSORT_E_STOPPED) return 1;
    if (std::string(consort_error()).find("fork") == std::string::npos) return 2;
    if (consort_wait_all(rt, 0, 0) != CONSORT_E_STOPPED) return 3;
    consort_hold h;
    if (consort_acquire(rt, d, CONSORT_M_R, kLong, &h) != CONSORT_E_STOPPED) return 4;
    if (consort_stop(rt) != CONSORT_E_STOPPED) return 5;
    return 0;
  }));
  EXPECT_OK(Desc(c).rw(d).to(rt)) << "the parent's goes on";
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 101);
}

TEST(Fork, ChildMayStartItsOwn) {
#if CONSORT_SAN == 2
  GTEST_SKIP() << "this sanitizer allows no new threads after a fork";
#endif
  Rt rt;
  long x = 0;
  const auto c = codelet(rt, "inc", inc);
  const auto d = variable_of(rt, &x);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 100; ++i) Desc(c).rw(d).must(rt);
    rest_if_watched(rt);
    EXPECT_EQ(0, in_child([] {
      consort_runtime *own = nullptr;
      if (start({{"workers", "2"}, {"cpu.topology", kFourCores}}, &own) < 0) return 1;
      long y = 0;
      const auto e = variable_of(own, &y);
      const auto k = codelet(own, "inc", inc);
      for (int i = 0; i < 100; ++i)
        if (Desc(k).rw(e).to(own) < 0) return 2;
      if (consort_stop(own) < 0) return 3;
      return y == 100 ? 0 : 4;
    })) << "round " << round;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 500);
}

TEST(Fork, InsideATask) {
  Rt rt;
  Bodies body;
  int code = -1;
  const auto c = body(rt, "forks", [&](const consort_call &) {
    code = in_child([&] { return consort_wait_all(rt, 0, 0) == CONSORT_E_STOPPED ? 0 : 1; });
    return CONSORT_OK;
  });
  EXPECT_OK(consort_task_wait(rt, Desc(c).must(rt), kLong, 0));
  EXPECT_EQ(code, 0);
}

// -- ends of a process --------------------------------------------------------------------------------------------

// The child is a new program: this one again, told which end to play. So nothing is inherited.
int play(const char *end) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 98;
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(static_cast<unsigned>(30 * kSlow));
    setenv("TRAP_END", end, 1);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, 1);
    execl(self, self, static_cast<char *>(nullptr));
    _exit(99);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct LateStop {
  consort_runtime *rt = nullptr;
  ~LateStop() { consort_stop(rt); }
};

void play_out(const std::string &how) {
  static LateStop late;
  consort_runtime *rt = nullptr;
  static long x = 0;
  need(start({{"workers", "2"}, {"cpu.topology", kFourCores}}, &rt), "start");
  if (how == "static_stop") late.rt = rt;
  const auto d = variable_of(rt, &x);
  const auto c = codelet(rt, "slow", [](const consort_call *k) -> consort_status {
    std::this_thread::sleep_for(200us);  // nap: tasks are pending when the process ends
    return inc(k);
  });
  for (int i = 0; i < 2000; ++i) Desc(c).rw(d).must(rt);
  if (how == "exit" || how == "static_stop") std::exit(7);
  if (how == "quick_exit") std::quick_exit(7);
  if (how == "_exit") _exit(7);
  if (how == "exit_in_task") {
    const auto e = codelet(rt, "exits", [](const consort_call *) -> consort_status { std::exit(7); });
    Desc(e).must(rt);
    (void)consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP);
  }
  if (how == "thread_exit") {
    std::thread([&] {
      for (int i = 0; i < 10; ++i) Desc(c).rw(d).must(rt);
      std::exit(7);
    }).join();
  }
}

// In the child it is the whole program.
struct Player : ::testing::Environment {
  void SetUp() override {
    if (const char *end = std::getenv("TRAP_END")) {
      play_out(end);
      std::_Exit(98);
    }
  }
};
::testing::Environment *const player = ::testing::AddGlobalTestEnvironment(new Player);

class ProcessExit : public ::testing::TestWithParam<const char *> {};
TEST_P(ProcessExit, WithTasksInFlightIsClean) { EXPECT_EQ(play(GetParam()), 7); }
INSTANTIATE_TEST_SUITE_P(Host, ProcessExit,
                         ::testing::Values("exit", "_exit", "quick_exit", "static_stop", "thread_exit", "exit_in_task"),
                         [](const auto &i) { return std::string(i.param); });

// -- signals ------------------------------------------------------------------------------------------------------

std::atomic<long> signals{0};

TEST(SignalStorm, InterruptsNoCall) {
  struct sigaction act{}, old{};
  act.sa_handler = [](int) { ++signals; };  // no SA_RESTART: every sleep is cut short
  ASSERT_EQ(sigaction(SIGALRM, &act, &old), 0);
  const itimerval storm{{0, 300}, {0, 300}}, calm{};
  ASSERT_EQ(setitimer(ITIMER_REAL, &storm, nullptr), 0);
  {
    Rt rt;
    long x = 0;
    const auto d = variable_of(rt, &x, "stormy");
    const auto c = codelet(rt, "inc", inc);
    Bodies body;
    const auto nap =  // nap: waits are long enough to be interrupted
        body(rt, "nap", [](const consort_call &) { return std::this_thread::sleep_for(200us), CONSORT_OK; });
    for (int round = 0; round < 100; ++round) {
      for (int i = 0; i < 20; ++i) Desc(c).rw(d).must(rt);
      Desc(nap).r(d).must(rt);
      if (round % 2) {
        ASSERT_OK(consort_wait_all(rt, kLong, round % 4 == 1 ? CONSORT_WAIT_NO_HELP : 0));
      } else {
        consort_hold hold;
        ASSERT_OK(consort_acquire(rt, d, CONSORT_M_RW, kLong, &hold));
        ASSERT_OK(consort_release(rt, hold));
      }
    }
    EXPECT_EQ(x, 2000);
    Gate gate;
    const auto t = Desc(body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; })).on(1).must(rt);
    const auto before = std::chrono::steady_clock::now();
    EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 50'000'000, CONSORT_WAIT_NO_HELP), "time");
    EXPECT_GE(std::chrono::steady_clock::now() - before, 49ms) << "a signal is no time-out";
    gate.open();
    EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
    EXPECT_OK(rt.stop());
  }
  setitimer(ITIMER_REAL, &calm, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  EXPECT_GT(signals, 10);
}

// -- libraries ------------------------------------------------------------------------------------------------------

TEST(CodeletLibraries, MayBeClosedAfterCodeletRemoval) {
  Rt rt;
  long x = 0;
  const auto d = variable_of(rt, &x);
  for (int round = 0; round < 50; ++round) {
    void *library = dlopen(CONSORT_TEST_PLUGIN_DIR "/codelets.so", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *fn = reinterpret_cast<consort_call_fn *>(dlsym(library, "library_increment"));
    ASSERT_NE(fn, nullptr);
    const auto c = codelet(rt, "from a library", fn, 1);
    for (int i = 0; i < 100; ++i) Desc(c).rw(d).must(rt);
    ASSERT_OK(consort_codelet_remove(rt, c));  // waits
    ASSERT_EQ(dlclose(library), 0);
    ASSERT_EQ(dlopen(CONSORT_TEST_PLUGIN_DIR "/codelets.so", RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is still mapped";
    EXPECT_SAYS(CONSORT_E_STALE, Desc(c).rw(d).to(rt), "codelet");
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 5000);
}

}  // namespace
