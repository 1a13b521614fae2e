// A seed chooses what befalls a job, when, and to which of its ranks: SIGKILL; SIGSTOP, and SIGCONT later; both; a rank that
// is slow to take what comes; strangers that connect to a rank's address and send garbage, packets that were cut, or the
// bytes of a stranger before them again. Each rank must end in time, without a wrong value. Where no rank was killed, all
// must end well. Nothing may be left in /dev/shm or /tmp.
//
// The ranks are processes that this program forks. FAULT_SEEDS ("1..40") and FAULT_TRANSPORT ("shm") choose the runs;
// tests/remote/job_faults.sh runs more of them.
#include <consort/distributed.h>
#include <consort/layouts.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/folder.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr uint64_t kLong = 20'000, kRounds = 60;
constexpr auto kInTime = CONSORT_SAN ? 60s : 20s;

struct Shared {                           // between the test and its ranks
  std::atomic<uint32_t> joined;
  std::atomic<bool> is_over;              // the strangers may stop
};
Shared *shared;

enum class Fault : uint32_t { kKill, kStop, kStopAndKill, kSlow, kStrangers, kFaults };
constexpr const char *kNames[] = {"kill", "stop", "stop and kill", "slow rank", "strangers"};

// -- a rank: ends the process by 0 done, 3 wrong, 4 another rank is lost --------------------------------------------------

struct Rank {
  consort_runtime *rt = nullptr;
  uint32_t rank, ranks;

  [[noreturn]] void fail(const char *what) const {
    std::fprintf(stderr, "rank %u: %s: %s\n", rank, what, consort_error());
    _exit(3);
  }
  void expect(consort_status s, const char *what) const {
    if (s >= 0) return;
    if (s == CONSORT_E_PEER_LOST || s == CONSORT_E_POISONED) _exit(4);
    fail(what);
  }
  consort_codelet_id codelet(const char *name, consort_call_fn *fn) const {
    consort_impl impl{};
    impl.klass = "cpu", impl.fn = fn;
    consort_codelet c = CONSORT_CODELET_INIT;
    c.name = name, c.impls = &impl, c.nimpls = 1;
    consort_codelet_id id{};
    expect(consort_codelet_add(rt, &c, &id), "codelet");
    return id;
  }
  void submit(consort_codelet_id c, consort_data_id x, uint32_t at) const {
    const consort_use use{x, CONSORT_M_RW, 0};
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = c, t.uses = &use, t.nuses = 1;
    consort_place place = CONSORT_PLACE_INIT;
    place.flags = CONSORT_PLACE_RANK, place.rank = at;
    expect(consort_job_submit(rt, &t, &place, nullptr), "submit");
  }
};

std::atomic<int> nap_us{0};               // of this rank's bodies

// Element i has i at first, and one more each time; a body checks all of them.
consort_status add_one(const consort_call *c) {
  const auto *const view = static_cast<const consort_vector_view *>(c->views[0]);
  auto *const at = static_cast<int64_t *>(consort_ptr(view->addr));
  for (uint64_t i = 1; i < view->n; ++i)
    if (at[i] != at[0] + static_cast<int64_t>(i)) return CONSORT_E_INVAL;
  for (uint64_t i = 0; i < view->n; ++i) ++at[i];
  if (const int us = nap_us) usleep(static_cast<useconds_t>(us));  // nap: a slow body, by the seed
  return CONSORT_OK;
}

// Two data, a long one and a short one, go around all ranks.
[[noreturn]] void be_rank(uint32_t rank, uint32_t ranks, const std::string &job, const char *transport) {
  Rank me{nullptr, rank, ranks};
  const std::string r = std::to_string(rank), n = std::to_string(ranks);
  const consort_setting all[] = {{"rendezvous", job.c_str()}, {"rank", r.c_str()}, {"ranks", n.c_str()}, {"transport", transport},
                                 {"workers", "1"}, {"bind", "false"}, {"log", "error"}, {"drivers", "cpu"}, {"links", "told"},
                                 {"scheduler", "eager"}, {"keep_models", "no"}};
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.set = all, s.nset = std::size(all);
  me.expect(consort_start(&s, &me.rt), "start");
  if (consort_job_join(me.rt, nullptr) < 0) _exit(4);
  const consort_codelet_id add = me.codelet("add", add_one);
  std::vector<int64_t> home[2] = {std::vector<int64_t>(kLong), std::vector<int64_t>(10)};
  consort_data_id x[2];
  for (int k : {0, 1}) {
    for (size_t i = 0; i < home[k].size(); ++i) home[k][i] = static_cast<int64_t>(i);
    me.expect(consort_register_vector(me.rt, rank == 0 ? home[k].data() : nullptr, home[k].size(), 8, &x[k]), "register");
    me.expect(consort_data_distribute(me.rt, x[k], static_cast<uint64_t>(k), 0), "distribute");
  }
  ++shared->joined;
  for (uint64_t i = 0; i < kRounds; ++i) {
    for (const consort_data_id d : x) me.submit(add, d, static_cast<uint32_t>(i % ranks));
    if (i % 10 == 9) me.expect(consort_wait_all(me.rt, CONSORT_FOREVER, 0), "wait");
  }
  me.expect(consort_wait_all(me.rt, CONSORT_FOREVER, 0), "wait");
  for (int k : {0, 1}) {
    me.expect(consort_unregister(me.rt, x[k]), "unregister");
    for (size_t i = 0; rank == 0 && i < home[k].size(); ++i)
      if (home[k][i] != static_cast<int64_t>(i + kRounds)) me.fail("wrong value");
  }
  (void)consort_job_barrier(me.rt, CONSORT_FOREVER);  // a rank that ends well is not waited for
  (void)consort_stop(me.rt);
  _exit(0);
}

