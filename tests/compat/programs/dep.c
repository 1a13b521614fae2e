/* Dependencies among tasks, and tags. */
#include "check.h"

static int order[64], norder;
static starpu_pthread_mutex_t lock = STARPU_PTHREAD_MUTEX_INITIALIZER;
static void append(void *arg) {
  STARPU_PTHREAD_MUTEX_LOCK(&lock);
  order[norder++] = (int)(intptr_t)arg;
  STARPU_PTHREAD_MUTEX_UNLOCK(&lock);
}
static void append_body(void *buffers[], void *arg) {
  (void)buffers;
  append(arg);
}
static struct starpu_codelet append_cl = {.cpu_funcs = {append_body}, .nbuffers = 0, .name = "append"};
static struct starpu_task *numbered(int i) {
  struct starpu_task *t = starpu_task_create();
  t->cl = &append_cl;
  t->cl_arg = (void *)(intptr_t)i;
  return t;
}
static int place(int i) {
  int k;
  for (k = 0; k < norder; k++)
    if (order[k] == i) return k;
  return -1;
}

PROGRAM(dep_array) {
  struct starpu_task *t[12];
  int i;
  START();
  norder = 0;
  for (i = 0; i < 12; i++) t[i] = numbered(i);
  for (i = 1; i < 12; i++) starpu_task_declare_deps_array(t[i], 1, &t[i - 1]);
  for (i = 11; i >= 0; i--) CHECK(starpu_task_submit(t[i]) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  for (i = 0; i < 12; i++) CHECK(order[i] == i);
  STOP();
}

PROGRAM(dep_diamond) {
  struct starpu_task *t[4];
  int i, round;
  START();
  for (round = 0; round < 3; round++) {
    norder = 0;
    for (i = 0; i < 4; i++) t[i] = numbered(i);
    starpu_task_declare_deps(t[1], 1, t[0]);
    starpu_task_declare_deps(t[2], 1, t[0]);
    starpu_task_declare_deps(t[3], 2, t[1], t[2]);
    for (i = 3; i >= 0; i--) CHECK(starpu_task_submit(t[i]) == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(place(0) == 0);
    CHECK(place(3) == 3);
  }
  STOP();
}

PROGRAM(dep_on_submitted) {
  struct starpu_task *t[6], *s[6];
  int i, n;
  START();
  norder = 0;
  starpu_pause();
  for (i = 0; i < 6; i++) {
    t[i] = numbered(i);
    t[i]->destroy = 0;
    t[i]->detach = 0;
    CHECK(starpu_task_submit(t[i]) == 0);
  }
  s[0] = numbered(10);
  starpu_task_declare_deps_array(s[0], 6, t);
  CHECK(starpu_task_submit(s[0]) == 0);
  n = starpu_task_get_task_succs(t[0], 6, s + 1);
  CHECK(n == 1);
  CHECK(s[1] == s[0]);
  starpu_resume();
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(place(10) == 6);
  s[0] = numbered(11);
  starpu_task_declare_deps_array(s[0], 6, t);
  CHECK(starpu_task_submit(s[0]) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(place(11) == 7);
  for (i = 0; i < 6; i++) {
    CHECK(starpu_task_wait(t[i]) == 0);
    starpu_task_destroy(t[i]);
  }
  STOP();
}

PROGRAM(dep_insert) {
  struct starpu_task *t[3];
  int i;
  START();
  norder = 0;
  for (i = 0; i < 3; i++) t[i] = numbered(i);
  CHECK(starpu_task_insert(&append_cl, STARPU_CL_ARGS_NFREE, (void *)9, (size_t)0, STARPU_TASK_DEPS_ARRAY, 3, t, STARPU_CALLBACK_WITH_ARG_NFREE, append, (void *)20, 0) == 0);
  CHECK(norder == 0);
  for (i = 2; i >= 0; i--) CHECK(starpu_task_submit(t[i]) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 5);
  CHECK(place(9) == 3);
  CHECK(place(20) == 4);
  CHECK(place(0) >= 0 && place(0) < 3);
  CHECK(place(1) >= 0 && place(1) < 3);
  CHECK(place(2) >= 0 && place(2) < 3);
  STOP();
}

PROGRAM(dep_end) {
  struct starpu_task *t[3], *after;
  int i;
  START();
  norder = 0;
  for (i = 0; i < 3; i++) t[i] = numbered(i);
  after = numbered(10);
  starpu_task_declare_end_deps_array(t[0], 2, t + 1);
  starpu_task_declare_deps_array(after, 1, t);
  CHECK(starpu_task_submit(t[0]) == 0);
  CHECK(starpu_task_submit(after) == 0);
  CHECK(starpu_task_submit(t[1]) == 0);
  CHECK(starpu_task_submit(t[2]) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 4);
  CHECK(place(10) == 3);
  norder = 0;
  t[0] = numbered(0);
  t[0]->destroy = 0;
  after = numbered(1);
  starpu_task_end_dep_add(t[0], 1);
  starpu_task_declare_deps_array(after, 1, t);
  CHECK(starpu_task_submit(t[0]) == 0);
  CHECK(starpu_task_submit(after) == 0);
  while (*(volatile int *)&norder < 1) starpu_usleep(100);
  starpu_usleep(2000);
  CHECK(norder == 1);
  starpu_task_end_dep_release(t[0]);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 2);
  starpu_task_destroy(t[0]);
  STOP();
}

PROGRAM(dep_tags) {
  int i;
  START();
  norder = 0;
  for (i = 1; i < 8; i++) starpu_tag_declare_deps((starpu_tag_t)i, 1, (starpu_tag_t)(i - 1));
  for (i = 7; i >= 0; i--) {
    struct starpu_task *t = numbered(i);
    t->use_tag = 1;
    t->tag_id = (starpu_tag_t)i;
    CHECK(starpu_task_submit(t) == 0);
  }
  CHECK(starpu_tag_wait(7) == 0);
  for (i = 0; i < 8; i++) CHECK(order[i] == i);
  for (i = 0; i < 8; i++) starpu_tag_remove((starpu_tag_t)i);
  STOP();
}

PROGRAM(dep_tags_of_the_application) {
  struct starpu_task *t;
  starpu_tag_t deps[2] = {100, 101};
  START();
  norder = 0;
  starpu_tag_declare_deps_array(200, 2, deps);
  t = numbered(1);
  t->use_tag = 1;
  t->tag_id = 200;
  CHECK(starpu_tag_get_task(200) == NULL);
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_tag_get_task(200) == t);
  starpu_tag_notify_from_apps(100);
  starpu_usleep(2000);
  CHECK(norder == 0);
  starpu_tag_notify_from_apps(101);
  CHECK(starpu_tag_wait(200) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 1);
  CHECK(order[0] == 1);
  starpu_create_sync_task(300, 1, deps, append, (void *)5);
  CHECK(starpu_tag_wait(300) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(norder == 2);
  CHECK(order[1] == 5);
  STOP();
}
