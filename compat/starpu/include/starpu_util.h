/* starpu_util.h: attributes, assertions, atomics and small helpers. */
#ifndef CONSORT_STARPU_UTIL_H
#define CONSORT_STARPU_UTIL_H
#include <assert.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <starpu_config.h>

#define STARPU_GNUC_PREREQ(maj, min) ((__GNUC__ << 16) + __GNUC_MINOR__ >= ((maj) << 16) + (min))
#define STARPU_LIKELY(expr) __builtin_expect(!!(expr), 1)
#define STARPU_UNLIKELY(expr) __builtin_expect(!!(expr), 0)
#define STARPU_INLINE __starpu_inline
#define STARPU_DEPRECATED
#define STARPU_ATTRIBUTE_UNUSED __attribute__((unused))
#define STARPU_ATTRIBUTE_NORETURN __attribute__((noreturn))
#define STARPU_ATTRIBUTE_INTERNAL __attribute__((visibility("internal")))
#define STARPU_ATTRIBUTE_MALLOC __attribute__((malloc))
#define STARPU_ATTRIBUTE_PURE __attribute__((pure))
#define STARPU_ATTRIBUTE_ALIGNED(size) __attribute__((aligned(size)))
#define STARPU_ATTRIBUTE_FORMAT(type, string, first) __attribute__((format(type, string, first)))
#define STARPU_ATTRIBUTE_ALLOC_SIZE(size) __attribute__((alloc_size(size)))
#define STARPU_ATTRIBUTE_CALLOC_SIZE(num, size) __attribute__((alloc_size(num, size)))
#define STARPU_ATTRIBUTE_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define STARPU_WARN_UNUSED_RESULT __attribute__((warn_unused_result))

#define STARPU_BACKTRACE_LENGTH 32
#define STARPU_DUMP_BACKTRACE()                                                                  \
  do {                                                                                           \
    void *starpu_frames_[STARPU_BACKTRACE_LENGTH];                                               \
    backtrace_symbols_fd(starpu_frames_, backtrace(starpu_frames_, STARPU_BACKTRACE_LENGTH), 2); \
  } while (0)
#ifdef STARPU_NO_ASSERT
#define STARPU_ASSERT(x) ((void)sizeof(x))
#define STARPU_ASSERT_MSG(x, ...) ((void)sizeof(x))
#define STARPU_ASSERT_ACCESSIBLE(ptr) ((void)sizeof(ptr))
#else
#define STARPU_ASSERT(x) STARPU_ASSERT_MSG(x, "%s", #x)
#define STARPU_ASSERT_MSG(x, ...)                                 \
  do {                                                            \
    if (STARPU_UNLIKELY(!(x))) {                                  \
      STARPU_DUMP_BACKTRACE();                                    \
      fprintf(stderr, "\n[starpu][%s][assert failure] ", __func__); \
      fprintf(stderr, __VA_ARGS__);                               \
      fputs("\n\n", stderr);                                      \
      abort();                                                    \
    }                                                             \
  } while (0)
#define STARPU_ASSERT_ACCESSIBLE(ptr) ((void)*(volatile const char *)(ptr))
#endif
#define STARPU_ABORT() STARPU_ABORT_MSG("abort")
#define STARPU_ABORT_MSG(...)                                                       \
  do {                                                                              \
    STARPU_DUMP_BACKTRACE();                                                        \
    fprintf(stderr, "[starpu][abort][%s()@%s:%d] ", __func__, __FILE__, __LINE__); \
    fprintf(stderr, __VA_ARGS__);                                                   \
    fputs("\n", stderr);                                                            \
    abort();                                                                        \
  } while (0)
/* Ends the program, with a message that begins with the printf-like arguments, unless err is the expected value. */
#define STARPU_CHECK_RETURN_VALUE(err, ...) STARPU_CHECK_RETURN_VALUE_IS(err, 0, __VA_ARGS__)
#define STARPU_CHECK_RETURN_VALUE_IS(err, value, ...)                                            \
  do {                                                                                           \
    const int starpu_err_ = (int)(err);                                                          \
    if (STARPU_UNLIKELY(starpu_err_ != (int)(value))) {                                          \
      fprintf(stderr, "[starpu] Unexpected value: <%d:%s> returned for ", starpu_err_, strerror(-starpu_err_)); \
      fprintf(stderr, __VA_ARGS__);                                                              \
      STARPU_ABORT_MSG(" ");                                                                     \
    }                                                                                            \
  } while (0)

/* ADD returns the new value; OR, the swaps and the exchange return the old one. */
#define STARPU_ATOMIC_ADD(ptr, value) __atomic_add_fetch(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_ADDL(ptr, value) __atomic_add_fetch(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_ADD64(ptr, value) __atomic_add_fetch(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_OR(ptr, value) __atomic_fetch_or(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_ORL(ptr, value) __atomic_fetch_or(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_ATOMIC_OR64(ptr, value) __atomic_fetch_or(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_BOOL_COMPARE_AND_SWAP(ptr, old, value) __sync_bool_compare_and_swap(ptr, old, value)
#define STARPU_BOOL_COMPARE_AND_SWAP32(ptr, old, value) __sync_bool_compare_and_swap(ptr, old, value)
#define STARPU_BOOL_COMPARE_AND_SWAP64(ptr, old, value) __sync_bool_compare_and_swap(ptr, old, value)
#define STARPU_BOOL_COMPARE_AND_SWAP_PTR(ptr, old, value) __sync_bool_compare_and_swap(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP(ptr, old, value) __sync_val_compare_and_swap(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP32(ptr, old, value) __sync_val_compare_and_swap(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP64(ptr, old, value) __sync_val_compare_and_swap(ptr, old, value)
#define STARPU_VAL_COMPARE_AND_SWAP_PTR(ptr, old, value) __sync_val_compare_and_swap(ptr, old, value)
#define STARPU_VAL_EXCHANGE(ptr, value) __atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_VAL_EXCHANGEL(ptr, value) __atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_VAL_EXCHANGE32(ptr, value) __atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_VAL_EXCHANGE64(ptr, value) __atomic_exchange_n(ptr, value, __ATOMIC_SEQ_CST)
#define STARPU_TEST_AND_SET(ptr, value) __sync_lock_test_and_set(ptr, value)
#define STARPU_RELEASE(ptr) __sync_lock_release(ptr)
#define STARPU_SYNCHRONIZE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define STARPU_RMB() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define STARPU_WMB() __atomic_thread_fence(__ATOMIC_RELEASE)
#define STARPU_CACHELINE_SIZE 64

#endif
