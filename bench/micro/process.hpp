// What a benchmark asks the system: the clock, processors, memory, processor time.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace bench {

inline double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Keeps the process on the first `cores` of the processors it was given.
inline void pin(unsigned cores) {
  cpu_set_t all, few;
  CPU_ZERO(&few);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (unsigned c = 0, got = 0; c < CPU_SETSIZE && got < cores; ++c)
    if (CPU_ISSET(c, &all)) {
      CPU_SET(c, &few);
      ++got;
    }
  sched_setaffinity(0, sizeof few, &few);
}

inline double resident_bytes() {
  unsigned long size = 0, resident = 0;
  if (FILE *f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Processor time of all threads of this process, in user and kernel.
inline double cpu_us() {
  rusage r;
  if (getrusage(RUSAGE_SELF, &r) != 0) return 0;
  const auto us = [](const timeval &t) { return 1e6 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec); };
  return us(r.ru_utime) + us(r.ru_stime);
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t h = v.size() / 2;
  return v.size() % 2 ? v[h] : (v[h - 1] + v[h]) / 2;
}

} // namespace bench
