/* What a task costs over StarPU's API: starpu_task_insert() of empty tasks until all have ended, in ns for each task.
 * insert [TASKS] [REPETITIONS] [WORKERS]: prints a line for each pattern with medians of the repetitions: time of the insertion,
 * until the last end, and processor time of the inserting thread, which a busy machine changes least. The same source is
 * built over StarPU and over Consort. */
#define _GNU_SOURCE
#include <starpu.h>
#include <time.h>
#include <stdio.h>
#include <stdlib.h>

static void nothing(void *buffers[], void *arg) { (void)buffers, (void)arg; }
static struct starpu_codelet bare = {.cpu_funcs = {nothing}, .nbuffers = 0, .name = "bare"};
static struct starpu_codelet rw = {.cpu_funcs = {nothing}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "rw"};
static struct starpu_codelet four = {.cpu_funcs = {nothing}, .nbuffers = 4, .modes = {STARPU_R, STARPU_R, STARPU_R, STARPU_RW}, .name = "four"};

enum { DATA = 256 };
static starpu_data_handle_t data[DATA];
static int cells[DATA];

static void insert(int pattern, int i) {
  int rc, value = i;
  switch (pattern) {
    case 0: rc = starpu_task_insert(&bare, 0); break;
    case 1: rc = starpu_task_insert(&bare, STARPU_VALUE, &value, sizeof value, 0); break;
    case 2: rc = starpu_task_insert(&rw, STARPU_RW, data[0], 0); break;
    case 3: rc = starpu_task_insert(&rw, STARPU_RW, data[i % DATA], 0); break;
    default:
      rc = starpu_task_insert(&four, STARPU_R, data[i * 7 % DATA], STARPU_R, data[(i * 11 + 1) % DATA], STARPU_R, data[(i * 13 + 2) % DATA],
                              STARPU_RW, data[(i * 17 + 3) % DATA], 0);
  }
  if (rc) exit(1);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double thread_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"no data", "a value", "a chain on one datum", "256 chains", "four of 256 data"};
  const int n = argc > 1 ? atoi(argv[1]) : 20000, reps = argc > 2 ? atoi(argv[2]) : 7;
  double inserted[64], ended[64], used[64];
  struct starpu_conf conf;
  int p, r, i;
  starpu_conf_init(&conf);
  conf.ncpus = argc > 3 ? atoi(argv[3]) : 2;
  conf.ncuda = conf.nopencl = 0;
  if (starpu_init(&conf)) return 1;
  for (i = 0; i < DATA; i++) starpu_variable_data_register(&data[i], STARPU_MAIN_RAM, (uintptr_t)&cells[i], sizeof cells[i]);
  for (p = 0; p < 5; p++) {
    for (r = 0; r < reps && r < 64; r++) {
      const double begin = starpu_timing_now(), before = thread_us();
      for (i = 0; i < n; i++) insert(p, i);
      inserted[r] = (starpu_timing_now() - begin) * 1e3 / n;
      used[r] = (thread_us() - before) * 1e3 / n;
      starpu_task_wait_for_all();
      ended[r] = (starpu_timing_now() - begin) * 1e3 / n;
    }
    qsort(inserted, (size_t)r, sizeof *inserted, by_size);
    qsort(used, (size_t)r, sizeof *used, by_size);
    qsort(ended, (size_t)r, sizeof *ended, by_size);
    printf("%-22s %8.0f %8.0f %8.0f\n", names[p], inserted[r / 2], ended[r / 2], used[r / 2]);
  }
  for (i = 0; i < DATA; i++) starpu_data_unregister(data[i]);
  starpu_shutdown();
  return 0;
}
