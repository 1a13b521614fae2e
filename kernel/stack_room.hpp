// stack_room.hpp — whether a thread's stack has room for one more body that is run inside another.
//
// A value of one thread's hand, asked by that thread alone; reads the stack's bounds once. A body that runs on a
// stack of its own making (a fibre's) is told that there is no room: nobody knows that stack's end.
#pragma once
#include <cstdint>

namespace consort {

class StackRoom {
 public:
  bool any() noexcept;

 private:
  uintptr_t lowest_ = 0, highest_ = 0;  // where a body may still be begun; equal: not known yet, or never
  bool asked_ = false;
};

}  // namespace consort
