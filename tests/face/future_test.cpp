// The C++ face's values of tasks and coroutines: call(), co_await of tasks and futures.
#include <consort/coroutine.hpp>

#include <thread>

#include "face/functions.hpp"

using consort::call, consort::Flow, consort::Future, consort::r, consort::returning, consort::rw, consort::w;

namespace {

struct FaceFuture : FaceOfValues {};
long twice(const int &x) { return 2L * x; }

TEST_F(FaceFuture, ReturnsTheValueOnce) {
  auto x = rt.vector(v);
  rt.submit(add, rw(x), 1);
  Future<long> sum = call(rt, total, r(x));
  EXPECT_TRUE(sum.valid());
  EXPECT_EQ(sum.get(), 300);
  EXPECT_TRUE(sum.ready());
  EXPECT_THROW(sum.get(), consort::Error) << "it was taken";
  Future<std::string> s = call(rt, {.name = "words"}, text, 40);
  Future<std::string> moved = std::move(s);
  EXPECT_FALSE(s.valid());
  EXPECT_THROW(s.wait(), consort::Error);
  EXPECT_EQ(moved.get(), std::string(40, 'x'));
  const consort::Codelet function{"function", consort::cpu(returning(twice))};
  int n = 21;
  auto d = rt.variable(n);
  EXPECT_EQ(call(rt, function, r(d)).get(), 42);
}

TEST_F(FaceFuture, ThrowsWhatTheTaskThrew) {
  Future<std::string> bad = call(rt, text, -1);
  try {
    bad.get();
    FAIL() << "nothing was thrown";
  } catch (const consort::Error &e) {
    EXPECT_EQ(e.failure().task, "text");
    EXPECT_EQ(e.failure().text, "a negative number");
  }
  EXPECT_THROW(call(rt, {.repeat = true}, text, 1), consort::Error);
  EXPECT_THROW(rt.wait(), consort::Error);
}

TEST_F(FaceFuture, ValuesThatNobodyTakesAreDropped) {
  std::atomic<int> called{0}, alive{0};
  struct Counted {
    explicit Counted(std::atomic<int> &n) : n(&n) { ++n; }
    Counted(Counted &&o) noexcept : n(o.n) { ++*n; }
    ~Counted() { --*n; }
    std::atomic<int> *n;
  };
  const consort::Codelet make{"make", consort::cpu(returning([&alive] { return Counted(alive); }))};
  auto note = [&](const consort_outcome &) { ++called; };
  for (int i = 0; i < 200; ++i) (void)call(rt, {.done = note}, make);
  std::vector<Future<Counted>> kept;
  for (int i = 0; i < 200; ++i) kept.push_back(call(rt, {.done = note}, make));
  rt.wait();
  EXPECT_EQ(called, 400) << "the program's own callback is called, too";
  kept.clear();
  EXPECT_EQ(alive, 0);
}

TEST_F(FaceFuture, ARecordingRefusesValues) {
  EXPECT_THROW(rt.record([&] { (void)call(rt, text, 1); }), consort::Error);
  EXPECT_EQ(call(rt, text, 3).get(), "xxx") << "the next call is one like any other";
}

// -- coroutines

Flow<long> sum_when_added(consort::Runtime &rt, consort::Data<std::span<int>> &x, int rounds) {
  long all = 0;
  for (int i = 0; i < rounds; ++i) {
    co_await rt.submit(add, rw(x), 1);
    all += co_await call(rt, total, r(x));
  }
  co_return all;
}
TEST_F(FaceFuture, CoroutinesAwaitTasksAndValues) {
  auto x = rt.vector(v);
  EXPECT_EQ(sum_when_added(rt, x, 10).get(), 100 * (2 * 10 + 55));
  std::vector<std::vector<int>> many(50, std::vector<int>(10, 0));
  std::vector<consort::Data<std::span<int>>> data;
  std::vector<Flow<long>> flows;
  for (auto &m : many) data.push_back(rt.vector(m));
  for (auto &d : data) flows.push_back(sum_when_added(rt, d, 20));
  for (auto &f : flows) EXPECT_EQ(f.get(), 10 * 210);
}

Flow<> awaits_failure(consort::Runtime &rt, consort::Data<std::span<int>> &x, std::string &says) {
  try {
    co_await rt.submit(fail, rw(x));
  } catch (const consort::Error &e) {
    says = e.what();
  }
  co_await rt.submit(fail, rw(x));  // and the second one ends the flow
}
TEST_F(FaceFuture, AwaitThrowsWhatMadeTheTaskFail) {
  auto x = rt.vector(v, "mine");
  std::string says;
  auto flow = awaits_failure(rt, x, says);
  EXPECT_THROW(flow.get(), consort::Error);
  EXPECT_NE(says.find("task 'fail' failed"), std::string::npos) << says;
  EXPECT_NE(says.find("no interval"), std::string::npos) << says;
  EXPECT_THROW(rt.wait(), consort::Error);
  x.invalidate();
}

// Ends while it waits, or waits where it must not: an error, not a dead lock.
Flow<consort_status> waits_in_between(consort::Runtime &rt, consort::Data<std::span<int>> &x, std::thread::id caller) {
  consort_test::Gate gate;
  const consort::Codelet stay{"stay", consort::cpu([&gate](std::span<int>) { gate.pass(); })};
  const auto task = rt.submit({.worker = 1}, stay, rw(x));
  std::thread opener([&] { gate.open(); });
  co_await task;
  opener.join();
  if (std::this_thread::get_id() == caller) co_return CONSORT_E_BUSY;  // it had ended before it was awaited
  try {
    rt.submit(add, rw(x), 1).wait();
  } catch (const consort::Error &e) {
    co_return e.status();
  }
  co_return CONSORT_OK;
}
TEST_F(FaceFuture, ACoroutineThatGoesOnInACallbackMustNotWait) {
  auto x = rt.vector(v);
  EXPECT_EQ(waits_in_between(rt, x, std::this_thread::get_id()).get(), CONSORT_E_BUSY);
}

struct Loop {  // an executor: what is posted runs on the thread that calls run()
  std::mutex mutex;
  std::vector<std::coroutine_handle<>> ready;
  void post(std::coroutine_handle<> h) {
    std::lock_guard lock(mutex);
    ready.push_back(h);
  }
  bool run() {
    std::vector<std::coroutine_handle<>> now;
    {
      std::lock_guard lock(mutex);
      now.swap(ready);
    }
    for (auto h : now) h.resume();
    return !now.empty();
  }
};
Flow<bool> on_one_thread(consort::Runtime &rt, consort::Data<std::span<int>> &x, Loop &loop) {
  const auto mine = std::this_thread::get_id();
  bool same = true;
  for (int i = 0; i < 20; ++i) {
    co_await consort::on(loop, rt.submit(add, rw(x), 1));
    same &= mine == std::this_thread::get_id();
    same &= co_await consort::on(loop, call(rt, total, r(x))) == 100 * (3 + i);
    same &= mine == std::this_thread::get_id();
  }
  co_return same;
}
TEST_F(FaceFuture, CoroutinesGoOnWhereAnExecutorSays) {
  auto x = rt.vector(v);
  Loop loop;
  auto flow = on_one_thread(rt, x, loop);
  while (!flow.done())
    if (!loop.run()) std::this_thread::yield();
  EXPECT_TRUE(flow.get());
}

}  // namespace
