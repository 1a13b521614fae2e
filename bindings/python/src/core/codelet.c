/* codelet.c — codelets: one for each qualified name of a function, so that traces, errors and models tell functions apart; those of
 * functions in C and of texts for devices; and the two of a reduction. They live until the runtime stops. */
#include "core.h"

static PyObject *name_of(PyObject *function) { /* new reference */
  if (PyFunction_Check(function)) return Py_NewRef(((PyFunctionObject *)function)->func_qualname);
  PyObject *name = PyObject_GetAttrString(function, "__qualname__");
  if (name && PyUnicode_Check(name)) return name;
  Py_XDECREF(name);
  PyErr_Clear();
  return PyUnicode_FromString(Py_TYPE(function)->tp_name);
}

static int add_codelet(Runtime *self, const char *name, const consort_impl *impl, consort_codelet_id *out) {
  consort_codelet c = CONSORT_CODELET_INIT;
  c.name = name, c.impls = impl, c.nimpls = 1;
  const Unlocked u = unlock();
  const consort_status s = consort_codelet_add(self->rt, &c, out);
  lock(u);
  if (s < 0) raise_last(self, s);
  return s < 0 ? -1 : 0;
}

static int find(Runtime *self, PyObject *key, consort_codelet_id *out) { /* 1: found; < 0: exception */
  PyObject *number = PyDict_GetItemWithError(self->codelets, key);
  if (!number) return PyErr_Occurred() ? -1 : 0;
  out->v = PyLong_AsUnsignedLongLong(number);
  return 1;
}

static int keep(Runtime *self, PyObject *key, consort_codelet_id id) {
  PyObject *number = PyLong_FromUnsignedLongLong(id.v);
  const int s = number ? PyDict_SetItem(self->codelets, key, number) : -1;
  Py_XDECREF(number);
  return s;
}

int codelet_of(Runtime *self, PyObject *function, consort_codelet_id *out) {
  if (PyFunction_Check(function) && ((PyFunctionObject *)function)->func_qualname == self->last_name) {
    *out = self->last_codelet;
    return 0;
  }
  PyObject *name = name_of(function);
  if (!name) return -1;
  int s = find(self, name, out);
  if (s == 0) {
    const char *utf8 = PyUnicode_AsUTF8(name);
    const consort_impl impl = {.klass = "cpu", .fn = run_python};
    s = utf8 ? add_codelet(self, utf8, &impl, out) : -1;
    if (s == 0) s = keep(self, name, *out);
  }
  if (s >= 0) {
    Py_XSETREF(self->last_name, Py_NewRef(name));
    self->last_codelet = *out;
  }
  Py_DECREF(name);
  return s < 0 ? -1 : 0;
}

int codelet_of_native(Runtime *self, Native *f, consort_codelet_id *out) {
  const int s = find(self, (PyObject *)f, out);
  if (s) return s < 0 ? -1 : 0;
  consort_impl impl = {.klass = PyUnicode_AsUTF8(f->klass), .fn = (consort_call_fn *)f->function};
  const consort_portable portable = CONSORT_PORTABLE_INIT;
  if (f->text) {
    impl.format = PyUnicode_AsUTF8(f->format), impl.entry = PyUnicode_AsUTF8(f->entry);
    impl.text = PyUnicode_AsUTF8(f->text);
    impl.user = (void *)&portable;
  }
  const char *name = PyUnicode_AsUTF8(f->name);
  if (!name || !impl.klass || (f->text && (!impl.format || !impl.entry || !impl.text))) return -1;
  if (add_codelet(self, name, &impl, out) < 0) return -1;
  return keep(self, (PyObject *)f, *out);
}

/* -- reductions --------------------------------------------------------------------------------------- */

/* shape: a copy of what data_view() reads. The datum itself may end before its copies are united. */
typedef struct Reducer { Runtime *runtime; Data shape; PyObject *function; bool combines; } Reducer;

