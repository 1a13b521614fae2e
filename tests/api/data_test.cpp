// Data: registration, unregistration, acquiring, contents that are or are not there.
#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

struct DataApi : ::testing::Test {
  Rt rt;
  Bodies body;
  consort_data_id id{0};
  consort_hold hold{};

  consort_status reg(const char *interface, const void *args, uint64_t bytes, const char *name = nullptr) {
    const consort_data_desc d{sizeof d, 0, interface, args, bytes, name};
    return consort_register(rt, &d, &id);
  }
  uint64_t registered() {
    consort_info i{};
    i.size = sizeof i;
    need(consort_get_info(rt, &i), "info");
    return i.data;
  }
};

TEST_F(DataApi, RefusesBadRegistrations) {
  int x = 0;
  const consort_variable_args good{&x, sizeof x};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register(rt, nullptr, &id), "NULL");
  consort_data_desc d{sizeof d, 0, "variable", &good, sizeof good, nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register(rt, &d, nullptr), "NULL");
  d.size = 8;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register(rt, &d, &id), "size", "8");
  EXPECT_SAYS(CONSORT_E_INVAL, reg(nullptr, &good, sizeof good), "interface");
  EXPECT_SAYS(CONSORT_E_INVAL, reg("", &good, sizeof good), "interface");
  const Answer slip(reg("vectr", &good, sizeof good));
  EXPECT_LT(slip.status, 0);
  EXPECT_NE(slip.text.find("vectr"), std::string::npos) << slip.text;
  EXPECT_NE(slip.text.find("vector"), std::string::npos) << slip.text;
  EXPECT_NE(slip.text.find("consort plugins"), std::string::npos) << slip.text;
  EXPECT_LT(reg("../../../etc/passwd", &good, sizeof good), 0);
  EXPECT_SAYS(CONSORT_E_INVAL, reg("variable", nullptr, 0), "variable");
  EXPECT_SAYS(CONSORT_E_INVAL, reg("variable", nullptr, sizeof good), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, reg("variable", &good, sizeof good - 1), "variable");
  EXPECT_EQ(registered(), 0u);
}

TEST_F(DataApi, RefusesBadSizes) {
  float f[16];
  const consort_vector_args no_element{f, 4, 0}, too_large{f, ~uint64_t{0} / 2, 16};
  EXPECT_SAYS(CONSORT_E_INVAL, reg("vector", &no_element, sizeof no_element), "vector");
  EXPECT_SAYS(CONSORT_E_INVAL, reg("vector", &too_large, sizeof too_large), "vector");
  const consort_matrix_args narrow{f, 4, 4, 3, 4}, huge{f, uint64_t{1} << 33, uint64_t{1} << 33, 0, 8};
  EXPECT_SAYS(CONSORT_E_INVAL, reg("matrix", &narrow, sizeof narrow), "matrix");
  EXPECT_SAYS(CONSORT_E_INVAL, reg("matrix", &huge, sizeof huge), "matrix");
  EXPECT_EQ(registered(), 0u);
  const consort_vector_args more_than_memory{nullptr, uint64_t{1} << 60, 1};
  const Answer a(reg("vector", &more_than_memory, sizeof more_than_memory, "giant"));
  if (a.status < 0) return;
  const auto c = body(rt, "fill", [](const consort_call &) { return CONSORT_OK; });
  const Answer failed(consort_task_wait(rt, Desc(c).w(id).must(rt), kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_NOMEM, failed, {"giant", "fill"}));
  consort_failure ignored{};
  ignored.size = sizeof ignored;
  (void)consort_group_wait(rt, {0}, kLong, 0);
}

TEST_F(DataApi, AcceptsEmptyData) {
  const consort_vector_args none{nullptr, 0, 4};
  ASSERT_OK(reg("vector", &none, sizeof none));
  const auto c = body(rt, "looks", [](const consort_call &k) {
    EXPECT_EQ(static_cast<const consort_vector_view *>(k.views[0])->n, 0u);
    return CONSORT_OK;
  });
  EXPECT_OK(consort_task_wait(rt, Desc(c).rw(id).must(rt), kLong, 0));
  EXPECT_OK(consort_unregister(rt, id));
}

TEST_F(DataApi, CountsRegisteredData) {
  int x[3] = {};
  EXPECT_EQ(registered(), 0u);
  const auto a = variable_of(rt, &x[0]), b = variable_of(rt, &x[1]);
  EXPECT_EQ(registered(), 2u);
  EXPECT_OK(consort_unregister(rt, a));
  EXPECT_EQ(registered(), 1u);
  EXPECT_OK(consort_unregister_later(rt, b));
  EXPECT_TRUE(eventually([&] { return registered() == 0; }));
}

