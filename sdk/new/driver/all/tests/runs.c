/* Runs tasks on the units of the driver "new-name" and on a core in turn, so that the data go there and back each time.
 * runs FOLDER-OF-THE-PLUGIN */
#include <consort/consort.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, STEPS = 100 };

static consort_status check(consort_status s, const char *what) {
  if (s >= 0) return s;
  fprintf(stderr, "%s: %s: %s\n", what, consort_status_name(s), consort_error());
  exit(1);
}

static consort_status add(const consort_call *call) { /* RW: x[i] = 2 x[i] + 1 */
  const consort_vector_view *v = call->views[0];
  uint64_t *x = consort_ptr(v->addr);
  for (uint64_t i = 0; i < v->n; i++) x[i] = 2 * x[i] + 1;
  return CONSORT_OK;
}

static consort_codelet_id codelet(consort_runtime *rt, const char *name, const char *klass) {
  const consort_impl impl = {.klass = klass, .fn = add};
  const uint32_t modes[] = {CONSORT_M_RW};
  consort_codelet c = CONSORT_CODELET_INIT;
  c.name = name;
  c.impls = &impl;
  c.nimpls = c.nmodes = 1;
  c.modes = modes;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &c, &id), name);
  return id;
}

int main(int argc, char **argv) {
  const consort_setting set[] = {
      {"plugin_path", argc > 1 ? argv[1] : "."}, {"drivers", "cpu, new-name"}, {"workers", "2"}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = sizeof set / sizeof *set;
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  const consort_codelet_id here = codelet(rt, "here", "cpu"), there = codelet(rt, "there", "new-name");

  static uint64_t x[N];
  for (uint64_t i = 0; i < N; i++) x[i] = i;
  consort_data_id data;
  check(consort_register_vector(rt, x, N, sizeof *x, &data), "register");
  for (int s = 0; s < STEPS; s++) {
    const consort_use use = {data, CONSORT_M_RW, 0};
    consort_task_desc task = CONSORT_TASK_INIT;
    task.codelet = s % 2 ? here : there;
    task.uses = &use;
    task.nuses = 1;
    check(consort_submit(rt, &task, NULL), "submit");
  }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  check(consort_unregister(rt, data), "unregister");
  check(consort_stop(rt), "stop");

  int wrong = 0;
  for (uint64_t i = 0; i < N; i++) {
    uint64_t expected = i;
    for (int s = 0; s < STEPS; s++) expected = 2 * expected + 1;
    wrong += x[i] != expected;
  }
  printf("new-name: %d tasks on the device and back, %d of %d numbers wrong\n", STEPS, wrong, N);
  return wrong != 0;
}
