// The C++ face: data, codelets, submissions, tasks and groups as programs use them; errors as exceptions; what an
// object does when its runtime is gone.
#include <consort/consort.hpp>

#include <algorithm>
#include <numeric>

#include "api/harness.hpp"

using namespace std::chrono_literals;
using consort::r, consort::rw, consort::scratch, consort::w;
using consort_test::eventually, consort_test::Gate, consort_test::kFourCores;

namespace {

consort::Settings two() { return consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores); }

template <class F>
consort::Error thrown(F f) {
  try {
    f();
  } catch (const consort::Error &e) {
    return e;
  }
  return {CONSORT_OK, "nothing was thrown"};
}
#define EXPECT_THROWS(want, words, call)                                   \
  do {                                                                     \
    const consort::Error e_ = thrown([&] { call; });                       \
    EXPECT_EQ(e_.status(), want) << e_.what();                             \
    EXPECT_NE(std::string(e_.what()).find(words), std::string::npos) << e_.what(); \
  } while (0)

struct Face : ::testing::Test {
  consort::Runtime rt{two()};
};

TEST(FaceProgram, RunsTheReadmeExample) {
  consort::Runtime rt;
  std::vector<float> v(1 << 20, 1.f);
  auto x = rt.vector(std::span(v));
  const consort::Codelet scale{"scale", consort::cpu([](std::span<float> x, float a) {
                                 for (float &e : x) e *= a;
                               }),
                               consort::opencl_file("scale.cl", "scale")};
  rt.submit(scale, consort::rw(x), 3.0f);
  auto view = x.read();
  EXPECT_EQ(view[0], 3.0f);
  EXPECT_EQ(view[v.size() - 1], 3.0f);
}

TEST_F(Face, TakesEveryKindOfDataAndArgument) {
  struct Big {
    double a[5];
    char tag;
  };
  std::vector<int> v(10, 1);
  const std::vector<int> fixed{5, 6, 7};
  std::vector<double> m(20, 0.5);
  long n = 4;
  const short s = 9;
  auto dv = rt.vector(v);
  auto df = rt.vector(fixed);
  auto dm = rt.matrix(m.data(), 4, 4, 5);
  auto dn = rt.variable(n);
  auto ds = rt.variable(s);
  auto born = rt.vector<float>(8, "born");
  auto tile = rt.matrix<double>(3, 2);
  auto late = rt.variable<long>();
  auto order = rt.token();
  std::atomic<int> ran{0};
  const consort::Codelet all{
      "all", consort::cpu([&ran](const consort_call &call, std::span<int> v, int i, std::span<const int> f,
                                 consort::Matrix<double> m, Big big, long &n, const short &s, std::span<float> born,
                                 consort::Matrix<double> tile, long &late, char c) {
        EXPECT_EQ(call.nviews, 9u);
        v[0] = i + f[2];
        EXPECT_EQ(m.nx(), 4u);
        EXPECT_EQ(m.ny(), 4u);
        EXPECT_EQ(m.ld(), 5u);
        m(1, 2) = big.a[4];
        n += s;
        std::fill(born.begin(), born.end(), 2.5f);
        tile.line(1)[2] = 7;
        late = c + big.tag;
        ++ran;
      })};
  rt.submit(all, rw(dv), 3, rw(order), r(df), rw(dm), Big{{0, 0, 0, 0, 8.5}, 'a'}, rw(dn), r(ds), w(born), w(tile),
            w(late), 'b')
      .wait();
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(dv.read()[0], 10);
  EXPECT_EQ(dm.read()(1, 2), 8.5);
  EXPECT_EQ(m[1 + 2 * 5], 8.5);
  EXPECT_EQ(*dn.read(), 13);
  EXPECT_EQ(born.read()[7], 2.5f);
  EXPECT_EQ(tile.read()(2, 1), 7.0);
  EXPECT_EQ(*late.acquire(), 'a' + 'b');
}

TEST_F(Face, ConvertsArgumentsAsInACall) {
  std::vector<double> v(1);
  auto x = rt.vector(v);
  const consort::Codelet set{"set", consort::cpu([](std::span<double> x, double a, unsigned char b, const char *text) {
                               x[0] = a + b + text[0];
                             })};
  rt.submit(set, rw(x), 3, 4, "\1");
  EXPECT_EQ(x.read()[0], 8.0);
}

