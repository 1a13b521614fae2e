/* errors.c — statuses and failures as exceptions. The text of a body's failure carries a token, "{exception 17}", by which the
 * exception itself is found again when a dependent task reports the text in its chain of causes. */
#include "core.h"
#include <unistd.h>

static PyObject *make_error; /* consort._errors.make_error */
enum { MOST_FAILURES = 256 };

int errors_init(PyObject *function) {
  Py_INCREF(function);
  Py_XSETREF(make_error, function);
  return 0;
}

PyObject *error_of(Runtime *self, consort_status status, const char *text, const char *task) {
  PyObject *failures = self && self->failures ? self->failures : Py_None;
  PyObject *error = PyObject_CallFunction(make_error, "siszO", consort_status_name(status), (int)status, text ? text : "", task, failures);
  return error ? error : take_exception();
}

PyObject *raise_status(Runtime *self, consort_status status, const char *text) {
  PyObject *error = error_of(self, status, text, NULL);
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

PyObject *raise_last(Runtime *self, consort_status status) { return raise_status(self, status, consort_error()); }

PyObject *take_exception(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (!type) return PyObject_CallFunction(PyExc_SystemError, "s", "a function failed without an exception");
  PyErr_NormalizeException(&type, &value, &trace);
  if (trace) PyException_SetTraceback(value, trace);
  Py_DECREF(type);
  Py_XDECREF(trace);
  return value;
}

static PyObject *text_of(PyObject *exception) { /* "ValueError: bad" */
  PyObject *text = PyObject_Str(exception);
  if (!text) {
    PyErr_Clear();
    text = PyUnicode_FromString("?");
  }
  const char *type = Py_TYPE(exception)->tp_name;
  PyObject *whole = text ? PyUnicode_FromFormat(PyUnicode_GetLength(text) ? "%s: %U" : "%s", type, text) : NULL;
  Py_XDECREF(text);
  if (!whole) PyErr_Clear();
  return whole;
}

consort_status fail_with_exception(Runtime *self, PyObject *exception) {
  PyObject *text = text_of(exception);
  PyObject *token = PyLong_FromUnsignedLongLong(++self->next_failure);
  if (token && PyDict_SetItem(self->failures, token, exception) < 0) PyErr_Clear();
  if (PyDict_GET_SIZE(self->failures) > MOST_FAILURES) { /* the oldest goes: dicts keep their order */
    Py_ssize_t at = 0;
    PyObject *key;
    if (PyDict_Next(self->failures, &at, &key, NULL)) {
      Py_INCREF(key);
      if (PyDict_DelItem(self->failures, key) < 0) PyErr_Clear();
      Py_DECREF(key);
    }
  }
  PyObject *whole = text ? PyUnicode_FromFormat("%U {exception %llu}", text, (unsigned long long)self->next_failure) : NULL;
  const char *utf8 = whole ? PyUnicode_AsUTF8(whole) : NULL;
  if (!utf8) PyErr_Clear();
  consort_fail(CONSORT_E_INTERNAL, utf8 ? utf8 : "a Python exception");
  Py_XDECREF(whole);
  Py_XDECREF(text);
  Py_XDECREF(token);
  Py_DECREF(exception);
  return CONSORT_E_INTERNAL;
}

bool usable(Runtime *self) {
  if (!self->started) {
    raise_status(NULL, CONSORT_E_STOPPED, "the runtime has not been started");
    return false;
  }
  if (self->owner_pid != (int)getpid()) {
    raise_status(NULL, CONSORT_E_STOPPED,
                 "this process was forked from the one that started the runtime, and has no runtime: start one here, or use "
                 "multiprocessing with the start method 'spawn' or 'forkserver'");
    return false;
  }
  if (self->stopped) {
    raise_status(NULL, CONSORT_E_STOPPED, "the runtime has stopped: start another");
    return false;
  }
  return true;
}

bool takes_new(Runtime *self) {
  if (!usable(self)) return false;
  if (!self->stopping || bodies_on_stack || callbacks_on_stack) return true;
  raise_status(NULL, CONSORT_E_STOPPED, "the runtime is being stopped: it takes no new tasks");
  return false;
}
