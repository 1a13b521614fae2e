// run_hosts.cpp — `consort run --hosts`: the ranks of one job on several machines, started over ssh.
//
// On each machine `consort run-part` starts its share (run_part.cpp). What a part publishes is sent on to the others. Signals
// and standard input are sent to the parts; their output is printed here. A machine whose connection ends takes its
// ranks with it; the others go on.
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "channel.hpp"
#include "commands.hpp"
#include "environment.hpp"
#include "hosts.hpp"
#include "job_folder.hpp"
#include "job_outcome.hpp"
#include "rank_process.hpp"
#include "terminal.hpp"

extern char **environ;

namespace tool {
namespace {

constexpr uint32_t kMostUntaken = 256 << 10;     // of standard input, on its way to rank 0
constexpr int kLastMs = 1000, kLostStatus = 255;
constexpr const char *kSsh = "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3";
// Where the user says nothing else: the network by which ssh reaches the machines.
constexpr const char *kTransport = "ofi", *kNetwork = "CONSORT_OFI__NETWORK={address}";

std::string quoted(const std::string &word) {    // for a shell
  std::string text = "'";
  for (const char c : word)
    if (c == '\'') text += "'\\''";
    else text += c;
  return text + "'";
}

// The settings of this process, for the parts.
std::vector<std::string> own_settings(const RunOptions &options) {
  std::vector<std::string> all;
  bool has_transport = !options.transport.empty();
  if (has_transport) all.push_back("CONSORT_TRANSPORT=" + options.transport);
  for (char **e = environ; *e; ++e) {
    const std::string text = *e;
    const std::string name = text.substr(0, text.find('='));
    if (!name.starts_with("CONSORT_") || name == "CONSORT_RANK" || name == "CONSORT_RANKS" || name == "CONSORT_RENDEZVOUS" ||
        (name == "CONSORT_TRANSPORT" && !options.transport.empty()))
      continue;
    has_transport |= name == "CONSORT_TRANSPORT";
    all.push_back(text);
  }
  if (has_transport) return all;
  all.push_back(std::string("CONSORT_TRANSPORT=") + kTransport);
  if (!std::getenv("CONSORT_OFI__NETWORK")) all.push_back(kNetwork);
  return all;
}

// The connection to one machine, and the process of ssh that keeps it.
struct Host {
  HostShare share;
  pid_t ssh = 0;                          // 0: has ended
  int how = 0;                            // then: as waitpid() says
  std::unique_ptr<Channel> channel;
  bool has_greeted = false, is_over = false;
  uint32_t running = 0;
};

class HostsJob {
 public:
  // may_restart: it may start again after this time.
  HostsJob(const RunOptions &options, bool may_restart)
      : options_(options), identity_(JobIdentity::make()), has_ended_(options.ranks), outcome_(options.ranks, may_restart) {
    sigset_t taken;
    sigemptyset(&taken);
    for (const int s : kForwarded) sigaddset(&taken, s);
    sigaddset(&taken, SIGCHLD);
    sigset_t blocked = taken;
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, &before_);
    signals_ = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) throw system_error("cannot watch the job");
    for (const HostShare &s : shares_of(options.hosts, options.ranks)) hosts_.emplace_back().share = s;
  }
  HostsJob(const HostsJob &) = delete;
  HostsJob &operator=(const HostsJob &) = delete;
  ~HostsJob() {
    for (Host &h : hosts_) h.channel.reset();    // the parts see the end of their input, and kill what still runs
    const auto has_ended = [](const Host &h) { return h.ssh == 0; };
    for (int turn = 0; turn < 2 && !std::all_of(hosts_.begin(), hosts_.end(), has_ended); ++turn) {
      for (pollfd p{signals_, POLLIN, 0}; !std::all_of(hosts_.begin(), hosts_.end(), has_ended) && poll(&p, 1, kLastMs) > 0;) {
        signalfd_siginfo got;
        while (::read(signals_, &got, sizeof got) == sizeof got) reap();
      }
      for (const Host &h : hosts_)
        if (h.ssh) kill(h.ssh, SIGTERM);
    }
    close(signals_);
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec now{};
    while (sigtimedwait(&pipe, nullptr, &now) > 0) {}  // of a write to a part that had ended
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int run() {
    std::fflush(nullptr);
    environment_ = own_settings(options_);
    for (Host &h : hosts_) connect(h);
    while (std::any_of(hosts_.begin(), hosts_.end(), [](const Host &h) { return !h.is_over; })) step();
    return outcome_.status();
  }
  bool wants_restart() const { return outcome_.wants_restart(); }

 private:
  void connect(Host &h) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw system_error("no pipe to ssh");
    std::vector<std::string> words;
    std::istringstream ssh(options_.ssh.empty() ? kSsh : options_.ssh);
    for (std::string w; ssh >> w;) words.push_back(w);
    const std::string self = options_.remote.empty() ? std::filesystem::read_symlink("/proc/self/exe").string() : options_.remote;
    words.insert(words.end(), {h.share.host, "exec " + quoted(self) + " run-part"});
    std::vector<char *> argv;
    for (std::string &w : words) argv.push_back(w.data());
    argv.push_back(nullptr);
    h.ssh = fork();
    if (h.ssh < 0) throw system_error("ssh cannot be started");
    if (h.ssh == 0) {
      sigprocmask(SIG_SETMASK, &before_, nullptr);
      setpgid(0, 0);                      // a key on the terminal is for this process, which tells the parts
      dup2(to[0], STDIN_FILENO), dup2(from[1], STDOUT_FILENO);
      execvp(argv[0], argv.data());
      std::fprintf(stderr, "consort: %s: %s\n", argv[0], std::strerror(errno));
      _exit(127);
    }
    close(to[0]), close(from[1]);
    h.channel = std::make_unique<Channel>(from[0], to[1]);
  }