TEST_F(Face, TakesFunctionsLambdasAndRawBodies) {
  long v = 0;
  auto x = rt.variable(v);
  struct Plain {
    static void add(long &x, long n) noexcept { x += n; }
    static consort_status raw(const consort_call *c) {
      *static_cast<long *>(consort_ptr(static_cast<const consort_variable_view *>(c->views[0])->addr)) += 100;
      return CONSORT_OK;
    }
    static consort_status user(const consort_call *c) { return ++*static_cast<int *>(c->user), CONSORT_OK; }
  };
  int here = 0;
  const auto step = std::make_shared<long>(10);  // an owner, kept in the codelet
  const consort::Codelet a{"a", consort::cpu(Plain::add)}, b{"b", consort::cpu(&Plain::add)};
  const consort::Codelet c{"c", consort::cpu([step](long &x) { x += *step; })};
  const consort::Codelet d{"d", consort::cpu(Plain::raw)}, e{"e", consort::cpu(Plain::user, &here)};
  const consort::Codelet f{"f", consort::cpu([&](const consort_call &k) { here += static_cast<int>(k.nargs); })};
  const consort::Codelet<void(long &, long)> named{std::string("named"), consort::cpu(Plain::add)};
  EXPECT_EQ(step.use_count(), 2);
  rt.submit(a, rw(x), 1);
  rt.submit(b, rw(x), 2);
  rt.submit(c, rw(x));
  rt.submit(d, rw(x));
  rt.submit(named, rw(x), 1000);
  rt.submit(e, rw(x));
  rt.submit(f, rw(x), 1, 2.0, 'c');
  rt.wait();
  EXPECT_EQ(v, 1113);
  EXPECT_EQ(here, 4);
}

TEST_F(Face, SubmitsACholesky) {
  constexpr int n = 5;
  const consort::Codelet potrf{"potrf", consort::cpu([](double &a) { a = a * 2 + 1; })};
  const consort::Codelet trsm{"trsm", consort::cpu([](const double &a, double &b) { b = b * 3 + a; })};
  const consort::Codelet gemm{
      "gemm", consort::cpu([](const double &a, const double &b, double &c) { c = c * 0.5 + a * 0.25 + b; })};
  std::vector<double> in(n * n), ref;
  std::iota(in.begin(), in.end(), 1);
  ref = in;
  std::vector<consort::Data<double &>> tiles;
  for (double &e : in) tiles.push_back(rt.variable(e));
  const auto A = [&](int i, int j) -> auto & { return tiles[static_cast<size_t>(i * n + j)]; };
  const auto R = [&](int i, int j) -> double & { return ref[static_cast<size_t>(i * n + j)]; };
  for (int k = 0; k < n; ++k) {
    rt.submit(potrf, rw(A(k, k)));
    R(k, k) = R(k, k) * 2 + 1;
    for (int i = k + 1; i < n; ++i) {
      rt.submit(trsm, r(A(k, k)), rw(A(i, k)));
      R(i, k) = R(i, k) * 3 + R(k, k);
    }
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j <= i; ++j) {
        rt.submit(gemm, r(A(i, k)), r(A(j, k)), rw(A(i, j)));
        R(i, j) = R(i, j) * 0.5 + R(i, k) * 0.25 + R(j, k);
      }
  }
  rt.wait();
  EXPECT_EQ(in, ref);
}

