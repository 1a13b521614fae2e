// The one-way time of a cache line between the first two processors of this process, by two threads that answer each
// other. Called on the main thread, between two repetitions, while the runtime is idle.
#pragma once
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace cliffs {

inline void stay_on(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// ns, the least of some series; 0 where there is one processor only.
inline double cache_line_ns() {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2) return 0;
  std::vector<int> cpus;
  for (int c = 0; c < CPU_SETSIZE && cpus.size() < 2; ++c)
    if (CPU_ISSET(c, &all)) cpus.push_back(c);
  constexpr unsigned trips = 500, series = 10;
  alignas(128) static std::atomic<unsigned> ball;  // even: here, odd: there; release pairs with the other side's acquire
  ball.store(0, std::memory_order_relaxed);
  std::thread other([&] {
    stay_on(cpus[1]);
    for (unsigned k = 0; k < trips * series; ++k) {
      while (ball.load(std::memory_order_acquire) != 2 * k + 1) {}
      ball.store(2 * k + 2, std::memory_order_release);
    }
  });
  double best = 1e9;
  {
    stay_on(cpus[0]);
    unsigned k = 0;
    for (unsigned s = 0; s < series; ++s) {
      const auto t0 = std::chrono::steady_clock::now();
      for (unsigned end = k + trips; k < end; ++k) {
        ball.store(2 * k + 1, std::memory_order_release);
        while (ball.load(std::memory_order_acquire) != 2 * k + 2) {}
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - t0;
      best = std::min(best, took.count() / trips / 2);
    }
  }
  other.join();
  sched_setaffinity(0, sizeof all, &all);
  return best;
}

}  // namespace cliffs
