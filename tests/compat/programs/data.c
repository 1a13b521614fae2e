/* Handles: registration, modes, acquisition, life. */
#include "check.h"

static void set_to(void *buffers[], void *arg) { *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = (int)(intptr_t)arg; }
static void add_to(void *buffers[], void *arg) { *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += (int)(intptr_t)arg; }
static void copy_to(void *buffers[], void *arg) {
  (void)arg;
  *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]) = *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]);
}
static struct starpu_codelet set_cl = {.cpu_funcs = {set_to}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet add_cl = {.cpu_funcs = {add_to}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet copy_cl = {.cpu_funcs = {copy_to}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};
static int submit1(struct starpu_codelet *cl, starpu_data_handle_t h, int arg) {
  struct starpu_task *t = starpu_task_create();
  t->cl = cl;
  t->handles[0] = h;
  t->cl_arg = (void *)(intptr_t)arg;
  return starpu_task_submit(t);
}

PROGRAM(data_order) {
  int x = 1, y = 0, i;
  starpu_data_handle_t h, g;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_variable_data_register(&g, STARPU_MAIN_RAM, (uintptr_t)&y, sizeof y);
  for (i = 0; i < 10; i++) {
    struct starpu_task *t = starpu_task_create();
    CHECK(submit1(&add_cl, h, i) == 0);
    t->cl = &copy_cl;
    t->handles[0] = h;
    t->handles[1] = g;
    CHECK(starpu_task_submit(t) == 0);
    if (i == 4) {
      CHECK(starpu_data_acquire(g, STARPU_R) == 0);
      CHECK(y == 11);
      starpu_data_release(g);
    }
  }
  CHECK(submit1(&set_cl, h, 7) == 0);
  starpu_data_unregister(g);
  CHECK(y == 46);
  starpu_data_unregister(h);
  CHECK(x == 7);
  STOP();
}

PROGRAM(data_acquire) {
  int x = 0, i;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  CHECK(starpu_data_get_local_ptr(h) == &x);
  CHECK(starpu_variable_get_local_ptr(h) == (uintptr_t)&x);
  CHECK(starpu_variable_get_elemsize(h) == sizeof x);
  for (i = 1; i <= 5; i++) {
    CHECK(starpu_data_acquire(h, STARPU_RW) == 0);
    x += 10;
    starpu_data_release(h);
    CHECK(submit1(&add_cl, h, 1) == 0);
    CHECK(starpu_data_acquire_on_node(h, STARPU_MAIN_RAM, STARPU_R) == 0);
    CHECK(x == 11 * i);
    starpu_data_release_on_node(h, STARPU_MAIN_RAM);
  }
  CHECK(starpu_data_acquire(h, STARPU_W) == 0);
  x = 3;
  starpu_data_release(h);
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  starpu_data_release(h);
  starpu_data_release(h);
  CHECK(submit1(&add_cl, h, 1) == 0);
  starpu_data_unregister(h);
  CHECK(x == 4);
  STOP();
}

static starpu_data_handle_t held;
static int *target, calls;
static void granted(void *arg) {
  *target += (int)(intptr_t)arg;
  STARPU_ATOMIC_ADD(&calls, 1);
  starpu_data_release(held);
}

PROGRAM(data_acquire_cb) {
  int x = 0, i;
  START();
  target = &x;
  starpu_variable_data_register(&held, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 0; i < 6; i++) {
    CHECK(submit1(&add_cl, held, 1) == 0);
    CHECK(starpu_data_acquire_cb(held, STARPU_RW, granted, (void *)100) == 0);
  }
  CHECK(starpu_data_acquire_on_node_cb(held, STARPU_MAIN_RAM, STARPU_RW, granted, (void *)1000) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(starpu_data_acquire(held, STARPU_R) == 0);
  CHECK(x == 1606);
  CHECK(calls == 7);
  starpu_data_release(held);
  starpu_data_unregister(held);
  CHECK(x == 1606);
  STOP();
}

PROGRAM(data_acquire_try) {
  int x = 5, i;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 0; i < 4; i++) {
    CHECK(starpu_data_acquire_try(h, STARPU_R) == 0);
    CHECK(x == 5);
    starpu_data_release(h);
  }
  starpu_pause();
  CHECK(submit1(&set_cl, h, 9) == 0);
  CHECK(starpu_data_acquire_try(h, STARPU_R) == -EAGAIN);
  CHECK(starpu_data_acquire_try(h, STARPU_R) == -EAGAIN);
  starpu_resume();
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(starpu_data_acquire_try(h, STARPU_R) == 0);
  CHECK(x == 9);
  starpu_data_release(h);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(data_without_home) {
  int y = 0, i;
  starpu_data_handle_t h, g;
  START();
  starpu_variable_data_register(&g, STARPU_MAIN_RAM, (uintptr_t)&y, sizeof y);
  for (i = 1; i <= 4; i++) {
    struct starpu_task *t;
    starpu_variable_data_register(&h, -1, 0, sizeof(int));
    CHECK(starpu_variable_get_elemsize(h) == sizeof(int));
    CHECK(submit1(&set_cl, h, i) == 0);
    CHECK(submit1(&add_cl, h, 10) == 0);
    t = starpu_task_create();
    t->cl = &copy_cl;
    t->handles[0] = h;
    t->handles[1] = g;
    CHECK(starpu_task_submit(t) == 0);
    if (i % 2) starpu_data_unregister(h);
    else starpu_data_unregister_submit(h);
    CHECK(starpu_data_acquire(g, STARPU_R) == 0);
    CHECK(y == 10 + i);
    starpu_data_release(g);
  }
  starpu_variable_data_register(&h, -1, 0, sizeof(int));
  CHECK(submit1(&set_cl, h, 77) == 0);
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  CHECK(*(int *)starpu_data_get_local_ptr(h) == 77);
  CHECK(starpu_data_get_local_ptr(h) == (void *)starpu_variable_get_local_ptr(h));
  starpu_data_release(h);
  starpu_data_unregister_no_coherency(h);
  starpu_data_unregister(g);
  STOP();
}

PROGRAM(data_invalidate) {
  int i, x = 0;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 1; i <= 4; i++) {
    CHECK(submit1(&add_cl, h, 1) == 0);
    if (i % 2) starpu_data_invalidate(h);
    else starpu_data_invalidate_submit(h);
    CHECK(submit1(&set_cl, h, 5 * i) == 0);
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(x == 5 * i);
    starpu_data_release(h);
  }
  starpu_data_unregister(h);
  CHECK(x == 20);
  STOP();
}

static void both(void *buffers[], void *arg) {
  int *a = (int *)STARPU_VARIABLE_GET_PTR(buffers[0]), *b = (int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
  *(int *)arg = a == b;
  *b = *a + 1;
}
static struct starpu_codelet both_cl = {.cpu_funcs = {both}, .nbuffers = 2, .modes = {STARPU_R, STARPU_RW}};

PROGRAM(data_twice_in_a_task) {
  int x = 0, same = 0, i;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 1; i <= 5; i++) {
    struct starpu_task *t = starpu_task_create();
    t->cl = &both_cl;
    t->handles[0] = t->handles[1] = h;
    t->cl_arg = &same;
    t->synchronous = 1;
    same = 0;
    CHECK(starpu_task_submit(t) == 0);
    CHECK(same == 1);
    CHECK(x == i);
  }
  starpu_data_unregister(h);
  STOP();
}

static void use_scratch(void *buffers[], void *arg) {
  int *scratch = (int *)STARPU_VECTOR_GET_PTR(buffers[1]), i, n = (int)STARPU_VECTOR_GET_NX(buffers[1]);
  (void)arg;
  for (i = 0; i < n; i++) scratch[i] = i;
  for (i = 0; i < n; i++) *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) += scratch[i];
}
static struct starpu_codelet use_scratch_cl = {.cpu_funcs = {use_scratch}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_SCRATCH}};

