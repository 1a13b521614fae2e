// other_ranks.hpp — virtual time: the other ranks of a simulated job, as the pump sees them.
//
// The room remote implements it; without a job of several ranks there is none. Called by the thread that pumps.
#pragma once
#include <cstdint>

namespace consort {

struct ThreadState;

class OtherRanks {
 public:
  // Takes what has come from them by now. Returns whether something was done.
  virtual bool step(ThreadState &) noexcept = 0;
  // Nothing is to be done here before `until`. Lets the other ranks go on, and returns the time at which this one does:
  // then, or when a message comes. CONSORT_NEVER: no rank can go on by itself.
  virtual uint64_t advance(uint64_t until) noexcept = 0;

 protected:
  ~OtherRanks() = default;
};

}  // namespace consort
