/* future.c — the base of consort.Future: the fields of concurrent.futures.Future in C, of which the lock, the waiters and the callbacks
 * are made on first use. A future without a lock has no waiter: it is settled under the GIL alone. One with a lock is settled by the
 * methods of concurrent.futures.Future. */
#include "core.h"
#include <stddef.h>
#include <structmember.h>

PyTypeObject *future_type;
static PyObject *base_set_result, *base_set_exception, *base_start, *base_result, *base_exception;
static PyObject *pending, *running, *finished, *cancelled, *cancelled_notified, *condition_type;

int future_init(PyObject *base) {
  struct { PyObject **to; const char *name; } methods[] = {{&base_set_result, "set_result"}, {&base_set_exception, "set_exception"},
    {&base_start, "set_running_or_notify_cancel"}, {&base_result, "result"}, {&base_exception, "exception"}};
  for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i)
    if (!(*methods[i].to = PyObject_GetAttrString(base, methods[i].name))) return -1;
  struct { PyObject **to; const char *text; } states[] = {{&pending, "PENDING"}, {&running, "RUNNING"}, {&finished, "FINISHED"},
    {&cancelled, "CANCELLED"}, {&cancelled_notified, "CANCELLED_AND_NOTIFIED"}};
  for (size_t i = 0; i < sizeof states / sizeof *states; ++i)
    if (!(*states[i].to = PyUnicode_InternFromString(states[i].text))) return -1;
  PyObject *threading = PyImport_ImportModule("threading");
  condition_type = threading ? PyObject_GetAttrString(threading, "Condition") : NULL;
  Py_XDECREF(threading);
  return condition_type ? 0 : -1;
}

static void prepare(Future *f, Runtime *self) {
  f->runtime = (Runtime *)Py_XNewRef((PyObject *)self);
  f->state = Py_NewRef(pending);
}

Future *future_new(Runtime *self) {
  Future *f = (Future *)future_type->tp_alloc(future_type, 0);
  if (f) prepare(f, self);
  return f;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kw) {
  (void)args, (void)kw;
  Future *f = (Future *)type->tp_alloc(type, 0);
  if (f) prepare(f, NULL);
  return (PyObject *)f;
}

static void call_base(PyObject *method, Future *f, PyObject *arg) { /* InvalidStateError: it was cancelled meanwhile */
  PyObject *value = PyObject_CallFunctionObjArgs(method, f, arg, NULL);
  if (!value) PyErr_Clear();
  Py_XDECREF(value);
}

bool future_start(Future *f) {
  if (!f->condition) {
    if (f->state == pending) Py_SETREF(f->state, Py_NewRef(running));
    return true;
  }
  if (f->state == running) return true;
  PyObject *value = PyObject_CallOneArg(base_start, (PyObject *)f);
  const bool yes = value == Py_True;
  if (!value) PyErr_Clear();
  Py_XDECREF(value);
  return yes;
}

void future_set(Future *f, PyObject *value, PyObject *error) {
  if (f->condition) {
    call_base(error ? base_set_exception : base_set_result, f, error ? error : value);
    return;
  }
  Py_XSETREF(f->value, Py_XNewRef(value));
  Py_XSETREF(f->error, Py_XNewRef(error));
  Py_SETREF(f->state, Py_NewRef(finished));
}

/* Inside a body, and where the application steps the workers: waits by the runtime, which runs other tasks meanwhile. */
static int wait_by_runtime(Future *f, PyObject *timeout) {
  int64_t ns = CONSORT_FOREVER;
  if (timeout && timeout != Py_None) {
    const double seconds = PyFloat_AsDouble(timeout);
    if (PyErr_Occurred()) return -1;
    ns = seconds <= 0 ? 0 : ns_of(seconds);
  }
  const bool slices = !bodies_on_stack && on_main_thread();
  for (;;) {
    const int64_t now = next_slice(ns, slices);
    const Unlocked u = unlock();
    const consort_status s = consort_task_wait(f->runtime->rt, (consort_task_id){f->id}, now, CONSORT_WAIT_KEEP_FAILURE);
    const bool again = s == CONSORT_E_TIMEOUT && slices && now != ns;
    lock(u);
    if (PyErr_CheckSignals() < 0) return -1;
    if (s == CONSORT_E_BUSY) return raise_last(f->runtime, s), -1;
    if (!again) return 0;
    if (ns > 0) ns -= now;
  }
}

static PyObject *wait_and(Future *f, PyObject *method, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *timeout = n ? args[0] : NULL; /* "timeout" is the only name that it can be given by */
  if (n > 1 || (names && PyTuple_GET_SIZE(names) > 1) || (n && names)) {
    PyErr_SetString(PyExc_TypeError, "one argument at most: timeout");
    return NULL;
  }
  if (names && PyTuple_GET_SIZE(names)) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "timeout")) {
      PyErr_Format(PyExc_TypeError, "unexpected keyword argument '%U'", PyTuple_GET_ITEM(names, 0));
      return NULL;
    }
    timeout = args[0];
  }
  if (f->runtime && f->state != finished) {
    if (!f->runtime->stopped && !usable(f->runtime)) return NULL; /* in a child of fork nothing would settle it */
    if (!f->runtime->stopped && (bodies_on_stack || f->runtime->manual) && wait_by_runtime(f, timeout) < 0) return NULL;
  }
  return PyObject_CallFunctionObjArgs(method, f, timeout, NULL);
}

