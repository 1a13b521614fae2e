// Teams: workers that work on one task together. Which teams exist, the arguments of their members, refusals, and how
// they end. PAR-01, -02, -03, -05, -06, -07, -08, -11; tests/schedulers/team_policy_test.cpp covers the policies that
// choose teams.
#include <consort/model.h>
#include <sched.h>
#include <setjmp.h>

#include <map>
#include <random>
#include <set>

#include "api/team_bodies.hpp"

using namespace consort_test;

namespace {

Pairs with(Pairs pairs, const char *key, const char *value) {
  pairs.push_back({key, value});
  return pairs;
}

std::vector<std::vector<uint32_t>> members(consort_runtime *rt) {
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  uint32_t n = 0;
  need(consort_team_count(rt, &n), "count");
  std::vector<std::vector<uint32_t>> all;
  for (uint32_t i = 0; i < n; ++i) {
    consort_team_info t{};
    t.size = sizeof t;
    need(consort_get_team(rt, info.nworkers + i, &t), "team");
    EXPECT_EQ(t.id, info.nworkers + i);
    EXPECT_STREQ(t.klass, "cpu");
    all.emplace_back(t.members, t.members + t.nmembers);
  }
  return all;
}
// The id of the team of just these workers.
uint32_t team(consort_runtime *rt, std::vector<uint32_t> who) {
  const auto all = members(rt);
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  const auto at = std::find(all.begin(), all.end(), who);
  EXPECT_NE(at, all.end());
  return info.nworkers + static_cast<uint32_t>(at - all.begin());
}

using Sets = std::vector<std::vector<uint32_t>>;

// -- what there is ----------------------------------------------------------------------------------------------

TEST(Teams, FollowTheMachine) {  // PAR-05, PAR-07
  Rt rt(kEight);
  EXPECT_EQ(members(rt), (Sets{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}));
  consort_team_info t{};
  t.size = sizeof t;
  ASSERT_OK(consort_get_team(rt, 13, &t));
  EXPECT_STREQ(t.name, "cpu4-7");
  EXPECT_EQ(t.nmembers, 4u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_team(rt, 15, &t), "team 15", "there are 7", "from 8");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_get_team(rt, 3, &t), "team 3");
}

TEST(Teams, ArityAndCachesGiveIntermediateTeams) {  // PAR-05
  {
    Rt rt(with(kEight, "team_arity", "4"));
    EXPECT_EQ(members(rt), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}));
  }
  {
    Rt rt({{"cpu.topology", "pack:1 core:6 pu:1"}, {"workers", "6"}, {"team_arity", "3"}});
    EXPECT_EQ(members(rt), (Sets{{0, 1}, {2, 3}, {4, 5}, {0, 1, 2, 3, 4, 5}}));
  }
  {
    Rt rt({{"cpu.topology", "pack:1 l3:2 core:2 pu:1"}, {"workers", "4"}});
    EXPECT_EQ(members(rt), (Sets{{0, 1}, {2, 3}, {0, 1, 2, 3}}));
  }
  {  // threads of one core lie closer together than cores
    Rt rt({{"cpu.topology", "pack:1 core:2 pu:2"}, {"workers", "4"}, {"cpu.smt", "true"}});
    EXPECT_EQ(members(rt), (Sets{{0, 1}, {2, 3}, {0, 1, 2, 3}}));
  }
}

TEST(Teams, SettingsSelectTeams) {  // PAR-06, PAR-07
  EXPECT_EQ(members(Rt(with(kEight, "teams", "off"))), Sets{});
  EXPECT_EQ(members(Rt(with(kEight, "teams", "single"))).size(), 7u);
  EXPECT_EQ(members(Rt(with(kEight, "teams", "4-7;0, 2 ;1-2,5"))), (Sets{{0, 2}, {1, 2, 5}, {4, 5, 6, 7}}));
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "0-9"), &rt), "worker 8", "there are 8", "smaller teams");
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "some"), &rt), "\"some\"", "auto, single, off");
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "0-3;"), &rt), "0-3;4-7");
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "3-1"), &rt), "neither");
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "1,1"), &rt), "neither");
  EXPECT_SAYS(CONSORT_E_INVAL, start(with(kEight, "teams", "0-3;5"), &rt), "worker 5", "alone");
}

