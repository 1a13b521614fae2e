// stack_headroom.hpp — whether a thread's stack has room for one more body that is run inside another.
//
// A value of one thread's thread state, asked by that thread alone; reads the stack's bounds once. A body that runs on a
// stack of its own making (a fibre's) is told that there is no room: nobody knows that stack's end.
#pragma once
#include <cstdint>

namespace consort {

class StackHeadroom {
 public:
  bool any() noexcept;
  // The caller is on the thread's own stack, and too near to its end. Not the opposite of any(): of a stack of a body's own
  // making neither is said.
  bool full() noexcept;

 private:
  void ask() noexcept;

  uintptr_t end_ = 0, lowest_ = 0, highest_ = 0;  // a body may be begun above lowest_; equal: not known yet, or never
  bool asked_ = false;
};

}  // namespace consort
