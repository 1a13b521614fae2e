/* consort/libraries.h — vendor libraries in functions of codelets: one handle for each worker, created, kept and destroyed by the
 * driver of its unit. The driver's page lists libraries and their names; the driver's own headers add typed wrappers.
 *
 * To be called inside a function of a codelet, with its own call argument and on its thread. */
#ifndef CONSORT_LIBRARIES_H
#define CONSORT_LIBRARIES_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Returns the handle of `library` for the running worker. Its work goes to call->native_queue, in order with the task's other work.
 * Created at the worker's first call, the same from then on, destroyed before the queue closes. The caller must not destroy it nor set
 * another queue. Its state (modes, workspaces) persists from task to task. E_UNSUPPORTED: the worker's driver has no libraries, or this
 * one is not installed; E_INVAL: the driver does not know the name. */
CONSORT_API consort_status consort_library_handle(const consort_call *call, const char *library, void **out);
/* Returns a function of the library by its exported name, for programs that are not linked with the library. */
CONSORT_API consort_status consort_library_symbol(const consort_call *call, const char *library, const char *name, void **out);
/* Converts the return code of `function` to a status, and sets the task's failure text; 0 is OK. */
CONSORT_API consort_status consort_library_check(const consort_call *call, const char *library, const char *function, int32_t code);
/* Opens the library and creates a handle on all workers of a class; waits for all, so that no task pays for it.
 * Returns the first failure. E_BUSY: in a body or callback. */
CONSORT_API consort_status consort_library_start(consort_runtime *rt, const char *klass, const char *library);

#ifdef __cplusplus
}
#endif
#endif