  void step() {
    const bool reads_input = input_is_open_ && hosts_[0].has_greeted && !hosts_[0].is_over && untaken_ < kMostUntaken;
    std::vector<pollfd> what{{signals_, POLLIN, 0}, {reads_input ? STDIN_FILENO : -1, POLLIN, 0}};
    for (const Host &h : hosts_)
      if (h.channel) h.channel->add_to(&what);
    if (poll(what.data(), what.size(), outcome_.is_ending() ? JobOutcome::kGraceMs : -1) == 0) tell_all(FrameKind::kSignal, encoded(uint32_t{SIGKILL}));
    read_signals();
    if (what[1].revents) read_input();
    for (Host &h : hosts_) attend(h);
  }

  void attend(Host &h) try {
    if (h.is_over) return;
    h.channel->flush();
    h.channel->read();
    if (!h.has_greeted && h.channel->frames().skip_to_greeting()) {
      h.has_greeted = true;
      h.running = h.share.count;
      h.channel->send(FrameKind::kStart, encoded(PartStart{identity_.name, identity_.secret, std::filesystem::current_path(),
          h.share.first, h.share.count, options_.ranks, !options_.unbound, environment_, options_.program}));
      for (const PartFile &f : published_) h.channel->send(FrameKind::kFile, encoded(f));
    }
    if (h.has_greeted)
      for (Frame f; h.channel->frames().next(&f);) take(h, f);
    if (h.channel->has_ended() && h.ssh == 0) end(h, words_of_end(h.how));
  } catch (const std::runtime_error &e) {
    end(h, std::string("was disconnected: ") + e.what());
  }

  void take(Host &h, const Frame &f) {
    switch (f.kind) {
      case FrameKind::kFile: take(h, part_file_of(f.body)); break;
      case FrameKind::kOutput: print(f.body); break;
      case FrameKind::kTaken: untaken_ -= std::min(untaken_, number_of(f.body)); break;
      case FrameKind::kEnd: {
        const RankEnd e = rank_end_of(f.body);
        if (!has(h, e.rank) || has_ended_[e.rank]) throw std::runtime_error("it tells the end of a rank that it does not have");
        has_ended_[e.rank] = true, --h.running;
        rank_ended(h, e.rank, static_cast<int>(e.status), e.was_killed, printable(e.words));
        break;
      }
      default: throw std::runtime_error("it has sent what a launcher sends");
    }
  }

  static bool has(const Host &h, uint32_t rank) { return rank >= h.share.first && rank - h.share.first < h.share.count; }

  // Other machines get it. A machine that greets later gets what was published before.
  void take(const Host &h, const PartFile &file) {
    if (file.name == "abort") return end_job(file.text);
    char *behind;
    const unsigned long rank = std::strtoul(file.name.c_str(), &behind, 10);
    if (*behind != '.' || behind == file.name.c_str() || rank >= options_.ranks || !has(h, static_cast<uint32_t>(rank)))
      throw std::runtime_error("it has published a file of another machine's rank");
    publish(file, &h);
  }

