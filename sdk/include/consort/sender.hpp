// consort/sender.hpp — sender(): a task in the shape of the senders of P2300 (std::execution).
//
// Beside consort.hpp, which does not include it. sender(rt, codelet, …) is given what submit() is given; start() submits the task:
//   auto s = consort::sender(rt, total, consort::r(x));      // nothing is submitted yet
//   auto op = s.connect(receiver);                           // the receiver is any of P2300: set_value, set_error, set_stopped
//   op.start();
// set_value(v) has what the function returns, where it is returning(f), else nothing; set_error has an Error as std::exception_ptr;
// set_stopped tells that the task was cancelled. A stop that the receiver's token requests cancels the task. sender(task) completes
// when a task that is submitted already has ended; a stop there ends the wait, and the task runs on.
// The completion comes on the thread that ended the task, as a callback does: it may submit, it must not wait. A task that has ended
// before start() returns is completed by start().
//
// Nothing but the C++ library is needed. For a library of senders that has the names of P2300, include it before this header and
// define CONSORT_EXECUTION as its namespace, the same in all files of a program. The names are sender_t, operation_state_t,
// set_value_t, set_error_t, set_stopped_t, completion_signatures, get_env and get_stop_token; else those of consort::execution.
#ifndef CONSORT_SENDER_HPP
#define CONSORT_SENDER_HPP
#include <consort/future.hpp>

#include <atomic>
#include <exception>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#ifndef CONSORT_EXECUTION
#define CONSORT_EXECUTION ::consort::execution
#endif

namespace consort::inline face {

// The names of P2300 that sender() needs, where no library has them.
namespace execution {

struct sender_t {};           // what a sender's sender_concept names
struct receiver_t {};         // what a receiver's receiver_concept names
struct operation_state_t {};  // what an operation's operation_state_concept names
struct set_value_t {};        // in signatures: the completion with a value
struct set_error_t {};        // in signatures: the completion with an error
struct set_stopped_t {};      // in signatures: the completion of what was stopped
// The completions of a sender: set_value_t(T), set_error_t(E), set_stopped_t().
template <class... Signatures>
struct completion_signatures {};

// The token of a receiver that asks for no stop.
struct never_stop_token {
  // The registration of a callback, which is never called.
  template <class F>
  struct callback_type {
    // Drops the callback.
    explicit callback_type(never_stop_token, F) noexcept {}
  };
  // Whether a stop was asked for: always false.
  static constexpr bool stop_requested() noexcept { return false; }
  // Whether a stop can still be asked for: always false.
  static constexpr bool stop_possible() noexcept { return false; }
};
// What a receiver without get_env() has.
struct empty_env {};
// get_env(receiver): its environment.
inline constexpr struct get_env_t {
  // Returns receiver.get_env(), or an empty_env where the receiver has no such function.
  template <class R>
  auto operator()(const R &receiver) const noexcept {
    if constexpr (requires { receiver.get_env(); }) return receiver.get_env();
    else return empty_env{};
  }
} get_env{};
// get_stop_token(environment): what its query(get_stop_token) answers.
inline constexpr struct get_stop_token_t {
  // Returns env.query(get_stop_token), or a never_stop_token where the environment answers no such query.
  template <class E>
  auto operator()(const E &env) const noexcept {
    if constexpr (requires { env.query(*this); }) return env.query(*this);
    else return never_stop_token{};
  }
} get_stop_token{};

}  // namespace execution

namespace detail {

template <class Token, class F>
struct StopCallback {
  using type = typename Token::template callback_type<F>;
};
template <class F>
struct StopCallback<std::stop_token, F> {
  using type = std::stop_callback<F>;
};

template <class T>
struct Completions {
  using type = CONSORT_EXECUTION::completion_signatures<CONSORT_EXECUTION::set_value_t(T), CONSORT_EXECUTION::set_error_t(std::exception_ptr),
                                                        CONSORT_EXECUTION::set_stopped_t()>;
};
template <>
struct Completions<void> {
  using type = CONSORT_EXECUTION::completion_signatures<CONSORT_EXECUTION::set_value_t(), CONSORT_EXECUTION::set_error_t(std::exception_ptr),
                                                        CONSORT_EXECUTION::set_stopped_t()>;
};
template <class R, class... T>
concept TakesValue = requires(R &&receiver, T &&...value) { std::move(receiver).set_value(std::move(value)...); };
template <class R>
concept TakesError = requires(R &&receiver, std::exception_ptr error) { std::move(receiver).set_error(std::move(error)); };
template <class R>
concept TakesStop = requires(R &&receiver) { std::move(receiver).set_stopped(); };

struct NoPlace {};
template <class T>
using PlaceOf = std::conditional_t<std::is_void_v<T>, NoPlace, Promised<std::conditional_t<std::is_void_v<T>, int, T>>>;

// A connected task. It stays where it is until the receiver has been called, and is not touched from there on.
template <class T, class Submit, class Receiver>
class TaskOperation {
 public:
  using operation_state_concept = CONSORT_EXECUTION::operation_state_t;
  TaskOperation(Submit submit, Receiver receiver) : submit_(std::move(submit)), receiver_(std::move(receiver)) {}
  TaskOperation(TaskOperation &&) = delete;

