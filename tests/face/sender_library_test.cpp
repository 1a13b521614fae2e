// The C++ face's senders with a library of senders, by CONSORT_EXECUTION: here a small one, with the names of P2300.
#include <algorithm>
#include <concepts>
#include <exception>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace library {  // sender_t and the like are its own; so is the way to the environment

struct sender_t {};
struct receiver_t {};
struct operation_state_t {};
template <class... Signatures>
struct completion_signatures {};
inline constexpr struct set_value_t {
  template <class R, class... V>
  void operator()(R &&r, V &&...v) const noexcept { std::forward<R>(r).set_value(std::forward<V>(v)...); }
} set_value{};
inline constexpr struct set_error_t {
  template <class R, class E>
  void operator()(R &&r, E &&e) const noexcept { std::forward<R>(r).set_error(std::forward<E>(e)); }
} set_error{};
inline constexpr struct set_stopped_t {
  template <class R>
  void operator()(R &&r) const noexcept { std::forward<R>(r).set_stopped(); }
} set_stopped{};
struct no_stop {
  template <class F>
  struct callback_type {
    callback_type(no_stop, F) {}
  };
  bool stop_requested() const noexcept { return false; }
};
struct env {};
inline constexpr struct get_env_t {
  template <class R>
  env operator()(const R &) const noexcept { return {}; }
} get_env{};
inline constexpr struct get_stop_token_t {
  no_stop operator()(env) const noexcept { return {}; }
} get_stop_token{};

template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_t> && std::move_constructible<std::remove_cvref_t<S>>;
template <class O>
concept operation_state = std::derived_from<typename O::operation_state_concept, operation_state_t> && requires(O &o) { { o.start() } noexcept; };

// The one value of a sender, of its signatures.
template <class Signatures>
struct value_of;
template <class V, class... Other>
struct value_of<completion_signatures<set_value_t(V), Other...>> {
  using type = V;
};

template <class F, class R>
struct then_receiver {
  using receiver_concept = receiver_t;
  F f;
  R next;
  template <class V>
  void set_value(V &&v) && noexcept { library::set_value(std::move(next), f(std::forward<V>(v))); }
  void set_error(std::exception_ptr e) && noexcept { library::set_error(std::move(next), std::move(e)); }
  void set_stopped() && noexcept { library::set_stopped(std::move(next)); }
};
template <sender S, class F>
struct then_sender {
  using sender_concept = sender_t;
  using completion_signatures = library::completion_signatures<
      set_value_t(std::invoke_result_t<F, typename value_of<typename S::completion_signatures>::type>), set_error_t(std::exception_ptr), set_stopped_t()>;
  S s;
  F f;
  template <class R>
  auto connect(R r) && { return std::move(s).connect(then_receiver<F, R>{f, std::move(r)}); }
};
template <sender S, class F>
auto then(S s, F f) { return then_sender<S, F>{std::move(s), std::move(f)}; }

template <class T>
struct wait_state {
  std::optional<T> value;
  std::exception_ptr error;
  std::binary_semaphore over{0};
};
template <class T>
struct wait_receiver {
  using receiver_concept = receiver_t;
  wait_state<T> *state;
  void set_value(T v) && noexcept { state->value.emplace(std::move(v)), state->over.release(); }
  void set_error(std::exception_ptr e) && noexcept { state->error = std::move(e), state->over.release(); }
  void set_stopped() && noexcept { state->over.release(); }
};
template <sender S>
auto sync_wait(S s) {
  using T = typename value_of<typename S::completion_signatures>::type;
  wait_state<T> state;
  operation_state auto op = std::move(s).connect(wait_receiver<T>{&state});
  op.start();
  state.over.acquire();
  if (state.error) std::rethrow_exception(state.error);
  return state.value;
}

}  // namespace library

#define CONSORT_EXECUTION ::library
#include <consort/consort.hpp>
#include <consort/sender.hpp>

#include <numeric>

#include "api/harness.hpp"

namespace {

const consort::Codelet total{"total", consort::cpu(consort::returning([](std::span<const int> x) {
                               if (x.empty()) throw std::domain_error("nothing to add");
                               return std::accumulate(x.begin(), x.end(), 0L);
                             }))};

TEST(FaceSenderLibrary, TakesItsNamesAndItsAdaptors) {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  std::vector<int> v(100, 2);
  auto x = rt.vector(v);
  auto sum = consort::sender(rt, total, consort::r(x));
  static_assert(library::sender<decltype(sum)>);
  static_assert(std::is_same_v<decltype(sum)::completion_signatures,
                               library::completion_signatures<library::set_value_t(long), library::set_error_t(std::exception_ptr), library::set_stopped_t()>>);
  EXPECT_EQ(library::sync_wait(sum), 200);
  const std::optional<std::string> words = library::sync_wait(library::then(sum, [](long n) { return std::to_string(n + 1); }));
  EXPECT_EQ(words, "201");
}

TEST(FaceSenderLibrary, PassesTheErrorOn) {
  consort::Runtime rt{{"workers", "2"}, {"drivers", "cpu"}};
  const consort::Codelet bad{"bad", consort::cpu(consort::returning([](int n) -> long { throw std::domain_error(std::to_string(n)); }))};
  int called = 0;
  EXPECT_THROW(library::sync_wait(library::then(consort::sender(rt, bad, 7), [&](long n) { return ++called, n; })), consort::Error);
  EXPECT_EQ(called, 0) << "then() is passed over";
  EXPECT_THROW(rt.wait(), consort::Error);
}

}  // namespace
