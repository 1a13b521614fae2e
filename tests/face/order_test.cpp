// The C++ face over order.h: tags, bundles, hooks from lambdas, held ends, further turns, data without waiting, copies.
#include <consort/consort.hpp>

#include <numeric>

#include "api/harness.hpp"

using namespace std::chrono_literals;
using consort::r, consort::rw;
using consort_test::eventually, consort_test::kFourCores;

namespace {

struct FaceOrder : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
  std::atomic<int> n{0};
  const consort::Codelet<void()> count{"count", consort::cpu([this] { ++n; })};
};

TEST_F(FaceOrder, TagsOrderTasks) {
  const auto a = rt.tag(1), b = rt.tag(2);
  b.after({a});
  rt.submit({.tag = b}, count);
  EXPECT_FALSE(b.wait_for(5ms));
  EXPECT_FALSE(a.reached());
  EXPECT_EQ(n, 0);
  rt.submit({.tag = 1}, count);
  b.wait();
  EXPECT_TRUE(a.reached());
  EXPECT_EQ(n, 2);
  try {
    a.restart();
    a.after({b});
    FAIL() << "a circle";
  } catch (const consort::Error &e) {
    EXPECT_NE(std::string(e.what()).find("tag 1 comes after 2 comes after 1"), std::string::npos) << e.what();
  }
  b.restart();
  b.remove();
  a.remove();
  a.notify();
  EXPECT_TRUE(a.reached());
}

TEST_F(FaceOrder, HooksOwnTheirLambdas) {
  const auto shared = std::make_shared<std::atomic<int>>(0);
  {
    const consort::Options options{.ready = [shared] { ++*shared; },
                                   .begin = [shared, this](consort::Task t) { *shared += t.id().v == rt.current_task().id().v; }};
    rt.submit(options, count).wait();
    rt.submit(options, count).wait();  // the same again
    EXPECT_EQ(*shared, 4);
    rt.submit({.ready = [shared] { throw 1; }}, count).wait();
    EXPECT_THROW(rt.submit({.worker = 99, .ready = [shared] {}}, count), consort::Error);
  }
  rt.wait_all();
  EXPECT_TRUE(eventually([&] { return shared.use_count() == 1; })) << "a refused or finished task still owns its hook";
  EXPECT_FALSE(rt.current_task());
  EXPECT_EQ(rt.current_worker(), CONSORT_NONE);
}

TEST_F(FaceOrder, HoldsCompletion) {
  const auto t = rt.submit({.end_holds = 1}, count);
  const auto u = rt.submit({.end_after = t}, count);
  EXPECT_FALSE(u.wait_for(5ms));
  rt.wait_no_ready();
  rt.set_scheduler("prio");
  EXPECT_THROW(rt.set_scheduler("nobody's"), consort::Error);
  EXPECT_EQ(n, 2);
  t.hold_end();
  t.release_end();
  EXPECT_FALSE(t.done());
  t.release_end();
  u.wait();
  EXPECT_THROW(t.release_end(), consort::Error);
}

TEST_F(FaceOrder, RepeatsTasks) {
  const consort::Codelet again{"again", consort::cpu([this] {
                                 if (++n == 10) rt.current_task().stop_repeating();
                               })};
  rt.submit({.repeat = true}, again);
  rt.wait_all();
  EXPECT_EQ(n, 10);
}

TEST_F(FaceOrder, SubmitsBundles) {
  auto b = rt.bundle();
  for (int i = 0; i < 10; ++i) rt.submit({.bundle = b}, count);
  b.close();
  rt.wait_all();
  EXPECT_EQ(n, 10);
  auto other = rt.bundle();
  other = std::move(b);
}

TEST_F(FaceOrder, AcquiresAndCopiesWithoutWaiting) {
  std::vector<int> v(10);
  std::iota(v.begin(), v.end(), 0);
  auto x = rt.vector(v);
  auto y = rt.like(x, "y");
  rt.copy(y, x);
  const consort::Codelet add{"add", consort::cpu([](std::span<int> x, int a) {
                               for (int &e : x) e += a;
                             })};
  rt.submit(add, rw(y), 5);
  std::atomic<int> sum{0};
  y.read_later([&](consort::Held<std::span<const int>> *held) {
    sum = std::accumulate(held->begin(), held->end(), 0);
  });
  rt.wait_all();
  EXPECT_EQ(sum, 95);
  std::unique_ptr<consort::Held<std::span<int>>> kept;
  std::atomic<bool> there{false};
  y.acquire_later([&](auto *held) {
    kept = std::make_unique<consort::Held<std::span<int>>>(std::move(*held));
    there = true;
  });
  EXPECT_TRUE(eventually([&] { return there.load(); }));
  const auto t = rt.submit(add, rw(y), 1);
  EXPECT_FALSE(t.wait_for(5ms));
  kept.reset();
  t.wait();
  auto z = rt.variable<long>("never written");
  std::atomic<bool> refused{false};
  z.read_later([&](auto *held) { refused = !held && std::string(consort_error()).find("never written") != std::string::npos; });
  rt.wait_all();
  EXPECT_TRUE(refused);
}

// DAT-21: the value says which datum a task is for; the hold ends by itself, so the next writer of the value runs.
TEST_F(FaceOrder, CallbackSubmitsByValueAndReleases) {
  std::vector<int> a(4), b(4);
  std::vector<consort::Data<std::span<int>>> data;
  data.push_back(rt.vector(a));
  data.push_back(rt.vector(b));
  long value = 0;
  auto which = rt.variable(value, "which");
  const consort::Codelet set{"set", consort::cpu([](long &x, long to) { x = to; })};
  const consort::Codelet add{"add", consort::cpu([](std::span<int> x, int by) {
                               for (int &e : x) e += by;
                             })};
  rt.submit(set, rw(which), 1L);
  which.read_later([&](consort::Held<const long &> *held) { rt.submit(add, rw(data[static_cast<size_t>(**held)]), 7); });
  const auto next = rt.submit(set, rw(which), 0L);
  ASSERT_TRUE(next.wait_for(30s)) << "the hold goes with the function that was called";
  which.read_later([&](consort::Held<const long &> *held) { rt.submit(add, rw(data[static_cast<size_t>(**held)]), 5); });
  rt.wait_all();
  data.clear();
  EXPECT_EQ(a, (std::vector<int>(4, 5)));
  EXPECT_EQ(b, (std::vector<int>(4, 7)));
}

}  // namespace
