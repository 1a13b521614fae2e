// run.cpp — `consort run`: starts one program as several ranks of a job on this machine, and watches over them.
//
// A rank learns its number and the job's folder from the environment (docs/distribute.md). Signals go to all ranks. A rank
// that fails is named with its host; the other ranks learn of it by their transport and go on, or end by themselves.
#include <poll.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "commands.hpp"
#include "environment.hpp"
#include "job_folder.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
constexpr int kNotStarted = 127;

std::runtime_error system_error(const std::string &what) { return std::runtime_error(what + ": " + std::strerror(errno)); }

std::string this_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return printable(name);
}

// The cores that this process may use.
std::vector<int> own_cores() {
  cpu_set_t set;
  std::vector<int> all;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) all.push_back(i);
  return all;
}

// A share of the cores; where there are fewer cores than ranks, one of them.
void keep_to_share(const std::vector<int> &cores, size_t rank, size_t ranks) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const size_t n = cores.size();
  if (n < ranks) {
    CPU_SET(cores[rank % n], &set);
  } else {
    for (size_t i = rank * n / ranks; i < (rank + 1) * n / ranks; ++i) CPU_SET(cores[i], &set);
  }
  sched_setaffinity(0, sizeof set, &set);
}

class Job {
 public:
  explicit Job(const RunOptions &options) : options_(options), ranks_(options.ranks), host_(this_host()) {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int s : kForwarded) sigaddset(&taken, s);
    sigaddset(&taken, SIGCHLD);
    sigprocmask(SIG_BLOCK, &taken, &before_);
    signals_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (signals_ < 0 || changes_ < 0 || inotify_add_watch(changes_, folder_.path().c_str(), IN_MOVED_TO) < 0)
      throw system_error("cannot watch the job");
  }
  Job(const Job &) = delete;
  Job &operator=(const Job &) = delete;
  ~Job() {
    send(SIGKILL);
    close(signals_), close(changes_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int run() {
    set_variable("CONSORT_RANKS", std::to_string(ranks_.size()));
    set_variable("CONSORT_RENDEZVOUS", folder_.path());
    if (!options_.transport.empty()) set_variable("CONSORT_TRANSPORT", options_.transport);
    std::fflush(nullptr);
    const std::vector<int> cores = options_.unbound ? std::vector<int>() : own_cores();
    for (size_t rank = 0; rank < ranks_.size(); ++rank) start(rank, cores);
    while (running_) {
      pollfd what[] = {{signals_, POLLIN, 0}, {changes_, POLLIN, 0}};
      if (poll(what, 2, is_ending_ ? kGraceMs : -1) == 0) send(SIGKILL);
      read_signals();
      read_changes();
    }
    return status_;
  }

 private:
  static constexpr int kGraceMs = 2000;  // from SIGTERM to SIGKILL, after a rank asked for the end of the job

  void start(size_t rank, const std::vector<int> &cores) {
    const pid_t parent = getpid(), child = fork();
    if (child < 0) throw system_error("cannot start rank " + std::to_string(rank));
    if (child > 0) {
      ranks_[rank] = child, ++running_;
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kNotStarted);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
    if (!cores.empty()) keep_to_share(cores, rank, ranks_.size());
    if (rank > 0 && !freopen("/dev/null", "r", stdin)) _exit(kNotStarted);  // standard input is rank 0's
    setenv("CONSORT_RANK", std::to_string(rank).c_str(), 1);
    std::vector<char *> words;
    for (const std::string &w : options_.program) words.push_back(const_cast<char *>(w.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    std::fprintf(stderr, "consort: %s: %s\n", words[0], std::strerror(errno));
    _exit(kNotStarted);
  }

  void send(int signal) const {
    for (const pid_t p : ranks_)
      if (p > 0) kill(p, signal);
  }

  void read_signals() {
    signalfd_siginfo got;
    while (read(signals_, &got, sizeof got) == sizeof got) {
      if (got.ssi_signo == SIGCHLD) reap();
      // The terminal has sent it to all processes of its group.
      else if (got.ssi_code != SI_KERNEL) send(static_cast<int>(got.ssi_signo));
    }
  }

  void reap() {
    int how;
    for (pid_t p; (p = waitpid(-1, &how, WNOHANG)) > 0;) {
      const auto at = std::find(ranks_.begin(), ranks_.end(), p);
      if (at == ranks_.end()) continue;
      *at = 0, --running_;
      ended(static_cast<int>(at - ranks_.begin()), p, how);
    }
  }

  void ended(int rank, pid_t process, int how) {
    std::string text = "has ended";
    if (WIFSIGNALED(how)) {
      const char *name = sigabbrev_np(WTERMSIG(how));
      text = "was killed by signal " + std::to_string(WTERMSIG(how)) + (name ? std::string(" (SIG") + name + ")" : "");
    } else if (WEXITSTATUS(how)) {
      text = "has ended with status " + std::to_string(WEXITSTATUS(how));
    }
    folder_.note_end(rank, text);
    const int status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    if (!status) return;
    if (!status_) status_ = status;
    complain("rank " + std::to_string(rank) + " of " + std::to_string(ranks_.size()) + " on host " + host_ + " (process " +
             std::to_string(process) + ") " + text);
  }

  void read_changes() {
    alignas(inotify_event) char names[4096];
    bool any = false;
    while (read(changes_, names, sizeof names) > 0) any = true;
    if (!any || is_ending_) return;
    const std::string why = folder_.abort_text();
    if (why.empty()) return;
    complain("the job is ended: " + printable(why));
    is_ending_ = true;
    if (!status_) status_ = 1;
    send(SIGTERM);
  }

  const RunOptions &options_;
  const JobFolder folder_;
  std::vector<pid_t> ranks_;              // 0: has ended
  const std::string host_;
  sigset_t before_;
  int signals_ = -1, changes_ = -1, status_ = 0;
  uint32_t running_ = 0;
  bool is_ending_ = false;
};

}  // namespace

int run_ranks(const Settings &settings, const RunOptions &options) {
  for (const std::string &assignment : settings.assignments) set_from(assignment);
  if (!settings.file.empty()) set_variable("CONSORT_CONFIG", settings.file);
  if (settings.loud) set_variable("CONSORT_LOG", "info");
  return Job(options).run();
}

}  // namespace tool
