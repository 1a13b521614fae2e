// own_holds.hpp — says in the log that a thread waits for what comes after data which it has acquired itself.
//
// A value on the waiting thread's stack; only that thread calls it.
#pragma once
#include <cstdint>
#include <functional>

namespace consort {

struct ThreadState;
struct Core;
struct Task;

// A thread that holds data waits. If that is for what comes after them, only another thread's release can end it: that
// is said in the log, once, after about a second. It is no error: another thread may release.
class OwnHolds {
 public:
  static constexpr int64_t kNap = 100'000'000;  // the longest sleep between two looks

  // After a sleep. is: does a task belong to what is waited for?
  void look(Core &, ThreadState &, const char *call, const std::function<bool(const Task &)> &is) noexcept;

 private:
  uint64_t began_ = 0, next_ = 1'000'000'000;  // ns of the world's time, with any pump
};

}  // namespace consort