TEST_F(Face, ExceptionsOfBodiesReachTheWait) {
  long v = 0;
  auto x = rt.variable(v, "the vase");
  const consort::Codelet drop{"drop", consort::cpu([](long &) { throw std::runtime_error("butterfingers"); })};
  const consort::Codelet odd{"odd", consort::cpu([](long &) { throw 1; })};
  const consort::Codelet own{"own",
                             consort::cpu([](long &) { throw consort::Error(CONSORT_E_IO, "in its own words"); })};
  const consort::Codelet full{"full", consort::cpu([](long &) { throw std::bad_alloc(); })};
  const consort::Codelet says{
      "says", consort::cpu([](long &) -> consort_status { return consort_fail(CONSORT_E_BUSY, "by status"); })};
  const consort::Codelet look{"look", consort::cpu([](const long &) {})};
  EXPECT_THROWS(CONSORT_E_INTERNAL, "butterfingers", rt.submit({.name = "clumsy"}, drop, w(x)).wait());
  EXPECT_THROWS(CONSORT_E_INTERNAL, "odd", rt.submit(odd, w(x)).wait());
  EXPECT_THROWS(CONSORT_E_IO, "in its own words", rt.submit(own, w(x)).wait());
  EXPECT_THROWS(CONSORT_E_NOMEM, "full", rt.submit(full, w(x)).wait());
  EXPECT_THROWS(CONSORT_E_BUSY, "by status", rt.submit(says, w(x)).wait());
  EXPECT_THROWS(CONSORT_E_POISONED, "the vase", rt.submit(look, r(x)).wait());
  EXPECT_THROWS(CONSORT_E_POISONED, "the vase", x.read());
  EXPECT_THROWS(CONSORT_E_INTERNAL, "clumsy", rt.wait());
  EXPECT_NO_THROW(rt.wait()) << "collected";
  x.invalidate();
  rt.submit(consort::Codelet{"mend", consort::cpu([](long &x) { x = 1; })}, w(x));
  EXPECT_EQ(*x.read(), 1);
}

TEST_F(Face, AppliesOptions) {
  long v = 0;
  auto x = rt.variable(v);
  std::vector<int> order;
  const consort::Codelet note{"note", consort::cpu([&](int i) { order.push_back(i); })};
  const consort::Codelet add{"add", consort::cpu([](long &x) { ++x; })};
  const consort::Codelet where{"where", consort::cpu([](const consort_call &c, uint32_t want) -> consort_status {
                                 return c.worker == want ? CONSORT_OK : consort_fail(CONSORT_E_INTERNAL, "elsewhere");
                               })};
  std::atomic<int> told{0};
  long sum = 0, weights[4] = {1, 2, 3, 4};
  auto large = [&sum, &weights, &told](const consort_outcome &o) { sum += weights[3] + o.status, ++told; };
  auto g = rt.group("mine");
  const auto a = rt.submit(note, 1), b = rt.submit({.after = a}, note, 2);
  const auto c =
      rt.submit({.priority = 5, .name = "third", .group = g, .after = {a, b}, .done = [&told] { ++told; }}, note, 3);
  const consort::Options kept{.after = {b, c}, .done = large};
  rt.submit(kept, note, 4).wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
  rt.submit({.worker = 1}, where, 1);
  rt.submit({.worker = 0}, where, 0);
  rt.wait();
  g.wait();
  EXPECT_TRUE(eventually([&] { return told == 2; }));
  EXPECT_EQ(sum, 4);
  rt.sync_point(rw(x)).wait();
  rt.sync_point({.after = {a, b}}, r(x)).wait();
  rt.submit({.done = {[](void *p, const consort_outcome *) { ++*static_cast<std::atomic<int> *>(p); }, &told}}, add,
            rw(x))
      .wait();
  EXPECT_EQ(told, 3);
  std::vector<consort_task_id> many;
  for (int i = 0; i < 50; ++i) many.push_back(rt.submit(add, rw(x)).id());
  rt.submit({.after = std::span<const consort_task_id>(many)}, note, 5).wait();
  EXPECT_EQ(*x.read(), 51);
  EXPECT_THROWS(CONSORT_E_INVAL, "8", (rt.submit({.after = {a, a, a, a, a, a, a, a, a}}, note, 6)));
}

TEST_F(Face, ModesByTheirNames) {
  std::vector<int> a(3, 1), b(3, 5);
  auto x = rt.vector(a), y = rt.vector(b);
  const consort::Codelet copy{"copy", consort::cpu([](std::span<const int> from, std::span<int> to) {
                                for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
                              })};
  const consort::Codelet twice{"twice", consort::cpu([](std::span<int> s) { for (int &e : s) e *= 2; })};
  static_assert(std::is_same_v<decltype(consort::read(x)), decltype(r(x))>);
  static_assert(std::is_same_v<decltype(consort::write(x)), decltype(w(x))>);
  static_assert(std::is_same_v<decltype(consort::readwrite(x)), decltype(rw(x))>);
  rt.submit(copy, consort::read(x), consort::write(y));
  rt.submit(twice, consort::readwrite(y));
  EXPECT_EQ(y.read()[2], 2);
}

