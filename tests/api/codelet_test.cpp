// Codelets: accepted and refused descriptions, the arguments of a body, removal.
#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

consort_status nothing(const consort_call *) { return CONSORT_OK; }

struct Codelets : ::testing::Test {
  Rt rt;
  Bodies body;
  consort_impl impl = {"cpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  consort_codelet d = CONSORT_CODELET_INIT;
  consort_codelet_id id{0};
  Codelets() {
    d.name = "good";
    d.impls = &impl;
    d.nimpls = 1;
  }
};

TEST_F(Codelets, RefusesBadDescriptions) {
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, nullptr, &id), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &d, nullptr), "NULL");
  auto bad = d;
  bad.size = 4;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &bad, &id), "size", "4");
  bad = d;
  bad.name = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &bad, &id), "name");
  bad = d;
  bad.nimpls = 0;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &bad, &id), "good", "implementation");
  bad = d;
  bad.impls = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &bad, &id), "good", "implementation");
  impl.klass = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &d, &id), "good", "class");
  impl.klass = "cpu";
  impl.fn = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_add(rt, &d, &id), "good", "cpu");
}

TEST_F(Codelets, DescriptionIsCopied) {
  {
    std::string name = "temporary", klass = "cpu";
    std::vector<uint32_t> modes = {CONSORT_M_RW};
    const auto fn = [](const consort_call *c) {
      return consort_fail(CONSORT_E_IO, c->user ? "user came" : "no user");
    };
    consort_impl i = {klass.c_str(), fn, this, "impl", nullptr, nullptr, nullptr, 0};
    auto k = d;
    k.name = name.c_str();
    k.impls = &i;
    k.nmodes = 1;
    k.modes = modes.data();
    ASSERT_OK(consort_codelet_add(rt, &k, &id));
    name.assign("xxxxxxxxx");
    klass.assign("xxx");
    modes[0] = 77;
  }
  int x = 0;
  const auto data = variable_of(rt, &x);
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, Desc(id).rw(data).must(rt), kLong, 0), "temporary", "user came");
}

TEST_F(Codelets, AbsentClassIsRefusedAtSubmission) {
  impl.klass = "abacus";
  d.name = "beads";
  ASSERT_OK(consort_codelet_add(rt, &d, &id));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(id).to(rt), "beads", "abacus", "cpu");
}

TEST_F(Codelets, SeveralClassesRunOnThePresentOne) {
  const consort_impl two[] = {{"abacus", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0}, impl, impl};
  d.impls = two;
  d.nimpls = 3;
  ASSERT_OK(consort_codelet_add(rt, &d, &id));
  EXPECT_OK(consort_task_wait(rt, Desc(id).must(rt), kLong, 0));
}

TEST_F(Codelets, PortableTextNeedsAUnitThatCompiles) {
  impl = {"cpu", nullptr, nullptr, nullptr, "cl", "kernel void f() {}", "f", 0};
  const Answer added(consort_codelet_add(rt, &d, &id));
  if (added.status >= 0) {
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(id).to(rt), "good");
  }
}

TEST_F(Codelets, NumberAndModesOfDataAreChecked) {
  int x = 0, y = 0;
  const auto a = variable_of(rt, &x), b = variable_of(rt, &y);
  const uint32_t modes[] = {CONSORT_M_R, CONSORT_M_RW};
  d.nmodes = 2;
  d.modes = modes;
  ASSERT_OK(consort_codelet_add(rt, &d, &id));
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(id).to(rt), "good", "2", "0");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(id).r(a).to(rt), "good", "2", "1");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(id).r(a).rw(b).r(a).to(rt), "good", "2", "3");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(id).rw(a).rw(b).to(rt), "good");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(id).r(a).w(b).to(rt), "good");
  EXPECT_OK(Desc(id).r(a).rw(b).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Codelets, BodyReceivesViewsAndArguments) {
  std::vector<int> v(7, 3);
  double s = 2.5;
  const auto vec = vector_of(rt, v.data(), v.size(), sizeof v[0]);
  const auto var = variable_of(rt, &s);
  struct Big { char c[100]; } big{};
  std::strcpy(big.c, "a struct of a hundred bytes, by value");
  const auto c = body(rt, "looks", [&](const consort_call &k) -> consort_status {
    EXPECT_GE(k.size, CONSORT_END(consort_call, user));
    EXPECT_EQ(k.nviews, 2u);
    EXPECT_EQ(k.nargs, 4u);
    EXPECT_EQ(k.rank, 0u);
    EXPECT_EQ(k.team, 1u);
    EXPECT_LT(k.worker, 2u);
    const auto *w = static_cast<const consort_vector_view *>(k.views[0]);
    EXPECT_EQ(consort_ptr(w->addr), v.data());
    EXPECT_EQ(w->n, 7u);
    EXPECT_EQ(w->elem, sizeof(int));
    EXPECT_EQ(pointer<double>(k, 1), &s);
    EXPECT_EQ(value<char>(k, 0), 'c');
    EXPECT_EQ(value<double>(k, 1), -0.5);
    EXPECT_EQ(k.args[2].kind, static_cast<uint32_t>(CONSORT_ARG_BYTES));
    EXPECT_EQ(k.args[2].bytes, sizeof big);
    EXPECT_STREQ(reinterpret_cast<const char *>(k.args[2].scalar), big.c);
    EXPECT_NE(reinterpret_cast<const char *>(k.args[2].scalar), big.c) << "values are copied";
    EXPECT_EQ(value<uint16_t>(k, 3), 65000);
    return CONSORT_OK;
  });
  Desc t(c);
  t.rw(vec).r(var).arg('c').arg(-0.5);
  t.args.push_back({CONSORT_ARG_BYTES, sizeof big, {0, 0}, 0, reinterpret_cast<uint64_t>(&big)});
  t.arg(uint16_t{65000});
  const auto id = t.must(rt);
  std::memset(t.args.data(), 0x55, t.args.size() * sizeof t.args[0]);  // the caller's again, at once
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
}

