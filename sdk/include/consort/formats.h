/* consort/formats.h — one datum, of another layout on other units.
 * The application's side, C11; included by consort.h, whose rules hold.
 *
 * A datum is registered in one layout, its first format. Units of a class may see it as another datum: of another
 * interface, or of other sizes; an array of structs on cores, a struct of arrays on an accelerator. Tasks name the one
 * handle; a codelet receives the view of the format of its unit's class. Where a task wants contents that are in another
 * format, a task that converts them comes before it, at submission, made by the runtime; contents in several formats stay
 * until somebody writes one. */
#ifndef CONSORT_FORMATS_H
#define CONSORT_FORMATS_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Both codelets use the source (R), then the target (W), which they write whole. They run where they have implementations,
 * on either side; they stay until the datum is gone. */
typedef struct consort_format_desc {
  uint32_t size, flags;
  const char *klass;               /* of units that see the datum so: "cuda" */
  const char *interface;           /* "matrix" ... */
  const void *args;                /* its arguments, without addresses: the runtime has the memory */
  uint64_t args_bytes;
  consort_codelet_id to, from;     /* from the first format to this one, and back */
} consort_format_desc;
#define CONSORT_FORMAT_INIT {sizeof(consort_format_desc), 0, NULL, NULL, NULL, 0, {0}, {0}}

/* One format for a class, up to 7 beside the first; what no format is for sees the first. Waits for nothing: tasks submitted
 * before keep what they have. A task whose codelet could run on classes of unlike formats is bound, when it is submitted, to those that
 * ask for the fewest conversions. Acquiring, unregistering and the end of the runtime bring the contents to the first format. Scratch
 * (CONSORT_M_SCRATCH) is of the first format, always. Not with plans, reductions, recordings, or accesses without order: E_UNSUPPORTED. */
CONSORT_API consort_status consort_data_add_format(consort_runtime *rt, consort_data_id data, const consort_format_desc *desc);

#ifdef __cplusplus
}
#endif
#endif
