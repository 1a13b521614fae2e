// group.hpp — groups of tasks that are awaited together.
//
// No shared counter of pending tasks is kept. Each thread state counts the tasks that it submits and finishes (Tally),
// and a reader sums. Counts only grow, and finished ones are read first: equal sums then mean that nothing was pending
// at a moment in between. A thread that turns to another group moves its count here. Submitted counts are added here
// before they are cleared there: a reader may see them twice, as more pending tasks, which is harmless. Finished ones
// are cleared there before they are added here: a reader may miss them, with the same effect.
//
// Groups are never freed while the runtime lives; a destroyed one is reused with the next generation.
#pragma once
#include <consort/consort.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "task/failure.hpp"
#include "task/thread_state.hpp"

namespace consort {

struct Group {
  // -- read by each task --
  // counts cancellations: a task of an older one does not run; relaxed: a running task is not stopped
  alignas(64) std::atomic<uint8_t> epoch{0};
  std::atomic<uint32_t> watchers{0};              // threads to wake when nothing is pending; see the fences of announce()
  // it has a callback or a descriptor; relaxed: set before its tasks are submitted, or before the heavy fence of fd()
  std::atomic<bool> reports{false};
  std::atomic<uint32_t> generation{1};  // release where a group ends pairs with find(); its owner reads it relaxed
  uint32_t number = 0;
  // Group of the task that created this one; if that is destroyed, its parent. Any thread may walk up. A destroyed
  // group has no parent, so every walk ends.
  std::atomic<Group *> parent{nullptr};  // relaxed
  // -- written when a thread state turns to another group --
  alignas(64) std::atomic<uint64_t> in{0}, out{0};  // release pairs with acquire in idle(): see Groups
  std::atomic<uint32_t> departed{0},
      arrived{0};  // counts moving from a thread state to in or out: see Groups::busy()
  uint32_t children = 0;                          // number of groups with this parent; under the lock of Groups
  // -- rare --
  std::mutex mutex;                               // guards all below; leaf
  std::string name;
  void (*done)(void *, consort_group_id) = nullptr;
  void *done_arg = nullptr;
  int fd = -1;
  uint32_t calling = 0;                           // threads inside `done`
  uint64_t told = 0, told_fd = 0;  // submitted count at the last call of `done`, and the last write to the descriptor
  std::shared_ptr<const Failure> first, collected;
  uint32_t nfailed = 0, ncollected = 0;
  std::shared_ptr<std::atomic<bool>> batch;       // of the failures that the next wait collects: Failure::collected

  // before the releasing stores that follow
  void depart() noexcept { departed.fetch_add(1, std::memory_order_relaxed); }
  void arrive() noexcept { arrived.fetch_add(1, std::memory_order_release); }
  // Whether a thread that ends its last task has to tell. Call after light(), which pairs with the fences of announce().
  bool watched() const noexcept {
    return watchers.load(std::memory_order_relaxed) || reports.load(std::memory_order_relaxed);
  }
  // acquire: pairs with the release in destroy(), before which nothing was pending
  bool is_of(uint32_t its) const noexcept { return generation.load(std::memory_order_acquire) == its; }
  consort_group_id id() const noexcept {
    return {uint64_t{generation.load(std::memory_order_relaxed)} << 32 | number};
  }
};

class Groups {
 public:
  explicit Groups(Core &rt);
  ~Groups();
  Result<Group *> create(const consort_group_desc *);
  Group *find(consort_group_id) const noexcept;   // nullptr: stale or never given
  Group &standard() const noexcept { return *at(0); }
  Result<void> destroy(Group &);
  Result<int> fd(Group &);

  uint64_t submitted(const Group &) const noexcept;
  // Returns whether nothing was pending at some moment since the call began; *count: tasks submitted by then. False may
  // be wrong for a moment.
  bool idle(const Group &, uint64_t *count = nullptr) const noexcept;
  // the reliable opposite: for use before a thread relies on being woken
  bool busy(const Group &, uint64_t *count = nullptr) const noexcept;
  bool all_idle() const noexcept;
  // A thread has just turned from this group, or is idle: wakes the watchers if the group is idle.
  void tell_if_idle(Group &) noexcept;
  void fail(Group &, std::shared_ptr<const Failure>) noexcept;
  // Returns the status of the first failure since the last call, with its text in the error slot. keep: it stays for
  // the next wait. E_STALE: the group of that generation was destroyed.
  consort_status collect(Group &, uint32_t generation, bool keep);
  bool usable() const noexcept { return n_.load(std::memory_order_relaxed) > 0; }
  consort_status collect_all(bool keep = false);  // of every group; returns the first one

  Group *at(uint32_t number) const noexcept {
    return &blocks_[number / kBlock].load(std::memory_order_acquire)[number % kBlock];
  }

  static constexpr uint32_t kBlock = 64, kBlocks = 1024;

 private:
  bool live(uint32_t number) const noexcept { return number < n_.load(std::memory_order_acquire); }

  Core &rt_;
  std::mutex mutex_;                              // guards free_ and growth; taken before a group's own
  std::vector<uint32_t> free_;
  std::atomic<Group *> blocks_[kBlocks] = {};     // owned; release in create() pairs with acquire in at()
  std::atomic<uint32_t> n_{0};  // release where a group is made pairs with the acquire where all groups are walked
};

// From now on the thread state counts for another group.
void turn_in(ThreadState &, Group &) noexcept;
void turn_out(Core &, ThreadState &, Group &) noexcept;

[[gnu::always_inline]] inline void count_in(ThreadState &thread, Group &g) noexcept {
  if (!thread.in.add_for(g.number)) [[unlikely]] {
    turn_in(thread, g);
    thread.in.add();
  }
}
inline void count_out(Core &rt, ThreadState &thread, Group &g) noexcept {
  while (!thread.out.add_for(g.number))
    [[unlikely]] turn_out(rt, thread, g);  // its callbacks may make it turn again
}

}  // namespace consort
