// staging.hpp — one task's data on their way to where it will run.
//
// Hangs on the task (Extra::staging) from the moment when it was popped and its data were not all there, until it has
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
    uint32_t version = 0;         // of what it writes
    bool claimed = false;         // counted in Replicas::claims
    coherence::Spaces failed = 0; // from where a copy of it failed: others are tried before the task is refused
    coherence::Spaces before = 0; // where it was valid until this one began to write it
  };
  // Memory without contents: nobody else's, so in no datum's record; counted and granted with the rest.
  struct Scratch {
    uint32_t access;              // of the task
    std::unique_ptr<Replica> replica;
  };
  Task *task = nullptr;
  Worker *worker = nullptr;                 // who comes for it; nullptr: a hold, an unregistration or a step
  uint32_t space = 0;                 // where memory is taken, if any has to be
  std::vector<Item> items = {};        // each datum once
  std::vector<Scratch> scratch = {};
  uint64_t reach = 0;                 // spaces whose replicas will do
  uint32_t awaited = 0;           // transfers
  float rank = 0;                 // ns: what hangs on the task takes so long, if somebody said so
  bool granted = false;           // it has its memory; replicas are pinned
  consort_status status = 0;      // why it can not be
  std::string text = {};
  Staging *next = nullptr, *previous = nullptr;  // all that there are (Memory)
  Staging *behind = nullptr;      // in the one StagingQueue that it is in
  bool queued = false;            // for room; what else it waits for may end meanwhile
  // words(): the reason, a string. Only the first refusal counts. Without memory for the reason the status alone is told.
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

// First in, first out, linked through Staging::behind. It needs no memory: the end of a copy adds to it, and cannot fail.
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
  size_t place_of(const Staging *s) const noexcept {  // from 0; of one that is not in: how many there are
    size_t n = 0;
    for (const Staging *at = first_; at && at != s; at = at->behind) ++n;
    return n;
  }

 private:
  Staging *first_ = nullptr, *last_ = nullptr;
};

}  // namespace consort
