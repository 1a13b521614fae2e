/* consort/layer.h — what stands between the host and other plugins. The setting `layers` names layers; each driver,
 * scheduler, interface, transport and report that starts is shown to them, the last named first, and what a layer
 * answers takes its place: the first named is outermost. Where none is named nothing is done, and no call goes a longer
 * way. A layer forwards what it does not want to change. What that asks of it:
 *  - Its plugin has the kind, name, version, flags and ABI version of inner, and inner's parameters. Its table has
 *    inner's flags and data, and NULL where inner has NULL: a hook that is there is called.
 *  - A table is understood by its version: where CONSORT_ABI_OK() does not hold between inner->abi_* and the header that
 *    the layer was built with, or inner is of a kind that it does not know, it answers inner.
 *  - Handles that it gives out are its own, and it calls inner with inner's. What plugin->get() answers takes handles,
 *    too: a layer answers its own table for an extension that it knows, and NULL for one that it does not.
 *  - Tokens stay as they are: tickets name queues by them.
 *  - inner's functions may get a copy of the host's table in which functions are replaced. It keeps `ctx`; a replaced
 *    function calls the original with the original table. Tables from host->get() take any table with that ctx.
 *  - Functions keep their thread tags. Those of inner are called by the thread that came.
 * Functions that get no handle (init, all of an interface) can tell whose they are by being several. */
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
  /* [control] Before inner's init(). of: the host's table that inner will get, good for log(), fail() and param() of
   * inner's parameters. inner: as the host knows it, with a table of the host's size in which what is mandatory is not
   * NULL. Answers what is to stand in its place, or inner itself; NULL: it cannot, why is told by of->fail, and inner
   * does not start. inner is good until the layer's fini() returns, and so is the answer. Every plugin's fini() comes
   * before the layer's. A plugin that does not become quiet gets none, nor then do the layers: quiesce() alone. */
  const consort_plugin *(*wrap)(void *self, const consort_host *of, const consort_plugin *inner);
} consort_layer_ops;

#ifdef __cplusplus
}
#endif
#endif