  void start() & noexcept {
    const auto token = CONSORT_EXECUTION::get_stop_token(CONSORT_EXECUTION::get_env(receiver_));
    if (token.stop_requested()) return std::move(receiver_).set_stopped();
    Task task;
    try {
      task = submit_(Done(ended, this), place_);
    } catch (...) {
      return std::move(receiver_).set_error(std::current_exception());
    }
    stop_.emplace(token, Cancel{task});
    arrive();
  }

 private:
  struct Cancel {
    Task task;
    void operator()() const noexcept { consort_task_cancel(task.c(), task.id()); }  // one that has ended stays so
  };
  using Token = std::remove_cvref_t<decltype(CONSORT_EXECUTION::get_stop_token(CONSORT_EXECUTION::get_env(std::declval<Receiver &>())))>;

  static void ended(void *arg, const consort_outcome *outcome) noexcept {
    auto &self = *static_cast<TaskOperation *>(arg);
    if (const Done &own = self.submit_.own_done(); own.fn()) own.fn()(own.arg(), outcome);
    self.status_ = outcome->status;
    if (self.status_ < 0 && self.status_ != CONSORT_E_CANCELLED) try {
        self.error_ = std::make_exception_ptr(Error(self.status_, Submit::text(*outcome).c_str()));
      } catch (...) {  // no memory
        self.error_ = std::current_exception();
      }
    self.arrive();
  }
  // The task's end and start() both come here; the second completes.
  void arrive() noexcept {
    if (expected_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete();
  }
  void complete() noexcept {
    stop_.reset();
    if (status_ == CONSORT_E_CANCELLED) std::move(receiver_).set_stopped();
    else if (error_) std::move(receiver_).set_error(std::move(error_));
    else if constexpr (std::is_void_v<T>) std::move(receiver_).set_value();
    else give_value();
  }
  void give_value() noexcept {
    std::optional<T> value;
    try {
      value.emplace(std::move(*place_.value));
    } catch (...) {
      return std::move(receiver_).set_error(std::current_exception());
    }
    std::move(receiver_).set_value(std::move(*value));
  }

  Submit submit_;
  Receiver receiver_;
  PlaceOf<T> place_;
  std::optional<typename StopCallback<Token, Cancel>::type> stop_;
  consort_status status_ = CONSORT_OK;
  std::exception_ptr error_;
  std::atomic<uint32_t> expected_{2};  // acq_rel in arrive() pairs with itself: the second sees what the first wrote
};

// Submits a task of a codelet.
template <class T, class S, class... A>
struct SubmitTask {
  Runtime *rt;
  Options options;
  const Codelet<S> *codelet;
  std::tuple<A...> given;

