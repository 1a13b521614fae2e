// Two processes of one program, each on a core of its own: rank 0 is the process itself, rank 1 its child.
#pragma once
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace network {

// The rank-th core of those that this process may use.
inline void pin_to(uint32_t rank) {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int n = CPU_COUNT(&all);
  for (int c = 0, seen = 0; c < CPU_SETSIZE; ++c)
    if (CPU_ISSET(c, &all) && seen++ == static_cast<int>(rank) % n) {
      CPU_SET(c, &one);
      break;
    }
  sched_setaffinity(0, sizeof one, &one);
}

class Pair {
public:
  // space: a network namespace that rank 1 enters; -1: none.
  explicit Pair(int space = -1) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::exit(1);
    child_ = fork();
    if (child_ < 0) std::exit(1);
    if (child_ > 0) { // rank 0 does not wait for messages of a rank that has failed
      the_child = child_;
      struct sigaction act{};
      act.sa_handler = [](int) {
        siginfo_t how{};
        if (waitid(P_PID, static_cast<id_t>(the_child), &how, WEXITED | WNOWAIT | WNOHANG) == 0 && how.si_pid && (how.si_code != CLD_EXITED || how.si_status))
          _exit(1);
      };
      act.sa_flags = SA_RESTART | SA_NOCLDSTOP;
      sigaction(SIGCHLD, &act, nullptr);
    }
    if (child_ == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (child_ == 0 && space >= 0 && setns(space, CLONE_NEWNET) != 0) std::exit(1);
    fd_ = ends[rank()];
    close(ends[1 - rank()]);
    pin_to(rank());
  }
  Pair(const Pair &) = delete;
  Pair &operator=(const Pair &) = delete;
  ~Pair() { close(fd_); }

  uint32_t rank() const { return child_ == 0; }
  // What the other has put; both put at most some hundred bytes.
  std::vector<std::byte> swap(const std::vector<std::byte> &mine) const {
    uint32_t n = static_cast<uint32_t>(mine.size());
    put(&n, sizeof n), put(mine.data(), n);
    get(&n, sizeof n);
    std::vector<std::byte> theirs(n);
    get(theirs.data(), n);
    return theirs;
  }
  // Rank 0: the worse of both exit statuses. Rank 1 leaves by its own.
  int end(int status) const {
    if (rank() == 1) return status;
    int other = 0;
    if (waitpid(child_, &other, 0) < 0 || !WIFEXITED(other) || WEXITSTATUS(other) != 0) return status ? status : 1;
    return status;
  }

private:
  void put(const void *p, size_t n) const {
    if (write(fd_, p, n) != static_cast<ssize_t>(n)) std::exit(1);
  }
  void get(void *p, size_t n) const {
    for (size_t got = 0; got < n;) {
      const ssize_t r = read(fd_, static_cast<char *>(p) + got, n - got);
      if (r < 0 && errno == EINTR) continue;
      if (r <= 0) std::exit(1);
      got += static_cast<size_t>(r);
    }
  }

  static inline pid_t the_child = -1;
  pid_t child_ = -1;
  int fd_ = -1;
};

} // namespace network
