#include "faults.hpp"

#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

namespace access_check {
namespace {

constexpr size_t kMost = 64;
std::atomic<Handler *> handlers[kMost];  // release where it is set pairs with the acquire in the handler
std::mutex installing;                   // guards what is below, and changes of the list
size_t count = 0;
bool installed = false;                  // also if another handler was set on top, and calls this one
struct sigaction before;

#if defined(__x86_64__)
// Whether the instruction reads the memory that it writes, for the forms that compilers emit: the fault itself says "write".
bool reads_too(const uint8_t *p) noexcept {
  for (int i = 0; i < 5; ++i, ++p) {
    const uint8_t b = *p;
    if (b == 0xf0) return true;  // lock
    if (b != 0x66 && b != 0x67 && b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 && b != 0x65) break;
  }
  if ((*p & 0xf0) == 0x40) ++p;  // REX
  const uint8_t op = *p, reg = p[1] >> 3 & 7;
  if (op < 0x40 && (op & 7) < 2 && (op & 0x38) != 0x38) return true;   // add, or, adc, sbb, and, sub, xor to memory
  if (op >= 0x80 && op <= 0x83) return reg != 7;                       // the same with a constant; 7: cmp
  if (op == 0xfe || op == 0xff) return reg < 2;                        // inc, dec
  if (op == 0xf6 || op == 0xf7) return reg == 2 || reg == 3;           // not, neg
  if (op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3)) return true;  // shifts
  if (op == 0x86 || op == 0x87) return true;                           // xchg
  if (op == 0x0f) {
    const uint8_t op2 = p[1];
    return op2 == 0xb0 || op2 == 0xb1 || op2 == 0xc0 || op2 == 0xc1 || op2 == 0xab || op2 == 0xb3 || op2 == 0xbb || op2 == 0xba;
  }
  return false;
}
Fault read(const siginfo_t &info, void *context) noexcept {
  const auto &regs = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
  const bool write = regs[REG_ERR] & 2;
  return {reinterpret_cast<uintptr_t>(info.si_addr), write,
          !write || reads_too(reinterpret_cast<const uint8_t *>(regs[REG_RIP]))};
}
#elif defined(__aarch64__)
Fault read(const siginfo_t &info, void *context) noexcept {
  const auto *p = static_cast<ucontext_t *>(context)->uc_mcontext.__reserved;
  bool write = true;
  struct Head { uint32_t magic, size; } head;
  for (size_t at = 0; at + sizeof head <= 4096; at += head.size) {
    std::memcpy(&head, p + at, sizeof head);
    if (!head.magic || !head.size) break;
    if (head.magic == 0x45535201) {  // esr_context
      uint64_t esr;
      std::memcpy(&esr, p + at + sizeof head, sizeof esr);
      write = esr >> 6 & 1;
    }
  }
  return {reinterpret_cast<uintptr_t>(info.si_addr), write, !write};
}
#else
Fault read(const siginfo_t &info, void *) noexcept { return {reinterpret_cast<uintptr_t>(info.si_addr), true, false}; }
#endif

void on_fault(int number, siginfo_t *info, void *context) {
  const int kept = errno;
  if (info->si_code > 0) {  // sent by the system, not by a process
    const Fault fault = read(*info, context);
    for (auto &h : handlers)
      if (Handler *one = h.load(std::memory_order_acquire); one && one->handle(fault)) {
        errno = kept;
        return;
      }
  }
  errno = kept;
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(number);
  sigaction(number, &before, nullptr);  // the instruction faults again, and the system does what it did before
  if (info->si_code <= 0) raise(number);
}

}  // namespace

bool add_handler(Handler &mine) noexcept {
  const std::lock_guard lock(installing);
  for (auto &h : handlers) {
    if (h.load(std::memory_order_relaxed)) continue;
    if (!installed) {
      struct sigaction now = {};
      now.sa_sigaction = on_fault;
      now.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
      sigemptyset(&now.sa_mask);
      if (sigaction(SIGSEGV, &now, &before) != 0) return false;
      installed = true;
    }
    ++count;
    h.store(&mine, std::memory_order_release);
    return true;
  }
  return false;
}

void remove_handler(Handler &mine) noexcept {
  const std::lock_guard lock(installing);
  for (auto &h : handlers)
    if (h.load(std::memory_order_relaxed) == &mine) {
      h.store(nullptr, std::memory_order_release);
      if (--count) return;
      struct sigaction now = {};
      if (sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == on_fault)
        installed = sigaction(SIGSEGV, &before, nullptr) != 0;
    }
}

}  // namespace access_check
