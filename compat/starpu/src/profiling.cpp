// Times of tasks and workers.
#include "profiling.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

namespace starpu_layer {

std::atomic<bool> profiling_on{false};

namespace {

timespec span(uint64_t ns) {
  timespec t;
  t.tv_sec = static_cast<time_t>(ns / STARPU_NS_PER_S);
  t.tv_nsec = static_cast<long>(ns % STARPU_NS_PER_S);
  return t;
}

// What each worker had done when its figures were last read. Under the lock.
struct Read { uint64_t at = 0, tasks = 0, busy = 0; };
std::mutex read_lock;
std::vector<Read> reads;

Read now_of(size_t worker) {
  return {now_ns(), instance.counts[worker].tasks.load(), instance.counts[worker].busy_ns.load()};
}

}  // namespace
}  // namespace starpu_layer

using namespace starpu_layer;

void starpu_profiling_init(void) {}
void starpu_profiling_set_id(int) {}
int starpu_profiling_status_get(void) { return profiling_on; }

int starpu_profiling_status_set(int status) {
  const bool before = profiling_on.exchange(status == STARPU_PROFILING_ENABLE);
  if (!before && profiling_on) {
    std::lock_guard lock(read_lock);
    reads.resize(instance.workers.size());
    for (size_t w = 0; w < reads.size(); ++w) reads[w] = now_of(w);
  }
  return before ? STARPU_PROFILING_ENABLE : STARPU_PROFILING_DISABLE;
}

int starpu_profiling_worker_get_info(int workerid, struct starpu_profiling_worker_info *worker_info) {
  if (workerid < 0 || static_cast<size_t>(workerid) >= instance.workers.size()) return -EINVAL;
  const auto w = static_cast<size_t>(workerid);
  std::lock_guard lock(read_lock);
  reads.resize(instance.workers.size());
  if (!reads[w].at) reads[w].at = instance.started_ns;
  const Read now = now_of(w), before = std::exchange(reads[w], now);
  if (!worker_info) return 0;
  *worker_info = {};
  worker_info->start_time = span(before.at);
  worker_info->total_time = span(now.at - before.at);
  worker_info->executing_time = span(now.busy - before.busy);
  worker_info->sleeping_time = span(now.at - before.at - std::min(now.at - before.at, now.busy - before.busy));
  worker_info->executed_tasks = static_cast<int>(now.tasks - before.tasks);
  return 0;
}

double starpu_timing_timespec_to_us(struct timespec *ts) {
  return 1e6 * static_cast<double>(ts->tv_sec) + 1e-3 * static_cast<double>(ts->tv_nsec);
}
double starpu_timing_timespec_delay_us(struct timespec *start, struct timespec *end) {
  return starpu_timing_timespec_to_us(end) - starpu_timing_timespec_to_us(start);
}

void starpu_profiling_worker_helper_display_summary(void) {
  for (size_t w = 0; w < instance.workers.size(); ++w)
    std::fprintf(stderr, "%s: %llu tasks, %.3f ms\n", instance.workers[w].name.c_str(),
                 static_cast<unsigned long long>(instance.counts[w].tasks.load()),
                 static_cast<double>(instance.counts[w].busy_ns.load()) * 1e-6);
}
void starpu_profiling_bus_helper_display_summary(void) {}
