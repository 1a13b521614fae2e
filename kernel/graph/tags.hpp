// tags.hpp — tags: names for points in the order, usable before the tasks exist.
//
// A tag is reached when a task that carries it ends, or when the application notifies it. A successor of an unreached
// tag is linked to its gate: an internal record that no policy sees and that is not counted, made for the first
// successor and ended with the tag. Predecessors of a tag apply to the tasks that carry it, at their submission. Any
// thread; one lock, under which only records are taken and failures noted.
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

// What one wait for tags has seen. On the stack of the waiting thread; under the lock of Tags between begin_wait() and
// end_wait(). A tag that is reached marks it at once, since the tag may be restarted before the thread has a core.
struct TagWait {
  struct Awaited {
    uint64_t tag;
    bool reached = false;
    TaskName failed = 0;      // the failed task that reached it; 0: none
    Awaited *next = nullptr;  // of the same tag, by other waits
  };
  std::vector<Awaited> awaited;  // in the caller's order
};

class Tags {
 public:
  explicit Tags(TaskGraph &rt) : rt_(rt) {}

  // may throw bad_alloc, without effect
  consort_status after(uint64_t tag, const uint64_t *others, uint32_t n);
  // The task carries the tag from now on, and the tag's predecessors are added to its explicit ones.
  consort_status carry(ThreadState &, Task *, uint64_t tag) noexcept;
  void put_down(uint64_t tag) noexcept;                    // its submission was refused
  // The task that carries it ends; `failed`: how. Returns the gate, to be ended after the task's name is invalid;
  // nullptr: none.
  Task *reached_by(uint64_t tag, TaskName, bool failed) noexcept;

  consort_status notify(uint64_t tag, Task **gate);        // may throw, as above. *gate: ended by the caller
  consort_status restart(uint64_t tag) noexcept;
  consort_status remove(uint64_t tag, Task **gate) noexcept;
  bool reached(uint64_t tag) noexcept;

  // Waiting threads: their tags must not be removed meanwhile.
  void begin_wait(TagWait &, const uint64_t *, uint32_t n);  // may throw, as above
  void end_wait(TagWait &) noexcept;
  // Returns whether each tag was reached since the wait began, or the runtime stops.
  bool is_over(const TagWait &) noexcept;
  // The runtime stops, and no call can reach a tag any more: waits end. The caller wakes them.
  void give_up_waits(bool yes) noexcept {
    waits_given_up_.store(yes, std::memory_order_relaxed);
    changes_.fetch_add(1, std::memory_order_seq_cst);  // releases it: see WaitCondition::reached()
  }
  // pairs with the points that are reached
  uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

  // When no thread can reach them any more: returns one gate after the other, its failure noted, to be ended by the
  // caller. nullptr: no more.
  Task *give_up_one() noexcept;
  bool any_gate() noexcept;
  std::string of_gate(TaskName) const;                     // "tag 7"; "": no gate

 private:
  struct Tag {
    std::vector<uint64_t> after, before;                   // as declared: tags before it, tags behind it
    TaskName carrier = 0;                                  // unfinished
    TaskName failed = 0;
    Task *gate = nullptr;                                  // set while tasks may be linked to it
    TagWait::Awaited *waits = nullptr;                     // of threads
    bool reached = false, carried = false;                 // carried: since the last restart
  };
  TaskName open_gate(ThreadState &, Tag &) noexcept;              // 0: out of memory
  Task *reach(Tag &, TaskName failed) noexcept;
  bool leads_to(uint64_t from, uint64_t to, std::vector<uint64_t> &path) const;  // may throw

  TaskGraph &rt_;
  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Tag> tags_;
  std::atomic<uint64_t> changes_{0};  // seq_cst adds pair with changes()
  std::atomic<bool> waits_given_up_{false};  // relaxed: released by the add to changes_ behind it
};

}  // namespace consort
