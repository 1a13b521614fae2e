/* consort/samples.h — an optional extension of interfaces: sample data for `consort conform`.
 *
 * Only an interface knows its registration arguments. The kit knows those of layouts.h and sparse.h. For any other interface, cases that
 * need a datum are "unsupported" without this table. plugin->get(self, CONSORT_SAMPLES_ID) returns the table, valid as long as the
 * plugin's instance, or NULL. No runtime asks for it. Diverse samples (sizes of 0 and 1, odd ones, gaps between elements) increase
 * coverage. */
#ifndef CONSORT_SAMPLES_H
#define CONSORT_SAMPLES_H
#include "interface.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_SAMPLES_ID "consort.conform.interface/1"

typedef struct consort_samples {
  uint32_t size, reserved;
  /* [control] Writes the registration arguments of sample i, at most max bytes, and returns their size; 0: no such sample.
   * Home addresses lie within the `room` bytes at memory, which is aligned to 64 and holds random bytes; the function writes
   * contents that the datum requires. memory NULL: the same datum without a home. A sample depends on i
   * alone. The kit offers 16 KiB of memory and 1 KiB for arguments, and uses at most 64 samples. */
  uint64_t (*args)(void *self, uint32_t i, void *memory, uint64_t room, void *args, uint64_t max);
  /* [control] optional: writes the k-th parameters for a filter of ops->filters on sample i, with their list, at most max
   * bytes, and returns their size; 0: no such parameters. Not called for a filter without parameters. */
  uint64_t (*params)(void *self, uint32_t i, uint32_t filter, uint32_t k, void *params, uint64_t max);
} consort_samples;

#ifdef __cplusplus
}
#endif
#endif
