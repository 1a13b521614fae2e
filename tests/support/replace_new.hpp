// replace_new.hpp — operator new of one test program, which fails where the program's allocation_fails() says so. One
// source file of the program includes it. Plugins that the program loads use it, too; sanitizers allow it.
#pragma once
#include <cstdlib>
#include <new>

// Defined by the including file. Any thread may call it; caller: the return address of the allocating call.
namespace consort_test {
bool allocation_fails(const void *caller);
}

// The compiler sees free() inlined beside this operator new and takes the pair for a mistake.
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
[[gnu::noinline]] void *operator new(size_t n) {
  if (!consort_test::allocation_fails(__builtin_return_address(0)))
    if (void *p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void *operator new(size_t n, const std::nothrow_t &) noexcept {
  return consort_test::allocation_fails(__builtin_return_address(0)) ? nullptr : std::malloc(n ? n : 1);
}
[[gnu::noinline]] void operator delete(void *p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void *p, const std::nothrow_t &) noexcept { std::free(p); }
