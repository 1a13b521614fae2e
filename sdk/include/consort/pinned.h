/* consort/pinned.h — host memory that devices copy to and from without a stop in between.
 * The application's side, C11; for whoever includes it: consort.h does not. consort.h's rules hold. */
#ifndef CONSORT_PINNED_H
#define CONSORT_PINNED_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { /* consort_malloc() */
  CONSORT_MALLOC_ZERO = 1 << 0,     /* filled with zeros; else whatever was there */
  CONSORT_MALLOC_PINNED = 1 << 1    /* E_UNSUPPORTED where no driver pins memory; without it ordinary memory is given there */
};
/* `bytes` of the host's memory, which begin at a page, to be registered like any other. Pinned by the driver that offers it, and shown
 * to the other devices. It is slow: for buffers that live long. Good until consort_free(), at the latest until the runtime stops. Any
 * thread, bodies too. *out is NULL on an error. */
CONSORT_API consort_status consort_malloc(consort_runtime *rt, uint64_t bytes, uint32_t flags, void **out);
/* What consort_malloc() of this runtime gave, when no datum lies in it any more. NULL is fine; E_INVAL: it is none of those. */
CONSORT_API consort_status consort_free(consort_runtime *rt, void *ptr);

/* The application's own memory, made ready for copies where it lies: shown to each device that copies from the host. *ndevices (may be
 * NULL): how many took it; none is no error, the memory is used as it is. It is slow: for buffers that live long. Good until
 * consort_unpin(), which comes before the memory goes, or until the runtime stops. Any thread, bodies too. E_INVAL: some of it is
 * pinned already. */
CONSORT_API consort_status consort_pin(consort_runtime *rt, void *ptr, uint64_t bytes, uint32_t *ndevices);
/* When no datum lies in it any more. NULL is fine; E_INVAL: no pinned buffer begins there. */
CONSORT_API consort_status consort_unpin(consort_runtime *rt, void *ptr);

#ifdef __cplusplus
}
#endif
#endif
