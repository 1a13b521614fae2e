/* consort/layer.h — a layer wraps other plugins. The setting `layers` names layers; each driver, scheduler, interface, transport and
 * report that starts is passed to them, the last named first, and the plugin that a layer returns takes its place: the first named
 * is outermost. Without layers no call takes an extra step. A layer forwards all calls that it does not change. Its obligations:
 *  - Its plugin has the kind, name, version, flags, ABI version and parameters of inner. Its table has inner's flags and data, and
 *    NULL where inner has NULL: the kernel calls every hook that is not NULL.
 *  - A table is read by its version: if CONSORT_ABI_OK() fails between inner->abi_* and the header that the layer was built with, or
 *    the layer does not know inner's kind, it returns inner.
 *  - Handles that it returns are its own, and it calls inner with inner's. Tables from plugin->get() take handles too: a layer
 *    returns its own table for an extension that it knows, and NULL for any other.
 *  - Tokens stay unchanged: tickets name queues by them.
 *  - inner's functions may get a copy of the host's table with replaced functions. The copy keeps `ctx`; a replaced
 *    function calls the original with the original table. Tables from host->get() accept any table with that ctx.
 *  - Functions keep their thread tags. inner's functions are called on the calling thread.
 * A function without a handle (init, all of an interface) identifies its plugin by existing once per wrapped plugin. */
#ifndef CONSORT_LAYER_H
#define CONSORT_LAYER_H
#include "plugin.h"
#ifdef __cplusplus
extern "C" {
#endif
#define CONSORT_LAYER_MAJOR 0
#define CONSORT_LAYER_MINOR 1

typedef struct consort_layer_ops {
  uint32_t size, flags;      /* flags: none yet, 0 */
  /* [control] Called before inner's init(). of: the host table that inner will get; supports log(), fail() and param() of inner's
   * parameters. inner: the plugin as the host knows it, with a table of the host's size in which mandatory functions are not NULL.
   * Returns the plugin that replaces inner, or inner itself. Returns NULL on failure, with the reason by of->fail; then inner does
   * not start. inner and the returned plugin are valid until the layer's fini() returns. Every plugin's fini() precedes the layer's.
   * If a plugin fails to quiesce, neither its fini() nor those of the layers are called, only quiesce(). */
  const consort_plugin *(*wrap)(void *self, const consort_host *of, const consort_plugin *inner);
} consort_layer_ops;

/* Tells a layer which worker a thread drives: host->get(host, CONSORT_THREADS_ID), with the host table of any plugin of the
 * runtime. Valid until the last fini(). */
#define CONSORT_THREADS_ID "consort.threads/1"
typedef struct consort_threads {
  uint32_t size, flags;      /* flags: none yet, 0 */
  /* [any] Returns the number of the worker that the calling thread drives; CONSORT_NONE if it drives none of this runtime. */
  uint32_t (*worker)(const consort_host *);
} consort_threads;

#ifdef __cplusplus
}
#endif
#endif
