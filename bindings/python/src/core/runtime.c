/* runtime.c — the type of a runtime: start, waits, stop, inspection. The package keeps a started one alive until it is stopped. */
#include "core.h"
#include <pthread.h>
#include <stddef.h>
#include <structmember.h>
#include <unistd.h>

static pthread_t main_thread;
bool on_main_thread(void) { return pthread_equal(pthread_self(), main_thread); }
void runtime_init(void);
void runtime_init(void) { main_thread = pthread_self(); /* the thread that imports the package; signals come to it */ }

static int init(PyObject *object, PyObject *args, PyObject *kw) {
  Runtime *self = (Runtime *)object;
  (void)args, (void)kw;
  if (self->codelets) return 0;
  self->codelets = PyDict_New();
  self->failures = PyDict_New();
  self->kept = PyList_New(0);
  return self->codelets && self->failures && self->kept ? 0 : -1;
}

typedef struct Wanted { const char *key; char *value; } Wanted;
static void read_setting(void *user, const consort_config_row *row) {
  Wanted *w = user;
  for (; w->key; ++w)
    if (strcmp(w->key, row->key) == 0) free(w->value), w->value = strdup(row->value);
}

/* _start(pairs, file, text): pairs is a list of (key, value), both str. */
static PyObject *start(PyObject *object, PyObject *args) {
  Runtime *self = (Runtime *)object;
  PyObject *pairs;
  const char *file, *text;
  if (!PyArg_ParseTuple(args, "O!zz:_start", &PyList_Type, &pairs, &file, &text)) return NULL;
  if (self->started) return PyErr_SetString(PyExc_RuntimeError, "the runtime was started already"), NULL;
  const Py_ssize_t n = PyList_GET_SIZE(pairs);
  consort_setting *set = calloc((size_t)n + 1, sizeof *set);
  if (!set) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!PyArg_ParseTuple(PyList_GET_ITEM(pairs, i), "ss", &set[i].key, &set[i].value)) {
      free(set);
      return NULL;
    }
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.file = file, settings.text = text, settings.set = set, settings.nset = (uint32_t)n;
  Wanted wanted[] = {{"window", NULL}, {"pump", NULL}, {NULL, NULL}};
  const Unlocked u = unlock();
  const consort_status s = consort_start(&settings, &self->rt);
  char why[512] = "";
  if (s < 0) snprintf(why, sizeof why, "%s", consort_error());
  else consort_list_config(&settings, read_setting, wanted);
  lock(u);
  free(set);
  if (s >= 0) {
    const long window = wanted[0].value ? strtol(wanted[0].value, NULL, 10) : 0;
    self->manual = wanted[1].value && strcmp(wanted[1].value, "manual") == 0;
    /* half of the window: a submission below that does not wait for room. Bodies of a manual pump run inside of waits alone. */
    self->keep_gil_below = (window > 0 ? window : 2048) / 2;
    self->owner_pid = (int)getpid();
    self->started = true;
  }
  free(wanted[0].value);
  free(wanted[1].value);
  if (s < 0) return raise_status(NULL, s, why);
  Py_RETURN_NONE;
}

/* Waits until no task is pending. The main thread looks at signals in between. 0: done; 1: time ran out; < 0: exception. */
static int wait_for_all(Runtime *self, int64_t ns) {
  const bool slices = on_main_thread();
  for (;;) {
    const int64_t now = next_slice(ns, slices);
    const Unlocked u = unlock();
    const consort_status s = consort_wait_all(self->rt, now, CONSORT_WAIT_NO_HELP | CONSORT_WAIT_KEEP_FAILURE);
    lock(u);
    if (PyErr_CheckSignals() < 0) return -1;
    if (s == CONSORT_E_BUSY || s == CONSORT_E_STOPPED || s == CONSORT_E_NOMEM) return raise_last(self, s), -1;
    if (s != CONSORT_E_TIMEOUT) return 0; /* failures are those of tasks: they have told them */
    if (now == ns) return 1;
    if (ns > 0) ns -= now;
  }
}

