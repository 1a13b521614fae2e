// consort/cpp/task.hpp — Task and Group, and what options name: a group, predecessors, a callback.
//
// Part of consort.hpp; include that. A Task is a cheap value, good from any thread while its runtime lives; a
// Group is a move-only owner.
#ifndef CONSORT_CPP_TASK_HPP
#define CONSORT_CPP_TASK_HPP
#include <consort/cpp/error.hpp>
#include <consort/cpp/failure.hpp>
#include <consort/cpp/flags.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <type_traits>

namespace consort::inline face {

// True: it ended well in time. False: time ran out. Anything else is thrown.
namespace detail {
inline bool in_time(consort_status status) {
  if (status == CONSORT_E_TIMEOUT) return false;
  check(status);
  return true;
}
}  // namespace detail

// One submitted task. Copies name the same task; a default one names none.
class Task {
 public:
  Task() noexcept = default;
  // Of a task that was submitted through the C API.
  Task(consort_runtime *rt, consort_task_id id) noexcept : rt_(rt), id_(id) {}

  consort_task_id id() const noexcept { return id_; }  // The handle, for the C API.
  consort_runtime *c() const noexcept { return rt_; }  // Its runtime, for the C API; null: of no task.
  // Throws what made the task fail. Outside any task the waiting thread works meanwhile, unless `how` says not to.
  void wait(Flags<Wait> how = {}) const { detail::check(consort_task_wait(rt_, id_, CONSORT_FOREVER, how.bits())); }
  // True: it ended well in time. False: time ran out. Throws what made it fail.
  bool wait_for(Timeout timeout, Flags<Wait> how = {}) const {
    return detail::in_time(consort_task_wait(rt_, id_, timeout.ns(), how.bits()));
  }
  // Whether it has ended, well or not.
  bool done() const { return detail::check(consort_task_state(rt_, id_)) == CONSORT_OK; }
  // If it has not started it will not: it ends with E_CANCELLED and poisons what it would have written.
  void cancel() const { detail::check(consort_task_cancel(rt_, id_)); }
  // One more reason not to end, for a task that is not over: what comes after it waits for release_end().
  void hold_end() const { detail::check(consort_task_end_hold(rt_, id_)); }
  // One reason less not to end. Throws Error (E_INVAL) where nothing holds it.
  void release_end() const { detail::check(consort_task_end_release(rt_, id_)); }
  // No turn after the one that runs or waits. For a task with the option `repeat`.
  void stop_repeating() const { detail::check(consort_task_stop_repeating(rt_, id_)); }
  explicit operator bool() const noexcept { return id_.v != 0; }  // Whether it names a task.

 private:
  consort_runtime *rt_ = nullptr;
  consort_task_id id_{};
};

// Tasks that are waited for together. Its destructor waits for them. A failure that no wait has told stays untold there:
// Runtime::stop() throws it.
class Group {
 public:
  Group() noexcept = default;
  Group(const detail::Ref &control, consort_group_id id) noexcept : control_(control), id_(id) {}
  Group(Group &&other) noexcept
      : control_(std::move(other.control_)), id_(std::exchange(other.id_, consort_group_id{})) {}
  Group &operator=(Group &&other) noexcept {
    if (this != &other) {
      end();
      control_ = std::move(other.control_);
      id_ = std::exchange(other.id_, consort_group_id{});
    }
    return *this;
  }
  ~Group() { end(); }

  consort_group_id id() const noexcept { return id_; }  // The handle, for the C API.
  // Throws the first failure since the last wait, which this collects.
  void wait(Flags<Wait> how = {}) { detail::check(consort_group_wait(control_.need(), id_, CONSORT_FOREVER, how.bits())); }
  // True: its tasks have ended well in time. False: time ran out. Throws the first failure.
  bool wait_for(Timeout timeout, Flags<Wait> how = {}) {
    return detail::in_time(consort_group_wait(control_.need(), id_, timeout.ns(), how.bits()));
  }
  // Cancels its pending tasks; later submissions run.
  void cancel() { detail::check(consort_group_cancel(control_.need(), id_)); }
  // Readable when nothing is pending; the group owns it. For event loops.
  int fd() {
    int fd = -1;
    detail::check(consort_group_fd(control_.need(), id_, &fd));
    return fd;
  }
  // What its last wait threw, with the numbers of the task and the worker; false: nothing.
  Failure last_failure() const { return detail::last_failure(control_.need(), id_); }
  // Older form of last_failure().
  [[deprecated("ask last_failure(), which is a value")]] consort_failure failure() const {
    consort_failure f{};
    f.size = sizeof f;
    detail::check(consort_group_failure(control_.need(), id_, &f));
    return f;
  }

