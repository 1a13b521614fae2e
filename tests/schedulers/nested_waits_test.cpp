// Bodies that wait for tasks that they have submitted, under every scheduler. Each program that is legal under one
// policy ends under all of them, with the same answer. A device's function must not wait, so there is no virtual time
// here.
#include <consort/order.h>
#include <setjmp.h>

#include "api/in_context.hpp"
#include "api/recordings.hpp"
#include "schedulers/every_policy.hpp"

namespace consort_test {
namespace {

class NestedWaits : public EveryPolicy {
 protected:
  enum class By { kTasks, kGroup, kSecondTaskFirst };

  // fib(n) by a task for each call: two children, waited for inside the body. Leaves run on any unit.
  struct Fib {
    consort_codelet_id node{0}, leaf{0};
  };
  Fib fib(consort_runtime *rt, By by) {
    auto codelets = std::make_shared<Fib>();
    fibs_.push_back(codelets);
    codelets->leaf = anywhere(rt, "leaf", [](const consort_call &c) {
      *reinterpret_cast<int64_t *>(value<uint64_t>(c, 1)) = value<int>(c, 0);
      return CONSORT_OK;
    });
    codelets->node = on_cores(rt, "node", [this, rt, by, f = codelets.get()](const consort_call &c) -> consort_status {
      const int n = value<int>(c, 0);
      int64_t part[2] = {0, 0};
      consort_group_id g{0};
      if (by == By::kGroup)
        if (const auto s = consort_group_create(rt, nullptr, &g); s < 0) return s;
      consort_task_id child[2];
      for (int i = 0; i < 2; ++i)
        if (const auto s = call(*f, n - 1 - i, &part[i]).in(g).to(rt, &child[i]); s < 0) return s;
      consort_status s = CONSORT_OK;
      if (by == By::kGroup) {
        if (s = consort_group_wait(rt, g, left(rt), 0); s >= 0) s = consort_group_destroy(rt, g);
      } else {
        const bool last_first = by == By::kSecondTaskFirst;
        for (const int i : {last_first ? 1 : 0, last_first ? 0 : 1})
          if (s >= 0) s = wait_for(rt, child[i]);
      }
      *reinterpret_cast<int64_t *>(value<uint64_t>(c, 1)) = part[0] + part[1];
      return s;
    });
    return *codelets;
  }
  static Desc call(const Fib &f, int n, int64_t *out) {
    return Desc(n < 2 ? f.leaf : f.node).arg(n).arg(reinterpret_cast<uint64_t>(out));
  }
  static int64_t right(int n) { return n < 2 ? n : right(n - 1) + right(n - 2); }

