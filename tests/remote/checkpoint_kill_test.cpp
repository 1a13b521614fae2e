// A rank is killed at a moment that a seed chooses: at a call of the system that makes, writes, synchronizes, renames or
// removes a file of a checkpoint, before the call or after it, or in the middle of a write. The job then starts again, on another
// number of ranks. Each time it must find a checkpoint that was complete, with all data of one point, no older than the last
// one that had been told to be complete, and it must end with the right result.
//
// The ranks are processes that this program forks; the doubles of the system's calls stand at the end of this file. The
// seeds are CHECKPOINT_SEEDS ("1..50"); tests/remote/checkpoint_kills.sh runs more of them.
#include <consort/checkpoint.h>
#include <consort/layouts.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "support/folder.hpp"

namespace {

// -- the moment -------------------------------------------------------------------------------------------------

enum class When { kBefore, kAfter, kHalf };
struct Moment {
  std::atomic<int> calls{-1};             // until it strikes; < 0: never
  When when = When::kBefore;
};
Moment moment;
const char *watched = "";                 // the folder

bool strikes() { return moment.calls.load() >= 0 && moment.calls.fetch_sub(1) == 0; }
[[noreturn]] void die() {
  raise(SIGKILL);
  abort();
}
bool is_watched(const char *path) { return *watched && std::strncmp(path, watched, std::strlen(watched)) == 0; }
bool is_watched(int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = readlink(link, path, sizeof path - 1);
  return n > 0 && (path[n] = 0, is_watched(path));
}
template <class F>
F *real(const char *name) {
  return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}
// Calls f, and dies before or after it if it is time.
template <class F>
auto at(bool concerns, F f) {
  if (!concerns || !strikes()) return f();
  if (moment.when != When::kBefore) (void)f();
  die();
}

// -- a rank -----------------------------------------------------------------------------------------------------

constexpr uint32_t kData = 4;
constexpr uint64_t kElements = 600, kSteps = 6;

struct Shared {                           // between the test and its ranks
  std::atomic<uint64_t> told;             // the latest point that a rank was told to be complete
};
Shared *shared;

int64_t value(uint32_t datum, uint64_t step, uint64_t i) { return static_cast<int64_t>(1'000'000 * datum + 1000 * step + i); }

[[noreturn]] void fail(const char *what) {
  std::fprintf(stderr, "rank %s: %s: %s\n", getenv("CONSORT_RANK"), what, consort_error());
  _exit(3);
}
void expect(consort_status s, const char *what) {
  if (s < 0) fail(what);
}

consort_status next_step(const consort_call *c) {
  auto *const at = static_cast<int64_t *>(consort_ptr(static_cast<const consort_vector_view *>(c->views[0])->addr));
  for (uint64_t i = 0; i < kElements; ++i) at[i] += 1000;
  return CONSORT_OK;
}

// The rank's part of the program. Ends the process: 0 done, 4 a peer was lost, 3 wrong.
[[noreturn]] void be_rank(uint32_t rank, uint32_t ranks, const std::string &job, const std::string &folder) {
  const std::string r = std::to_string(rank), n = std::to_string(ranks);
  setenv("CONSORT_RANK", r.c_str(), 1);
  const consort_setting all[] = {{"rendezvous", job.c_str()}, {"rank", r.c_str()}, {"ranks", n.c_str()}, {"transport", "shm"},
                                 {"checkpoint", folder.c_str()}, {"workers", "1"}, {"bind", "false"}, {"log", "error"},
                                 {"drivers", "cpu"}, {"links", "told"}, {"scheduler", "eager"}, {"keep_models", "no"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = all, s.nset = std::size(all);
  consort_runtime *rt = nullptr;
  expect(consort_start(&s, &rt), "start");
  if (consort_job_join(rt, nullptr) < 0) _exit(4);
  consort_checkpoint_info found{};
  found.size = sizeof found;
  expect(consort_checkpoint_found(rt, &found), "found");
  if (found.serial ? found.number < shared->told : shared->told != 0) fail("the checkpoint is older than one that was told to be complete");

  std::vector<int64_t> memory[kData];
  consort_data_id x[kData];
  for (uint32_t d = 0; d < kData; ++d) {
    memory[d].resize(kElements);
    for (uint64_t i = 0; i < kElements; ++i) memory[d][i] = value(d, 0, i);
    const uint32_t owner = d % ranks;
    expect(consort_register_vector(rt, owner == rank ? memory[d].data() : nullptr, kElements, 8, &x[d]), "register");
    expect(consort_data_distribute(rt, x[d], d, owner), "distribute");
  }
  const auto check = [&](uint64_t step) {
    for (uint32_t d = rank; d < kData; d += ranks) {
      consort_hold hold{};
      expect(consort_acquire(rt, x[d], CONSORT_M_R, CONSORT_FOREVER, &hold), "acquire");
      for (uint64_t i = 0; i < kElements; ++i)
        if (memory[d][i] != value(d, step, i)) fail("wrong value");
      expect(consort_release(rt, hold), "release");
    }
  };
  uint64_t step = 0;
  if (found.serial) {
    step = found.number;
    expect(consort_checkpoint_restore(rt, x, kData), "restore");
    check(step);
  }
  consort_impl impl{};
  impl.klass = "cpu", impl.fn = next_step;
  consort_codelet c = CONSORT_CODELET_INIT;
  c.name = "step", c.impls = &impl, c.nimpls = 1;
  consort_codelet_id codelet{};
  expect(consort_codelet_add(rt, &c, &codelet), "codelet");
  for (; step < kSteps; ++step) {
    for (const consort_data_id d : x) {
      const consort_use use{d, CONSORT_M_RW, 0};
      consort_task_desc t = CONSORT_TASK_INIT;
      t.codelet = codelet, t.uses = &use, t.nuses = 1;
      expect(consort_job_submit(rt, &t, nullptr, nullptr), "submit");
    }
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.name = "step", d.number = step + 1, d.data = x, d.n = kData;
    consort_task_id stored{};
    expect(consort_checkpoint_save(rt, &d, &stored), "save");
    const consort_status end = consort_task_wait(rt, stored, CONSORT_FOREVER, 0);
    if (end == CONSORT_E_PEER_LOST || end == CONSORT_E_POISONED) _exit(4);
    expect(end, "checkpoint");
    uint64_t before = shared->told;
    while (before < step + 1 && !shared->told.compare_exchange_weak(before, step + 1)) {
    }
  }
  check(kSteps);
  (void)consort_job_barrier(rt, CONSORT_FOREVER);
  moment.calls = -1;
  (void)consort_stop(rt);
  _exit(0);
}

// -- a job ------------------------------------------------------------------------------------------------------

// Returns whether all ranks have ended well. victim: the rank for which `moment` counts.
bool run_job(uint32_t ranks, uint32_t victim, int calls, When when, const std::string &folder) {
  const consort_test::Folder job("kills", "/dev/shm");
  std::ofstream(job / "secret") << "0123456789abcdef0123456789abcdef";
  chmod((job / "secret").c_str(), 0600);
  std::vector<pid_t> pids;
  for (uint32_t r = 0; r < ranks; ++r) {
    const pid_t p = fork();
    if (p == 0) {
      watched = folder.c_str();
      moment.when = when;
      moment.calls = r == victim ? calls : -1;
      be_rank(r, ranks, job.path(), folder);
    }
    pids.push_back(p);
  }
  bool is_good = true, was_killed = false;
  for (size_t left = pids.size(); left;) {
    int how = 0;
    const pid_t p = waitpid(-1, &how, 0);
    const auto at = std::find(pids.begin(), pids.end(), p);
    if (at == pids.end()) continue;
    --left;
    std::ofstream(job / (std::to_string(at - pids.begin()) + ".ended")) << "has ended";
    if (WIFSIGNALED(how)) {
      EXPECT_EQ(WTERMSIG(how), SIGKILL);
      EXPECT_EQ(at - pids.begin(), victim);
      was_killed = true;
    } else {
      EXPECT_TRUE(WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 4) << WEXITSTATUS(how);
    }
    is_good &= how == 0;
  }
  EXPECT_TRUE(is_good || was_killed) << "no rank was killed, and the job failed";
  return is_good;
}

// The jobs of one seed. Returns how many of them were killed.
int run_seed(uint64_t seed) {
  SCOPED_TRACE("CHECKPOINT_SEEDS=" + std::to_string(seed) + ".." + std::to_string(seed));
  const consort_test::Folder folder("kills", "/dev/shm");
  shared->told = 0;
  std::mt19937_64 random(seed);
  int kills = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto ranks = static_cast<uint32_t>(1 + random() % 3), victim = static_cast<uint32_t>(random() % ranks);
    const int calls = attempt < 2 ? static_cast<int>(random() % 60) : -1;  // the third is left alone
    if (run_job(ranks, victim, calls, static_cast<When>(random() % 3), folder / "ck")) break;
    ++kills;
    EXPECT_LT(attempt, 2) << "the job that is left alone fails";
  }
  for (const auto &e : std::filesystem::directory_iterator(folder / "ck"))
    EXPECT_EQ(e.path().filename().string().find("unfinished"), std::string::npos) << e.path();
  return kills;
}

// Jobs mostly wait for the start of their ranks: several are run at a time.
TEST(CheckpointKill, JobsGoOnFromACompleteCheckpoint) {
  const char *const given = getenv("CHECKPOINT_SEEDS");
  uint64_t from = 1, to = CONSORT_SAN ? 10 : 50;
  umask(077);  // the files of a job's folder are read by no other user
  ASSERT_TRUE(!given || std::sscanf(given, "%lu..%lu", &from, &to) == 2) << given;
  constexpr uint64_t kAtOnce = 4;
  struct Counts {
    std::atomic<int> kills, seeds;
  };
  const auto map = [](size_t n) { return mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); };
  auto *const counts = static_cast<Counts *>(map(sizeof(Counts)));
  std::vector<pid_t> workers;
  for (uint64_t w = 0; w < kAtOnce; ++w) {
    const pid_t p = fork();
    if (p > 0) workers.push_back(p);
    if (p != 0) continue;
    shared = static_cast<Shared *>(map(sizeof(Shared)));
    for (uint64_t seed = from + w; seed <= to && !HasFailure(); seed += kAtOnce) counts->kills += run_seed(seed), ++counts->seeds;
    std::fflush(nullptr);
    _exit(HasFailure());
  }
  for (const pid_t p : workers) {
    int how = 0;
    ASSERT_EQ(waitpid(p, &how, 0), p);
    EXPECT_EQ(how, 0);
  }
  EXPECT_EQ(counts->seeds, static_cast<int>(to - from + 1));
  EXPECT_GT(counts->kills, static_cast<int>(to - from) / 4) << "too few kills to show anything";
  std::printf("%d seeds, %d jobs killed\n", counts->seeds.load(), counts->kills.load());
  munmap(counts, sizeof(Counts));
}

}  // namespace

// -- doubles of the system's calls, which plugins that this program loads use, too --------------------------------------

extern "C" {

int mkostemp(char *path, int flags) {
  static auto *const next = real<int(char *, int)>("mkostemp");
  return at(is_watched(path), [&] { return next(path, flags); });
}
ssize_t write(int fd, const void *data, size_t n) {
  static auto *const next = real<ssize_t(int, const void *, size_t)>("write");
  if (moment.calls < 0 || !is_watched(fd)) return next(fd, data, n);
  const size_t m = moment.when == When::kHalf ? n / 2 : n;
  return at(true, [&] { return next(fd, data, moment.calls < 0 ? m : n); });
}
int fsync(int fd) {
  static auto *const next = real<int(int)>("fsync");
  return at(is_watched(fd), [&] { return next(fd); });
}
int rename(const char *from, const char *to) noexcept {
  static auto *const next = real<int(const char *, const char *)>("rename");
  return at(is_watched(to), [&] { return next(from, to); });
}
int unlinkat(int fd, const char *name, int flags) noexcept {
  static auto *const next = real<int(int, const char *, int)>("unlinkat");
  return at(is_watched(fd), [&] { return next(fd, name, flags); });
}

}  // extern "C"
