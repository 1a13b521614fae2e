// waiters.hpp — the list of threads that sleep in a wait, woken by the end of a task.
//
// A thread enters a Waiter, announces its condition (exec/wait_condition.hpp), checks once more, and sleeps on its
// parker. The list consists of the waiters on the threads' stacks, so a wait allocates nothing. Any thread wakes.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>

#include "base/park.hpp"

namespace consort {

struct Group;
class Waiter;

class Waiters {
 public:
  // False: no thread waits. Call after light(), which pairs with the heavy fence of WaitCondition::announce().
  bool any() const noexcept { return n_.load(std::memory_order_relaxed) != 0; }
  // Wakes the threads that wait for this group, and threads that wait for no single group.
  void wake(const Group *idle = nullptr) noexcept;

 private:
  friend class Waiter;
  std::atomic<uint32_t> n_{0};  // see the fences of WaitCondition::announce(); seq_cst where it rises
  std::mutex mutex_;            // guards the list; leaf
  Waiter *first_ = nullptr;
};

// A thread in the list. A thread that waits for one group is woken for that group alone, since thousands of bodies may
// wait, each for its own children. only: nullptr if any event may fulfil the condition.
class Waiter {
 public:
  Waiter(Waiters &, Parker &, const Group *only) noexcept;
  ~Waiter();
  Waiter(const Waiter &) = delete;
  Waiter &operator=(const Waiter &) = delete;

 private:
  friend class Waiters;
  Waiters &all_;
  Parker &parker_;
  const Group *const only_;
  Waiter *next_, *before_ = nullptr;
};

}  // namespace consort