PROGRAM(data_scratch) {
  int x = 0, i;
  starpu_data_handle_t h, s;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_vector_data_register(&s, -1, 0, 10, sizeof(int));
  for (i = 1; i <= 6; i++) {
    CHECK(starpu_task_insert(&use_scratch_cl, STARPU_RW, h, STARPU_SCRATCH, s, 0) == 0);
    CHECK(starpu_data_acquire(h, STARPU_R) == 0);
    CHECK(x == 45 * i);
    starpu_data_release(h);
  }
  starpu_data_unregister(s);
  starpu_data_unregister(h);
  STOP();
}

static struct starpu_codelet commute_cl = {.cpu_funcs = {add_to}, .nbuffers = 1, .modes = {STARPU_RW | STARPU_COMMUTE}};
PROGRAM(data_commute) {
  int x = 0, i;
  starpu_data_handle_t h;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  for (i = 1; i <= 10; i++) CHECK(submit1(&commute_cl, h, i) == 0);
  CHECK(submit1(&add_cl, h, 100) == 0);
  starpu_data_unregister(h);
  CHECK(x == 155);
  STOP();
}

PROGRAM(data_facts) {
  int x = 0, tag, dims[3] = {4, 5, 6}, got[3] = {0, 0, 0};
  starpu_data_handle_t h, v;
  float vec[6];
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_vector_data_register(&v, STARPU_MAIN_RAM, (uintptr_t)vec, 6, sizeof vec[0]);
  CHECK(starpu_data_lookup(&x) == h);
  CHECK(starpu_data_lookup(&tag) == NULL);
  CHECK(starpu_data_get_user_data(h) == NULL);
  starpu_data_set_user_data(h, &tag);
  CHECK(starpu_data_get_user_data(h) == &tag);
  CHECK(starpu_data_get_sequential_consistency_flag(h) == 1);
  starpu_data_set_sequential_consistency_flag(h, 0);
  CHECK(starpu_data_get_sequential_consistency_flag(h) == 0);
  starpu_data_set_sequential_consistency_flag(h, 1);
  CHECK(starpu_data_get_default_sequential_consistency_flag() == 1);
  CHECK(starpu_data_get_size(v) == sizeof vec);
  CHECK(starpu_data_get_alloc_size(v) == sizeof vec);
  CHECK(starpu_data_get_interface_id(v) == STARPU_VECTOR_INTERFACE_ID);
  CHECK(starpu_data_get_interface_id(h) == STARPU_VARIABLE_INTERFACE_ID);
  CHECK(starpu_data_get_home_node(h) == STARPU_MAIN_RAM);
  CHECK(starpu_data_pointer_is_inside(v, STARPU_MAIN_RAM, &vec[3]) == 1);
  CHECK(starpu_data_pointer_is_inside(v, STARPU_MAIN_RAM, &x) == 0);
  starpu_data_set_coordinates_array(h, 3, dims);
  CHECK(starpu_data_get_coordinates_array(h, 3, got) == 3);
  CHECK(got[0] == 4 && got[1] == 5 && got[2] == 6);
  starpu_data_set_ooc_flag(h, 0);
  CHECK(starpu_data_get_ooc_flag(h) == 0);
  starpu_data_unregister(v);
  starpu_data_unregister(h);
  CHECK(starpu_data_lookup(&x) == NULL);
  STOP();
}

