// stagings.hpp — the list of all stagings, and the complete ones that are ready to continue.
//
// A staging is complete when it has its memory and nothing that it awaits is in flight, or when it was refused. Owned
// by Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/staging.hpp"
#include "memory/window.hpp"

namespace consort {

class Stagings {
 public:
  void add(Staging &) noexcept;     // it belongs to its task (Extra::staging)
  void remove(Staging &) noexcept;  // its task ends
  const Staging *find(TaskName) const noexcept;  // nullptr: that task has none

  // Complete at once: its task continues without take_ready().
  void begin() noexcept { ++active_; }
  void complete(Staging &s) noexcept {  // take_ready() returns it
    ++active_;
    ready_.push_back(&s);
  }
  void end() noexcept { --active_; }  // precondition: it was complete
  // One awaited thing has ended. Returns true if only memory is awaited, or nothing.
  static bool has_landed(Staging &s) noexcept { return --s.awaited == 0; }
  // The same for a writer that waited for a copy, or for a step: it becomes complete, unless it waits for memory.
  void landed(Staging &s) noexcept {
    if (has_landed(s) && !s.queued) complete(s);
  }

  // Returns the tasks that became complete since the last call, in that order. The caller resumes them without the
  // mutex.
  [[nodiscard]] StagingQueue take_ready() noexcept;
  // Number of stagings that are complete and have not ended.
  uint64_t active() const noexcept { return active_; }

  // Returns the bytes that the thread which waits for this hold has in other holds of the same space. Waiting for these
  // would be a deadlock. A hold that continues by a callback belongs to no thread: 0.
  uint64_t held_by_its_thread(const Staging &) const noexcept;

 private:
  Staging *first_ = nullptr;
  StagingQueue ready_;
  uint64_t active_ = 0;
};

}  // namespace consort
