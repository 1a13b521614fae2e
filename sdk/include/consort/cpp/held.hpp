// consort/cpp/held.hpp — Held<V>: the application inside a datum, with the right that it carries.
//
// Part of consort.hpp; include that. A move-only owner: it releases in its destructor, which does not throw.
#ifndef CONSORT_CPP_HELD_HPP
#define CONSORT_CPP_HELD_HPP
#include <consort/cpp/error.hpp>

#include <cstddef>
#include <span>
#include <utility>

#if !defined(CONSORT_CHECK_VIEWS)
#if defined(NDEBUG)
#define CONSORT_CHECK_VIEWS 0
#else
#define CONSORT_CHECK_VIEWS 1
#endif
#endif

namespace consort::inline face {

namespace detail {

// Which hold a slice belongs to. Where views are checked, each use asks whether it still is.
struct Watch {
  consort_runtime *rt = nullptr;
  consort_task_id hold{};
  void look() const {
#if CONSORT_CHECK_VIEWS
    if (!hold.v || consort_task_state(rt, hold) != CONSORT_AGAIN) [[unlikely]]
      raise(CONSORT_E_STALE, "a slice of a view is used after its hold has ended: keep the view as long as its slices, or slice where it is "
                             "made, auto part = x.read().subspan(1), which takes the hold along");
#endif
  }
};
template <class V>
inline constexpr bool is_span = false;
template <class T, std::size_t N>
inline constexpr bool is_span<std::span<T, N>> = true;
template <class V>
concept IsSpan = is_span<V>;

}  // namespace detail

// A part of a view that the application holds: a span, a matrix or a block like any other. With CONSORT_CHECK_VIEWS (the default
// without NDEBUG) each use through it throws Error (E_STALE) when the hold has ended; what was made of it, a plain span or an
// iterator, is not watched.
template <class V>
class Slice : public V {
 public:
  Slice(V part, detail::Watch watch) noexcept : V(part), watch_(watch) {}

  // The element in this place.
  template <class... I>
    requires requires(const V &v, I... i) { v(i...); }
  decltype(auto) operator()(I... i) const { return watched()(i...); }
  decltype(auto) operator[](std::size_t i) const requires detail::IsSpan<V> { return watched()[i]; }
  auto data() const { return watched().data(); }                                   // The first element.
  auto begin() const requires detail::IsSpan<V> { return watched().begin(); }      // The first element.
  auto end() const requires detail::IsSpan<V> { return watched().end(); }          // Behind the last element.
  decltype(auto) front() const requires detail::IsSpan<V> { return watched().front(); }
  decltype(auto) back() const requires detail::IsSpan<V> { return watched().back(); }
  // Parts of it, which belong to the same hold.
  auto subspan(std::size_t at, std::size_t n = std::dynamic_extent) const requires detail::IsSpan<V> { return slice(V::subspan(at, n)); }
  auto first(std::size_t n) const requires detail::IsSpan<V> { return slice(V::first(n)); }
  auto last(std::size_t n) const requires detail::IsSpan<V> { return slice(V::last(n)); }
  // Returns line y of a matrix.
  auto line(std::size_t y) const requires requires(const V &v) { v.line(y); } { return slice(V::line(y)); }
  // Returns plane z of a block.
  auto plane(std::size_t z) const requires requires(const V &v) { v.plane(z); } { return slice(V::plane(z)); }

 private:
  const V &watched() const { return watch_.look(), static_cast<const V &>(*this); }
  template <class W>
  Slice<W> slice(W part) const noexcept { return {part, watch_}; }
  detail::Watch watch_;
};

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
  Watch watch() const noexcept { return {control_.live(), hold_.id}; }
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
// A slice of it (subspan, first, last, line, plane, block) is good as long as the hold: see Slice. A slice of a temporary
// takes the hold along: auto line = m.read().line(3).
template <class V>
class Held : public V {
 public:
  Held(V view, detail::Hold hold) noexcept : V(view), hold_(std::move(hold)) {}
  Held(Held &&other) noexcept : V(other), hold_(std::move(other.hold_)) { other.clear(); }
  Held &operator=(Held &&other) noexcept {
    if (this != &other) {
      hold_ = std::move(other.hold_);
      static_cast<V &>(*this) = other;
      other.clear();
    }
    return *this;
  }
  // Ends the hold before the destructor does. The view is empty from here on.
  void release() noexcept {
    clear();
    hold_.release();
  }

  // From element `at` on, n elements or all. Throws nothing: a range that the span lacks is the caller's fault, as with a span.
  auto subspan(std::size_t at, std::size_t n = std::dynamic_extent) const & requires detail::IsSpan<V> { return slice(V::subspan(at, n)); }
  auto subspan(std::size_t at, std::size_t n = std::dynamic_extent) && requires detail::IsSpan<V> { return take(V::subspan(at, n)); }
  auto first(std::size_t n) const & requires detail::IsSpan<V> { return slice(V::first(n)); }  // The first n elements.
  auto first(std::size_t n) && requires detail::IsSpan<V> { return take(V::first(n)); }
  auto last(std::size_t n) const & requires detail::IsSpan<V> { return slice(V::last(n)); }  // The last n elements.
  auto last(std::size_t n) && requires detail::IsSpan<V> { return take(V::last(n)); }
  template <std::size_t N>
  auto first() const & requires detail::IsSpan<V> { return slice(V::template first<N>()); }
  template <std::size_t N>
  auto last() const & requires detail::IsSpan<V> { return slice(V::template last<N>()); }
  // Line y of a matrix, plane z of a block, block t of a tensor.
  auto line(std::size_t y) const & requires requires(const V &v) { v.line(y); } { return slice(V::line(y)); }
  auto line(std::size_t y) && requires requires(const V &v) { v.line(y); } { return take(V::line(y)); }
  // Returns plane z of a block.
  auto plane(std::size_t z) const & requires requires(const V &v) { v.plane(z); } { return slice(V::plane(z)); }
  // Returns plane z of a block.
  auto plane(std::size_t z) && requires requires(const V &v) { v.plane(z); } { return take(V::plane(z)); }
  // Returns block t of a tensor.
  auto block(std::size_t t) const & requires requires(const V &v) { v.block(t); } { return slice(V::block(t)); }
  // Returns block t of a tensor.
  auto block(std::size_t t) && requires requires(const V &v) { v.block(t); } { return take(V::block(t)); }

 private:
  template <class W>
  Slice<W> slice(W part) const noexcept { return {part, hold_.watch()}; }
  template <class W>
  Held<W> take(W part) noexcept {
    Held<W> out(part, std::move(hold_));
    clear();
    return out;
  }
  void clear() noexcept { static_cast<V &>(*this) = V(); }
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
