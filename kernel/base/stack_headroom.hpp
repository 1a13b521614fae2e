// stack_headroom.hpp — whether a thread's stack has room for another nested body.
//
// Part of a thread's state and used by that thread alone; reads the stack's bounds once. On a foreign stack (a fibre's)
// any() returns false, because the end of that stack is unknown.
#pragma once
#include <cstdint>

namespace consort {

class StackHeadroom {
 public:
  bool any() noexcept;
  // Returns whether the caller is on the thread's own stack and too near to its end. Not the opposite of any(): on a
  // foreign stack both are false.
  bool full() noexcept;

 private:
  void ask() noexcept;

  uintptr_t end_ = 0, lowest_ = 0, highest_ = 0;  // a body may start above lowest_; equal: not known yet, or unavailable
  bool asked_ = false;
};

}  // namespace consort