// -- called members ---------------------------------------------------------------------------------------------

TEST(Spmd, CallsEachMemberWithItsRank) {  // PAR-02
  TeamBodies body;
  Rt rt(kEight);
  struct Seen {
    std::atomic<uint32_t> calls{0}, wrong{0};
    std::atomic<uint32_t> worker[8] = {};
  } seen;
  std::vector<float> v(1000, 1);
  const auto c = body(rt, "scale", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
    seen.calls++;
    seen.worker[call.rank] = call.worker;
    if (call.team != 4 || !(call.flags & CONSORT_CALL_SPMD) || consort_current_worker(rt) != call.worker) seen.wrong++;
    if (consort_call_team(&call) != 13) seen.wrong++;
    float *x = pointer<float>(call, 0);
    for (uint32_t i = call.rank; i < 1000; i += call.team) x[i] *= value<float>(call, 0);
    return CONSORT_OK;
  });
  const auto x = vector_of(rt, v.data(), v.size(), sizeof(float));
  const auto id = Desc(c).rw(x).arg(3.f).on(team(rt, {4, 5, 6, 7})).must(rt);
  EXPECT_OK(consort_task_wait(rt, id, kLong, 0));
  EXPECT_EQ(seen.calls, 4u);
  EXPECT_EQ(seen.wrong, 0u);
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(seen.worker[i], 4 + i);
  EXPECT_EQ(std::count(v.begin(), v.end(), 3.f), 1000);
}

TEST(Spmd, BarriersSynchroniseAllMembers) {  // PAR-02
  TeamBodies body;
  for (const char *pump : {"threads", "manual"}) {
    Rt rt(with(kEight, "pump", pump));
    constexpr uint32_t kRounds = 50;
    std::atomic<uint32_t> at[8] = {};
    std::atomic<uint32_t> wrong{0};
    const auto c = body(rt, "rounds", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
      for (uint32_t i = 1; i <= kRounds; ++i) {
        at[call.rank] = i;
        if (const consort_status s = call.barrier(&call); s < 0) return s;
        for (uint32_t k = 0; k < call.team; ++k) wrong += at[k] < i;
        if (const consort_status s = call.barrier(&call); s < 0) return s;
      }
      return CONSORT_OK;
    });
    for (const uint32_t t : {14u, 12u, 8u}) {
      for (auto &a : at) a = 0;
      EXPECT_OK(consort_task_wait(rt, Desc(c).on(t).must(rt), kLong, 0)) << pump;
    }
    EXPECT_EQ(wrong, 0u) << pump;
    EXPECT_OK(consort_task_wait(rt, Desc(c).must(rt), kLong, 0)) << "a team of one";
  }
}

