// The C++ face's senders: sender() of codelets and of tasks, with receivers of no library.
#include <consort/sender.hpp>

#include <semaphore>
#include <stop_token>

#include "face/functions.hpp"

using consort::r, consort::returning, consort::rw, consort::sender;
namespace execution = consort::execution;

namespace {

struct FaceSender : FaceOfValues {};

// What a receiver was told, and how often.
template <class T>
struct Told {
  std::counting_semaphore<> calls{0};
  std::optional<T> value;
  std::exception_ptr error;
  bool stopped = false;
  std::stop_source stop;

  void wait() {
    calls.acquire();
    EXPECT_FALSE(calls.try_acquire()) << "completed twice";
  }
  std::string failure() {
    wait();
    try {
      if (error) std::rethrow_exception(error);
    } catch (const consort::Error &e) {
      return e.what();
    }
    return "no failure";
  }
};
struct Env {
  std::stop_token token;
  std::stop_token query(execution::get_stop_token_t) const noexcept { return token; }
};
template <class T>
struct Receiver {
  using receiver_concept = execution::receiver_t;
  Told<T> *told;
  Env get_env() const noexcept { return {told->stop.get_token()}; }
  void set_value(T value) && noexcept { told->value.emplace(std::move(value)), told->calls.release(); }
  void set_error(std::exception_ptr e) && noexcept { told->error = e, told->calls.release(); }
  void set_stopped() && noexcept { told->stopped = true, told->calls.release(); }
};
// Without an environment: asks for no stop.
struct Plain {
  using receiver_concept = execution::receiver_t;
  Told<int> *told;
  void set_value() && noexcept { told->value = 1, told->calls.release(); }
  void set_error(std::exception_ptr e) && noexcept { told->error = e, told->calls.release(); }
  void set_stopped() && noexcept { told->stopped = true, told->calls.release(); }
};

// By the names of P2300: a sender, its completions, an operation that neither moves nor is copied.
template <class S, class... Signature>
concept SenderOf = std::is_same_v<typename S::sender_concept, execution::sender_t> && std::is_move_constructible_v<S> &&
                   std::is_same_v<typename S::completion_signatures, execution::completion_signatures<Signature...>>;
template <class O>
concept Operation = std::is_same_v<typename O::operation_state_concept, execution::operation_state_t> && !std::is_move_constructible_v<O> &&
                    requires(O &o) { { o.start() } noexcept -> std::same_as<void>; };
using Failed = execution::set_error_t(std::exception_ptr);
using Stopped = execution::set_stopped_t();
using Words = decltype(sender(std::declval<consort::Runtime &>(), text, 1));
using End = decltype(sender(consort::Task()));
static_assert(SenderOf<Words, execution::set_value_t(std::string), Failed, Stopped>);
static_assert(SenderOf<End, execution::set_value_t(), Failed, Stopped>);
static_assert(Operation<decltype(std::declval<Words>().connect(Receiver<std::string>{}))>);
static_assert(Operation<decltype(std::declval<End>().connect(Plain{}))>);

TEST_F(FaceSender, SubmitsWhenStartedAndGivesTheValue) {
  auto x = rt.vector(v);
  Told<int> added;
  Told<long> sum;
  const auto adds = sender(rt, add, rw(x), 1);
  auto add_once = adds.connect(Plain{&added});
  auto add_again = adds.connect(Plain{&added});
  auto sum_up = sender(rt, {.name = "sum"}, total, r(x)).connect(Receiver<long>{&sum});
  rt.wait();
  EXPECT_FALSE(added.calls.try_acquire()) << "nothing is submitted by connect()";
  add_once.start();
  added.wait();
  add_again.start();
  sum_up.start();
  sum.wait();
  EXPECT_EQ(sum.value, 400);
  added.wait();
  EXPECT_FALSE(sum.error || sum.stopped || added.error || added.stopped);
}

TEST_F(FaceSender, GivesTheErrorOfTheTask) {
  Told<std::string> told;
  auto op = sender(rt, text, -1).connect(Receiver<std::string>{&told});
  op.start();
  EXPECT_NE(told.failure().find("task 'text' failed on worker"), std::string::npos);
  EXPECT_FALSE(told.value || told.stopped);
  EXPECT_THROW(rt.wait(), consort::Error);

  Told<std::string> refused;
  auto in_recording = sender(rt, text, 3).connect(Receiver<std::string>{&refused});
  EXPECT_THROW(rt.record([&] { in_recording.start(); }), consort::Error);
  EXPECT_NE(refused.failure(), "no failure") << "a recording takes no callback: start() throws nothing";
  EXPECT_THROW((void)sender(rt, {.repeat = true}, text, 1), consort::Error);
}

TEST_F(FaceSender, CallsTheCallbackOfTheOptionsToo) {
  std::atomic<int> called{0};
  auto note = [&](const consort_outcome &outcome) { called += outcome.status == CONSORT_OK; };
  Told<std::string> told;
  auto op = sender(rt, {.done = note}, text, 2).connect(Receiver<std::string>{&told});
  op.start();
  told.wait();
  EXPECT_EQ(told.value, "xx");
  EXPECT_EQ(called, 1);
}

TEST_F(FaceSender, AStopCancelsATaskThatHasNotBegun) {
  auto x = rt.vector(v);
  consort_test::Gate gate;
  const consort::Codelet stay{"stay", consort::cpu([&gate](std::span<int>) { gate.pass(); })};
  const auto before = rt.submit(stay, rw(x));
  Told<long> told;
  auto op = sender(rt, total, r(x)).connect(Receiver<long>{&told});
  op.start();
  told.stop.request_stop();
  gate.open();
  told.wait();
  EXPECT_TRUE(told.stopped);
  EXPECT_FALSE(told.value || told.error);
  before.wait();

  Told<long> never;
  never.stop.request_stop();
  auto late = sender(rt, total, r(x)).connect(Receiver<long>{&never});
  late.start();
  never.wait();
  EXPECT_TRUE(never.stopped) << "a stop before start() submits nothing";
}

TEST_F(FaceSender, CompletesOnceWhateverComesFirst) {
  const consort::Codelet quick{"quick", consort::cpu(returning([](long n) { return n; }))};
  int stopped = 0;
  for (int i = 0; i < 200; ++i) {
    Told<long> told;
    auto op = sender(rt, quick, i).connect(Receiver<long>{&told});
    std::thread stops;
    if (i % 4 == 0) stops = std::thread([&] { told.stop.request_stop(); });
    op.start();
    told.wait();
    ASSERT_FALSE(told.error);
    ASSERT_NE(told.value.has_value(), told.stopped);
    ASSERT_EQ(told.value.value_or(i), i);
    stopped += told.stopped;
    if (stops.joinable()) stops.join();
  }
  EXPECT_LE(stopped, 50);
}

TEST_F(FaceSender, TellsHowASubmittedTaskHasEnded) {
  auto x = rt.vector(v, "mine");
  Told<int> well;
  auto first = sender(rt.submit(add, rw(x), 1)).connect(Plain{&well});
  first.start();
  well.wait();
  EXPECT_EQ(well.value, 1);

  Told<int> ill;
  auto second = sender(rt.submit(fail, rw(x))).connect(Plain{&ill});
  second.start();
  const std::string says = ill.failure();
  EXPECT_EQ(says.find("task 'fail' failed"), 0u) << says;
  EXPECT_NE(says.find("no interval"), std::string::npos) << says;
  EXPECT_THROW(rt.wait(), consort::Error);
  x.invalidate();
}

TEST_F(FaceSender, ACompletionMayStartTheNext) {
  struct Chain {
    consort::Runtime &rt;
    consort::Data<std::span<int>> &x;
    std::binary_semaphore over{0};
    int left = 30;
    struct Next {
      Chain *chain;
      void set_value() && noexcept { chain->step(); }
      void set_error(std::exception_ptr) && noexcept { std::terminate(); }
      void set_stopped() && noexcept { std::terminate(); }
    };
    using Op = decltype(sender(rt, add, rw(x), 1).connect(Next{}));
    std::vector<std::unique_ptr<Op>> ops;
    void step() {
      if (left-- == 0) return over.release();
      ops.push_back(std::unique_ptr<Op>(new Op(sender(rt, add, rw(x), 1).connect(Next{this}))));
      ops.back()->start();
    }
  };
  auto x = rt.vector(v);
  Chain chain{rt, x, std::binary_semaphore{0}, 30, {}};
  chain.step();
  chain.over.acquire();
  rt.wait();
  EXPECT_EQ(x.read()[99], 32);
}

}  // namespace
