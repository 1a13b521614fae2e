// DAT-06, DAT-10, DAT-20, DAT-21, DAT-23, DEP-12: data entered without waiting, copied, made like others, found by address.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct AcquireLater : ::testing::Test {
  Rt rt;
  Bodies body;
  consort_codelet_id inc = codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });
};

struct Granted {
  consort_runtime *rt;
  std::atomic<int> calls{0};
  std::atomic<consort_status> status{1}, waited{1};
  std::atomic<long> seen{-1};
  bool keep = false;
  consort_hold hold{};
  static void on(void *p, consort_status s, const consort_hold *hold) {
    Granted &g = *static_cast<Granted *>(p);
    if (s >= 0) {
      g.seen = **static_cast<long *const *>(hold->view);
      g.waited = consort_wait_all(g.rt, kLong, 0);
      if (g.keep) g.hold = *hold;
      else need(consort_release(g.rt, *hold), "release");
    } else {
      EXPECT_EQ(hold, nullptr);
    }
    g.status = s;
    ++g.calls;
  }
};

TEST_F(AcquireLater, CallbackRunsInProgramOrder) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  Gate gate;
  const auto held = body(rt, "held", [&](const consort_call &c) { return gate.pass(), *pointer<long>(c, 0) = 5, CONSORT_OK; });
  Granted g{rt};
  Desc(held).rw(x).must(rt);
  EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_RW, Granted::on, &g));
  Desc(inc).rw(x).must(rt);
  EXPECT_EQ(g.calls, 0);
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(g.calls, 1);
  EXPECT_EQ(g.seen, 5);
  EXPECT_EQ(g.status, CONSORT_OK);
  EXPECT_EQ(g.waited, CONSORT_E_BUSY);
  EXPECT_EQ(v, 6);
  EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_R, Granted::on, &g));  // at once
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(g.calls, 2);
  EXPECT_EQ(g.seen, 6);
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(AcquireLater, HoldMayOutliveTheCallback) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  Granted g{rt};
  g.keep = true;
  EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_RW, Granted::on, &g));
  EXPECT_TRUE(eventually([&] { return g.calls == 1; }));
  const auto t = Desc(inc).rw(x).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 10'000'000, 0));
  EXPECT_EQ(v, 0);
  EXPECT_OK(consort_release(rt, g.hold));
  EXPECT_SAYS(CONSORT_E_STALE, consort_release(rt, g.hold), "released before");
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_EQ(v, 1);
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(AcquireLater, UnwrittenDataAreRefused) {
  const consort_variable_args a{nullptr, sizeof(long)};
  const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, nullptr};
  consort_data_id x{0};
  ASSERT_OK(consort_register(rt, &d, &x));
  Granted g{rt};
  EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_R, Granted::on, &g));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(g.calls, 1);
  EXPECT_EQ(g.status, CONSORT_E_INVAL);
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_SAYS(CONSORT_E_STALE, consort_acquire_later(rt, x, CONSORT_M_R, Granted::on, &g), "stale");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire_later(rt, x, CONSORT_M_R, nullptr, &g), "fn");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire_later(rt, x, 0x99, Granted::on, &g), "mode");
  EXPECT_EQ(g.calls, 1);
}

TEST_F(AcquireLater, LongChainsNeedNoStack) {
  constexpr int kMany = 20000;
  long v = 0;
  const auto x = variable_of(rt, &v);
  consort_hold first{};
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &first));
  Granted g{rt};
  for (int i = 0; i < kMany; ++i) ASSERT_OK(consort_acquire_later(rt, x, CONSORT_M_RW, Granted::on, &g));
  EXPECT_EQ(g.calls, 0);
  EXPECT_OK(consort_release(rt, first));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(g.calls, kMany);
  EXPECT_OK(consort_unregister(rt, x));
}

// DEP-12: which tasks there are depends on a value that a task computed.
TEST_F(AcquireLater, CallbackSubmitsTasksByValue) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  struct Insert { consort_runtime *rt; consort_codelet_id inc; consort_data_id x; } in{rt, inc, x};
  Desc(body(rt, "three", [](const consort_call &c) { return *pointer<long>(c, 0) = 3, CONSORT_OK; })).w(x).must(rt);
  EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_R, [](void *p, consort_status, const consort_hold *hold) {
    const Insert &i = *static_cast<Insert *>(p);
    for (long k = **static_cast<long *const *>(hold->view); k > 0; --k) Desc(i.inc).rw(i.x).must(i.rt);
    need(consort_release(i.rt, *hold), "release");
  }, &in));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(v, 6);
  EXPECT_OK(consort_unregister(rt, x));
}