  void publish(const PartFile &file, const Host *from) {
    for (Host &h : hosts_)
      if (&h != from && h.has_greeted && !h.is_over) h.channel->send(FrameKind::kFile, encoded(file));
    published_.push_back(file);
  }

  void rank_ended(const Host &h, uint32_t rank, int status, bool was_killed, const std::string &words) {
    if (outcome_.rank_ended(rank, printable(h.share.host), status, was_killed, words)) end_ranks();
  }

  void end_ranks() {
    for (const int signal : {SIGTERM, SIGCONT}) tell_all(FrameKind::kSignal, encoded(static_cast<uint32_t>(signal)));
  }

  void end_job(const std::string &why) {
    if (outcome_.aborted(why)) end_ranks();
  }

  // words: how its ssh has ended, or why it was disconnected.
  void end(Host &h, const std::string &words) {
    h.is_over = true;
    h.channel.reset();
    if (h.ssh) kill(h.ssh, SIGTERM);
    if (h.has_greeted && h.running == 0) return;
    const std::string host = "host " + printable(h.share.host);
    if (!h.has_greeted) {
      complain(host + ": ssh " + words + " before consort run-part had started; try: " + (options_.ssh.empty() ? "ssh" : options_.ssh) +
               " " + h.share.host + " consort --version, and see --remote-consort");
      outcome_.failed(kLostStatus);
      for (Host &other : hosts_)          // no job is complete without it
        if (!other.is_over) other.is_over = true, other.channel.reset();
      return;
    }
    complain(host + " is lost: ssh " + words);
    for (uint32_t rank = h.share.first; rank < h.share.first + h.share.count; ++rank) {
      if (has_ended_[rank]) continue;
      has_ended_[rank] = true;
      rank_ended(h, rank, kLostStatus, true, "is lost");
      publish({std::to_string(rank) + ".ended", "was on host " + h.share.host + ", which is lost,"}, &h);
    }
    h.running = 0;
  }

  void tell_all(FrameKind kind, const std::string &body) {
    for (Host &h : hosts_)
      if (h.has_greeted && !h.is_over) h.channel->send(kind, body);
  }

  void read_signals() {
    signalfd_siginfo got;
    while (::read(signals_, &got, sizeof got) == sizeof got) {
      if (got.ssi_signo == SIGCHLD) reap();
      else tell_all(FrameKind::kSignal, encoded(got.ssi_signo));
      if (!asks_for_end(static_cast<int>(got.ssi_signo))) continue;
      outcome_.told_to_end();
      for (Host &h : hosts_)              // machines that are still being connected have no rank yet
        if (!h.has_greeted && !h.is_over) h.is_over = true, h.channel.reset(), outcome_.failed(128 + static_cast<int>(got.ssi_signo));
    }
  }

  void reap() {
    int how;
    for (pid_t p; (p = waitpid(-1, &how, WNOHANG)) > 0;)
      for (Host &h : hosts_)
        if (h.ssh == p) h.ssh = 0, h.how = how;
  }

  void read_input() {
    char bytes[16384];
    const ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    input_is_open_ = n > 0;
    untaken_ += n > 0 ? static_cast<uint32_t>(n) : 0;
    hosts_[0].channel->send(FrameKind::kInput, {bytes, n > 0 ? static_cast<size_t>(n) : 0});
  }

  void print(const std::string &text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = write(STDOUT_FILENO, text.data() + done, text.size() - done);
      if (n > 0) done += static_cast<size_t>(n);
      else if (errno == EAGAIN) {
        pollfd out{STDOUT_FILENO, POLLOUT, 0};
        poll(&out, 1, -1);
      } else if (errno != EINTR) return;  // the reader has ended
    }
  }

  const RunOptions &options_;
  const JobIdentity identity_;
  std::vector<std::string> environment_;
  std::vector<Host> hosts_;
  std::vector<bool> has_ended_;           // by rank
  std::vector<PartFile> published_;
  JobOutcome outcome_;
  sigset_t before_;
  int signals_ = -1;
  uint32_t untaken_ = 0;
  bool input_is_open_ = true;
};

}  // namespace

Run run_on_hosts(const RunOptions &options, bool may_restart) {
  HostsJob job(options, may_restart);
  const int status = job.run();
  return {status, job.wants_restart()};
}

}  // namespace tool
