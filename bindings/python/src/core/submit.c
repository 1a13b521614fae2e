/* submit.c — submission: submit() with a future, post() without, for_each() for many at a time. A submission keeps the GIL while few
 * tasks are pending: it cannot wait then, and giving the GIL away costs more than the submission. */
#include "core.h"

enum { MOST_USES = 64, BATCH = 256 };

typedef struct Options { PyObject *name, *after; long priority; consort_task_id inline_after[16], *ids; uint32_t nafter, room; } Options;

static int add_after(Runtime *self, Options *o, PyObject *object) {
  if (Py_TYPE(object) != future_type) {
    PyErr_Format(PyExc_TypeError, "after: a consort.Future or several are expected, not %.80s", Py_TYPE(object)->tp_name);
    return -1;
  }
  const Future *f = (Future *)object;
  if (f->runtime != self) {
    PyErr_SetString(PyExc_ValueError, "a future of another runtime: wait for its result and pass that");
    return -1;
  }
  if (o->nafter == o->room) {
    const uint32_t room = o->room * 4;
    consort_task_id *more = malloc(room * sizeof *more);
    if (!more) return PyErr_NoMemory(), -1;
    memcpy(more, o->ids, o->nafter * sizeof *more);
    if (o->ids != o->inline_after) free(o->ids);
    o->ids = more, o->room = room;
  }
  o->ids[o->nafter++] = (consort_task_id){f->id};
  return 0;
}

static int read_after(Runtime *self, Options *o) {
  if (!o->after || o->after == Py_None) return 0;
  if (Py_TYPE(o->after) == future_type) return add_after(self, o, o->after);
  PyObject *list = PySequence_Fast(o->after, "after: a consort.Future or several are expected");
  if (!list) return -1;
  int s = 0;
  for (Py_ssize_t i = 0; s == 0 && i < PySequence_Fast_GET_SIZE(list); ++i) s = add_after(self, o, PySequence_Fast_GET_ITEM(list, i));
  Py_DECREF(list);
  return s;
}

static int set_option(Options *o, PyObject *name, PyObject *value) { /* 1: not an option; < 0: exception */
  if (PyUnicode_CompareWithASCIIString(name, "priority") == 0) {
    o->priority = PyLong_AsLong(value);
    if (o->priority == -1 && PyErr_Occurred()) return -1;
    if (o->priority == (int32_t)o->priority) return 0;
    PyErr_SetString(PyExc_OverflowError, "priority: a number of 32 bits is expected");
    return -1;
  }
  if (PyUnicode_CompareWithASCIIString(name, "after") == 0) return o->after = value, 0;
  if (PyUnicode_CompareWithASCIIString(name, "name")) return 1;
  if (value != Py_None && !PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "name: a str is expected, not %.80s", Py_TYPE(value)->tp_name);
    return -1;
  }
  o->name = value == Py_None ? NULL : value;
  return 0;
}

/* Adds one argument to the task and what follows of it to the description. Returns < 0: exception. */
static int add_argument(Runtime *self, Task *t, uint32_t i, PyObject *arg, consort_use *uses, Options *o) {
  PyTypeObject *type = Py_TYPE(arg);
  if (type != &AccessType && type != &DataType && type != future_type) {
    t->args[i] = Py_NewRef(arg);
    return 0;
  }
  if (type == future_type) {
    t->args[i] = Py_NewRef(arg);
    t->has_futures = true;
    return add_after(self, o, arg);
  }
  const uint32_t mode = type == &AccessType ? ((Access *)arg)->mode : CONSORT_M_R;
  PyObject *object = type == &AccessType ? ((Access *)arg)->object : arg;
  Data *d = data_of(self, object);
  if (!d) return -1;
  if (d->readonly && (mode & (CONSORT_M_W | CONSORT_M_REDUX))) {
    PyErr_SetString(PyExc_ValueError, "the array is read-only: a task may only read it");
    return -1;
  }
  if (t->nuses == MOST_USES) {
    PyErr_Format(PyExc_ValueError, "a task uses at most %d data", MOST_USES);
    return -1;
  }
  if (type == &AccessType && object == (PyObject *)d) {
    t->args[i] = Py_NewRef(arg);
  } else {
    Access *a = PyObject_New(Access, &AccessType);
    if (!a) return -1;
    a->object = Py_NewRef((PyObject *)d);
    a->mode = mode;
    t->args[i] = (PyObject *)a;
  }
  uses[t->nuses++] = (consort_use){d->id, mode, 0};
  return 0;
}

