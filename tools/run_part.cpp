// run_part.cpp — `consort run-part`: the ranks of a job on this machine, for a launcher on another one.
//
// The launcher speaks through standard input and output (part_wire.hpp). The files that ranks publish in this machine's
// folder are sent to it, and those of other machines are written here, so the kernel sees one folder. If the launcher
// ends, or the connection to it breaks, the ranks are killed.
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "channel.hpp"
#include "commands.hpp"
#include "environment.hpp"
#include "job_folder.hpp"
#include "rank_process.hpp"
#include "terminal.hpp"

namespace tool {
namespace {

constexpr size_t kMostUnsent = 1 << 20;   // beyond it the ranks' output waits in their pipe
constexpr int kStartMs = 60'000, kPartLastMs = 100;
constexpr int kEndOfPart[] = {SIGTERM, SIGHUP, SIGINT};

// The address by which ssh has reached this machine.
std::string own_address() {
  const char *const all = std::getenv("SSH_CONNECTION");  // client's address and port, this machine's address and port
  std::string rest = all ? all : "";
  for (int i = 0; i < 2 && !rest.empty(); ++i) rest.erase(0, std::min(rest.find(' '), rest.size() - 1) + 1);
  const std::string address = rest.substr(0, rest.find(' '));
  return address.empty() ? "127.0.0.1" : address;
}

void take_settings(const std::vector<std::string> &environment) {
  constexpr std::string_view kAddress = "{address}";
  for (const std::string &e : environment) {
    const size_t equals = e.find('=');
    std::string value = e.substr(equals + 1);
    for (size_t at; (at = value.find(kAddress)) != value.npos;) value.replace(at, kAddress.size(), own_address());
    set_variable(e.substr(0, equals).c_str(), value);
  }
}

class LocalPart {
 public:
  // signals: the mask for the ranks. SIGCHLD and kEndOfPart are blocked here.
  LocalPart(Channel &launcher, const PartStart &start, const sigset_t &signals)
      : launcher_(launcher), start_(start), folder_({start.job, start.secret}), ranks_(start.count), before_(signals) {
    sigset_t taken;
    sigemptyset(&taken);
    sigaddset(&taken, SIGCHLD);
    for (const int s : kEndOfPart) sigaddset(&taken, s);
    signals_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    changes_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    int out[2], in[2];
    if (signals_ < 0 || changes_ < 0 || inotify_add_watch(changes_, folder_.path().c_str(), IN_MOVED_TO) < 0 ||
        pipe2(out, O_CLOEXEC) != 0 || pipe2(in, O_CLOEXEC) != 0)
      throw system_error("cannot watch the ranks");
    printed_ = out[0], ranks_out_ = out[1], input_ = in[1], rank_in_ = in[0];
    fcntl(printed_, F_SETFL, O_NONBLOCK);
    fcntl(input_, F_SETFL, O_NONBLOCK);
  }
  LocalPart(const LocalPart &) = delete;
  LocalPart &operator=(const LocalPart &) = delete;
  ~LocalPart() {
    send(SIGKILL);
    for (const int fd : {signals_, changes_, printed_, ranks_out_, input_, rank_in_})
      if (fd >= 0) close(fd);
  }

  int run() {
    if (chdir(start_.folder.c_str()) != 0) throw system_error("the folder " + printable(start_.folder) + " cannot be entered");
    take_settings(start_.environment);
    set_variable("CONSORT_RANKS", std::to_string(start_.ranks));
    set_variable("CONSORT_RENDEZVOUS", folder_.path());
    const std::vector<int> cores = start_.bound ? own_cores() : std::vector<int>();
    for (uint32_t i = 0; i < start_.count; ++i) {
      const uint32_t rank = start_.first + i;
      ranks_[i] = start_rank({rank, cores, i, start_.count, rank == 0 ? rank_in_ : kNoInput, ranks_out_}, start_.program, before_);
      ++running_;
    }
    close(std::exchange(ranks_out_, -1)), close(std::exchange(rank_in_, -1));
    take_frames();                        // what came together with the start
    do {
      step();
      if (launcher_.has_ended() || is_told_to_end_) return 1;  // there is no launcher any more
    } while (running_ || launcher_.unsent());
    return 0;
  }

 private:
  void step() {
    std::vector<pollfd> what{{signals_, POLLIN, 0}, {changes_, POLLIN, 0},
                             {launcher_.unsent() < kMostUnsent ? printed_ : -1, POLLIN, 0},
                             {unread_.empty() ? -1 : input_, POLLOUT, 0}};
    launcher_.add_to(&what);
    poll(what.data(), what.size(), running_ ? -1 : kPartLastMs);
    launcher_.flush();
    launcher_.read();
    take_frames();
    send_files();
    send_output();
    signalfd_siginfo got;
    while (read(signals_, &got, sizeof got) == sizeof got) {
      if (got.ssi_signo == SIGCHLD) reap();
      else is_told_to_end_ = true;
    }
  }

