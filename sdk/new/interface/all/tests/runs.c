/* Data of the layout "new-name": parts of it are filled, the whole is read. runs FOLDER-OF-THE-PLUGIN */
#include "../new-name.h"

#include <consort/consort.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, PARTS = 7 };

static consort_status check(consort_status s, const char *what) {
  if (s >= 0) return s;
  fprintf(stderr, "%s: %s: %s\n", what, consort_status_name(s), consort_error());
  exit(1);
}

static consort_status add(const consort_call *call) { /* RW: x[i] += 1 */
  const new_name_view *v = call->views[0];
  uint64_t *x = consort_ptr(v->addr);
  for (uint64_t i = 0; i < v->n; i++) x[i] += 1;
  return CONSORT_OK;
}

int main(int argc, char **argv) {
  const consort_setting set[] = {{"plugin_path", argc > 1 ? argv[1] : "."}, {"workers", "2"}};
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.set = set;
  settings.nset = sizeof set / sizeof *set;
  consort_runtime *rt;
  check(consort_start(&settings, &rt), "start");
  const consort_impl impl = {.klass = "cpu", .fn = add};
  const uint32_t modes[] = {CONSORT_M_RW};
  consort_codelet codelet = CONSORT_CODELET_INIT;
  codelet.name = "add";
  codelet.impls = &impl;
  codelet.nimpls = codelet.nmodes = 1;
  codelet.modes = modes;
  consort_codelet_id id;
  check(consort_codelet_add(rt, &codelet, &id), "codelet");

  static uint64_t x[N];
  for (uint64_t i = 0; i < N; i++) x[i] = i;
  const new_name_args args = {x, N, sizeof *x};
  const consort_data_desc desc = {
      .size = sizeof desc, .interface = "new-name", .args = &args, .args_bytes = sizeof args, .name = "x"};
  consort_data_id whole, parts[PARTS];
  check(consort_register(rt, &desc, &whole), "register");
  const new_name_split split = {PARTS};
  consort_plan_desc plan = CONSORT_PLAN_INIT;
  plan.filter = "blocks";
  plan.params = &split;
  plan.params_bytes = sizeof split;
  consort_plan_id cut;
  check(consort_plan_create(rt, whole, &plan, &cut), "plan");
  if (consort_plan_parts(rt, cut, parts, PARTS) != PARTS) return fprintf(stderr, "parts: %s\n", consort_error()), 1;
  for (int i = 0; i <= PARTS; i++) { /* every part, then the whole */
    const consort_use use = {i < PARTS ? parts[i] : whole, CONSORT_M_RW, 0};
    consort_task_desc task = CONSORT_TASK_INIT;
    task.codelet = id;
    task.uses = &use;
    task.nuses = 1;
    check(consort_submit(rt, &task, NULL), "submit");
  }
  check(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
  check(consort_unregister(rt, whole), "unregister");
  check(consort_stop(rt), "stop");

  int wrong = 0;
  for (uint64_t i = 0; i < N; i++) wrong += x[i] != i + 2;
  printf("new-name: %d parts and the whole, %d of %d numbers wrong\n", PARTS, wrong, N);
  return wrong != 0;
}
