/* consort/memory.h — where data are in the memories of the machine, and where they had better be.
 * The application's side, C11; for whoever includes it: consort.h does not. consort.h's rules hold.
 *
 * Nobody has to call any of this: data are brought to where tasks run, and make room for others. What is asked for here
 * takes its turn among the tasks, as a task that uses the datum: what was submitted before comes before, what is submitted
 * later comes after. It waits for nothing, is fine in bodies and callbacks, and stands in no recording. Spaces are numbered as by
 * consort_get_space(). */
#ifndef CONSORT_MEMORY_H
#define CONSORT_MEMORY_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* -- homes --------------------------------------------------------------------------------------------- */

/* As consort_register(), of memory that the application has in another space than the host's: the addresses in desc->args are those
 * by which the space's driver knows it (a cl_mem of the driver's own context, a device pointer). Nothing is copied: its contents are
 * there now, tasks there use them in place, and they are there again when it has been unregistered; meanwhile the memory is
 * the runtime's to use, never to free, and in no count. Acquiring shows a copy in the host's memory. What the application has under
 * way on that memory has ended before. Plans divide it as any other datum (docs/memory.md). In a space of the host's own memory it is
 * consort_register(). */
CONSORT_API consort_status consort_register_in(consort_runtime *rt, const consort_data_desc *desc, uint32_t space, consort_data_id *out);

/* -- ahead of time ------------------------------------------------------------------------------------ */

typedef struct consort_prefetch_id { uint64_t v; } consort_prefetch_id;
CONSORT_FROZEN(consort_prefetch_id, 8);

enum { /* consort_prefetch() */
  CONSORT_PREFETCH_ROOM = 1 << 0   /* only memory for it there, for a task that will write it whole: no contents are brought */
};
/* A wish: `data` is brought to `space` once what was submitted before on it has ended, when links have nothing more urgent to do
 * (tasks that wait), the wish of highest priority first. It takes memory that nobody uses, or that of data which consort_wont_use()
 * named: nothing else makes room for it, and it waits until there is some. It ends when the contents are there, or when
 * somebody writes them elsewhere or ends the datum before. out may be NULL. E_UNSUPPORTED: no driver moves bytes there. */
CONSORT_API consort_status consort_prefetch(consort_runtime *rt, consort_data_id data, uint32_t space, int32_t priority, uint32_t flags,
                                            consort_prefetch_id *out);
/* OK: it will not be. AGAIN: too late, it is under way or over. E_INVAL: no wish of this runtime. */
CONSORT_API consort_status consort_prefetch_cancel(consort_runtime *rt, consort_prefetch_id wish);

/* -- giving back -------------------------------------------------------------------------------------- */

/* Nobody will use it for long: its replicas are the first to go when room is wanted, and the only valid one is copied home
 * meanwhile. A use after that takes the word back. */
CONSORT_API consort_status consort_wont_use(consort_runtime *rt, consort_data_id data);
/* Out of this space: a copy that is valid elsewhere too is dropped, the only valid one saved to another space first. Where no other space
 * has room for it, or who was submitted later uses it already, it stays. E_INVAL for the application's own memory. */
CONSORT_API consort_status consort_evict(consort_runtime *rt, consort_data_id data, uint32_t space);

/* -- write-through ------------------------------------------------------------------------------------- */

/* Whenever a task has written the datum, wherever that was, the contents are copied to each of these spaces (bit s: space s), as by
 * consort_prefetch(). Replicas there make room only when no others can just then. 0: no more, as at first. */
CONSORT_API consort_status consort_data_set_write_through(consort_runtime *rt, consort_data_id data, uint64_t spaces);

/* -- looking ------------------------------------------------------------------------------------------- */

enum { /* bits of consort_data_in() */
  CONSORT_IN_ROOM = 1 << 0,        /* it has memory there */
  CONSORT_IN_VALID = 1 << 1,       /* and its contents are in it: a task there need not wait for a copy */
  CONSORT_IN_COMING = 1 << 2       /* contents are on their way there */
};
/* A glance: true when it was looked at, and maybe not any more. */
CONSORT_API consort_status consort_data_in(consort_runtime *rt, consort_data_id data, uint32_t space, uint32_t *bits);

/* Counts since the start. Memory that the application registered is none of the runtime's, and is in no count. */
typedef struct consort_space_use {
  uint32_t size, space;
  uint64_t limit;                  /* bytes that may be used; UINT64_MAX: as many as the driver has */
  uint64_t used, spare;            /* bytes taken now; freed, and kept for the next */
  uint64_t evictions, saves;       /* replicas dropped to make room or by consort_evict(); those that were copied elsewhere first */
  uint64_t saved_bytes;
  uint64_t needed_evictions;       /* of what a task that had been granted its data needed: 0, or the runtime has a fault */
  uint32_t waiting, wishes;        /* now: tasks that wait for room, prefetches that do */
} consort_space_use;
#define CONSORT_SPACE_USE_INIT {sizeof(consort_space_use), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* Fills *out for one space. The caller sets out->size. E_INVAL: there is no space of that number. */
CONSORT_API consort_status consort_get_space_use(consort_runtime *rt, uint32_t space, consort_space_use *out);

typedef struct consort_link_use {
  uint32_t size, flags;
  uint64_t copies, bytes, failed;  /* copies of whole data that arrived, their bytes, those that did not arrive */
} consort_link_use;
#define CONSORT_LINK_USE_INIT {sizeof(consort_link_use), 0, 0, 0, 0}
/* AGAIN: there is no direct path. */
CONSORT_API consort_status consort_get_link_use(consort_runtime *rt, uint32_t from, uint32_t to, consort_link_use *out);

#ifdef __cplusplus
}
#endif
#endif
