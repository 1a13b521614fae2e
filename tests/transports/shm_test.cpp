// The transport shm between processes: messages of all lengths, peers that are killed or stopped, nonsense in the ring.
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <set>

#include "transports/ranks.hpp"

namespace {

using namespace consort_test;
using Params = PluginHost::Params;

Job job_of(uint32_t nranks = 2) {
  Job job;
  job.nranks = nranks, job.name = "shm test " + std::to_string(getpid()), job.plugin = "shm";
  return job;
}

// Polls and sleeps on the descriptor until it holds. False: not within a minute.
bool until(Rank &r, const std::function<bool(const std::vector<consort_done> &)> &holds) {
  for (int sleeps = 0; sleeps < 60;) {
    if (holds(r.poll())) return true;
    if (r.ops().arm(r.raw()) != CONSORT_OK) continue;
    pollfd f{r.ops().event_fd(r.raw()), POLLIN, 0};
    sleeps += ::poll(&f, 1, 1000) == 0;
  }
  return false;
}
bool until_up(Rank &r, uint32_t peer) {
  return until(r, [&](const auto &) { return r.count(CONSORT_EV_PEER_UP, peer) != 0; });
}
consort_done end_of(Rank &r, uint64_t cookie) {
  consort_done found{};
  found.status = CONSORT_E_TIMEOUT;
  until(r, [&](const auto &done) {
    for (const consort_done &d : done)
      if (d.cookie == cookie) return found = d, true;
    return false;
  });
  return found;
}
std::set<std::string> names_in(const char *folder) {
  std::set<std::string> names;
  if (DIR *d = opendir(folder)) {
    while (const dirent *e = readdir(d)) names.insert(e->d_name);
    closedir(d);
  }
  return names;
}

// Rank 1 in a process of its own, connected with rank 0 in this one.
class TwoProcesses {
 public:
  explicit TwoProcesses(const std::function<bool(Rank &)> &other, const Params &params = {}) {
    int to_child[2], to_parent[2];
    EXPECT_TRUE(pipe(to_child) == 0 && pipe(to_parent) == 0);
    const Job job = job_of();
    child_ = fork();
    const int in = child_ ? to_parent[0] : to_child[0], out = child_ ? to_child[1] : to_parent[1];
    close(child_ ? to_parent[1] : to_child[1]), close(child_ ? to_child[0] : to_parent[0]);
    me_ = std::make_unique<Rank>(job, child_ ? 0u : 1u, params);
    const std::vector<char> mine = me_->address();
    std::vector<char> theirs(mine.size());
    bool good = write(out, mine.data(), mine.size()) == static_cast<ssize_t>(mine.size()) &&
                read(in, theirs.data(), theirs.size()) == static_cast<ssize_t>(theirs.size());
    const uint32_t peer = child_ ? 1 : 0;
    good = good && me_->connect(peer, theirs) == CONSORT_OK && until_up(*me_, peer);
    close(in), close(out);
    if (!child_) {
      good = good && other(*me_);
      me_.reset();
      _exit(good ? 0 : 1);
    }
    EXPECT_TRUE(good) << me_->host().failure() << me_->host().log();
  }
  ~TwoProcesses() {
    if (child_ > 0) kill(child_, SIGKILL), waitpid(child_, nullptr, 0);
  }
  Rank &me() { return *me_; }
  void send_signal(int number) const { kill(child_, number); }
  int exit_status() {
    int status = -1;
    waitpid(child_, &status, 0);
    child_ = 0;
    return status;
  }

