/* task.c — one task: its body on a worker, its end, and the release of what it refers to. Owner: the task itself; freed by its end. */
#include "core.h"

Task *task_new(Runtime *self, PyObject *function, uint32_t nargs) {
  Task *t = malloc(sizeof(Task) + nargs * sizeof(PyObject *));
  if (!t) {
    PyErr_NoMemory();
    return NULL;
  }
  *t = (Task){.runtime = self, .function = Py_NewRef(function), .nargs = nargs};
  memset(t->args, 0, nargs * sizeof(PyObject *));
  return t;
}

/* Drops all but the data, which the runtime uses until the task has ended. */
static void release_all_but_data(Task *t) {
  for (uint32_t i = 0; i < t->nargs; ++i)
    if (!t->nuses || !t->args[i] || Py_TYPE(t->args[i]) != &AccessType) Py_CLEAR(t->args[i]);
  Py_CLEAR(t->names);
  Py_CLEAR(t->future);
  Py_CLEAR(t->function);
}

void task_release(Task *t) {
  release_all_but_data(t);
  for (uint32_t i = 0; i < t->nargs; ++i) Py_CLEAR(t->args[i]);
}

void task_free(Task *t) { free(t); }

/* Drops data of ended tasks. With the GIL, outside of callbacks of the runtime: the last reference unregisters a datum. */
void reap(Runtime *self) {
  if (!atomic_load_explicit(&self->finished, memory_order_relaxed)) return;
  /* acquire pairs with the release of task_done(): the tasks as their ends left them */
  for (Task *t = atomic_exchange_explicit(&self->finished, NULL, memory_order_acquire); t;) {
    Task *next = t->next;
    task_release(t);
    task_free(t);
    t = next;
  }
}

/* Replaces futures by their values and data by their views. < 0: exception; `out` has new references to what was made. */
static int resolve(Task *t, const consort_call *call, PyObject **out) {
  uint32_t view = 0;
  for (uint32_t i = 0; i < t->nargs; ++i) {
    PyObject *arg = t->args[i];
    if (Py_TYPE(arg) == &AccessType) {
      const Access *a = (Access *)arg;
      out[i] = data_view((Data *)a->object, call->views[view++], a->mode);
      if (!out[i]) return -1;
    } else if (Py_TYPE(arg) == future_type && ((Future *)arg)->value) {
      out[i] = Py_NewRef(((Future *)arg)->value);
    } else {
      out[i] = Py_NewRef(arg);
    }
  }
  return 0;
}

static bool is_replica(PyObject *array) { /* a view of memory that is the runtime's */
  PyObject *base = PyObject_GetAttrString(array, "base");
  if (!base) PyErr_Clear();
  PyObject *exporter = base && PyMemoryView_Check(base) ? PyMemoryView_GET_BUFFER(base)->obj : base;
  const bool is = exporter && Py_TYPE(exporter) == &ReplicaType;
  Py_XDECREF(base);
  return is;
}

/* Drops what resolve() made. < 0: the body kept a view of memory that ends with it. */
static int drop_resolved(Task *t, PyObject **made) {
  int kept = 0;
  for (uint32_t i = 0; i < t->nargs; ++i) {
    if (!made[i]) continue;
    if (Py_TYPE(t->args[i]) == &AccessType && Py_REFCNT(made[i]) > 1 && is_replica(made[i])) kept = -1;
    Py_DECREF(made[i]);
  }
  if (kept < 0 && !PyErr_Occurred())
    PyErr_SetString(PyExc_RuntimeError, "the task kept a view of memory that is only good during its body: keep a copy");
  return kept;
}

static PyObject *call_items(Task *t) { /* of for_each(): as many calls as arguments */
  for (uint32_t i = 0; i < t->nargs; ++i) {
    PyObject *value = PyObject_CallOneArg(t->function, t->args[i]);
    if (!value) return NULL;
    Py_DECREF(value);
  }
  return Py_NewRef(Py_None);
}

static PyObject *call_function(Task *t, const consort_call *call) {
  if (t->items) return call_items(t);
  const size_t nkeywords = t->names ? (size_t)PyTuple_GET_SIZE(t->names) : 0;
  if (!t->nuses && !t->has_futures) return PyObject_Vectorcall(t->function, t->args, t->nargs - nkeywords, t->names);
  PyObject *few[8] = {NULL};
  PyObject **made = t->nargs <= 8 ? few : calloc(t->nargs, sizeof *made);
  if (!made) return PyErr_NoMemory();
  PyObject *value = NULL;
  if (resolve(t, call, made) == 0) value = PyObject_Vectorcall(t->function, made, t->nargs - nkeywords, t->names);
  if (value && !t->future) Py_SETREF(value, Py_NewRef(Py_None)); /* it may be a view that the body was given */
  if (drop_resolved(t, made) < 0) Py_CLEAR(value);
  if (made != few) free(made);
  return value;
}

/* Tells the future, or the runtime, of the exception that is set. Returns the status of the body. */
static consort_status end_with_exception(Task *t) {
  PyObject *error = take_exception();
  if (PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt) && on_main_thread())
    PyErr_SetInterrupt(); /* the waiting code below this body gets it, too */
  if (t->future) future_set(t->future, NULL, error);
  else if (!t->runtime->first_failure) t->runtime->first_failure = Py_NewRef(error);
  return fail_with_exception(t->runtime, error);
}

consort_status run_python(const consort_call *call) {
  Task *t = (Task *)(uintptr_t)call->args[0].scalar;
  enter_python();
  ++bodies_on_stack;
  consort_status status = CONSORT_OK;
  if (t->future && !future_start(t->future)) {
    status = consort_fail(CONSORT_E_CANCELLED, "its future was cancelled");
  } else {
    PyObject *value = call_function(t, call);
    if (!value) {
      status = end_with_exception(t);
    } else {
      if (t->future) future_set(t->future, value, NULL);
      Py_DECREF(value);
    }
  }
  release_all_but_data(t);
  reap(t->runtime);
  --bodies_on_stack;
  leave_python();
  return status;
}

/* A task whose body did not run, or is a function in C. With the GIL. */
static void settle(Task *t, const consort_outcome *o) {
  PyObject *error = o->status < 0 ? error_of(t->runtime, o->status, o->text, o->name) : NULL;
  if (t->future) {
    if (future_start(t->future)) future_set(t->future, error ? NULL : Py_None, error);
  } else if (error && !t->runtime->first_failure && o->status != CONSORT_E_CANCELLED) {
    t->runtime->first_failure = Py_NewRef(error);
  }
  Py_XDECREF(error);
  release_all_but_data(t);
}

void task_done(void *arg, const consort_outcome *outcome) {
  Task *t = arg;
  Runtime *self = t->runtime;
  if (t->function) {
    enter_python();
    ++callbacks_on_stack;
    settle(t, outcome);
    --callbacks_on_stack;
    leave_python();
  }
  if (t->nuses) { /* release pairs with the acquire of reap() */
    t->next = atomic_load_explicit(&self->finished, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&self->finished, &t->next, t, memory_order_release, memory_order_relaxed)) {}
  } else {
    task_free(t);
  }
  atomic_fetch_sub_explicit(&self->pending, 1, memory_order_release);
}