TEST_F(Codelets, RemovedCodeletsAreStale) {
  ASSERT_OK(consort_codelet_add(rt, &d, &id));
  EXPECT_OK(Desc(id).to(rt));
  EXPECT_OK(consort_codelet_remove(rt, id));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(id).to(rt), "codelet");
  EXPECT_SAYS(CONSORT_E_STALE, consort_codelet_remove(rt, id), "codelet");
  consort_codelet_id next{0};
  ASSERT_OK(consort_codelet_add(rt, &d, &next));
  EXPECT_NE(next.v, id.v);
  EXPECT_SAYS(CONSORT_E_STALE, Desc(id).to(rt), "codelet");
  EXPECT_OK(Desc(next).to(rt));
}

TEST_F(Codelets, RefusesUnknownHandles) {
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(consort_codelet_id{12345}).to(rt), "codelet");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(consort_codelet_id{~uint64_t{0}}).to(rt), "codelet");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_remove(rt, {0}), "codelet");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_codelet_remove(rt, {~uint64_t{0}}), "codelet");
}

TEST_F(Codelets, RemovalWaitsForItsTasks) {
  Gate gate;
  std::atomic<int> ended{0};
  const auto c = body(rt, "slow", [&](const consort_call &) {
    // nap: the removal overlaps with bodies
    return gate.pass(), std::this_thread::sleep_for(2ms), ++ended, CONSORT_OK;
  });
  for (int i = 0; i < 5; ++i) Desc(c).must(rt);
  std::atomic<bool> removed{false};
  std::thread remover([&] {
    EXPECT_OK(consort_codelet_remove(rt, c));
    EXPECT_EQ(ended, 5);
    removed = true;
  });
  EXPECT_TRUE(settled());
  EXPECT_FALSE(removed);
  gate.open();
  remover.join();
  EXPECT_EQ(ended, 5);
}

TEST_F(Codelets, RemovalInsideATaskOrCallbackIsBusy) {
  Answer task(CONSORT_OK), callback(CONSORT_OK);
  ASSERT_OK(consort_codelet_add(rt, &d, &id));
  struct Both { Rt *rt; consort_codelet_id id; Answer *answer; } both{&rt, id, &callback};
  const auto c = body(rt, "remover",
                      [&](const consort_call &) { return task = Answer(consort_codelet_remove(rt, id)), CONSORT_OK; });
  const auto t = Desc(c).done([](void *p, const consort_outcome *) {
    auto *b = static_cast<Both *>(p);
    *b->answer = Answer(consort_codelet_remove(*b->rt, b->id));
  }, &both).must(rt);
  EXPECT_OK(consort_task_wait(rt, t, kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, task, {}));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, callback, {}));
  EXPECT_OK(Desc(id).to(rt)) << "it is still there";
}

TEST_F(Codelets, AddAndRemoveDoNotExhaustHandles) {
  // A library that adds and removes its codelets each time it is entered must not wear the runtime out.
  for (int i = 0; i < 70000; ++i) {
    ASSERT_OK(consort_codelet_add(rt, &d, &id)) << "the " << i << "th";
    if (i % 1000 == 0) {
      EXPECT_OK(Desc(id).to(rt));
    }
    ASSERT_OK(consort_codelet_remove(rt, id));
  }
}

TEST_F(Codelets, ConcurrentAddAndRemove) {
  std::vector<std::thread> threads;
  std::atomic<int> ran{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        const auto c = codelet(
            rt, "mine",
            [](const consort_call *k) -> consort_status { return ++*static_cast<std::atomic<int> *>(k->user), 0; }, 0,
            &ran);
        need(Desc(c).to(rt), "submit");
        need(consort_codelet_remove(rt, c), "remove");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(ran, 400);
}

TEST(CodeletBody, UsesHostClockAndLog) {
  std::vector<std::string> lines;
  consort_settings settings = CONSORT_SETTINGS_INIT;
  const consort_setting level = {"log", "debug"};
  settings.set = &level;
  settings.nset = 1;
  settings.log = [](void *user, int32_t, const char *utf8) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    static_cast<std::vector<std::string> *>(user)->push_back(utf8);
  };
  settings.log_user = &lines;
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&settings, &rt));
  uint64_t first = 0, second = 0;
  {
    Bodies bodies;
    const auto ask = bodies(rt, "ask", [&](const consort_call &c) {
      first = c.host->now(c.host);
      second = c.host->now(c.host);
      c.host->log(c.host, 2, "said by a body");
      return CONSORT_OK;
    });
    Desc(ask).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_OK(consort_stop(rt));
  }
  EXPECT_GT(first, 0u);
  EXPECT_GE(second, first);
  bool said = false;
  for (const auto &l : lines) said |= l.find("said by a body") != std::string::npos;
  EXPECT_TRUE(said);
}

}  // namespace
