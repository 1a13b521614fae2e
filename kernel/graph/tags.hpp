// tags.hpp — names for points in the order that the application gives before the tasks exist.
//
// A tag is reached when a task that carries it ends, or by the application's word. Who comes after a tag that is not
// reached hangs on its gate: a record of the kernel's own that no policy sees and nobody counts, made when the first
// one comes and ended with the point. What a tag comes after counts for the tasks that carry it, when they are
// submitted. Any thread; one lock, under which only records are taken and failures noted.
#pragma once
#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "task/failure.hpp"
#include "task/task.hpp"

namespace consort {

struct ThreadState;
struct TaskGraph;

class Tags {
 public:
  explicit Tags(TaskGraph &rt) : rt_(rt) {}

  // may throw bad_alloc: nothing has happened then
  consort_status after(uint64_t tag, const uint64_t *others, uint32_t n);
  // The task carries the tag from now on, and its explicit predecessors grow by what the tag comes after.
  consort_status carry(ThreadState &, Task *, uint64_t tag) noexcept;
  void put_down(uint64_t tag) noexcept;                    // its submission was refused
  // The task that carries it ends, `failed` or not. The gate, to be ended once the task's name is dead; nullptr: none.
  Task *reached_by(uint64_t tag, TaskName, bool failed) noexcept;

  consort_status notify(uint64_t tag, Task **gate);        // may throw, as above. *gate: to be ended by the caller
  consort_status restart(uint64_t tag) noexcept;
  consort_status remove(uint64_t tag, Task **gate) noexcept;
  bool reached(uint64_t tag) noexcept;

  // Those who wait: their tags are not to be removed meanwhile.
  void begin_wait(const uint64_t *, uint32_t n);           // may throw, as above
  void end_wait(const uint64_t *, uint32_t n) noexcept;
  bool all_reached(const uint64_t *, uint32_t n) noexcept;
  // The runtime stops, and no call can reach a tag any more: waits end. The caller wakes them.
  void give_up_waits(bool yes) noexcept {
    waits_given_up_.store(yes, std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_seq_cst);  // releases it: see WaitCondition::reached()
  }
  bool waits_given_up() const noexcept { return waits_given_up_.load(std::memory_order_relaxed); }
  TaskName failed(uint64_t tag) noexcept;                  // whose failure it was reached by; 0: none's
  // pairs with the points that are reached
  uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

  // Nobody is left to reach them: one gate after the other, its failure noted, to be ended by the caller. nullptr: no
  // more.
  Task *give_up_one() noexcept;
  bool any_gate() noexcept;
  std::string of_gate(TaskName) const;                     // "tag 7"; "": no gate

 private:
  struct Tag {
    std::vector<uint64_t> after, before;                   // declared: this one after those, this one before those
    TaskName carrier = 0;                                  // unfinished
    TaskName failed = 0;
    Task *gate = nullptr;                                  // while somebody may hang on it
    uint32_t waiting = 0;                                  // threads
    bool reached = false, carried = false;                 // carried: since the last restart
  };
  TaskName open_gate(ThreadState &, Tag &) noexcept;              // 0: no memory
  Task *reach(Tag &, TaskName failed) noexcept;
  bool leads_to(uint64_t from, uint64_t to, std::vector<uint64_t> &path) const;  // may throw

  TaskGraph &rt_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Tag> tags_;
  std::atomic<uint64_t> changes_{0};  // seq_cst adds pair with changes()
  std::atomic<bool> waits_given_up_{false};  // relaxed: released by the add to changes_ behind it
};

}  // namespace consort
