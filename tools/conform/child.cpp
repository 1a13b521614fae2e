#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace conform {
namespace {

constexpr size_t kPrintedKept = 16384;
constexpr int kTurnMs = 20, kReadsInARow = 256;

[[noreturn]] void be_the_child(const std::function<void()> &body, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // an interrupted parent leaves no child behind
  if (getppid() != parent) _exit(1);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (output > STDERR_FILENO) close(output);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO), close(nothing);
  body();
  std::fflush(nullptr);
  std::exit(0);  // not _exit: exit handlers of the plugin are tested, too
}

void keep_end(std::string *text, const char *more, size_t n) {
  text->append(more, n);
  if (text->size() > 2 * kPrintedKept) text->erase(0, text->size() - kPrintedKept);
}

// Returns the child's pid; *output: a descriptor with what it prints.
pid_t start(const std::function<void()> &body, int *output) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "no pipe to a process");
  std::fflush(nullptr);
  const pid_t parent = getpid(), child = fork();
  if (child < 0) {
    const int why = errno;
    close(pipe_ends[0]), close(pipe_ends[1]);
    throw std::system_error(why, std::generic_category(), "no process for a case");
  }
  if (child == 0) be_the_child(body, pipe_ends[1], parent);
  setpgid(child, child);
  close(pipe_ends[1]);
  fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
  *output = pipe_ends[0];
  return child;
}

}  // namespace

Child::Child(double limit, const std::function<void()> &body)
    : pid_(start(body, &output_)), patience_(pid_, limit) {
  end_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0u));  // glibc 2.36 declares it for C alone
}

Child::~Child() {
  if (!is_gone_) {
    kill_all();
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) close(output_);
  if (end_ >= 0) close(end_);
}

void Child::kill_all() const {
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // in case it does not lead its group yet
}

// all: what the pipe holds. Else a child that prints without end still gets its time checked.
void Child::read_output(bool all) {
  char buffer[4096];
  for (int reads = 0; output_ >= 0 && (all || reads < kReadsInARow); ++reads) {
    const ssize_t n = read(output_, buffer, sizeof buffer);
    if (n > 0) keep_end(&ended_.printed, buffer, static_cast<size_t>(n));
    else if (n == 0) close(std::exchange(output_, -1));
    else if (errno != EINTR) return;
  }
}

bool Child::has_ended() {
  if (is_gone_) return true;
  read_output(false);
  if (waitpid(pid_, &ended_.status, WNOHANG) == pid_) {
    is_gone_ = true;
    kill(-pid_, SIGKILL);  // the processes that it has started
    read_output(true);
    return true;
  }
  if (!ended_.timed_out && patience_.is_over()) {
    ended_.timed_out = true;
    kill_all();
  }
  return false;
}

void Child::wait(const std::vector<Child *> &all) {
  std::vector<pollfd> of;
  for (const Child *c : all) {
    of.push_back({c->output_, POLLIN, 0});       // a negative descriptor is ignored
    of.push_back({c->end_, POLLIN, 0});
  }
  poll(of.data(), of.size(), kTurnMs);
}

Ended run_apart(double limit, const std::function<void()> &body) {
  Child child(limit, body);
  while (!child.has_ended()) Child::wait({&child});
  return std::move(child.ended());
}

}  // namespace conform
