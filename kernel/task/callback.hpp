// callback.hpp — a stretch of the application's code that the kernel calls on a thread of its own choosing: hooks,
// completion callbacks, grants, drops.
//
// On the calling thread's stack. Inside it nobody may wait, and what it ends (a hold that it releases, an end that it
// lets go, a tag that it notifies) ends when the outermost one returns: a chain of such ends needs no deeper stack.
#pragma once
#include "api/runtime.hpp"

namespace consort {

class Callback {
 public:
  // about: the task that consort_current_task() answers, and in whose group submissions are; nullptr: none
  Callback(Runtime &rt, ThreadState &thread, Task *about) noexcept
      : rt_(rt), thread_(thread), task_(thread.task), outer_(thread.in_callback) {
    thread.in_callback = true;
    thread.task = about;
  }
  ~Callback() {
    thread_.task = task_;
    thread_.in_callback = outer_;
    if (!outer_ && thread_.ended) [[unlikely]] end_those_put_off(rt_, thread_);
  }
  Callback(const Callback &) = delete;
  Callback &operator=(const Callback &) = delete;

  // A task that has no body ends by the application's word: now, or after the callback that this thread is in.
  static void end(Runtime &, ThreadState &, Task *) noexcept;

 private:
  static void end_those_put_off(Runtime &, ThreadState &) noexcept;

  Runtime &rt_;
  ThreadState &thread_;
  Task *const task_;
  const bool outer_;
};

// Runs f, of which nothing may escape: a callback has nobody to tell.
template <class F>
void in_callback(Runtime &rt, ThreadState &thread, Task *about, F f) noexcept {
  const Callback scope(rt, thread, about);
  try {
    f();
  } catch (...) {
  }
}

}  // namespace consort
