/* Tasks as structs: fields, flags, callbacks, waiting. */
#include "check.h"

static int ran, called;
static void *seen_arg;
static void add_one(void *buffers[], void *arg) {
  (void)buffers;
  seen_arg = arg;
  STARPU_ATOMIC_ADD(&ran, 1);
}
static void note(void *arg) { STARPU_ATOMIC_ADD((int *)arg, 1); }
static struct starpu_codelet add_one_cl = {.cpu_funcs = {add_one}, .nbuffers = 0, .name = "add_one"};

PROGRAM(task_defaults) {
  struct starpu_task *t, s;
  START();
  t = starpu_task_create();
  CHECK(t != NULL);
  CHECK(t->cl == NULL);
  CHECK(t->detach == 1);
  CHECK(t->destroy == 1);
  CHECK(t->synchronous == 0);
  CHECK(t->regenerate == 0);
  CHECK(t->use_tag == 0);
  CHECK(t->sequential_consistency == 1);
  CHECK(t->execute_on_a_specific_worker == 0);
  CHECK(t->priority == STARPU_DEFAULT_PRIO);
  CHECK(t->where == -1);
  CHECK(t->status == STARPU_TASK_INIT);
  CHECK(t->cl_arg == NULL && t->cl_arg_size == 0 && t->callback_func == NULL);
  t->destroy = 0;
  starpu_task_destroy(t);
  starpu_task_init(&s);
  CHECK(s.destroy == 0 && s.detach == 1);
  CHECK(s.sequential_consistency == 1 && s.where == -1);
  starpu_task_clean(&s);
  STOP();
}

PROGRAM(task_submit) {
  struct starpu_task *t;
  int arg = 7, i;
  START();
  ran = 0;
  t = starpu_task_create();
  t->cl = &add_one_cl;
  t->cl_arg = &arg;
  t->cl_arg_size = sizeof arg;
  t->detach = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(ran == 1);
  CHECK(seen_arg == &arg);
  for (i = 0; i < 20; i++) {
    t = starpu_task_create();
    t->cl = &add_one_cl;
    if (starpu_task_submit(t) != 0) CHECK(0);
  }
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(ran == 21);
  CHECK(starpu_task_nsubmitted() == 0);
  CHECK(starpu_task_get_current() == NULL);
  t = starpu_task_create();
  t->cl = &add_one_cl;
  t->detach = 0;
  t->destroy = 0;
  CHECK(starpu_task_submit(t) == 0);
  starpu_task_wait_for_all();
  CHECK(starpu_task_finished(t));
  CHECK(starpu_task_wait(t) == 0);
  CHECK(ran == 22);
  starpu_task_destroy(t);
  STOP();
}

PROGRAM(task_synchronous) {
  struct starpu_task *t;
  int i, calls = 0;
  START();
  ran = 0;
  for (i = 1; i <= 5; i++) {
    t = starpu_task_create();
    t->cl = &add_one_cl;
    t->synchronous = 1;
    t->callback_func = note;
    t->callback_arg = &calls;
    CHECK(starpu_task_submit(t) == 0);
    CHECK(ran == i);
    CHECK(calls == i);
  }
  STOP();
}

PROGRAM(task_empty) {
  struct starpu_task *t;
  int calls = 0;
  START();
  t = starpu_task_create();
  t->callback_func = note;
  t->callback_arg = &calls;
  t->detach = 0;
  CHECK(t->cl == NULL);
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(calls == 1);
  t = starpu_task_create();
  t->synchronous = 1;
  t->callback_func = note;
  t->callback_arg = &calls;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(calls == 2);
  starpu_create_callback_task(note, &calls);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(calls == 3);
  t = starpu_task_create();
  t->destroy = 0;
  t->detach = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(starpu_task_finished(t));
  starpu_task_destroy(t);
  STOP();
}

static int steps[16], nsteps;
static void step(void *arg) { steps[nsteps++] = (int)(intptr_t)arg; }
static void step_body(void *buffers[], void *arg) {
  (void)buffers;
  step(arg);
}
static struct starpu_codelet step_cl = {.cpu_funcs = {step_body}, .nbuffers = 0, .name = "step"};

PROGRAM(task_order_of_calls) {
  struct starpu_task *t;
  int i;
  START();
  nsteps = 0;
  t = starpu_task_create();
  t->cl = &step_cl;
  t->cl_arg = (void *)3;
  t->prologue_callback_func = step;
  t->prologue_callback_arg = (void *)1;
  t->prologue_callback_pop_func = step;
  t->prologue_callback_pop_arg = (void *)2;
  t->callback_func = step;
  t->callback_arg = (void *)4;
  t->detach = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(nsteps == 4);
  for (i = 0; i < 4; i++) CHECK(steps[i] == i + 1);
  nsteps = 0;
  t = starpu_task_create();
  t->prologue_callback_func = step;
  t->prologue_callback_arg = (void *)1;
  t->callback_func = step;
  t->callback_arg = (void *)2;
  t->synchronous = 1;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(nsteps == 2);
  CHECK(steps[0] == 1);
  CHECK(steps[1] == 2);
  STOP();
}

static struct starpu_task again;
static int rounds;
static void submit_again(void *arg) {
  (void)arg;
  if (++rounds < 10 && starpu_task_submit(&again) != 0) abort();
}

