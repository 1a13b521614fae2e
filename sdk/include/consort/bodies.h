/* consort/bodies.h — a service for layers that check what tasks do with their data: consort.bodies/1.
 *
 * A watch is called in place of each host function of a codelet, calls the function itself, and may hand it other views. It is
 * told which data have a home in the application's memory, and which of them the application has acquired. One watch per runtime;
 * without one, no task takes an extra step. A watch makes every task take the path of observed tasks. */
#ifndef CONSORT_BODIES_H
#define CONSORT_BODIES_H
#include "interface.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A datum, as one task or the application uses it. Pointers are valid during the call that passes it. */
typedef struct consort_body_datum {
  uint64_t id;                      /* handle of the datum */
  const char *name, *layout;        /* its own name, or one made of layout and number; name of its interface */
  const consort_interface_ops *ops; /* of the interface */
  const void *shape, *view;         /* view: its replica in `space` of the body; of added() and acquired(): in host memory */
  uint32_t mode, reserved;          /* CONSORT_M_* of the access; 0: of added() */
} consort_body_datum;
CONSORT_FROZEN(consort_body_datum, 56);

enum { /* consort_body.flags */
  CONSORT_BODY_SHARED = 1 << 0,     /* each member of a team calls the function with the same data */
  CONSORT_BODY_ASYNC = 1 << 1,      /* the function only enqueues work on the unit's native queue: its data are used after its return */
  CONSORT_BODY_INTERNAL = 1 << 2    /* a function of the kernel, without data here: it uses some by itself */
};
typedef struct consort_body consort_body;
struct consort_body {
  uint32_t size, flags;
  uint64_t task;                    /* its handle */
  const char *name, *codelet;       /* the task's own name, else its codelet's; the codelet's */
  const consort_body_datum *data;   /* in the order of call->views */
  uint32_t ndata, worker;
  const consort_space_desc *space;  /* home of the unit */
  const char *unit;                 /* name of the worker: "cpu0" */
  void *function;                   /* for run(); NULL: described for an operation */
  /* [worker] Calls the function, once, from the watch's body(), with the call that body() got. No exception leaves it. */
  consort_status (*run)(const consort_body *, const consort_call *);
};

typedef struct consort_body_watch {
  uint32_t size, reserved;
  void *user;
  /* [worker] Mandatory. Returns the status of run(), or a failure with its text by fail(). It may set call->views to an array of its
   * own views; the original array must be back when it returns. Bodies may wait: others are then called on this thread or on others. */
  consort_status (*body)(void *user, const consort_body *, consort_call *);
  void (*ended)(void *user, uint64_t task);                    /* [any] the last hold of a task's completion is released; its body may still run */
  void (*added)(void *user, const consort_body_datum *);       /* [any] a datum with a home in host memory is registered */
  void (*removed)(void *user, uint64_t datum);                 /* [any] a datum is unregistered: its memory may be freed after this call */
  /* [any] The application gets access to a datum or a part, or gives it back (on = 0). */
  void (*acquired)(void *user, const consort_body_datum *, uint32_t on);
} consort_body_watch;

/* host->get(host, CONSORT_BODIES_ID), with the host table of a layer */
#define CONSORT_BODIES_ID "consort.bodies/1"
typedef struct consort_bodies {
  uint32_t size, flags;             /* flags: none yet, 0 */
  /* [control] From init() of a layer. Copies the table; valid until the layer's fini(). E_BUSY: another watch stands. */
  consort_status (*watch)(const consort_host *, const consort_body_watch *);
  uint32_t (*holds)(const consort_host *, uint64_t task);      /* [any] holds of the completion of an unfinished task */
  /* [queue] For a layer before a driver, inside submit(): calls to() with the task of an operation that carries a codelet. Not called
   * for a task of a team. */
  void (*describe)(const consort_host *, const consort_op *, void (*to)(void *user, const consort_body *), void *user);
} consort_bodies;

#ifdef __cplusplus
}
#endif
#endif
