// Two network namespaces with a slow line between them: runs a program in one of them, whose rank 1 enters the other.
//   network-relay [--delay-us D] [--rate R] -- PROGRAM ARGS…
// Each namespace has a TUN device with a token bucket (tc-tbf) of rate R. The relay reads the packets of one and writes them
// to the other D microseconds later. Namespaces and devices have no name outside, and end with the processes. Exit 3: they
// cannot be made here.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int mtu = 9000;

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

[[noreturn]] void give_up(const char *what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  std::exit(3);
}

// One end of the line, in a namespace of its own that this process is in when the constructor returns.
struct End {
  End(int number, const std::string &rate) {
    if (unshare(CLONE_NEWNET) != 0) give_up("no network namespace can be made");
    space = open("/proc/self/ns/net", O_RDONLY); // inherited by the program
    tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq device{};
    device.ifr_flags = IFF_TUN | IFF_NO_PI;
    std::strcpy(device.ifr_name, "line");
    if (space < 0 || tun < 0 || ioctl(tun, TUNSETIFF, &device) != 0) give_up("no TUN device can be made");
    address = "10.99.0." + std::to_string(number);
    const std::string set = "ip addr add " + address + "/24 dev line && ip link set line mtu " + std::to_string(mtu) +
                            " up && ip link set lo up && tc qdisc add dev line root tbf rate " + rate + " burst 256kb limit 8mb";
    if (std::system(set.c_str()) != 0) std::fprintf(stderr, "ip or tc fails\n"), std::exit(3);
  }
  int space = -1, tun = -1;
  std::string address;
};

struct Packet {
  int64_t due;
  std::vector<char> bytes;
};

// Packets from one end to the other.
class Way {
public:
  Way(int from, int to, int64_t delay) : from_(from), to_(to), delay_(delay) {}
  int64_t move() { // when the next one is due; INT64_MAX: none waits
    char bytes[mtu + 64];
    for (ssize_t n; (n = read(from_, bytes, sizeof bytes)) > 0;) waiting_.push_back({now_ns() + delay_, {bytes, bytes + n}});
    for (; !waiting_.empty() && waiting_.front().due <= now_ns(); waiting_.pop_front())
      if (write(to_, waiting_.front().bytes.data(), waiting_.front().bytes.size()) < 0 && errno == EAGAIN) break;
    return waiting_.empty() ? INT64_MAX : waiting_.front().due;
  }

private:
  int from_, to_;
  int64_t delay_;
  std::deque<Packet> waiting_;
};

} // namespace

int main(int argc, char **argv) {
  int64_t delay = 100'000;
  std::string rate = "1gbit";
  int i = 1;
  for (; i + 1 < argc && std::string_view(argv[i]) != "--"; i += 2) {
    const std::string_view key = argv[i];
    if (key == "--delay-us") delay = std::atoll(argv[i + 1]) * 1000;
    else if (key == "--rate") rate = argv[i + 1];
    else break;
  }
  if (i + 1 >= argc || std::string_view(argv[i]) != "--") {
    std::fprintf(stderr, "usage: %s [--delay-us D] [--rate R] -- PROGRAM ARGS\n", argv[0]);
    return 2;
  }
  const End near(1, rate), far(2, rate);
  std::vector<std::string> words(argv + i + 1, argv + argc);
  words.insert(words.end(), {"--namespace", std::to_string(far.space), "--addresses", near.address + "," + far.address});
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setns(near.space, CLONE_NEWNET) != 0) _exit(3);
    std::vector<char *> arguments;
    for (std::string &w : words) arguments.push_back(w.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  const int process = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (child < 0 || process < 0) give_up("no process can be started");
  prctl(PR_SET_TIMERSLACK, 1);
  Way there(near.tun, far.tun, delay), back(far.tun, near.tun, delay);
  pollfd all[] = {{near.tun, POLLIN, 0}, {far.tun, POLLIN, 0}, {process, POLLIN, 0}};
  while (!(all[2].revents & POLLIN)) {
    const int64_t next = std::min(there.move(), back.move()), wait = std::max<int64_t>(next - now_ns(), 0);
    const timespec most{wait / 1'000'000'000, wait % 1'000'000'000};
    if (ppoll(all, 3, next == INT64_MAX ? nullptr : &most, nullptr) < 0 && errno != EINTR) give_up("ppoll");
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
