/* consort/handles.h — an optional extension of drivers: vendor libraries for functions of codelets (linear algebra and others), and
 * library handles, at most one per library and unit queue. The application's side is libraries.h.
 *
 * plugin->get(self, CONSORT_HANDLES_ID) returns the table, valid as long as the plugin's instance, or NULL. The driver's page lists
 * the names of libraries; a library is opened at its first use. `call` is the argument of an OP_CALL of a queue of dev, used during
 * that call and on its thread; so calls for one queue come from one thread at a time. All functions may block. They report failures
 * by host->fail, with the library, the called function and a remedy. */
#ifndef CONSORT_HANDLES_H
#define CONSORT_HANDLES_H
#include "driver.h"
#ifdef __cplusplus
extern "C" {
#endif

#define CONSORT_HANDLES_ID "consort.handles/1"

typedef struct consort_handles {
  uint32_t size, reserved;
  /* [any] Returns the library's handle for the call's queue, bound to its native_queue and native_context. Created at first use,
   * destroyed by the driver before the queue closes. E_INVAL: unknown name, or not a call of dev; E_UNSUPPORTED: not installed. */
  consort_status (*handle)(void *dev, const consort_call *call, const char *library, void **out);
  /* [any] Returns a function of the library by its exported name. E_UNSUPPORTED: no such function. */
  consort_status (*symbol)(void *dev, const consort_call *call, const char *library, const char *name, void **out);
  /* [any] Converts the return code of `function` of the library to a status: OK for 0, else < 0 with a text. */
  consort_status (*check)(void *dev, const consort_call *call, const char *library, const char *function, int32_t code);
} consort_handles;

#ifdef __cplusplus
}
#endif
#endif