// -- strangers --------------------------------------------------------------------------------------------------

// A connection to what a process of the job listens on: sockets in the abstract namespace and of TCP, found in /proc.
std::vector<int> connections_to(const std::vector<pid_t> &pids) {
  std::set<std::string> own;
  for (const pid_t p : pids) {
    std::error_code none;
    for (const auto &e : std::filesystem::directory_iterator("/proc/" + std::to_string(p) + "/fd", none)) {
      const std::string link = std::filesystem::read_symlink(e.path(), none).string();
      if (link.starts_with("socket:[")) own.insert(link.substr(8, link.size() - 9));
    }
  }
  std::vector<int> all;
  std::string line;
  for (std::ifstream in("/proc/net/unix"); std::getline(in, line);) {
    char inode[32] = "", path[128] = "";
    unsigned type = 0, flags = 0;
    if (std::sscanf(line.c_str(), "%*s %*s %*s %x %x %*s %31s %127s", &flags, &type, inode, path) != 4 || !own.contains(inode) || path[0] != '@')
      continue;
    if (!(flags & 0x10000)) continue;  // it does not listen
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    const size_t n = std::min(std::strlen(path), sizeof to.sun_path);
    std::memcpy(to.sun_path, path, n), to.sun_path[0] = 0;
    const int fd = socket(AF_UNIX, static_cast<int>(type) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr *>(&to), static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + n)) == 0) all.push_back(fd);
    else if (fd >= 0) close(fd);
  }
  for (std::ifstream in("/proc/net/tcp"); std::getline(in, line);) {
    unsigned address = 0, port = 0, state = 0;
    char inode[32] = "";
    if (std::sscanf(line.c_str(), "%*d: %x:%x %*s %x %*s %*s %*s %*s %*s %31s", &address, &port, &state, inode) != 4) continue;
    if (state != 10 || !own.contains(inode)) continue;
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(static_cast<uint16_t>(port)), to.sin_addr.s_addr = address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr *>(&to), sizeof to) == 0) all.push_back(fd);
    else if (fd >= 0) close(fd);
  }
  return all;
}