TEST(Forkjoin, CallsTheFirstMemberWhileOthersIdle) {  // PAR-01
  TeamBodies body;
  Bodies plain;
  Rt rt(kEight);
  std::atomic<uint32_t> calls{0}, wrong{0}, beside{0};
  std::atomic<bool> inside{false};
  const auto c = body(rt, "fork", CONSORT_CL_FORKJOIN, [&](const consort_call &call) -> consort_status {
    calls++;
    inside = true;
    if (call.team != 4 || call.rank != 0 || call.worker != 0 || call.barrier(&call) != CONSORT_OK) wrong++;
    std::this_thread::sleep_for(2ms);  // nap: time for a task beside it, which would be wrong
    inside = false;
    return CONSORT_OK;
  });
  const auto other = plain(rt, "other", [&](const consort_call &call) {
    if (inside && call.worker < 4) beside++;
    return CONSORT_OK;
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(Desc(c).on(team(rt, {0, 1, 2, 3})).to(rt));
    for (int k = 0; k < 50; ++k) ASSERT_OK(Desc(other).to(rt));
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(calls, 20u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(beside, 0u);
}

std::set<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<int> cores;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) cores.insert(i);
  return cores;
}

TEST(Forkjoin, ThreadsRunOnTheTeamsCores) {  // PAR-08
  if (cores_of_this_thread().size() < 2) GTEST_SKIP() << "one core is all that there is";
  TeamBodies body;
  Bodies plain;
  Rt rt({{"workers", "2"}, {"keep_models", "no"}});
  std::set<int> own[2], fork, inherited, told;
  const auto look = plain(rt, "look", [&](const consort_call &call) {
    own[call.worker] = cores_of_this_thread();
    return CONSORT_OK;
  });
  const auto c = body(rt, "fork", CONSORT_CL_FORKJOIN, [&](const consort_call &call) -> consort_status {
    fork = cores_of_this_thread();
    std::thread([&] {
      inherited = cores_of_this_thread();
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(*fork.begin(), &one);
      EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      EXPECT_EQ(consort_bind_to_team(&call), CONSORT_OK);
      EXPECT_EQ(cores_of_this_thread(), fork);
    }).join();
    for (uint32_t i = 0; i < call.cpuset_words * 64; ++i)
      if (call.cpuset[i / 64] >> i % 64 & 1) told.insert(static_cast<int>(i));
    return CONSORT_OK;
  });
  const auto round = [&] {
    for (uint32_t w = 0; w < 2; ++w)
      EXPECT_OK(consort_task_wait(rt, Desc(look).on(w).must(rt), kLong, CONSORT_WAIT_NO_HELP));
  };
  round();
  const std::set<int> first[2] = {own[0], own[1]};
  EXPECT_EQ(first[0].size(), 1u);
  EXPECT_NE(first[0], first[1]);
  EXPECT_OK(consort_task_wait(rt, Desc(c).on(2).must(rt), kLong, CONSORT_WAIT_NO_HELP));
  std::set<int> both = first[0];
  both.insert(first[1].begin(), first[1].end());
  EXPECT_EQ(fork, both);
  EXPECT_EQ(inherited, both);
  EXPECT_EQ(told, both);
  round();
  EXPECT_EQ(own[0], first[0]);
  EXPECT_EQ(own[1], first[1]);
  // A caller that runs the body on its own thread has its cores back, too.
  const auto before = cores_of_this_thread();
  for (int i = 0; i < 50; ++i) EXPECT_OK(consort_task_wait(rt, Desc(c).on(2).must(rt), kLong, 0));
  EXPECT_EQ(cores_of_this_thread(), before);
}

jmp_buf back;

TEST(Forkjoin, LongjmpFailsTheTaskAndKeepsTheTeam) {
  Rt rt(with(kEight, "pump", "manual"));  // the body runs on this thread, inside its wait
  consort_codelet d = CONSORT_CODELET_INIT;
  const consort_impl jumps = {"cpu", [](const consort_call *) -> consort_status { longjmp(back, 1); }, nullptr, nullptr,
                              nullptr, nullptr, nullptr, 0};
  d.name = "jumper";
  d.flags = CONSORT_CL_FORKJOIN;
  d.impls = &jumps;
  d.nimpls = 1;
  consort_codelet_id jumper;
  ASSERT_OK(consort_codelet_add(rt, &d, &jumper));
  TeamBodies body;
  std::atomic<int> ran{0};
  const auto c = body(rt, "after", CONSORT_CL_SPMD, [&](const consort_call &call) { return ran++, call.barrier(&call); });
  static consort_task_id t;
  t = Desc(jumper).on(14).must(rt);
  if (setjmp(back) == 0) {
    (void)consort_wait_all(rt, kLong, 0);
    FAIL() << "the body jumped";
  }
  EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, t, kLong, 0), "jumper", "longjmp");
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_OK(consort_task_wait(rt, Desc(c).on(14).must(rt), kLong, 0));
  EXPECT_EQ(ran, 8);
}

// -- what is refused --------------------------------------------------------------------------------------------

