/* Reductions, and data that a codelet initialises. */
#include "check.h"

static void zero(void *buffers[], void *arg) { (void)arg, *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 0; }
static void one(void *buffers[], void *arg) { (void)arg, *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) = 1; }
static void plus(void *buffers[], void *arg) {
  (void)arg;
  *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static void times(void *buffers[], void *arg) {
  (void)arg;
  *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) *= *(long *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static void add(void *buffers[], void *arg) { *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (long)(intptr_t)arg; }
static void multiply(void *buffers[], void *arg) { *(long *)STARPU_VARIABLE_GET_PTR(buffers[0]) *= (long)(intptr_t)arg; }
static struct starpu_codelet zero_cl = {.cpu_funcs = {zero}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet one_cl = {.cpu_funcs = {one}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet plus_cl = {.cpu_funcs = {plus}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}};
static struct starpu_codelet times_cl = {.cpu_funcs = {times}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}};
static struct starpu_codelet add_redux = {.cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_REDUX}};
static struct starpu_codelet multiply_redux = {.cpu_funcs = {multiply}, .nbuffers = 1, .modes = {STARPU_REDUX}};
static struct starpu_codelet add_rw = {.cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}};
static int submit1(struct starpu_codelet *cl, starpu_data_handle_t h, long arg) {
  struct starpu_task *t = starpu_task_create();
  t->cl = cl;
  t->handles[0] = h;
  t->cl_arg = (void *)arg;
  return starpu_task_submit(t);
}

PROGRAM(redux_sum) {
  long x = 1000, i, round;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_data_set_reduction_methods(h, &plus_cl, &zero_cl);
  for (round = 1; round <= 3; round++) {
    for (i = 1; i <= 10; i++)
      if (submit1(&add_redux, h, i)) abort();
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(x == 1000 + 55 * round);
    starpu_data_release(h);
  }
  for (i = 1; i <= 4; i++) CHECK(submit1(&add_redux, h, i) == 0);
  CHECK(submit1(&add_rw, h, 10000) == 0);
  starpu_data_unregister(h);
  CHECK(x == 11175);
  STOP();
}

PROGRAM(redux_product) {
  long x = 3, i;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_data_set_reduction_methods(h, &times_cl, &one_cl);
  for (i = 1; i <= 10; i++) CHECK(submit1(&multiply_redux, h, i) == 0);
  starpu_data_unregister(h);
  CHECK(x == 3L * 3628800);
  STOP();
}

PROGRAM(redux_without_home) {
  long i, round;
  starpu_data_handle_t h;
  START();
  for (round = 1; round <= 3; round++) {
    starpu_variable_data_register(&h, -1, 0, sizeof(long));
    starpu_data_set_reduction_methods(h, &plus_cl, &zero_cl);
    for (i = 1; i <= 10; i++)
      if (submit1(&add_redux, h, i * round)) abort();
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(*(long *)starpu_data_get_local_ptr(h) == 55 * round);
    starpu_data_release(h);
    CHECK(submit1(&add_rw, h, 1) == 0);
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(*(long *)starpu_data_get_local_ptr(h) == 55 * round + 1);
    starpu_data_release(h);
    starpu_data_unregister(h);
  }
  STOP();
}

PROGRAM(redux_initialises) {
  long round;
  starpu_data_handle_t h;
  START();
  for (round = 1; round <= 4; round++) {
    starpu_variable_data_register(&h, -1, 0, sizeof(long));
    starpu_data_set_reduction_methods(h, NULL, round % 2 ? &zero_cl : &one_cl);
    CHECK(submit1(&add_rw, h, 5) == 0);
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(*(long *)starpu_data_get_local_ptr(h) == (round % 2 ? 5 : 6));
    starpu_data_release(h);
    starpu_data_unregister(h);
  }
  STOP();
}
