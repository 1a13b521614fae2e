// temporary_file.hpp — a file that is written beside its place and then renamed, so that a reader sees all of it or none.
//
// Its name ends in ".unfinished-XXXXXX", and it is locked (flock) from its creation until it is closed, by the process
// that writes it. A process that is killed leaves its file behind and loses the lock. The next one that creates a
// temporary file in the same folder removes every such file of its own user that it can lock. Files of living processes
// stay, whatever their process id, host or namespace. Where a file system has no locks nothing is removed.
// One thread per object; any number of processes.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

namespace consort::shared {

class TemporaryFile {
 public:
  // path: what it is renamed to.
  explicit TemporaryFile(const std::string &path) : path_(path) {
    const size_t slash = path.rfind('/');
    remove_abandoned(slash == std::string::npos ? "." : path.substr(0, slash + 1));
    for (int i = 0; i < kTries && fd_ < 0; ++i) {
      name_ = path + kMark + "XXXXXX";
      fd_ = ::mkostemp(name_.data(), O_CLOEXEC);
      if (fd_ < 0) {
        error_ = errno;
        return;
      }
      struct stat s {};
      const bool is_taken = ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
      if (!is_taken && ::fstat(fd_, &s) == 0 && s.st_nlink > 0) return;
      ::close(fd_);  // another process took it for abandoned before it was locked
      fd_ = -1, error_ = EAGAIN;
    }
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (fd_ < 0) return;
    if (!name_.empty()) ::unlink(name_.c_str());
    ::close(fd_);
  }

  int error() const noexcept { return fd_ < 0 ? error_ : 0; }
  const std::string &name() const noexcept { return name_; }

  // False: errno says why.
  bool write(std::string_view text) noexcept {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<size_t>(n);
    }
    return true;
  }
  // Returns when the disk has its bytes. False: errno says why.
  bool sync() noexcept { return ::fsync(fd_) == 0; }
  // Gives it its place. False: errno says why. The lock is kept: a close() that reports late errors gets another
  // descriptor.
  bool rename() noexcept {
    const int other = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (other < 0 || ::close(other) != 0 || ::rename(name_.c_str(), path_.c_str()) != 0) return false;
    name_.clear();
    return true;
  }
  // The descriptor of a file that has no name from here on.
  int release_unnamed() noexcept {
    ::unlink(name_.c_str());
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  static constexpr char kMark[] = ".unfinished-";
  static constexpr size_t kMarkBytes = sizeof kMark - 1, kRandom = 6;
  static constexpr int kTries = 100;

  static void remove_abandoned(const std::string &folder) noexcept {
    DIR *const d = ::opendir(folder.c_str());
    if (!d) return;
    while (const dirent *e = ::readdir(d)) {
      const std::string_view name = e->d_name;
      if (name.size() < kMarkBytes + kRandom || name.substr(name.size() - kMarkBytes - kRandom, kMarkBytes) != kMark)
        continue;
      const int fd = ::openat(::dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      if (fd < 0) continue;
      struct stat s {};
      if (::fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == ::geteuid() && ::flock(fd, LOCK_EX | LOCK_NB) == 0)
        ::unlinkat(::dirfd(d), e->d_name, 0);
      ::close(fd);
    }
    ::closedir(d);
  }

  const std::string path_;
  std::string name_;
  int fd_ = -1, error_ = 0;
};

}  // namespace consort::shared
