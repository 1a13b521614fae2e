/* Workers, memory nodes, functions on workers. */
#include "check.h"

PROGRAM(worker_facts) {
  int ids[8], devids[8], i;
  char name[64];
  START();
  CHECK(starpu_is_initialized() == 1);
  CHECK(starpu_worker_get_count() == 2);
  CHECK(starpu_cpu_worker_get_count() == 2);
  CHECK(starpu_cuda_worker_get_count() == 0);
  CHECK(starpu_opencl_worker_get_count() == 0);
  CHECK(starpu_mic_worker_get_count() == 0);
  CHECK(starpu_worker_get_count_by_type(STARPU_CPU_WORKER) == 2);
  CHECK(starpu_worker_get_count_by_type(STARPU_CUDA_WORKER) == 0);
  CHECK(starpu_worker_get_count_by_type(STARPU_ANY_WORKER) == 2);
  CHECK(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, ids, 8) == 2);
  CHECK(ids[0] == 0 && ids[1] == 1);
  CHECK(starpu_worker_get_ids_by_type(STARPU_CUDA_WORKER, ids, 8) == 0);
  CHECK(starpu_worker_get_ids_by_type(STARPU_CPU_WORKER, ids, 1) == (unsigned)-ERANGE);
  CHECK(starpu_worker_get_by_type(STARPU_CPU_WORKER, 1) == 1);
  CHECK(starpu_worker_get_by_type(STARPU_CPU_WORKER, 2) == -1);
  CHECK(starpu_worker_get_by_devid(STARPU_CPU_WORKER, 1) == 1);
  CHECK(starpu_worker_get_devids(STARPU_CPU_WORKER, devids, 8) == 2);
  for (i = 0; i < 2; i++) {
    CHECK(starpu_worker_get_type(i) == STARPU_CPU_WORKER);
    CHECK(starpu_worker_get_devid(i) == i);
    CHECK(starpu_worker_is_combined_worker(i) == 0);
    starpu_worker_get_name(i, name, sizeof name);
    CHECK(!strncmp(name, "CPU", 3));
  }
  CHECK(!strcmp(starpu_worker_get_type_as_string(STARPU_CPU_WORKER), "STARPU_CPU_WORKER"));
  SAY("%s %s", starpu_worker_get_type_as_string(STARPU_CPU_WORKER), starpu_worker_get_type_as_string(STARPU_CUDA_WORKER));
  CHECK(starpu_worker_get_id() == -1);
  STOP();
  CHECK(starpu_is_initialized() == 0);
}

PROGRAM(worker_nodes) {
  char name[64];
  START();
  CHECK(starpu_memory_nodes_get_count() == 1);
  CHECK(starpu_node_get_kind(STARPU_MAIN_RAM) == STARPU_CPU_RAM);
  CHECK(starpu_worker_get_memory_node(0) == STARPU_MAIN_RAM);
  CHECK(starpu_worker_get_memory_node(1) == STARPU_MAIN_RAM);
  CHECK(starpu_worker_get_local_memory_node() == STARPU_MAIN_RAM);
  CHECK(starpu_memory_nodes_get_numa_count() == 1);
  CHECK(starpu_memory_node_get_name(STARPU_MAIN_RAM, name, sizeof name) >= 0);
  CHECK(strlen(name) > 0);
  CHECK(starpu_combined_worker_get_count() < 8);
  CHECK(starpu_get_prefetch_flag() == 1);
  STOP();
}

static int calls[8];
static void note(void *arg) { STARPU_ATOMIC_ADD(&calls[starpu_worker_get_id_check()], *(int *)arg); }

PROGRAM(worker_each) {
  int one = 1, i;
  unsigned second = 1, both[2] = {0, 1};
  START();
  for (i = 1; i <= 3; i++) {
    starpu_execute_on_each_worker(note, &one, STARPU_CPU);
    CHECK(calls[0] == i);
    CHECK(calls[1] == i);
  }
  starpu_execute_on_each_worker(note, &one, STARPU_CUDA);
  CHECK(calls[0] == 3 && calls[1] == 3);
  starpu_execute_on_specific_workers(note, &one, 1, &second, "second");
  CHECK(calls[0] == 3);
  CHECK(calls[1] == 4);
  starpu_execute_on_specific_workers(note, &one, 2, both, "both");
  CHECK(calls[0] == 4);
  CHECK(calls[1] == 5);
  starpu_execute_on_each_worker_ex(note, &one, STARPU_CPU, "each");
  CHECK(calls[0] == 5 && calls[1] == 6);
  STOP();
}

PROGRAM(worker_init) {
  struct starpu_conf conf;
  int major, minor, release, i;
  CHECK(starpu_is_initialized() == 0);
  CHECK(starpu_conf_init(&conf) == 0);
  CHECK(conf.magic == 42);
  CHECK(conf.ncpus == -1);
  CHECK(conf.sched_policy_name == NULL);
  conf.ncpus = 1;
  conf.ncuda = conf.nopencl = 0;
  for (i = 0; i < 2; i++) {
    CHECK(starpu_init(&conf) == 0);
    CHECK(starpu_is_initialized() == 1);
    starpu_wait_initialized();
    CHECK(starpu_worker_get_count() == 1);
    starpu_shutdown();
    CHECK(starpu_is_initialized() == 0);
  }
  conf.magic = 1;
  CHECK(starpu_init(&conf) == -EINVAL);
  CHECK(starpu_is_initialized() == 0);
  starpu_get_version(&major, &minor, &release);
  CHECK(major == 1 && minor == 3);
}

static int ran;
static void body(void *buffers[], void *arg) { (void)buffers, (void)arg, STARPU_ATOMIC_ADD(&ran, 1); }
static struct starpu_codelet cl = {.cpu_funcs = {body}, .nbuffers = 0};

PROGRAM(worker_pause) {
  int i, round;
  START();
  for (round = 1; round <= 3; round++) {
    starpu_pause();
    for (i = 0; i < 4; i++)
      if (starpu_task_insert(&cl, 0)) abort();
    starpu_usleep(2000);
    CHECK(ran == 4 * (round - 1));
    CHECK(starpu_task_nsubmitted() == 4);
    starpu_resume();
    CHECK(starpu_task_wait_for_all() == 0);
    CHECK(ran == 4 * round);
  }
  STOP();
}

static int most, now;
static void count(void *buffers[], void *arg) { (void)buffers, (void)arg, starpu_usleep(50); }
static struct starpu_codelet count_cl = {.cpu_funcs = {count}, .nbuffers = 0};
PROGRAM(worker_submission_limit) {
  int i;
  setenv("STARPU_LIMIT_MAX_SUBMITTED_TASKS", "20", 1);
  setenv("STARPU_LIMIT_MIN_SUBMITTED_TASKS", "10", 1);
  START();
  for (i = 0; i < 200; i++) {
    if (starpu_task_insert(&count_cl, 0)) abort();
    now = starpu_task_nsubmitted();
    if (now > most) most = now;
    if (i % 20 == 0) CHECK(now <= 21);
  }
  CHECK(most <= 21);
  CHECK(starpu_task_wait_for_n_submitted(5) == 0);
  CHECK(starpu_task_nsubmitted() <= 5);
  CHECK(starpu_task_wait_for_all() == 0);
  STOP();
}
