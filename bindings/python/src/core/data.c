/* data.c — data: arrays that are registered in place, the modes of access, and holds by which the application looks at them. */
#include "core.h"
#include <stddef.h>
#include <structmember.h>

/* -- access --------------------------------------------------------------------------------------------- */

static void access_dealloc(PyObject *self) {
  Py_XDECREF(((Access *)self)->object);
  PyObject_Free(self);
}
static PyMemberDef access_members[] = {
  {"data", T_OBJECT, offsetof(Access, object), READONLY, "The datum, or the array."},
  {"mode", T_UINT, offsetof(Access, mode), READONLY, "The bits of the mode."},
  {NULL, 0, 0, 0, NULL}};
PyTypeObject AccessType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort.Access",
  .tp_basicsize = sizeof(Access),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = access_dealloc,
  .tp_members = access_members,
  .tp_doc = "A datum and how a task uses it: what r(), w(), rw(), commute(), redux() and scratch() return.",
};

int parse_mode(PyObject *object, uint32_t *mode) {
  static const struct { const char *name; uint32_t mode; } modes[] = {{"r", CONSORT_M_R}, {"w", CONSORT_M_W}, {"rw", CONSORT_M_RW},
    {"commute", CONSORT_M_RW | CONSORT_M_COMMUTE}, {"redux", CONSORT_M_REDUX}, {"scratch", CONSORT_M_SCRATCH}};
  for (size_t i = 0; PyUnicode_Check(object) && i < sizeof modes / sizeof *modes; ++i)
    if (PyUnicode_CompareWithASCIIString(object, modes[i].name) == 0) return *mode = modes[i].mode, 0;
  PyErr_Format(PyExc_ValueError, "mode %R: one of 'r', 'w', 'rw', 'commute', 'redux', 'scratch' is expected", object);
  return -1;
}

/* -- registration ------------------------------------------------------------------------------------------ */

/* Fills the two views of the home from the array. */
static int make_views(Data *d, PyObject *array) {
  d->dtype = PyObject_GetAttrString(array, "dtype");
  d->readable = d->dtype ? PyObject_CallMethod(array, "view", NULL) : NULL;
  PyObject *flags = d->readable ? PyObject_GetAttrString(d->readable, "flags") : NULL;
  const int s = flags ? PyObject_SetAttrString(flags, "writeable", Py_False) : -1;
  Py_XDECREF(flags);
  if (s == 0 && !d->readonly) d->writable = PyObject_CallMethod(array, "view", NULL);
  return s == 0 && (d->readonly || d->writable) ? 0 : -1;
}

static Data *data_new(Runtime *self, PyObject *object, PyObject *array, Data *parent) {
  Data *d = PyObject_New(Data, &DataType);
  if (!d) return NULL;
  memset((char *)d + sizeof(PyObject), 0, sizeof *d - sizeof(PyObject));
  d->runtime = (Runtime *)Py_NewRef((PyObject *)self);
  d->object = Py_NewRef(object);
  d->parent = (Data *)Py_XNewRef((PyObject *)parent);
  if (parent) d->layout = parent->layout;
  int s = PyObject_GetBuffer(array, &d->buffer, PyBUF_STRIDED);
  if (s < 0) {
    PyErr_Clear();
    s = PyObject_GetBuffer(array, &d->buffer, PyBUF_STRIDED_RO);
  }
  d->has_buffer = s == 0;
  if (s == 0) s = describe(d, &d->buffer);
  if (s == 0) s = make_views(d, array);
  if (s < 0) Py_CLEAR(d);
  return d;
}

/* Runtime._register(object, array, name): array is the object as a numpy.ndarray on the same memory. */
PyObject *runtime_register(PyObject *self, PyObject *args);
PyObject *runtime_register(PyObject *self, PyObject *args) {
  Runtime *rt = (Runtime *)self;
  PyObject *object, *array;
  const char *name;
  if (!PyArg_ParseTuple(args, "OOz:_register", &object, &array, &name) || !takes_new(rt)) return NULL;
  Data *d = data_new(rt, object, array, NULL);
  if (!d) return NULL;
  const Unlocked u = unlock();
  const consort_status s = register_data(d, name);
  lock(u);
  if (s < 0) {
    Py_DECREF(d);
    return raise_last(rt, s);
  }
  d->registered = true;
  return (PyObject *)d;
}

