/* Runs tasks by the scheduler "new-name": chains that must keep their order, and tasks that need not. runs FOLDER-OF-THE-PLUGIN */
#include <consort/consort.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHAINS = 50, STEPS = 200 };

static consort_status check(consort_status s, const char *what) {
  if (s >= 0) return s;
  fprintf(stderr, "%s: %s: %s\n", what, consort_status_name(s), consort_error());
  exit(1);
}

static consort_status step(const consort_call *call) { /* RW: x = 3 x + 1; another order, another number */
  const consort_variable_view *v = call->views[0];
  uint64_t *x = consort_ptr(v->addr);
  *x = 3 * *x + 1;
  return CONSORT_OK;
}

int main(int argc, char **argv) {
  const consort_setting set[] = {
      {"plugin_path", argc > 1 ? argv[1] : "."}, {"scheduler", "new-name"}, {"workers", "3"}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = sizeof set / sizeof *set;
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");

  const consort_impl impl = {.klass = "cpu", .fn = step};
  const uint32_t modes[] = {CONSORT_M_RW};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "step";
  codelet.impls = &impl;
  codelet.nimpls = codelet.nmodes = 1;
  codelet.modes = modes;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &codelet, &id), "codelet");

  static uint64_t x[CHAINS];
  consort_data_id data[CHAINS];
  for (int i = 0; i < CHAINS; i++) {
    x[i] = (uint64_t)i;
    check(consort_register_variable(rt, &x[i], sizeof x[i], &data[i]), "register");
  }
  for (int s = 0; s < STEPS; s++)
    for (int i = 0; i < CHAINS; i++) {
      const consort_use use = {data[i], CONSORT_M_RW, 0};
      consort_task_desc task = CONSORT_TASK_INIT;
      task.codelet = id;
      task.uses = &use;
      task.nuses = 1;
      check(consort_submit(rt, &task, NULL), "submit");
      if (i == 0 && s == STEPS / 2) /* another policy takes over while tasks run, then this one again */
        check(consort_runtime_set_scheduler(rt, "eager"), "swap"),
            check(consort_runtime_set_scheduler(rt, "new-name"), "swap back");
    }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  for (int i = 0; i < CHAINS; i++) check(consort_unregister(rt, data[i]), "unregister");
  check(consort_stop(rt), "stop");

  int wrong = 0;
  for (int i = 0; i < CHAINS; i++) {
    uint64_t expected = (uint64_t)i;
    for (int s = 0; s < STEPS; s++) expected = 3 * expected + 1;
    wrong += x[i] != expected;
  }
  printf("new-name: %d tasks, %d chains of %d wrong\n", CHAINS * STEPS, wrong, CHAINS);
  return wrong != 0;
}