/* Takes the arguments behind the function. Returns NULL: exception. */
static Task *read_task(Runtime *self, PyObject *const *args, Py_ssize_t n, PyObject *names, consort_use *uses, Options *o) {
  const Py_ssize_t nnames = names ? PyTuple_GET_SIZE(names) : 0;
  Task *t = task_new(self, args[0], (uint32_t)(n - 1 + nnames));
  if (!t) return NULL;
  uint32_t i = 0;
  int s = 0;
  for (; s == 0 && i < n - 1; ++i) s = add_argument(self, t, i, args[i + 1], uses, o);
  PyObject *own = NULL;
  for (Py_ssize_t k = 0; s == 0 && k < nnames; ++k) {
    PyObject *name = PyTuple_GET_ITEM(names, k), *value = args[n + k];
    s = set_option(o, name, value);
    if (s != 1) continue;
    if (!own) own = PyList_New(0);
    s = own ? PyList_Append(own, name) : -1;
    if (s == 0) s = add_argument(self, t, i++, value, uses, o);
  }
  t->nargs = s == 0 ? i : t->nargs;
  if (s == 0 && own && !(t->names = PyList_AsTuple(own))) s = -1;
  Py_XDECREF(own);
  if (s == 0 && read_after(self, o) == 0) return t;
  task_release(t);
  task_free(t);
  return NULL;
}

/* A function of C gets the plain values: numbers by value. Returns < 0: exception. */
static int native_values(const Task *t, consort_arg *out, uint32_t *nout) {
  for (uint32_t i = 0; i < t->nargs; ++i) {
    PyObject *arg = t->args[i];
    if (Py_TYPE(arg) == &AccessType) continue;
    if (*nout == 32) return PyErr_SetString(PyExc_ValueError, "a function in C takes at most 32 values"), -1;
    consort_arg *a = &out[(*nout)++];
    *a = (consort_arg){.kind = CONSORT_ARG_SCALAR, .bytes = 8};
    if (PyFloat_Check(arg)) {
      const double value = PyFloat_AS_DOUBLE(arg);
      memcpy(&a->scalar, &value, 8);
    } else if (PyLong_Check(arg)) {
      a->scalar = (uint64_t)PyLong_AsLongLong(arg);
      if (PyErr_Occurred()) return -1;
    } else if (PyObject_CheckBuffer(arg)) { /* a NumPy scalar: as many bytes as it has */
      Py_buffer b;
      if (PyObject_GetBuffer(arg, &b, PyBUF_SIMPLE) < 0) return -1;
      const bool fits = b.len <= 8;
      if (fits) memcpy(&a->scalar, b.buf, (size_t)b.len), a->bytes = (uint32_t)b.len;
      PyBuffer_Release(&b);
      if (!fits) return PyErr_SetString(PyExc_TypeError, "a value of more than 8 bytes: register it as a datum"), -1;
    } else {
      PyErr_Format(PyExc_TypeError, "a function in C takes data and numbers, not %.80s", Py_TYPE(arg)->tp_name);
      return -1;
    }
  }
  return 0;
}

static consort_status hand_over(Runtime *self, const consort_task_desc *d, consort_task_id *id) {
  if (atomic_fetch_add_explicit(&self->pending, 1, memory_order_relaxed) < self->keep_gil_below) {
    const int kept = keeps_gil;
    keeps_gil = 1;
    const consort_status s = consort_submit(self->rt, d, id);
    keeps_gil = kept;
    return s;
  }
  const Unlocked u = unlock();
  const consort_status s = consort_submit(self->rt, d, id);
  lock(u);
  return s;
}

/* Submits and gives the task away; on an error it is freed here. */
static int send(Runtime *self, Task *t, const consort_use *uses, const Options *o, bool native) {
  consort_task_desc d = CONSORT_TASK_INIT;
  consort_arg values[32] = {{.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = (uintptr_t)t}};
  d.args = values;
  d.nargs = native ? 0 : 1;
  d.uses = uses, d.nuses = t->nuses;
  d.priority = (int32_t)o->priority;
  d.after = o->ids, d.nafter = o->nafter;
  d.done = task_done, d.done_arg = t;
  int s = native ? native_values(t, values, &d.nargs) : 0;
  if (s == 0) s = native ? codelet_of_native(self, (Native *)t->function, &d.codelet) : codelet_of(self, t->function, &d.codelet);
  if (s == 0 && o->name && !(d.name = PyUnicode_AsUTF8(o->name))) s = -1;
  Future *f = t->future;
  Py_XINCREF(f); /* the task may end, and be freed, before the submission returns */
  consort_task_id id = {0};
  if (s == 0) {
    const consort_status status = hand_over(self, &d, &id);
    if (status < 0) {
      atomic_fetch_sub_explicit(&self->pending, 1, memory_order_relaxed);
      raise_last(self, status);
      s = -1;
    } else if (f) {
      f->id = id.v;
    }
  }
  Py_XDECREF(f);
  if (s == 0) return 0;
  task_release(t);
  task_free(t);
  return -1;
}

