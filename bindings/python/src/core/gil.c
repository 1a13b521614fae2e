/* gil.c — the GIL on threads of the runtime. Owner: none. A thread that runs its first Python body gets a thread state, which it
 * keeps until it ends: making one for each body costs more than an empty task. */
#include "core.h"
#include <pthread.h>

_Thread_local int keeps_gil;       /* this thread has called into the runtime with the GIL: a body that it runs has it */
_Thread_local int bodies_on_stack; /* Python bodies on this thread's stack */
_Thread_local int callbacks_on_stack; /* ends of tasks that did not run */
static pthread_key_t adopted;      /* not NULL: this thread's state was made by enter_python() */

static void thread_ends(void *state) {
  if (!Py_IsInitialized()) return; /* the interpreter has freed its states */
  PyEval_RestoreThread(state);
  PyThreadState_Clear(state); /* PyGILState_Release() would look the state up under a key that may be cleared already */
  PyThreadState_DeleteCurrent();
}

int gil_init(void) {
  static bool done;
  if (!done && pthread_key_create(&adopted, thread_ends)) {
    PyErr_SetString(PyExc_RuntimeError, "the process has no thread-specific key left");
    return -1;
  }
  done = true;
  return 0;
}

void enter_python(void) {
  if (keeps_gil) return;
  PyThreadState *state = PyGILState_GetThisThreadState();
  if (state) {
    PyEval_RestoreThread(state);
  } else {
    PyGILState_Ensure();
    pthread_setspecific(adopted, PyGILState_GetThisThreadState());
  }
}

void leave_python(void) {
  if (!keeps_gil) PyEval_SaveThread();
}

Unlocked unlock(void) {
  const Unlocked u = {PyEval_SaveThread(), keeps_gil};
  keeps_gil = 0;
  return u;
}

void lock(Unlocked u) {
  PyEval_RestoreThread(u.state);
  keeps_gil = u.kept;
}
