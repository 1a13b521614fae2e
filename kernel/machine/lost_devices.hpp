// lost_devices.hpp — which devices are gone, and what becomes of the tasks that were theirs.
//
// A device is lost for good, until it is opened anew. Its workers can run nothing any more: whatever a policy still has
// for them is passed on, and a task that ends there because of it runs again elsewhere, where what it read or changed is
// still somewhere else as it was. Any thread; a bit for each of the first 64 devices, those beyond fail as anything does.
#pragma once
#include <atomic>
#include <cstdint>

#include "machine/coherence.hpp"

namespace consort {

struct Device;
struct ThreadState;
struct Runtime;
struct Task;
struct Worker;

class LostDevices {
 public:
  void add(const Device &) noexcept;
  void add(uint32_t number) noexcept {
    if (number < 64) bits_.fetch_or(uint64_t{1} << number, std::memory_order_relaxed);
  }
  // Relaxed: who sees it late meets an error, which says so by itself.
  bool any() const noexcept { return bits_.load(std::memory_order_relaxed) != 0; }
  bool has(const Device &) const noexcept;
  bool has(const Worker &) const noexcept;
  coherence::Spaces spaces(const Runtime &) const noexcept;  // of all of them
  uint32_t turn() noexcept { return turn_.fetch_add(1, std::memory_order_relaxed); }  // so that one worker does not get all

 private:
  std::atomic<uint64_t> bits_{0};  // relaxed: see any()
  std::atomic<uint32_t> turn_{0};  // relaxed: spreads tasks, orders nothing
};

// Popped by a worker whose device is lost, and nothing was begun: another one's now. False: nobody else can run it.
bool give_away(Runtime &, ThreadState &, const Worker &from, Task *) noexcept;
// It was under way there, and its predecessors are over. True: it is another worker's, and nothing of it has happened.
bool run_again(Runtime &, ThreadState &, const Worker &from, Task *) noexcept;

}  // namespace consort
