// consort/future.hpp — Future<T>: the value that a task returns.
//
// Beside consort.hpp, which does not include it. returning(f) makes a codelet's function of one that returns a value, call() submits it:
//   const consort::Codelet total{"total", consort::cpu(consort::returning([](std::span<const double> x) { return sum_of(x); }))};
//   consort::Future<double> sum = consort::call(rt, total, consort::r(x));
//   sum.get();
// A Future is a move-only owner of its share of the value; any thread may wait, one thread at a time takes the value. The
// value is the host's: the function runs on the host, and a kernel has none.
#ifndef CONSORT_FUTURE_HPP
#define CONSORT_FUTURE_HPP
#include <consort/consort.hpp>

#include <atomic>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace consort::inline face {

namespace detail {

// The place of a value: half the task's, half the Future's.
template <class T>
struct Promised {
  std::optional<T> value;              // the body writes it, the Future reads it when the task has ended
  Done done;                           // the program's own callback
  std::atomic<uint32_t> shares{2};     // acq_rel in leave() pairs with itself

  void leave() noexcept {
    if (shares.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  static void ended(void *arg, const consort_outcome *outcome) {
    auto *p = static_cast<Promised *>(arg);
    if (p->done.fn()) p->done.fn()(p->done.arg(), outcome);
    p->leave();
  }
};
// The last argument of a function that returns a value: where it goes.
template <class T>
struct Slot {
  Promised<T> *to;
};

// The text of a task without a body that came after a failed one: the failed one's own.
inline std::string_view text_of_cause(const consort_outcome &outcome) noexcept {
  constexpr std::string_view because = "; because ";
  const std::string_view all = outcome.text;
  const std::size_t at = all.find(because);
  return at == all.npos ? all : all.substr(at + because.size());
}

template <class F, class R, class... P>
struct Returning {
  static_assert(!std::is_void_v<R> && !std::is_reference_v<R> && !std::is_same_v<R, consort_status>,
                "returning(): the function returns a value; one that returns nothing, or a consort_status, is a codelet's function as it is");
  F f;
  void operator()(P... p, Slot<R> slot) const { slot.to->value.emplace(f(static_cast<P>(p)...)); }
};
template <class F, class M>
struct ReturningOf {
  static_assert(sizeof(M) == 0, "returning(): the function has fixed parameter types and is const: workers call it at the same time");
};
template <class F, class R, class... P>
struct ReturningOf<F, R (F::*)(P...) const> {
  using type = Returning<F, R, P...>;
};
template <class F, class R, class... P>
struct ReturningOf<F, R (F::*)(P...) const noexcept> {
  using type = Returning<F, R, P...>;
};
template <class S>
struct ValueOf {
  using type = void;
};
template <class P>
inline constexpr bool is_slot = false;
template <class T>
inline constexpr bool is_slot<Slot<T>> = true;
template <class... P>
  requires(sizeof...(P) > 0)
struct ValueOf<void(P...)> {
  template <class T>
  static T value(Slot<T>);
  template <class T>
  static void value(T);
  using Last = typename ParamTable<void(P...)>::template At<sizeof...(P) - 1>;
  using type = typename std::conditional_t<is_slot<Last>, decltype(value(std::declval<std::conditional_t<is_slot<Last>, Last, int>>())), void>;
};

}  // namespace detail

// A codelet's function of one that returns a value of any type that moves.
template <class F>
auto returning(F f) {
  if constexpr (std::is_pointer_v<F>) {
    return []<class R, class... P>(R (*function)(P...)) {
      return detail::Returning<R (*)(P...), R, P...>{function};
    }(f);
  } else return typename detail::ReturningOf<F, decltype(&F::operator())>::type{std::move(f)};
}

// The value that a task returns.
template <class T>
class Future {
 public:
  Future() noexcept = default;
  Future(Future &&other) noexcept : task_(std::exchange(other.task_, Task())), place_(std::exchange(other.place_, nullptr)) {}
  Future &operator=(Future &&other) noexcept {
    if (this != &other) {
      leave();
      task_ = std::exchange(other.task_, Task());
      place_ = std::exchange(other.place_, nullptr);
    }
    return *this;
  }
  ~Future() { leave(); }  // Waits for nothing: the task runs on, and its value is dropped.

  // Waits for the task, and returns its value, once. Throws what made the task fail; Error (E_INVAL) where the value was taken before.
  T get() {
    if (!need().done() || !place_->value) wait();  // an ended task's value is there to be taken in a callback, too
    if (!place_->value) detail::raise(CONSORT_E_INVAL, "the value of this future was taken before, or the task has set none");
    T out = std::move(*place_->value);
    place_->value.reset();
    return out;
  }
  // Throws what made the task fail. Outside any task the waiting thread works meanwhile, unless `how` says not to.
  void wait(Flags<Wait> how = {}) const { need().wait(how); }
  // True: it ended well in time. False: time ran out. Throws what made it fail.
  bool wait_for(Timeout timeout, Flags<Wait> how = {}) const { return need().wait_for(timeout, how); }
  bool ready() const { return need().done(); }               // Whether the task has ended, well or not.
  bool valid() const noexcept { return place_ != nullptr; }  // Whether it is of a task.
  const Task &task() const noexcept { return task_; }        // The task: to come after it, or to cancel it.

 private:
  template <class U, class S, class... A>
  friend Future<U> call_for(Runtime &, Options, const Codelet<S> &, const A &...);
  Future(Task task, detail::Promised<T> *place) noexcept : task_(task), place_(place) {}
  const Task &need() const {
    if (!place_) [[unlikely]] detail::raise(CONSORT_E_INVAL, "this future is of no task: it was moved from, or never made by call()");
    return task_;
  }
  void leave() noexcept {
    if (place_) std::exchange(place_, nullptr)->leave();
  }
  Task task_;
  detail::Promised<T> *place_ = nullptr;
};

// Submits a task of the codelet and returns the future of its value.
template <class U, class S, class... A>
Future<U> call_for(Runtime &rt, Options options, const Codelet<S> &codelet, const A &...given) {
  if (options.repeat) detail::raise(CONSORT_E_INVAL, "call(): a task that returns a value runs once; submit() one that repeats");
  auto *place = new detail::Promised<U>;
  place->done = options.done;
  options.done = Done(detail::Promised<U>::ended, place);
  try {
    return {rt.submit(options, codelet, given..., detail::Slot<U>{place}), place};
  } catch (...) {
    delete place;
    throw;
  }
}
// Submits a task of a codelet whose function is returning(f): as Runtime::submit(). Not in a recording, which takes no callbacks.
template <class S, class... A>
auto call(Runtime &rt, const Options &options, const Codelet<S> &codelet, const A &...given) {
  using T = typename detail::ValueOf<S>::type;
  static_assert(!std::is_void_v<T>, "call() takes a codelet that returns a value: Codelet c{\"name\", cpu(returning(f))}; submit() takes any other");
  if constexpr (!std::is_void_v<T>) return call_for<T>(rt, options, codelet, given...);
}
template <class S, class... A>
auto call(Runtime &rt, const Codelet<S> &codelet, const A &...given) {
  return call(rt, Options{}, codelet, given...);
}
// Taken where nothing else fits: where an option in braces is misspelt, or its value is of another type.
detail::misspelt_option_see_consort_Options call(Runtime &rt, ...) CONSORT_NEVER_FITS;

}  // namespace consort::inline face
#endif
