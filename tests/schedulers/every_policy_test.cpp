// Programs without nested waits under every scheduler, in real time, with a manual pump and in virtual time. They use
// the window, exclusive access in any order, tags, contexts, teams, record and replay. Each ends, with the same answer.
#include <consort/order.h>

#include "api/in_context.hpp"
#include "api/recordings.hpp"
#include "schedulers/every_policy.hpp"

namespace consort_test {
namespace {

class PolicyPrograms : public EveryPolicy {
 protected:
  // x = x * 2 + k
  consort_codelet_id step(consort_runtime *rt) {
    return anywhere(rt, "step", [](const consort_call &c) {
      uint64_t &x = *pointer<uint64_t>(c, 0);
      x = x * 2 + value<uint64_t>(c, 0);
      return CONSORT_OK;
    }, 1);
  }
};

// More tasks than the window holds, in chains whose order shows in the result.
TEST_P(PolicyPrograms, EndWithASmallWindow) {
  each_run([&](consort_runtime *rt) {
    const auto c = step(rt);
    uint64_t x[5] = {}, want[5] = {};
    std::vector<consort_data_id> d;
    for (uint64_t &v : x) d.push_back(variable_of(rt, &v));
    for (uint64_t i = 0; i < 300; ++i) {
      Desc(c).rw(d[i % 5]).arg(i).priority(static_cast<int>(i % 3)).must(rt);
      want[i % 5] = want[i % 5] * 2 + i;
    }
    ASSERT_OK(wait_all(rt));
    for (int i = 0; i < 5; ++i) {
      EXPECT_OK(consort_unregister(rt, d[i]));
      EXPECT_EQ(x[i], want[i]);
    }
  }, {{"window", "16"}});
}

// Tasks that a worker was handed and that park until the datum is free, beside others.
TEST_P(PolicyPrograms, EndWithCommutativeAccess) {
  each_run([&](consort_runtime *rt) {
    uint64_t sum = 0, other = 0;
    const auto a = variable_of(rt, &sum), b = variable_of(rt, &other);
    const auto add = anywhere(rt, "add", [](const consort_call &c) { return *pointer<uint64_t>(c, 0) += value<uint64_t>(c, 0), CONSORT_OK; }, 1);
    const auto core = on_cores(rt, "core", [](const consort_call &c) { return *pointer<uint64_t>(c, 0) += 1, CONSORT_OK; }, 1);
    for (uint64_t i = 0; i < 90; ++i) {
      Desc(add).use(i % 3 ? a : b, CONSORT_M_RW | CONSORT_M_COMMUTE).arg(i).must(rt);
      if (i % 5 == 0) Desc(core).use(a, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt);
    }
    ASSERT_OK(wait_all(rt));
    EXPECT_OK(consort_unregister(rt, a));
    EXPECT_OK(consort_unregister(rt, b));
    EXPECT_EQ(sum + other, 89u * 90 / 2 + 18);
  });
}

TEST_P(PolicyPrograms, EndWithTags) {
  each_run([&](consort_runtime *rt) {
    const auto c = step(rt);
    uint64_t x = 0, want = 0;
    const auto d = variable_of(rt, &x);
    need(consort_data_set_ordered(rt, d, 0), "set_ordered");  // tags alone give the order
    constexpr uint64_t kN = 40;
    for (uint64_t i = 1; i < kN; ++i) {
      const uint64_t before = i - 1;
      ASSERT_OK(consort_tag_after(rt, i, &before, 1));
    }
    for (uint64_t i = kN; i-- > 0;) {
      Tagged t(c, i);
      t.rw(d).arg(i).must(rt);
    }
    ASSERT_OK(wait_all(rt));
    EXPECT_OK(consort_unregister(rt, d));
    for (uint64_t i = 0; i < kN; ++i) want = want * 2 + i;
    EXPECT_EQ(x, want);
  });
}

TEST_P(PolicyPrograms, EndInContexts) {
  if (ncores() < 2) GTEST_SKIP() << "one worker cannot be divided";
  each_run([&](consort_runtime *rt) {
    consort_context_id inner{0};
    const consort_status made = try_create(rt, {1}, &inner, "inner", policy().c_str());
    if (made == CONSORT_E_UNSUPPORTED) return;  // a director
    ASSERT_OK(made);
    std::atomic<int> ran{0};
    const auto c = anywhere(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    for (int i = 0; i < 60; ++i) {
      Desc(c).must(rt);
      const Inside inside(rt, inner);
      Desc(c).must(rt);
    }
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 120);
    EXPECT_OK(consort_context_destroy(rt, inner));
    for (int i = 0; i < 20; ++i) Desc(c).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 140);
  });
}

TEST_P(PolicyPrograms, EndWithTasksOfTeams) {
  for (const uint32_t flags : {uint32_t{CONSORT_CL_FORKJOIN}, uint32_t{CONSORT_CL_SPMD}})
    each_run([&](consort_runtime *rt) {
      std::atomic<int> ran{0};
      const auto other = anywhere(rt, "other", [&](const consort_call &) { return ++ran, CONSORT_OK; });
      const auto team = on_cores(rt, "team", [&](const consort_call &c) { return ran += c.rank == 0, CONSORT_OK; }, CONSORT_NONE, flags);
      for (int i = 0; i < 60; ++i) Desc(i % 3 ? other : team).must(rt);
      ASSERT_OK(wait_all(rt));
      EXPECT_EQ(ran, 60);
    });
}

TEST_P(PolicyPrograms, EndWhenTheyAreReplayed) {
  each_run([&](consort_runtime *rt) {
    const auto c = step(rt);
    uint64_t x[3] = {}, want[3] = {};
    std::vector<consort_data_id> d;
    for (uint64_t &v : x) d.push_back(variable_of(rt, &v));
    const auto r = record(rt, [&] {
      for (uint64_t i = 0; i < 30; ++i) Desc(c).rw(d[i % 3]).arg(i).must(rt);
    });
    for (int k = 0; k < 4; ++k) {
      replay(rt, r);
      for (uint64_t i = 0; i < 30; ++i) want[i % 3] = want[i % 3] * 2 + i;
    }
    ASSERT_OK(wait_all(rt));
    for (int i = 0; i < 3; ++i) {
      EXPECT_OK(consort_unregister(rt, d[i]));
      EXPECT_EQ(x[i], want[i]);
    }
    EXPECT_OK(consort_recording_destroy(rt, r));
  });
}

// A wait is refused at once in a callback and in a function on a device.
TEST_P(PolicyPrograms, AreRefusedWaitsInCallbacksAndDeviceFunctions) {
  each_run([&](consort_runtime *rt) {
    struct Seen {
      consort_runtime *rt;
      std::atomic<int> refused;
    } seen{rt, {0}};
    const auto c = anywhere(rt, "nop", [](const consort_call &) { return CONSORT_OK; });
    for (int i = 0; i < 10; ++i)
      Desc(c).done([](void *p, const consort_outcome *) {
        auto *s = static_cast<Seen *>(p);
        s->refused += consort_group_wait(s->rt, {0}, 1, 0) == CONSORT_E_BUSY;
      }, &seen).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(seen.refused, 10);
  });
}

INSTANTIATE_TEST_SUITE_P(All, PolicyPrograms,
                         ::testing::Combine(::testing::ValuesIn(schedulers()), ::testing::ValuesIn(units_to_try(true))),
                         policy_and_units);

}  // namespace
}  // namespace consort_test
