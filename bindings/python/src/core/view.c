/* view.c — layouts: which one an array has, its registration, and the arrays that bodies get. Axis 0 of NumPy is the slowest, of Consort
 * the fastest: axis k here is axis ndim - 1 - k there. */
#include "core.h"
#include <stddef.h>

static int refuse(const char *why) {
  PyErr_SetString(PyExc_ValueError, why);
  return -1;
}

static void choose_layout(Data *d) { /* the plainest that fits; "ndim" fits all */
  const Py_ssize_t e = d->itemsize, *s = d->strides, *n = d->shape;
  d->layout = NDIM;
  if (d->ndim == 0) d->layout = VARIABLE;
  if (d->ndim == 1 && s[0] == e) d->layout = VECTOR;
  if (d->ndim == 2 && s[1] == e && s[0] >= n[1] * e) d->layout = MATRIX;
  if (d->ndim == 3 && s[2] == e && s[1] >= n[2] * e && s[0] >= n[1] * s[1]) d->layout = BLOCK;
}

int describe(Data *d, const Py_buffer *b) {
  if (b->ndim > MOST_DIMS) return refuse("an array of more than 8 dimensions: register parts of it");
  d->ndim = b->ndim, d->itemsize = b->itemsize, d->home = b->buf, d->readonly = b->readonly;
  Py_ssize_t packed = b->itemsize;
  for (int i = b->ndim - 1; i >= 0; --i) {
    d->shape[i] = b->shape[i];
    d->strides[i] = b->shape[i] == 1 || !b->strides ? packed : b->strides[i]; /* the step of a single element is never taken */
    packed = d->strides[i] * (d->shape[i] ? d->shape[i] : 1);
    if (d->shape[i] > 1 && d->strides[i] < 0) return refuse("an array with a negative stride: copy it, or register it unreversed");
    if (d->shape[i] > 1 && d->strides[i] == 0) return refuse("a broadcast array: its elements share memory; copy it first");
    if (d->itemsize && d->strides[i] % d->itemsize) return refuse("a stride that is no multiple of the element: copy the array first");
  }
  if (!d->itemsize) return refuse("elements of no bytes");
  if (!d->parent) choose_layout(d);
  return 0;
}

static uint64_t steps(const Data *d, int axis) { return (uint64_t)(d->strides[axis] / d->itemsize); }

consort_status register_data(Data *d, const char *name) {
  const uint64_t elem = (uint64_t)d->itemsize;
  consort_data_desc desc = {sizeof desc, 0, NULL, NULL, 0, name};
  union { consort_variable_args variable; consort_vector_args vector; consort_matrix_args matrix; consort_block_args block; consort_ndim_args ndim; } a;
  memset(&a, 0, sizeof a);
  const Py_ssize_t *n = d->shape;
  switch (d->layout) {
    case VARIABLE:
      desc.interface = "variable", desc.args_bytes = sizeof a.variable;
      a.variable = (consort_variable_args){d->home, elem};
      break;
    case VECTOR:
      desc.interface = "vector", desc.args_bytes = sizeof a.vector;
      a.vector = (consort_vector_args){d->home, (uint64_t)n[0], elem};
      break;
    case MATRIX:
      desc.interface = "matrix", desc.args_bytes = sizeof a.matrix;
      a.matrix = (consort_matrix_args){d->home, (uint64_t)n[1], (uint64_t)n[0], steps(d, 0), elem};
      break;
    case BLOCK:
      desc.interface = "block", desc.args_bytes = sizeof a.block;
      a.block = (consort_block_args){d->home, (uint64_t)n[2], (uint64_t)n[1], (uint64_t)n[0], steps(d, 1), steps(d, 0), elem};
      break;
    case NDIM:
      desc.interface = "ndim", desc.args_bytes = sizeof a.ndim;
      a.ndim = (consort_ndim_args){.ptr = d->home, .dims = (uint64_t)d->ndim, .elem = elem};
      for (int i = 0; i < d->ndim; ++i) {
        a.ndim.n[i] = (uint64_t)n[d->ndim - 1 - i];
        a.ndim.step[i] = steps(d, d->ndim - 1 - i);
      }
      break;
  }
  desc.args = &a;
  return consort_register(d->runtime->rt, &desc, &d->id);
}

/* -- arrays in memory that is not the home ------------------------------------------------------------------ */

typedef struct Replica { PyObject_HEAD char *memory; Py_ssize_t bytes; bool readonly; } Replica;