// Also where a worker ends it: the datum is counted out, its memory and its slot are handed back before the call returns.
TEST_F(DataApi, UnregisterReturnsAfterMemoryAndSlotAreFree) {
  const auto fill = body(rt, "fill", [](const consort_call &k) { return *pointer<long>(k, 0) = 1, CONSORT_OK; });
  const auto read = body(rt, "read", [](const consort_call &k) { return *pointer<long>(k, 0) == 1 ? CONSORT_OK : CONSORT_E_INTERNAL; });
  const consort_vector_args homeless{nullptr, 1000, sizeof(long)};
  uint32_t slot = 0;
  for (int round = 0; round < 3000 / kSlow; ++round) {
    ASSERT_OK(reg("vector", &homeless, sizeof homeless, round % 2 ? "named" : nullptr));
    if (!slot) slot = static_cast<uint32_t>(id.v);
    ASSERT_EQ(static_cast<uint32_t>(id.v), slot) << "round " << round << ": the slot was not back";
    Desc(fill).w(id).must(rt);
    for (int i = 0; i < 3; ++i) Desc(read).r(id).must(rt);
    ASSERT_OK(consort_unregister(rt, id));
    ASSERT_EQ(registered(), 0u) << "round " << round;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_group_wait(rt, {0}, kLong, 0));
}

TEST_F(DataApi, UnregisteredHandlesAreStale) {
  int x = 0;
  const auto dead = variable_of(rt, &x, "gone");
  const auto c = body(rt, "touch", [](const consort_call &) { return CONSORT_OK; });
  EXPECT_OK(consort_unregister(rt, dead));
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(rt, dead), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister_later(rt, dead), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_invalidate(rt, dead), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_acquire(rt, dead, CONSORT_M_R, 0, &hold), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(c).r(dead).to(rt), "stale");
  for (int i = 0; i < 100; ++i) {  // its slot is used again: still dead
    const auto other = variable_of(rt, &x);
    EXPECT_NE(other.v, dead.v);
    EXPECT_SAYS(CONSORT_E_STALE, Desc(c).r(dead).to(rt), "stale");
    EXPECT_OK(consort_unregister(rt, other));
  }
}

TEST_F(DataApi, RefusesUnknownHandles) {
  const auto c = body(rt, "touch", [](const consort_call &) { return CONSORT_OK; });
  for (const uint64_t v : {uint64_t{0}, uint64_t{1}, uint64_t{0x7fffffff}, uint64_t{5} << 32 | 3, ~uint64_t{0}}) {
    const consort_data_id never{v};
    SCOPED_TRACE(v);
    const auto refused = [](const Answer &a) { return a.status == CONSORT_E_STALE || a.status == CONSORT_E_INVAL; };
    EXPECT_TRUE(refused(consort_unregister(rt, never)));
    EXPECT_TRUE(refused(consort_unregister_later(rt, never)));
    EXPECT_TRUE(refused(consort_invalidate(rt, never)));
    EXPECT_TRUE(refused(consort_acquire(rt, never, CONSORT_M_RW, 0, &hold)));
    EXPECT_TRUE(refused(Desc(c).rw(never).to(rt)));
  }
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unregister(rt, {0}), "null");
}

TEST_F(DataApi, UnregisterWaitsAndCopiesContentsHome) {
  std::vector<int> v(1000, 0);
  const auto x = vector_of(rt, v.data(), v.size(), sizeof v[0]);
  const auto c = body(rt, "add", [](const consort_call &k) {
    std::this_thread::sleep_for(100us);  // nap: time for a body beside it, which would be wrong
    for (int i = 0; i < 1000; ++i) pointer<int>(k, 0)[i]++;
    return CONSORT_OK;
  });
  for (int i = 0; i < 20; ++i) Desc(c).rw(x).must(rt);
  EXPECT_OK(consort_unregister(rt, x));
  for (const int e : v) ASSERT_EQ(e, 20);
}

TEST_F(DataApi, UnregisterLaterInvalidatesTheHandleAtOnce) {
  std::vector<int> v(10, 0);
  const auto x = vector_of(rt, v.data(), v.size(), sizeof v[0]);
  Gate gate;
  const auto c =
      body(rt, "add", [&](const consort_call &k) { return gate.pass(), pointer<int>(k, 0)[0]++, CONSORT_OK; });
  for (int i = 0; i < 5; ++i) Desc(c).rw(x).must(rt);
  EXPECT_OK(consort_unregister_later(rt, x));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(c).rw(x).to(rt), "stale");
  EXPECT_EQ(registered(), 1u);
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(v[0], 5);
  EXPECT_TRUE(eventually([&] { return registered() == 0; }));
}

