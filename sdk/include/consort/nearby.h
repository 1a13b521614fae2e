/* consort/nearby.h — an optional extension of drivers: sets of units that share hardware (a cache, a memory, a socket).
 *
 * The kernel builds teams from these sets; a team's members work on one task together (teams.h). It uses sets of units that it calls
 * itself (CONSORT_UNIT_INLINE) or that have CONSORT_UNIT_TEAMS. plugin->get(self, CONSORT_NEARBY_ID) returns the table, valid as long as
 * the plugin's instance, or NULL. Two sets are nested or disjoint. */
#ifndef CONSORT_NEARBY_H
#define CONSORT_NEARBY_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_NEARBY_ID "consort.nearby/1"

typedef struct consort_nearby {
  uint32_t size, reserved;
  uint32_t (*set)(void *dev, uint32_t i, uint32_t *units, uint32_t max); /* [control] writes up to max units (the i of unit()) of the i-th set,
                                                                            ascending; returns the size of the set, 0: no such set */
} consort_nearby;

#ifdef __cplusplus
}
#endif
#endif
