// consort/cpp/held.hpp — Held<V>: the application inside a datum, with the right that it carries.
//
// Part of consort.hpp; include that. A move-only owner: it releases in its destructor, which does not throw.
#ifndef CONSORT_CPP_HELD_HPP
#define CONSORT_CPP_HELD_HPP
#include <consort/cpp/error.hpp>

#include <utility>

namespace consort::inline face {

namespace detail {

class Hold {  // the right that a Held carries
 public:
  Hold(const Ref &control, consort_hold hold) noexcept : control_(control), hold_(hold) {}
  Hold(Hold &&other) noexcept
      : control_(std::move(other.control_)), hold_(std::exchange(other.hold_, consort_hold{})) {}
  Hold &operator=(Hold &&other) noexcept {
    if (this != &other) {
      release();
      control_ = std::move(other.control_);
      hold_ = std::exchange(other.hold_, consort_hold{});
    }
    return *this;
  }
  ~Hold() { release(); }
  void release() noexcept {
    consort_runtime *rt = control_.live();
    if (hold_.id.v && rt) consort_release(rt, hold_);
    hold_ = consort_hold{};
  }

 private:
  Ref control_;
  consort_hold hold_;
};

}  // namespace detail

// The view of a datum that the application holds: a span, a matrix, or *held for a variable. While it lives,
// tasks that would conflict wait. Release as early as you can; waiting for such a task meanwhile never ends.
template <class V>
class Held : public V {
 public:
  Held(V view, detail::Hold hold) noexcept : V(view), hold_(std::move(hold)) {}
  // Ends the hold before the destructor does. The view is empty from here on.
  void release() noexcept {
    static_cast<V &>(*this) = V();
    hold_.release();
  }

 private:
  detail::Hold hold_;
};
// The value of a variable that the application holds.
template <class T>
class Held<T &> {
 public:
  Held(T &view, detail::Hold hold) noexcept : view_(&view), hold_(std::move(hold)) {}
  T &operator*() const noexcept { return *view_; }  // The value, until release().
  T *operator->() const noexcept { return view_; }  // A member of the value, until release().
  // Ends the hold before the destructor does.
  void release() noexcept {
    view_ = nullptr;
    hold_.release();
  }

 private:
  T *view_;
  detail::Hold hold_;
};
// The turn at a token: no view, only the right.
template <>
class Held<void> {
 public:
  explicit Held(detail::Hold hold) noexcept : hold_(std::move(hold)) {}
  void release() noexcept { hold_.release(); }  // Ends the hold before the destructor does.

 private:
  detail::Hold hold_;
};

}  // namespace consort::inline face
#endif
