/* Helpers: hashes, lists, sets, memory, time, threads, assertions. */
#include "check.h"

PROGRAM(util_hash) {
  uint32_t i;
  const char text[] = "a broken consort";
  for (i = 0; i < 5; i++) SAY("%08x %08x", starpu_hash_crc32c_be(i * 0x01234567u, 0), starpu_hash_crc32c_be(i, 0xffffffffu - i));
  for (i = 0; i < sizeof text; i += 3) SAY("%08x", starpu_hash_crc32c_be_n(text, i, 7));
  CHECK(starpu_hash_crc32c_be_n(text, 0, 5) == 5);
  CHECK(starpu_hash_crc32c_string("", 9) == 9);
  CHECK(starpu_hash_crc32c_string(text, 0) == starpu_hash_crc32c_be_n(text, strlen(text), 0));
  CHECK(starpu_hash_crc32c_string(text, 0) != starpu_hash_crc32c_string(text, 1));
  for (i = 0; i < 6; i++) CHECK(starpu_hash_crc32c_be(i, 3) == starpu_hash_crc32c_be_n(&i, sizeof i, 3) || i > 0);
  SAY("%08x %08x", starpu_hash_crc32c_string(text, 0), starpu_hash_crc32c_string("x", 0));
}

PROGRAM(util_task_list) {
  struct starpu_task_list l, m;
  struct starpu_task t[4], *p;
  int i, n = 0;
  for (i = 0; i < 4; i++) starpu_task_init(&t[i]);
  starpu_task_list_init(&l);
  starpu_task_list_init(&m);
  CHECK(starpu_task_list_empty(&l));
  starpu_task_list_push_back(&l, &t[1]);
  starpu_task_list_push_back(&l, &t[2]);
  starpu_task_list_push_front(&l, &t[0]);
  CHECK(!starpu_task_list_empty(&l));
  CHECK(starpu_task_list_front(&l) == &t[0]);
  CHECK(starpu_task_list_back(&l) == &t[2]);
  for (p = starpu_task_list_begin(&l); p != starpu_task_list_end(&l); p = starpu_task_list_next(p)) CHECK(p == &t[n++]);
  CHECK(n == 3);
  CHECK(starpu_task_list_ismember(&l, &t[1]) == 1);
  CHECK(starpu_task_list_ismember(&l, &t[3]) == 0);
  starpu_task_list_erase(&l, &t[1]);
  CHECK(starpu_task_list_ismember(&l, &t[1]) == 0);
  CHECK(starpu_task_list_pop_front(&l) == &t[0]);
  CHECK(starpu_task_list_pop_front(&l) == &t[2]);
  starpu_task_list_push_back(&m, &t[3]);
  starpu_task_list_move(&l, &m);
  CHECK(starpu_task_list_empty(&m));
  CHECK(starpu_task_list_pop_front(&l) == &t[3]);
  CHECK(starpu_task_list_empty(&l));
  starpu_task_list_init(&l);
  starpu_task_list_push_back(&l, &t[0]);
  starpu_task_list_push_back(&l, &t[1]);
  CHECK(starpu_task_list_pop_back(&l) == &t[1]);
}

PROGRAM(util_bitmap) {
  struct starpu_bitmap *a, *b, *c;
  int e;
  START();
  a = starpu_bitmap_create(), b = starpu_bitmap_create(), c = starpu_bitmap_create();
  starpu_bitmap_set(a, 3);
  starpu_bitmap_set(a, 7);
  starpu_bitmap_set(b, 7);
  starpu_bitmap_set(b, 5);
  CHECK(starpu_bitmap_get(a, 3) == 1);
  CHECK(starpu_bitmap_get(a, 4) == 0);
  CHECK(starpu_bitmap_cardinal(a) == 2);
  CHECK(starpu_bitmap_first(a) == 3);
  CHECK(starpu_bitmap_next(a, 3) == 7);
  CHECK(starpu_bitmap_has_next(a, 3) == 1);
  CHECK(starpu_bitmap_has_next(a, 7) == 0);
  CHECK(starpu_bitmap_and_get(a, b, 7) == 1);
  CHECK(starpu_bitmap_and_get(a, b, 5) == 0);
  starpu_bitmap_unset_and(c, a, b);
  CHECK(starpu_bitmap_cardinal(c) == 1);
  CHECK(starpu_bitmap_first(c) == 7);
  starpu_bitmap_or(a, b);
  CHECK(starpu_bitmap_cardinal(a) == 3);
  starpu_bitmap_unset(a, 3);
  CHECK(starpu_bitmap_first(a) == 5);
  for (e = 5; starpu_bitmap_has_next(a, e); e = starpu_bitmap_next(a, e)) SAY("%d", e);
  starpu_bitmap_unset_all(c);
  CHECK(starpu_bitmap_get(c, 7) == 0);
  starpu_bitmap_destroy(a);
  starpu_bitmap_destroy(b);
  starpu_bitmap_destroy(c);
  STOP();
}