static int copied;
static void note_copy(void *arg) { copied += (int)(intptr_t)arg; }
PROGRAM(data_cpy) {
  int x = 1, y = 0, i;
  starpu_data_handle_t h, g;
  START();
  starpu_variable_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)&x, sizeof x);
  starpu_variable_data_register(&g, STARPU_MAIN_RAM, (uintptr_t)&y, sizeof y);
  for (i = 1; i <= 4; i++) {
    CHECK(submit1(&add_cl, h, 1) == 0);
    CHECK(starpu_data_cpy(g, h, i % 2, note_copy, (void *)1) == 0);
    CHECK(submit1(&add_cl, g, 100) == 0);
    CHECK(starpu_data_acquire(g, STARPU_R) == 0);
    CHECK(y == 101 + i);
    starpu_data_release(g);
  }
  starpu_task_wait_for_all();
  CHECK(copied == 4);
  starpu_data_unregister(h);
  starpu_data_unregister(g);
  STOP();
}

PROGRAM(data_register_same) {
  double m[12] = {0}, *p;
  int i;
  starpu_data_handle_t h, g;
  START();
  for (i = 0; i < 12; i++) m[i] = i;
  starpu_matrix_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)m, 4, 4, 3, sizeof m[0]);
  starpu_data_register_same(&g, h);
  CHECK(starpu_matrix_get_nx(g) == 4);
  CHECK(starpu_matrix_get_ny(g) == 3);
  CHECK(starpu_matrix_get_elemsize(g) == sizeof m[0]);
  CHECK(starpu_data_get_home_node(g) == -1);
  CHECK(starpu_data_get_size(g) == sizeof m);
  CHECK(starpu_data_cpy(g, h, 0, NULL, NULL) == 0);
  CHECK(starpu_data_acquire(g, STARPU_R) == 0);
  p = (double *)starpu_matrix_get_local_ptr(g);
  CHECK(p != NULL && p != m);
  CHECK(p[0] == 0);
  CHECK(p[starpu_matrix_get_local_ld(g) + 1] == 5);
  CHECK(p[2 * starpu_matrix_get_local_ld(g) + 3] == 11);
  starpu_data_release(g);
  starpu_data_unregister(g);
  starpu_data_unregister(h);
  STOP();
}
