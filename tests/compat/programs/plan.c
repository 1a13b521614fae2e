/* Partitions in the order of the tasks. */
#include "check.h"

static void add(void *buffers[], void *arg) {
  int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]);
  unsigned i;
  for (i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) p[i] += (int)(intptr_t)arg;
}
static void sum(void *buffers[], void *arg) {
  int *p = (int *)STARPU_VECTOR_GET_PTR(buffers[0]), s = 0;
  unsigned i;
  for (i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i++) s += p[i];
  *(int *)arg = s;
}
static struct starpu_codelet add_cl = {.cpu_funcs = {add}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet sum_cl = {.cpu_funcs = {sum}, .nbuffers = 1, .modes = {STARPU_R}};
static int submit1(struct starpu_codelet *cl, starpu_data_handle_t h, void *arg) {
  struct starpu_task *t = starpu_task_create();
  t->cl = cl;
  t->handles[0] = h;
  t->cl_arg = arg;
  return starpu_task_submit(t);
}
static struct starpu_data_filter in_four = {.filter_func = starpu_vector_filter_block, .nchildren = 4};
static struct starpu_data_filter in_two = {.filter_func = starpu_vector_filter_block, .nchildren = 2};

PROGRAM(plan_submit) {
  int x[16], i, round, total = 0;
  starpu_data_handle_t h, c[4];
  START();
  memset(x, 0, sizeof x);
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition_plan(h, &in_four, c);
  for (i = 0; i < 4; i++) CHECK(starpu_vector_get_nx(c[i]) == 4);
  for (round = 1; round <= 3; round++) {
    CHECK(submit1(&add_cl, h, (void *)1) == 0);
    starpu_data_partition_submit(h, 4, c);
    for (i = 0; i < 4; i++) CHECK(submit1(&add_cl, c[i], (void *)(intptr_t)(10 * i)) == 0);
    starpu_data_unpartition_submit(h, 4, c, STARPU_MAIN_RAM);
    CHECK(submit1(&sum_cl, h, &total) == 0);
    starpu_task_wait_for_all();
    CHECK(total == round * (16 + 240));
  }
  starpu_data_partition_clean(h, 4, c);
  starpu_data_unregister(h);
  for (i = 0; i < 16; i += 4) CHECK(x[i] == 3 * (1 + 10 * (i / 4)));
  STOP();
}

PROGRAM(plan_readonly) {
  int x[16], i, whole = 0, part[4] = {0, 0, 0, 0};
  starpu_data_handle_t h, c[4];
  START();
  for (i = 0; i < 16; i++) x[i] = i;
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition_plan(h, &in_four, c);
  starpu_data_partition_readonly_submit(h, 4, c);
  CHECK(submit1(&sum_cl, h, &whole) == 0);
  for (i = 0; i < 4; i++) CHECK(submit1(&sum_cl, c[i], &part[i]) == 0);
  starpu_data_unpartition_readonly_submit(h, 4, c, STARPU_MAIN_RAM);
  starpu_data_unpartition_submit(h, 4, c, STARPU_MAIN_RAM);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(whole == 120);
  for (i = 0; i < 4; i++) CHECK(part[i] == 16 * i + 6);
  starpu_data_partition_clean(h, 4, c);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(plan_two) {
  int x[16], i, total = 0;
  starpu_data_handle_t h, c4[4], c2[2];
  START();
  memset(x, 0, sizeof x);
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition_plan(h, &in_four, c4);
  starpu_data_partition_plan(h, &in_two, c2);
  starpu_data_partition_submit(h, 4, c4);
  for (i = 0; i < 4; i++) CHECK(submit1(&add_cl, c4[i], (void *)(intptr_t)i) == 0);
  starpu_data_unpartition_submit(h, 4, c4, -1);
  starpu_data_partition_submit(h, 2, c2);
  for (i = 0; i < 2; i++) CHECK(submit1(&add_cl, c2[i], (void *)(intptr_t)(100 * (i + 1))) == 0);
  starpu_data_unpartition_submit(h, 2, c2, -1);
  CHECK(submit1(&sum_cl, h, &total) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(total == 4 * 6 + 8 * 300);
  starpu_data_partition_clean(h, 2, c2);
  starpu_data_partition_clean(h, 4, c4);
  starpu_data_unregister(h);
  for (i = 0; i < 16; i += 4) CHECK(x[i] == i / 4 + 100 * (1 + i / 8));
  STOP();
}

PROGRAM(plan_nested) {
  int x[16], i, j, total = 0;
  starpu_data_handle_t h, c[4], d[4][2];
  START();
  memset(x, 0, sizeof x);
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition_plan(h, &in_four, c);
  for (i = 0; i < 4; i++) starpu_data_partition_plan(c[i], &in_two, d[i]);
  starpu_data_partition_submit(h, 4, c);
  for (i = 0; i < 4; i++) {
    starpu_data_partition_submit(c[i], 2, d[i]);
    for (j = 0; j < 2; j++) {
      CHECK(starpu_vector_get_nx(d[i][j]) == 2);
      CHECK(submit1(&add_cl, d[i][j], (void *)(intptr_t)(10 * i + j)) == 0);
    }
    starpu_data_unpartition_submit(c[i], 2, d[i], -1);
  }
  starpu_data_unpartition_submit(h, 4, c, -1);
  CHECK(submit1(&sum_cl, h, &total) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(total == 2 * (2 * 60 + 4));
  for (i = 0; i < 4; i++) starpu_data_partition_clean(c[i], 2, d[i]);
  starpu_data_partition_clean(h, 4, c);
  starpu_data_unregister(h);
  STOP();
}

static int gathered;
static void on_gathered(void *arg) { gathered += (int)(intptr_t)arg; }
PROGRAM(plan_callback) {
  int x[16], i, round;
  starpu_data_handle_t h, c[4];
  START();
  memset(x, 0, sizeof x);
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 16, sizeof x[0]);
  starpu_data_partition_plan(h, &in_four, c);
  for (round = 1; round <= 2; round++) {
    starpu_data_partition_submit_sequential_consistency(h, 4, c, 1);
    for (i = 0; i < 4; i++) CHECK(submit1(&add_cl, c[i], (void *)1) == 0);
    starpu_data_unpartition_submit_sequential_consistency_cb(h, 4, c, STARPU_MAIN_RAM, 1, on_gathered, (void *)1);
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    starpu_data_release(h);
    starpu_task_wait_for_all();
    CHECK(gathered == round);
    CHECK(x[15] == round);
  }
  starpu_data_partition_clean(h, 4, c);
  starpu_data_unregister(h);
  STOP();
}
