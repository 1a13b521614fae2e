// idle_pump.hpp — virtual time: a thread that steps the workers while every other thread of the process sleeps.
//
// Virtual time advances while a thread waits in the runtime. An event loop sleeps in the system instead, until a
// group's descriptor or a callback wakes it. The first such descriptor or callback starts this thread. It steps after
// all other threads have slept at several checks in a row while tasks are pending, and stops at the first step that
// wakes one of them. A program that waits only in the runtime never has this thread, and its runs stay identical to the
// byte.
#pragma once
#include <atomic>
#include <mutex>
#include <thread>

#include "base/park.hpp"
#include "task/idle_stepper.hpp"

namespace consort {

struct Execution;

class IdlePump final : public IdleStepper {
 public:
  explicit IdlePump(Execution &rt) : rt_(rt) {}
  ~IdlePump() { end(); }
  void begin() noexcept override;
  void end() noexcept;             // [control] joins the thread; before the workers are destroyed

 private:
  void run() noexcept;

  Execution &rt_;
  std::atomic<bool> begun_{false}, ending_{false};  // relaxed: the lock and wake() order what follows
  std::mutex mutex_;               // guards thread_; leaf
  std::thread thread_;
  Parker parker_;
};

}  // namespace consort
