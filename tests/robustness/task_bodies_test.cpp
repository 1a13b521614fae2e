// Traps inside bodies: exceptions, longjmp, calls back into the runtime; and data that are unregistered under way.
#include <setjmp.h>

#include <random>
#include <stdexcept>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

consort_status nothing(const consort_call *) { return CONSORT_OK; }

TEST(TaskBodies, ExceptionsFailTheirTasks) {
  Rt rt;
  Bodies body;
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto c = body(rt, "throws", [](const consort_call &k) -> consort_status {
    if (value<int>(k, 0) % 3 == 0) throw std::runtime_error("number " + std::to_string(value<int>(k, 0)));
    if (value<int>(k, 0) % 3 == 1) throw 7;
    return CONSORT_OK;
  });
  std::vector<consort_task_id> ids;
  for (int i = 0; i < 600; ++i) ids.push_back(Desc(c).arg(i).must(rt));
  for (int i = 0; i < 600; ++i) {
    const Answer a(consort_task_wait(rt, ids[static_cast<size_t>(i)], kLong, 0));
    EXPECT_EQ(a.status, i % 3 == 2 ? CONSORT_OK : CONSORT_E_INTERNAL);
    if (i % 3 == 0) {
      EXPECT_NE(a.text.find("number " + std::to_string(i)), std::string::npos) << a.text;
    }
  }
  EXPECT_LT(consort_wait_all(rt, kLong, 0), 0);
  EXPECT_OK(consort_unregister(rt, d));
}

TEST(TaskBodies, ExceptionsOfCallbacksAreDropped) {
  Rt rt;
  const auto c = codelet(rt, "nop", nothing);
  for (int i = 0; i < 50; ++i)
    Desc(c)
        .done([](void *, const consort_outcome *) { throw std::runtime_error("from a callback"); }, nullptr)
        .must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

jmp_buf back;

TEST(TaskBodies, LongjmpWithinABodyIsAllowed) {
  Rt rt;
  const auto c = codelet(rt, "jumps", [](const consort_call *) -> consort_status {
    jmp_buf here;
    if (setjmp(here) == 0) longjmp(here, 1);
    return CONSORT_OK;
  });
  for (int i = 0; i < 100; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(TaskBodies, LongjmpOutOfABodyFailsTheTask) {
  Rt rt({{"workers", "1"}, {"pump", "manual"}});  // the body runs on this thread, inside its wait
  long x = 0;
  static volatile int jumps = 0;
  const auto d = variable_of(rt, &x, "left behind");
  const auto jump = codelet(rt, "jumper", [](const consort_call *) -> consort_status { longjmp(back, 1); });
  const auto inc =
      codelet(rt, "inc", [](const consort_call *k) -> consort_status { return ++*pointer<long>(*k, 0), 0; });
  const auto t = Desc(jump).rw(d).must(rt);
  const auto u = Desc(inc).rw(d).must(rt);
  jumps = 0;
  if (setjmp(back) == 0) {
    (void)consort_wait_all(rt, kLong, 0);
    FAIL() << "the body jumped";
  } else {
    jumps = jumps + 1;
  }
  EXPECT_EQ(jumps, 1);
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, t, kLong, 0), "jumper", "longjmp");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(rt, u, kLong, 0), "jumper");
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_OK(consort_task_wait(rt, Desc(inc).w(d).must(rt), kLong, 0));
  EXPECT_OK(consort_unregister(rt, d));
}

TEST(TaskBodies, LongjmpOutOfAHelpedBody) {
  Rt rt;
  static volatile long rounds = 0;
  static std::atomic<bool> may_jump;
  static std::thread::id main_thread;
  main_thread = std::this_thread::get_id();
  const auto jump = codelet(rt, "jumper", [](const consort_call *) -> consort_status {
    if (std::this_thread::get_id() == main_thread && may_jump.exchange(false)) longjmp(back, 1);
    return CONSORT_OK;
  });
  rounds = 0;
  while (rounds < 50) {
    rounds = rounds + 1;
    may_jump = false;
    for (int i = 0; i < 50; ++i) Desc(jump).must(rt);
    if (setjmp(back) == 0) {
      may_jump = true;
      (void)consort_wait_all(rt, kLong, 0);
    }
    may_jump = false;
  }
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_OK(consort_task_wait(rt, Desc(codelet(rt, "nop", nothing)).must(rt), kLong, 0));
}

