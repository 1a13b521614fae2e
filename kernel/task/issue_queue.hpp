// issue_queue.hpp — the interface of a device queue to the edges of the graph.
//
// Implemented by exec/queue.hpp. A task may be issued behind its unfinished predecessors if these are all issued on the
// queues of one domain. A domain is one in-order queue, or several that can wait for each other's tickets. The runtime
// finds a queue by its number. All except `offer()` is constant before the first task.
#pragma once
#include <cstdint>

namespace consort {

struct Task;

class IssueQueue {
 public:
  // [any] Issues a task here that was claimed for this queue's domain (claim_follower()).
  virtual void offer(Task *) noexcept = 0;

  uint16_t number() const noexcept { return number_; }
  uint32_t worker_id() const noexcept { return worker_id_; }
  uint8_t domain() const noexcept { return domain_; }                // 0: no task may be issued behind another
  bool waits_for_tickets() const noexcept { return waits_for_tickets_; }  // of the other queues of its domain
  uint64_t token() const noexcept { return uint64_t{number_} + 1; }

 protected:
  IssueQueue(uint16_t number, uint32_t worker_id) noexcept : number_(number), worker_id_(worker_id) {}
  ~IssueQueue() = default;  // its worker destroys it as its own class

  uint8_t domain_ = 0;
  bool waits_for_tickets_ = false;

 private:
  const uint16_t number_;
  const uint32_t worker_id_;
};

// The ticket of an issued task: number of the queue << 48 | sequence number in the queue. Stored in
// Task::pub.footprint.
namespace place {
constexpr uint64_t make(uint16_t queue, uint64_t seq) { return uint64_t{queue} << 48 | seq; }
constexpr uint16_t queue(uint64_t p) { return static_cast<uint16_t>(p >> 48); }
constexpr uint64_t seq(uint64_t p) { return p & ((uint64_t{1} << 48) - 1); }
}  // namespace place

}  // namespace consort