TEST(TeamCodelets, RefusesBadDescriptions) {  // PAR-03
  Rt rt(kEight);
  const auto nothing = [](const consort_call *) -> consort_status { return CONSORT_OK; };
  const auto add = [&](uint32_t flags, uint32_t max, consort_impl impl, uint32_t reserved = 0) {
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = "mine";
    d.flags = flags;
    d.impls = &impl;
    d.nimpls = 1;
    d.max_team = max;
    d.reserved = reserved;
    consort_codelet_id id;
    return consort_codelet_add(rt, &d, &id);
  };
  const consort_impl cpu = {"cpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  const consort_impl text = {"cpu", nullptr, nullptr, nullptr, "cl", "kernel void k() {}", "k", 0};
  EXPECT_SAYS(CONSORT_E_INVAL, add(CONSORT_CL_SPMD | CONSORT_CL_FORKJOIN, 0, cpu), "'mine'", "not both");
  EXPECT_SAYS(CONSORT_E_INVAL, add(0, 4, cpu), "max_team 4", "CL_FORKJOIN or CL_SPMD");
  EXPECT_SAYS(CONSORT_E_INVAL, add(CONSORT_CL_SPMD | CONSORT_CL_ASYNC, 0, cpu), "CL_ASYNC");
  EXPECT_SAYS(CONSORT_E_INVAL, add(CONSORT_CL_SPMD, 0, cpu, 7), "reserved", "7");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, add(CONSORT_CL_SPMD, 0, text), "'mine'", "CL_SPMD");
  EXPECT_OK(add(CONSORT_CL_FORKJOIN, 1u << 30, cpu));
}

TEST(TeamCodelets, RunOnlyOnAllowedTeams) {  // PAR-03, PAR-07
  TeamBodies body;
  Bodies plain;
  Rt rt(kEight);
  const auto nothing = [](const consort_call &) { return CONSORT_OK; };
  const auto up_to_4 = body(rt, "up to 4", CONSORT_CL_FORKJOIN, nothing, 4), alone = plain(rt, "alone", nothing);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(up_to_4).on(14).to(rt), "cpu0-7", "8 workers", "'up to 4'", "4 at most");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(alone).on(8).to(rt), "'alone'", "no team may run", "CL_SPMD");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc().on(8).to(rt), "empty task");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(up_to_4).on(15).to(rt), "worker 15", "7 teams");
  EXPECT_OK(Desc(up_to_4).on(12).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_team_can_run(rt, 12, up_to_4));
  EXPECT_OK(consort_team_can_run(rt, 5, up_to_4));
  EXPECT_EQ(consort_team_can_run(rt, 14, up_to_4), CONSORT_AGAIN);
  EXPECT_EQ(consort_team_can_run(rt, 8, alone), CONSORT_AGAIN);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_team_can_run(rt, 77, alone), "team 77");
}

TEST(TeamCodelets, FunctionsMayNotWait) {
  TeamBodies body;
  Bodies plain;
  Rt rt(kEight);
  std::string said[3];
  std::atomic<int> ran{0};
  int home = 1;
  const auto x = variable_of(rt, &home);
  const auto child = plain(rt, "child", [&](const consort_call &) { return ran++, CONSORT_OK; });
  const auto c = body(rt, "waits", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
    if (const consort_status s = Desc(child).to(rt); s < 0) return s;  // that it may
    if (call.rank) return CONSORT_OK;
    consort_hold hold;
    const auto words = [](consort_status s) { return s == CONSORT_E_BUSY ? consort_error() : "it waited"; };
    said[0] = words(consort_group_wait(rt, {0}, kLong, 0));
    said[1] = words(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
    said[2] = words(consort_wait_all(rt, kLong, 0));
    return CONSORT_OK;
  });
  for (const uint32_t on : {14u, 3u}) {
    EXPECT_OK(consort_task_wait(rt, Desc(c).on(on).must(rt), kLong, 0));
    for (const std::string &s : said) EXPECT_NE(s.find("stand still"), std::string::npos) << s;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 9);
}

// -- how they end -----------------------------------------------------------------------------------------------