 private:
  void end() noexcept {
    consort_runtime *rt = control_.live();
    if (id_.v && rt) {
      // Where a thread must not wait (inside a function on a device), what has not begun does not run.
      if (consort_group_wait(rt, id_, CONSORT_FOREVER, CONSORT_WAIT_KEEP_FAILURE) == CONSORT_E_BUSY) consort_group_cancel(rt, id_);
      consort_group_destroy(rt, id_);
    }
    id_ = {};
  }
  detail::Ref control_;
  consort_group_id id_{};
};

// Which group a task belongs to. None: inside a task the task's own, else the runtime's default group.
class InGroup {
 public:
  InGroup() noexcept = default;
  InGroup(const Group &group) noexcept : id_(group.id()) {}  // That group.
  InGroup(consort_group_id id) noexcept : id_(id) {}
  consort_group_id id() const noexcept { return id_; }  // The handle; null: as above.

 private:
  consort_group_id id_{};
};

// Explicit predecessors: a few tasks, copied, or an array of ids that the caller keeps until submit returns.
class After {
 public:
  static constexpr std::size_t kMost = 8;
  After() noexcept = default;
  After(const Task &task) noexcept : n_(1) { few_[0] = task.id(); }  // After one task, up to eight, or an array of ids.
  After(std::initializer_list<Task> tasks) {
    if (tasks.size() > kMost)
      detail::raise(CONSORT_E_INVAL, "after = {…} takes 8 tasks; give more as a span of their ids");
    for (const Task &t : tasks) few_[n_++] = t.id();
  }
  After(std::span<const consort_task_id> many) noexcept : many_(many.data()), n_(static_cast<uint32_t>(many.size())) {}
  const consort_task_id *data() const noexcept { return many_ ? many_ : few_; }  // The ids.
  uint32_t size() const noexcept { return n_; }  // How many.

 private:
  const consort_task_id *many_ = nullptr;
  uint32_t n_ = 0;
  consort_task_id few_[kMost];
};

// Called when the task has ended, on the thread that ended it: f(const consort_outcome&) or f(). It may submit, it
// must neither wait nor throw (what it throws is lost). A callable that is trivially copyable and no larger
// than a pointer is copied; any other is referred to and must outlive the task: an lvalue.
class Done {
 public:
  Done() noexcept = default;
  // A function of C with its argument, or a callable.
  Done(consort_done_fn *fn, void *arg = nullptr) noexcept : fn_(fn), arg_(arg) {}
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Done> && !std::is_convertible_v<F, consort_done_fn *> &&
             (std::is_invocable_v<F &, const consort_outcome &> || std::is_invocable_v<F &>))
  Done(F &&f) noexcept {
    using Plain = std::remove_cvref_t<F>;
    if constexpr (std::is_trivially_copyable_v<Plain> && sizeof(Plain) <= sizeof(void *)) {
      ::new (static_cast<void *>(&arg_)) Plain(f);
      fn_ = [](void *arg, const consort_outcome *o) { call(*reinterpret_cast<Plain *>(&arg), *o); };
    } else {
      static_assert(
          std::is_lvalue_reference_v<F>,
          "a callable that does not fit into a pointer is referred to: give an lvalue that outlives the task");
      arg_ = const_cast<void *>(static_cast<const void *>(std::addressof(f)));
      fn_ = [](void *arg, const consort_outcome *o) { call(*static_cast<std::remove_reference_t<F> *>(arg), *o); };
    }
  }
  consort_done_fn *fn() const noexcept { return fn_; }  // What the C API is given as `done`.
  void *arg() const noexcept { return arg_; }  // What the C API is given as `done_arg`.

 private:
  template <class F>
  static void call(F &f, const consort_outcome &outcome) noexcept {
    try {
      if constexpr (std::is_invocable_v<F &, const consort_outcome &>) f(outcome);
      else f();
    } catch (...) {
    }
  }
  consort_done_fn *fn_ = nullptr;
  void *arg_ = nullptr;
};

}  // namespace consort::inline face
#endif
