/* consort/start.h — optional extensions for drivers that start by default (CONSORT_PF_PROBED): how the host starts the
 * driver, and where the driver's devices are on the bus.
 *
 * A device that is used by default costs nothing until work is placed on it: its driver creates no context in open(), and
 * describes spaces, links and units without one. It creates the context in the first alloc(), attach() or load_impl(), or
 * on a thread of its own behind the first submitted op. If that fails, the device is lost. */
#ifndef CONSORT_START_H
#define CONSORT_START_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

/* host->get(host, CONSORT_START_ID), from init() on: how the driver is started. NULL: an older host, which names it. */
#define CONSORT_START_ID "consort.start/1"
enum { CONSORT_START_BY_DEFAULT = 1 << 0 /* no setting names the driver: it was found by its devices */ };
typedef struct consort_start_mode { uint32_t size, flags; } consort_start_mode;
CONSORT_FROZEN(consort_start_mode, 8);

/* plugin->get(self, CONSORT_PLACES_ID), valid as long as the plugin's instance. */
#define CONSORT_PLACES_ID "consort.places/1"
typedef struct consort_places {
  uint32_t size, reserved;
  /* [control] Writes the bus address of device `index` in the form of Linux, "0000:3b:00.0", before and after open().
   * E_UNSUPPORTED: unknown. Two drivers with devices at one address offer the same device: the host uses one of them. */
  consort_status (*place)(void *self, uint32_t index, char *out, uint32_t n);
} consort_places;

#ifdef __cplusplus
}
#endif
#endif
