/* consort/samples.h — an optional extension of interfaces: data by which `consort conform` can judge them.
 *
 * Only an interface knows what its registration arguments are. The kit knows those of layouts.h and sparse.h; of any other
 * interface the cases that need a datum are "unsupported" until it says, by this table, what some data of its kind are.
 * Got by plugin->get(self, CONSORT_SAMPLES_ID): a table that lives as long as the plugin's instance, or NULL. No runtime asks
 * for it. The more unlike the samples are (sizes of 0 and 1, odd ones, gaps between elements), the more is looked at. */
#ifndef CONSORT_SAMPLES_H
#define CONSORT_SAMPLES_H
#include "interface.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_SAMPLES_ID "consort.conform.interface/1"

typedef struct consort_samples {
  uint32_t size, reserved;
  /* [control] Writes the registration arguments of sample i, at most max bytes, and answers how many they are; 0: there are no
   * more. Home addresses lie within the `room` bytes at memory, which is aligned to 64 and holds random bytes: contents that a
   * datum cannot do without are written there. memory NULL: the same datum without a home. What sample i is depends on i
   * alone. 16 KiB are there and 1 KiB for arguments; more than 64 samples are not asked for. */
  uint64_t (*args)(void *self, uint32_t i, void *memory, uint64_t room, void *args, uint64_t max);
  /* [control] optional: writes the k-th parameters for a filter of ops->filters on sample i, their list included, at most max
   * bytes, and answers how many they are; 0: there are no more. A filter without parameters is tried without being asked for. */
  uint64_t (*params)(void *self, uint32_t i, uint32_t filter, uint32_t k, void *params, uint64_t max);
} consort_samples;

#ifdef __cplusplus
}
#endif
#endif