static PyObject *result(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  Future *f = (Future *)self;
  if (f->state == finished && f->value && n < 2 && !names) return Py_NewRef(f->value);
  return wait_and(f, base_result, args, n, names);
}

static PyObject *exception(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  Future *f = (Future *)self;
  if (f->state == finished && n < 2 && !names) return Py_NewRef(f->error ? f->error : Py_None);
  return wait_and(f, base_exception, args, n, names);
}

static PyObject *is_done(PyObject *self, PyObject *unused) {
  (void)unused;
  const Future *f = (Future *)self;
  return PyBool_FromLong(f->state == finished || f->state == cancelled || f->state == cancelled_notified);
}

static PyObject *cancel_task(PyObject *self, PyObject *unused) {
  (void)unused;
  Future *f = (Future *)self;
  if (f->runtime && f->id && !f->runtime->stopped) {
    const Unlocked u = unlock();
    consort_task_cancel(f->runtime->rt, (consort_task_id){f->id});
    lock(u);
  }
  Py_RETURN_NONE;
}

static PyObject *made(PyObject **slot, PyObject *(*make)(void)) {
  if (!*slot) {
    PyObject *fresh = make();
    if (!fresh) return NULL;
    if (*slot) Py_DECREF(fresh); /* making it may have let another thread run */
    else *slot = fresh;
  }
  return Py_NewRef(*slot);
}

static PyObject *new_list(void) { return PyList_New(0); }
static PyObject *new_condition(void) { return PyObject_CallNoArgs(condition_type); }
static PyObject *get_condition(PyObject *self, void *c) { (void)c; return made(&((Future *)self)->condition, new_condition); }
static PyObject *get_waiters(PyObject *self, void *c) { (void)c; return made(&((Future *)self)->waiters, new_list); }
static PyObject *get_callbacks(PyObject *self, void *c) { (void)c; return made(&((Future *)self)->callbacks, new_list); }
static PyObject *get_task(PyObject *self, void *c) { (void)c; return PyLong_FromUnsignedLongLong(((Future *)self)->id); }

static int traverse(PyObject *self, visitproc visit, void *arg) {
  Future *f = (Future *)self;
  Py_VISIT(f->runtime);
  Py_VISIT(f->value);
  Py_VISIT(f->error);
  Py_VISIT(f->condition);
  Py_VISIT(f->waiters);
  Py_VISIT(f->callbacks);
  return 0;
}

static int clear(PyObject *self) {
  Future *f = (Future *)self;
  Py_CLEAR(f->runtime);
  Py_CLEAR(f->value);
  Py_CLEAR(f->error);
  Py_CLEAR(f->condition);
  Py_CLEAR(f->waiters);
  Py_CLEAR(f->callbacks);
  return 0;
}

static void dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  clear(self);
  Py_CLEAR(((Future *)self)->state);
  Py_TYPE(self)->tp_free(self);
}

static PyMethodDef methods[] = {
  {"result", (PyCFunction)(void (*)(void))result, METH_FASTCALL | METH_KEYWORDS, "result(timeout=None)\n--\n\nWaits for the task and returns what its function returned, or raises what it raised."},
  {"exception", (PyCFunction)(void (*)(void))exception, METH_FASTCALL | METH_KEYWORDS, "exception(timeout=None)\n--\n\nWaits for the task and returns its exception, None without one."},
  {"done", is_done, METH_NOARGS, "done()\n--\n\nWhether the task has ended or was cancelled. Does not wait."},
  {"_cancel_task", cancel_task, METH_NOARGS, NULL},
  {NULL, NULL, 0, NULL}};
static PyMemberDef members[] = {
  {"_state", T_OBJECT, offsetof(Future, state), 0, NULL},
  {"_result", T_OBJECT, offsetof(Future, value), 0, NULL},
  {"_exception", T_OBJECT, offsetof(Future, error), 0, NULL},
  {"runtime", T_OBJECT, offsetof(Future, runtime), READONLY, "The runtime of the task."},
  {NULL, 0, 0, 0, NULL}};
static PyGetSetDef getset[] = {
  {"_condition", get_condition, NULL, NULL, NULL},
  {"_waiters", get_waiters, NULL, NULL, NULL},
  {"_done_callbacks", get_callbacks, NULL, NULL, NULL},
  {"task", get_task, NULL, "The task's number in the runtime.", NULL},
  {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject FutureBaseType = {
  PyVarObject_HEAD_INIT(NULL, 0)
  .tp_name = "consort._core.FutureBase",
  .tp_basicsize = sizeof(Future),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
  .tp_new = create,
  .tp_init = NULL,
  .tp_dealloc = dealloc,
  .tp_traverse = traverse,
  .tp_clear = clear,
  .tp_methods = methods,
  .tp_members = members,
  .tp_getset = getset,
};
