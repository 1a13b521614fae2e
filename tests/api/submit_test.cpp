// Submissions: accepted and refused descriptions, arguments, order, priorities, bindings, callbacks, nested tasks.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct Submit : ::testing::Test {
  Rt rt;
  Bodies body;
  int x = 0, y = 0;
  consort_data_id a = variable_of(rt, &x, "a"), b = variable_of(rt, &y, "b");
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  void TearDown() override { EXPECT_OK(consort_wait_all(rt, kLong, 0)); }
};

TEST_F(Submit, RefusesBadDescriptions) {
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit(rt, nullptr, nullptr), "NULL");
  consort_task_desc d = CONSORT_TASK_INIT;
  d.size = 16;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit(rt, &d, nullptr), "size");
  d = CONSORT_TASK_INIT;
  d.codelet = nop;
  d.nuses = 1;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit(rt, &d, nullptr), "uses", "NULL");
  d.nuses = 0;
  d.nargs = 1;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit(rt, &d, nullptr), "args", "NULL");
  d.nargs = 0;
  d.nafter = 2;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submit(rt, &d, nullptr), "after", "NULL");
}

TEST_F(Submit, RefusesBadModes) {
  for (const uint32_t mode : {0u, 1u << 20, 0x80000001u, uint32_t{CONSORT_M_RW | CONSORT_M_SCRATCH},
                              uint32_t{CONSORT_M_R | CONSORT_M_SCRATCH}})
    EXPECT_SAYS(CONSORT_E_INVAL, Desc(nop).use(a, mode).to(rt), "mode") << mode;
  EXPECT_LT(Desc(nop).use(a, CONSORT_M_REDUX).to(rt), 0);
  EXPECT_OK(Desc(nop).use(a, CONSORT_M_R | CONSORT_M_LOCALITY | CONSORT_M_NOFOOTPRINT).to(rt)) << "hints are fine";
}

TEST_F(Submit, BadHandlesNameTheirPosition) {
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nop).r(a).r({0}).to(rt), "1", "null");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(nop).r(a).r(b).r({uint64_t{77} << 32 | 1}).to(rt), "2", "stale");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(nop).in({uint64_t{9} << 32 | 5}).to(rt), "group");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nop).then({0}).to(rt), "0");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nop).then({~uint64_t{0}}).to(rt), "task");
}

TEST_F(Submit, RefusedTaskLeavesNoDependence) {
  // Its first datum is valid, its second is not: no later task may depend on it.
  for (int i = 0; i < 1000; ++i) EXPECT_LT(Desc(nop).rw(a).rw({0}).name("never").to(rt), 0);
  consort_hold h;
  EXPECT_OK(consort_acquire(rt, a, CONSORT_M_RW, kLong, &h));
  EXPECT_OK(consort_release(rt, h));
  consort_info i{};
  i.size = sizeof i;
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.submitted, i.finished);
}

TEST_F(Submit, ArgumentsOfAllSizes) {
  for (uint32_t n = 0; n <= 255; n += 51) {
    std::vector<uint64_t> seen;
    const auto c = body(rt, "args", [&](const consort_call &k) {
      for (uint32_t i = 0; i < k.nargs; ++i) seen.push_back(value<uint64_t>(k, i));
      return CONSORT_OK;
    });
    Desc t(c);
    for (uint64_t i = 0; i < n; ++i) t.arg(i * 0x0101010101010101u);
    EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
    ASSERT_EQ(seen.size(), n);
    for (uint64_t i = 0; i < n; ++i) EXPECT_EQ(seen[i], i * 0x0101010101010101u);
  }
}

TEST_F(Submit, BytesOfAllSizes) {
  for (const uint32_t n : {1u, 7u, 8u, 9u, 24u, 63u, 64u, 65u, 4096u, 1u << 20}) {
    std::vector<unsigned char> big(n);
    for (uint32_t i = 0; i < n; ++i) big[i] = static_cast<unsigned char>(i * 7 + n);
    const auto expected = big;
    bool same = false;
    const auto c = body(rt, "bytes", [&](const consort_call &k) {
      same = k.args[0].bytes == n && !std::memcmp(reinterpret_cast<const void *>(k.args[0].scalar), expected.data(), n);
      return CONSORT_OK;
    });
    Desc t(c);
    t.args.push_back({CONSORT_ARG_BYTES, n, {0, 0}, 0, reinterpret_cast<uint64_t>(big.data())});
    consort_task_id id{0};
    const Answer answer(t.to(rt, &id));
    if (answer.status < 0) {  // a limit is fine where it is said
      EXPECT_GT(n, 4096u);
      EXPECT_TRUE(answered(CONSORT_E_INVAL, answer, {}));
      continue;
    }
    std::fill(big.begin(), big.end(), 0);
    EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
    EXPECT_TRUE(same) << n;
  }
}