static void reducer_free(PyObject *capsule) {
  Reducer *r = PyCapsule_GetPointer(capsule, NULL);
  Py_XDECREF(r->function);
  Py_XDECREF(r->shape.dtype);
  free(r);
}

static consort_status run_reducer(const consort_call *call) {
  Reducer *r = call->user;
  enter_python();
  ++bodies_on_stack;
  PyObject *args[2] = {data_view(&r->shape, call->views[0], CONSORT_M_RW), NULL};
  if (args[0] && r->combines) args[1] = data_view(&r->shape, call->views[1], CONSORT_M_R);
  PyObject *value = NULL;
  if (args[0] && (args[1] || !r->combines)) value = PyObject_Vectorcall(r->function, args, r->combines ? 2 : 1, NULL);
  consort_status s = CONSORT_OK;
  if (!value) s = fail_with_exception(r->runtime, take_exception());
  Py_XDECREF(value);
  Py_XDECREF(args[0]);
  Py_XDECREF(args[1]);
  --bodies_on_stack;
  leave_python();
  return s;
}

static int add_reducer(Data *d, PyObject *function, bool combines, PyObject *list, consort_codelet_id *out) {
  Reducer *r = malloc(sizeof *r);
  if (!r) return PyErr_NoMemory(), -1;
  *r = (Reducer){d->runtime, *d, Py_NewRef(function), combines};
  r->shape.readable = r->shape.writable = NULL; /* views are made of the memory that is given */
  Py_INCREF(r->shape.dtype);
  PyObject *capsule = PyCapsule_New(r, NULL, reducer_free);
  if (!capsule) {
    Py_DECREF(function);
    Py_DECREF(r->shape.dtype);
    free(r);
    return -1;
  }
  int s = PyList_Append(list, capsule);
  Py_DECREF(capsule);
  const consort_impl impl = {.klass = "cpu", .fn = run_reducer, .user = r};
  if (s == 0) s = add_codelet(d->runtime, combines ? "combine" : "init", &impl, out);
  return s;
}

PyObject *data_reduction(PyObject *self, PyObject *args, PyObject *kw) {
  Data *d = (Data *)self;
  static char *words[] = {"init", "combine", NULL};
  PyObject *init, *combine;
  if (!PyArg_ParseTupleAndKeywords(args, kw, "OO:reduction", words, &init, &combine)) return NULL;
  if (!usable(d->runtime)) return NULL;
  if (!PyCallable_Check(init) || !PyCallable_Check(combine))
    return PyErr_SetString(PyExc_TypeError, "reduction(init, combine): two functions of arrays"), NULL;
  if (d->reducers) return PyErr_SetString(PyExc_ValueError, "the datum has its reduction already"), NULL;
  PyObject *list = PyList_New(0);
  if (!list) return NULL;
  consort_status s = CONSORT_OK;
  if (add_reducer(d, init, false, list, &d->reducer_ids[0]) == 0 && add_reducer(d, combine, true, list, &d->reducer_ids[1]) == 0) {
    const Unlocked u = unlock();
    s = consort_data_set_reduction(d->runtime->rt, d->id, d->reducer_ids[0], d->reducer_ids[1]);
    lock(u);
    if (s >= 0) {
      d->reducers = list;
      Py_RETURN_NONE;
    }
    raise_last(d->runtime, s);
  }
  if (PyList_Append(d->runtime->kept, list) < 0) PyErr_Clear(); /* a codelet may refer to it */
  else Py_DECREF(list);
  return NULL;
}

void end_reduction(Data *d) {
  if (!d->reducers) return;
  bool removed = true; /* inside a task it is not allowed: the codelets, and what they refer to, live until the stop then */
  const Unlocked u = unlock();
  for (int i = 0; i < 2 && !d->runtime->stopped; ++i) removed &= consort_codelet_remove(d->runtime->rt, d->reducer_ids[i]) >= 0;
  lock(u);
  if (!removed && PyList_Append(d->runtime->kept, d->reducers) < 0) {
    PyErr_Clear();
    Py_INCREF(d->reducers);
  }
  Py_CLEAR(d->reducers);
}
