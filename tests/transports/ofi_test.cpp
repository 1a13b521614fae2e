// The transport ofi: connections of strangers to the socket where other ranks announce themselves.
#include <dlfcn.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "transports/ranks.hpp"

namespace {

using namespace consort_test;
using namespace std::chrono_literals;

constexpr size_t kAddressBytes = 40;  // in an address: then 16 bytes of IPv6 and the port

class OfiListener : public testing::Test {
 protected:
  void SetUp() override {
    if (low_.opened() == CONSORT_E_UNSUPPORTED) GTEST_SKIP() << low_.host().failure();
    ASSERT_EQ(low_.opened(), CONSORT_OK) << low_.host().failure();
    ASSERT_EQ(high_.opened(), CONSORT_OK) << high_.host().failure();
  }
  void TearDown() override {
    for (const int fd : strangers_) close(fd);
  }
  static Job job() {
    Job j;
    j.plugin = "ofi", j.name = "ofi test " + std::to_string(getpid());
    return j;
  }
  void add_strangers(int n) {
    const std::vector<char> address = low_.address();
    ASSERT_GE(address.size(), kAddressBytes + 18);
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    std::memcpy(&to.sin6_addr, address.data() + kAddressBytes, 16);
    std::memcpy(&to.sin6_port, address.data() + kAddressBytes + 16, 2);
    for (int i = 0; i < n; ++i) {
      strangers_.push_back(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(connect(strangers_.back(), reinterpret_cast<const sockaddr *>(&to), sizeof to), 0) << std::strerror(errno);
    }
  }
  bool is_closed(int stranger) const {
    pollfd f{stranger, POLLIN, 0};
    return ::poll(&f, 1, 0) == 1;
  }
  static bool both(Rank &a, Rank &b, std::chrono::milliseconds most, const std::function<bool()> &holds) {
    for (const auto end = std::chrono::steady_clock::now() + most; std::chrono::steady_clock::now() < end;) {
      a.poll(), b.poll();
      if (holds()) return true;
      std::this_thread::sleep_for(1ms);  // nap: between two polls
    }
    return false;
  }
  void look() {  // the transport looks at its sockets at one poll of 32
    for (int i = 0; i < 160; ++i) low_.poll();
  }
  void connect_early() {  // rank 0 does not expect rank 1 yet
    ASSERT_EQ(high_.connect(low_), CONSORT_OK) << high_.host().failure();
  }
  void expect_that_they_meet() {
    ASSERT_EQ(low_.connect(high_), CONSORT_OK) << low_.host().failure();
    const auto is_up = [&] { return low_.count(CONSORT_EV_PEER_UP, 1) == 1 && high_.count(CONSORT_EV_PEER_UP, 0) == 1; };
    EXPECT_TRUE(both(low_, high_, 20s, is_up)) << low_.host().log() << high_.host().log();
    const auto is_lost = [&] { return low_.count(CONSORT_EV_PEER_LOST, 1) || high_.count(CONSORT_EV_PEER_LOST, 0); };
    EXPECT_FALSE(both(low_, high_, 600ms, is_lost)) << "a broken connection is a loss after 200 ms";
  }

  Rank low_{job(), 0}, high_{job(), 1};
  std::vector<int> strangers_;
};

size_t resident_bytes() {
  size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// In a process of its own, before this one loads libfabric: it reads its settings once.
TEST(OfiMemory, EndpointOfAProcessWithOneThreadIsSmall) {
  if (void *const loaded = dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(loaded);
    GTEST_SKIP() << "libfabric has read its settings already";
  }
  if (std::getenv("FI_OFI_RXM_MSG_RX_SIZE")) GTEST_SKIP() << "the environment says how many receives it prepares";
  enum { kSmall, kLarge, kChanged, kNone };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Job job;
    job.plugin = "ofi", job.name = "ofi memory " + std::to_string(getpid());
    const size_t before = resident_bytes();
    const Rank rank(job, 0);
    const bool is_large = resident_bytes() - before > size_t{40} << 20;
    _exit(rank.opened() != CONSORT_OK ? kNone : std::getenv("FI_OFI_RXM_MSG_RX_SIZE") ? kChanged : is_large ? kLarge : kSmall);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kNone) GTEST_SKIP() << "ofi does not open here";
  EXPECT_NE(WEXITSTATUS(status), kChanged) << "the environment is not as it was";
  EXPECT_EQ(WEXITSTATUS(status), kSmall) << "an endpoint takes more than 40 MiB";
}

TEST_F(OfiListener, EarlyRankIsKeptAmongManySilentStrangers) {
  ASSERT_NO_FATAL_FAILURE(connect_early());
  look();
  ASSERT_NO_FATAL_FAILURE(add_strangers(60));
  look();
  EXPECT_TRUE(is_closed(strangers_.front())) << "strangers are kept without a limit";
  EXPECT_FALSE(is_closed(strangers_.back()));
  expect_that_they_meet();
}

TEST_F(OfiListener, RankBehindManySilentStrangersIsAccepted) {
  ASSERT_NO_FATAL_FAILURE(connect_early());
  ASSERT_NO_FATAL_FAILURE(add_strangers(60));
  look();
  expect_that_they_meet();
  EXPECT_FALSE(is_closed(strangers_.back()));
}

// A listener that stays readable would keep the thread of the transport from sleeping.
TEST_F(OfiListener, ConnectionWithoutFreeDescriptorWakesOnceAndIsAcceptedLater) {
  ASSERT_NO_FATAL_FAILURE(add_strangers(1));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  look();
  const consort_status armed = low_.ops().arm(low_.raw());
  pollfd f{low_.ops().event_fd(low_.raw()), POLLIN, 0};
  const int readable = ::poll(&f, 1, 0);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(armed, CONSORT_OK);
  EXPECT_EQ(readable, 0);
  const char text[36] = {};
  ASSERT_EQ(send(strangers_[0], text, sizeof text, MSG_NOSIGNAL), ssize_t{sizeof text});
  look();
  EXPECT_TRUE(is_closed(strangers_[0])) << "it is accepted, and names no rank of this job";
  ASSERT_NO_FATAL_FAILURE(connect_early());
  expect_that_they_meet();
}

}  // namespace