TEST_F(Submit, RefusesBadArguments) {
  const auto refused = [&](consort_arg arg, const char *what) {
    Desc t(nop);
    t.args.push_back(arg);
    EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), "argument") << what;
  };
  refused({CONSORT_ARG_SCALAR, 9, {0, 0}, 0, 0}, "a scalar of nine bytes");
  refused({CONSORT_ARG_BYTES, 16, {0, 0}, 0, 0}, "bytes from nowhere");
  refused({77, 8, {0, 0}, 0, 0}, "a kind that is none");
  refused({0, 8, {0, 0}, 0, 0}, "no kind");
  Desc many(nop);
  for (int i = 0; i < 100000; ++i) many.arg(i);
  EXPECT_SAYS(CONSORT_E_INVAL, many.to(rt), "100000");
}

TEST_F(Submit, TasksMayUseManyData) {
  std::vector<int> v(300);
  std::vector<consort_data_id> ids;
  for (int &e : v) ids.push_back(variable_of(rt, &e));
  const auto c = body(rt, "all", [](const consort_call &k) {
    for (uint32_t i = 0; i < k.nviews; ++i) ++*pointer<int>(k, i);
    return CONSORT_OK;
  });
  for (int round = 0; round < 20; ++round) {
    Desc t(c);
    for (const auto id : ids) t.rw(id);
    t.must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  for (const int e : v) ASSERT_EQ(e, 20);
  Desc t(c);
  for (int i = 0; i < 1000000; ++i) t.r(a);
  EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), "1000000");
  for (const auto id : ids) EXPECT_OK(consort_unregister(rt, id));
}

TEST_F(Submit, TaskMayUseOneDatumTwice) {
  const auto c = body(rt, "twice", [](const consort_call &k) {
    EXPECT_EQ(pointer<int>(k, 0), pointer<int>(k, 1));
    ++*pointer<int>(k, 1);
    return CONSORT_OK;
  });
  for (int i = 0; i < 50; ++i) {
    Desc(c).r(a).rw(a).must(rt);
    Desc(c).rw(a).rw(a).must(rt);
    Desc(c).w(a).r(a).must(rt);
    Desc(nop).r(a).r(a).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 150);
}

TEST_F(Submit, AcceptsBriefDescriptions) {
  consort_task_desc d = CONSORT_TASK_INIT;
  d.size = CONSORT_TASK_BRIEF;
  d.codelet = nop;
  std::memset(&d.after, 0xff, sizeof d - CONSORT_TASK_BRIEF);  // must not be looked at
  consort_task_id t{0};
  EXPECT_OK(consort_submit(rt, &d, &t));
  EXPECT_NE(t.v, 0u);
  EXPECT_OK(consort_submit(rt, &d, nullptr));
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
}

TEST_F(Submit, AcceptsDescriptionsOfNewerHeaders) {
  struct Later { consort_task_desc d = CONSORT_TASK_INIT; uint64_t more[4] = {1, 2, 3, 4}; } later;
  later.d.size = sizeof later;
  later.d.codelet = nop;
  EXPECT_OK(consort_submit(rt, &later.d, nullptr));
}

TEST_F(Submit, ProgramOrderOnOneDatum) {
  std::vector<int> order;
  const auto c =
      body(rt, "append", [&](const consort_call &k) { return order.push_back(value<int>(k, 0)), CONSORT_OK; });
  for (int i = 0; i < 5000; ++i) Desc(c).rw(a).arg(i).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  ASSERT_EQ(order.size(), 5000u);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(order[i], i);
}

TEST_F(Submit, ReadersRunTogether) {
  std::atomic<int> in{0};
  std::atomic<bool> met{false};
  const auto c = body(rt, "reader", [&](const consort_call &) {
    ++in;
    eventually([&] { return met || in == 2; }, 5000ms);
    if (in == 2) met = true;
    return CONSORT_OK;
  });
  Desc(c).r(a).must(rt);
  Desc(c).r(a).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_TRUE(met) << "two readers of one datum, two workers";
}