TEST_F(Face, WaitsWithTimeLimits) {
  Gate gate;
  const consort::Codelet door{"door", consort::cpu([&] { gate.pass(); })};
  long v = 0;
  auto x = rt.variable(v);
  const consort::Codelet pass{"pass", consort::cpu([&](long &) { gate.pass(); })};
  auto g = rt.group();
  const auto t = rt.submit({.worker = 1, .group = g}, pass, rw(x));
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; })) << "else a wait that helps might run it itself";
  EXPECT_FALSE(t.done());
  EXPECT_FALSE(t.wait_for(5ms));
  EXPECT_FALSE(g.wait_for(0s));
  EXPECT_FALSE(rt.wait_all_for(1ms, consort::Wait::no_help));
  EXPECT_TRUE(rt.wait_for(1h)) << "the default group has nothing";
  EXPECT_THROWS(CONSORT_E_TIMEOUT, "time", x.read(1ms));
  EXPECT_FALSE(t.wait_for(-1s)) << "over already, not for ever";
  gate.open();
  EXPECT_TRUE(t.wait_for(std::chrono::minutes(1)));
  EXPECT_TRUE(t.done());
  static_assert(consort::Timeout().ns() == CONSORT_FOREVER);
  static_assert(consort::Timeout(1ns).ns() == 1 && consort::Timeout(1.5s).ns() == 1'500'000'000 &&
                consort::Timeout(-3h).ns() == 0);
  static_assert(consort::Timeout(std::chrono::hours(24 * 365 * 200)).ns() > 0 &&
                consort::Timeout(std::chrono::hours::max()).ns() == CONSORT_FOREVER);
}

TEST_F(Face, ViewsReleaseAtDestruction) {
  std::vector<int> v(4, 1);
  auto x = rt.vector(v);
  {
    auto a = x.read(), b = x.read();
    EXPECT_EQ(std::accumulate(a.begin(), a.end(), 0), 4);
    auto moved = std::move(a);
    EXPECT_EQ(moved.size(), 4u);
    b.release();
    EXPECT_TRUE(b.empty());
    b.release();
  }
  {
    auto e = x.write();
    std::fill(e.begin(), e.end(), 7);
  }
  long n = 1;
  auto y = rt.variable(n);
  {
    auto e = x.acquire();
    EXPECT_EQ(e[3], 7);
    auto h = y.acquire();
    *h += 1;
    EXPECT_THROWS(CONSORT_E_BUSY, "release", y.acquire());
  }
  EXPECT_EQ(*y.read(), 2);
}

TEST_F(Face, DataMoveAndEndOnce) {
  std::vector<long> v(3, 1);
  const consort::Codelet add{"add", consort::cpu([](std::span<long> x) { ++x[0]; })};
  auto x = rt.vector(v, "mine");
  EXPECT_TRUE(x);
  auto y = std::move(x);
  EXPECT_FALSE(x);
  EXPECT_THROWS(CONSORT_E_STOPPED, "moved", x.read());
  EXPECT_THROWS(CONSORT_E_INVAL, "another runtime", rt.submit(add, rw(x)));
  for (int i = 0; i < 100; ++i) rt.submit(add, rw(y));
  EXPECT_EQ(rt.info().data, 1u);
  y = rt.vector<long>(5);  // the first one ends here, its tasks done
  EXPECT_EQ(v[0], 101);
  EXPECT_EQ(rt.info().data, 1u);
  y.unregister();
  EXPECT_EQ(rt.info().data, 0u);
  EXPECT_FALSE(y);
  consort_data_id raw{0};
  ASSERT_EQ(consort_register_vector(rt.c(), v.data(), v.size(), sizeof v[0], &raw), CONSORT_OK);
  auto adopted = rt.adopt<std::span<long>>(raw);
  rt.submit(add, rw(adopted)).wait();
  EXPECT_EQ(v[0], 102);
  adopted.unregister_later();
  EXPECT_TRUE(eventually([&] { return rt.info().data == 0; }));
}