  void take_frames() {
    for (Frame f; launcher_.frames().next(&f);) take(f);
    feed();
  }

  void take(const Frame &f) {
    switch (f.kind) {
      case FrameKind::kFile: {
        const PartFile file = part_file_of(f.body);
        received_.insert(file.name);
        folder_.write(file.name, file.text);
        break;
      }
      case FrameKind::kInput:
        unread_ += f.body;
        input_ends_ |= f.body.empty();
        break;
      case FrameKind::kSignal: send(static_cast<int>(number_of(f.body))); break;
      default: throw std::runtime_error("the launcher has sent what a part sends");
    }
  }

  void feed() {
    if (input_ < 0) return unread_.clear();
    if (!unread_.empty()) {
      const ssize_t n = write(input_, unread_.data(), unread_.size());
      if (n < 0 && errno != EAGAIN && errno != EINTR) close(std::exchange(input_, -1));
      if (n <= 0) return;
      unread_.erase(0, static_cast<size_t>(n));
      launcher_.send(FrameKind::kTaken, encoded(static_cast<uint32_t>(n)));
    }
    if (input_ends_ && unread_.empty()) close(std::exchange(input_, -1));
  }

  void send_files() {
    alignas(inotify_event) char names[4096];
    for (ssize_t n; (n = read(changes_, names, sizeof names)) > 0;)
      for (const char *at = names; at < names + n;) {
        const auto *e = reinterpret_cast<const inotify_event *>(at);
        at += sizeof *e + e->len;
        const std::string name = e->len ? e->name : "";
        if (name == "secret" || received_.count(name)) continue;
        launcher_.send(FrameKind::kFile, encoded(PartFile{name, folder_.read(name)}));
      }
  }

  void send_output() {
    char bytes[16384];
    for (ssize_t n; printed_ >= 0 && launcher_.unsent() < kMostUnsent;) {
      n = read(printed_, bytes, sizeof bytes);
      if (n > 0) launcher_.send(FrameKind::kOutput, {bytes, static_cast<size_t>(n)});
      else if (n == 0) close(std::exchange(printed_, -1));
      else return;
    }
  }

  void reap() {
    int how;
    for (pid_t p; (p = waitpid(-1, &how, WNOHANG)) > 0;) {
      const auto at = std::find(ranks_.begin(), ranks_.end(), p);
      if (at == ranks_.end()) continue;
      *at = 0, --running_;
      const uint32_t rank = start_.first + static_cast<uint32_t>(at - ranks_.begin());
      folder_.note_end(static_cast<int>(rank), words_of_end(how));
      send_files();                       // what it has published goes ahead of its end
      const std::string words = "(process " + std::to_string(p) + ") " + words_of_end(how);
      launcher_.send(FrameKind::kEnd, encoded(RankEnd{rank, static_cast<uint32_t>(status_of_end(how)), WIFSIGNALED(how), words}));
    }
  }

  void send(int signal) const {
    for (const pid_t p : ranks_)
      if (p > 0) kill(p, signal);
  }

  Channel &launcher_;
  const PartStart start_;
  const JobFolder folder_;
  std::vector<pid_t> ranks_;              // 0: has ended
  std::set<std::string> received_;        // files of other machines
  std::string unread_;                    // input that rank 0 has not taken
  bool input_ends_ = false, is_told_to_end_ = false;
  const sigset_t before_;
  int signals_ = -1, changes_ = -1, printed_ = -1, ranks_out_ = -1, input_ = -1, rank_in_ = -1;
  uint32_t running_ = 0;
};

PartStart wait_for_start(Channel &launcher) {
  for (Frame f;;) {
    if (launcher.frames().next(&f)) {
      if (f.kind != FrameKind::kStart) throw std::runtime_error("the launcher does not begin with a start");
      return part_start_of(f.body);
    }
    if (launcher.has_ended()) break;
    std::vector<pollfd> what;
    launcher.add_to(&what);
    if (poll(what.data(), what.size(), kStartMs) == 0) break;
    launcher.flush();
    launcher.read();
  }
  if (isatty(STDIN_FILENO)) throw std::runtime_error("no launcher: consort run --hosts starts this command");
  std::exit(1);                           // the launcher has given up, and has said why
}

}  // namespace

int run_part() {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  for (const int s : {SIGPIPE, SIGCHLD}) sigaddset(&blocked, s);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (in < 0 || out < 0) throw system_error("no standard input or output");
  dup2(STDERR_FILENO, STDOUT_FILENO);     // a stray word does not come between frames
  Channel launcher(in, out);
  launcher.send_raw(kGreeting);
  const PartStart start = wait_for_start(launcher);
  for (const int s : kEndOfPart) sigaddset(&blocked, s);  // there is something to clean up from here on
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  return LocalPart(launcher, start, before).run();
}

}  // namespace tool