TEST_F(DataApi, UnregisterInACallbackIsBusyUnlikeLater) {
  int v = 0;
  struct Seen { Rt *rt; consort_data_id x; Answer now{CONSORT_OK}, later{CONSORT_OK}; } seen{&rt, variable_of(rt, &v)};
  const auto c = body(rt, "touch", [](const consort_call &) { return CONSORT_OK; });
  Desc(c).rw(seen.x).done([](void *p, const consort_outcome *) {
    auto *s = static_cast<Seen *>(p);
    s->now = Answer(consort_unregister(*s->rt, s->x));
    s->later = Answer(consort_unregister_later(*s->rt, s->x));
  }, &seen).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, seen.now, {"consort_unregister_later"}));
  EXPECT_TRUE(answered(CONSORT_OK, seen.later, {}));
  EXPECT_TRUE(eventually([&] { return registered() == 0; }));
}

TEST_F(DataApi, UnregisterInATaskThatUsesTheDatumIsBusy) {
  int v = 0;
  const auto x = variable_of(rt, &v, "mine");
  Answer inside(CONSORT_OK);
  const auto c =
      body(rt, "selfish", [&](const consort_call &) { return inside = Answer(consort_unregister(rt, x)), CONSORT_OK; });
  EXPECT_OK(consort_task_wait(rt, Desc(c).rw(x).must(rt), kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, inside, {"selfish", "mine"}));
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(DataApi, UnregisterInAnotherTaskSucceeds) {
  const auto c = body(rt, "local", [&](const consort_call &) -> consort_status {
    int v = 0;
    const auto x = variable_of(rt, &v);
    return consort_unregister(rt, x);
  });
  for (int i = 0; i < 50; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(registered(), 0u);
}

// -- acquire ---------------------------------------------------------------------------------------------------

TEST_F(DataApi, AcquireWaitsInOrderAndReturnsTheView) {
  std::vector<int> v(3, 1);
  const auto x = vector_of(rt, v.data(), v.size(), sizeof v[0]);
  const auto c = body(rt, "double", [](const consort_call &k) {
    // nap: the acquire comes before the tasks have run
    return std::this_thread::sleep_for(1ms), pointer<int>(k, 0)[1] *= 2, CONSORT_OK;
  });
  for (int i = 0; i < 10; ++i) Desc(c).rw(x).must(rt);
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  const auto *view = static_cast<const consort_vector_view *>(hold.view);
  ASSERT_NE(view, nullptr);
  EXPECT_EQ(view->n, 3u);
  EXPECT_EQ(static_cast<int *>(consort_ptr(view->addr))[1], 1024);
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_SAYS(CONSORT_E_STALE, consort_release(rt, hold), "released");
}

TEST_F(DataApi, AcquireRefusesBadArguments) {
  int v = 0;
  const auto x = variable_of(rt, &v);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire(rt, x, CONSORT_M_R, 0, nullptr), "NULL");
  for (const uint32_t mode : {0u, uint32_t{CONSORT_M_SCRATCH}, uint32_t{CONSORT_M_REDUX}, 7u, 0x80000001u})
    EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire(rt, x, mode, 0, &hold), "mode") << mode;
  EXPECT_LT(consort_release(rt, consort_hold{{0}, nullptr}), 0);
  EXPECT_LT(consort_release(rt, consort_hold{{~uint64_t{0}}, nullptr}), 0);
  const auto t = Desc().rw(x).must(rt);
  EXPECT_LT(consort_release(rt, consort_hold{t, nullptr}), 0) << "a task is no hold";
}

TEST_F(DataApi, HoldsToReadShareAndBlockWriters) {
  int v = 5;
  const auto x = variable_of(rt, &v);
  std::atomic<int> reads{0}, writes{0};
  const auto reader = body(rt, "reader", [&](const consort_call &) { return ++reads, CONSORT_OK; });
  const auto writer = body(rt, "writer", [&](const consort_call &) { return ++writes, CONSORT_OK; });
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  Desc(reader).r(x).must(rt);
  EXPECT_TRUE(eventually([&] { return reads == 1; })) << "a reader beside a held read";
  Desc(writer).rw(x).must(rt);
  Desc(reader).r(x).must(rt);
  EXPECT_TRUE(settled());
  EXPECT_EQ(writes, 0);
  EXPECT_EQ(reads, 1) << "a reader does not overtake the writer before it";
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(writes, 1);
  EXPECT_EQ(reads, 2);
}

