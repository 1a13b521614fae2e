/* hello_world — the C API: a task without data that is given two parameters, a number in place and a struct by value,
 * and a callback that is told when it has ended. Prints one line from the task and one from the callback. */
#include <consort/consort.h>
#include <stdio.h>
#include <string.h>

struct params {
  int integer;
  float real;
  char word[16];
};

/* Runs on a worker. Values that fit into 8 bytes lie in the argument itself, larger ones behind its address. */
static consort_status hello(const consort_call *call) {
  struct params p;
  int32_t times;
  if (call->nargs != 2 || call->args[0].bytes != sizeof times || call->args[1].bytes != sizeof p)
    return consort_fail(CONSORT_E_INVAL, "hello takes an int32_t and a struct params");
  memcpy(&times, &call->args[0].scalar, sizeof times);
  memcpy(&p, (const void *)(uintptr_t)call->args[1].scalar, sizeof p);
  for (int32_t i = 0; i < times; i++) printf("Hello %s (params = {%d, %g})\n", p.word, p.integer, (double)p.real);
  return CONSORT_OK;
}

/* Called where the task ended: it may submit, it must not wait. */
static void said(void *arg, const consort_outcome *outcome) {
  int *calls = arg;
  ++*calls;
  printf("callback: task \"%s\" ended with %s\n", outcome->name, consort_status_name(outcome->status));
}

static int failed(const char *what) { return fprintf(stderr, "WRONG: %s: %s\n", what, consort_error()), 1; }

int main(void) {
  consort_runtime *rt;
  if (consort_start(NULL, &rt) < 0) return failed("start");

  const consort_impl impl = {.klass = "cpu", .fn = hello};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "hello";
  codelet.impls = &impl;
  codelet.nimpls = 1;
  codelet.nmodes = 0; /* no data */
  consort_codelet_id id;
  if (consort_codelet_add(rt, &codelet, &id) < 0) return failed("codelet");

  struct params p = {1, 2.5f, "world"};
  const int32_t times = 2;
  int calls = 0;
  consort_arg args[2] = {{.kind = CONSORT_ARG_SCALAR, .bytes = sizeof times},
                         {.kind = CONSORT_ARG_BYTES, .bytes = sizeof p, .scalar = (uintptr_t)&p}};
  memcpy(&args[0].scalar, &times, sizeof times);
  consort_task_desc task = CONSORT_TASK_INIT;
  task.codelet = id;
  task.args = args;
  task.nargs = 2;
  task.done = said;
  task.done_arg = &calls;
  consort_task_id hello_task;
  if (consort_submit(rt, &task, &hello_task) < 0) return failed("submit");
  strcpy(p.word, "nobody"); /* the arguments were copied: the task does not see this */

  if (consort_task_wait(rt, hello_task, CONSORT_FOREVER, 0) < 0) return failed("wait");
  if (consort_stop(rt) < 0) return failed("stop");
  if (calls != 1) return fprintf(stderr, "WRONG: the callback was called %d times\n", calls), 1;
  return 0;
}
