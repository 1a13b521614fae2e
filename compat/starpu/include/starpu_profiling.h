/* starpu_profiling.h: times of tasks and workers. */
#ifndef CONSORT_STARPU_PROFILING_H
#define CONSORT_STARPU_PROFILING_H
#include <errno.h>
#include <stdint.h>
#include <time.h>

#include <starpu_config.h>
#ifdef __cplusplus
extern "C" {
#endif

#define STARPU_PROFILING_DISABLE 0
#define STARPU_PROFILING_ENABLE 1

struct starpu_profiling_task_info {
  struct timespec submit_time;
  struct timespec push_start_time;
  struct timespec push_end_time;
  struct timespec pop_start_time;
  struct timespec pop_end_time;
  struct timespec acquire_data_start_time;
  struct timespec acquire_data_end_time;
  struct timespec start_time;
  struct timespec end_time;
  struct timespec release_data_start_time;
  struct timespec release_data_end_time;
  struct timespec callback_start_time;
  struct timespec callback_end_time;
  int workerid;
  uint64_t used_cycles;
  uint64_t stall_cycles;
  double energy_consumed;
};
struct starpu_profiling_worker_info {
  struct timespec start_time;
  struct timespec total_time;
  struct timespec executing_time;
  struct timespec sleeping_time;
  int executed_tasks;
  uint64_t used_cycles;
  uint64_t stall_cycles;
  double energy_consumed;
  double flops;
};
void starpu_profiling_init(void);
void starpu_profiling_set_id(int new_id);
int starpu_profiling_status_set(int status);
int starpu_profiling_status_get(void);
int starpu_profiling_worker_get_info(int workerid, struct starpu_profiling_worker_info *worker_info);
double starpu_timing_timespec_delay_us(struct timespec *start, struct timespec *end);
double starpu_timing_timespec_to_us(struct timespec *ts);
void starpu_profiling_worker_helper_display_summary(void);
void starpu_profiling_bus_helper_display_summary(void);

#define STARPU_NS_PER_S 1000000000
static __starpu_inline void starpu_timespec_clear(struct timespec *tsp) {
  tsp->tv_sec = tsp->tv_nsec = 0;
}
static __starpu_inline void starpu_timespec_add(struct timespec *a, struct timespec *b, struct timespec *result) {
  const long ns = a->tv_nsec + b->tv_nsec;
  result->tv_sec = a->tv_sec + b->tv_sec + ns / STARPU_NS_PER_S;
  result->tv_nsec = ns % STARPU_NS_PER_S;
}
static __starpu_inline void starpu_timespec_accumulate(struct timespec *result, struct timespec *a) {
  starpu_timespec_add(result, a, result);
}
static __starpu_inline void starpu_timespec_sub(const struct timespec *a, const struct timespec *b,
                                                struct timespec *result) {
  const long ns = a->tv_nsec - b->tv_nsec;
  result->tv_sec = a->tv_sec - b->tv_sec - (ns < 0);
  result->tv_nsec = ns < 0 ? ns + STARPU_NS_PER_S : ns;
}
#define starpu_timespec_cmp(a, b, CMP) \
  ((a)->tv_sec == (b)->tv_sec ? (a)->tv_nsec CMP (b)->tv_nsec : (a)->tv_sec CMP (b)->tv_sec)

#ifdef __cplusplus
}
#endif
#endif
