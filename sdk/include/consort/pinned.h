/* consort/pinned.h — pinned host memory, for direct copies to and from devices.
 * The application's side, C11; not included by consort.h; its rules hold. */
#ifndef CONSORT_PINNED_H
#define CONSORT_PINNED_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { /* consort_malloc() */
  CONSORT_MALLOC_ZERO = 1 << 0,     /* filled with zeros; default: undefined contents */
  CONSORT_MALLOC_PINNED = 1 << 1    /* E_UNSUPPORTED if no driver pins memory; without the flag, ordinary memory is allocated then */
};
/* Allocates `bytes` of page-aligned host memory, to be registered like any other. The driver that supports it pins it and announces it
 * to other devices. Slow: for long-lived buffers. Valid until consort_free() or the end of the runtime. Any
 * thread, bodies too. *out is NULL on an error. */
CONSORT_API consort_status consort_malloc(consort_runtime *rt, uint64_t bytes, uint32_t flags, void **out);
/* Frees memory of consort_malloc() of this runtime. No datum may lie in it any more. NULL is allowed; E_INVAL: not such memory. */
CONSORT_API consort_status consort_free(consort_runtime *rt, void *ptr);

/* Pins the application's own memory in place, for each device that copies from the host. *ndevices (may be NULL): the number of devices
 * that accept it; 0 is not an error, copies then use it unpinned. Slow: for long-lived buffers. Valid until consort_unpin(), which must
 * precede freeing the memory, or until the runtime stops. Any thread, bodies too. E_INVAL: part of it is
 * pinned already. */
CONSORT_API consort_status consort_pin(consort_runtime *rt, void *ptr, uint64_t bytes, uint32_t *ndevices);
/* Unpins it. No datum may lie in it any more. NULL is allowed; E_INVAL: no pinned buffer begins there. */
CONSORT_API consort_status consort_unpin(consort_runtime *rt, void *ptr);

#ifdef __cplusplus
}
#endif
#endif