Data *data_of(Runtime *self, PyObject *object) {
  Data *d;
  if (Py_TYPE(object) == &DataType) {
    d = (Data *)object;
  } else { /* the package registers it, and keeps it until it is unregistered */
    d = (Data *)PyObject_CallMethod((PyObject *)self, "_implicit", "O", object);
    if (!d) return NULL;
    if (Py_TYPE(d) != &DataType) PyErr_SetString(PyExc_TypeError, "Runtime._implicit() returned no Data");
    Py_DECREF(d);
    if (PyErr_Occurred()) return NULL;
  }
  if (d->runtime != self) return PyErr_SetString(PyExc_ValueError, "a datum of another runtime"), NULL;
  if (!d->registered) return raise_status(NULL, CONSORT_E_STALE, "the datum is not registered any more"), NULL;
  return d;
}

static consort_status end_registration(Data *d, uint32_t flags, char *why, size_t size) {
  d->registered = false;
  if (d->parent || d->runtime->stopped) return CONSORT_OK; /* a part ends with its plan */
  const Unlocked u = unlock();
  const consort_status s = consort_unregister_wait(d->runtime->rt, d->id, flags);
  snprintf(why, size, "%s", s < 0 ? consort_error() : "");
  lock(u);
  if (s != CONSORT_E_BUSY) end_reduction(d);
  return s;
}

/* Waits until the datum's tasks have ended, so that the unregistration need not wait. < 0: exception. */
static int wait_for_tasks(Data *d) {
  if (bodies_on_stack || d->runtime->manual || d->parent) return 0;
  consort_hold hold;
  char why[1];
  const consort_status s = acquire(d, CONSORT_M_RW, CONSORT_FOREVER, &hold, why, sizeof why);
  if (s == CONSORT_OK) {
    const Unlocked u = unlock();
    consort_release(d->runtime->rt, hold);
    lock(u);
  }
  return s == CONSORT_AGAIN ? -1 : 0; /* failures are told by the unregistration */
}

static PyObject *unregister(PyObject *self, PyObject *unused) {
  (void)unused;
  Data *d = (Data *)self;
  if (!d->registered || d->runtime->stopped) Py_RETURN_NONE;
  if (!usable(d->runtime) || wait_for_tasks(d) < 0) return NULL;
  char why[1024];
  const consort_status s = end_registration(d, 0, why, sizeof why);
  PyObject *forgotten = s == CONSORT_E_BUSY ? Py_NewRef(Py_None) : PyObject_CallMethod((PyObject *)d->runtime, "_forget", "O", d->object);
  if (!forgotten) return NULL;
  Py_DECREF(forgotten);
  if (s == CONSORT_E_BUSY) d->registered = true;
  if (s < 0) return raise_status(d->runtime, s, why);
  Py_RETURN_NONE;
}

static void dealloc(PyObject *self) {
  Data *d = (Data *)self;
  if (d->weakrefs) PyObject_ClearWeakRefs(self);
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  char why[1];
  if (d->registered && end_registration(d, CONSORT_WAIT_KEEP_FAILURE, why, sizeof why) == CONSORT_E_BUSY) {
    /* in a callback of the runtime: the datum ends without a wait, its memory is kept until the stop */
    consort_unregister_later(d->runtime->rt, d->id);
    if (d->object && PyList_Append(d->runtime->kept, d->object) < 0) PyErr_Clear();
  }
  if (d->reducers) end_reduction(d);
  if (d->has_buffer) PyBuffer_Release(&d->buffer);
  Py_XDECREF(d->object);
  Py_XDECREF(d->readable);
  Py_XDECREF(d->writable);
  Py_XDECREF(d->dtype);
  Py_XDECREF(d->parent);
  Py_XDECREF(d->runtime);
  PyErr_Restore(type, value, trace);
  PyObject_Free(self);
}

