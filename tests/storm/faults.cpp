#include "storm/faults.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "stress/mixed_site.hpp"

namespace storm {
namespace {

// Tests of one runtime after another: relaxed is enough, the counters order nothing.
std::atomic<long> countdown{-1};  // -1: not armed
std::atomic<bool> struck{false};
Effects seen;

[[maybe_unused]] bool fails() {
  if (!mixed::allocations_may_fail || countdown.load(std::memory_order_relaxed) < 0) return false;
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  ++seen.allocation;
  struck.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

void arm_allocation(long nth) { countdown.store(nth, std::memory_order_relaxed); }
void disarm_allocation() { countdown.store(-1, std::memory_order_relaxed); }
const Effects &effects() { return seen; }
void forget_effects() {
  seen = {};
  struck.store(false, std::memory_order_relaxed);
}
bool struck_since_last_asked() { return struck.exchange(false, std::memory_order_relaxed); }

void look_at_text(const char *text) {
  if (std::strstr(text, "as faults = demands")) ++seen.demanded;
}
void log_line(void *, int32_t, const char *text) {
  if (std::strstr(text, "disk fault strikes")) ++seen.disk;
  if (std::strstr(text, "faults = strikes")) ++seen.demanded;
  if (std::strstr(text, "on purpose")) {
    ++seen.plugin;
    struck.store(true, std::memory_order_relaxed);
  }
  if (std::strstr(text, "is lost")) ++seen.lost;
  look_at_text(text);
}

}  // namespace storm

// Sanitizers replace malloc themselves: under them the operators alone are ours.
#if CONSORT_SAN
void *operator new(size_t n) {
  void *p = storm::fails() ? nullptr : std::malloc(n ? n : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void *operator new(size_t n, const std::nothrow_t &) noexcept { return storm::fails() ? nullptr : std::malloc(n ? n : 1); }
void *operator new[](size_t n) { return operator new(n); }
void *operator new[](size_t n, const std::nothrow_t &t) noexcept { return operator new(n, t); }
void operator delete(void *p) noexcept { std::free(p); }
void operator delete(void *p, size_t) noexcept { std::free(p); }
void operator delete[](void *p) noexcept { std::free(p); }
void operator delete[](void *p, size_t) noexcept { std::free(p); }
#else
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) {
  if (!storm::fails()) return __libc_malloc(n);
  errno = ENOMEM;
  return nullptr;
}
void *calloc(size_t n, size_t m) {
  if (!storm::fails()) return __libc_calloc(n, m);
  errno = ENOMEM;
  return nullptr;
}
void *realloc(void *old, size_t n) {
  if (!storm::fails()) return __libc_realloc(old, n);
  errno = ENOMEM;
  return nullptr;
}
void *memalign(size_t align, size_t n) {
  if (!storm::fails()) return __libc_memalign(align, n);
  errno = ENOMEM;
  return nullptr;
}
void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }
int posix_memalign(void **out, size_t align, size_t n) {
  void *p = memalign(align, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
}
#endif
