/* consort/partition.h — a datum and its parts, used side by side.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * A plan says how a datum falls into parts; each part is a datum of its own, with a handle that tasks use like any
 * other, and may have plans in turn. A datum may have several plans at a time. Nothing else need be said: when
 * tasks use a datum and parts of it, or parts of two plans, the runtime orders them as their bytes demand, as if each
 * had been submitted with what it covers. Readers on all levels and of all plans run at the same time; writers of
 * different parts of one plan too. */
#ifndef CONSORT_PARTITION_H
#define CONSORT_PARTITION_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct consort_plan_id { uint64_t v; } consort_plan_id;
CONSORT_FROZEN(consort_plan_id, 8);

enum { /* consort_plan_desc.flags */
  CONSORT_PLAN_READ_ONLY = 1 << 0  /* a task that would write a part is refused. Implied where parts share bytes (a halo) */
};
typedef struct consort_plan_desc {
  uint32_t size, flags;
  const char *filter;              /* of the datum's interface: "blocks", "rows", "tiles", "list" … */
  const void *params;              /* consort_split … of layouts.h */
  uint64_t params_bytes;
  const char *name;                /* parts are called "NAME[3]" in errors; copied; NULL: "DATUM.FILTER" */
} consort_plan_desc;
#define CONSORT_PLAN_INIT {sizeof(consort_plan_desc), 0, NULL, NULL, 0, NULL}

/* Waits for nothing: the datum may have tasks in flight. E_INVAL names a filter that the interface lacks and those it has. */
CONSORT_API consort_status consort_plan_create(consort_runtime *rt, consort_data_id data, const consort_plan_desc *desc, consort_plan_id *out);
/* Handles of the parts, in the filter's order, into out[max]. Returns how many there are; < 0: a status. */
CONSORT_API int64_t consort_plan_parts(consort_runtime *rt, consort_plan_id plan, consort_data_id *out, uint32_t max);
/* The parts' handles die now, their plans with them; the datum has it all again, in order with the tasks. Waits for nothing.
 * Unregistering the datum does the same to all its plans. */
CONSORT_API consort_status consort_plan_destroy(consort_runtime *rt, consort_plan_id plan);

#ifdef __cplusplus
}
#endif
#endif
