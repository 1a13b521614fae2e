/* core.h — what the files of the module `consort._core` share.
 *
 * The module calls the C API of consort.h and CPython's own API, nothing else. Rules of the module:
 *   - A call that may wait is made without the GIL (`unlocked`/`locked`). A submission keeps the GIL while it cannot wait.
 *   - A body of a task takes the GIL by enter_python() on whatever thread it runs, also on threads that Python did not make.
 *   - Objects are touched under the GIL alone; without it `done` touches atomics and its own task. */
#ifndef CONSORT_PYTHON_CORE_H
#define CONSORT_PYTHON_CORE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <consort/consort.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Task Task;

typedef struct Runtime {
  PyObject_HEAD
  consort_runtime *rt;          /* good for calls until the end of the process: a stopped one answers E_STOPPED */
  bool started, stopped, manual;
  bool stopping;                /* threads outside of bodies and callbacks begin nothing any more */
  int owner_pid;                /* the process that started it */
  int64_t keep_gil_below;       /* pending tasks below which no submission waits */
  _Atomic int64_t pending;      /* tasks submitted whose `done` has not run */
  _Atomic(Task *) finished;     /* ended tasks whose data are still referenced: see reap() */
  PyObject *codelets;           /* dict: qualified name -> its number */
  PyObject *last_name;          /* the name looked up last, and its codelet */
  consort_codelet_id last_codelet;
  PyObject *failures;           /* dict: token -> exception of a body */
  uint64_t next_failure;
  PyObject *first_failure;      /* of a task without a future, since the last wait */
  long nholds;                  /* data that the program has acquired */
  unsigned long holder;         /* the thread of the latest */
  PyObject *kept;               /* list of what stays alive until the stop: functions of reductions */
  PyObject *dict, *weakrefs;
} Runtime;

typedef struct Future {
  PyObject_HEAD
  Runtime *runtime;
  uint64_t id;                  /* of its task */
  PyObject *state, *value, *error;
  PyObject *condition, *waiters, *callbacks; /* made on first use */
} Future;

enum { MOST_DIMS = CONSORT_NDIM_MAX };
enum Layout { VARIABLE, VECTOR, MATRIX, BLOCK, NDIM };
typedef struct Data {
  PyObject_HEAD
  Runtime *runtime;
  consort_data_id id;
  struct Data *parent;          /* of a part */
  PyObject *object;             /* what was registered; of a part: the view of its home */
  PyObject *readable, *writable; /* views of the home that bodies get */
  PyObject *dtype;              /* numpy.dtype; NULL without NumPy */
  char *home;
  enum Layout layout;
  bool readonly, registered, has_buffer;
  long nholds;                  /* by the thread `holder`, as far as it is known */
  unsigned long holder;
  bool holder_writes;
  int ndim;
  Py_ssize_t itemsize, shape[MOST_DIMS], strides[MOST_DIMS];
  PyObject *reducers;           /* list of what the codelets of its reduction refer to, or NULL */
  consort_codelet_id reducer_ids[2];
  Py_buffer buffer;             /* keeps the exporter from moving its memory */
  PyObject *weakrefs;
} Data;

typedef struct Access { /* what r(), w(), rw() return */
  PyObject_HEAD
  PyObject *object;             /* a Data, or what can be registered */
  uint32_t mode;
} Access;

typedef struct Native { /* a C function, or text for a device */
  PyObject_HEAD
  void *function;
  PyObject *name, *klass, *format, *text, *entry, *kept;
} Native;

struct Task {
  Runtime *runtime;             /* alive: a runtime lives until it is stopped, which waits for its tasks */
  PyObject *function;           /* NULL: the objects are released already */
  Future *future;               /* or NULL */
  PyObject *names;              /* of the keyword arguments, or NULL */
  Task *next;
  uint32_t nargs, nuses, items; /* items: of for_each(), each argument is the only one of a call */
  bool has_futures, is_native;
  PyObject *args[];
};

extern PyTypeObject RuntimeType, FutureBaseType, DataType, AccessType, NativeType, HoldType, ReplicaType;
extern PyTypeObject *future_type; /* consort.Future, set by the package */

/* gil.c */
extern _Thread_local int keeps_gil, bodies_on_stack, callbacks_on_stack;
void enter_python(void);
void leave_python(void);
typedef struct Unlocked { PyThreadState *state; int kept; } Unlocked;
Unlocked unlock(void);
void lock(Unlocked);
int gil_init(void);

/* errors.c */
PyObject *raise_status(Runtime *, consort_status, const char *text); /* NULL, always */
PyObject *raise_last(Runtime *, consort_status);
PyObject *error_of(Runtime *, consort_status, const char *text, const char *task); /* new reference; never NULL */
consort_status fail_with_exception(Runtime *, PyObject *exception); /* steals; sets the text of the body's failure */
PyObject *take_exception(void); /* the pending one, normalised, with its traceback; new reference */
int errors_init(PyObject *package_errors);
bool usable(Runtime *);     /* else sets an exception */
bool takes_new(Runtime *);  /* the same for what begins something */

/* task.c */
Task *task_new(Runtime *, PyObject *function, uint32_t nargs);
void task_release(Task *); /* drops the references to function, future and arguments */
void task_free(Task *);
void reap(Runtime *);
consort_status run_python(const consort_call *);
void task_done(void *task, const consort_outcome *);

/* submit.c */
PyObject *runtime_submit(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
PyObject *runtime_post(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
PyObject *runtime_for_each(PyObject *, PyObject *, PyObject *);

/* codelet.c */
int codelet_of(Runtime *, PyObject *function, consort_codelet_id *); /* < 0: exception */
int codelet_of_native(Runtime *, Native *, consort_codelet_id *);
PyObject *data_reduction(PyObject *, PyObject *, PyObject *);
void end_reduction(Data *); /* of an unregistered datum */

/* future.c */
Future *future_new(Runtime *);
bool future_start(Future *); /* false: it was cancelled */
void future_set(Future *, PyObject *value, PyObject *error); /* borrows one of them */
int future_init(PyObject *base); /* concurrent.futures.Future */

/* data.c, view.c */
PyObject *data_view(Data *, const void *view, uint32_t mode);
Data *data_of(Runtime *, PyObject *); /* borrowed; NULL: exception */
PyObject *data_partition(PyObject *, PyObject *, PyObject *);
int describe(Data *, const Py_buffer *); /* fills layout, shape and strides; < 0: exception */
consort_status register_data(Data *, const char *name);
int parse_mode(PyObject *, uint32_t *);
bool on_main_thread(void);

/* acquire.c: CONSORT_AGAIN: an exception is set; < 0: `why` has the text */
consort_status acquire(Data *, uint32_t mode, int64_t timeout_ns, consort_hold *, char *why, size_t size);
enum { SLICE_NS = 50000000 }; /* how long the main thread waits between two looks at signals */
static inline int64_t next_slice(int64_t ns, bool slices) { return slices && (ns < 0 || ns > SLICE_NS) ? SLICE_NS : ns; }
static inline int64_t ns_of(double seconds) { return seconds < 0 || seconds > 9e9 ? CONSORT_FOREVER : (int64_t)(seconds * 1e9); }
#endif