/* -- holds -------------------------------------------------------------------------------------------------- */

typedef struct Hold { PyObject_HEAD Data *data; PyObject *array; consort_hold hold; bool released; } Hold;

static consort_status release_hold(Hold *h) {
  if (h->released || h->data->runtime->stopped) return CONSORT_OK;
  h->released = true;
  --h->data->nholds;
  --h->data->runtime->nholds;
  const Unlocked u = unlock();
  const consort_status s = consort_release(h->data->runtime->rt, h->hold);
  lock(u);
  return s;
}

static PyObject *hold_release(PyObject *self, PyObject *unused) {
  (void)unused;
  const consort_status s = release_hold((Hold *)self);
  if (s < 0) return raise_last(((Hold *)self)->data->runtime, s);
  Py_RETURN_NONE;
}

static PyObject *hold_exit(PyObject *self, PyObject *args) {
  (void)args;
  return hold_release(self, NULL);
}

static PyObject *hold_enter(PyObject *self, PyObject *unused) {
  (void)unused;
  Hold *h = (Hold *)self;
  if (h->released) return raise_status(NULL, CONSORT_E_STALE, "the hold was released already");
  return Py_NewRef(h->array);
}

static void hold_dealloc(PyObject *self) {
  Hold *h = (Hold *)self;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  release_hold(h);
  Py_XDECREF(h->array);
  Py_XDECREF(h->data);
  PyErr_Restore(type, value, trace);
  PyObject_Free(self);
}

static PyMethodDef hold_methods[] = {
  {"release", hold_release, METH_NOARGS, "release()\n--\n\nEnds the hold: tasks that wait for the datum may start."},
  {"__enter__", hold_enter, METH_NOARGS, NULL},
  {"__exit__", hold_exit, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL}};
static PyMemberDef hold_members[] = {{"array", T_OBJECT, offsetof(Hold, array), READONLY, "The contents, good until the release."}, {NULL, 0, 0, 0, NULL}};
PyTypeObject HoldType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort.Hold",
  .tp_basicsize = sizeof(Hold),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = hold_dealloc,
  .tp_methods = hold_methods,
  .tp_members = hold_members,
  .tp_doc = "Access of the program to a datum, as a context manager.",
};

static PyObject *acquire_method(PyObject *self, PyObject *args, PyObject *kw) {
  Data *d = (Data *)self;
  static char *words[] = {"mode", "timeout", NULL};
  PyObject *mode_name = NULL, *timeout = Py_None;
  uint32_t mode = CONSORT_M_R;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:acquire", words, &mode_name, &timeout)) return NULL;
  if (mode_name && parse_mode(mode_name, &mode) < 0) return NULL;
  if (mode & ~(uint32_t)CONSORT_M_RW) return PyErr_SetString(PyExc_ValueError, "acquire: 'r', 'w' or 'rw' is expected"), NULL;
  if (d->readonly && (mode & CONSORT_M_W)) return PyErr_SetString(PyExc_ValueError, "the array is read-only"), NULL;
  const double seconds = timeout == Py_None ? -1 : PyFloat_AsDouble(timeout);
  if (PyErr_Occurred() || !takes_new(d->runtime)) return NULL;
  if (!d->registered) return raise_status(NULL, CONSORT_E_STALE, "the datum is not registered any more");
  const unsigned long thread = PyThread_get_thread_ident();
  if (d->nholds && d->holder == thread && ((mode & CONSORT_M_W) || d->holder_writes))
    return raise_status(NULL, CONSORT_E_BUSY, "this thread has acquired the datum and would wait for itself: release it first");
  consort_hold hold;
  char why[1024];
  const consort_status s = acquire(d, mode, ns_of(seconds), &hold, why, sizeof why);
  if (s == CONSORT_AGAIN) return NULL;
  if (s < 0) return raise_status(d->runtime, s, why);
  PyObject *array = data_view(d, hold.view, mode);
  Hold *h = array ? PyObject_New(Hold, &HoldType) : NULL;
  if (!h) {
    Py_XDECREF(array);
    consort_release(d->runtime->rt, hold);
    return NULL;
  }
  h->data = (Data *)Py_NewRef(self);
  h->array = array, h->hold = hold, h->released = false;
  d->holder_writes = (d->nholds && d->holder_writes) || (mode & CONSORT_M_W);
  ++d->nholds, ++d->runtime->nholds;
  d->holder = d->runtime->holder = thread;
  return (PyObject *)h;
}

