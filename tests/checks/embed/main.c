/* Scales a vector in a chain of tasks and checks the sum. main [KEY VALUE]...: settings of the runtime. With
 * CONSORT_MODULES, a list of entries, the plugins are linked into the program. */
#include <consort/consort.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef CONSORT_MODULES
#define MODULE(id) const consort_module *consort_plugin_entry_##id(const consort_host *);
CONSORT_MODULES
#undef MODULE
#define MODULE(id) consort_plugin_entry_##id,
static consort_entry_fn *const modules[] = {CONSORT_MODULES};
#endif

enum { N = 1000, STEPS = 100 };

static consort_status add_one(const consort_call *call) {
  const consort_vector_view *v = call->views[0];
  float *x = consort_ptr(v->addr);
  for (uint64_t i = 0; i < v->n; i++) x[i] += 1.0f;
  return CONSORT_OK;
}

static void check(consort_status s, const char *what) {
  if (s >= 0) return;
  fprintf(stderr, "%s: %s: %s\n", what, consort_status_name(s), consort_error());
  exit(1);
}

int main(int argc, char **argv) {
  static float x[N];
  consort_setting set[8];
  consort_settings settings = CONSORT_SETTINGS_INIT;
  for (int i = 1; i + 1 < argc && settings.nset < 8; i += 2) set[settings.nset++] = (consort_setting){argv[i], argv[i + 1]};
  settings.set = set;
#ifdef CONSORT_MODULES
  settings.modules = modules;
  settings.nmodules = sizeof modules / sizeof *modules;
#endif
  consort_runtime *rt = NULL;
  check(consort_start(&settings, &rt), "start");

  const consort_impl impl = {.klass = "cpu", .fn = add_one};
  const uint32_t modes[] = {CONSORT_M_RW};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "add_one";
  codelet.impls = &impl;
  codelet.nimpls = 1;
  codelet.nmodes = 1;
  codelet.modes = modes;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &codelet, &id), "codelet");

  consort_data_id data;
  check(consort_register_vector(rt, x, N, sizeof *x, &data), "register");
  const consort_use use = {data, CONSORT_M_RW, 0};
  consort_task_desc task = CONSORT_TASK_INIT;
  task.codelet = id;
  task.uses = &use;
  task.nuses = 1;
  for (int i = 0; i < STEPS; i++) check(consort_submit(rt, &task, NULL), "submit");
  check(consort_unregister(rt, data), "unregister");
  check(consort_stop(rt), "stop");

  for (int i = 0; i < N; i++)
    if (x[i] != STEPS) return fprintf(stderr, "x[%d] is %g, should be %d\n", i, (double)x[i], STEPS), 1;
  puts("embedded: fine");
  return 0;
}
