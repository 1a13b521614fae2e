// plain_file.hpp — files that something else wrote, and files that something else reads.
//
// Opening never waits: a pipe without a writer is refused, and so is everything that is no regular file (a device, a
// socket, a folder), and a file of more than `most` bytes. Every reader of outside files in the kernel, in the plugins and
// in the command opens them here. [any] thread.
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace consort::shared {

class PlainFile {
 public:
  static constexpr uint64_t kAnySize = UINT64_MAX;

  PlainFile(const char *path, uint64_t most) {
    why_.reserve(64);  // before the file is opened: where there is no memory, nothing stays open
    // NONBLOCK: without it the opening of a pipe waits for its writer. NOCTTY: a terminal must not become the process's.
    fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    judge(fd_, most);
  }
  PlainFile(const std::string &path, uint64_t most) : PlainFile(path.c_str(), most) {}
  ~PlainFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  PlainFile(const PlainFile &) = delete;
  PlainFile &operator=(const PlainFile &) = delete;

  explicit operator bool() const noexcept { return fd_ >= 0; }
  bool absent() const noexcept { return absent_; }           // there is no file of this name
  const std::string &why() const noexcept { return why_; }   // "cannot be read: Permission denied"
  int fd() const noexcept { return fd_; }
  uint64_t bytes() const noexcept { return bytes_; }         // when it was opened

  // bytes() at most; the file may have become shorter. False: *why.
  bool read(std::string *out, std::string *why) const {
    out->assign(bytes_, '\0');
    size_t have = 0;
    while (have < out->size()) {
      const ssize_t n = ::read(fd_, out->data() + have, out->size() - have);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return *why = std::string("cannot be read: ") + std::strerror(errno), out->clear(), false;
      if (n == 0) break;
      have += static_cast<size_t>(n);
    }
    out->resize(have);
    return true;
  }

 private:
  void judge(int fd, uint64_t most) {
    constexpr uint64_t kMiB = 1 << 20;
    struct stat about;
    if (fd < 0 || ::fstat(fd, &about) != 0) {
      absent_ = errno == ENOENT || errno == ENOTDIR;
      return refuse(std::string("cannot be read: ") + std::strerror(errno));
    }
    bytes_ = static_cast<uint64_t>(about.st_size);
    if (!S_ISREG(about.st_mode)) refuse("is not a plain file");
    else if (bytes_ > most)
      refuse("is larger than " + (most >= kMiB ? std::to_string(most / kMiB) + " MiB" : std::to_string(most) + " bytes") +
             ": is it the right file?");
  }
  void refuse(std::string why) noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    why_ = std::move(why);
  }

  int fd_ = -1;
  bool absent_ = false;
  uint64_t bytes_ = 0;
  std::string why_;
};

// All of it. False: `why` without the path.
inline bool read_file(const std::string &path, uint64_t most, std::string *out, std::string *why) {
  out->clear();
  const PlainFile file(path, most);
  return file ? file.read(out, why) : (*why = file.why(), false);
}

// For a trace or a report that is written: a pipe without a reader is refused (ENXIO), and so nothing waits for one. < 0: errno.
inline int open_to_write(const std::string &path, int how) noexcept {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | how, 0666);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// The name of a library, from the settings, for dlopen() or dlmopen(): the loader would wait for the writer of a pipe, and
// for what is typed at a terminal. Such a name gets a slash at its end, so that the loader refuses it as it refuses a folder.
class LibraryName {
 public:
  explicit LibraryName(const char *name) noexcept : name_(name) {
    struct stat about;
    if (!std::strchr(name, '/') || ::stat(name, &about) != 0 || S_ISREG(about.st_mode)) return;
    std::snprintf(folder_, sizeof folder_, "%s/", name);
    name_ = folder_;
  }
  LibraryName(const LibraryName &) = delete;
  LibraryName &operator=(const LibraryName &) = delete;
  operator const char *() const noexcept { return name_; }

 private:
  const char *name_;
  char folder_[4096];
};

}  // namespace consort::shared