static int replica_buffer(PyObject *self, Py_buffer *out, int flags) {
  const Replica *r = (const Replica *)self;
  return PyBuffer_FillInfo(out, self, r->memory, r->bytes, r->readonly, flags);
}
static PyBufferProcs replica_procs = {replica_buffer, NULL};
static void replica_dealloc(PyObject *self) { PyObject_Free(self); }
PyTypeObject ReplicaType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort._core.Replica",
  .tp_basicsize = sizeof(Replica),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_as_buffer = &replica_procs,
  .tp_dealloc = replica_dealloc,
  .tp_doc = "Memory of the runtime, good during a body.",
};

/* Reads sizes and strides out of a view of the datum's layout. */
static char *read_view(const Data *d, const void *view, Py_ssize_t *shape, Py_ssize_t *strides) {
  const Py_ssize_t e = d->itemsize;
  switch (d->layout) {
    case VARIABLE: return consort_ptr(((const consort_variable_view *)view)->addr);
    case VECTOR: {
      const consort_vector_view *v = view;
      shape[0] = (Py_ssize_t)v->n, strides[0] = e;
      return consort_ptr(v->addr);
    }
    case MATRIX: {
      const consort_matrix_view *v = view;
      shape[0] = (Py_ssize_t)v->ny, shape[1] = (Py_ssize_t)v->nx, strides[0] = (Py_ssize_t)v->ld * e, strides[1] = e;
      return consort_ptr(v->addr);
    }
    case BLOCK: {
      const consort_block_view *v = view;
      shape[0] = (Py_ssize_t)v->nz, shape[1] = (Py_ssize_t)v->ny, shape[2] = (Py_ssize_t)v->nx;
      strides[0] = (Py_ssize_t)v->ldz * e, strides[1] = (Py_ssize_t)v->ldy * e, strides[2] = e;
      return consort_ptr(v->addr);
    }
    case NDIM: break;
  }
  const consort_ndim_view *v = view;
  for (int i = 0; i < d->ndim; ++i) {
    shape[i] = (Py_ssize_t)v->n[d->ndim - 1 - i];
    strides[i] = (Py_ssize_t)v->step[d->ndim - 1 - i] * e;
  }
  return consort_ptr(v->addr);
}

static PyObject *tuple_of(const Py_ssize_t *values, int n) {
  PyObject *t = PyTuple_New(n);
  for (int i = 0; t && i < n; ++i) {
    PyObject *v = PyLong_FromSsize_t(values[i]);
    if (!v) Py_CLEAR(t);
    else PyTuple_SET_ITEM(t, i, v);
  }
  return t;
}

static PyObject *replica_view(Data *d, char *memory, const Py_ssize_t *shape, const Py_ssize_t *strides, bool readonly) {
  Py_ssize_t bytes = d->itemsize;
  for (int i = 0; i < d->ndim; ++i) bytes = shape[i] ? bytes + (shape[i] - 1) * strides[i] : 0;
  for (int i = 0; i < d->ndim; ++i) if (!shape[i]) bytes = 0;
  Replica *r = PyObject_New(Replica, &ReplicaType);
  if (!r) return NULL;
  r->memory = memory, r->bytes = bytes, r->readonly = readonly;
  PyObject *numpy = PyImport_ImportModule("numpy"), *make = numpy ? PyObject_GetAttrString(numpy, "ndarray") : NULL;
  PyObject *sizes = tuple_of(shape, d->ndim), *steps_ = tuple_of(strides, d->ndim), *array = NULL;
  if (make && sizes && steps_) array = PyObject_CallFunction(make, "OOOnO", sizes, d->dtype, (PyObject *)r, (Py_ssize_t)0, steps_);
  Py_XDECREF(numpy);
  Py_XDECREF(make);
  Py_XDECREF(sizes);
  Py_XDECREF(steps_);
  Py_DECREF(r);
  return array;
}

PyObject *data_view(Data *d, const void *view, uint32_t mode) {
  const bool readonly = !(mode & (CONSORT_M_W | CONSORT_M_REDUX | CONSORT_M_SCRATCH));
  Py_ssize_t shape[MOST_DIMS], strides[MOST_DIMS];
  char *memory = read_view(d, view, shape, strides);
  if (memory == d->home) {
    PyObject *cached = readonly ? d->readable : d->writable;
    if (cached) return Py_NewRef(cached);
  }
  return replica_view(d, memory, shape, strides, readonly);
}
