// loop.hpp — an event loop for one thread, and what a coroutine on it may co_await: the end of a task, the end of a
// group. Other threads (the runtime's, in a completion callback) only post; every coroutine runs on the loop's thread,
// between two sleeps. Nothing here polls.
#pragma once
#include <consort/consort.hpp>

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <exception>
#include <mutex>
#include <string>

class Loop {
 public:
  // Something that wants the loop's thread. Posted twice before its turn, it gets one.
  class Event {
   public:
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;

   protected:
    explicit Event(Loop &loop) : loop_(loop) {}
    ~Event() { loop_.forget(this); }
    void post() { loop_.post(this); }  // [any thread]
    virtual void happen() = 0;         // on the loop's thread

   private:
    friend class Loop;
    Loop &loop_;
    Event *next_ = nullptr;
    bool queued_ = false;
  };

  // A coroutine that begins at once and belongs to the loop that is its first argument.
  struct Flow {
    struct promise_type {
      template <class... Rest>
      explicit promise_type(Loop &owner, Rest &&...) : loop(owner) {
        ++loop.flows_;
      }
      ~promise_type() { --loop.flows_; }
      Flow get_return_object() noexcept { return {}; }
      std::suspend_never initial_suspend() noexcept { return {}; }
      std::suspend_never final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept {
        if (!loop.thrown_) loop.thrown_ = std::current_exception();
      }
      Loop &loop;
    };
  };

  // Until no coroutine is left. Throws the first exception that one of them let out.
  void run() {
    while (flows_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return first_ != nullptr; });
      Event *event = first_;
      first_ = event->next_;
      if (!first_) last_ = &first_;
      event->queued_ = false;
      lock.unlock();
      ++turns_;
      event->happen();
    }
    if (thrown_) std::rethrow_exception(thrown_);
  }
  std::size_t turns() const { return turns_; }

 private:
  void post(Event *event) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(event->queued_, true)) return;
    event->next_ = nullptr;
    *last_ = event;
    last_ = &event->next_;
    changed_.notify_one();
  }
  void forget(Event *event) {
    const std::lock_guard lock(mutex_);
    if (!event->queued_) return;
    Event **place = &first_;
    while (*place != event) place = &(*place)->next_;
    if (!(*place = event->next_)) last_ = place;
  }

  std::mutex mutex_;  // guards the queue
  std::condition_variable changed_;
  Event *first_ = nullptr, **last_ = &first_;
  std::size_t flows_ = 0, turns_ = 0;  // the loop's thread alone
  std::exception_ptr thrown_;
};

// co_await ended(loop, [&](consort::Done done) { rt.submit({.done = done}, …); }): submits, and goes on when that task
// has ended. Throws what made it fail.
template <class Submit>
class Ended final : Loop::Event {
 public:
  Ended(Loop &loop, Submit submit) : Event(loop), submit_(std::move(submit)) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> flow) {
    flow_ = flow;
    submit_(consort::Done(*this));
  }
  void await_resume() const {
    if (status_ < 0) throw consort::Error(status_, text_.c_str());
  }
  void operator()(
      const consort_outcome &outcome) {  // the completion callback, on whichever thread; its strings are lent
    status_ = outcome.status;
    text_ = outcome.text ? outcome.text : "";
    post();
  }

 private:
  void happen() override { flow_.resume(); }
  Submit submit_;
  std::coroutine_handle<> flow_;
  consort_status status_ = CONSORT_OK;
  std::string text_;
};
template <class Submit>
Ended<Submit> ended(Loop &loop, Submit submit) {
  return {loop, std::move(submit)};
}

// A group that can be awaited: co_await batch goes on when nothing of it is pending, and throws its first failure.
class Batch final : Loop::Event {
 public:
  Batch(Loop &loop, consort::Runtime &rt, const char *name)
      : Event(loop),
        group_(rt.group(
            name, [](void *batch, consort_group_id) { static_cast<Batch *>(batch)->post(); }, this)) {}
  const consort::Group &group() const { return group_; }

  bool await_ready() { return is_over(); }
  void await_suspend(std::coroutine_handle<> flow) noexcept { flow_ = flow; }
  void await_resume() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  bool is_over() noexcept {
    try {
      return group_.wait_for(std::chrono::seconds(0));  // asks, does not wait
    } catch (...) {
      failure_ = std::current_exception();
      return true;
    }
  }
  void happen() override {  // the news may be old: of a moment between two of its submissions
    if (flow_ && is_over()) std::exchange(flow_, nullptr).resume();
  }
  std::coroutine_handle<> flow_;
  std::exception_ptr failure_;
  consort::Group group_;  // goes first: then no callback comes any more
};
