// thread_states.hpp — the states of all threads of a runtime, and the lookup of the calling thread's state.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "task/thread_state.hpp"

namespace consort {

struct Core;

// All thread states ever made, by number. Only grows.
class ThreadStates {
 public:
  static constexpr uint32_t kMost = 4096;
  ~ThreadStates();
  // pairs with the release in adopt_or_add()
  ThreadState *at(uint32_t i) const noexcept { return all_[i].load(std::memory_order_acquire); }
  uint32_t size() const noexcept { return n_.load(std::memory_order_acquire); }
  // Reuses the state of an ended thread, or makes a new one. nullptr: 4096 concurrent threads, or out of memory.
  ThreadState *adopt_or_add(Core &, uint32_t batch) noexcept;
  template <class F> void each(F f) const {
    const uint32_t n = size();
    for (uint32_t i = 0; i < n; ++i) f(*at(i));
  }

 private:
  friend struct Debug;
  std::mutex mutex_;
  std::atomic<ThreadState *> all_[kMost] = {};  // see at()
  std::atomic<uint32_t> n_{0};  // release in adopt_or_add() pairs with size(): states below exist
};

// Makes it the calling thread's state, for the whole life of a worker's thread. Core::this_thread() does so for others.
void keep_thread(const Core &, ThreadState &) noexcept;

// The runtime that this thread used last, and its thread state there. Trivial, so that reading it is one load.
struct CurrentThread {
  uint64_t number;
  ThreadState *thread;
};
extern thread_local constinit CurrentThread current_thread;
ThreadState *worker_thread() noexcept;  // of a thread started by a worker; nullptr: another thread

}  // namespace consort
