// staging.hpp — the staging of one task: its data on their way to the space where it will run.
//
// Attached to the task (Extra::staging) from the time when it was popped and its data were incomplete, until it has
// ended. Changes under Memory's mutex.
#pragma once
#include <consort/driver.h>

#include <memory>
#include <string>
#include <vector>

#include "task/replica.hpp"

namespace consort {

struct Datum;
struct Task;
struct Worker;

struct Staging {
  struct Item {
    Datum *datum;
    uint32_t mode;
    Replica *replica;
    uint32_t version = 0;         // of the contents that it writes
    bool claimed = false;         // counted in Replicas::claims
    coherence::Spaces failed = 0; // spaces from which a copy failed: others are tried before the task is refused
    coherence::Spaces before = 0; // spaces where it was valid until this task began to write
  };
  // Memory without contents, used by one task alone and in no datum's record; counted and granted with the rest.
  struct Scratch {
    uint32_t access;              // of the task
    std::unique_ptr<Replica> replica;
  };
  Task *task = nullptr;
  Worker *worker = nullptr;                 // the worker that waits for it; nullptr: a hold, an unregistration or a step
  uint32_t space = 0;                 // where memory is allocated, if necessary
  std::vector<Item> items = {};        // each datum once
  std::vector<Scratch> scratch = {};
  uint64_t reach = 0;                 // spaces whose replicas its unit can access
  uint32_t awaited = 0;           // number of transfers
  uint32_t impl = 0;              // the implementation that its task will run (Frame)
  bool picked = false;            // the policy chose it
  uint64_t since = 0;             // when it was incomplete first, if traced
  float rank = 0;                 // ns: length of the critical path behind the task, if known
  bool granted = false;           // its memory is allocated and its replicas are pinned
  consort_status status = 0;      // < 0: why it was refused
  std::string text = {};
  Staging *next = nullptr, *previous = nullptr;  // list of all stagings (Memory)
  Staging *behind = nullptr;      // next in its StagingQueue
  bool queued = false;            // waits for memory; other things that it awaits may end meanwhile
  // words() returns the reason, a string. Only the first refusal counts. Without memory for the reason only the status
  // is reported.
  template <class F>
  void refuse(consort_status why, F words) noexcept {
    if (status < 0) return;
    status = why;
    try {
      text = words();
    } catch (const std::bad_alloc &) {
    }
  }
  uint32_t thread =
      CONSORT_NONE;  // the thread state that waits for this hold, and will release it; NONE: no thread does
};

// A first-in first-out list linked through Staging::behind. It allocates nothing, because the end of a copy adds to it
// and cannot fail.
class StagingQueue {
 public:
  bool empty() const noexcept { return !first_; }
  Staging *front() const noexcept { return first_; }
  void push_back(Staging *s) noexcept {
    s->behind = nullptr;
    (first_ ? last_->behind : first_) = s;
    last_ = s;
  }
  void push_front(Staging *s) noexcept {
    s->behind = first_;
    if (!first_) last_ = s;
    first_ = s;
  }
  Staging *pop_front() noexcept {
    Staging *const s = first_;
    first_ = s->behind;
    return s;
  }
  size_t size() const noexcept { return place_of(nullptr); }
  size_t place_of(const Staging *s) const noexcept {  // from 0; the length of the queue if it is not in it
    size_t n = 0;
    for (const Staging *at = first_; at && at != s; at = at->behind) ++n;
    return n;
  }

 private:
  Staging *first_ = nullptr, *last_ = nullptr;
};

}  // namespace consort