// Returns how many connections there were.
int send_nonsense(const std::vector<pid_t> &pids, std::mt19937_64 &random) {
  int n = 0;
  std::string before;
  for (const int fd : connections_to(pids)) {
    std::string bytes(random() % 300, '\0');
    for (char &c : bytes) c = static_cast<char>(random());
    if (random() % 3 == 0 && !before.empty()) bytes = before.substr(0, 1 + random() % before.size());
    (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    char answer[512];
    if (const ssize_t got = recv(fd, answer, sizeof answer, MSG_DONTWAIT); got > 0) {
      before.assign(answer, static_cast<size_t>(got));  // sent back to the next one
      (void)!send(fd, answer, static_cast<size_t>(got), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    if (random() % 2) usleep(static_cast<useconds_t>(random() % 3000));  // half open for a while  // nap: a half-open connection, by the seed
    close(fd), ++n;
  }
  return n;
}

// -- a job ------------------------------------------------------------------------------------------------------

struct Outcome {
  int strangers = 0;
  bool was_lost = false;                  // a rank ended by an error
};

Outcome run_seed(uint64_t seed, const char *transport) {
  std::mt19937_64 random(seed);
  const auto ranks = static_cast<uint32_t>(2 + random() % 3);
  const auto fault = static_cast<Fault>(random() % static_cast<uint32_t>(Fault::kFaults));
  const auto victim = static_cast<uint32_t>(random() % ranks);
  SCOPED_TRACE("FAULT_TRANSPORT=" + std::string(transport) + " FAULT_SEEDS=" + std::to_string(seed) + ".." + std::to_string(seed) + ": " +
               kNames[static_cast<uint32_t>(fault)] + ", rank " + std::to_string(victim) + " of " + std::to_string(ranks));
  Outcome outcome;
  const consort_test::Folder job("faults");
  std::ofstream(job / "secret") << "0123456789abcdef0123456789abcdef";
  chmod((job / "secret").c_str(), 0600);
  shared->joined = 0;
  std::vector<pid_t> pids;
  for (uint32_t r = 0; r < ranks; ++r) {
    const pid_t p = fork();
    if (p == 0) {
      if (fault == Fault::kSlow && r == victim) nap_us = static_cast<int>(500 + random() % 5000);
      be_rank(r, ranks, job.path(), transport);
    }
    pids.push_back(p);
  }
  const auto begun = Clock::now();
  const auto is_late = [&] { return Clock::now() - begun > kInTime; };
  // In one of two runs, as soon as the processes are there; else when all have joined.
  if (const bool waits = random() % 2; waits)
    while (shared->joined < ranks && !is_late()) usleep(500);  // nap: until all ranks have joined, in another process
  usleep(static_cast<useconds_t>(random() % 60'000));  // nap: the moment, by the seed
  if (fault == Fault::kStop || fault == Fault::kStopAndKill) {
    kill(pids[victim], SIGSTOP);
    usleep(static_cast<useconds_t>(random() % 200'000));  // nap: how long the rank stands still, by the seed
    kill(pids[victim], fault == Fault::kStop ? SIGCONT : SIGKILL);
  }
  if (fault == Fault::kKill) kill(pids[victim], SIGKILL);
  std::set<pid_t> left(pids.begin(), pids.end());
  while (!left.empty()) {
    int how = 0;
    const pid_t p = waitpid(-1, &how, WNOHANG);
    if (p <= 0 && is_late()) {
      ADD_FAILURE() << left.size() << " ranks have not ended in time";
      for (const pid_t late : left) kill(late, SIGKILL), waitpid(late, &how, 0);
      break;
    }
    if (p <= 0) {
      if (fault == Fault::kStrangers) outcome.strangers += send_nonsense(pids, random);
      usleep(2000);  // nap: until a rank ends
      continue;
    }
    left.erase(p);
    const auto rank = static_cast<uint32_t>(std::find(pids.begin(), pids.end(), p) - pids.begin());
    std::ofstream(job / (std::to_string(rank) + ".ended")) << "has ended";
    const bool kills = fault == Fault::kKill || fault == Fault::kStopAndKill;
    outcome.was_lost |= how != 0;
    if (WIFSIGNALED(how)) {
      EXPECT_TRUE(kills && rank == victim && WTERMSIG(how) == SIGKILL) << "rank " << rank << ": signal " << WTERMSIG(how);
    } else {
      EXPECT_TRUE(WEXITSTATUS(how) == 0 || (kills && WEXITSTATUS(how) == 4)) << "rank " << rank << ": status " << WEXITSTATUS(how);
    }
  }
  return outcome;
}

std::set<std::string> names_in(const char *folder) {
  std::set<std::string> all;
  for (const auto &e : std::filesystem::directory_iterator(folder))
    if (const std::string name = e.path().filename().string(); name.find("consort") != name.npos) all.insert(name);
  return all;
}

TEST(JobFaults, EachRankEndsInTimeWithoutAWrongValue) {
  const char *const given = getenv("FAULT_SEEDS"), *const named = getenv("FAULT_TRANSPORT");
  uint64_t from = 1, to = CONSORT_SAN ? 20 : 40;
  umask(077);  // the files of a job's folder are read by no other user
  ASSERT_TRUE(!given || std::sscanf(given, "%lu..%lu", &from, &to) == 2) << given;
  constexpr uint64_t kAtOnce = 4;
  struct Counts {
    std::atomic<int> seeds, strangers, lost;
  };
  const auto map = [](size_t n) { return mmap(nullptr, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); };
  auto *const counts = static_cast<Counts *>(map(sizeof(Counts)));
  const auto shm = names_in("/dev/shm"), tmp = names_in("/tmp");
  std::vector<pid_t> workers;
  for (uint64_t w = 0; w < kAtOnce; ++w) {
    const pid_t p = fork();
    if (p > 0) workers.push_back(p);
    if (p != 0) continue;
    shared = static_cast<Shared *>(map(sizeof(Shared)));
    for (uint64_t seed = from + w; seed <= to && !HasFailure(); seed += kAtOnce) {
      const Outcome o = run_seed(seed, named ? named : "shm");
      ++counts->seeds, counts->strangers += o.strangers, counts->lost += o.was_lost;
    }
    std::fflush(nullptr);
    _exit(HasFailure());
  }
  for (const pid_t p : workers) {
    int how = 0;
    ASSERT_EQ(waitpid(p, &how, 0), p);
    EXPECT_EQ(how, 0);
  }
  EXPECT_EQ(counts->seeds, static_cast<int>(to - from + 1));
  std::printf("%d seeds, %d jobs lost a rank, %d strangers\n", counts->seeds.load(), counts->lost.load(), counts->strangers.load());
  EXPECT_GT(counts->strangers, 0) << "no stranger has found a rank";
  EXPECT_GT(counts->lost, 0);
  for (const auto &[folder, before] : {std::pair{"/dev/shm", shm}, std::pair{"/tmp", tmp}})
    for (const std::string &name : names_in(folder))
      EXPECT_TRUE(before.contains(name) || !name.starts_with("consort-faults")) << folder << "/" << name << " is left";
  munmap(counts, sizeof(Counts));
}

}  // namespace
