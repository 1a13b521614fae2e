// own_holds.hpp — logs that a thread waits for tasks behind data which it has acquired itself.
//
// A value on the waiting thread's stack, used by that thread alone.
#pragma once
#include <cstdint>
#include <functional>

namespace consort {

struct ThreadState;
struct Core;
struct Task;

// Warns about a probable deadlock. If a thread waits for tasks behind its own holds, only another thread's release can
// end the wait. That is logged once, after about a second. It is no error, since another thread may release.
class OwnHolds {
 public:
  static constexpr int64_t kNap = 100'000'000;  // the longest sleep between two checks

  // Call after each sleep. is: whether a task is one of the awaited tasks.
  void look(Core &, ThreadState &, const char *call, const std::function<bool(const Task &)> &is) noexcept;

 private:
  uint64_t began_ = 0, next_ = 1'000'000'000;  // ns of the world's clock, with any pump
};

}  // namespace consort