 private:
  pid_t child_ = 0;
  std::unique_ptr<Rank> me_;
};

bool sleep_on(Rank &r) {
  until(r, [](const auto &) { return false; });
  return true;
}

// Returns each message with its bytes raised by one.
bool echo(Rank &r, uint64_t bytes, int rounds) {
  std::vector<char> data(bytes);
  for (int i = 0; i < rounds; ++i) {
    if (!r.post(Rank::recv(0, 1, data.data(), bytes)) || end_of(r, 1).status != CONSORT_OK) return false;
    for (char &c : data) ++c;
    if (!r.post(Rank::send(0, 2, data.data(), bytes)) || end_of(r, 2).status != CONSORT_OK) return false;
  }
  return true;
}

void expect_echoes(uint64_t bytes, int rounds, const Params &params) {
  TwoProcesses two([&](Rank &r) { return echo(r, bytes, rounds); }, params);
  std::vector<char> data(bytes), back(bytes);
  for (int i = 0; i < rounds; ++i) {
    for (uint64_t k = 0; k < bytes; ++k) data[k] = static_cast<char>(k * 7 + static_cast<uint64_t>(i) + k / 4096);
    ASSERT_TRUE(two.me().post(Rank::recv(1, 1, back.data(), bytes)) && two.me().post(Rank::send(1, 2, data.data(), bytes)));
    ASSERT_EQ(end_of(two.me(), 1).status, CONSORT_OK);
    for (char &c : data) ++c;
    ASSERT_EQ(std::memcmp(data.data(), back.data(), bytes), 0) << "round " << i;
  }
  EXPECT_EQ(two.exit_status(), 0);
}

TEST(Shm, ShortMessagesGoBackAndForth) { expect_echoes(64, 500, {}); }
TEST(Shm, LargeBlocksAreReadFromTheirSender) { expect_echoes(4 << 20, 4, {}); }
TEST(Shm, LargeBlocksComeThroughTheRing) { expect_echoes((1 << 20) + 13, 4, {{"copy", "ring"}}); }

TEST(Shm, KilledPeerEndsEverythingAndLeavesNothing) {
  const std::set<std::string> shared = names_in("/dev/shm"), temporary = names_in("/tmp");
  {
    TwoProcesses two(sleep_on);
    std::vector<char> data(4 << 20);
    ASSERT_EQ(two.me().post({Rank::send(1, 1, data.data(), data.size()), Rank::recv(1, 2, data.data(), 8)}), 2u);
    two.send_signal(SIGKILL);
    EXPECT_EQ(end_of(two.me(), 1).status, CONSORT_E_PEER_LOST);
    ASSERT_TRUE(until(two.me(), [&](const auto &) { return two.me().count(CONSORT_EV_PEER_LOST, 1) != 0; }));
    EXPECT_EQ(two.me().count(CONSORT_EV_PEER_LOST, 1), 1u);
    ASSERT_TRUE(two.me().post(Rank::send(1, 3, data.data(), 8)));
    EXPECT_EQ(end_of(two.me(), 3).status, CONSORT_E_PEER_LOST);
  }
  EXPECT_EQ(names_in("/dev/shm"), shared);
  for (const std::string &n : names_in("/tmp")) EXPECT_TRUE(temporary.count(n) || n.find("consort-shm") == n.npos) << n;
}

// A stopped peer is no lost one: what it takes no more is refused by post, and comes when it goes on.
TEST(Shm, StoppedPeerIsWaitedFor) {
  constexpr int kMessages = 2000;
  TwoProcesses two([](Rank &r) {
    for (int i = 0, got = -1; i < kMessages; ++i) {
      if (!r.post(Rank::recv(0, 1, &got, sizeof got)) || end_of(r, 1).status != CONSORT_OK || got != i) return false;
    }
    return true;
  });
  two.send_signal(SIGSTOP);
  int posted = 0, refused = 0, ended = 0;
  std::vector<int> data(kMessages);
  while (ended < kMessages) {
    while (posted < kMessages) {
      data[static_cast<size_t>(posted)] = posted;
      if (!two.me().post(Rank::send(1, 9, &data[static_cast<size_t>(posted)], sizeof(int)))) break;
      ++posted;
    }
    const auto done = two.me().poll();
    for (const consort_done &d : done) ASSERT_EQ(d.status, CONSORT_OK);
    ended += static_cast<int>(done.size());
    if (done.empty() && ++refused == 100) {
      EXPECT_LT(posted, kMessages) << "nothing limits what a stopped peer is sent";
      EXPECT_EQ(two.me().count(CONSORT_EV_PEER_LOST, 1), 0u);
      two.send_signal(SIGCONT);
    }
    if (done.empty() && refused > 100) usleep(100);  // nap: between two polls
  }
  EXPECT_GE(refused, 100);
  EXPECT_EQ(two.exit_status(), 0);
}

// Writes to the memory that both share, as a hostile peer may: it is lost, and the process goes on.
TEST(Shm, NonsenseInTheSharedMemoryLosesThePeer) {
  TwoProcesses two([](Rank &r) {
    char *at = nullptr;
    if (FILE *f = std::fopen("/proc/self/maps", "r")) {
      char line[512];
      while (std::fgets(line, sizeof line, f)) {
        void *begin;
        if (std::strstr(line, "consort-shm") && std::sscanf(line, "%p", &begin) == 1) at = static_cast<char *>(begin);
      }
      std::fclose(f);
    }
    if (!at) return false;
    std::memset(at, 0x5b, 2 * 2048);  // the heads of both rings
    return sleep_on(r);
  });
  // nap: between two polls
  ASSERT_TRUE(until(two.me(), [&](const auto &) { return usleep(100), two.me().count(CONSORT_EV_PEER_LOST, 1) != 0; }));
}

TEST(Shm, StrangersAreRefusedAndLogged) {
  TwoProcesses two(sleep_on);
  const std::vector<char> address = two.me().address();
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  char *end = to.sun_path + 1 + std::snprintf(to.sun_path + 1, 16, "consort-shm-");
  for (size_t i = address.size() - 16; i < address.size(); ++i)
    end += std::snprintf(end, 3, "%02x", static_cast<unsigned char>(address[i]));
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr *>(&to), static_cast<socklen_t>(end - reinterpret_cast<char *>(&to))), 0);
  ASSERT_EQ(send(fd, "I am rank 1, really", 19, MSG_NOSIGNAL), 19);
  for (int i = 0; i < 100; ++i) two.me().poll();
  EXPECT_NE(two.me().host().log().find("is no rank of this job; it is refused"), std::string::npos) << two.me().host().log();
  char c;
  EXPECT_EQ(recv(fd, &c, 1, MSG_DONTWAIT), 0);
  close(fd);
  EXPECT_EQ(two.me().count(CONSORT_EV_PEER_LOST, 1), 0u);
}

}  // namespace
