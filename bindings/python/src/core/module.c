/* module.c — the module `consort._core`: its types, the modes of access, functions in C, and its start. */
#include "core.h"
#include <stddef.h>
#include <structmember.h>

void runtime_init(void);

static PyObject *access_of(PyObject *object, uint32_t mode) {
  Access *a = PyObject_New(Access, &AccessType);
  if (!a) return NULL;
  a->object = Py_NewRef(object);
  a->mode = mode;
  return (PyObject *)a;
}
static PyObject *r(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_R); }
static PyObject *w(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_W); }
static PyObject *rw(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_RW); }
static PyObject *commute(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_RW | CONSORT_M_COMMUTE); }
static PyObject *redux(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_REDUX); }
static PyObject *scratch(PyObject *m, PyObject *x) { (void)m; return access_of(x, CONSORT_M_SCRATCH); }
static PyObject *access_by_name(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *object, *name;
  uint32_t mode;
  if (!PyArg_ParseTuple(args, "OO:access", &object, &name) || parse_mode(name, &mode) < 0) return NULL;
  return access_of(object, mode);
}

/* -- functions in C --------------------------------------------------------------------------------------------- */

static void native_dealloc(PyObject *self) {
  Native *f = (Native *)self;
  Py_XDECREF(f->name);
  Py_XDECREF(f->klass);
  Py_XDECREF(f->format);
  Py_XDECREF(f->text);
  Py_XDECREF(f->entry);
  Py_XDECREF(f->kept);
  PyObject_Free(self);
}
static PyMemberDef native_members[] = {{"name", T_OBJECT, offsetof(Native, name), READONLY, "Its name in traces and errors."}, {NULL, 0, 0, 0, NULL}};
PyTypeObject NativeType = {
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = "consort.Native",
  .tp_basicsize = sizeof(Native),
  .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .tp_dealloc = native_dealloc,
  .tp_members = native_members,
  .tp_doc = "A function in C, or the text of a kernel, as the function of tasks.",
};

/* _native(address, name, class, format, text, entry, keep) */
static PyObject *native(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *address, *name, *klass, *format, *text, *entry, *kept;
  if (!PyArg_ParseTuple(args, "OUUOOOO:_native", &address, &name, &klass, &format, &text, &entry, &kept)) return NULL;
  void *function = address == Py_None ? NULL : PyLong_AsVoidPtr(address);
  if (PyErr_Occurred()) return NULL;
  if (!function && text == Py_None) return PyErr_SetString(PyExc_ValueError, "the address of the function is 0"), NULL;
  Native *f = PyObject_New(Native, &NativeType);
  if (!f) return NULL;
  f->function = function;
  f->name = Py_NewRef(name), f->klass = Py_NewRef(klass), f->kept = Py_NewRef(kept);
  f->format = text == Py_None ? NULL : Py_NewRef(format);
  f->text = text == Py_None ? NULL : Py_NewRef(text);
  f->entry = text == Py_None ? NULL : Py_NewRef(entry);
  return (PyObject *)f;
}

/* _set_up(future type, concurrent.futures.Future, make_error): what the package gives this module. */
static PyObject *set_up(PyObject *m, PyObject *args) {
  (void)m;
  PyObject *type, *base, *errors;
  if (!PyArg_ParseTuple(args, "O!OO:_set_up", &PyType_Type, &type, &base, &errors)) return NULL;
  if (future_init(base) < 0 || errors_init(errors) < 0) return NULL;
  future_type = (PyTypeObject *)Py_NewRef(type);
  Py_RETURN_NONE;
}

static PyObject *in_body(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  return PyBool_FromLong(bodies_on_stack > 0);
}
static PyObject *version(PyObject *m, PyObject *unused) {
  (void)m, (void)unused;
  return PyUnicode_FromString(consort_version());
}

static PyMethodDef functions[] = {
  {"r", r, METH_O, "r(x)\n--\n\nThe task reads x, at the same time as other readers."},
  {"w", w, METH_O, "w(x)\n--\n\nThe task writes all of x; the old contents are not wanted."},
  {"rw", rw, METH_O, "rw(x)\n--\n\nThe task reads and writes x, alone."},
  {"commute", commute, METH_O, "commute(x)\n--\n\nAs rw(x), in any order among other tasks that commute."},
  {"redux", redux, METH_O, "redux(x)\n--\n\nThe task adds to a copy of x of its worker; see Data.reduction()."},
  {"scratch", scratch, METH_O, "scratch(x)\n--\n\nMemory of the size of x for this run, without contents."},
  {"access", access_by_name, METH_VARARGS, "access(x, mode)\n--\n\nThe access of a mode that is given by its name: 'r', 'w', 'rw', 'commute', 'redux', 'scratch'."},
  {"in_task", in_body, METH_NOARGS, "in_task()\n--\n\nWhether the calling thread runs the body of a task."},
  {"version", version, METH_NOARGS, "version()\n--\n\nThe version of the library."},
  {"_native", native, METH_VARARGS, NULL},
  {"_set_up", set_up, METH_VARARGS, NULL},
  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "consort._core", "The part of consort that is written in C.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
  static const struct { const char *name; PyTypeObject *type; } types[] = {{"RuntimeBase", &RuntimeType}, {"FutureBase", &FutureBaseType},
    {"Data", &DataType}, {"Access", &AccessType}, {"Native", &NativeType}, {"Hold", &HoldType}, {NULL, &ReplicaType}};
  if (gil_init() < 0) return NULL;
  runtime_init();
  PyObject *m = PyModule_Create(&module);
  for (size_t i = 0; m && i < sizeof types / sizeof *types; ++i)
    if (PyType_Ready(types[i].type) < 0 || (types[i].name && PyModule_AddObjectRef(m, types[i].name, (PyObject *)types[i].type) < 0)) Py_CLEAR(m);
  return m;
}
