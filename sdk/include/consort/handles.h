/* consort/handles.h — an optional extension of drivers: libraries for functions of codelets (linear algebra and its like), and
 * their handles, of which each unit's queue keeps one of a kind. The application's side is libraries.h.
 *
 * Got by plugin->get(self, CONSORT_HANDLES_ID): a table that lives as long as the plugin's instance, or NULL. Libraries go by names
 * that the driver's page lists; one is opened when somebody first asks for it. `call` is that of an OP_CALL of a queue of dev,
 * during that call, on the thread that runs it, so one thread at a time asks for what is one queue's. All may block.
 * Words of a failure go by host->fail: they name the library, what was called, and what to do. */
#ifndef CONSORT_HANDLES_H
#define CONSORT_HANDLES_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_HANDLES_ID "consort.handles/1"

typedef struct consort_handles {
  uint32_t size, reserved;
  /* [any] The library's handle for the call's queue: bound to its native_queue and native_context, made when first asked for,
   * destroyed by the driver before the queue goes. E_INVAL: no such name, or no call of dev's; E_UNSUPPORTED: not on this machine. */
  consort_status (*handle)(void *dev, const consort_call *call, const char *library, void **out);
  /* [any] A function of the library by the name that it exports. E_UNSUPPORTED: it has none of that name. */
  consort_status (*symbol)(void *dev, const consort_call *call, const char *library, const char *name, void **out);
  /* [any] What `function` of the library has answered, as a status: OK for 0, else < 0 with words. */
  consort_status (*check)(void *dev, const consort_call *call, const char *library, const char *function, int32_t code);
} consort_handles;

#ifdef __cplusplus
}
#endif
#endif
