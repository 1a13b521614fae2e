#include "isolated_run.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

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

}  // namespace

void Teller::tell(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t n = write(fd_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;                            // no memory: the parent notices the missing end
    text.remove_prefix(static_cast<size_t>(n));
  }
}

Told ask_apart(double seconds, const std::function<void(const Teller &)> &body) {
  const MemoryFile file;
  const Teller teller(file.fd());
  const conform::Ended e = conform::run_apart(seconds, [&] {
    body(teller);
    teller.tell({&kReturned, 1});
  });
  Told told;
  told.text = file.text();
  told.returned = !told.text.empty() && told.text.back() == kReturned;
  if (told.returned) told.text.pop_back();
  told.ending = ending_of(e, told.returned, seconds);
  return told;
}

}  // namespace tool
