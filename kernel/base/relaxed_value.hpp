// relaxed_value.hpp — a number that is written under a mutex and may be read without it.
//
// Under the mutex it behaves like a plain number. A reader without the mutex gets a recent value and learns nothing
// about other memory: relaxed, it pairs with nothing.
#pragma once
#include <atomic>

namespace consort {

template <class T>
class RelaxedValue {
 public:
  constexpr RelaxedValue(T v = {}) noexcept : v_(v) {}
  RelaxedValue(const RelaxedValue &o) noexcept : v_(T(o)) {}
  RelaxedValue &operator=(const RelaxedValue &o) noexcept { return *this = T(o); }
  RelaxedValue &operator=(T v) noexcept {
    v_.store(v, std::memory_order_relaxed);
    return *this;
  }
  operator T() const noexcept { return v_.load(std::memory_order_relaxed); }
  RelaxedValue &operator+=(T by) noexcept { return *this = T(*this) + by; }
  RelaxedValue &operator-=(T by) noexcept { return *this = T(*this) - by; }
  RelaxedValue &operator|=(T bits) noexcept { return *this = T(*this) | bits; }
  RelaxedValue &operator&=(T bits) noexcept { return *this = T(*this) & bits; }

 private:
  std::atomic<T> v_;  // relaxed: see above
};

}  // namespace consort
