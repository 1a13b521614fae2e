#include "storm/faults.hpp"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>

#include <algorithm>
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
std::atomic<uint64_t> counted{0};
Effects seen;

// The dynamic loader's code. It allocates for what this process has not had yet, such as the thread-local memory of a
// thread whose stack is none that was used before: that depends on the cases that ran before, and is not counted.
struct Loader {
  uintptr_t from = getauxval(AT_BASE), to = from;
  Loader() {
    if (!from) return;
    const auto &header = *reinterpret_cast<const ElfW(Ehdr) *>(from);
    const auto *segments = reinterpret_cast<const ElfW(Phdr) *>(from + header.e_phoff);
    for (int i = 0; i < header.e_phnum; ++i)
      if (segments[i].p_type == PT_LOAD) to = std::max(to, from + segments[i].p_vaddr + segments[i].p_memsz);
  }
  bool has(const void *address) const { return reinterpret_cast<uintptr_t>(address) - from < to - from; }
};

[[maybe_unused]] bool fails(const void *caller) {
  if (!mixed::allocations_may_fail) return false;
  static const Loader loader;
  if (loader.has(caller)) return false;
  counted.fetch_add(1, std::memory_order_relaxed);
  if (countdown.load(std::memory_order_relaxed) < 0) return false;
  if (countdown.fetch_sub(1, std::memory_order_relaxed) != 0) return false;
  ++seen.allocation;
  struck.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

void arm_allocation(long nth) { countdown.store(nth, std::memory_order_relaxed); }
void disarm_allocation() { countdown.store(-1, std::memory_order_relaxed); }
uint64_t allocations() { return counted.load(std::memory_order_relaxed); }
const Effects &effects() { return seen; }
void forget_effects() {
  seen = {};
  counted.store(0, std::memory_order_relaxed);
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
  void *p = storm::fails(__builtin_return_address(0)) ? nullptr : std::malloc(n ? n : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void *operator new(size_t n, const std::nothrow_t &) noexcept { return storm::fails(__builtin_return_address(0)) ? nullptr : std::malloc(n ? n : 1); }
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
  if (!storm::fails(__builtin_return_address(0))) return __libc_malloc(n);
  errno = ENOMEM;
  return nullptr;
}
void *calloc(size_t n, size_t m) {
  if (!storm::fails(__builtin_return_address(0))) return __libc_calloc(n, m);
  errno = ENOMEM;
  return nullptr;
}
void *realloc(void *old, size_t n) {
  if (!storm::fails(__builtin_return_address(0))) return __libc_realloc(old, n);
  errno = ENOMEM;
  return nullptr;
}
void *memalign(size_t align, size_t n) {
  if (!storm::fails(__builtin_return_address(0))) return __libc_memalign(align, n);
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