static PyObject *invalidate(PyObject *self, PyObject *unused) {
  (void)unused;
  Data *d = (Data *)self;
  if (!usable(d->runtime)) return NULL;
  const Unlocked u = unlock();
  const consort_status s = consort_invalidate(d->runtime->rt, d->id);
  lock(u);
  if (s < 0) return raise_last(d->runtime, s);
  Py_RETURN_NONE;
}

/* Data._partition(filter, parameters, views): views are the parts of the home, in the order of the filter. Returns (plan, parts). */
PyObject *data_partition(PyObject *self, PyObject *args, PyObject *kw) {
  (void)kw;
  Data *d = (Data *)self;
  const char *filter;
  Py_buffer parameters;
  PyObject *views;
  if (!PyArg_ParseTuple(args, "sy*O!:_partition", &filter, &parameters, &PyList_Type, &views)) return NULL;
  const Py_ssize_t n = PyList_GET_SIZE(views);
  consort_plan_desc desc = CONSORT_PLAN_INIT;
  desc.filter = filter, desc.params = parameters.buf, desc.params_bytes = (uint64_t)parameters.len;
  consort_data_id *ids = calloc((size_t)n + 1, sizeof *ids);
  consort_plan_id plan = {0};
  int64_t found = CONSORT_E_NOMEM;
  if (ids && usable(d->runtime)) {
    const Unlocked u = unlock();
    found = consort_plan_create(d->runtime->rt, d->id, &desc, &plan);
    if (found >= 0) found = consort_plan_parts(d->runtime->rt, plan, ids, (uint32_t)n);
    lock(u);
    if (found < 0) raise_last(d->runtime, (consort_status)found);
    else if (found != n) PyErr_Format(PyExc_SystemError, "the filter made %lld parts instead of %zd", (long long)found, n);
  }
  PyBuffer_Release(&parameters);
  PyObject *parts = PyErr_Occurred() ? NULL : PyList_New(n);
  for (Py_ssize_t i = 0; parts && i < n; ++i) {
    Data *part = data_new(d->runtime, PyList_GET_ITEM(views, i), PyList_GET_ITEM(views, i), d);
    if (!part) {
      Py_CLEAR(parts);
      break;
    }
    part->id = ids[i], part->registered = true;
    if (d->readonly) part->readonly = true;
    PyList_SET_ITEM(parts, i, (PyObject *)part);
  }
  free(ids);
  if (!parts && plan.v) consort_plan_destroy(d->runtime->rt, plan);
  if (!parts) return NULL;
  return Py_BuildValue("KN", (unsigned long long)plan.v, parts);
}

static PyObject *unpartition(PyObject *self, PyObject *args) {
  Data *d = (Data *)self;
  unsigned long long plan;
  if (!PyArg_ParseTuple(args, "K:_unpartition", &plan) || !usable(d->runtime)) return NULL;
  const Unlocked u = unlock();
  const consort_status s = consort_plan_destroy(d->runtime->rt, (consort_plan_id){plan});
  lock(u);
  if (s < 0) return raise_last(d->runtime, s);
  Py_RETURN_NONE;
}

