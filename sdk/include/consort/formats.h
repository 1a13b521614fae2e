/* consort/formats.h — formats: one datum with different layouts on different unit classes.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * A datum is registered in one layout, its first format. Units of a class may see it in another format: another interface or other
 * sizes, for example an array of structs on cores and a struct of arrays on an accelerator. Tasks name the one handle; a codelet
 * receives the view of the format of its unit's class. If a task needs contents that are valid in another format only, the runtime
 * submits a conversion task before it. Contents stay valid in several formats until a task writes one. */
#ifndef CONSORT_FORMATS_H
#define CONSORT_FORMATS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Each codelet reads the source (R), then writes the whole target (W). Either runs on any unit that has an implementation. They must
 * live as long as the datum. */
typedef struct consort_format_desc {
  uint32_t size, flags;
  const char *klass;               /* unit class that sees the datum in this format: "cuda" */
  const char *interface;           /* "matrix" ... */
  const void *args;                /* its arguments, without addresses: the runtime allocates the memory */
  uint64_t args_bytes;
  consort_codelet_id to, from;     /* from the first format to this one, and back */
} consort_format_desc;
#define CONSORT_FORMAT_INIT {sizeof(consort_format_desc), 0, NULL, NULL, NULL, 0, {0}, {0}}

/* Adds one format for a unit class, up to 7 beside the first; classes without a format see the first. Does not wait; tasks
 * submitted before keep their format. If a codelet could run on classes of different formats, its task is bound at submission
 * to the classes with the least time of conversions and task, if models know all times, else with the fewest conversions.
 * Acquiring, unregistering and the end of the runtime convert the contents to the first format. Scratch (CONSORT_M_SCRATCH)
 * always has the first format. E_UNSUPPORTED with plans, reductions, recordings, or accesses without order. */
CONSORT_API consort_status consort_data_add_format(consort_runtime *rt, consort_data_id data, const consort_format_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
