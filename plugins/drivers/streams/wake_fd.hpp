// wake_fd.hpp — an event fd that vendors' callbacks ring: it outlives its queue until the last of them has come.
//
// The queue holds it, and so does each callback to come. Any thread.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>

namespace streams {

class Bell {
 public:
  // Null: no file descriptor is to be had.
  static Bell *make() noexcept {
    const int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return nullptr;
    Bell *b = new (std::nothrow) Bell(fd);
    if (!b) ::close(fd);
    return b;
  }
  Bell(const Bell &) = delete;
  Bell &operator=(const Bell &) = delete;

  int fd() const noexcept { return fd_; }
  void ring() const noexcept { eventfd_write(fd_, 1); }
  void hush() const noexcept {
    eventfd_t old;
    eventfd_read(fd_, &old);
  }
  void keep() noexcept { holders_.fetch_add(1, std::memory_order_relaxed); }
  // The last one's acq_rel sees what all others did.
  void drop() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // What a vendor calls back with, having been given a kept bell.
  static void ring_and_drop(void *bell) noexcept {
    static_cast<Bell *>(bell)->ring();
    static_cast<Bell *>(bell)->drop();
  }
  // Callbacks are on their way for what is over: they are let through, unless the device is past answering.
  void wait_for_callbacks(const std::atomic<bool> &lost) const noexcept {
    for (int i = 0; i < 1000 && holders_.load(std::memory_order_acquire) > 1 && !lost.load(std::memory_order_relaxed); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  explicit Bell(int fd) noexcept : fd_(fd) {}
  ~Bell() { ::close(fd_); }
  const int fd_;
  std::atomic<int> holders_{1};  // acq_rel where it falls: the last frees
};

}  // namespace streams
