// relaxed_value.hpp — a number that whoever changes it guards with a mutex, and that anybody may read without.
//
// Under the mutex it is a number like any other. A reader without it sees some value that it had a moment ago, and
// learns nothing else by it: relaxed, it pairs with nothing.
#pragma once
#include <atomic>

namespace consort {

template <class T>
class Shown {
 public:
  constexpr Shown(T v = {}) noexcept : v_(v) {}
  Shown(const Shown &o) noexcept : v_(T(o)) {}
  Shown &operator=(const Shown &o) noexcept { return *this = T(o); }
  Shown &operator=(T v) noexcept {
    v_.store(v, std::memory_order_relaxed);
    return *this;
  }
  operator T() const noexcept { return v_.load(std::memory_order_relaxed); }
  Shown &operator+=(T by) noexcept { return *this = T(*this) + by; }
  Shown &operator-=(T by) noexcept { return *this = T(*this) - by; }
  Shown &operator|=(T bits) noexcept { return *this = T(*this) | bits; }
  Shown &operator&=(T bits) noexcept { return *this = T(*this) & bits; }

 private:
  std::atomic<T> v_;  // relaxed: see above
};

}  // namespace consort
