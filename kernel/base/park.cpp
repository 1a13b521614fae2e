#include "base/park.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace consort {

bool Parker::wait(int64_t timeout_ns) noexcept {
  uint32_t seen = kEmpty;
  // acquire pairs with the release in wake(): the woken thread sees the waker's stores. release: pairs with asleep().
  if (!word_.compare_exchange_strong(seen, kAsleep, std::memory_order_acq_rel, std::memory_order_acquire)) {
    // A wake was pending; another may arrive now. An exchange, not a store: it either acquires the second waker's
    // stores as well, or comes before that wake. A store would wait in this core's store buffer and overwrite the
    // second wake after the caller has checked.
    word_.exchange(kEmpty, std::memory_order_acquire);
    return true;
  }
  timespec limit{timeout_ns / 1000000000, timeout_ns % 1000000000};
  syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kAsleep, timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
  // EINTR and EAGAIN count as a wake: the caller checks again.
  return word_.exchange(kEmpty, std::memory_order_acquire) == kNotified;
}

void Parker::wait_or_readable(int fd, int64_t timeout_ns) noexcept {
  if (own_fd_ < 0 && (own_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
    wait(100'000);
    return;
  }
  uint32_t seen = kEmpty;
  // release: a waker that sees kPolling sees own_fd_. acquire as in wait().
  if (word_.compare_exchange_strong(seen, kPolling, std::memory_order_acq_rel, std::memory_order_acquire)) {
    pollfd fds[] = {{fd, POLLIN, 0}, {own_fd_, POLLIN, 0}};
    const timespec limit{timeout_ns / 1000000000, timeout_ns % 1000000000};
    ppoll(fds, 2, timeout_ns < 0 ? nullptr : &limit, nullptr);
  }
  word_.exchange(kEmpty, std::memory_order_acquire);
  uint64_t drained;
  if (read(own_fd_, &drained, sizeof drained) < 0) return;  // no wake was written
}

void Parker::wake() noexcept {
  const uint32_t before = word_.exchange(kNotified, std::memory_order_acq_rel);
  if (before == kAsleep) syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  const uint64_t one = 1;
  if (before == kPolling && write(own_fd_, &one, sizeof one) < 0) return;  // the counter is full: the descriptor is readable
}

Parker::~Parker() {
  if (own_fd_ >= 0) close(own_fd_);
}

void name_this_thread(const char *name) noexcept {
  char text[16] = {};
  std::strncpy(text, name, sizeof text - 1);
  prctl(PR_SET_NAME, text);
}

void sharpen_timers_of_this_thread() noexcept { prctl(PR_SET_TIMERSLACK, 1); }

}  // namespace consort
