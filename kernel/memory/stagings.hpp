// stagings.hpp — all tasks whose data are on their way or pinned, and those of them that may go on.
//
// A staging is complete when it has its memory and nothing that it waits for is under way, or when it was refused. Owned
// by Memory; each function is called under Memory's mutex.
#pragma once
#include "memory/staging.hpp"
#include "memory/window.hpp"

namespace consort {

class Stagings {
 public:
  void add(Staging &) noexcept;     // it is its task's (Extra::staging)
  void remove(Staging &) noexcept;  // its task ends
  const Staging *find(TaskName) const noexcept;  // nullptr: that task has none

  // Complete at once: its task goes on without being handed out.
  void begin() noexcept { ++active_; }
  void complete(Staging &s) noexcept {  // take_ready() hands it out
    ++active_;
    ready_.push_back(&s);
  }
  void end() noexcept { --active_; }  // of one that was complete
  // One thing less that it waits for has ended. True: nothing is left but room, if it waits for that.
  static bool has_landed(Staging &s) noexcept { return --s.awaited == 0; }
  // The same for a writer that waited for a copy, or a step for the last of all: complete, unless it waits for room.
  void landed(Staging &s) noexcept {
    if (has_landed(s) && !s.queued) complete(s);
  }

  // Returns the tasks that became complete since the last call, in that order: the caller lets them go on, without the
  // mutex.
  [[nodiscard]] StagingQueue take_ready() noexcept;
  // Those that are complete and have not ended.
  uint64_t active() const noexcept { return active_; }

  // Bytes that the thread which waits for this hold has granted in other holds in the same space. It would wait for itself
  // if they were in the way. A hold that came by a callback belongs to no thread: 0.
  uint64_t held_by_its_thread(const Staging &) const noexcept;

 private:
  Staging *first_ = nullptr;
  StagingQueue ready_;
  uint64_t active_ = 0;
};

}  // namespace consort