TEST_F(DataApi, AcquireTimeoutLeavesNoDependence) {
  int v = 0;
  const auto x = variable_of(rt, &v, "slow one");
  Gate gate;
  const auto c =
      body(rt, "waits", [&](const consort_call &k) { return gate.pass(), ++*pointer<int>(k, 0), CONSORT_OK; });
  Desc(c).rw(x).must(rt);
  ASSERT_TRUE(eventually([&] { return gate.waiting() > 0; }));
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_acquire(rt, x, CONSORT_M_RW, 0, &hold), "time");
  const auto before = std::chrono::steady_clock::now();
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_acquire(rt, x, CONSORT_M_R, 20'000'000, &hold), "time");
  EXPECT_GE(std::chrono::steady_clock::now() - before, 19ms);
  EXPECT_LE(std::chrono::steady_clock::now() - before, 5s * kSlow);
  const auto t = Desc(c).rw(x).must(rt);  // comes after the abandoned ones, which must not hold it up
  gate.open();
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(v, 2);
  EXPECT_OK(consort_release(rt, hold));
}

TEST_F(DataApi, ConflictingHoldOfOneThreadIsBusy) {
  int v = 0;
  const auto x = variable_of(rt, &v, "mine");
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold));
  consort_hold again{};
  EXPECT_SAYS(CONSORT_E_BUSY, consort_acquire(rt, x, CONSORT_M_R, 1'000'000, &again), "mine");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_acquire(rt, x, CONSORT_M_W, 1'000'000, &again), "mine");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_unregister(rt, x), "mine");
  EXPECT_OK(consort_release(rt, hold));
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  EXPECT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &again)) << "two reads are no conflict";
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_release(rt, again));
}

TEST_F(DataApi, WaitForATaskBehindTheOwnHoldTimesOut) {
  int v = 0;
  const auto x = variable_of(rt, &v);
  const auto c = body(rt, "needs", [](const consort_call &) { return CONSORT_OK; });
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold));
  const auto t = Desc(c).rw(x).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 10'000'000, 0), "time");
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_wait_all(rt, 10'000'000, 0), "time");
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
}

TEST_F(DataApi, HoldMayBeReleasedByAnotherThread) {
  int v = 0;
  const auto x = variable_of(rt, &v);
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold));
  std::thread([&] { EXPECT_OK(consort_release(rt, hold)); }).join();
  EXPECT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold));
  EXPECT_OK(consort_release(rt, hold));
}

TEST_F(DataApi, ConcurrentHoldsAreExclusive) {
  long v = 0;
  const auto x = variable_of(rt, &v);
  const auto c = body(rt, "inc", [](const consort_call &k) { return ++*pointer<long>(k, 0), CONSORT_OK; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) {
        consort_hold h;
        need(consort_acquire(rt, x, CONSORT_M_RW, kLong, &h), "acquire");
        ++*static_cast<long *>(consort_ptr(static_cast<const consort_variable_view *>(h.view)->addr));
        need(consort_release(rt, h), "release");
        need(Desc(c).rw(x).to(rt), "submit");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(v, 3 * 300 * 2);
}

// -- contents --------------------------------------------------------------------------------------------------

TEST_F(DataApi, DataWithoutAHomeAreAllocatedAtFirstWrite) {
  const consort_vector_args a{nullptr, 5000, sizeof(int)};
  ASSERT_OK(reg("vector", &a, sizeof a, "born late"));
  const auto fill = body(rt, "fill", [](const consort_call &k) {
    for (int i = 0; i < 5000; ++i) pointer<int>(k, 0)[i] = i;
    return CONSORT_OK;
  });
  const auto sum = body(rt, "sum", [](const consort_call &k) {
    long s = 0;
    for (int i = 0; i < 5000; ++i) s += pointer<int>(k, 0)[i];
    EXPECT_EQ(s, 5000L * 4999 / 2);
    return CONSORT_OK;
  });
  Desc(fill).w(id).must(rt);
  for (int i = 0; i < 10; ++i) Desc(sum).r(id).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_OK(consort_acquire(rt, id, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(static_cast<int *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr))[77], 77);
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_unregister(rt, id));
}

TEST_F(DataApi, ReadOfUnwrittenDataNamesDatumAndTask) {
  const consort_vector_args a{nullptr, 10, 4};
  ASSERT_OK(reg("vector", &a, sizeof a, "blank page"));
  std::atomic<int> ran{0};
  const auto c = body(rt, "reader", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const Answer task(consort_task_wait(rt, Desc(c).r(id).name("early bird").must(rt), kLong, 0));
  EXPECT_LT(task.status, 0);
  EXPECT_NE(task.text.find("blank page"), std::string::npos) << task.text;
  EXPECT_NE(task.text.find("early bird"), std::string::npos) << task.text;
  const Answer rw(consort_task_wait(rt, Desc(c).rw(id).must(rt), kLong, 0));
  EXPECT_LT(rw.status, 0) << "RW reads too";
  EXPECT_EQ(ran, 0);
  (void)consort_group_wait(rt, {0}, kLong, 0);
}

TEST_F(DataApi, AcquireOfUnwrittenDataFails) {
  const consort_vector_args a{nullptr, 10, 4};
  ASSERT_OK(reg("vector", &a, sizeof a, "blank page"));
  const Answer r(consort_acquire(rt, id, CONSORT_M_R, kLong, &hold));
  EXPECT_LT(r.status, 0);
  EXPECT_NE(r.text.find("blank page"), std::string::npos) << r.text;
  ASSERT_OK(consort_acquire(rt, id, CONSORT_M_W, kLong, &hold)) << "writing it is fine";
  std::memset(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr), 7, 40);
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_acquire(rt, id, CONSORT_M_R, kLong, &hold));
  EXPECT_OK(consort_release(rt, hold));
}

