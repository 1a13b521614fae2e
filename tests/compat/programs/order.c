/* Sequential consistency, and where it is switched off. */
#include "check.h"

static int order[32], norder;
static starpu_pthread_mutex_t lock = STARPU_PTHREAD_MUTEX_INITIALIZER;
static void append(void *buffers[], void *arg) {
  (void)buffers;
  STARPU_PTHREAD_MUTEX_LOCK(&lock);
  order[norder++] = (int)(intptr_t)arg;
  STARPU_PTHREAD_MUTEX_UNLOCK(&lock);
}
static volatile int gate;
static void wait_for_gate(void *buffers[], void *arg) {
  (void)buffers, (void)arg;
  while (!gate) starpu_usleep(50);
}
static struct starpu_codelet gate_cl = {.cpu_funcs = {wait_for_gate}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet append_cl = {.cpu_funcs = {append}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_task *made(struct starpu_codelet *cl, starpu_data_handle_t h, int i) {
  struct starpu_task *t = starpu_task_create();
  t->cl = cl;
  t->handles[0] = h;
  t->cl_arg = (void *)(intptr_t)i;
  t->detach = 0;
  return t;
}

PROGRAM(order_of_a_handle) {
  struct starpu_task *t[10];
  starpu_data_handle_t h;
  int x = 0, i;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 0; i < 10; i++) {
    t[i] = made(&append_cl, h, i);
    if (starpu_task_submit(t[i])) abort();
  }
  CHECK(starpu_task_wait_array(t, 10) == 0);
  for (i = 0; i < 10; i++) CHECK(order[i] == i);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(order_off_for_default) {
  starpu_data_handle_t h, g;
  int x = 0, y = 0, i;
  START();
  CHECK(starpu_data_get_default_sequential_consistency_flag() == 1);
  starpu_data_set_default_sequential_consistency_flag(0);
  CHECK(starpu_data_get_default_sequential_consistency_flag() == 0);
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_data_set_default_sequential_consistency_flag(1);
  starpu_variable_data_register(&g, STARPU_MAIN_RAM, (uintptr_t)&y, sizeof y);
  CHECK(starpu_data_get_sequential_consistency_flag(h) == 0);
  CHECK(starpu_data_get_sequential_consistency_flag(g) == 1);
  for (i = 0; i < 4; i++) {
    struct starpu_task *first = made(&append_cl, h, 2 * i), *second = made(&append_cl, h, 2 * i + 1);
    starpu_task_declare_deps_array(first, 1, &second);
    CHECK(starpu_task_submit(first) == 0);
    CHECK(starpu_task_submit(second) == 0);
    CHECK(starpu_task_wait(second) == 0);
    CHECK(starpu_task_wait(first) == 0);
    CHECK(order[2 * i] == 2 * i + 1 && order[2 * i + 1] == 2 * i);
  }
  starpu_data_unregister(h);
  starpu_data_unregister(g);
  STOP();
}

PROGRAM(order_off_for_a_task) {
  starpu_data_handle_t h;
  int x = 0, i;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 0; i < 4; i++) {
    struct starpu_task *first = made(&append_cl, h, 2 * i), *second = made(&append_cl, h, 2 * i + 1);
    first->sequential_consistency = 0;
    second->sequential_consistency = 0;
    starpu_task_declare_deps_array(first, 1, &second);
    CHECK(starpu_task_submit(first) == 0);
    CHECK(starpu_task_submit(second) == 0);
    CHECK(starpu_task_wait(second) == 0);
    CHECK(starpu_task_wait(first) == 0);
    CHECK(order[2 * i] == 2 * i + 1 && order[2 * i + 1] == 2 * i);
  }
  starpu_data_unregister(h);
  STOP();
}

static struct starpu_codelet append2_cl = {.cpu_funcs = {append}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_RW}};
PROGRAM(order_off_for_one_handle) {
  unsigned char flags[2] = {0, 1};
  starpu_data_handle_t h, g;
  struct starpu_task *blocked, *t[4], *last;
  int x = 0, y = 0, i;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_variable_data_register(&g, STARPU_MAIN_RAM, (uintptr_t)&y, sizeof y);
  for (i = 0; i < 4; i++) {
    t[i] = made(&append2_cl, h, i);
    t[i]->handles[1] = g;
    t[i]->handles_sequential_consistency = flags;
    CHECK(starpu_task_submit(t[i]) == 0);
  }
  last = made(&append_cl, g, 9);
  CHECK(starpu_task_submit(last) == 0);
  CHECK(starpu_task_wait(last) == 0);
  CHECK(starpu_task_wait_array(t, 4) == 0);
  for (i = 0; i < 4; i++) CHECK(order[i] == i);
  CHECK(order[4] == 9);
  blocked = made(&gate_cl, h, 0);
  gate = 1;
  CHECK(starpu_task_submit(blocked) == 0);
  CHECK(starpu_task_wait(blocked) == 0);
  starpu_data_unregister(h);
  starpu_data_unregister(g);
  STOP();
}

PROGRAM(order_readers_together) {
  struct starpu_codelet reader = {.cpu_funcs = {append}, .nbuffers = 1, .modes = {STARPU_R}};
  struct starpu_task *t[12];
  starpu_data_handle_t h;
  int x = 0, i, k, seen;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 0; i < 12; i++) {
    t[i] = made(i % 4 ? &reader : &append_cl, h, i);
    if (starpu_task_submit(t[i])) abort();
  }
  CHECK(starpu_task_wait_array(t, 12) == 0);
  for (i = 0; i < 12; i += 4) {
    CHECK(order[i] == i);
    for (k = i + 1; k < i + 4; k++) {
      for (seen = i + 1; seen < i + 4 && order[seen] != k; seen++) {
      }
      CHECK(seen < i + 4);
    }
  }
  starpu_data_unregister(h);
  STOP();
}
