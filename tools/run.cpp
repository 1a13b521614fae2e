// run.cpp — `consort run`: starts one program as several ranks of a job on this machine, and watches over them.
//
// A rank learns its number and the job's folder from the environment (docs/distribute.md). Signals go to all ranks. A rank
// that fails is named with its host; the other ranks learn of it by their transport and go on, or end by themselves. With
// --restarts they are ended, and the job starts again with a new folder: the program finds its last checkpoint.
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "commands.hpp"
#include "environment.hpp"
#include "job_folder.hpp"
#include "job_outcome.hpp"
#include "rank_process.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

class Job {
 public:
  // may_restart: it may start again after this time.
  Job(const RunOptions &options, bool may_restart)
      : options_(options), ranks_(options.ranks), host_(this_host()), outcome_(options.ranks, may_restart) {
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
      if (poll(what, 2, outcome_.is_ending() ? JobOutcome::kGraceMs : -1) == 0) send(SIGKILL);
      read_signals();
      read_changes();
    }
    return outcome_.status();
  }
  bool wants_restart() const { return outcome_.wants_restart(); }

 private:
  void start(size_t rank, const std::vector<int> &cores) {
    ranks_[rank] = start_rank({static_cast<uint32_t>(rank), cores, rank, ranks_.size(), rank == 0 ? -1 : kNoInput, -1},
                              options_.program, before_);
    ++running_;
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
      if (asks_for_end(static_cast<int>(got.ssi_signo))) outcome_.told_to_end();
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
    const std::string text = words_of_end(how);
    folder_.note_end(rank, text);
    const std::string words = "(process " + std::to_string(process) + ") " + text;
    if (outcome_.rank_ended(static_cast<uint32_t>(rank), host_, status_of_end(how), WIFSIGNALED(how), words))
      send(SIGTERM), send(SIGCONT);
  }

  void read_changes() {
    alignas(inotify_event) char names[4096];
    bool any = false;
    while (read(changes_, names, sizeof names) > 0) any = true;
    if (!any || outcome_.is_ending()) return;
    const std::string why = folder_.abort_text();
    if (!why.empty() && outcome_.aborted(why)) send(SIGTERM), send(SIGCONT);
  }

  const RunOptions &options_;
  const JobFolder folder_;
  std::vector<pid_t> ranks_;              // 0: has ended
  const std::string host_;
  JobOutcome outcome_;
  sigset_t before_;
  int signals_ = -1, changes_ = -1;
  uint32_t running_ = 0;
};

Run run_here(const RunOptions &options, bool may_restart) {
  Job job(options, may_restart);
  const int status = job.run();
  return {status, job.wants_restart()};
}

}  // namespace

int run_ranks(const Settings &settings, const RunOptions &options) {
  for (const std::string &assignment : settings.assignments) set_from(assignment);
  if (!settings.file.empty()) set_variable("CONSORT_CONFIG", settings.file);
  if (settings.loud) set_variable("CONSORT_LOG", "info");
  if (!options.checkpoint.empty()) set_variable("CONSORT_CHECKPOINT", std::filesystem::absolute(options.checkpoint));
  for (uint32_t restarts = 0;; ++restarts) {
    const bool may_restart = restarts < options.restarts;
    const Run run = options.hosts.empty() ? run_here(options, may_restart) : run_on_hosts(options, may_restart);
    if (!run.wants_restart) return run.status;
    complain("the job starts again (restart " + std::to_string(restarts + 1) + " of " + std::to_string(options.restarts) + ")");
  }
}

}  // namespace tool