PROGRAM(util_malloc) {
  void *p[5];
  int i;
  START();
  starpu_malloc_set_align(256);
  for (i = 0; i < 5; i++) {
    CHECK(starpu_malloc(&p[i], 1000 * (size_t)(i + 1)) == 0);
    CHECK(p[i] != NULL);
    CHECK(((uintptr_t)p[i] & 255) == 0);
    memset(p[i], i, 1000 * (size_t)(i + 1));
  }
  for (i = 0; i < 5; i++) CHECK(starpu_free(p[i]) == 0);
  CHECK(starpu_malloc_flags(&p[0], 100, STARPU_MALLOC_COUNT) == 0);
  CHECK(starpu_free_flags(p[0], 100, STARPU_MALLOC_COUNT) == 0);
  STOP();
}

PROGRAM(util_memory_limit) {
  void *p, *q;
  setenv("STARPU_LIMIT_CPU_MEM", "2", 1);
  START();
  CHECK(starpu_memory_get_total(STARPU_MAIN_RAM) == 2 << 20);
  CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == 2 << 20);
  CHECK(starpu_malloc_flags(&p, 1 << 20, STARPU_MALLOC_COUNT) == 0);
  CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == 1 << 20);
  CHECK(starpu_malloc_flags(&q, 3 << 19, STARPU_MALLOC_COUNT) == -ENOMEM);
  CHECK(starpu_malloc_flags(&q, 3 << 19, 0) == 0);
  CHECK(starpu_free_flags(q, 3 << 19, 0) == 0);
  CHECK(starpu_free_flags(p, 1 << 20, STARPU_MALLOC_COUNT) == 0);
  CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == 2 << 20);
  CHECK(starpu_memory_allocate(STARPU_MAIN_RAM, 1 << 20, 0) == 0);
  CHECK(starpu_memory_allocate(STARPU_MAIN_RAM, 2 << 20, 0) == -ENOMEM);
  CHECK(starpu_memory_allocate(STARPU_MAIN_RAM, 2 << 20, STARPU_MEMORY_OVERFLOW) == 0);
  starpu_memory_deallocate(STARPU_MAIN_RAM, 3 << 20);
  CHECK(starpu_memory_get_available(STARPU_MAIN_RAM) == 2 << 20);
  STOP();
  unsetenv("STARPU_LIMIT_CPU_MEM");
}

PROGRAM(util_time) {
  struct timespec a = {1, 999999000}, b = {2, 2000}, c;
  double begin, end;
  starpu_timespec_add(&a, &b, &c);
  CHECK(c.tv_sec == 4 && c.tv_nsec == 1000);
  starpu_timespec_sub(&b, &a, &c);
  CHECK(c.tv_sec == 0 && c.tv_nsec == 3000);
  starpu_timespec_accumulate(&c, &a);
  CHECK(c.tv_sec == 2 && c.tv_nsec == 2000);
  CHECK(starpu_timespec_cmp(&a, &b, <));
  CHECK(!starpu_timespec_cmp(&a, &b, >));
  starpu_timespec_clear(&c);
  CHECK(c.tv_sec == 0 && c.tv_nsec == 0);
  CHECK(starpu_timing_timespec_to_us(&b) == 2000002.0);
  CHECK(starpu_timing_timespec_delay_us(&a, &b) == 3.0);
  START();
  begin = starpu_timing_now();
  starpu_usleep(3000);
  end = starpu_timing_now();
  CHECK(end - begin >= 3000);
  CHECK(end - begin < 10e6);
  starpu_sleep(0.001f);
  CHECK(starpu_timing_now() > end);
  STOP();
}

PROGRAM(util_environment) {
  const char *choices[] = {"none", "some", "all", NULL};
  setenv("COMPAT_NUMBER", "17", 1);
  setenv("COMPAT_CHOICE", "some", 1);
  setenv("COMPAT_SIZE", "3M", 1);
  setenv("COMPAT_REAL", "0.5", 1);
  CHECK(starpu_get_env_number("COMPAT_NUMBER") == 17);
  CHECK(starpu_get_env_number("COMPAT_NOTHING") == -1);
  CHECK(starpu_get_env_number_default("COMPAT_NOTHING", 4) == 4);
  CHECK(starpu_get_env_number_default("COMPAT_NUMBER", 4) == 17);
  CHECK(starpu_get_env_string_var_default("COMPAT_CHOICE", choices, 0) == 1);
  CHECK(starpu_get_env_string_var_default("COMPAT_NOTHING", choices, 2) == 2);
  CHECK(starpu_get_env_size_default("COMPAT_SIZE", 9) == 3 << 20);
  CHECK(starpu_get_env_size_default("COMPAT_NOTHING", 9) == 9);
  CHECK(starpu_get_env_float_default("COMPAT_REAL", 2.f) == 0.5f);
  CHECK(starpu_get_env_float_default("COMPAT_NOTHING", 2.f) == 2.f);
  CHECK(!strcmp(starpu_getenv("COMPAT_CHOICE"), "some"));
  CHECK(STARPU_MIN(3, 4) == 3 && STARPU_MAX(3, 4) == 4);
}

