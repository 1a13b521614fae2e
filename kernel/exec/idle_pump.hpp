// idle_pump.hpp — in virtual time, a thread that steps the workers while every other thread of the process sleeps.
//
// Virtual time goes on while a thread waits in the runtime. An event loop sleeps in the system instead, until a group's
// descriptor or a callback wakes it. The first such descriptor or callback begins this thread. It acts when all other
// threads have slept for a few looks in a row and tasks are pending, and stops at the first step that wakes one of them.
// A program that waits in the runtime alone never has this thread, and its runs stay equal to the byte.
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
  void end() noexcept;             // [control] joins the thread; before the workers go

 private:
  void run() noexcept;

  Execution &rt_;
  std::atomic<bool> begun_{false}, ending_{false};  // relaxed: the lock and wake() order what follows
  std::mutex mutex_;               // guards thread_; leaf
  std::thread thread_;
  Parker parker_;
};

}  // namespace consort