TEST(TaskBodies, MayCallEveryApiFunction) {
  Rt rt;
  Bodies body;
  const auto nop = codelet(rt, "nop", nothing);
  std::atomic<int> ran{0};
  const auto busy = body(rt, "busy", [&](const consort_call &) -> consort_status {
    int v[2] = {1, 2};
    const auto a = variable_of(rt, &v[0]);
    consort_group_id g;
    consort_hold hold;
    consort_info info{};
    info.size = sizeof info;
    char text[256];
    const consort_status all[] = {
        consort_group_create(rt, nullptr, &g),
        Desc(nop).rw(a).in(g).to(rt),
        consort_group_wait(rt, g, kLong, 0),
        consort_acquire(rt, a, CONSORT_M_RW, kLong, &hold),
        consort_release(rt, hold),
        consort_invalidate(rt, a),
        Desc(nop).w(a).in(g).to(rt),
        consort_get_info(rt, &info),
        static_cast<consort_status>(consort_explain(rt, {0}, text, sizeof text) == 0 ? -1 : 0),
        consort_unregister(rt, a),
        consort_group_wait(rt, g, kLong, 0),
        consort_group_destroy(rt, g),
    };
    ++ran;
    for (size_t i = 0; i < std::size(all); ++i)
      if (all[i] < 0) return consort_fail(all[i], ("call " + std::to_string(i) + ": " + consort_error()).c_str());
    return CONSORT_OK;
  });
  for (int i = 0; i < 300; ++i) Desc(busy).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 300);
}

// -- data that go under way ---------------------------------------------------------------------------------------

TEST(UnregisterRaces, WithConcurrentSubmitters) {
  Rt rt;
  const auto inc =
      codelet(rt, "inc", [](const consort_call *k) -> consort_status { return ++*pointer<long>(*k, 0), 0; });
  for (int round = 0; round < 100; ++round) {
    long x = 0;
    const auto d = variable_of(rt, &x);
    std::atomic<long> sent{0}, odd{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (;;) {
          const consort_status s = Desc(inc).rw(d).to(rt);
          if (s >= 0) {
            ++sent;
            continue;
          }
          odd += s != CONSORT_E_STALE;
          return;
        }
      });
    while (sent < 50) std::this_thread::yield();
    ASSERT_OK(consort_unregister(rt, d));
    const long at_home = x;  // the memory is the caller's again: no task touches it
    for (auto &t : threads) t.join();
    ASSERT_EQ(odd, 0);
    ASSERT_EQ(x, at_home);
    ASSERT_EQ(x, sent);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(UnregisterRaces, OneOfTwoThreadsSucceeds) {
  Rt rt;
  const auto inc =
      codelet(rt, "inc", [](const consort_call *k) -> consort_status { return ++*pointer<long>(*k, 0), 0; });
  for (int round = 0; round < 300; ++round) {
    long x = 0;
    const auto d = variable_of(rt, &x);
    for (int i = 0; i < 5; ++i) Desc(inc).rw(d).must(rt);
    std::atomic<int> good{0}, stale{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&, t] {
        const consort_status s = t == 2 ? consort_unregister_later(rt, d) : consort_unregister(rt, d);
        good += s == CONSORT_OK;
        stale += s == CONSORT_E_STALE;
      });
    for (auto &t : threads) t.join();
    ASSERT_EQ(good, 1);
    ASSERT_EQ(stale, 2);
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    ASSERT_EQ(x, 5);
  }
}

TEST(UnregisterRaces, InTheCallbackOfTheLastUser) {
  Rt rt;
  const auto inc =
      codelet(rt, "inc", [](const consort_call *k) -> consort_status { return ++*pointer<long>(*k, 0), 0; });
  struct One { Rt *rt; consort_data_id d; long x = 0; consort_status status = 99; };
  std::vector<One> all(500);
  for (auto &o : all) {
    o.rt = &rt;
    o.d = variable_of(rt, &o.x);
    Desc(inc).rw(o.d).must(rt);
    Desc(inc).rw(o.d).done([](void *p, const consort_outcome *) {
      auto *one = static_cast<One *>(p);
      one->status = consort_unregister_later(*one->rt, one->d);
    }, &o).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  for (auto &o : all) {
    EXPECT_EQ(o.x, 2);
    EXPECT_EQ(o.status, CONSORT_OK);
  }
  consort_info i{};
  i.size = sizeof i;
  EXPECT_TRUE(eventually([&] { return consort_get_info(rt, &i) >= 0 && i.data == 0; }));
}

}  // namespace
