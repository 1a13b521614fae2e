/* consort/libraries.h — libraries in functions of codelets: a handle for each worker, made, kept and destroyed by the driver of
 * its unit. Which there are, by what names, is on the driver's page; with its headers stand typed names of these functions.
 *
 * Asked from inside a function of a codelet, with its own call, on the thread that it was called on. */
#ifndef CONSORT_LIBRARIES_H
#define CONSORT_LIBRARIES_H
#include "consort.h"
#ifdef __cplusplus
extern "C" {
#endif

/* The handle of `library` for the worker that runs: what it is given goes to call->native_queue, in order with the rest. Made
 * when the worker first asks, the same one from then on, destroyed before the queue goes; the caller neither destroys it nor
 * gives it another queue. Each task finds it as the task before left it (modes, workspaces). E_UNSUPPORTED: this worker's driver
 * has no libraries, or this one is not on this machine; E_INVAL: a name that the driver does not know. */
CONSORT_API consort_status consort_library_handle(const consort_call *call, const char *library, void **out);
/* A function of the library, by the name that it exports: for programs that are not linked with it. */
CONSORT_API consort_status consort_library_symbol(const consort_call *call, const char *library, const char *name, void **out);
/* What `function` answered, as a status whose words are the task's failure: 0 is OK. */
CONSORT_API consort_status consort_library_check(const consort_call *call, const char *library, const char *function, int32_t code);
/* The library is opened, and a handle made, on all workers of a class; waits for all. So that no task waits for it, for
 * making one takes long. The first failure is the answer. Not from a body or callback: E_BUSY. */
CONSORT_API consort_status consort_library_start(consort_runtime *rt, const char *klass, const char *library);

#ifdef __cplusplus
}
#endif
#endif