TEST(Spmd, FailureOfOneMemberFailsTheTask) {
  TeamBodies body;
  Bodies plain;
  for (const char *pump : {"threads", "manual"}) {
    Rt rt(with(kEight, "pump", pump));
    int home = 0;
    const auto x = variable_of(rt, &home);
    std::atomic<int> cancelled{0}, readers{0};
    const auto c = body(rt, "one fails", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
      if (call.rank == 2) return consort_fail(CONSORT_E_IO, "the third has had enough");
      const consort_status s = call.barrier(&call);
      cancelled += s == CONSORT_E_CANCELLED;
      return s;
    });
    const auto read = plain(rt, "read", [&](const consort_call &) { return readers++, CONSORT_OK; });
    const auto id = Desc(c).rw(x).on(14).must(rt);
    ASSERT_OK(Desc(read).r(x).to(rt));
    EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, id, kLong, 0), "one fails", "the third has had enough", "cpu2");
    EXPECT_EQ(consort_wait_all(rt, kLong, 0), CONSORT_E_IO);
    EXPECT_EQ(cancelled, 7);
    EXPECT_EQ(readers, 0) << "its data are poisoned";
    // And the team is as good as before.
    const auto good = body(rt, "good", CONSORT_CL_SPMD, [](const consort_call &call) { return call.barrier(&call); });
    EXPECT_OK(consort_task_wait(rt, Desc(good).on(14).must(rt), kLong, 0));
    const auto throws = body(rt, "throws", CONSORT_CL_SPMD, [](const consort_call &call) -> consort_status {
      if (call.rank == 0) throw std::runtime_error("thrown by the first");
      return call.barrier(&call);
    });
    EXPECT_SAYS(CONSORT_E_INTERNAL, consort_task_wait(rt, Desc(throws).on(14).must(rt), kLong, 0), "thrown by the first");
    (void)consort_wait_all(rt, kLong, 0);
  }
}

TEST(Spmd, UnevenBarriersFailInsteadOfHanging) {
  TeamBodies body;
  for (const char *pump : {"threads", "manual"}) {
    Rt rt(with(kEight, "pump", pump));
    const auto c = body(rt, "uneven", CONSORT_CL_SPMD, [](const consort_call &call) -> consort_status {
      for (uint32_t i = 0; i < 1 + (call.rank != 3); ++i) (void)call.barrier(&call);
      return CONSORT_OK;
    });
    EXPECT_SAYS(CONSORT_E_INVAL, consort_task_wait(rt, Desc(c).on(14).must(rt), kLong, 0), "equally often");
    (void)consort_wait_all(rt, kLong, 0);
  }
}

TEST(TeamForming, CancelledTaskDoesNotStart) {
  TeamBodies body;
  Bodies plain;
  Rt rt(kEight);
  Gate gate;
  std::atomic<int> ran{0};
  const auto stands = plain(rt, "stands", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto c = body(rt, "team task", CONSORT_CL_SPMD, [&](const consort_call &) { return ran++, CONSORT_OK; });
  ASSERT_OK(Desc(stands).on(5).to(rt));
  ASSERT_TRUE(eventually([&] { return gate.waiting() == 1; }));
  const auto id = Desc(c).on(14).must(rt);
  char text[4096] = "";
  const auto says = [&](const char *words) {
    consort_explain(rt, id, text, sizeof text);
    return std::strstr(text, words) != nullptr;
  };
  EXPECT_TRUE(eventually([&] { return says("7 of the 8"); })) << text;
  EXPECT_TRUE(says("team cpu0-7") && says("not yet: cpu5")) << text;
  consort_explain(rt, {0}, text, sizeof text);
  EXPECT_NE(std::strstr(text, "task 'team task' waits for its team"), nullptr) << text;
  EXPECT_OK(consort_task_cancel(rt, id));
  gate.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, id, kLong, 0), "cancelled");
  EXPECT_EQ(ran, 0);
  (void)consort_wait_all(rt, kLong, 0);
  EXPECT_OK(consort_task_wait(rt, Desc(c).on(14).must(rt), kLong, 0));
  EXPECT_EQ(ran, 8);
}

TEST(TeamForming, WaitingBodyJoinsItsTeam) {
  TeamBodies body;
  Bodies plain;
  Rt rt(kEight);
  std::atomic<int> ran{0};
  const auto c = body(rt, "team task", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
    ran++;
    return call.barrier(&call);
  });
  const auto parent = plain(rt, "parent", [&](const consort_call &) {  // waits for a team that it is of itself
    return consort_task_wait(rt, Desc(c).on(14).must(rt), kLong, 0);
  });
  for (uint32_t w = 0; w < 8; ++w) ASSERT_OK(Desc(parent).on(w).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(ran, 64);
}

