// file.hpp — the file behind a space: unnamed, deleted with its last descriptor, grown on demand.
//
// One per device. It has two descriptors: one through the page cache and, if wanted and possible, one for direct I/O. The
// kernel keeps both views consistent as long as direct transfers cover whole pages, which Pieces ensures.
// open(), grow(), zero() may block: [control]. The descriptors may be used by any thread until the file is closed.
#pragma once
#include <consort/shared/temporary_file.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace disk {

constexpr uint64_t kBlock = 4096;  // direct transfers: offset, length and memory address are multiples of it

enum class Direct { kOff, kWherePossible, kOn };

struct Freed {
  void operator()(void *p) const noexcept { std::free(p); }
};
using Buffer = std::unique_ptr<char, Freed>;
inline Buffer buffer(uint64_t bytes) noexcept {  // aligned for direct transfers; empty: no memory
  void *p = nullptr;
  return Buffer(posix_memalign(&p, kBlock, bytes) == 0 ? static_cast<char *>(p) : nullptr);
}

inline std::string text_of(int e) {  // "No space left on device (28)"
  char text[128];
  return std::string(strerror_r(e, text, sizeof text)) + " (" + std::to_string(e) + ")";
}

class File {
 public:
  File() = default;
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (direct_ >= 0) ::close(direct_);
    if (fd_ >= 0) ::close(fd_);
  }

  // False: reason in *why. `notes` gets lines for the log.
  bool open(const std::string &folder, Direct wish, bool preallocate, std::vector<std::string> *notes,
            std::string *why) {
    preallocate_ = preallocate;
    if (const int e = make(folder, wish)) {
      *why = "cannot create a file in " + folder + ": " + text_of(e);
      return false;
    }
    struct statfs fs {};
    if (fstatfs(fd_, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC))
      notes->push_back(folder +
                       " is in memory: data moved there free no memory; set a folder of a disk in `path`");
    if (wish == Direct::kOff) return true;
    const int e = direct_ < 0 ? direct_error_ : try_direct();
    if (e == 0) return true;
    if (direct_ >= 0) ::close(direct_);
    direct_ = -1;
    if (wish == Direct::kOn) {
      *why =
          folder + " does not support direct transfers: " + text_of(e) + "; set direct to auto or off, or set another folder";
      return false;
    }
    notes->push_back(folder + " does not support direct transfers (" + text_of(e) + "): they go through the page cache");
    return true;
  }

  int fd() const noexcept { return fd_; }
  int direct_fd() const noexcept { return direct_; }  // -1: none
  bool preallocates() const noexcept { return preallocate_; }
  uint64_t length() const noexcept { return length_; }

  // Returns 0, or the error of a failed write-back of the page cache after its write() succeeded; then reads may return old
  // contents. The error is permanent. To be called after a read. Does not wait.
  int late_error() noexcept {
    constexpr off64_t kNowhere = off64_t{1} << 50;  // a range without pages: only reads the error state
    if (const int before = late_.load(std::memory_order_relaxed))
      return before;  // relaxed: the value stands for itself
    if (sync_file_range(fd_, kNowhere, 1, SYNC_FILE_RANGE_WAIT_BEFORE) == 0) return 0;
    const int e = errno;
    if (e != EIO && e != ENOSPC && e != EDQUOT) return 0;
    late_.store(e, std::memory_order_relaxed);
    return e;
  }

  // Bytes of the file system available to this user.
  uint64_t room() const noexcept {
    struct statvfs fs {};
    return fstatvfs(fd_, &fs) == 0 ? static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize : 0;
  }
  // Largest file of this process: a write beyond it would raise a fatal signal.
  static uint64_t longest() noexcept {
    struct rlimit most {};
    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY ? most.rlim_cur : UINT64_MAX;
  }

  // Grows the file to `length`, with reserved disk space if the file system supports that. Returns 0, or the error.
  int grow(uint64_t length) noexcept {
    if (length <= length_) return 0;
    if (length > longest()) return EFBIG;
    int e = EOPNOTSUPP;
    if (preallocate_) {
      do e = fallocate(fd_, 0, static_cast<off_t>(length_), static_cast<off_t>(length - length_)) == 0 ? 0 : errno;
      while (e == EINTR);
      if (e == EOPNOTSUPP || e == ENOSYS) preallocate_ = false;
    }
    if (!preallocate_) e = ftruncate(fd_, static_cast<off_t>(length)) == 0 ? 0 : errno;
    if (e == 0)
      length_ = length;
    else if (ftruncate(fd_, static_cast<off_t>(length_)) != 0)
      return e;  // space reserved before the failure is freed
    return e;
  }

  // Reads all of [at, at + bytes), through the page cache. Returns 0, or the error; EIO: the file is shorter.
  int read_all(uint64_t at, char *to, uint64_t bytes) const noexcept {
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = pread(fd_, to + done, bytes - done, static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : EIO;
      done += static_cast<uint64_t>(n);
    }
    return 0;
  }

  // Writes zeros. Returns 0, or the error.
  int zero(uint64_t at, uint64_t bytes) noexcept {
    if (fallocate(fd_, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at), static_cast<off_t>(bytes)) ==
        0)
      return 0;
    constexpr uint64_t kMost = 1 << 18;
    const Buffer nothing = buffer(kMost);
    if (!nothing) return ENOMEM;
    std::memset(nothing.get(), 0, kMost);
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t n = pwrite(fd_, nothing.get(), std::min(bytes - done, kMost), static_cast<off_t>(at + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return n < 0 ? errno : ENOSPC;
      done += static_cast<uint64_t>(n);
    }
    return 0;
  }

 private:
  // Creates the file without a name if the file system supports that, else unlinks it at once.
  int make(const std::string &folder, Direct wish) {
    constexpr int kHow = O_RDWR | O_CLOEXEC;
    fd_ = ::open(folder.c_str(), kHow | O_TMPFILE | O_EXCL, 0600);
    if (fd_ >= 0) {
      if (wish == Direct::kOff) return 0;
      direct_ = ::open(("/proc/self/fd/" + std::to_string(fd_)).c_str(), kHow | O_DIRECT);
      if (direct_ >= 0 || errno == EINVAL) return direct_error_ = EINVAL, 0;
      ::close(fd_), fd_ = -1;  // without /proc the second descriptor needs a name
    } else if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) {
      return errno;
    }
    consort::shared::TemporaryFile named(folder + "/consort-disk");
    if (named.error()) return named.error();
    if (wish != Direct::kOff && (direct_ = ::open(named.name().c_str(), kHow | O_DIRECT)) < 0) direct_error_ = errno;
    fd_ = named.release_unnamed();
    return 0;
  }

  // Tests a transfer, because some file systems accept the flag but refuse transfers. Also disables read-ahead, which might read
  // data that the other descriptor is about to write.
  int try_direct() noexcept {
    posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);
    if (longest() < kBlock) return EFBIG;
    const Buffer block = buffer(kBlock);
    if (!block) return ENOMEM;
    std::memset(block.get(), 0, kBlock);
    ssize_t n = pwrite(direct_, block.get(), kBlock, 0);
    if (n >= 0) n = pread(direct_, block.get(), kBlock, 0);
    const int e = n < 0 ? errno : n == static_cast<ssize_t>(kBlock) ? 0 : EINVAL;
    return ftruncate(fd_, 0) == 0 || e ? e : errno;
  }

  int fd_ = -1, direct_ = -1, direct_error_ = 0;
  bool preallocate_ = true;
  uint64_t length_ = 0;
  std::atomic<int> late_{0};  // relaxed: only an error number
};

}  // namespace disk