/* Methods that the package writes in Python: consort._data.NAME(self, ...). */
static PyObject *in_package(PyObject *self, const char *name, PyObject *args, PyObject *kw) {
  PyObject *module = PyImport_ImportModule("consort._data"), *function = module ? PyObject_GetAttrString(module, name) : NULL;
  PyObject *bound = function ? PyMethod_New(function, self) : NULL;
  PyObject *value = bound ? PyObject_Call(bound, args, kw) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(function);
  Py_XDECREF(bound);
  return value;
}
static PyObject *reduction(PyObject *self, PyObject *args, PyObject *kw) { return in_package(self, "reduction", args, kw); }
static PyObject *partition(PyObject *self, PyObject *args, PyObject *kw) { return in_package(self, "partition", args, kw); }
static PyObject *tiles(PyObject *self, PyObject *args, PyObject *kw) { return in_package(self, "tiles", args, kw); }

static PyObject *get_shape(PyObject *self, void *c) {
  (void)c;
  return PyObject_GetAttrString(((Data *)self)->readable, "shape");
}
static PyObject *get_layout(PyObject *self, void *c) {
  (void)c;
  static const char *const names[] = {"variable", "vector", "matrix", "block", "ndim"};
  return PyUnicode_FromString(names[((Data *)self)->layout]);
}
static PyObject *get_registered(PyObject *self, void *c) {
  (void)c;
  const Data *d = (const Data *)self;
  return PyBool_FromLong(d->registered && !d->runtime->stopped);
}

static PyMethodDef methods[] = {
  {"acquire", (PyCFunction)(void (*)(void))acquire_method, METH_VARARGS | METH_KEYWORDS, "acquire(mode='r', timeout=None)\n--\n\nWaits for the tasks before, and returns a hold: a context manager that gives the array."},
  {"unregister", unregister, METH_NOARGS, "unregister()\n--\n\nWaits for the datum's tasks; afterwards the array is the program's own again."},
  {"invalidate", invalidate, METH_NOARGS, "invalidate()\n--\n\nDrops the contents, in order with the tasks; heals a datum whose writer failed."},
  {"reduction", (PyCFunction)(void (*)(void))reduction, METH_VARARGS | METH_KEYWORDS, "reduction(init, combine)\n--\n\nMakes redux(x) possible: init is the neutral element or a function that fills it into an array; combine a NumPy ufunc of two\narguments or a function that adds its second array to the first."},
  {"partition", (PyCFunction)(void (*)(void))partition, METH_VARARGS | METH_KEYWORDS, "partition(parts, axis=0)\n--\n\nDivides along an axis into a number of parts, or into parts of the sizes of a list; returns a Partition."},
  {"tiles", (PyCFunction)(void (*)(void))tiles, METH_VARARGS | METH_KEYWORDS, "tiles(rows, columns)\n--\n\nDivides a matrix into rows times columns tiles; returns a Partition whose [i, j] is a tile."},
  {"_reduction", (PyCFunction)(void (*)(void))data_reduction, METH_VARARGS | METH_KEYWORDS, NULL},
  {"_partition", (PyCFunction)(void (*)(void))data_partition, METH_VARARGS | METH_KEYWORDS, NULL},
  {"_unpartition", unpartition, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL}};
static PyMemberDef members[] = {
  {"array", T_OBJECT, offsetof(Data, object), READONLY, "What was registered. Not to be touched without a hold before unregister()."},
  {"dtype", T_OBJECT, offsetof(Data, dtype), READONLY, "The type of an element."},
  {"runtime", T_OBJECT, offsetof(Data, runtime), READONLY, "The runtime that it is registered in."},
  {"parent", T_OBJECT, offsetof(Data, parent), READONLY, "The datum that it is a part of, or None."},
  {NULL, 0, 0, 0, NULL}};
static PyGetSetDef getset[] = {
  {"shape", get_shape, NULL, "The sizes.", NULL},
  {"layout", get_layout, NULL, "The layout in the runtime: 'variable', 'vector', 'matrix', 'block' or 'ndim'.", NULL},
  {"registered", get_registered, NULL, "Whether tasks may use it.", NULL},
  {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject DataType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort.Data",
  .tp_basicsize = sizeof(Data),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = dealloc,
  .tp_methods = methods,
  .tp_members = members,
  .tp_getset = getset,
  .tp_weaklistoffset = offsetof(Data, weakrefs),
  .tp_doc = "An array that tasks use: made by Runtime.data().",
};
