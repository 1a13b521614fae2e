/* consort/partition.h — partitions: a datum and its parts, used side by side.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * A plan divides a datum into parts. Each part is a datum of its own, with a handle that tasks use like any other, and may have
 * plans in turn. A datum may have several plans at a time. No explicit synchronisation is needed: when tasks use a datum and its
 * parts, or parts of two plans, the runtime orders them by their overlapping bytes. Readers at all levels and of all plans run
 * concurrently; so do writers of different parts of one plan. */
#ifndef CONSORT_PARTITION_H
#define CONSORT_PARTITION_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct consort_plan_id { uint64_t v; } consort_plan_id;
CONSORT_FROZEN(consort_plan_id, 8);

enum { /* consort_plan_desc.flags */
  CONSORT_PLAN_READ_ONLY = 1 << 0  /* tasks that write a part are refused. Implied if parts share bytes (a halo) */
};
typedef struct consort_plan_desc {
  uint32_t size, flags;
  const char *filter;              /* of the datum's interface: "blocks", "rows", "tiles", "list" … */
  const void *params;              /* consort_split … of layouts.h */
  uint64_t params_bytes;
  const char *name;                /* parts are called "NAME[3]" in errors; copied; NULL: "DATUM.FILTER" */
} consort_plan_desc;
#define CONSORT_PLAN_INIT {sizeof(consort_plan_desc), 0, NULL, NULL, 0, NULL}

/* Creates a plan. Does not wait: the datum may have tasks in flight. E_INVAL: no such filter; the text lists those of the interface. */
CONSORT_API consort_status consort_plan_create(consort_runtime *rt, consort_data_id data, const consort_plan_desc *desc, consort_plan_id *out);
/* Writes the handles of the parts, in the filter's order, into out[max]. Returns the number of parts; < 0: a status. */
CONSORT_API int64_t consort_plan_parts(consort_runtime *rt, consort_plan_id plan, consort_data_id *out, uint32_t max);
/* Invalidates the parts' handles and their plans now; the datum is whole again, in order with the tasks. Does not wait.
 * Unregistering the datum destroys all its plans the same way. */
CONSORT_API consort_status consort_plan_destroy(consort_runtime *rt, consort_plan_id plan);

#ifdef __cplusplus
}
#endif
#endif
