/* starpu_task_insert() and its kin: tags, packed arguments. */
#include "check.h"

static int got_int, ran;
static double got_double;
static char got_text[8];
static void unpack(void *buffers[], void *arg) {
  (void)buffers;
  starpu_codelet_unpack_args(arg, &got_int, &got_double, got_text, NULL);
  ran++;
}
static struct starpu_codelet unpack_cl = {.cpu_funcs = {unpack}, .nbuffers = 0, .name = "unpack"};

PROGRAM(insert_values) {
  int i, x;
  double y;
  char text[8] = "words";
  START();
  for (i = 0; i < 4; i++) {
    x = 10 + i, y = 0.5 * i;
    CHECK(starpu_task_insert(&unpack_cl, STARPU_VALUE, &x, sizeof x, STARPU_VALUE, &y, sizeof y, STARPU_VALUE, text, sizeof text, 0) == 0);
    x = -1;
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(got_int == 10 + i);
    CHECK(got_double == 0.5 * i);
    CHECK(!strcmp(got_text, "words"));
  }
  CHECK(starpu_insert_task(&unpack_cl, STARPU_VALUE, &x, sizeof x, STARPU_VALUE, &y, sizeof y, STARPU_VALUE, text, sizeof text, 0) == 0);
  starpu_task_wait_for_all();
  CHECK(got_int == -1);
  CHECK(ran == 5);
  STOP();
}

static void unpack_some(void *buffers[], void *arg) {
  int a = 0, b = 0;
  char rest[256];
  (void)buffers;
  starpu_codelet_unpack_args_and_copyleft(arg, rest, sizeof rest, &a, NULL);
  starpu_codelet_unpack_args(rest, &b, &got_double, NULL);
  got_int = 100 * a + b;
}
static struct starpu_codelet unpack_some_cl = {.cpu_funcs = {unpack_some}, .nbuffers = 0};

