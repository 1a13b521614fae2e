// plain_file.hpp — the text of a file that something else wrote.
//
// Opening never waits: a pipe without a writer is refused, and so is everything that is no regular file (a device, a
// socket, a folder), and a file of more than `most` bytes. Every driver opens such files here. [any] thread.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace plain_file {

// Is it one? False: `why`, "cannot be read: Permission denied".
inline bool check(int fd, uint64_t most, struct stat *about, std::string *why) {
  if (fd < 0 || ::fstat(fd, about) != 0) return *why = std::string("cannot be read: ") + std::strerror(errno), false;
  if (!S_ISREG(about->st_mode)) return *why = "is not a plain file", false;
  if (static_cast<uint64_t>(about->st_size) > most)
    return *why = "is larger than " + std::to_string(most >> 20) + " MiB: is it the right file?", false;
  return true;
}

class Descriptor {
 public:
  // NONBLOCK: without it the opening of a pipe waits for its writer. NOCTTY: a terminal must not become the process's.
  explicit Descriptor(const std::string &path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  operator int() const noexcept { return fd_; }

 private:
  const int fd_;
};

// For a file that a library opens by its name.
inline bool check(const std::string &path, uint64_t most, std::string *why) {
  const Descriptor file(path);
  struct stat about;
  return check(file, most, &about, why);
}

inline bool read(const std::string &path, uint64_t most, std::string *out, std::string *why) {
  out->clear();
  const Descriptor file(path);
  struct stat about;
  if (!check(file, most, &about, why)) return false;
  out->resize(static_cast<size_t>(about.st_size));
  size_t have = 0;
  while (have < out->size()) {
    const ssize_t n = ::read(file, out->data() + have, out->size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return *why = std::string("cannot be read: ") + std::strerror(errno), false;
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  out->resize(have);
  return true;
}

// For a trace or a report that is written: a pipe without a reader is refused (ENXIO), and so nothing waits for one. < 0: errno.
inline int open_to_write(const std::string &path, int how) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | how, 0666);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// dlopen() of a name from the settings: a pipe is refused, for the loader would wait for its writer.
inline void *open_library(const char *name, int how) noexcept {
  struct stat about;
  const bool pipe = std::strchr(name, '/') && ::stat(name, &about) == 0 && S_ISFIFO(about.st_mode);
  if (!pipe) return ::dlopen(name, how);
  char folder[4096];  // which it is not: dlerror() says so, as for any name that cannot be opened
  std::snprintf(folder, sizeof folder, "%s/", name);
  return ::dlopen(folder, how);
}

}  // namespace plain_file
