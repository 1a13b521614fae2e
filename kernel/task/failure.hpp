// failure.hpp — what went wrong with one task, told once and kept for those who ask.
//
// Immutable once made; shared by the task's name, its group and the data that it poisoned. The chain of causes
// is kept short: past kDepth links it goes straight to the root, so that a long cascade costs no more.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "task/task.hpp"

namespace consort {

struct Failure {
  consort_status status;
  TaskName task;
  uint32_t worker;          // CONSORT_NONE: never reached one
  std::string task_name, worker_name, data_name, text;
  std::shared_ptr<const Failure> cause;
  uint32_t depth = 0;
  bool nobody_left = false; // no task's: of a tag that nobody could reach any more
  // Set when a call has answered this failure. Relaxed: it orders nothing, and only consort_stop() reads it.
  mutable std::atomic<bool> told{false};
  // Shared by the failures that one wait of their group collects together; written before the log has this failure.
  mutable std::shared_ptr<std::atomic<bool>> collected;

  static constexpr uint32_t kDepth = 8;
  static std::shared_ptr<const Failure> next_cause(const std::shared_ptr<const Failure> &direct);
  std::string sentence() const;  // of this one
  std::string chain() const;     // with its causes
  const Failure &root() const noexcept;
  void tell() const noexcept;    // a call answers this chain: the failure and its root count as told
  // Any failure of one root is told with the root: a consequence adds nothing that was not said.
  bool was_told() const noexcept;
};

// Failures by the task's name, for waits and explicit dependences that come after the fact. Any thread; its lock is a
// leaf. Beyond kKept the oldest is forgotten. Of each task record the log then keeps the generation of the last
// forgotten failure: a name of this generation or an earlier one is answered with a record of status CONSORT_E_STALE.
class FailureLog {
 public:
  static constexpr size_t kKept = 65536;
  FailureLog();
  void add(std::shared_ptr<const Failure>);
  void add_as(TaskName, std::shared_ptr<const Failure>) noexcept;  // by another name too; without memory: as lost
  // There was no memory to record a failure: its task is noted, and all share one record that says so.
  const std::shared_ptr<const Failure> &add_lost(TaskName) noexcept;
  const std::shared_ptr<const Failure> &lost() const noexcept { return lost_; }
  std::shared_ptr<const Failure> find(TaskName) const;
  bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }  // pairs with add()
  // A failure that is no task's own, so that no wait finds it by name.
  void add_unnamed(std::shared_ptr<const Failure>);
  // Failures that no call has answered, oldest first, one for each root, `most` of them at most. May throw bad_alloc.
  // *n: how many there are.
  std::vector<std::shared_ptr<const Failure>> untold(size_t most, size_t *n) const;

 private:
  void enter(TaskName, std::shared_ptr<const Failure>);  // may throw bad_alloc
  void forget_oldest() noexcept;                         // without memory for that, nothing is forgotten
  mutable std::mutex mutex_;
  std::unordered_map<TaskName, std::shared_ptr<const Failure>> by_name_;
  std::deque<TaskName> order_;
  std::atomic<size_t> count_{0};  // release in add() pairs with empty(): what was added is found
  std::shared_ptr<const Failure> lost_, stale_;
  std::unordered_map<uint32_t, uint32_t> forgotten_;     // by the record's number: the generation
  std::shared_ptr<const Failure> untold_;                // the first that was forgotten and not told
  std::vector<std::shared_ptr<const Failure>> unnamed_;
  static constexpr size_t kUnnamed = 64;
  TaskName lost_names_[64] = {};  // the last ones
  uint32_t nlost_ = 0;
};

}  // namespace consort
