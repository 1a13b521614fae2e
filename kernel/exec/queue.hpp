// queue.hpp — the queue of a unit that runs tasks by itself: issues them in batches, polls for completions.
//
// A task is issued at once behind unfinished predecessors ("followed") if all of these were issued on this queue, or on
// queues that can wait for each other's tickets. Its completion counts only after theirs were seen. Owned by the
// worker. Used by the token holder, except offer() and completed().
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include <consort/bodies.h>

#include "exec/execution.hpp"
#include "task/issue_queue.hpp"
#include "task/task_fifo.hpp"

namespace consort {

struct Gang;
struct QueueSlot;

class Queue final : public IssueQueue {
 public:
  static Result<std::unique_ptr<Queue>> open(Execution &, Executor &, uint16_t number);
  ~Queue();

  bool step(ThreadState &) noexcept;                       // polls, then issues while there is capacity
  uint64_t next_event() const noexcept {            // virtual time: step() has nothing to do before it
    return ops_->next_event ? ops_->next_event(q_) : CONSORT_NEVER;
  }
  bool at_work() const noexcept { return at_work_.load(std::memory_order_acquire); }  // [any] busy after the last step
  // [any] acquire: pairs with offer(), completed()
  bool has_news() const noexcept { return inbox_.load(std::memory_order_acquire); }
  bool busy() const noexcept { return inflight_ > 0 || !follow_.empty() || stalled_; }
  bool is_full() const noexcept;                           // takes no task from the policy now
  // precondition: busy, and nothing to do. Sleeps until the device or a thread has news
  void rest(Parker &) noexcept;
  void offer(Task *) noexcept override;
  void completed(const consort_done *, uint32_t n) noexcept;  // [any] pushed by the driver
  void join_domain(uint8_t domain) noexcept { domain_ = domain; }
  uint64_t sync() const noexcept { return desc_.sync; }
  bool in_order() const noexcept { return desc_.flags & CONSORT_Q_IN_ORDER; }
  Executor &worker() const noexcept { return worker_; }
  // Precondition: an operation of a task, inside its submit(). Calls to() with the task's description; false: out of memory.
  static bool describe(const consort_op &, void (*to)(void *user, const consort_body *), void *user) noexcept;

 private:
  Queue(Execution &, Executor &, uint16_t number);
  bool stages_enough() const noexcept;
  Task *next(uint32_t *impl, uint32_t *team, bool *did) noexcept;  // *did: a task was pushed
  bool stand_by(ThreadState &) noexcept;                   // called to a team
  bool issue_for_team(ThreadState &, Gang &) noexcept;
  bool issue_captured(ThreadState &, Task *) noexcept;
  void finish_captured(ThreadState &, QueueSlot *, consort_status) noexcept;
  consort_status known_status(QueueSlot &, consort_status) const noexcept;  // sets the slot's text for an unknown number
  void fill_op(QueueSlot *, Task *, const Frame &) noexcept;
  bool advance(ThreadState &) noexcept;
  bool issue(ThreadState &, Task *, uint32_t impl) noexcept;
  bool load(ThreadState &, Task *, uint32_t *impl) noexcept;
  Task *pass_on(Task *, const Codelet::Impl &refused) noexcept;
  void end_unissued(ThreadState &, Task *, consort_status) noexcept;
  // Nothing of it was issued: ends it when its predecessors have ended. recorded: its failure is recorded.
  void end_early(Task *, consort_status, const char *why, bool recorded) noexcept;
  bool submit(QueueSlot *) noexcept;
  bool launch(QueueSlot *) noexcept;                     // of a carrier
  void mark_issued(Task *) noexcept;
  void finish(ThreadState &, const consort_done &) noexcept;
  bool run_again_elsewhere(ThreadState &, QueueSlot *, const consort_done &) noexcept;
  void tell(const QueueSlot &, const consort_done &, consort_status) noexcept;
  bool finish_early(ThreadState &) noexcept;

  Execution &rt_;
  Executor &worker_;
  const consort_driver_ops *ops_ = nullptr;
  void *q_ = nullptr;
  int fd_ = -1;                                     // the driver's descriptor; readable when something completes after arm()
  consort_queue_desc desc_{};
  uint32_t depth_ = 1, inflight_ = 0;
  uint64_t accepted_ = 0;
  std::vector<std::unique_ptr<QueueSlot>> slots_;
  std::vector<QueueSlot *> free_;
  QueueSlot *stalled_ = nullptr;                         // prepared, not accepted yet
  TaskFifo::Links links_;                            // of the rows; an entry belongs to the row's owner
  TaskFifo follow_;                                  // claimed tasks: issued in order, before tasks of the policy
  std::vector<consort_done> early_;                 // completions reported before that of a predecessor on another queue
  std::mutex inbox_mutex_;                          // guards the two below; leaf
  TaskFifo offered_;
  std::vector<consort_done> pushed_;                // capacity for one completion of each slot
  std::atomic<bool> at_work_{false};                // release in step(), when it changes, pairs with at_work()
  std::atomic<bool> inbox_{false};                  // the inbox is not empty; release in offer(), acquire in step()
};

}  // namespace consort
