// disk_faults.hpp — doubles of the system's calls by which files are made, read and written. They fail on demand, and
// only for files without a name: in a test only the driver has such files. A test's program exports them, so a plugin
// that it loads calls these; the product knows nothing of them. Included by one file of a program.
#pragma once
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

namespace faults {

enum Place : int { kWrite, kRead, kReserve, kLate, kUnnamed, kRing, kRegister, kPlaces };
// error > 0: it fails so; kHalf: half of it is done; kNothing: none of it, without an error.
constexpr int kHalf = -1, kNothing = -2;
struct Plan {
  std::atomic<int> error{0}, after{0},
      times{0};  // plain numbers: a test sets them while nothing runs, or waits for them
  std::atomic<int> every{1};  // one in so many of the matching calls
  std::atomic<int> seen{0}, struck{0};
};
inline Plan plans[kPlaces];

inline void demand(Place p, int error, int times = 1, int after = 0, int every = 1) {
  plans[p].every = every, plans[p].seen = 0, plans[p].after = after, plans[p].struck = 0, plans[p].times = times, plans[p].error = error;
}
inline void none() {
  for (Plan &p : plans) p.times = 0, p.error = 0;
}
inline int strikes(Place place) {
  Plan &p = plans[place];
  const int e = p.error;
  if (!e || p.times <= 0) return 0;
  if (p.after.fetch_sub(1) > 0) return 0;
  if (p.seen.fetch_add(1) % p.every != p.every - 1) return 0;
  if (p.times.fetch_sub(1) <= 0) return 0;
  ++p.struck;
  return e;
}
inline bool is_nameless(int fd) {
  struct stat s {};
  return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_nlink == 0;
}
template <class F>
F *real(const char *name) {
  return reinterpret_cast<F *>(dlsym(RTLD_NEXT, name));
}

}  // namespace faults

extern "C" {

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) {
  static auto *const next = faults::real<ssize_t(int, const void *, size_t, off_t)>("pwrite");
  const int e = n && faults::is_nameless(fd) ? faults::strikes(faults::kWrite) : 0;
  if (e == faults::kNothing) return 0;
  if (e > 0) return errno = e, -1;
  return next(fd, data, e == faults::kHalf && n > 1 ? n / 2 : n, at);
}

ssize_t pread(int fd, void *data, size_t n, off_t at) {
  static auto *const next = faults::real<ssize_t(int, void *, size_t, off_t)>("pread");
  const int e = n && faults::is_nameless(fd) ? faults::strikes(faults::kRead) : 0;
  if (e == faults::kNothing) return 0;
  if (e > 0) return errno = e, -1;
  const size_t some = e == faults::kHalf && n > 1 ? n / 2 : n;
  // A direct read of half a block has no meaning to the system: all of it, and half of that is told.
  const ssize_t got = next(fd, data, n, at);
  return got > static_cast<ssize_t>(some) ? static_cast<ssize_t>(some) : got;
}

int fallocate(int fd, int mode, off_t at, off_t n) {
  static auto *const next = faults::real<int(int, int, off_t, off_t)>("fallocate");
  if (const int e = faults::strikes(faults::kReserve); e > 0) return errno = e, -1;
  return next(fd, mode, at, n);
}

int sync_file_range(int fd, off64_t at, off64_t n, unsigned flags) {
  static auto *const next = faults::real<int(int, off64_t, off64_t, unsigned)>("sync_file_range");
  if (const int e = faults::strikes(faults::kLate); e > 0) return errno = e, -1;
  return next(fd, at, n, flags);
}

int open(const char *path, int flags, ...) {
  static auto *const next = faults::real<int(const char *, int, ...)>("open");
  mode_t mode = 0;
  if (flags & (O_CREAT | __O_TMPFILE)) {
    __builtin_va_list list;
    __builtin_va_start(list, flags);
    mode = __builtin_va_arg(list, mode_t);
    __builtin_va_end(list);
  }
  if ((flags & O_TMPFILE) == O_TMPFILE)
    if (const int e = faults::strikes(faults::kUnnamed); e > 0) return errno = e, -1;
  return next(path, flags, mode);
}

}  // extern "C"

#if __has_include(<liburing.h>)
#include <liburing.h>

#include <map>
#include <mutex>

// io_uring's: a result is changed before the driver looks at it.
namespace faults {
template <class F>
F *of_liburing(const char *name) {  // no library of this program: the driver's
  return reinterpret_cast<F *>(dlsym(dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL), name));
}
struct Ways {  // transfers in flight, and their direction: the result alone does not say
  std::mutex mutex;
  std::map<uint64_t, bool> is_write;
};
inline Ways ways;
}  // namespace faults

extern "C" {

int io_uring_submit(io_uring *ring) {
  static auto *const next = faults::of_liburing<int(io_uring *)>("io_uring_submit");
  {
    const std::lock_guard lock(faults::ways.mutex);
    for (unsigned i = ring->sq.sqe_head; i != ring->sq.sqe_tail; ++i) {
      const io_uring_sqe &e = ring->sq.sqes[i & *ring->sq.kring_mask];
      faults::ways.is_write[e.user_data] = e.opcode == IORING_OP_WRITE || e.opcode == IORING_OP_WRITE_FIXED;
    }
  }
  return next(ring);
}

unsigned io_uring_peek_batch_cqe(io_uring *ring, io_uring_cqe **list, unsigned most) {
  static auto *const next =
      faults::of_liburing<unsigned(io_uring *, io_uring_cqe **, unsigned)>("io_uring_peek_batch_cqe");
  const unsigned n = next(ring, list, most);
  for (unsigned i = 0; i < n; ++i) {
    bool write;
    {
      const std::lock_guard lock(faults::ways.mutex);
      write = faults::ways.is_write[list[i]->user_data];
    }
    const int e = faults::strikes(write ? faults::kWrite : faults::kRead);
    if (e == faults::kNothing)
      list[i]->res = 0;
    else if (e == faults::kHalf)
      list[i]->res = list[i]->res > 1 ? list[i]->res / 2 : list[i]->res;
    else if (e)
      list[i]->res = -e;
  }
  return n;
}

int io_uring_queue_init_params(unsigned entries, io_uring *ring, io_uring_params *p) {
  static auto *const next =
      faults::of_liburing<int(unsigned, io_uring *, io_uring_params *)>("io_uring_queue_init_params");
  if (const int e = faults::strikes(faults::kRing); e > 0) return -e;
  return next(entries, ring, p);
}

int io_uring_register_buffers(io_uring *ring, const iovec *list, unsigned n) {
  static auto *const next = faults::of_liburing<int(io_uring *, const iovec *, unsigned)>("io_uring_register_buffers");
  if (const int e = faults::strikes(faults::kRegister); e > 0) return -e;
  return next(ring, list, n);
}

}  // extern "C"
#endif
