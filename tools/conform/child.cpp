#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include "patience.hpp"

#if CONSORT_SAN == 1u
extern "C" int __lsan_do_recoverable_leak_check();
#endif

namespace conform {
namespace {

constexpr size_t kPrintedKept = 16384;

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class SharedVerdict {
 public:
  SharedVerdict() {
    void *p = mmap(nullptr, sizeof(Verdict), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "no memory to share with a case");
    verdict_ = new (p) Verdict{};
  }
  SharedVerdict(const SharedVerdict &) = delete;
  SharedVerdict &operator=(const SharedVerdict &) = delete;
  ~SharedVerdict() { munmap(verdict_, sizeof(Verdict)); }
  Verdict &operator*() { return *verdict_; }

 private:
  Verdict *verdict_;
};

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

void run_whole(const Case &c, const Subject &subject, Verdict &v) {
  run_case(c, subject, v);
#if CONSORT_SAN == 1u
  if (v.outcome == Outcome::kPassed && __lsan_do_recoverable_leak_check()) {
    v.outcome = Outcome::kFailed;
    ++v.failures;
    std::strcpy(v.seen, "memory was leaked; the sanitizer's report follows\n");
  }
#endif
  std::snprintf(v.doing, sizeof v.doing, "end of the process");
}

void keep_end(std::string *text, const char *more, size_t n) {
  text->append(more, n);
  if (text->size() > 2 * kPrintedKept) text->erase(0, text->size() - kPrintedKept);
}

// Reads the output until the child has ended or its time has passed. Returns its status; *over: it was killed.
int wait_for(pid_t child, int output, double limit, std::string *printed, bool *over) {
  char buffer[4096];
  bool open = true;
  uint64_t reads = 0;
  Patience patience(child, limit);
  for (int status = 0;;) {
    pollfd p{output, POLLIN, 0};
    const int ready = open ? poll(&p, 1, 20) : (usleep(20'000), 0);
    if (ready > 0) {
      const ssize_t n = read(output, buffer, sizeof buffer);
      if (n > 0) keep_end(printed, buffer, static_cast<size_t>(n));
      else if (n == 0) open = false;
      if (n > 0 && ++reads % 256) continue;
    }
    if (waitpid(child, &status, WNOHANG) == child) {
      kill(-child, SIGKILL);  // with the processes that it has started
      fcntl(output, F_SETFL, O_NONBLOCK);
      for (ssize_t n; (n = read(output, buffer, sizeof buffer)) > 0;) keep_end(printed, buffer, static_cast<size_t>(n));
      return status;
    }
    if (!*over && patience.is_over()) {
      *over = true;
      kill(-child, SIGKILL);
      kill(child, SIGKILL);  // in case it does not lead its group yet
    }
  }
}

void tell(Result &r, const std::string &how) {
  Verdict &v = r.verdict;
  v.outcome = Outcome::kFailed;
  ++v.failures;
  const size_t used = std::strlen(v.seen);
  std::snprintf(v.seen + used, sizeof v.seen - used, "%s in: %s\n", how.c_str(), *v.doing ? v.doing : "begin of the case");
}

}  // namespace

Ended run_apart(double limit, const std::function<void()> &body) {
  Ended e;
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
  e.status = wait_for(child, pipe_ends[0], limit, &e.printed, &e.timed_out);
  close(pipe_ends[0]);
  return e;
}

Result run_in_child(const Case &c, const Subject &subject, double limit, bool in_process) {
  Result r;
  const double began = now();
  if (in_process) {
    run_case(c, subject, r.verdict);
    r.seconds = now() - began;
    return r;
  }
  SharedVerdict shared;
  Ended e = run_apart(limit, [&] { run_whole(c, subject, *shared); });
  const int status = e.status;
  r.printed = std::move(e.printed);
  r.timed_out = e.timed_out;
  r.verdict = *shared;
  r.seconds = now() - began;
  if (r.timed_out) {
    tell(r, "did not come back within " + std::to_string(static_cast<int>(limit)) + " s");
  } else if (WIFSIGNALED(status)) {
    r.crashed = true;
    const char *name = sigabbrev_np(WTERMSIG(status));
    tell(r, "crashed by SIG" + std::string(name ? name : "?"));
  } else if (WEXITSTATUS(status) != 0) {
    r.crashed = true;
    tell(r, "the process ended with status " + std::to_string(WEXITSTATUS(status)));
  } else if (r.verdict.outcome == Outcome::kNone) {
    r.crashed = true;
    tell(r, "the plugin ended the process");
  }
  return r;
}

}  // namespace conform