TEST_F(DataApi, InvalidateTakesEffectInProgramOrder) {
  int v = 3;
  const auto x = variable_of(rt, &v, "dropped");
  std::atomic<int> ran{0};
  const auto reader = body(rt, "reader", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto writer = body(rt, "writer", [&](const consort_call &k) { return *pointer<int>(k, 0) = 9, CONSORT_OK; });
  const auto before = Desc(reader).r(x).must(rt);
  EXPECT_OK(consort_invalidate(rt, x));
  const auto after = Desc(reader).r(x).must(rt);
  EXPECT_OK(consort_task_wait(rt, before, kLong, 0));
  const Answer a(consort_task_wait(rt, after, kLong, 0));
  EXPECT_LT(a.status, 0);
  EXPECT_NE(a.text.find("dropped"), std::string::npos) << a.text;
  EXPECT_EQ(ran, 1);
  const auto w = Desc(writer).w(x).must(rt), r = Desc(reader).r(x).must(rt);
  EXPECT_OK(consort_task_wait(rt, w, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, r, kLong, 0));
  (void)consort_group_wait(rt, {0}, kLong, 0);
}

TEST_F(DataApi, DataOfNoBytesOrderTasks) {
  const auto x = token_of(rt);
  std::vector<int> order;
  Bodies local;
  for (int i = 0; i < 200; ++i)
    Desc(local(rt, "step", [&order, i](const consort_call &) { return order.push_back(i), CONSORT_OK; }))
        .rw(x)
        .must(rt);
  EXPECT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(order[i], i);
  EXPECT_OK(consort_release(rt, hold));
  EXPECT_OK(consort_unregister(rt, x));
}

TEST_F(DataApi, ScratchIsPrivateToTheWorker) {
  const consort_vector_args a{nullptr, 1000, 8};
  ASSERT_OK(reg("vector", &a, sizeof a, "bench"));
  std::atomic<int> bad{0}, together{0}, most{0};
  const auto c = body(rt, "uses", [&](const consort_call &k) -> consort_status {
    int now = ++together, seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {}
    auto *p = pointer<uint64_t>(k, 0);
    const uint64_t mine = reinterpret_cast<uint64_t>(&now) ^ k.worker;
    for (int i = 0; i < 1000; ++i) p[i] = mine;
    std::this_thread::sleep_for(100us);  // nap: time for a body on the same memory, which would be wrong
    for (int i = 0; i < 1000; ++i)
      if (p[i] != mine) ++bad;
    --together;
    return CONSORT_OK;
  });
  for (int i = 0; i < 200; ++i) Desc(c).scratch(id).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(bad, 0);
  EXPECT_GT(most, 1) << "scratch orders nothing: two should have met";
  EXPECT_OK(consort_unregister(rt, id));
}

TEST_F(DataApi, RepeatedRegistrationLeavesNothing) {
  int v = 0;
  const auto c = body(rt, "inc", [](const consort_call &k) { return ++*pointer<int>(k, 0), CONSORT_OK; });
  for (int i = 0; i < 20000; ++i) {
    const auto x = variable_of(rt, &v);
    if (i % 10 == 0) Desc(c).rw(x).must(rt);
    ASSERT_OK(consort_unregister(rt, x));
  }
  EXPECT_EQ(v, 2000);
  EXPECT_EQ(registered(), 0u);
}

}  // namespace