TEST_F(Face, MismatchedSizesThrow) {
  std::vector<int> v(4);
  consort_data_id raw{0};
  ASSERT_EQ(consort_register_vector(rt.c(), v.data(), v.size(), sizeof v[0], &raw), CONSORT_OK);
  auto lied = rt.adopt<std::span<double>>(raw);
  const consort::Codelet fill{"fill", consort::cpu([](std::span<double> x, int) { x[0] = 1; })};
  EXPECT_THROWS(CONSORT_E_INVAL, "elements of 4 bytes", rt.submit(fill, rw(lied), 1).wait());
  EXPECT_THROWS(CONSORT_E_INVAL, "size", lied.write());
  lied.invalidate();
  (void)consort_wait_all(rt.c(), CONSORT_FOREVER, 0);
}

TEST_F(Face, OneCodeletServesTwoRuntimes) {
  consort::Runtime other{{"workers", "1"}, {"scheduler", "eager"}};
  long a = 0, b = 0;
  const consort::Codelet add{"add", consort::cpu([](long &x, long n) { x += n; })};
  {
    auto x = rt.variable(a);
    auto y = other.variable(b);
    for (int i = 0; i < 200; ++i) {
      rt.submit(add, rw(x), 1);
      other.submit(add, rw(y), 2);
    }
    EXPECT_THROWS(CONSORT_E_INVAL, "another runtime", rt.submit(add, rw(y), 1));
    rt.wait();
    other.wait();
  }
  EXPECT_EQ(a, 200);
  EXPECT_EQ(b, 400);
}

TEST(FaceLifetimes, CodeletOutlivesRuntimes) {
  // The next runtime often stands at the address of the one before: it must not be taken for it.
  const consort::Codelet add{"add", consort::cpu([](long &x) { ++x; })};
  long v = 0;
  for (int i = 0; i < 40; ++i) {
    consort::Runtime rt{two()};
    const consort::Codelet other{"other", consort::cpu([](long &x) { x += 1000; })};  // ids differ from round to round
    auto x = rt.variable(v);
    if (i % 2) rt.submit(other, rw(x));
    rt.submit(add, rw(x));
  }
  EXPECT_EQ(v, 20 * 1000 + 40);
}

TEST(FaceLifetimes, ConcurrentFirstUse) {
  consort::Runtime rt{two()};
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ran{0}, ready{0};
    const consort::Codelet count{"count", consort::cpu([&] { ++ran; })};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        ++ready;
        while (ready < 4) {}
        for (int i = 0; i < 10; ++i) rt.submit(count);
      });
    for (auto &t : threads) t.join();
    rt.wait();
    EXPECT_EQ(ran, 40);
  }
}

TEST(FaceLifetimes, CodeletDestructorWaitsForItsTasks) {
  consort::Runtime rt{two()};
  std::atomic<int> ran{0};
  {
    const consort::Codelet slow{"slow", consort::cpu([&, keep = std::make_unique<int>(3)] {
                                  std::this_thread::sleep_for(500us), ran += *keep;  // nap: tasks are pending when the codelet goes
                                })};
    for (int i = 0; i < 20; ++i) rt.submit(slow);
  }
  EXPECT_EQ(ran, 60) << "the lambda would be gone by now";
}

TEST(FaceLifetimes, HandlesMayOutliveTheirRuntime) {
  std::vector<long> v(3);
  const consort::Codelet add{"add", consort::cpu([](std::span<long> x) { ++x[0]; })};
  consort::Data<std::span<long>> x;
  consort::Token token;
  consort::Group group;
  {
    consort::Runtime rt{two()};
    x = rt.vector(v);
    token = rt.token();
    group = rt.group("g");
    rt.submit({.group = group}, add, rw(x), rw(token));
  }
  EXPECT_EQ(v[0], 1) << "the runtime's end waits for every task";
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", x.read());
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", group.wait());
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", token.invalidate());
}

TEST(FaceLifetimes, RuntimesMove) {
  consort::Runtime a{two()};
  long v = 0;
  const consort::Codelet add{"add", consort::cpu([](long &x) { ++x; })};
  auto x = a.variable(v);
  a.submit(add, rw(x));
  consort::Runtime b = std::move(a);
  b.submit(add, rw(x));
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", a.wait());
  EXPECT_THROWS(CONSORT_E_STOPPED, "moved from", a.submit(add, rw(x)));
  EXPECT_EQ(*x.read(), 2);
  b = consort::Runtime{two()};  // the first one stops here
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", x.read());
  EXPECT_THROWS(CONSORT_E_INVAL, "another runtime", b.submit(add, rw(x)));
}

