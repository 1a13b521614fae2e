/* stream.h — the object behind call->native_queue in a function of class "stream": it enqueues more work.
 *
 * For codelets that only enqueue (CONSORT_CL_ASYNC). `fn(arg)` runs on the stream's thread, after the work
 * enqueued before and ahead of the completion of the task. Only from inside the task's function. */
#ifndef CONSORT_TEST_STREAM_H
#define CONSORT_TEST_STREAM_H
#include <consort/driver.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct stream_native stream_native;
struct stream_native {
  void (*enqueue)(stream_native *, void (*fn)(void *arg), void *arg);
};
/* A kernel: text of format "address" is the address of one. */
typedef consort_status stream_kernel(const consort_launch *);
/* Of format "slow": the address of one of these, which is loaded once the test has set `go`; a minute at most. */
typedef struct stream_slow {
  stream_kernel *kernel;
  int32_t begun, go;        /* atomic: by the driver; by the test */
} stream_slow;
/* The parameter "counters" is the address (0x…) of a uint64_t[STREAM_COUNTERS] that the test owns; stores are atomic. */
enum {
  STREAM_SUBMITS,     /* submit() calls that brought something */
  STREAM_OPS,         /* ops accepted */
  STREAM_ROUND_TRIPS, /* submit() calls that found the queue with nothing in flight: the host had to come back */
  STREAM_COMPLETED,   /* ops completed on the device */
  STREAM_IN_FLIGHT,   /* most ops in flight in one queue at a time */
  STREAM_POLLS,
  STREAM_WAITS,       /* tickets that the device waited for */
  STREAM_ARMS,
  STREAM_LOADS,       /* kernels that were to be loaded */
  STREAM_ALLOCS,      /* alloc() calls */
  STREAM_COUNTERS
};
#ifdef __cplusplus
}
#endif
#endif
