/* consort/nearby.h — an optional extension of drivers: which units of a device lie close together.
 *
 * Of these sets the kernel makes teams, whose members work on one task together (teams.h): those of units that it calls itself
 * (CONSORT_UNIT_INLINE), and of those that say CONSORT_UNIT_TEAMS. Got by plugin->get(self, CONSORT_NEARBY_ID): a table that lives as long as the plugin's instance, or NULL.
 * Sets are nested in one another or have nothing in common: what shares a cache, a memory, a socket, the machine. */
#ifndef CONSORT_NEARBY_H
#define CONSORT_NEARBY_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_NEARBY_ID "consort.nearby/1"

typedef struct consort_nearby {
  uint32_t size, reserved;
  uint32_t (*set)(void *dev, uint32_t i, uint32_t *units, uint32_t max); /* [control] the i-th, as many of its units (the i of unit()) as max
                                                                            takes, ascending; returns how many it has, 0: there are no more */
} consort_nearby;

#ifdef __cplusplus
}
#endif
#endif
