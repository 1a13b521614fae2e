// Teams on a machine that is not there. Its cores come together for a task, in virtual time, and the machine's file
// says how long that takes. PAR-01, PAR-02, PAR-03, PAR-04, PAR-05, PAR-11, SCH-12, SCH-13, SIM-01.
#include <consort/clock.h>
#include <consort/teams.h>

#include <map>

#include "api/team_bodies.hpp"
#include "support/text_file.hpp"

namespace consort_test {
namespace {

// Eight cores in two sockets, and an accelerator. Half of the time of `half` scales; `fixed` has a given time for a
// team of four, which overrides that law; `serial` does not scale.
std::string machine(const char *parallel = "0.5") {
  return std::string("[[device]]\nname = \"cores\"\nhost = true\nclass = \"cpu\"\nunits = 8\ndepth = 1\nmemory = \"1G\"\nsockets = 2\n"
                     "parallel = ") + parallel +
         "\n[[device]]\nname = \"acc\"\nclass = \"cuda\"\ndepth = 2\nmemory = \"1G\"\n"
         "[[kernel]]\ncodelet = \"half\"\nclass = \"cpu\"\n8 = \"8ms\"\n"
         "[[kernel]]\ncodelet = \"fixed\"\nclass = \"cpu\"\n8 = \"8ms\"\n"
         "[[kernel]]\ncodelet = \"fixed\"\nclass = \"cpu\"\nteam = 4\n8 = \"1ms\"\n"
         "[[kernel]]\ncodelet = \"plain\"\n8 = \"3ms\"\n";
}

Pairs on(const TextFile &f, const char *scheduler, const char *execute = "false") {
  return {{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", scheduler}, {"sim.machine", f.path.c_str()}, {"sim.execute", execute}};
}
uint64_t now(consort_runtime *rt) {
  uint64_t t = 0;
  need(consort_now(rt, &t), "clock");
  return t;
}
uint32_t team_of_size(consort_runtime *rt, uint32_t size) {
  uint32_t n = 0, all = 0;
  need(consort_team_count(rt, &n), "teams");
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  all = info.nworkers;
  for (uint32_t i = 0; i < n; ++i) {
    consort_team_info t{};
    t.size = sizeof t;
    need(consort_get_team(rt, all + i, &t), "team");
    if (t.nmembers == size) return all + i;
  }
  return CONSORT_NONE;
}

TEST(SimulatedTeams, TeamsFollowSockets) {  // PAR-05
  TextFile f(machine());
  Rt rt(on(f, "eager"));
  std::map<uint32_t, int> sizes;
  uint32_t n = 0;
  ASSERT_OK(consort_team_count(rt, &n));
  for (uint32_t i = 0; i < n; ++i) {
    consort_team_info t{};
    t.size = sizeof t;
    ASSERT_OK(consort_get_team(rt, 9 + i, &t));
    ++sizes[t.nmembers];
  }
  EXPECT_EQ(sizes, (std::map<uint32_t, int>{{2, 4}, {4, 2}, {8, 1}})) << "the accelerator is in none";
  EXPECT_OK(rt.stop());
  Pairs off = on(f, "eager");
  off.push_back({"teams", "off"});
  Rt none(off);
  ASSERT_OK(consort_team_count(none, &n));
  EXPECT_EQ(n, 0u);
  EXPECT_OK(none.stop());
  TextFile plain("[[device]]\nhost = true\nclass = \"cpu\"\nunits = 8\nmemory = \"1G\"\n");  // a file that says nothing of them
  Rt without(on(plain, "eager"));
  ASSERT_OK(consort_team_count(without, &n));
  EXPECT_EQ(n, 0u);
  TeamBodies codelets;
  const auto c = codelets(without, "step", CONSORT_CL_SPMD, [](const consort_call &) -> consort_status { return CONSORT_OK; });
  EXPECT_OK(Desc(c).to(without)) << "on one core";
  EXPECT_OK(consort_wait_all(without, kLong, 0));
  EXPECT_OK(without.stop());
  Pairs named = on(plain, "eager");
  named.push_back({"teams", "0-2;3-7"});
  Rt said(named);
  ASSERT_OK(consort_team_count(said, &n));
  EXPECT_EQ(n, 2u);
}

TEST(SimulatedTeams, TimesFollowTheMachineFile) {  // PAR-02, PAR-11
  TeamBodies codelets;
  TextFile f(machine());
  Rt rt(on(f, "eager"));
  long home = 0;
  const auto x = variable_of(rt, &home);
  const auto never = [](const consort_call &) -> consort_status { return CONSORT_E_INTERNAL; };
  const auto half = codelets(rt, "half", CONSORT_CL_FORKJOIN, never), fixed = codelets(rt, "fixed", CONSORT_CL_SPMD, never);
  const auto takes = [&](consort_codelet_id c, uint32_t size) {
    const uint32_t where = size == 1 ? 0 : team_of_size(rt, size);
    const uint64_t before = now(rt);
    EXPECT_OK(Desc(c).rw(x).on(where).to(rt));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    return static_cast<double>(now(rt) - before) / 1e6;
  };
  EXPECT_NEAR(takes(half, 1), 8, 0.01);
  EXPECT_NEAR(takes(half, 2), 6, 0.01);
  EXPECT_NEAR(takes(half, 4), 5, 0.01);
  EXPECT_NEAR(takes(half, 8), 4.5, 0.01);
  EXPECT_NEAR(takes(fixed, 4), 1, 0.01) << "it is said of this size";
  EXPECT_NEAR(takes(fixed, 8), 4.5, 0.01);
}

// A member does nothing else while the team is at work, and a team waits for all of its members.
TEST(SimulatedTeams, MembersRunNothingElse) {  // PAR-02
  TeamBodies codelets;
  TextFile f(machine("1"));
  Rt rt(on(f, "eager"));
  const auto never = [](const consort_call &) -> consort_status { return CONSORT_E_INTERNAL; };
  long home = 0, other = 0;
  const auto x = variable_of(rt, &home), y = variable_of(rt, &other);
  const auto half = codelets(rt, "half", CONSORT_CL_FORKJOIN, never), plain = codelets(rt, "plain", 0, never);
  const uint32_t all = team_of_size(rt, 8);
  const uint64_t before = now(rt);
  ASSERT_OK(Desc(plain).r(y).on(7).to(rt));  // 3 ms
  ASSERT_OK(Desc(half).rw(x).on(all).to(rt));  // 1 ms, after it
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_NEAR(static_cast<double>(now(rt) - before) / 1e6, 4, 0.05);
  const uint64_t again = now(rt);
  for (int i = 0; i < 16; ++i) ASSERT_OK(Desc(half).r(x).on(all).to(rt));
  for (uint32_t w = 0; w < 8; ++w) ASSERT_OK(Desc(plain).r(y).on(w).to(rt));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_NEAR(static_cast<double>(now(rt) - again) / 1e6, 16 + 3, 0.2) << "sixteen of all, and three side by side";
}

// pheft takes the size that ends a task soonest; peager gives each its share. The same seed gives the same run.
struct Outcome {
  double ms;
  std::string trace;
};
Outcome run(const char *scheduler, const char *parallel, uint32_t tasks, const char *seed = "1") {
  TeamBodies codelets;
  TextFile f(machine(parallel)), trace;
  Pairs pairs = on(f, scheduler);
  pairs.insert(pairs.end(), {{"sim.trace", trace.path.c_str()}, {"sim.noise", "0.05"}, {"sim.seed", seed}, {"seed", seed}});
  Rt rt(pairs);
  const auto half = codelets(rt, "half", CONSORT_CL_FORKJOIN, [](const consort_call &) -> consort_status { return CONSORT_E_INTERNAL; });
  std::vector<long> home(tasks);
  std::vector<consort_data_id> data;
  for (long &h : home) data.push_back(variable_of(rt, &h));
  const uint64_t before = now(rt);
  for (const auto x : data) need(Desc(half).rw(x).to(rt), "submit");
  need(consort_wait_all(rt, kLong, 0), "wait");
  const double ms = static_cast<double>(now(rt) - before) / 1e6;
  for (const auto x : data) need(consort_unregister(rt, x), "unregister");
  EXPECT_OK(rt.stop());
  return {ms, trace.text()};
}

TEST(SimulatedTeams, PoliciesChooseTeamSizes) {  // PAR-03, PAR-04, SCH-12, SCH-13
  for (const char *scheduler : {"pheft", "peager"}) {
    EXPECT_LT(run(scheduler, "1", 1).ms, 1.1) << scheduler << ": one task that scales, on all eight";
    EXPECT_LT(run(scheduler, "0.5", 64).ms, 100) << scheduler << ": many that scale badly, side by side: 64 ms, and 288 by all eight";
  }
  EXPECT_GT(run("lws", "1", 1).ms, 7.5) << "a policy without teams gives it to one core";
}

TEST(SimulatedTeams, SameSeedGivesTheSameTrace) {  // SIM-01
  for (const char *scheduler : {"pheft", "peager"}) {
    const Outcome a = run(scheduler, "0.9", 40, "5"), b = run(scheduler, "0.9", 40, "5"), c = run(scheduler, "0.9", 40, "6");
    EXPECT_EQ(a.trace, b.trace) << scheduler;
    EXPECT_NE(a.trace, c.trace) << scheduler;
    EXPECT_GT(std::count(a.trace.begin(), a.trace.end(), '\n'), 40) << scheduler;
  }
}

// With `execute` functions are called: of FORKJOIN one, of SPMD one for each rank, which meet at barriers.
TEST(SimulatedTeams, ExecuteCallsTheFunctions) {  // PAR-02, PAR-03
  TeamBodies codelets;
  TextFile f(machine());
  for (const char *scheduler : {"eager", "pheft"}) {
    Rt rt(on(f, scheduler, "true"));
    std::atomic<uint32_t> ranks{0}, wrong{0}, forks{0};
    long home = 0;
    const auto x = variable_of(rt, &home);
    const auto spmd = codelets(rt, "half", CONSORT_CL_SPMD, [&](const consort_call &c) -> consort_status {
      ranks.fetch_or(1u << c.rank);
      if (const consort_status s = c.barrier(&c); s < 0) return s;
      wrong += ranks != (1u << c.team) - 1;
      if (c.rank == 0) ++*pointer<long>(c, 0);
      return c.barrier(&c);
    });
    const auto fork = codelets(rt, "fixed", CONSORT_CL_FORKJOIN, [&](const consort_call &c) -> consort_status {
      forks += c.team;
      ++*pointer<long>(c, 0);
      return CONSORT_OK;
    });
    ASSERT_OK(Desc(spmd).rw(x).on(team_of_size(rt, 8)).to(rt));
    ASSERT_OK(Desc(fork).rw(x).on(team_of_size(rt, 4)).to(rt));
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ranks, 255u);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(forks, 4u);
    ranks = 0;
    EXPECT_OK(consort_unregister(rt, x));
    EXPECT_EQ(home, 2);
    EXPECT_OK(rt.stop());
  }
}

// The views of a team's task are gone when the next task takes its place on the leader's queue.
TEST(SimulatedTeams, TaskAfterATeamTaskGetsItsOwnViews) {  // PAR-02
  TeamBodies codelets;
  TextFile f(machine());
  Rt rt(on(f, "eager", "true"));
  long both = 0, own = 0;
  const auto x = variable_of(rt, &both), y = variable_of(rt, &own);
  const auto add = [](const consort_call &c) -> consort_status {
    *pointer<long>(c, 0) += c.team;
    return CONSORT_OK;
  };
  const auto fork = codelets(rt, "fixed", CONSORT_CL_FORKJOIN, add), plain = codelets(rt, "plain", 0, add);
  consort_team_info team{};
  team.size = sizeof team;
  ASSERT_OK(consort_get_team(rt, team_of_size(rt, 4), &team));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(Desc(fork).rw(x).on(team.id).to(rt));
    ASSERT_OK(Desc(plain).rw(y).on(team.members[0]).to(rt));
  }
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_OK(consort_unregister(rt, y));
  EXPECT_EQ(both, 12);
  EXPECT_EQ(own, 3);
}

// Cancelled when seven of eight members have arrived: the eighth ends its current task, and the team takes the next
// one.
TEST(SimulatedTeams, CancelWhileATeamForms) {
  TeamBodies codelets;
  TextFile f(machine("1"));
  for (const char *scheduler : {"eager", "pheft"}) {
    SCOPED_TRACE(scheduler);
    Rt rt(on(f, scheduler));
    const auto never = [](const consort_call &) -> consort_status { return CONSORT_E_INTERNAL; };
    const auto half = codelets(rt, "half", CONSORT_CL_SPMD, never), plain = codelets(rt, "plain", 0, never);
    const auto fixed = codelets(rt, "fixed", CONSORT_CL_SPMD, never);
    const uint32_t all = team_of_size(rt, 8);
    long home = 0, other = 0, third = 0;
    const auto x = variable_of(rt, &home), y = variable_of(rt, &other), z = variable_of(rt, &third);
    const uint64_t before = now(rt);
    ASSERT_OK(Desc(fixed).r(y).on(7).to(rt));  // 8 ms
    ASSERT_OK(consort_task_wait(rt, Desc(plain).r(y).on(6).must(rt), kLong, 0));
    const auto t = Desc(half).rw(x).on(all).must(rt), next = Desc(half).rw(z).on(all).must(rt);
    ASSERT_EQ(consort_task_wait(rt, t, 2'000'000, 0), CONSORT_E_TIMEOUT) << "seven of them have come";
    ASSERT_OK(consort_task_cancel(rt, t));
    EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(rt, t, kLong, 0), "cancelled");
    EXPECT_OK(consort_task_wait(rt, next, kLong, 0));
    EXPECT_NEAR(static_cast<double>(now(rt) - before) / 1e6, 9, 0.1) << "the cancelled one took no time";
    (void)consort_wait_all(rt, kLong, 0);
    for (const auto d : {x, y, z}) (void)consort_unregister(rt, d);
    EXPECT_OK(rt.stop());
  }
}

// The device of all members is lost at its nth op, while a team forms, is at work, or has parted. All ends, told or
// done.
TEST(SimulatedTeams, LostDeviceEndsAllTasks) {
  TeamBodies codelets;
  TextFile f(machine("1"));
  for (const char *scheduler : {"eager", "pheft", "peager"})
    for (int nth = 1; nth <= 8; ++nth) {
      const std::string fault = "lost@" + std::to_string(nth) + "/0";
      SCOPED_TRACE(scheduler + (" " + fault));
      Pairs pairs = on(f, scheduler);
      pairs.insert(pairs.end(), {{"sim.faults", fault.c_str()}, {"log", "error"}});
      Rt rt(pairs);
      const auto never = [](const consort_call &) -> consort_status { return CONSORT_E_INTERNAL; };
      const auto half = codelets(rt, "half", CONSORT_CL_SPMD, never), plain = codelets(rt, "plain", 0, never);
      const uint32_t all = team_of_size(rt, 8), four = team_of_size(rt, 4);
      std::vector<consort_task_id> tasks;
      tasks.push_back(Desc(plain).on(7).must(rt));
      tasks.push_back(Desc(half).on(all).must(rt));
      tasks.push_back(Desc(half).on(four).must(rt));
      tasks.push_back(Desc(half).must(rt));
      tasks.push_back(Desc(plain).on(3).must(rt));
      tasks.push_back(Desc(half).on(all).must(rt));
      uint32_t done = 0;
      for (const auto t : tasks) {
        const consort_status s = consort_task_wait(rt, t, kLong, 0);
        ASSERT_NE(s, CONSORT_E_TIMEOUT);
        if (s == CONSORT_OK) ++done;
        else EXPECT_EQ(s, CONSORT_E_DEVICE_LOST) << consort_error();
      }
      EXPECT_EQ(done < tasks.size(), nth <= 6) << done;
      (void)consort_wait_all(rt, kLong, 0);
      EXPECT_OK(rt.stop());
    }
}

// A failed team task ends as any other task does, and its members are free again.
TEST(SimulatedTeams, FailureFreesTheMembers) {
  TeamBodies codelets;
  TextFile f(machine());
  Rt rt(on(f, "eager", "true"));
  long home = 0;
  const auto x = variable_of(rt, &home);
  const auto bad = codelets(rt, "half", CONSORT_CL_SPMD, [&](const consort_call &c) -> consort_status {
    return c.rank == 2 ? consort_fail(CONSORT_E_IO, "rank two has had enough") : c.barrier(&c);
  });
  const auto plain = codelets(rt, "plain", 0, [](const consort_call &) -> consort_status { return CONSORT_OK; });
  const auto t = Desc(bad).rw(x).on(team_of_size(rt, 4)).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_task_wait(rt, t, kLong, 0), "rank two has had enough");
  (void)consort_wait_all(rt, kLong, 0);
  consort_data_id y{0};
  long other = 0;
  y = variable_of(rt, &other);
  ASSERT_OK(Desc(plain).rw(y).on(2).to(rt));
  EXPECT_OK(consort_unregister(rt, y)) << "its members are free again";
  (void)consort_unregister(rt, x);
}

TEST(SimulatedTeams, RefusalsNameTheirCause) {
  consort_runtime *rt = nullptr;
  TextFile uneven("[[device]]\nhost = true\nclass = \"cpu\"\nunits = 9\nmemory = \"1G\"\nsockets = 2\n");
  EXPECT_SAYS(CONSORT_E_INVAL, start(on(uneven, "eager"), &rt), "9 units cannot be divided into 2 equal sockets");
  TextFile share("[[device]]\nhost = true\nclass = \"cpu\"\nunits = 8\nmemory = \"1G\"\nsockets = 2\nparallel = 1.5\n");
  EXPECT_SAYS(CONSORT_E_INVAL, start(on(share, "eager"), &rt), "parallel", "from 0 to 1");
  TextFile mixed(machine());
  Pairs pairs = on(mixed, "eager");
  pairs.push_back({"teams", "7-8"});
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, start(pairs, &rt), "which runs by itself");
}

}  // namespace
}  // namespace consort_test