TEST_F(Submit, WaitsForExplicitPredecessors) {
  Gate gate;
  std::atomic<int> done{0};
  const auto slow = body(rt, "slow", [&](const consort_call &) { return gate.pass(), ++done, CONSORT_OK; });
  const auto last = body(rt, "last", [&](const consort_call &) {
    return done == 2 ? CONSORT_OK : consort_fail(CONSORT_E_INTERNAL, "too early");
  });
  const auto p = Desc(slow).must(rt), q = Desc(slow).must(rt), old = Desc(nop).must(rt);
  const auto t = Desc(last).then(p).then(q).then(old).then(p).must(rt);
  EXPECT_EQ(consort_task_state(rt, t), CONSORT_AGAIN);
  gate.open();
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_OK(consort_task_wait(rt, Desc(last).then(p).then(t).must(rt), kLong, 0)) << "predecessors long done";
}

TEST_F(Submit, ManyPredecessors) {
  std::vector<consort_task_id> all;
  std::atomic<int> done{0};
  const auto c = body(rt, "one", [&](const consort_call &) { return ++done, CONSORT_OK; });
  const auto last = body(rt, "last", [&](const consort_call &) {
    return done == 500 ? CONSORT_OK : consort_fail(CONSORT_E_INTERNAL, "too early");
  });
  Desc t(last);
  for (int i = 0; i < 500; ++i) t.then(Desc(c).must(rt));
  EXPECT_OK(consort_task_wait(rt, t.must(rt), kLong, 0));
}

TEST_F(Submit, EmptyTaskWaitsForItsData) {
  std::atomic<int> done{0};
  const auto c =  // nap: time for the empty task to end early, which would be wrong
      body(rt, "slow", [&](const consort_call &) { return std::this_thread::sleep_for(2ms), ++done, CONSORT_OK; });
  Desc(c).rw(a).must(rt);
  Desc(c).rw(b).must(rt);
  EXPECT_OK(consort_task_wait(rt, Desc().r(a).r(b).must(rt), kLong, 0));
  EXPECT_EQ(done, 2);
  EXPECT_OK(consort_task_wait(rt, Desc().must(rt), kLong, 0)) << "of nothing at all";
}

TEST_F(Submit, EmptyWriterMakesNoContents) {
  const consort_vector_args args{nullptr, 4, 4};
  const consort_data_desc d{sizeof d, 0, "vector", &args, sizeof args, "blank"};
  consort_data_id blank;
  ASSERT_OK(consort_register(rt, &d, &blank));
  EXPECT_OK(consort_task_wait(rt, Desc().rw(blank).must(rt), kLong, 0)) << "it orders, it reads nothing";
  EXPECT_OK(consort_unregister(rt, blank));
}

TEST_F(Submit, BoundTasksRunOnTheirWorker) {
  std::atomic<int> wrong{0}, ran{0};
  const auto c = body(rt, "pinned", [&](const consort_call &k) {
    return wrong += k.worker != value<uint32_t>(k, 0), ++ran, CONSORT_OK;
  });
  for (uint32_t i = 0; i < 400; ++i) Desc(c).on(i % 2).arg(i % 2).must(rt);
  for (uint32_t i = 0; i < 400; ++i) Desc(c).on(i % 2).arg(i % 2).rw(a).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 800);
  EXPECT_EQ(wrong, 0);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(c).on(2).to(rt), "team cpu0,1", "name a worker");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(c).on(3).to(rt), "worker 3", "there are 2", "1 teams");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(c).on(4000000).to(rt), "4000000");
}

TEST_F(Submit, CallbackReportsTheEndOnce) {
  struct Seen {
    std::atomic<int> calls{0};
    consort_status status = 99;
    std::string name, text;
    uint64_t task = 0;
    uint32_t worker = 99;
  };
  const auto note = [](void *p, const consort_outcome *o) {
    auto *s = static_cast<Seen *>(p);
    s->status = o->status;
    s->name = o->name ? o->name : "(null)";
    s->text = o->text ? o->text : "(null)";
    s->task = o->task.v;
    s->worker = o->worker;
    ++s->calls;
  };
  Seen good, bad, empty;
  const auto breaks = body(rt, "breaks", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no paper"); });
  const auto t = Desc(nop).name("a good one").done(note, &good).must(rt);
  const auto u = Desc(breaks).done(note, &bad).must(rt);
  const auto v = Desc().done(note, &empty).must(rt);
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, u, kLong, 0), "no paper");
  EXPECT_OK(consort_task_wait(rt, v, kLong, 0));
  EXPECT_EQ(good.calls, 1);
  EXPECT_EQ(good.status, CONSORT_OK);
  EXPECT_EQ(good.name, "a good one");
  EXPECT_EQ(good.task, t.v);
  EXPECT_LT(good.worker, 2u);
  EXPECT_EQ(bad.calls, 1);
  EXPECT_EQ(bad.status, CONSORT_E_IO);
  EXPECT_EQ(bad.name, "breaks");
  EXPECT_NE(bad.text.find("no paper"), std::string::npos) << bad.text;
  EXPECT_EQ(empty.calls, 1);
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "no paper");
}

