/* What the other files leave out: ends that a task holds itself, requests about data, lists of waits. */
#include "check.h"

static int ran, values[4];
static struct starpu_task *self;
static void hold_own_end(void *buffers[], void *arg) {
  (void)buffers, (void)arg;
  self = starpu_task_get_current();
  starpu_task_end_dep_add(self, 2);
  STARPU_ATOMIC_ADD(&ran, 1);
}
static void count(void *buffers[], void *arg) { (void)buffers, (void)arg, STARPU_ATOMIC_ADD(&ran, 1); }
static struct starpu_codelet hold_cl = {.cpu_funcs = {hold_own_end}, .nbuffers = 1, .modes = {STARPU_RW}};
static struct starpu_codelet after_cl = {.cpu_funcs = {count}, .nbuffers = 1, .modes = {STARPU_RW}};

PROGRAM(extra_end_from_inside) {
  starpu_data_handle_t h;
  int round;
  START();
  starpu_void_data_register(&h);
  for (round = 0; round < 3; round++) {
    ran = 0;
    self = NULL;
    CHECK(starpu_task_insert(&hold_cl, STARPU_RW, h, 0) == 0);
    while (*(volatile int *)&ran < 1) starpu_usleep(100);
    starpu_usleep(1000);
    CHECK(starpu_task_nsubmitted() == 1);
    starpu_task_end_dep_release(self);
    starpu_usleep(1000);
    CHECK(starpu_task_nsubmitted() == 1);
    starpu_task_end_dep_release(self);
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(starpu_task_insert(&after_cl, STARPU_RW, h, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(ran == 2);
  }
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(extra_requests) {
  int x[10], i, dims[2], allocated = -1, valid = -1, requested = -1;
  starpu_data_handle_t h;
  START();
  for (i = 0; i < 10; i++) x[i] = i;
  starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)x, 10, sizeof x[0]);
  CHECK(starpu_data_is_on_node(h, STARPU_MAIN_RAM) == 1);
  CHECK(starpu_data_test_if_allocated_on_node(h, STARPU_MAIN_RAM) == 1);
  CHECK(starpu_data_fetch_on_node(h, STARPU_MAIN_RAM, 0) == 0);
  CHECK(starpu_data_prefetch_on_node(h, STARPU_MAIN_RAM, 1) == 0);
  CHECK(starpu_data_idle_prefetch_on_node(h, STARPU_MAIN_RAM, 1) == 0);
  CHECK(starpu_data_prefetch_on_node_prio(h, STARPU_MAIN_RAM, 1, 0) == 0);
  starpu_data_query_status(h, STARPU_MAIN_RAM, &allocated, &valid, &requested);
  CHECK(allocated == 1);
  CHECK(valid == 1);
  starpu_data_set_wt_mask(h, 1 << STARPU_MAIN_RAM);
  starpu_data_wont_use(h);
  starpu_data_set_coordinates(h, 2, 8, 9);
  CHECK(starpu_data_get_coordinates_array(h, 2, dims) == 2);
  CHECK(dims[0] == 8 && dims[1] == 9);
  CHECK(starpu_data_acquire(h, STARPU_R) == 0);
  CHECK(starpu_data_handle_to_pointer(h, STARPU_MAIN_RAM) == x);
  CHECK(STARPU_VECTOR_GET_PTR(starpu_data_get_interface_on_node(h, STARPU_MAIN_RAM)) == (uintptr_t)x);
  CHECK(x[9] == 9);
  starpu_data_release(h);
  starpu_data_unregister(h);
  STOP();
}

PROGRAM(extra_copies) {
  char from[64], to[64];
  uintptr_t on_node;
  int i;
  START();
  for (i = 0; i < 64; i++) from[i] = (char)i;
  memset(to, 0, sizeof to);
  CHECK(starpu_interface_copy((uintptr_t)from, 4, STARPU_MAIN_RAM, (uintptr_t)to, 8, STARPU_MAIN_RAM, 10, NULL) == 0);
  CHECK(to[7] == 0 && to[8] == 4 && to[17] == 13 && to[18] == 0);
  memset(to, 0, sizeof to);
  CHECK(starpu_interface_copy2d((uintptr_t)from, 0, STARPU_MAIN_RAM, (uintptr_t)to, 0, STARPU_MAIN_RAM, 4, 3, 10, 8, NULL) == 0);
  CHECK(to[0] == 0 && to[3] == 3 && to[4] == 0);
  CHECK(to[8] == 10 && to[11] == 13);
  CHECK(to[16] == 20 && to[19] == 23 && to[24] == 0);
  memset(to, 0, sizeof to);
  CHECK(starpu_interface_copy3d((uintptr_t)from, 1, STARPU_MAIN_RAM, (uintptr_t)to, 0, STARPU_MAIN_RAM, 2, 2, 4, 2, 3, 16, 4, NULL) == 0);
  CHECK(to[0] == 1 && to[1] == 2 && to[2] == 5 && to[3] == 6);
  CHECK(to[4] == 17 && to[8] == 33 && to[11] == 38);
  on_node = starpu_malloc_on_node(STARPU_MAIN_RAM, 100);
  CHECK(on_node != 0);
  memset((void *)on_node, 1, 100);
  starpu_free_on_node(STARPU_MAIN_RAM, on_node, 100);
  STOP();
}

static void set_value(void *buffers[], void *arg) { (void)buffers, values[(int)(intptr_t)arg] = 1; }
static struct starpu_codelet set_value_cl = {.cpu_funcs = {set_value}, .nbuffers = 0};
PROGRAM(extra_tags) {
  starpu_tag_t all[4];
  struct starpu_task *t;
  int i;
  START();
  for (i = 0; i < 4; i++) {
    all[i] = (starpu_tag_t)(500 + i);
    t = starpu_task_create();
    t->cl = &set_value_cl;
    t->cl_arg = (void *)(intptr_t)i;
    t->use_tag = 1;
    t->tag_id = all[i];
    CHECK(starpu_task_submit(t) == 0);
  }
  CHECK(starpu_tag_wait_array(4, all) == 0);
  for (i = 0; i < 4; i++) CHECK(values[i] == 1);
  t = starpu_task_create();
  t->cl = &set_value_cl;
  t->synchronous = 1;
  CHECK(starpu_task_submit_to_ctx(t, 0) == 0);
  CHECK(starpu_task_wait_for_all_in_ctx(0) == 0);
  CHECK(starpu_task_wait_for_n_submitted_in_ctx(0, 0) == 0);
  STOP();
}
