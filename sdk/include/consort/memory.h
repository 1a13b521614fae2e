/* consort/memory.h — placement of data in the memory spaces of the machine, and hints about it.
 * The application's side, C11; not included by consort.h; its rules hold.
 *
 * All calls are optional: the runtime copies data to where tasks run, and evicts others. A request of this header is ordered like a
 * task that uses the datum: after earlier submissions and before later ones. Requests do not wait, are allowed in bodies and callbacks,
 * and are not part of recordings. Spaces are numbered as in consort_get_space(). */
#ifndef CONSORT_MEMORY_H
#define CONSORT_MEMORY_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- homes --------------------------------------------------------------------------------------------- */

/* As consort_register(), for application memory in a space other than the host's: the addresses in desc->args are those of the
 * space's driver (a cl_mem of the driver's own context, a device pointer). Nothing is copied: tasks in that space use the memory in
 * place, and it holds the contents again after unregistering. Meanwhile the runtime uses the memory, never frees it, and does not count
 * it. Acquiring returns a copy in host memory. Pending operations of the application on that memory must have ended. Plans divide
 * it as any other datum (docs/memory.md). For a space of host memory it equals consort_register(). */
CONSORT_API consort_status consort_register_in(consort_runtime *rt, const consort_data_desc *desc, uint32_t space, consort_data_id *out);

/* -- ahead of time ------------------------------------------------------------------------------------ */

typedef struct consort_prefetch_id { uint64_t v; } consort_prefetch_id;
CONSORT_FROZEN(consort_prefetch_id, 8);

enum { /* consort_prefetch() */
  CONSORT_PREFETCH_ROOM = 1 << 0   /* allocates memory there without copying contents, for a task that overwrites them */
};
/* Prefetch request: copies `data` to `space` after earlier submitted tasks on it have ended, when no link traffic for waiting tasks is
 * pending; requests of higher priority first. It uses free memory, or memory of data named by consort_wont_use(). It evicts no other
 * data; without free memory it waits. It ends when the contents are valid there, or when a task writes them elsewhere or the datum ends.
 * out may be NULL. E_UNSUPPORTED: no driver moves bytes there. */
CONSORT_API consort_status consort_prefetch(consort_runtime *rt, consort_data_id data, uint32_t space, int32_t priority, uint32_t flags,
                                            consort_prefetch_id *out);
/* OK: cancelled. AGAIN: too late, it is in progress or over. E_INVAL: no request of this runtime. */
CONSORT_API consort_status consort_prefetch_cancel(consort_runtime *rt, consort_prefetch_id wish);

/* -- eviction ----------------------------------------------------------------------------------------- */

/* Hint that no task will use the datum for long: its replicas are evicted first, and an only valid replica is copied home
 * ahead of time. A later use cancels the hint. */
CONSORT_API consort_status consort_wont_use(consort_runtime *rt, consort_data_id data);
/* Evicts the datum from this space: drops a copy that is valid elsewhere too, first saves an only valid copy to another space. The copy
 * stays if no other space has memory for it, or if a later task uses it already. E_INVAL for the application's own memory. */
CONSORT_API consort_status consort_evict(consort_runtime *rt, consort_data_id data, uint32_t space);

/* -- write-through ------------------------------------------------------------------------------------- */

/* After each write of the datum by a task, in any space, the contents are copied to each of these spaces (bit s: space s), as by
 * consort_prefetch(). Replicas there are evicted only if no others can be. 0: none (default). */
CONSORT_API consort_status consort_data_set_write_through(consort_runtime *rt, consort_data_id data, uint64_t spaces);

/* -- inspection ---------------------------------------------------------------------------------------- */

enum { /* bits of consort_data_in() */
  CONSORT_IN_ROOM = 1 << 0,        /* memory is allocated there */
  CONSORT_IN_VALID = 1 << 1,       /* and holds the contents: a task there needs no copy */
  CONSORT_IN_COMING = 1 << 2       /* a copy to this space is in progress */
};
/* Writes a snapshot of the replica's state to *bits; it may change at once. */
CONSORT_API consort_status consort_data_in(consort_runtime *rt, consort_data_id data, uint32_t space, uint32_t *bits);

/* Counts since the start. Memory that the application registered belongs to the application and is not counted. */
typedef struct consort_space_use {
  uint32_t size, space;
  uint64_t limit;                  /* bytes that may be used; UINT64_MAX: all of the driver's */
  uint64_t used, spare;            /* bytes in use; bytes cached for later allocations */
  uint64_t evictions, saves;       /* replicas evicted, by need or by consort_evict(); evictions that first copied the contents elsewhere */
  uint64_t saved_bytes;
  uint64_t needed_evictions;       /* evictions of data granted to a task: other than 0 is a fault of the runtime */
  uint32_t waiting, wishes;        /* now: tasks and prefetches that wait for memory */
} consort_space_use;
#define CONSORT_SPACE_USE_INIT {sizeof(consort_space_use), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* Fills *out for one space. The caller sets out->size. E_INVAL: no such space. */
CONSORT_API consort_status consort_get_space_use(consort_runtime *rt, uint32_t space, consort_space_use *out);

typedef struct consort_link_use {
  uint32_t size, flags;
  uint64_t copies, bytes, failed;  /* completed copies of whole data, their bytes, failed copies */
} consort_link_use;
#define CONSORT_LINK_USE_INIT {sizeof(consort_link_use), 0, 0, 0, 0}
/* Fills *out for the direct link. AGAIN: there is no direct link. */
CONSORT_API consort_status consort_get_link_use(consort_runtime *rt, uint32_t from, uint32_t to, consort_link_use *out);

#ifdef __cplusplus
}
#endif
#endif
