// consort/coroutine.hpp — co_await task: a coroutine that goes on when a task has ended.
//
// Beside consort.hpp, which does not include it. `co_await task` throws what made the task fail; `co_await future` returns the value.
// The coroutine goes on, on the thread that ended the task, a worker's or a waiting one, as a completion callback does: it may submit,
// it must not wait, and while it runs that worker runs nothing else. A failure that is thrown there has the status E_POISONED, and
// the text and the chain of the task. co_await on(executor, task) goes on where executor.post(handle)
// resumes the handle. A task that has ended already does not suspend. Each suspension submits one task without a body, to the group
// that a task submitted there would belong to.
#ifndef CONSORT_COROUTINE_HPP
#define CONSORT_COROUTINE_HPP
#include <consort/future.hpp>

#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace consort::inline face {

namespace detail {

// Suspends until a task has ended. Executor void: goes on there and then.
template <class Executor>
class TaskAwaiter {
 public:
  TaskAwaiter(Task task, Executor *executor) noexcept : task_(task), executor_(executor) {}
  // A callback may not query the outcome of a task, not even of an ended one, so the coroutine suspends.
  bool await_ready() const { return !is_inside() && task_.done(); }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    const consort_task_id after = task_.id();
    consort_task_desc d = CONSORT_TASK_INIT;
    d.name = "co_await";
    d.after = &after;
    d.nafter = 1;
    d.done_arg = this;  // in the coroutine's frame, which lives until it goes on
    d.done = [](void *arg, const consort_outcome *outcome) noexcept {
      auto &self = *static_cast<TaskAwaiter *>(arg);
      self.keep(*outcome);
      const std::coroutine_handle<> go = self.handle_;
      if constexpr (std::is_void_v<Executor>) go.resume();
      else self.executor_->post(go);
    };
    check(consort_submit(task_.c(), &d, nullptr));  // nothing of *this is touched from here on: the coroutine may be over
  }
  void await_resume() const {
    if (suspended_ && status_ >= 0) return;
    if (!is_inside()) {
      if (!task_.wait_for(At{})) raise(CONSORT_E_INTERNAL, "a task that has ended is said to run");
    } else raise(status_, text_.c_str());
  }

 private:
  struct At {  // a timeout of nothing, without <chrono>
    struct period {
      static constexpr int num = 1, den = 1;
    };
    constexpr int count() const noexcept { return 0; }
  };
  bool is_inside() const noexcept { return consort_current_task(task_.c()).v != 0; }  // a task's body or callback
  void keep(const consort_outcome &outcome) noexcept {
    suspended_ = true;
    status_ = outcome.status;
    if (status_ < 0) try {
        text_ = text_of_cause(outcome);
      } catch (...) {  // no memory: the status alone
      }
  }
  Task task_;
  Executor *executor_;
  std::coroutine_handle<> handle_;
  bool suspended_ = false;
  consort_status status_ = CONSORT_OK;
  std::string text_;
};
template <class T, class Executor>
class FutureAwaiter : public TaskAwaiter<Executor> {
 public:
  FutureAwaiter(Future<T> &&future, Executor *executor) noexcept
      : TaskAwaiter<Executor>(future.task(), executor), future_(std::move(future)) {}
  T await_resume() {
    TaskAwaiter<Executor>::await_resume();
    return future_.get();
  }

 private:
  Future<T> future_;
};

}  // namespace detail

// Awaits the end of the task.
inline auto operator co_await(const Task &task) noexcept { return detail::TaskAwaiter<void>(task, nullptr); }
// Awaits the end of the task.
template <class T>
auto operator co_await(Future<T> &&future) noexcept { return detail::FutureAwaiter<T, void>(std::move(future), nullptr); }
// Awaits the end of the task.
template <class T>
auto operator co_await(Future<T> &future) noexcept { return detail::FutureAwaiter<T, void>(std::move(future), nullptr); }
// Goes on where executor.post(std::coroutine_handle<>) resumes it. The executor outlives the wait.
template <class Executor>
auto on(Executor &executor, const Task &task) noexcept { return detail::TaskAwaiter<Executor>(task, &executor); }
template <class Executor, class T>
auto on(Executor &executor, Future<T> future) noexcept { return detail::FutureAwaiter<T, Executor>(std::move(future), &executor); }

template <class T>
class Flow;
namespace detail {

// How a Flow ended: half the coroutine's, half the Flow's.
struct FlowEnd {
  std::exception_ptr failure;
  std::atomic<uint32_t> over{0};  // release in end() pairs with acquire in wait() and done(): what the coroutine wrote is seen
  void end() noexcept {
    over.store(1, std::memory_order_release);
    over.notify_all();
  }
  void wait() const noexcept {
    while (!over.load(std::memory_order_acquire)) over.wait(0, std::memory_order_acquire);
  }
};
template <class T>
struct FlowState : FlowEnd {
  std::optional<T> value;
};
template <>
struct FlowState<void> : FlowEnd {};

template <class T>
struct FlowPromiseBase {
  std::shared_ptr<FlowState<T>> state = std::make_shared<FlowState<T>>();
  std::suspend_never initial_suspend() const noexcept { return {}; }
  struct Last {
    bool await_ready() const noexcept { return false; }
    template <class P>
    void await_suspend(std::coroutine_handle<P> handle) const noexcept {
      const auto state = handle.promise().state;
      handle.destroy();  // the frame's objects end first: a Flow that is over holds nothing
      state->end();
    }
    void await_resume() const noexcept {}
  };
  Last final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { state->failure = std::current_exception(); }
};
template <class T>
struct FlowPromise : FlowPromiseBase<T> {
  Flow<T> get_return_object() noexcept;
  template <class U>
  void return_value(U &&value) { this->state->value.emplace(std::forward<U>(value)); }
};
template <>
struct FlowPromise<void> : FlowPromiseBase<void> {
  Flow<void> get_return_object() noexcept;
  void return_void() const noexcept {}
};

}  // namespace detail

// A coroutine that begins where it is called, and that a thread may wait for: Flow<double> f(Runtime &rt) { … co_await task; … }.
template <class T = void>
class [[nodiscard]] Flow {
 public:
  using promise_type = detail::FlowPromise<T>;
  explicit Flow(std::shared_ptr<detail::FlowState<T>> state) noexcept : state_(std::move(state)) {}

  bool done() const noexcept { return state_->over.load(std::memory_order_acquire) != 0; }  // Whether it has ended, well or not.
  // Waits until it has ended, and returns its value, once; throws what it threw. The thread sleeps and runs no task meanwhile:
  // outside any task only, in a runtime with threads.
  T get() {
    state_->wait();
    if (state_->failure) std::rethrow_exception(state_->failure);
    if constexpr (!std::is_void_v<T>) return std::move(*state_->value);
  }

 private:
  std::shared_ptr<detail::FlowState<T>> state_;
};
namespace detail {
template <class T>
Flow<T> FlowPromise<T>::get_return_object() noexcept { return Flow<T>(this->state); }
inline Flow<void> FlowPromise<void>::get_return_object() noexcept { return Flow<void>(state); }
}  // namespace detail

}  // namespace consort::inline face
#endif
