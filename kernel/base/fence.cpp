#include "base/fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace consort::fence {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool enrol() noexcept {
  const long can = membarrier(MEMBARRIER_CMD_QUERY);
  return can > 0 && (can & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
         membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

bool asymmetric() noexcept {
  static const bool yes = enrol();
  return yes;
}

void heavy() noexcept {
  // The signal fences keep the compiler from moving the caller's store and load across the call.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asymmetric()) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace consort::fence
