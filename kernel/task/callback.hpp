// callback.hpp — the scope of a callback of the application on a thread of the kernel's choice: hooks, completion
// callbacks, grants, drops.
//
// A value on the calling thread's stack. Inside it no call may wait. Ends requested inside it (a hold is released, a
// completion hold ends, a tag is notified) are made when the outermost callback returns. So a chain of such ends needs
// no deeper stack.
#pragma once
#include "task/thread_state.hpp"

namespace consort {

// Makes the ends that the application requests inside a callback. Implemented by the room graph.
class PutOffEnds {
 public:
  // Ends a task on request of the application: a hold is released, a tag is notified, a completion hold ends.
  virtual void end(ThreadState &, Task *) noexcept = 0;
  virtual ~PutOffEnds() = default;
};

class Callback {
 public:
  // about: the result of consort_current_task(), and the task in whose group submissions are; nullptr: none
  Callback(ThreadState &thread, Task *about) noexcept
      : thread_(thread), task_(thread.task), outer_(thread.in_callback) {
    thread.in_callback = true;
    thread.task = about;
  }
  ~Callback() {
    thread_.task = task_;
    thread_.in_callback = outer_;
    if (!outer_ && thread_.ended) [[unlikely]] end_those_put_off(thread_);
  }
  Callback(const Callback &) = delete;
  Callback &operator=(const Callback &) = delete;

  // Ends a task on request of the application: now, or after the callback that this thread is in.
  static void end(ThreadState &, Task *) noexcept;

 private:
  static void end_those_put_off(ThreadState &) noexcept;

  ThreadState &thread_;
  Task *const task_;
  const bool outer_;
};

// Runs f. No exception may leave a callback, since it has no caller that could handle it.
template <class F>
void in_callback(ThreadState &thread, Task *about, F f) noexcept {
  const Callback scope(thread, about);
  try {
    f();
  } catch (...) {
  }
}

}  // namespace consort