TEST(FaceLifetimes, StopThrowsUncollectedFailures) {
  consort::Runtime rt{two()};
  const consort::Codelet bad{"bad",
                             consort::cpu([]() -> consort_status { return consort_fail(CONSORT_E_IO, "left over"); })};
  rt.submit(bad);
  EXPECT_THROWS(CONSORT_E_IO, "left over", rt.stop());
  EXPECT_NO_THROW(rt.stop()) << "once";
  EXPECT_THROWS(CONSORT_E_STOPPED, "stopped", rt.wait());
}

TEST(FaceLifetimes, TakesSettingsOfAllKinds) {
  consort::Runtime rt{consort::Settings{}
                          .text("scheduler = \"eager\"")
                          .set("workers", 3)
                          .set("cpu.topology", kFourCores)
                          .set("profile", true)
                          .set("window", 64u)};
  EXPECT_STREQ(rt.info().scheduler, "eager");
  EXPECT_EQ(rt.info().nworkers, 3u);
  EXPECT_STREQ(rt.worker(2).klass, "cpu");
  EXPECT_THROWS(CONSORT_E_INVAL, "worker 3", rt.worker(3));
  EXPECT_FALSE(rt.explain().empty());
  EXPECT_THROWS(CONSORT_E_INVAL, "schedular", (consort::Runtime{{"schedular", "x"}}));
  EXPECT_THROWS(CONSORT_E_IO, "/nowhere.toml", consort::Runtime{consort::Settings{}.file("/nowhere.toml")});
}

TEST(FaceLifetimes, StepsTheManualPump) {
  consort::Runtime rt{two().set("pump", "manual")};
  int ran = 0;
  const consort::Codelet count{"count", consort::cpu([&] { ++ran; })};
  rt.submit(count);
  EXPECT_EQ(ran, 0);
  while (rt.step(0) || rt.step(1)) {}
  EXPECT_EQ(ran, 1);
}

TEST_F(Face, TasksSubmitTasksAndWait) {
  std::atomic<int> leaves{0};
  const consort::Codelet leaf{"leaf", consort::cpu([&] { ++leaves; })};
  const consort::Codelet branch{"branch", consort::cpu([&](int n) {
                                  auto g = rt.group();
                                  for (int i = 0; i < n; ++i) rt.submit({.group = g}, leaf);
                                  g.wait();
                                })};
  for (int i = 0; i < 50; ++i) rt.submit(branch, 10);
  rt.wait();
  EXPECT_EQ(leaves, 500);
}

TEST_F(Face, BodiesRegisterLocalData) {
  std::atomic<int> good{0};
  const consort::Codelet inner{"inner", consort::cpu([](std::span<int> x) {
                                 for (int &e : x) e = 4;
                               })};
  const consort::Codelet outer{"outer", consort::cpu([&] {
                                 std::vector<int> mine(16);
                                 auto x = rt.vector(mine);
                                 rt.submit(inner, w(x));
                                 good += x.read()[15] == 4;
                               })};
  for (int i = 0; i < 100; ++i) rt.submit(outer);
  rt.wait();
  EXPECT_EQ(good, 100);
}

TEST_F(Face, GroupsCollectTheirOwnFailures) {
  const consort::Codelet bad{"bad", consort::cpu([] { throw std::runtime_error("in this group"); })};
  auto mine = rt.group("mine"), other = rt.group("other");
  rt.submit({.name = "culprit", .group = mine}, bad);
  EXPECT_NO_THROW(other.wait());
  EXPECT_THROWS(CONSORT_E_INTERNAL, "in this group", mine.wait());
  EXPECT_EQ(mine.last_failure().task, "culprit");
  EXPECT_EQ(mine.last_failure().failed, 1u);
  EXPECT_GE(mine.fd(), 0);
  rt.submit({.group = mine}, bad);
}  // its end waits and drops the failure

}  // namespace