static PyObject *raise_first_failure(Runtime *self) {
  PyObject *error = self->first_failure;
  if (!error) Py_RETURN_NONE;
  self->first_failure = NULL;
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

static PyObject *wait_method(PyObject *object, PyObject *args, PyObject *kw) {
  Runtime *self = (Runtime *)object;
  static char *words[] = {"timeout", NULL};
  PyObject *timeout = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:wait", words, &timeout)) return NULL;
  const double seconds = timeout == Py_None ? -1 : PyFloat_AsDouble(timeout);
  if (PyErr_Occurred() || !usable(self)) return NULL;
  const int s = wait_for_all(self, ns_of(seconds));
  if (s < 0) return NULL;
  if (s) return PyErr_SetString(PyExc_TimeoutError, "tasks are pending when the time is over; they go on"), NULL;
  reap(self);
  return raise_first_failure(self);
}

static PyObject *stop(PyObject *object, PyObject *unused) {
  (void)unused;
  Runtime *self = (Runtime *)object;
  if (!self->started || self->stopped) Py_RETURN_NONE;
  if (self->owner_pid != (int)getpid()) { /* the parent's */
    self->stopped = true;
    Py_RETURN_NONE;
  }
  if (self->nholds && self->holder == PyThread_get_thread_ident())
    return raise_status(NULL, CONSORT_E_BUSY, "this thread holds acquired data: release them before the stop");
  self->stopping = true;
  const int waited = wait_for_all(self, CONSORT_FOREVER);
  if (waited < 0) self->stopping = false;
  if (waited < 0) return self->stopped ? (PyErr_Clear(), Py_NewRef(Py_None)) : NULL; /* another thread has stopped it */
  reap(self);
  const Unlocked u = unlock();
  const consort_status s = consort_stop(self->rt);
  lock(u);
  if (s == CONSORT_E_BUSY || s == CONSORT_E_NOMEM) return self->stopping = false, raise_last(self, s);
  char why[1024];
  snprintf(why, sizeof why, "%s", s < 0 ? consort_error() : "");
  self->stopped = true;
  reap(self);
  PyList_SetSlice(self->kept, 0, PyList_GET_SIZE(self->kept), NULL);
  PyObject *told = raise_first_failure(self);
  PyObject *error = s < 0 && s != CONSORT_E_STOPPED && told ? error_of(self, s, why, NULL) : NULL;
  PyDict_Clear(self->failures);
  if (!error) return told;
  Py_DECREF(told);
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

static PyObject *cancel(PyObject *object, PyObject *unused) {
  (void)unused;
  Runtime *self = (Runtime *)object;
  if (!usable(self)) return NULL;
  const Unlocked u = unlock();
  const consort_status s = consort_group_cancel(self->rt, (consort_group_id){0});
  lock(u);
  if (s < 0) return raise_last(self, s);
  Py_RETURN_NONE;
}

static PyObject *explain(PyObject *object, PyObject *args) {
  Runtime *self = (Runtime *)object;
  PyObject *future = Py_None;
  if (!PyArg_ParseTuple(args, "|O:explain", &future) || !usable(self)) return NULL;
  if (future != Py_None && Py_TYPE(future) != future_type) return PyErr_SetString(PyExc_TypeError, "a consort.Future is expected"), NULL;
  const consort_task_id id = {future == Py_None ? 0 : ((Future *)future)->id};
  char text[8192] = "";
  const Unlocked u = unlock();
  consort_explain(self->rt, id, text, sizeof text);
  lock(u);
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *info(PyObject *object, PyObject *unused) {
  (void)unused;
  Runtime *self = (Runtime *)object;
  if (!usable(self)) return NULL;
  consort_info i = {.size = sizeof i};
  const consort_status s = consort_get_info(self->rt, &i);
  if (s < 0) return raise_last(self, s);
  return Py_BuildValue("{s:I,s:s,s:K,s:K,s:K}", "workers", i.nworkers, "scheduler", i.scheduler, "submitted", (unsigned long long)i.submitted,
                       "finished", (unsigned long long)i.finished, "data", (unsigned long long)i.data);
}

static PyObject *workers(PyObject *object, PyObject *unused) {
  (void)unused;
  Runtime *self = (Runtime *)object;
  if (!usable(self)) return NULL;
  PyObject *list = PyList_New(0);
  consort_worker_info w = {.size = sizeof w};
  for (uint32_t i = 0; list && consort_get_worker(self->rt, i, &w) >= 0; ++i) {
    PyObject *row = Py_BuildValue("{s:s,s:s,s:K,s:K}", "name", w.name, "class", w.klass, "tasks", (unsigned long long)w.tasks, "busy_ns", (unsigned long long)w.busy_ns);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *set_scheduler(PyObject *object, PyObject *name) {
  Runtime *self = (Runtime *)object;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text || !usable(self)) return NULL;
  const Unlocked u = unlock();
  const consort_status s = consort_runtime_set_scheduler(self->rt, text);
  lock(u);
  if (s < 0) return raise_last(self, s);
  Py_RETURN_NONE;
}

static void dealloc(PyObject *object) { /* not started, or stopped: the package refers to all others */
  Runtime *self = (Runtime *)object;
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->codelets);
  Py_CLEAR(self->last_name);
  Py_CLEAR(self->failures);
  Py_CLEAR(self->first_failure);
  Py_CLEAR(self->kept);
  Py_CLEAR(self->dict);
  Py_TYPE(object)->tp_free(object);
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  Runtime *self = (Runtime *)object;
  Py_VISIT(self->codelets);
  Py_VISIT(self->failures);
  Py_VISIT(self->first_failure);
  Py_VISIT(self->kept);
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  Runtime *self = (Runtime *)object;
  Py_CLEAR(self->first_failure);
  if (self->failures) PyDict_Clear(self->failures);
  Py_CLEAR(self->dict);
  return 0;
}

PyObject *runtime_register(PyObject *, PyObject *);
#define FAST METH_FASTCALL | METH_KEYWORDS
static PyMethodDef methods[] = {
  {"submit", (PyCFunction)(void (*)(void))runtime_submit, FAST, "Submits function(*args, **kwargs) as a task; returns its Future. Options: name, priority, after."},
  {"post", (PyCFunction)(void (*)(void))runtime_post, FAST, "As submit(), without a future: cheaper. wait() and stop() raise the first exception of such tasks."},
  {"for_each", (PyCFunction)(void (*)(void))runtime_for_each, METH_VARARGS | METH_KEYWORDS, "for_each(function, items, grain=1, name=None, priority=0)\n--\n\nSubmits function(item) for each item, `grain` calls a task, without futures. Returns the number of items."},
  {"wait", (PyCFunction)(void (*)(void))wait_method, METH_VARARGS | METH_KEYWORDS, "wait(timeout=None)\n--\n\nWaits for all tasks. Raises the first exception of tasks without a future."},
  {"cancel", cancel, METH_NOARGS, "cancel()\n--\n\nCancels the tasks that have not begun."},
  {"explain", explain, METH_VARARGS, "explain(future=None)\n--\n\nSays what a task, or the runtime, waits for."},
  {"info", info, METH_NOARGS, "info()\n--\n\nNumbers of workers, tasks and data, and the scheduler."},
  {"workers", workers, METH_NOARGS, "workers()\n--\n\nThe workers, each as a dict."},
  {"set_scheduler", set_scheduler, METH_O, "set_scheduler(name)\n--\n\nChanges the scheduler while tasks run."},
  {"_start", start, METH_VARARGS, NULL},
  {"_stop", stop, METH_NOARGS, NULL},
  {"_register", runtime_register, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL}};
static PyMemberDef members[] = {
  {"started", T_BOOL, offsetof(Runtime, started), READONLY, "Whether it was started."},
  {"stopped", T_BOOL, offsetof(Runtime, stopped), READONLY, "Whether it has stopped."},
  {NULL, 0, 0, 0, NULL}};

PyTypeObject RuntimeType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort._core.RuntimeBase",
  .tp_basicsize = sizeof(Runtime),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
  .tp_new = PyType_GenericNew,
  .tp_init = init,
  .tp_dealloc = dealloc,
  .tp_traverse = traverse,
  .tp_clear = clear,
  .tp_methods = methods,
  .tp_members = members,
  .tp_dictoffset = offsetof(Runtime, dict),
  .tp_weaklistoffset = offsetof(Runtime, weakrefs),
};
