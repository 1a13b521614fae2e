// replace_malloc.hpp — malloc and its kin of one test program, which fail where the program's allocation_fails() says
// so. One source file of the program includes it. Sanitizers replace malloc themselves: under them it defines nothing.
#pragma once
#include <cerrno>
#include <cstddef>
#include <atomic>

#include <consort/plugin.h>

namespace consort_test {
// Defined by the including file. Any thread may call it; caller: the return address of the allocating call.
bool allocation_fails(const void *caller);

#if CONSORT_SAN
constexpr bool kMallocReplaced = false;
#else
constexpr bool kMallocReplaced = true;
#endif
// Blocks that are allocated and not freed. Relaxed: a count that orders nothing, read where no other thread allocates.
inline std::atomic<long> live_blocks{0};
}  // namespace consort_test

#if !CONSORT_SAN
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}
namespace consort_test {
inline void *counted_block(void *p) {
  if (p) live_blocks.fetch_add(1, std::memory_order_relaxed);
  else errno = ENOMEM;
  return p;
}
inline void *aligned_block(const void *caller, size_t align, size_t n) {
  return counted_block(allocation_fails(caller) ? nullptr : __libc_memalign(align, n));
}
}  // namespace consort_test

extern "C" {
void *malloc(size_t n) {
  return consort_test::counted_block(consort_test::allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(n));
}
void *calloc(size_t n, size_t m) {
  return consort_test::counted_block(consort_test::allocation_fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(n, m));
}
void *realloc(void *old, size_t n) {
  if (consort_test::allocation_fails(__builtin_return_address(0))) return errno = ENOMEM, nullptr;
  void *p = __libc_realloc(old, n);
  if (p && !old) consort_test::live_blocks.fetch_add(1, std::memory_order_relaxed);
  return p;
}
void *memalign(size_t align, size_t n) { return consort_test::aligned_block(__builtin_return_address(0), align, n); }
void *aligned_alloc(size_t align, size_t n) { return consort_test::aligned_block(__builtin_return_address(0), align, n); }
int posix_memalign(void **out, size_t align, size_t n) {
  void *p = consort_test::aligned_block(__builtin_return_address(0), align, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
void free(void *p) {
  if (p) consort_test::live_blocks.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(p);
}
}
#endif
