/* Policies and priorities. */
#include "check.h"

static int order[16], norder;
static void append(void *buffers[], void *arg) { (void)buffers, order[norder++] = (int)(intptr_t)arg; }
static struct starpu_codelet append_cl = {.cpu_funcs = {append}, .nbuffers = 0, .name = "append"};

PROGRAM(sched_prio) {
  int i;
  static const int priority[8] = {3, -2, 5, 0, 4, -1, 1, 2};
  start_with(1, "prio");
  CHECK(starpu_sched_get_min_priority() <= -5);
  CHECK(starpu_sched_get_max_priority() >= 5);
  CHECK(STARPU_MIN_PRIO == starpu_sched_get_min_priority());
  CHECK(STARPU_MAX_PRIO == starpu_sched_get_max_priority());
  starpu_tag_declare_deps(1, 1, (starpu_tag_t)2);
  for (i = 0; i < 8; i++) {
    struct starpu_task *t = starpu_task_create();
    starpu_tag_declare_deps((starpu_tag_t)(10 + i), 1, (starpu_tag_t)2);
    t->cl = &append_cl;
    t->cl_arg = (void *)(intptr_t)priority[i];
    t->priority = priority[i];
    t->use_tag = 1;
    t->tag_id = (starpu_tag_t)(10 + i);
    CHECK(starpu_task_submit(t) == 0);
  }
  starpu_pause();
  starpu_tag_notify_from_apps(2);
  starpu_resume();
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 8);
  STOP();
}

static int ran;
static void count(void *buffers[], void *arg) { (void)buffers, (void)arg, STARPU_ATOMIC_ADD(&ran, 1); }
static struct starpu_codelet count_cl = {.cpu_funcs = {count}, .nbuffers = 0, .name = "count"};
static void under(const char *policy) {
  int i, before = ran;
  start_with(2, policy);
  for (i = 0; i < 50; i++)
    if (starpu_task_insert(&count_cl, STARPU_PRIORITY, 0, 0)) abort();
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(ran == before + 50);
  STOP();
}

PROGRAM(sched_names) {
  under("eager");
  under("prio");
  under("random");
  under("ws");
  under("lws");
  under("dmda");
  under("dmdas");
}

PROGRAM(sched_conditions) {
  struct starpu_task *t;
  unsigned mask = 0, first = 9;
  struct starpu_codelet two = {.cpu_funcs = {count, append}, .nbuffers = 0};
  struct starpu_codelet empty = {.where = STARPU_CPU, .nbuffers = 0};
  int i;
  START();
  t = starpu_task_create();
  t->cl = &two;
  CHECK(starpu_worker_can_execute_task(0, t, 0) == 1);
  CHECK(starpu_worker_can_execute_task(0, t, 1) == 1);
  CHECK(starpu_worker_can_execute_task(0, t, 2) == 0);
  CHECK(starpu_worker_can_execute_task_impl(0, t, &mask) != 0);
  CHECK(mask == 3);
  CHECK(starpu_worker_can_execute_task_first_impl(1, t, &first) != 0);
  CHECK(first == 0);
  for (i = 0; i < 2; i++) CHECK(starpu_worker_can_execute_task((unsigned)i, t, 3) == 0);
  t->cl = &empty;
  CHECK(starpu_worker_can_execute_task(0, t, 0) == 0);
  t->destroy = 0;
  starpu_task_destroy(t);
  STOP();
}

PROGRAM(sched_bundle) {
  starpu_task_bundle_t b;
  struct starpu_task *t[6];
  int i;
  START();
  ran = 0;
  starpu_task_bundle_create(&b);
  for (i = 0; i < 6; i++) {
    t[i] = starpu_task_create();
    t[i]->cl = &count_cl;
    CHECK(starpu_task_bundle_insert(b, t[i]) == 0);
    CHECK(t[i]->bundle == b);
  }
  CHECK(starpu_task_bundle_remove(b, t[5]) == 0);
  for (i = 0; i < 6; i++) CHECK(starpu_task_submit(t[i]) == 0);
  starpu_task_bundle_close(b);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(ran == 6);
  STOP();
}
