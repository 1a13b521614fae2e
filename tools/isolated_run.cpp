#include "isolated_run.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "conform/child.hpp"

namespace tool {
namespace {

// Ends the text if the body returned. Not part of any text.
constexpr char kReturned = '\x04';

class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("consort", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "cannot create a file in memory");
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile() { close(fd_); }
  int fd() const { return fd_; }
  off_t size() const {
    struct stat s;
    return fstat(fd_, &s) == 0 ? s.st_size : 0;
  }
  std::string text() const {
    std::string all;
    char part[65536];
    for (ssize_t n; (n = pread(fd_, part, sizeof part, static_cast<off_t>(all.size()))) > 0;) all.append(part, static_cast<size_t>(n));
    return all;
  }

 private:
  const int fd_;
};

// Describes an abnormal end. Leaks reported by a sanitizer at exit do not count.
std::string ending_of(const conform::Ended &e, bool returned, double seconds) {
  if (e.timed_out) return "does not return within " + std::to_string(static_cast<int>(seconds)) + " s";
  if (WIFSIGNALED(e.status)) {
    const char *name = sigabbrev_np(WTERMSIG(e.status));
    return "ends the process (signal " + std::to_string(WTERMSIG(e.status)) + (name ? std::string(", SIG") + name : "") + ")";
  }
  if (!returned) return "ends the process (exit status " + std::to_string(WEXITSTATUS(e.status)) + ")";
  return {};
}

constexpr off_t kMostText = off_t{16} << 20;      // a child that writes more has no further step

// One child and the text that it writes.
class Asked {
 public:
  Asked(double seconds, const Body &body, Limit limit)
      : seconds_(seconds), limit_(limit), child_(seconds, [&] {
          const Teller teller(file_.fd());
          body(teller);
          teller.tell({&kReturned, 1});
        }) {}

  // To be called again within 20 ms until it is true.
  bool has_ended() {
    const off_t size = limit_ == Limit::kStep ? file_.size() : 0;
    if (size != size_ && size < kMostText) child_.start_anew();
    size_ = size;
    return child_.has_ended();
  }
  conform::Child *child() { return &child_; }

  // After has_ended().
  Told told() {
    Told t;
    t.text = file_.text();
    t.returned = !t.text.empty() && t.text.back() == kReturned;
    if (t.returned) t.text.pop_back();
    t.timed_out = child_.ended().timed_out;
    t.ending = ending_of(child_.ended(), t.returned, seconds_);
    return t;
  }

 private:
  const double seconds_;
  const Limit limit_;
  const MemoryFile file_;
  off_t size_ = 0;
  conform::Child child_;
};

constexpr size_t kAtOnce = 16;                     // children: most of their time they sleep

}  // namespace

void Teller::tell(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;                            // no memory: the parent notices the missing end
    text.remove_prefix(static_cast<size_t>(n));
  }
}

Told ask_apart(double seconds, const Body &body, Limit limit) {
  return std::move(ask_each_apart(seconds, {body}, limit).front());
}

std::vector<Told> ask_each_apart(double seconds, const std::vector<Body> &bodies, Limit limit) {
  std::vector<Told> all(bodies.size());
  std::vector<std::pair<size_t, std::unique_ptr<Asked>>> now;
  for (size_t next = 0; next < bodies.size() || !now.empty();) {
    for (; next < bodies.size() && now.size() < kAtOnce; ++next)
      now.emplace_back(next, std::make_unique<Asked>(seconds, bodies[next], limit));
    std::erase_if(now, [&](const auto &one) {
      const bool ended = one.second->has_ended();
      if (ended) all[one.first] = one.second->told();
      return ended;
    });
    std::vector<conform::Child *> waiting;
    for (const auto &one : now) waiting.push_back(one.second->child());
    if (!waiting.empty()) conform::Child::wait(waiting);
  }
  return all;
}

}  // namespace tool