  const Done &own_done() const noexcept { return options.done; }
  static std::string text(const consort_outcome &outcome) { return outcome.text; }
  Task operator()(Done done, PlaceOf<T> &place) const {
    Options all = options;
    all.done = done;
    return std::apply(
        [&](const A &...args) {
          if constexpr (std::is_void_v<T>) return rt->submit(all, *codelet, args...);
          else return rt->submit(all, *codelet, args..., Slot<T>{&place});
        },
        given);
  }
};
// Submits a task without a body that comes after another.
struct SubmitAfter {
  Task task;
  Done none;

  const Done &own_done() const noexcept { return none; }
  static std::string text(const consort_outcome &outcome) { return std::string(text_of_cause(outcome)); }
  Task operator()(Done done, NoPlace &) const {
    const consort_task_id after = task.id();
    consort_task_desc d = CONSORT_TASK_INIT;
    d.name = "sender";
    d.after = &after;
    d.nafter = 1;
    d.done = done.fn();
    d.done_arg = done.arg();
    consort_task_id id{};
    check(consort_submit(task.c(), &d, &id));
    return {task.c(), id};
  }
};

}  // namespace detail

// What sender() returns: a task that is submitted when its operation is started, once for each connect().
template <class T, class Submit>
class [[nodiscard]] TaskSender {
 public:
  using sender_concept = CONSORT_EXECUTION::sender_t;
  using completion_signatures = typename detail::Completions<T>::type;
  // Keeps the function that submits the task; sender() calls this.
  explicit TaskSender(Submit submit) : submit_(std::move(submit)) {}

  // Returns the operation. It neither moves nor ends between start() and the completion.
  template <class Receiver>
  auto connect(Receiver receiver) const {
    constexpr bool takes_value = [] {
      if constexpr (std::is_void_v<T>) return detail::TakesValue<Receiver>;
      else return detail::TakesValue<Receiver, T>;
    }();
    static_assert(takes_value, "connect(): the receiver has no set_value() for what the task returns: set_value(T) for returning(f), else set_value()");
    static_assert(detail::TakesError<Receiver>, "connect(): the receiver has no set_error(std::exception_ptr): a task may fail");
    static_assert(detail::TakesStop<Receiver>, "connect(): the receiver has no set_stopped(): a task may be cancelled");
    return detail::TaskOperation<T, Submit, Receiver>(submit_, std::move(receiver));
  }

 private:
  Submit submit_;
};

// A task of the codelet, with what submit() takes. Runtime, codelet, data and what the options refer to stay until it is started.
template <class S, class... A>
auto sender(Runtime &rt, const Options &options, const Codelet<S> &codelet, const A &...given) {
  using T = typename detail::ValueOf<S>::type;
  if (options.repeat) detail::raise(CONSORT_E_INVAL, "sender(): a sender completes once; submit() a task that repeats");
  using Submit = detail::SubmitTask<T, S, A...>;
  return TaskSender<T, Submit>(Submit{&rt, options, &codelet, std::tuple<A...>(given...)});
}
template <class S, class... A>
auto sender(Runtime &rt, const Codelet<S> &codelet, const A &...given) {
  return sender(rt, Options{}, codelet, given...);
}
// Taken where nothing else fits: where an option in braces is misspelt, or its value is of another type.
detail::misspelt_option_see_consort_Options sender(Runtime &rt, ...) CONSORT_NEVER_FITS;
// The codelet would be gone when the task is submitted.
template <class S, class... A>
auto sender(Runtime &rt, const Options &options, const Codelet<S> &&codelet, const A &...given) = delete;
template <class S, class... A>
auto sender(Runtime &rt, const Codelet<S> &&codelet, const A &...given) = delete;
// The end of a task that is submitted.
inline auto sender(const Task &task) { return TaskSender<void, detail::SubmitAfter>(detail::SubmitAfter{task, {}}); }

}  // namespace consort::inline face
#endif
