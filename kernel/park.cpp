#include "park.hpp"

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace consort {

bool Parker::wait(int64_t timeout_ns) noexcept {
  uint32_t seen = kEmpty;
  // acquire pairs with the release in wake(): what the waker did is visible to the woken.
  if (!word_.compare_exchange_strong(seen, kAsleep, std::memory_order_acquire, std::memory_order_acquire)) {
    word_.store(kEmpty, std::memory_order_relaxed);  // a wake was waiting for us
    return true;
  }
  timespec limit{timeout_ns / 1000000000, timeout_ns % 1000000000};
  syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kAsleep, timeout_ns < 0 ? nullptr : &limit, nullptr, 0);
  // EINTR and EAGAIN look like a wake: the caller looks again.
  return word_.exchange(kEmpty, std::memory_order_acquire) == kNotified;
}

void Parker::wake() noexcept {
  if (word_.exchange(kNotified, std::memory_order_acq_rel) == kAsleep)
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void name_this_thread(const char *name) noexcept {
  char text[16] = {};
  std::strncpy(text, name, sizeof text - 1);
  prctl(PR_SET_NAME, text);
}

void sharpen_timers_of_this_thread() noexcept { prctl(PR_SET_TIMERSLACK, 1); }

}  // namespace consort
