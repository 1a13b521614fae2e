#include "rank_process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "terminal.hpp"

namespace tool {
namespace {

constexpr int kNotStarted = 127;

// A share of the cores; where there are fewer cores than ranks, one of them.
void keep_to_share(const RankPlace &p) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const size_t n = p.cores.size();
  if (n < p.among) {
    CPU_SET(p.cores[p.nth % n], &set);
  } else {
    for (size_t i = p.nth * n / p.among; i < (p.nth + 1) * n / p.among; ++i) CPU_SET(p.cores[i], &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

[[noreturn]] void be_the_rank(const RankPlace &p, const std::vector<std::string> &program) {
  if (!p.cores.empty()) keep_to_share(p);
  if (p.in == kNoInput && !freopen("/dev/null", "r", stdin)) _exit(kNotStarted);
  if (p.in >= 0) dup2(p.in, STDIN_FILENO);
  if (p.out >= 0) dup2(p.out, STDOUT_FILENO);
  setenv("CONSORT_RANK", std::to_string(p.rank).c_str(), 1);
  std::vector<char *> words;
  for (const std::string &w : program) words.push_back(const_cast<char *>(w.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::fprintf(stderr, "consort: %s: %s\n", words[0], std::strerror(errno));
  _exit(kNotStarted);
}

}  // namespace

pid_t start_rank(const RankPlace &place, const std::vector<std::string> &program, const sigset_t &signals) {
  const pid_t parent = getpid(), child = fork();
  if (child < 0) throw system_error("cannot start rank " + std::to_string(place.rank));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kNotStarted);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  be_the_rank(place, program);
}

std::runtime_error system_error(const std::string &what) { return std::runtime_error(what + ": " + std::strerror(errno)); }

std::vector<int> own_cores() {
  cpu_set_t set;
  std::vector<int> all;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) all.push_back(i);
  return all;
}

std::string this_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return printable(name);
}

std::string words_of_end(int how) {
  if (WIFSIGNALED(how)) {
    const char *name = sigabbrev_np(WTERMSIG(how));
    return "was killed by signal " + std::to_string(WTERMSIG(how)) + (name ? std::string(" (SIG") + name + ")" : "");
  }
  return WEXITSTATUS(how) ? "has ended with status " + std::to_string(WEXITSTATUS(how)) : "has ended";
}

int status_of_end(int how) { return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how); }

}  // namespace tool