PROGRAM(task_again_from_callback) {
  START();
  ran = rounds = 0;
  starpu_task_init(&again);
  again.cl = &add_one_cl;
  again.callback_func = submit_again;
  CHECK(again.destroy == 0);
  CHECK(starpu_task_submit(&again) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(rounds == 10);
  CHECK(ran == 10);
  CHECK(again.magic == 42);
  rounds = 5;
  CHECK(starpu_task_submit(&again) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(rounds == 10);
  CHECK(ran == 15);
  starpu_task_clean(&again);
  STOP();
}

static struct starpu_task repeated;
static void stop_at_eight(void *arg) {
  (void)arg;
  if (++rounds == 8) repeated.regenerate = 0;
}

PROGRAM(task_regenerate) {
  START();
  ran = rounds = 0;
  starpu_task_init(&repeated);
  repeated.cl = &add_one_cl;
  repeated.callback_func = stop_at_eight;
  repeated.regenerate = 1;
  repeated.detach = 1;
  CHECK(starpu_task_submit(&repeated) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(ran == 8);
  CHECK(rounds == 8);
  CHECK(repeated.regenerate == 0);
  rounds = 4;
  repeated.regenerate = 1;
  CHECK(starpu_task_submit(&repeated) == 0);
  CHECK(starpu_task_wait_for_all() == 0);
  CHECK(ran == 12);
  CHECK(rounds == 8);
  CHECK(starpu_task_nsubmitted() == 0);
  starpu_task_clean(&repeated);
  STOP();
}

static int current_ok, inside_worker;
static void look(void *buffers[], void *arg) {
  struct starpu_task *t = starpu_task_get_current();
  (void)buffers;
  current_ok = t != NULL && t->cl_arg == arg && t->status == STARPU_TASK_RUNNING;
  inside_worker = starpu_worker_get_id();
}
static struct starpu_codelet look_cl = {.cpu_funcs = {look}, .nbuffers = 0, .name = "look"};

PROGRAM(task_current) {
  struct starpu_task *t;
  int i, arg;
  START();
  for (i = 0; i < 4; i++) {
    t = starpu_task_create();
    t->cl = &look_cl;
    t->cl_arg = &arg;
    t->synchronous = 1;
    current_ok = inside_worker = -1;
    CHECK(starpu_task_submit(t) == 0);
    CHECK(current_ok == 1);
    CHECK(inside_worker >= 0 && inside_worker < 2);
  }
  CHECK(starpu_task_get_current() == NULL);
  CHECK(starpu_worker_get_id() == -1);
  STOP();
}

PROGRAM(task_waits) {
  struct starpu_task *t[10];
  int i;
  START();
  ran = 0;
  for (i = 0; i < 10; i++) {
    t[i] = starpu_task_create();
    t[i]->cl = &add_one_cl;
    t[i]->detach = 0;
    if (i % 2) t[i]->destroy = 0;
    CHECK(starpu_task_submit(t[i]) == 0);
  }
  CHECK(starpu_task_wait_array(t, 10) == 0);
  CHECK(ran == 10);
  for (i = 1; i < 10; i += 2) {
    CHECK(starpu_task_finished(t[i]));
    starpu_task_destroy(t[i]);
  }
  CHECK(starpu_task_wait_for_n_submitted(0) == 0);
  CHECK(starpu_task_wait_for_no_ready() == 0);
  STOP();
}

PROGRAM(task_names) {
  struct starpu_perfmodel model = {.type = STARPU_HISTORY_BASED, .symbol = "compat_symbol"};
  struct starpu_codelet named = {.cpu_funcs = {add_one}, .nbuffers = 0, .name = "of codelet", .model = &model};
  struct starpu_codelet unnamed = {.cpu_funcs = {add_one}, .nbuffers = 0, .model = &model};
  struct starpu_task *t;
  START();
  ran = 0;
  t = starpu_task_create();
  CHECK(starpu_task_get_name(t) == NULL);
  CHECK(starpu_task_get_model_name(t) == NULL);
  t->cl = &unnamed;
  CHECK(!strcmp(starpu_task_get_name(t), "compat_symbol"));
  CHECK(!strcmp(starpu_task_get_model_name(t), "compat_symbol"));
  t->cl = &named;
  CHECK(!strcmp(starpu_task_get_name(t), "compat_symbol"));
  named.model = NULL;
  CHECK(!strcmp(starpu_task_get_name(t), "of codelet"));
  t->name = "of task";
  CHECK(!strcmp(starpu_task_get_name(t), "of task"));
  t->detach = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  t = starpu_task_create();
  t->cl = &unnamed;
  t->synchronous = 1;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(ran == 2);
  CHECK(called == 0);
  STOP();
}

PROGRAM(task_dup) {
  struct starpu_task *t, *copy;
  int arg = 3;
  START();
  ran = 0;
  t = starpu_task_create();
  t->cl = &add_one_cl;
  t->cl_arg = &arg;
  t->priority = 0;
  t->detach = 0;
  copy = starpu_task_dup(t);
  CHECK(copy != t);
  CHECK(copy->cl == t->cl);
  CHECK(copy->cl_arg == &arg);
  CHECK(copy->detach == 0);
  CHECK(copy->destroy == t->destroy);
  CHECK(starpu_task_submit(copy) == 0);
  CHECK(starpu_task_wait(copy) == 0);
  CHECK(ran == 1);
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  CHECK(ran == 2);
  STOP();
}

PROGRAM(task_frees_its_arguments) {
  struct starpu_task *t;
  int i;
  START();
  ran = nsteps = 0;
  for (i = 0; i < 10; i++) {
    t = starpu_task_create();
    t->cl = &add_one_cl;
    t->cl_arg = malloc(100);
    t->cl_arg_size = 100;
    t->cl_arg_free = 1;
    t->callback_func = step;
    t->callback_arg = malloc(10);
    t->callback_arg_free = 1;
    t->synchronous = 1;
    CHECK(starpu_task_submit(t) == 0);
  }
  CHECK(ran == 10);
  CHECK(nsteps == 10);
  STOP();
}
