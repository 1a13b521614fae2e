/* Many tasks at once: from threads, from tasks, from callbacks; windows that are full. */
#include "check.h"

static int ran;
static void count(void *buffers[], void *arg) { (void)buffers, (void)arg, STARPU_ATOMIC_ADD(&ran, 1); }
static struct starpu_codelet count_cl = {.cpu_funcs = {count}, .nbuffers = 0, .name = "count"};
static void add(void *buffers[], void *arg) { *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (int)(intptr_t)arg; }
static struct starpu_codelet add_cl = {.cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "add"};

enum { THREADS = 3, EACH = 400 };
static starpu_data_handle_t cells[4];
static void *submit_many(void *arg) {
  int i;
  for (i = 0; i < EACH; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &add_cl;
    t->handles[0] = cells[(i + (int)(intptr_t)arg) % 4];
    t->cl_arg = (void *)1;
    if (starpu_task_submit(t)) abort();
  }
  return NULL;
}
PROGRAM(stress_threads) {
  int value[4] = {0, 0, 0, 0}, i, round;
  starpu_pthread_t thread[THREADS];
  START();
  for (i = 0; i < 4; i++) starpu_variable_data_register(&cells[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
  for (round = 1; round <= 3; round++) {
    for (i = 0; i < THREADS; i++) STARPU_PTHREAD_CREATE(&thread[i], NULL, submit_many, (void *)(intptr_t)i);
    for (i = 0; i < THREADS; i++) STARPU_PTHREAD_JOIN(thread[i], NULL);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(starpu_task_nsubmitted() == 0);
    for (i = 0; i < 4; i++) CHECK(value[i] == round * THREADS * EACH / 4);
  }
  for (i = 0; i < 4; i++) starpu_data_unregister(cells[i]);
  STOP();
}

static void spawn(void *buffers[], void *arg) {
  const int depth = (int)(intptr_t)arg;
  int i;
  extern struct starpu_codelet spawn_cl;
  (void)buffers;
  STARPU_ATOMIC_ADD(&ran, 1);
  for (i = 0; depth && i < 3; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &spawn_cl;
    t->cl_arg = (void *)(intptr_t)(depth - 1);
    if (starpu_task_submit(t)) abort();
  }
}
struct starpu_codelet spawn_cl = {.cpu_funcs = {spawn}, .nbuffers = 0, .name = "spawn"};
PROGRAM(stress_tree) {
  int depth, expected = 0, power = 1;
  START();
  for (depth = 0; depth < 6; depth++) {
    struct starpu_task *t = starpu_task_create();
    expected += power;
    power *= 3;
    ran = 0;
    t->cl = &spawn_cl;
    t->cl_arg = (void *)(intptr_t)depth;
    CHECK(starpu_task_submit(t) == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(ran == expected);
  }
  STOP();
}

static int left;
static void next(void *arg) {
  if (STARPU_ATOMIC_ADD(&left, -1) <= 0) return;
  if (starpu_task_insert(&count_cl, STARPU_CALLBACK_WITH_ARG_NFREE, next, arg, 0)) abort();
}
PROGRAM(stress_callbacks) {
  int round;
  START();
  for (round = 1; round <= 4; round++) {
    ran = 0;
    left = 1000;
    CHECK(starpu_task_insert(&count_cl, STARPU_CALLBACK_WITH_ARG_NFREE, next, NULL, 0) == 0);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(ran == 1000);
  }
  STOP();
}

/* A program that releases what it holds only after it has submitted more than any window. */
PROGRAM(stress_full) {
  int x = 0, i, round;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (round = 1; round <= 3; round++) {
    CHECK(starpu_data_acquire(h, STARPU_RW) == 0);
    for (i = 0; i < 10000; i++)
      if (starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_CL_ARGS_NFREE, (void *)1, (size_t)0, 0)) abort();
    CHECK(starpu_task_nsubmitted() >= 10000);
    starpu_data_release(h);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(x == 10000 * round);
  }
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(stress_data) {
  int x = 0, i;
  START();
  for (i = 0; i < 300; i++) {
    starpu_data_handle_t h, s;
    starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
    starpu_vector_data_register(&s, -1, 0, 100, sizeof(int));
    if (starpu_task_insert(&add_cl, STARPU_RW, h, STARPU_CL_ARGS_NFREE, (void *)1, (size_t)0, 0)) abort();
    starpu_data_unregister_submit(s);
    starpu_data_unregister(h);
    if (i % 30 == 29) CHECK(x == i + 1);
  }
  STOP();
}
