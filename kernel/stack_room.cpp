#include "stack_room.hpp"

#include <pthread.h>

namespace consort {

bool StackRoom::any() noexcept {
  if (!asked_) {
    asked_ = true;
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      void *base = nullptr;
      size_t size = 0;
      if (pthread_attr_getstack(&attributes, &base, &size) == 0) {
        highest_ = reinterpret_cast<uintptr_t>(base) + size;
        lowest_ = highest_ - size / 4 * 3;  // a quarter is left to the last body
      }
      pthread_attr_destroy(&attributes);
    }
  }
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > lowest_ && here < highest_;
}

}  // namespace consort
