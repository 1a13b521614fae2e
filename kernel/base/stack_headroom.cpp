#include "base/stack_headroom.hpp"

#include <pthread.h>

namespace consort {

void StackHeadroom::ask() noexcept {
  if (asked_) return;
  asked_ = true;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void *base = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &base, &size) == 0) {
    end_ = reinterpret_cast<uintptr_t>(base);
    highest_ = end_ + size;
    lowest_ = highest_ - size / 4 * 3;  // a quarter is reserved for the innermost body
  }
  pthread_attr_destroy(&attributes);
}

bool StackHeadroom::any() noexcept {
  ask();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here > lowest_ && here < highest_;
}

bool StackHeadroom::full() noexcept {
  ask();
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return here <= lowest_ && here >= end_ && end_ != highest_;
}

}  // namespace consort
