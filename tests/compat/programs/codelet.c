/* Codelets: where they run, several implementations, changes between submissions. */
#include "check.h"

static int last;
static void one(void *buffers[], void *arg) { (void)buffers, (void)arg, last = 1; }
static void two(void *buffers[], void *arg) { (void)buffers, (void)arg, last = 2; }
static int run(struct starpu_codelet *cl) {
  struct starpu_task *t = starpu_task_create();
  int rc;
  t->cl = cl;
  t->synchronous = 1;
  last = 0;
  rc = starpu_task_submit(t);
  if (rc) {
    t->destroy = 0;
    starpu_task_destroy(t);
  }
  return rc;
}

PROGRAM(codelet_changes) {
  struct starpu_codelet cl;
  START();
  starpu_codelet_init(&cl);
  CHECK(cl.where == 0 && cl.nbuffers == 0 && cl.cpu_funcs[0] == NULL);
  cl.cpu_funcs[0] = one;
  cl.cpu_funcs_name[0] = "one";
  CHECK(run(&cl) == 0);
  CHECK(last == 1);
  starpu_codelet_init(&cl);
  cl.cpu_funcs[0] = two;
  CHECK(run(&cl) == 0);
  CHECK(last == 2);
  starpu_codelet_init(&cl);
  cl.cpu_funcs[0] = one;
  cl.where = STARPU_CPU;
  cl.name = "changed";
  CHECK(run(&cl) == 0);
  CHECK(last == 1);
  starpu_codelet_init(&cl);
  cl.cpu_funcs[0] = one;
  cl.where = STARPU_CUDA;
  CHECK(run(&cl) == -ENODEV);
  CHECK(last == 0);
  starpu_codelet_init(&cl);
  cl.cpu_funcs[0] = two;
  cl.where = STARPU_CPU | STARPU_CUDA;
  CHECK(run(&cl) == 0);
  CHECK(last == 2);
  STOP();
}

PROGRAM(codelet_nowhere) {
  struct starpu_codelet cl = {.where = STARPU_NOWHERE, .nbuffers = 1, .modes = {STARPU_W}};
  struct starpu_codelet reader = {.cpu_funcs = {one}, .nbuffers = 1, .modes = {STARPU_R}};
  starpu_data_handle_t h;
  struct starpu_task *t;
  int value = 5, i;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&value, sizeof value);
  for (i = 0; i < 3; i++) {
    last = 0;
    t = starpu_task_create();
    t->cl = &cl;
    t->handles[0] = h;
    t->detach = 0;
    CHECK(starpu_task_submit(t) == 0);
    CHECK(starpu_task_wait(t) == 0);
    CHECK(last == 0);
    CHECK(starpu_task_insert(&reader, STARPU_R, h, 0) == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(last == 1);
  }
  starpu_data_unregister(h);
  CHECK(value == 5);
  STOP();
}

static int only_worker;
static int on_one_worker(unsigned worker, struct starpu_task *task, unsigned impl) {
  (void)impl;
  return task->cl != NULL && (int)worker == only_worker;
}
static int never(unsigned worker, struct starpu_task *task, unsigned impl) {
  (void)worker, (void)task, (void)impl;
  return 0;
}
static int seen_worker;
static void see(void *buffers[], void *arg) { (void)buffers, (void)arg, seen_worker = starpu_worker_get_id(); }

PROGRAM(codelet_can_execute) {
  struct starpu_codelet cl = {.cpu_funcs = {see}, .can_execute = on_one_worker, .nbuffers = 0};
  struct starpu_codelet refused = {.cpu_funcs = {see}, .can_execute = never, .nbuffers = 0};
  struct starpu_task *t;
  START();
  for (only_worker = 0; only_worker < 2; only_worker++) {
    int i;
    for (i = 0; i < 3; i++) {
      seen_worker = -1;
      CHECK(run(&cl) == 0);
      CHECK(seen_worker == only_worker);
    }
  }
  CHECK(run(&refused) == -ENODEV);
  t = starpu_task_create();
  t->cl = &cl;
  only_worker = 1;
  CHECK(starpu_worker_can_execute_task(1, t, 0) == 1);
  CHECK(starpu_worker_can_execute_task(0, t, 0) == 0);
  CHECK(starpu_worker_can_execute_task(1, t, 1) == 0);
  t->destroy = 0;
  starpu_task_destroy(t);
  STOP();
}

PROGRAM(codelet_bound_to_workers) {
  struct starpu_codelet cl = {.cpu_funcs = {see}, .nbuffers = 0};
  unsigned w, i;
  START();
  for (w = 0; w < 2; w++)
    for (i = 0; i < 3; i++) {
      uint32_t set = 1u << w;
      struct starpu_task *t = starpu_task_create();
      t->cl = &cl;
      t->synchronous = 1;
      if (i == 0) {
        t->execute_on_a_specific_worker = 1;
        t->workerid = w;
      } else {
        t->workerids = &set;
        t->workerids_len = 1;
      }
      seen_worker = -1;
      CHECK(starpu_task_submit(t) == 0);
      CHECK(seen_worker == (int)w);
      seen_worker = -1;
      CHECK(starpu_task_insert(&cl, STARPU_EXECUTE_ON_WORKER, (int)w, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
      CHECK(seen_worker == (int)w);
    }
  STOP();
}

static struct starpu_codelet counted = {.cpu_funcs = {one}, .nbuffers = 0, .name = "counted"};
PROGRAM(codelet_stats) {
  unsigned long total = 0;
  int i;
  START();
  for (i = 0; i < 12; i++) CHECK(starpu_task_insert(&counted, 0) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  for (i = 0; i < STARPU_NMAXWORKERS; i++) total += counted.per_worker_stats[i];
  CHECK(total == 12);
  STOP();
}

static void by_codelet(void *arg) { *(int *)arg += 1; }
PROGRAM(codelet_callback) {
  struct starpu_codelet cl = {.cpu_funcs = {one}, .nbuffers = 0, .callback_func = by_codelet};
  int calls = 0, own = 0, i;
  START();
  for (i = 1; i <= 4; i++) {
    CHECK(starpu_task_insert(&cl, STARPU_CALLBACK_ARG_NFREE, &calls, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(calls == i);
  }
  CHECK(starpu_task_insert(&cl, STARPU_CALLBACK_WITH_ARG_NFREE, by_codelet, &own, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
  CHECK(own == 1);
  CHECK(calls == 4);
  STOP();
}
