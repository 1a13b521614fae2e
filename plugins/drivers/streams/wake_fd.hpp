// wake_fd.hpp — a reference-counted event fd, signalled by callbacks of a vendor's library.
//
// The queue and each pending callback hold a reference, so it outlives the queue until the last callback. Any thread.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace streams {

class WakeFd {
 public:
  // Null: no file descriptor is available.
  static WakeFd *create() noexcept {
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return nullptr;
    WakeFd *b = new (std::nothrow) WakeFd(fd);
    if (!b) ::close(fd);
    return b;
  }
  WakeFd(const WakeFd &) = delete;
  WakeFd &operator=(const WakeFd &) = delete;

  int fd() const noexcept { return fd_; }
  void signal() const noexcept { eventfd_write(fd_, 1); }
  void clear() const noexcept {
    eventfd_t old;
    eventfd_read(fd_, &old);
  }
  void add_ref() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  // The acq_rel of the last release sees the writes of all other holders.
  void release() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // Callback for a vendor's library; wake: a WakeFd with a reference for the callback.
  static void signal_and_release(void *wake) noexcept {
    static_cast<WakeFd *>(wake)->signal();
    static_cast<WakeFd *>(wake)->release();
  }
  // Waits for outstanding callbacks of completed ops, unless the device is lost and may never call.
  void wait_for_callbacks(const std::atomic<bool> &lost) const noexcept {
    for (int i = 0; i < 1000 && holders_.load(std::memory_order_acquire) > 1 && !lost.load(std::memory_order_relaxed); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  explicit WakeFd(int fd) noexcept : fd_(fd) {}
  ~WakeFd() { ::close(fd_); }
  const int fd_;
  std::atomic<int> holders_{1};  // decrement is acq_rel: the last holder frees
};

}  // namespace streams
