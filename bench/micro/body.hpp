// What tasks do, in which they differ, and the options of a program. Bodies run in tasks, on any thread.
#pragma once
#include "check.hpp"
#include "process.hpp"
#include <chrono>
#include <string>
#include <thread>

namespace bench {

enum class Body { empty, check, spin, gate };

// A kind of task, known when the program is compiled, so that no runtime pays for asking. The checked task is the timed
// one but for its body.
struct Kind {
  Body body = Body::empty;
  bool value = true;     // it carries its number, 8 bytes
  bool priority = false; // it has the priority priority_of(number)
};
inline constexpr Kind gate_task{.body = Body::gate};

inline int priority_of(uint64_t i) { return static_cast<int>(i % 8); }

struct Options {
  std::string mode = "time"; // time, check, metg, memory, start, idle
  std::string pattern = "independent";
  std::string scheduler;     // "": the runtime's default
  std::string pump;          // consort only: "manual" runs everything on the calling thread
  unsigned workers = 2, cores = 2, reps = 1;
  uint64_t n = 100000, window = 0; // window 0: the runtime's default
  std::string plant;         // "unordered": tasks use the same places by data that the runtime takes for different ones; consort only
};

inline Check check;
inline uint64_t spin_loops = 0;            // set before the tasks that spin are submitted
inline std::atomic<uint32_t> gate_open{0}; // pairs with itself: memory() and the wait in run_body()

inline void spin(uint64_t loops) {
  for (uint64_t k = loops; k != 0; --k) asm volatile("" : "+r"(k));
}

template <Kind K> inline void run_any() {
  if constexpr (K.body == Body::spin) spin(spin_loops);
  if constexpr (K.body == Body::gate) {
    gate_open.fetch_add(2, std::memory_order_acq_rel);
    while ((gate_open.load(std::memory_order_acquire) & 1) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// The body of a task with a value: it reads it.
template <Kind K> inline void run_body(uint64_t i) {
  if constexpr (K.body == Body::check) check.ran(i);
  else asm volatile("" ::"r"(i));
  run_any<K>();
}
// Without a value, where the runtime hands over the task's data: the datum that it writes.
template <Kind K> inline void run_bare_on(uint32_t datum) {
  if constexpr (K.body == Body::check) check.ran_on(datum);
  run_any<K>();
}
// Without a value, where a task has but what it captures.
template <Kind K> inline void run_bare() {
  if constexpr (K.body == Body::check) check.ran_unknown();
  run_any<K>();
}

} // namespace bench
