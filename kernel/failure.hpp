// failure.hpp — what went wrong with one task, told once and kept for those who ask.
//
// Immutable once made; shared by the task's name, its group and the data that it poisoned. The chain of causes
// is kept short: past kDepth links it goes straight to the root, so that a long cascade costs no more.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "result.hpp"
#include "task.hpp"

namespace consort {

struct Failure {
  consort_status status;
  TaskName task;
  uint32_t worker;          // CONSORT_NONE: never reached one
  std::string task_name, worker_name, data_name, text;
  std::shared_ptr<const Failure> cause;
  uint32_t depth = 0;
  bool nobody_left = false; // no task's: of a tag that nobody could reach any more

  static constexpr uint32_t kDepth = 8;
  static std::shared_ptr<const Failure> next_cause(const std::shared_ptr<const Failure> &direct);
  std::string sentence() const;  // of this one
  std::string chain() const;     // with its causes
};

// Failures by the task's name, for waits and explicit dependences that come after the fact. The oldest are
// forgotten beyond kKept. Any thread; its lock is a leaf.
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

 private:
  void enter(TaskName, std::shared_ptr<const Failure>);  // may throw bad_alloc
  mutable std::mutex mutex_;
  std::unordered_map<TaskName, std::shared_ptr<const Failure>> by_name_;
  std::deque<TaskName> order_;
  std::atomic<size_t> count_{0};
  std::shared_ptr<const Failure> lost_;
  TaskName lost_names_[64] = {};  // the last ones
  uint32_t nlost_ = 0;
};

}  // namespace consort