 private:
  std::vector<std::shared_ptr<Fib>> fibs_;
};

TEST_P(NestedWaits, ForTasks) {
  const int n = full() ? 14 : kSlow > 1 ? 8 : pumped() ? 10 : 12;
  each_run([&](consort_runtime *rt) {
    int64_t out = -1;
    call(fib(rt, By::kTasks), n, &out).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(out, right(n));
  });
}

TEST_P(NestedWaits, ForGroups) {
  const int n = full() ? 13 : kSlow > 1 ? 7 : pumped() ? 9 : 10;
  each_run([&](consort_runtime *rt) {
    int64_t out = -1;
    call(fib(rt, By::kGroup), n, &out).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(out, right(n));
  });
}

TEST_P(NestedWaits, InTheOppositeOrder) {
  const int n = full() ? 13 : kSlow > 1 ? 7 : pumped() ? 9 : 10;
  each_run([&](consort_runtime *rt) {
    int64_t out = -1;
    call(fib(rt, By::kSecondTaskFirst), n, &out).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(out, right(n));
  });
}

// Each body waits for children that are bound to the workers, its own among them.
TEST_P(NestedWaits, ForTasksThatAreBoundToWorkers) {
  each_run([&](consort_runtime *rt) {
    std::atomic<int> ran{0};
    const auto leaf = on_cores(rt, "leaf", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    const auto parent = on_cores(rt, "parent", [&](const consort_call &) -> consort_status {
      for (uint32_t w = 0; w < ncores(); ++w) {
        consort_task_id t;
        if (const auto s = Desc(leaf).on(w).to(rt, &t); s < 0) return s;
        if (const auto s = wait_for(rt, t); s < 0) return s;
      }
      return CONSORT_OK;
    });
    for (int i = 0; i < 30; ++i) Desc(parent).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 30 * static_cast<int>(ncores()));
  });
}

// Other tasks that are more urgent than the awaited ones, and others that are less.
TEST_P(NestedWaits, AmongTasksOfOtherPriorities) {
  each_run([&](consort_runtime *rt) {
    std::atomic<int> ran{0};
    const auto f = fib(rt, By::kTasks);
    const auto other = anywhere(rt, "other", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    int64_t out[4] = {};
    for (int i = 0; i < 4; ++i) {
      for (int k = 0; k < 20; ++k) Desc(other).priority(k % 3 - 1).must(rt);
      call(f, 8, &out[i]).priority(i % 2).must(rt);
    }
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 80);
    for (const int64_t v : out) EXPECT_EQ(v, right(8));
  });
}

TEST_P(NestedWaits, WithASmallWindow) {
  each_run([&](consort_runtime *rt) {
    const auto f = fib(rt, By::kTasks);
    std::vector<int64_t> out(60, -1);
    for (int64_t &v : out) call(f, 5, &v).must(rt);
    ASSERT_OK(wait_all(rt));
    for (const int64_t v : out) EXPECT_EQ(v, right(5));
  }, {{"window", "16"}});
}

// A body has one datum in any order with others, and waits for a task on another datum.
TEST_P(NestedWaits, InBodiesWithCommutativeAccess) {
  each_run([&](consort_runtime *rt) {
    int64_t sum = 0, parts[24] = {};
    const auto dsum = variable_of(rt, &sum, "sum");
    std::vector<consort_data_id> part;
    for (int64_t &p : parts) part.push_back(variable_of(rt, &p));
    const auto child = anywhere(rt, "child", [](const consort_call &c) { return *pointer<int64_t>(c, 0) += 3, CONSORT_OK; }, 1);
    const auto parent = on_cores(rt, "parent", [&](const consort_call &c) -> consort_status {
      const int i = value<int>(c, 0);
      consort_hold hold;
      if (const auto s = Desc(child).rw(part[i]).to(rt); s < 0) return s;
      if (const auto s = consort_acquire(rt, part[i], CONSORT_M_R, left(rt), &hold); s < 0) return s;
      *pointer<int64_t>(c, 0) += parts[i];
      return consort_release(rt, hold);
    });
    for (int i = 0; i < 24; ++i) Desc(parent).use(dsum, CONSORT_M_RW | CONSORT_M_COMMUTE).arg(i).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_OK(consort_unregister(rt, dsum));
    EXPECT_EQ(sum, 72);
  });
}

// A body notifies a tag that holds back the task for which it waits.
TEST_P(NestedWaits, ForTasksThatComeAfterATag) {
  each_run([&](consort_runtime *rt) {
    std::atomic<int> ran{0};
    const auto leaf = anywhere(rt, "leaf", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    const auto parent = on_cores(rt, "parent", [&](const consort_call &c) -> consort_status {
      const uint64_t tag = 10 + 2 * static_cast<uint64_t>(value<int>(c, 0)), later = tag + 1;
      if (const auto s = consort_tag_after(rt, later, &tag, 1); s < 0) return s;
      consort_task_id t;
      if (const auto s = Tagged(leaf, later).to(rt, &t); s < 0) return s;
      if (const auto s = Tagged(leaf, tag).to(rt); s < 0) return s;
      return wait_for(rt, t);
    });
    for (int i = 0; i < 30; ++i) Desc(parent).arg(i).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 60);
  });
}

TEST_P(NestedWaits, InContexts) {
  if (ncores() < 2) GTEST_SKIP() << "one worker cannot be divided";
  each_run([&](consort_runtime *rt) {
    consort_context_id inner{0};
    std::vector<uint32_t> some = {1};
    if (mixed()) some.push_back(ncores());  // and a device
    const consort_status made = try_create(rt, some, &inner, "inner", policy().c_str());
    if (made == CONSORT_E_UNSUPPORTED) return;  // a director
    ASSERT_OK(made);
    const auto f = fib(rt, By::kTasks);
    int64_t in = -1, out = -1;
    call(f, 9, &out).must(rt);
    {
      const Inside inside(rt, inner);
      call(f, 9, &in).must(rt);
    }
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(in, right(9));
    EXPECT_EQ(out, right(9));
    EXPECT_OK(consort_context_destroy(rt, inner));
  });
}

// A body waits for tasks that a team may run, while others wait for theirs.
TEST_P(NestedWaits, ForTasksOfTeams) {
  for (const uint32_t flags : {uint32_t{CONSORT_CL_FORKJOIN}, uint32_t{CONSORT_CL_SPMD}})
    each_run([&](consort_runtime *rt) {
      std::atomic<int> ran{0};
      const auto team = on_cores(rt, "team", [&](const consort_call &c) { return ran += c.rank == 0, CONSORT_OK; }, 0, flags);
      const auto parent = on_cores(rt, "parent", [&](const consort_call &) -> consort_status {
        consort_task_id t[2];
        for (auto &id : t)
          if (const auto s = Desc(team).to(rt, &id); s < 0) return s;
        for (const auto &id : t)
          if (const auto s = wait_for(rt, id); s < 0) return s;
        return CONSORT_OK;
      });
      for (int i = 0; i < 20; ++i) Desc(parent).must(rt);
      ASSERT_OK(wait_all(rt));
      EXPECT_EQ(ran, 40);
    });
}

TEST_P(NestedWaits, InReplayedTasks) {
  each_run([&](consort_runtime *rt) {
    const auto f = fib(rt, By::kTasks);
    int64_t out[3] = {}, sum = 0;
    const auto dsum = variable_of(rt, &sum, "sum");
    const auto add = on_cores(rt, "add", [&](const consort_call &c) -> consort_status {
      int64_t one = 0;
      consort_task_id t;
      if (const auto s = call(f, 6, &one).to(rt, &t); s < 0) return s;
      if (const auto s = wait_for(rt, t); s < 0) return s;
      *pointer<int64_t>(c, 0) += one;
      return CONSORT_OK;
    });
    const auto r = record(rt, [&] {
      for (int64_t &v : out) call(f, 6, &v).must(rt), Desc(add).rw(dsum).must(rt);
    });
    for (int i = 0; i < 3; ++i) {
      std::fill(out, out + 3, -1);
      const auto t = replay(rt, r);
      ASSERT_OK(wait_for(rt, t));
      for (const int64_t v : out) EXPECT_EQ(v, right(6));
    }
    EXPECT_OK(consort_unregister(rt, dsum));
    EXPECT_EQ(sum, 9 * right(6));
    EXPECT_OK(consort_recording_destroy(rt, r));
  });
}

// A wait that times out is over, and so is the next one; the body goes on after each.
TEST_P(NestedWaits, WithTimeLimits) {
  each_run([&](consort_runtime *rt) {
    std::atomic<int> ran{0};
    const auto leaf = anywhere(rt, "leaf", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    const auto parent = on_cores(rt, "parent", [&](const consort_call &) -> consort_status {
      consort_task_id t;
      if (const auto s = Desc(leaf).to(rt, &t); s < 0) return s;
      consort_status s = CONSORT_E_TIMEOUT;
      for (int i = 0; i < 3 && s == CONSORT_E_TIMEOUT; ++i) s = consort_task_wait(rt, t, 1, 0);
      return s == CONSORT_E_TIMEOUT ? wait_for(rt, t) : s;
    });
    for (int i = 0; i < 60; ++i) Desc(parent).must(rt);
    ASSERT_OK(wait_all(rt));
    EXPECT_EQ(ran, 60);
  });
}

// Bodies that are left by longjmp never return: the policy must not count them as work in flight for ever.
TEST(BodiesLeftByLongjmp, AreNotCountedAsRunning) {
  static jmp_buf back;
  for (const std::string &policy : schedulers()) {
    SCOPED_TRACE(policy);
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "1"}, {"pump", "manual"}, {"scheduler", policy.c_str()}, {"keep_models", "no"}});
    const auto jump = codelet(rt, "jump", [](const consort_call *) -> consort_status { longjmp(back, 1); });
    static int ran = 0;
    ran = 0;
    const auto leaf = codelet(rt, "leaf", [](const consort_call *) -> consort_status { return ++ran, CONSORT_OK; });
    static int jumps;  // not on the stack that a jump may leave half written
    for (jumps = 0; jumps < 12; ++jumps) {
      const auto t = Desc(jump).must(rt);
      if (setjmp(back) == 0) (void)consort_task_wait(rt, t, 1'000'000'000, 0);
      EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, t, 1'000'000'000, 0), "longjmp");
    }
    std::vector<consort_task_id> leaves;
    for (int i = 0; i < 12; ++i) leaves.push_back(Desc(leaf).must(rt));
    for (const auto &t : leaves) ASSERT_OK(consort_task_wait(rt, t, 1'000'000'000, 0));
    EXPECT_EQ(ran, 12);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NestedWaits,
                         ::testing::Combine(::testing::ValuesIn(schedulers()), ::testing::ValuesIn(units_to_try(false))),
                         policy_and_units);

}  // namespace
}  // namespace consort_test