static PyObject *submit(Runtime *self, PyObject *const *args, Py_ssize_t n, PyObject *names, bool with_future) {
  if (!takes_new(self)) return NULL;
  if (n < 1) return PyErr_SetString(PyExc_TypeError, "the function is missing"), NULL;
  const bool native = Py_TYPE(args[0]) == &NativeType;
  if (!native && !PyCallable_Check(args[0])) {
    PyErr_Format(PyExc_TypeError, "a function is expected, not %.80s", Py_TYPE(args[0])->tp_name);
    return NULL;
  }
  reap(self);
  Options o = {.room = 16};
  o.ids = o.inline_after;
  consort_use uses[MOST_USES];
  Task *t = read_task(self, args, n, names, uses, &o);
  PyObject *answer = NULL;
  if (t) {
    Future *f = with_future ? future_new(self) : NULL;
    t->future = (Future *)Py_XNewRef((PyObject *)f);
    if (with_future && !f) {
      task_release(t);
      task_free(t);
    } else if (send(self, t, uses, &o, native) == 0) {
      answer = f ? Py_NewRef((PyObject *)f) : Py_NewRef(Py_None);
    }
    Py_XDECREF(f);
  }
  if (o.ids != o.inline_after) free(o.ids);
  return answer;
}

PyObject *runtime_submit(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  return submit((Runtime *)self, args, n, names, true);
}

PyObject *runtime_post(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  return submit((Runtime *)self, args, n, names, false);
}

/* Up to BATCH tasks at a time: the GIL is given away once for them. */
static int send_batch(Runtime *self, Task **tasks, uint32_t n, consort_task_desc *d) {
  consort_status status = CONSORT_OK;
  uint32_t i = 0;
  char text[256];
  atomic_fetch_add_explicit(&self->pending, n, memory_order_relaxed);
  const Unlocked u = unlock();
  for (; i < n; ++i) {
    const consort_arg value = {.kind = CONSORT_ARG_SCALAR, .bytes = 8, .scalar = (uintptr_t)tasks[i]};
    d->args = &value, d->nargs = 1, d->done_arg = tasks[i];
    if ((status = consort_submit(self->rt, d, NULL)) < 0) break;
  }
  if (status < 0) snprintf(text, sizeof text, "%s", consort_error());
  lock(u);
  if (status >= 0) return 0;
  atomic_fetch_sub_explicit(&self->pending, n - i, memory_order_relaxed);
  for (; i < n; ++i) task_release(tasks[i]), task_free(tasks[i]);
  raise_status(self, status, text);
  return -1;
}

static Task *next_task(Runtime *self, PyObject *function, PyObject *iterator, uint32_t grain) {
  Task *t = task_new(self, function, grain);
  if (!t) return NULL;
  t->nargs = 0;
  while (t->nargs < grain && (t->args[t->nargs] = PyIter_Next(iterator))) ++t->nargs;
  t->items = t->nargs;
  if (t->nargs && !PyErr_Occurred()) return t;
  task_release(t);
  task_free(t);
  return NULL;
}

PyObject *runtime_for_each(PyObject *object, PyObject *args, PyObject *kw) {
  Runtime *self = (Runtime *)object;
  static char *words[] = {"function", "items", "grain", "name", "priority", NULL};
  PyObject *function, *items;
  unsigned int grain = 1;
  const char *name = NULL;
  int priority = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|Izi:for_each", words, &function, &items, &grain, &name, &priority)) return NULL;
  if (!takes_new(self)) return NULL;
  if (!PyCallable_Check(function) || !grain || grain > 1 << 20)
    return PyErr_SetString(PyExc_TypeError, "for_each(function, items, grain=1): a function, and a grain from 1 to 2**20"), NULL;
  consort_task_desc d = CONSORT_TASK_INIT;
  d.priority = priority, d.done = task_done, d.name = name;
  if (codelet_of(self, function, &d.codelet) < 0) return NULL;
  PyObject *iterator = PyObject_GetIter(items);
  if (!iterator) return NULL;
  reap(self);
  Task *tasks[BATCH];
  Py_ssize_t count = 0;
  for (bool more = true; more;) {
    uint32_t n = 0;
    while (n < BATCH && (tasks[n] = next_task(self, function, iterator, grain))) count += tasks[n++]->nargs;
    more = n == BATCH;
    if (n) { /* what came before an exception of the iterator is submitted all the same */
      PyObject *type, *value, *trace;
      PyErr_Fetch(&type, &value, &trace);
      const int s = send_batch(self, tasks, n, &d);
      if (type && s < 0) PyErr_Clear();
      if (type || s == 0) PyErr_Restore(type, value, trace);
      if (s < 0 || PyErr_Occurred()) more = false;
    }
    if (more && PyErr_CheckSignals() < 0) more = false;
  }
  Py_DECREF(iterator);
  return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(count);
}