PROGRAM(insert_copyleft) {
  int i;
  START();
  for (i = 1; i <= 6; i++) {
    int a = i, b = 2 * i;
    double c = i + 0.25;
    CHECK(starpu_task_insert(&unpack_some_cl, STARPU_VALUE, &a, sizeof a, STARPU_VALUE, &b, sizeof b, STARPU_VALUE, &c, sizeof c, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(got_int == 100 * i + 2 * i);
    CHECK(got_double == i + 0.25);
  }
  STOP();
}

PROGRAM(insert_pack) {
  void *buffer = NULL;
  size_t bytes = 0;
  int x = 4, i;
  double y = 2.5;
  char text[8] = "abc";
  struct starpu_codelet_pack_arg_data state;
  START();
  starpu_codelet_pack_args(&buffer, &bytes, STARPU_VALUE, &x, sizeof x, STARPU_VALUE, &y, sizeof y, STARPU_VALUE, text, sizeof text, 0);
  CHECK(buffer != NULL);
  CHECK(bytes >= sizeof x + sizeof y + sizeof text);
  for (i = 0; i < 3; i++) {
    got_int = 0;
    CHECK(starpu_task_insert(&unpack_cl, STARPU_CL_ARGS_NFREE, buffer, bytes, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(got_int == 4);
  }
  CHECK(starpu_task_insert(&unpack_cl, STARPU_CL_ARGS, buffer, bytes, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
  CHECK(got_double == 2.5);
  x = 8;
  starpu_codelet_pack_arg_init(&state);
  starpu_codelet_pack_arg(&state, &x, sizeof x);
  starpu_codelet_pack_arg(&state, &y, sizeof y);
  starpu_codelet_pack_arg(&state, text, sizeof text);
  CHECK(state.nargs == 3);
  starpu_codelet_pack_arg_fini(&state, &buffer, &bytes);
  CHECK(starpu_task_insert(&unpack_cl, STARPU_CL_ARGS, buffer, bytes, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
  CHECK(got_int == 8);
  STOP();
}

static void scale(void *buffers[], void *arg) {
  int factor = 1;
  starpu_codelet_unpack_args(arg, &factor, NULL);
  *(int *)STARPU_VARIABLE_GET_PTR(buffers[0]) = factor * *(int *)STARPU_VARIABLE_GET_PTR(buffers[1]);
}
static struct starpu_codelet scale_cl = {.cpu_funcs = {scale}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}};
static struct starpu_codelet scale_any_cl = {.cpu_funcs = {scale}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

PROGRAM(insert_data) {
  int a = 3, b = 0, factor = 5;
  starpu_data_handle_t h[2];
  struct starpu_data_descr d[2];
  START();
  starpu_variable_data_register(&h[0], STARPU_MAIN_RAM, (uintptr_t)&b, sizeof b);
  starpu_variable_data_register(&h[1], STARPU_MAIN_RAM, (uintptr_t)&a, sizeof a);
  CHECK(starpu_task_insert(&scale_cl, STARPU_W, h[0], STARPU_R, h[1], STARPU_VALUE, &factor, sizeof factor, 0) == 0);
  CHECK(starpu_data_acquire(h[0], STARPU_R) == 0);
  CHECK(b == 15);
  starpu_data_release(h[0]);
  factor = 6;
  CHECK(starpu_task_insert(&scale_cl, STARPU_DATA_ARRAY, h, 2, STARPU_VALUE, &factor, sizeof factor, 0) == 0);
  CHECK(starpu_data_acquire(h[0], STARPU_R) == 0);
  CHECK(b == 18);
  starpu_data_release(h[0]);
  factor = 7;
  d[0].handle = h[0], d[0].mode = STARPU_W;
  d[1].handle = h[1], d[1].mode = STARPU_R;
  CHECK(starpu_task_insert(&scale_any_cl, STARPU_DATA_MODE_ARRAY, d, 2, STARPU_VALUE, &factor, sizeof factor, 0) == 0);
  CHECK(starpu_data_acquire(h[0], STARPU_R) == 0);
  CHECK(b == 21);
  starpu_data_release(h[0]);
  factor = 8;
  CHECK(starpu_task_insert(&scale_any_cl, STARPU_W, h[0], STARPU_R, h[1], STARPU_VALUE, &factor, sizeof factor, 0) == 0);
  starpu_task_wait_for_all();
  starpu_data_unregister(h[0]);
  starpu_data_unregister(h[1]);
  CHECK(b == 24);
  CHECK(a == 3);
  STOP();
}

static int nhandles, sum;
static void add_all(void *buffers[], void *arg) {
  int i;
  (void)arg;
  sum = 0;
  for (i = 0; i < nhandles; i++) sum += *(int *)STARPU_VARIABLE_GET_PTR(buffers[i]);
}
static struct starpu_codelet add_all_cl = {.cpu_funcs = {add_all}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

PROGRAM(insert_many_data) {
  enum { N = 40 };
  int value[N], i;
  starpu_data_handle_t h[N];
  struct starpu_data_descr d[N];
  START();
  for (i = 0; i < N; i++) {
    value[i] = i;
    starpu_variable_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)&value[i], sizeof value[i]);
    d[i].handle = h[i], d[i].mode = STARPU_R;
  }
  for (nhandles = 5; nhandles <= N; nhandles += 5) {
    CHECK(starpu_task_insert(&add_all_cl, STARPU_DATA_MODE_ARRAY, d, nhandles, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(sum == nhandles * (nhandles - 1) / 2);
  }
  for (i = 0; i < N; i++) starpu_data_unregister(h[i]);
  STOP();
}

static void note(void *arg) { *(int *)arg += 1; }
PROGRAM(insert_callbacks) {
  int before = 0, pop = 0, after = 0, i;
  START();
  for (i = 1; i <= 4; i++) {
    CHECK(starpu_task_insert(&unpack_some_cl, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &got_double, sizeof got_double,
                             STARPU_PROLOGUE_CALLBACK, note, STARPU_PROLOGUE_CALLBACK_ARG_NFREE, &before,
                             STARPU_PROLOGUE_CALLBACK_POP, note, STARPU_PROLOGUE_CALLBACK_POP_ARG_NFREE, &pop,
                             STARPU_CALLBACK_WITH_ARG_NFREE, note, &after, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
    CHECK(before == i);
    CHECK(pop == i);
    CHECK(after == i);
  }
  CHECK(starpu_task_insert(&unpack_some_cl, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &i, sizeof i, STARPU_VALUE, &got_double, sizeof got_double,
                           STARPU_CALLBACK, note, STARPU_CALLBACK_ARG_NFREE, &after, STARPU_TASK_SYNCHRONOUS, 1, 0) == 0);
  CHECK(after == 5);
  STOP();
}

PROGRAM(insert_build) {
  struct starpu_task *t, s;
  int x = 2, y = 4;
  double z = 0.5;
  START();
  t = starpu_task_build(&unpack_some_cl, STARPU_VALUE, &x, sizeof x, STARPU_VALUE, &y, sizeof y, STARPU_VALUE, &z, sizeof z,
                        STARPU_PRIORITY, 0, STARPU_NAME, "built", STARPU_FLOPS, 10.0, STARPU_TAG_ONLY, (starpu_tag_t)9, 0);
  CHECK(t->cl == &unpack_some_cl);
  CHECK(t->cl_arg != NULL && t->cl_arg_free == 1);
  CHECK(t->priority == 0);
  CHECK(!strcmp(t->name, "built"));
  CHECK(t->flops == 10.0);
  CHECK(t->tag_id == 9 && t->use_tag == 0);
  CHECK(t->destroy == 1);
  t->detach = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(got_int == 204);
  starpu_task_init(&s);
  x = 3;
  starpu_task_set(&s, &unpack_some_cl, STARPU_VALUE, &x, sizeof x, STARPU_VALUE, &y, sizeof y, STARPU_VALUE, &z, sizeof z, 0);
  CHECK(s.cl_arg_free == 1);
  s.detach = 0;
  CHECK(starpu_task_submit(&s) == 0);
  CHECK(starpu_task_wait(&s) == 0);
  CHECK(got_int == 304);
  starpu_task_clean(&s);
  STOP();
}