TEST_F(Submit, CallbacksMaySubmit) {
  struct Chain {
    Rt *rt;
    consort_codelet_id c;
    std::atomic<int> left{200};
    std::atomic<int> errors{0};
  } chain{&rt, nop};
  static consort_done_fn *again;
  again = [](void *p, const consort_outcome *) {
    auto *k = static_cast<Chain *>(p);
    if (--k->left > 0 && Desc(k->c).done(again, k).to(*k->rt) < 0) ++k->errors;
  };
  Desc(nop).done(again, &chain).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(chain.left, 0);
  EXPECT_EQ(chain.errors, 0);
}

TEST_F(Submit, TasksSubmitTasks) {
  std::atomic<int> leaves{0};
  consort_codelet_id c{0};
  c = body(rt, "tree", [&](const consort_call &k) -> consort_status {
    const int depth = value<int>(k, 0);
    if (depth == 0) return ++leaves, CONSORT_OK;
    for (int i = 0; i < 2; ++i)
      if (const auto s = Desc(c).arg(depth - 1).to(rt); s < 0) return s;
    return CONSORT_OK;
  });
  Desc(c).arg(12).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(leaves, 1 << 12);
}

TEST_F(Submit, ConcurrentSubmitters) {
  std::atomic<int> ran{0};
  const auto c = body(rt, "n", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto inc = body(rt, "inc", [&](const consort_call &k) { return ++*pointer<int>(k, 0), CONSORT_OK; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        need(Desc(c).to(rt), "submit");
        if (i % 4 == 0) need(Desc(inc).rw(a).to(rt), "submit");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 8000);
  EXPECT_EQ(x, 2000);
}

TEST(Priorities, OrderTasksUnderPrio) {
  Rt rt({{"workers", "1"}, {"scheduler", "prio"}});
  Bodies body;
  Gate gate;
  std::vector<int> order;
  const auto door = body(rt, "door", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto c = body(rt, "note", [&](const consort_call &k) { return order.push_back(value<int>(k, 0)), CONSORT_OK; });
  Desc(door).priority(INT32_MAX).must(rt);  // or more urgent tasks may run before it
  std::atomic<bool> all{false};
  std::thread opener([&] {
    eventually([&] { return all.load() && gate.waiting() > 0; });
    gate.open();
  });
  for (const int p : {0, 5, -3, 5, 100, 1, INT32_MAX, INT32_MIN, 0}) Desc(c).priority(p).arg(p).must(rt);
  all = true;
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  opener.join();
  EXPECT_EQ(order, (std::vector<int>{INT32_MAX, 100, 5, 5, 1, 0, 0, -3, INT32_MIN}));
}

TEST(SubmissionWindow, BoundsPendingTasks) {
  for (const char *window : {"1", "2", "16"}) {
    Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"window", window}});
    Bodies body;
    std::atomic<int> ran{0};
    std::atomic<uint64_t> most{0};
    const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    for (int i = 0; i < 3000; ++i) {
      Desc(c).must(rt);
      const uint64_t pending = static_cast<uint64_t>(i + 1 - ran.load());
      if (pending > most) most = pending;
    }
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, 3000);
    EXPECT_LE(most, static_cast<uint64_t>(std::atoi(window))) << "window " << window << ", too many pending";
  }
}

// A task may run and end as soon as its last edge is removed. From then on the submitter does not touch it, however
// many edges there were.
TEST(SubmitEdges, TaskMayEndAsSoonAsItIsLinked) {
  Rt rt({{"workers", "3"}, {"cpu.topology", kFourCores}});
  const auto c = codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), CONSORT_OK; });
  const auto look = codelet(rt, "look", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  long x[20] = {};
  consort_data_id d[20];
  for (int i = 0; i < 20; ++i) d[i] = variable_of(rt, &x[i]);
  constexpr int kRounds = 2000 / kSlow;
  for (int round = 0; round < kRounds; ++round)
    for (const int n : {4, 8, 12, 16, 20}) {
      for (int i = 0; i < n; ++i) Desc(c).rw(d[i]).must(rt);
      Desc all(look);
      for (int i = 0; i < n; ++i) all.r(d[i]);
      all.must(rt);
    }
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(x[i], (5 - i / 4) * kRounds) << i;
}

}  // namespace
