// callback.hpp — a stretch of the application's code that the kernel calls on a thread of its own choosing: hooks,
// completion callbacks, grants, drops.
//
// A value on the calling thread's stack. Inside it nobody may wait, and what it ends (a hold that it releases, an end that it
// lets go, a tag that it notifies) ends when the outermost one returns: a chain of such ends needs no deeper stack.
#pragma once
#include "task/thread_state.hpp"

namespace consort {

// How the ends are made that the application asked for inside a callback. The room graph implements it.
class PutOffEnds {
 public:
  // Ends a task by the application's word: a hold that is released, a tag that is notified, an end that is let go.
  virtual void end(ThreadState &, Task *) noexcept = 0;
  virtual ~PutOffEnds() = default;
};

class Callback {
 public:
  // about: the task that consort_current_task() answers, and in whose group submissions are; nullptr: none
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

  // A task ends by the application's word: now, or after the callback that this thread is in.
  static void end(ThreadState &, Task *) noexcept;

 private:
  static void end_those_put_off(ThreadState &) noexcept;

  ThreadState &thread_;
  Task *const task_;
  const bool outer_;
};

// Runs f, of which nothing may escape: a callback has nobody to tell.
template <class F>
void in_callback(ThreadState &thread, Task *about, F f) noexcept {
  const Callback scope(thread, about);
  try {
    f();
  } catch (...) {
  }
}

}  // namespace consort