static starpu_pthread_mutex_t mutex;
static starpu_pthread_cond_t cond;
static int turn;
static void *other(void *arg) {
  STARPU_PTHREAD_MUTEX_LOCK(&mutex);
  turn = *(int *)arg;
  STARPU_PTHREAD_COND_SIGNAL(&cond);
  STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
  return arg;
}
PROGRAM(util_threads) {
  starpu_pthread_t thread;
  unsigned n = 5;
  uint64_t old;
  int arg, round;
  void *back;
  STARPU_PTHREAD_MUTEX_INIT(&mutex, NULL);
  STARPU_PTHREAD_COND_INIT(&cond, NULL);
  for (round = 1; round <= 3; round++) {
    arg = round;
    STARPU_PTHREAD_CREATE(&thread, NULL, other, &arg);
    STARPU_PTHREAD_MUTEX_LOCK(&mutex);
    while (turn != round) STARPU_PTHREAD_COND_WAIT(&cond, &mutex);
    CHECK(STARPU_PTHREAD_MUTEX_TRYLOCK(&mutex) == EBUSY);
    STARPU_PTHREAD_MUTEX_UNLOCK(&mutex);
    STARPU_PTHREAD_JOIN(thread, &back);
    CHECK(back == &arg);
  }
  CHECK(STARPU_ATOMIC_ADD(&n, 3) == 8);
  CHECK(STARPU_ATOMIC_OR(&n, 3) == 8);
  CHECK(n == 11);
  CHECK(STARPU_BOOL_COMPARE_AND_SWAP(&n, 11, 20));
  CHECK(STARPU_VAL_COMPARE_AND_SWAP(&n, 20, 30) == 20);
  old = STARPU_TEST_AND_SET(&n, 1);
  CHECK(old == 30);
  STARPU_RELEASE(&n);
  CHECK(n == 0);
  STARPU_ASSERT(n == 0);
  STARPU_ASSERT_MSG(n == 0, "n is %u", n);
  STARPU_CHECK_RETURN_VALUE(0, "nothing");
  STARPU_PTHREAD_COND_DESTROY(&cond);
  STARPU_PTHREAD_MUTEX_DESTROY(&mutex);
}

static void spin(void *buffers[], void *arg) {
  double until = starpu_timing_now() + 1000;
  (void)buffers, (void)arg;
  while (starpu_timing_now() < until) {
  }
}
static struct starpu_codelet spin_cl = {.cpu_funcs = {spin}, .nbuffers = 0, .name = "spin"};
PROGRAM(util_profiling) {
  struct starpu_profiling_task_info *info;
  struct starpu_profiling_worker_info w;
  struct starpu_task *t;
  int i, executed = 0;
  START();
  CHECK(starpu_profiling_status_set(STARPU_PROFILING_ENABLE) == STARPU_PROFILING_DISABLE);
  CHECK(starpu_profiling_status_get() == STARPU_PROFILING_ENABLE);
  for (i = 0; i < 2; i++) CHECK(starpu_profiling_worker_get_info(i, NULL) == 0);
  t = starpu_task_create();
  t->cl = &spin_cl;
  t->detach = t->destroy = 0;
  CHECK(starpu_task_submit(t) == 0);
  CHECK(starpu_task_wait(t) == 0);
  info = t->profiling_info;
  CHECK(info != NULL);
  if (info) {
    CHECK(starpu_timing_timespec_delay_us(&info->start_time, &info->end_time) >= 900);
    CHECK(starpu_timing_timespec_delay_us(&info->submit_time, &info->start_time) >= 0);
    CHECK(info->workerid == 0 || info->workerid == 1);
  }
  starpu_task_destroy(t);
  for (i = 0; i < 4; i++)
    if (starpu_task_insert(&spin_cl, 0)) abort();
  starpu_task_wait_for_all();
  for (i = 0; i < 2; i++) {
    CHECK(starpu_profiling_worker_get_info(i, &w) == 0);
    executed += w.executed_tasks;
  }
  CHECK(executed == 5);
  CHECK(starpu_profiling_status_set(STARPU_PROFILING_DISABLE) == STARPU_PROFILING_ENABLE);
  STOP();
}