TEST(SingleTeam, RunsOneParallelTaskAtATime) {  // PAR-06
  TeamBodies body;
  Rt rt(with(kEight, "teams", "single"));
  std::atomic<int> inside{0}, most{0}, ran{0};
  const auto c = body(rt, "library", CONSORT_CL_FORKJOIN, [&](const consort_call &) -> consort_status {
    const int now = ++inside;
    if (now > most) most = now;
    std::this_thread::sleep_for(100us);  // nap: time for a second body, which would be wrong
    --inside;
    return ran++, CONSORT_OK;
  });
  for (uint32_t i = 0; i < 100; ++i) ASSERT_OK((i % 2 ? Desc(c).on(8 + i % 7) : Desc(c)).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(most, 1);
  EXPECT_EQ(ran, 100);
  EXPECT_EQ(consort_team_can_run(rt, 1, c), CONSORT_AGAIN);
  EXPECT_OK(consort_team_can_run(rt, 0, c));
}

TEST(TeamModels, EachSizeHasItsOwnModel) {  // PAR-11
  TeamBodies body;
  Rt rt(with(kEight, "models", "all"));
  const auto c = body(rt, "scales", CONSORT_CL_FORKJOIN, [](const consort_call &call) -> consort_status {
    std::this_thread::sleep_for(std::chrono::microseconds(8000 / call.team));  // nap: a time for the models
    return CONSORT_OK;
  });
  for (int i = 0; i < 12; ++i)
    for (const uint32_t on : {1u, 8u, 12u, 14u}) ASSERT_OK(Desc(c).on(on).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  std::map<std::string, uint64_t> rows;
  ASSERT_OK(consort_model_rows(
      rt, c,
      [](void *user, const consort_model_row *row) {
        if (row->count) (*static_cast<std::map<std::string, uint64_t> *>(user))[row->arch] += row->count;
      },
      &rows));
  ASSERT_EQ(rows.size(), 4u);
  for (const char *size : {"*2", "*4", "*8"})
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](auto &r) { return r.first.ends_with(size) && r.second >= 12; }))
        << size;
  Desc d(c);
  double one = 0, eight = 0, fed = 0;
  ASSERT_OK(consort_expected(rt, d.desc(), 1, CONSORT_NONE, CONSORT_MODEL_TIME, &one));
  ASSERT_OK(consort_expected(rt, d.desc(), 14, CONSORT_NONE, CONSORT_MODEL_TIME, &eight));
  EXPECT_GT(one, 8e6);
  EXPECT_GT(eight, 1e6);
  EXPECT_NE(eight, one);
  EXPECT_EQ(consort_expected(rt, d.desc(), 14, CONSORT_NONE, CONSORT_MODEL_ENERGY, &fed), CONSORT_AGAIN);
  for (int i = 0; i < 12; ++i) ASSERT_OK(consort_model_feed(rt, d.desc(), 14, CONSORT_NONE, CONSORT_MODEL_ENERGY, 42));
  ASSERT_OK(consort_expected(rt, d.desc(), 14, CONSORT_NONE, CONSORT_MODEL_ENERGY, &fed));
  EXPECT_EQ(fed, 42);
  EXPECT_EQ(consort_expected(rt, d.desc(), 1, CONSORT_NONE, CONSORT_MODEL_ENERGY, &fed), CONSORT_AGAIN) << "it is the team's";
  const auto pairs = body(rt, "in pairs", CONSORT_CL_FORKJOIN, [](const consort_call &) { return CONSORT_OK; }, 2);
  Desc p(pairs);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_expected(rt, p.desc(), 14, CONSORT_NONE, CONSORT_MODEL_TIME, &fed), "for team cpu0-7");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_model_feed(rt, p.desc(), 14, CONSORT_NONE, CONSORT_MODEL_TIME, 1), "for team cpu0-7");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_expected(rt, d.desc(), 15, CONSORT_NONE, CONSORT_MODEL_TIME, &fed), "teams behind them");
}

TEST(TeamForming, RecordedTasksFormTeams) {
  TeamBodies body;
  Rt rt(kEight);
  std::atomic<int> calls{0};
  int home = 0;
  const auto x = variable_of(rt, &home);
  const auto c = body(rt, "recorded", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
    calls++;
    if (const consort_status s = call.barrier(&call); s < 0) return s;
    if (call.rank == 0) ++*pointer<int>(call, 0);
    return CONSORT_OK;
  });
  consort_recording_id recording{0};
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  for (const uint32_t on : {14u, 8u, CONSORT_NONE}) ASSERT_OK(Desc(c).rw(x).on(on).to(rt));
  ASSERT_OK(consort_record_end(rt, &recording));
  for (int i = 0; i < 20; ++i) ASSERT_OK(consort_replay(rt, recording, {0}, nullptr));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(calls, 20 * (8 + 2 + 1));
  EXPECT_EQ(home, 60);
  EXPECT_OK(consort_recording_destroy(rt, recording));
}