using DataCopy = AcquireLater;

TEST_F(DataCopy, CopiesBetweenLayouts) {
  std::vector<int> a(24), b(40, -1);
  for (int i = 0; i < 24; ++i) a[static_cast<size_t>(i)] = i;
  const auto matrix = [&](int *p, uint64_t ld) {
    const consort_matrix_args args{p, 4, 5, ld, sizeof(int)};
    const consort_data_desc d{sizeof d, 0, "matrix", &args, sizeof args, nullptr};
    consort_data_id id{0};
    need(consort_register(rt, &d, &id), "register");
    return id;
  };
  const auto src = matrix(a.data(), 4), dst = matrix(b.data(), 8);
  consort_task_id t{0};
  EXPECT_OK(consort_data_copy(rt, dst, src, {0}, &t));
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 8; ++x)
      if (const size_t at = static_cast<size_t>(y * 8 + x); at < 36) {
        EXPECT_EQ(b[at], x < 4 ? y * 4 + x : -1) << x << "," << y;
      }
  const auto other = vector_of(rt, a.data(), 24, sizeof(int)), shorter = vector_of(rt, b.data(), 3, sizeof(int), "shorter");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_copy(rt, dst, other, {0}, nullptr), "'matrix'", "'vector'");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_copy(rt, shorter, other, {0}, nullptr), "'shorter'", "12", "96");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_copy(rt, dst, dst, {0}, nullptr), "same");
  for (const auto id : {src, other, shorter}) EXPECT_OK(consort_unregister(rt, id));
  EXPECT_SAYS(CONSORT_E_STALE, consort_data_copy(rt, dst, src, {0}, nullptr), "datum 1");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_copy(rt, dst, {0}, {0}, nullptr), "null");
  EXPECT_OK(consort_unregister(rt, dst));
}

using RegisterLike = AcquireLater;

TEST_F(RegisterLike, TakesLayoutOfAnotherDatum) {
  long v = 41;
  const auto x = variable_of(rt, &v, "x");
  consort_data_id y{0}, token{0};
  EXPECT_OK(consort_register_like(rt, x, "like x", &y));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(rt, Desc(inc).rw(y).must(rt), kLong, 0), "like x", "never written");
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_OK(consort_data_copy(rt, y, x, {0}, nullptr));
  Desc(inc).rw(y).must(rt);
  EXPECT_OK(consort_data_copy(rt, x, y, {0}, nullptr));
  EXPECT_OK(consort_unregister(rt, y));
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(v, 42);
  EXPECT_SAYS(CONSORT_E_STALE, consort_register_like(rt, x, nullptr, &y), "stale");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register_like(rt, {0}, nullptr, &y), "null");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register_like(rt, x, nullptr, nullptr), "out");
  const auto t = token_of(rt);
  EXPECT_OK(consort_register_like(rt, t, nullptr, &token));
  EXPECT_OK(consort_task_wait(rt, Desc().r(token).must(rt), kLong, 0));
  EXPECT_OK(consort_data_copy(rt, t, token, {0}, nullptr));
  EXPECT_OK(consort_unregister(rt, token));
  EXPECT_OK(consort_unregister(rt, t));
}

using FindData = AcquireLater;

TEST_F(FindData, ByHomeAddress) {
  std::vector<long> mem(100);
  std::vector<consort_data_id> ids;
  for (long &m : mem) ids.push_back(variable_of(rt, &m));
  consort_data_id found{0};
  for (size_t i = 0; i < mem.size(); i += 7) {
    EXPECT_OK(consort_find_data(rt, &mem[i], &found));
    EXPECT_EQ(found.v, ids[i].v);
  }
  EXPECT_OK(consort_unregister(rt, ids[7]));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_find_data(rt, &mem[7], &found), "no datum");
  EXPECT_EQ(found.v, 0u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_find_data(rt, nullptr, &found), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_find_data(rt, reinterpret_cast<void *>(uintptr_t{3}), &found), "no datum");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_find_data(rt, &mem[0], nullptr), "out");
  const auto again = variable_of(rt, &mem[7]);
  EXPECT_OK(consort_find_data(rt, &mem[7], &found));
  EXPECT_EQ(found.v, again.v);
  std::atomic<bool> over{false};
  std::thread other([&] {
    long mine = 0;
    while (!over) need(consort_unregister(rt, variable_of(rt, &mine)), "unregister");
  });
  for (int i = 0; i < 300; ++i) EXPECT_OK(consort_find_data(rt, &mem[99], &found));
  over = true;
  other.join();
}

}  // namespace
