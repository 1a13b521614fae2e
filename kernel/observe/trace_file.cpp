#include "observe/trace_file.hpp"

#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>

namespace consort {
namespace {

namespace format = shared::trace_format;

bool is_plain(int fd) noexcept {
  struct stat about;
  return fd < 0 || (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode));
}

// While it lives, a pipe without a reader is an error of this thread's writes, and no signal.
class NoPipeSignal {
 public:
  explicit NoPipeSignal(bool needed) noexcept : needed_(needed) {
    if (!needed_) return;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    needed_ = !sigismember(&pending, SIGPIPE) && pthread_sigmask(SIG_BLOCK, &pipe_, &before_) == 0;
  }
  ~NoPipeSignal() {
    if (!needed_) return;
    const timespec now{};
    while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  bool needed_;
  sigset_t pipe_, before_;
};

}  // namespace

TraceFile::TraceFile(int fd) : fd_(fd), plain_(is_plain(fd)) {}

TraceFile::~TraceFile() {
  if (fd_ >= 0) ::close(fd_);
}

void TraceFile::write(iovec *pieces, int n) noexcept {
  if (failed_) return;
  if (fd_ < 0) {
    try {
      for (int i = 0; i < n; ++i) memory_.append(static_cast<const char *>(pieces[i].iov_base), pieces[i].iov_len);
    } catch (const std::bad_alloc &) {
      failed_ = ENOMEM;
    }
    return;
  }
  const NoPipeSignal quiet(!plain_);
  while (n) {
    const ssize_t done = ::writev(fd_, pieces, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      failed_ = done < 0 ? errno : EIO;
      return;
    }
    auto left = static_cast<size_t>(done);
    for (; n && left >= pieces->iov_len; ++pieces, --n) left -= pieces->iov_len;
    if (n) pieces->iov_base = static_cast<char *>(pieces->iov_base) + left, pieces->iov_len -= left;
  }
}

void TraceFile::chunk(uint32_t kind, uint32_t thread, const char *payload, uint64_t bytes, std::string_view padding) noexcept {
  format::Chunk head{format::kMark, kind, static_cast<uint32_t>(bytes + padding.size()), thread};
  iovec pieces[] = {{&head, sizeof head}, {const_cast<char *>(payload), bytes}, {const_cast<char *>(padding.data()), padding.size()}};
  write(pieces, padding.empty() ? bytes ? 2 : 1 : 3);
}

void TraceFile::begin() noexcept {
  iovec first{const_cast<char *>(format::kFirstLine.data()), format::kFirstLine.size()};
  write(&first, 1);
  lines(format::kLayouts);
}

void TraceFile::lines(std::string_view text) noexcept {
  constexpr size_t kMost = 1 << 20;                  // a piece ends with a line if it can
  while (!text.empty()) {
    size_t n = text.size();
    if (n > kMost) n = text.rfind('\n', kMost) + 1 ? text.rfind('\n', kMost) + 1 : n;
    chunk(format::kLines, 0, text.data(), n, std::string_view("\n\n\n\n\n\n\n").substr(0, -n % 8));
    text.remove_prefix(n);
  }
}

void TraceFile::events(uint32_t thread, const char *records, uint64_t bytes) noexcept {
  chunk(format::kEvents, thread, records, bytes);    // a ring has less than 4 GiB
}

void TraceFile::point(TickClock::Point p) noexcept {
  const uint64_t pair[] = {p.ticks, p.ns};
  chunk(format::kClock, 0, reinterpret_cast<const char *>(pair), sizeof pair);
}

void TraceFile::reset() noexcept { chunk(format::kReset, 0, nullptr, 0); }

void TraceFile::end(uint64_t lost) noexcept { chunk(format::kEnd, 0, reinterpret_cast<const char *>(&lost), sizeof lost); }

}  // namespace consort