// -- many at once -----------------------------------------------------------------------------------------------

// Teams that overlap in every way, formed by threads of their own, with ordinary tasks between. Bodies wait, tasks fail
// or are cancelled, and the policy changes now and then. No task is lost, and none stands still.
TEST(TeamStress, OverlappingTeamsEnd) {  // PAR-01, PAR-02
  const int rounds = full() ? 20 : 2;
  for (int round = 0; round < rounds; ++round) {
    TeamBodies body;
    Bodies plain;
    const std::string spin = round % 2 ? "0" : "100";
    Pairs pairs = with(kEight, "teams", "0-1;1-2;2-3;0,3;0-3;2-5;4-7;0,7;0-7;1,3,5,7;0,2,4,6");
    pairs.push_back({"spin_us", spin.c_str()});
    Rt rt(pairs);
    const auto all = members(rt);
    std::atomic<uint64_t> calls{0}, wrong{0}, ended{0};
    std::vector<int> homes(16, 0);
    std::vector<consort_data_id> data;
    for (int &h : homes) data.push_back(variable_of(rt, &h));
    const auto spmd = body(rt, "spmd", CONSORT_CL_SPMD, [&](const consort_call &call) -> consort_status {
      calls++;
      if (value<int>(call, 0) && call.rank == static_cast<uint32_t>(value<int>(call, 0)) % call.team)
        return CONSORT_E_IO;
      return call.barrier(&call);
    });
    const auto fork = body(rt, "fork", CONSORT_CL_FORKJOIN, [&](const consort_call &call) -> consort_status {
      calls += call.team;
      if (call.rank) wrong++;
      return CONSORT_OK;
    });
    const auto leaf = plain(rt, "leaf", [&](const consort_call &) { return calls++, CONSORT_OK; });
    const auto parent = plain(rt, "parent", [&](const consort_call &) {
      calls++;
      return consort_task_wait(rt, Desc(leaf).must(rt), kLong, 0);
    });
    const auto done = [](void *arg, const consort_outcome *) { ++*static_cast<std::atomic<uint64_t> *>(arg); };
    constexpr int kThreads = 3, kEach = 200;
    std::atomic<uint64_t> expected{0};
    std::vector<std::thread> threads;
    for (int k = 0; k < kThreads; ++k)
      threads.emplace_back([&, k] {
        std::mt19937 any(static_cast<unsigned>(round * 10 + k));
        for (int i = 0; i < kEach; ++i) {
          const uint32_t t = any() % all.size(), on = 8 + t;
          const int what = static_cast<int>(any() % 10);
          const auto size = static_cast<uint64_t>(all[t].size());
          Desc d;
          if (what < 4) d = std::move(Desc(spmd).arg(0).on(on)), expected += size;
          else if (what < 7) d = std::move(Desc(fork).on(on)), expected += size;
          else if (what < 9) d = std::move(Desc(leaf).on(any() % 8)), expected += 1;
          else d = Desc(parent), expected += 2;
          if (what == 3 && i % 20 == 0) d.args[0] = scalar(1 + static_cast<int>(any() % 8));  // one fails; all are called
          else if (any() % 3 == 0) d.use(data[any() % data.size()], any() % 2 ? CONSORT_M_R : CONSORT_M_RW | CONSORT_M_COMMUTE);
          d.done(done, &ended);
          (void)d.must(rt);
        }
      });
    for (const char *policy : {"eager", "lws", "eager"}) {
      std::this_thread::sleep_for(2ms);  // nap: some tasks run under each policy
      EXPECT_OK(consort_runtime_set_scheduler(rt, policy));
    }
    for (std::thread &t : threads) t.join();
    (void)consort_wait_all(rt, kLong * kSlow, 0);
    EXPECT_EQ(ended, uint64_t{kThreads * kEach});
    EXPECT_EQ(calls, expected);
    EXPECT_EQ(wrong, 0u);
    (void)rt.stop();
  }
}

}  // namespace
