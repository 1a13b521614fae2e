// failure.hpp — the failure of one task, reported once and kept for later queries.
//
// Immutable once made; shared by the task's name, its group and the data that it poisoned. The chain of causes is
// bounded: beyond kDepth links it refers directly to the root, so a long cascade costs no more.
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
  uint32_t worker;          // CONSORT_NONE: it never reached a worker
  std::string task_name, worker_name, data_name, text;
  std::shared_ptr<const Failure> cause;
  uint32_t depth = 0;
  bool tag_given_up = false; // of a tag, not of a task: no thread could reach the tag any more
  // Set when a call has returned this failure. relaxed: orders nothing; only consort_stop() reads it.
  mutable std::atomic<bool> told{false};
  // Shared by the failures that one wait of their group collects together. Written before the log has this failure.
  mutable std::shared_ptr<std::atomic<bool>> collected;

  static constexpr uint32_t kDepth = 8;
  static std::shared_ptr<const Failure> next_cause(const std::shared_ptr<const Failure> &direct);
  std::string sentence() const;  // this failure alone
  std::string chain() const;     // with its causes
  const Failure &root() const noexcept;
  void tell() const noexcept;    // a call returns this chain: marks the failure and its root reported
  // A failure counts as reported with its root, since a consequence adds no information.
  bool was_told() const noexcept;
};

// Failures by task name, for later waits and explicit dependences. Any thread; its lock is a leaf. Beyond kKept the
// oldest is dropped. The log then keeps, for each task record, the generation of the last dropped failure. A name of
// that generation or an earlier one yields a record with status CONSORT_E_STALE.
class FailureLog {
 public:
  static constexpr size_t kKept = 65536;
  FailureLog();
  void add(std::shared_ptr<const Failure>);
  void add_as(TaskName, std::shared_ptr<const Failure>) noexcept;  // under a further name; without memory: as lost
  // Without memory for a failure: notes its task, and returns one record shared by all such failures.
  const std::shared_ptr<const Failure> &add_lost(TaskName) noexcept;
  const std::shared_ptr<const Failure> &lost() const noexcept { return lost_; }
  std::shared_ptr<const Failure> find(TaskName) const;
  bool empty() const noexcept { return count_.load(std::memory_order_acquire) == 0; }  // pairs with add()
  // Adds a failure that belongs to no task, so that no wait finds it by name.
  void add_unnamed(std::shared_ptr<const Failure>);
  // Returns the failures that no call has returned, oldest first, one for each root, at most `most`. *n: their total
  // number. May throw bad_alloc.
  std::vector<std::shared_ptr<const Failure>> untold(size_t most, size_t *n) const;

 private:
  void enter(TaskName, std::shared_ptr<const Failure>);  // may throw bad_alloc
  void forget_oldest() noexcept;                         // if that needs memory and there is none, nothing is dropped
  mutable std::mutex mutex_;
  std::unordered_map<TaskName, std::shared_ptr<const Failure>> by_name_;
  std::deque<TaskName> order_;
  std::atomic<size_t> count_{0};  // release in add() pairs with empty(): an added failure is found
  std::shared_ptr<const Failure> lost_, stale_;
  std::unordered_map<uint32_t, uint32_t> forgotten_;     // generation by record number
  std::shared_ptr<const Failure> untold_;                // the first that was dropped unreported
  std::vector<std::shared_ptr<const Failure>> unnamed_;
  static constexpr size_t kUnnamed = 64;
  TaskName lost_names_[64] = {};  // the latest
  uint32_t nlost_ = 0;
};

}  // namespace consort
