// Policies that choose teams: which workers, how many, and that it pays; policies without teams run such tasks all the
// same. PAR-01, PAR-02, PAR-03, PAR-04; SCH-12, SCH-13.
#include <consort/model.h>

#include <map>

#include "api/team_bodies.hpp"
#include "schedulers/policy_harness.hpp"

namespace consort_test {
namespace {

// -- peager by itself: eight workers in teams of two, four and eight ----------------------------------------------

struct Eight {
  PolicyHarness h{"peager", std::vector<uint32_t>(8, 0)};
  std::vector<uint32_t> all{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<consort_team> teams;
  Tasks tasks{32};

  Eight() {
    uint32_t id = 8;
    for (uint32_t size = 2; size <= 8; size *= 2)
      for (uint32_t first = 0; first < 8; first += size) teams.push_back({id++, 0, 0, size, &all[first]});
    h.topology.nteams = static_cast<uint32_t>(teams.size());
    h.topology.teams = teams.data();
    EXPECT_EQ(h.ops->workers(h.instance, &h.topology, nullptr, 0, nullptr, 0), CONSORT_OK);
    for (consort_task &t : tasks.all) t.flags = CONSORT_TK_TEAM, t.team_max = 8;
  }
  // How many it is given to; 0: nothing.
  uint32_t pop(uint32_t worker) {
    consort_pick pick{nullptr, 0, 0};
    if (!h.ops->pop(h.instance, worker, &pick, 1)) return 0;
    return pick.team == CONSORT_NONE ? 1 : teams[pick.team - 8].nmembers;
  }
};

TEST(Peager, OneTaskGetsAllWorkers) {  // PAR-04
  Eight e;
  e.h.push(CONSORT_NONE, e.tasks.range(0, 1));
  EXPECT_EQ(e.h.wake_k, 1u) << "one comes for it; the kernel calls the others";
  EXPECT_EQ(e.pop(5), 8u);
  EXPECT_EQ(e.pop(5), 0u);
  // It ends, and the next is ready: the first to come finds the others free, too.
  e.h.push(0, e.tasks.range(1, 2));
  EXPECT_EQ(e.pop(0), 8u);
}

TEST(Peager, ManyTasksShareWorkers) {  // PAR-04
  Eight e;
  e.h.push(CONSORT_NONE, e.tasks.range(0, 8));
  for (uint32_t w = 0; w < 8; ++w) EXPECT_EQ(e.pop(w), 1u);
  for (uint32_t w = 0; w < 8; ++w) EXPECT_EQ(e.pop(w), 0u);
  e.h.push(CONSORT_NONE, e.tasks.range(8, 12));
  EXPECT_EQ(e.pop(0), 2u);
  EXPECT_EQ(e.pop(2), 2u);
  EXPECT_EQ(e.pop(4), 2u);
  EXPECT_EQ(e.pop(6), 2u);
  EXPECT_EQ(e.pop(1), 0u);
  e.h.push(CONSORT_NONE, e.tasks.range(12, 13));
  EXPECT_EQ(e.pop(0), 2u) << "it is back, and its mate with it: all others are busy";
}

TEST(Peager, TakesOnlyIdleWorkersUpToTheMaximum) {  // PAR-03, PAR-04
  Eight e;
  e.tasks.all[0].flags = 0, e.tasks.all[0].team_max = 1;
  e.tasks.all[1].team_max = 4;
  e.h.push(CONSORT_NONE, e.tasks.range(0, 1));
  EXPECT_EQ(e.pop(3), 1u) << "an ordinary one";
  e.h.push(CONSORT_NONE, e.tasks.range(1, 2));
  EXPECT_EQ(e.pop(0), 2u) << "of its four the last is busy";
  EXPECT_EQ(e.pop(0), 0u);
  EXPECT_EQ(e.pop(3), 0u);
  e.tasks.all[2].team_max = 4;
  e.h.push(CONSORT_NONE, e.tasks.range(2, 4));
  EXPECT_EQ(e.pop(6), 4u);
  EXPECT_EQ(e.pop(1), 4u) << "the other four, though eight were allowed";
}

// -- in a runtime -------------------------------------------------------------------------------------------------

class TeamPolicies : public testing::TestWithParam<const char *> {
 protected:
  static Pairs pairs() {
    Pairs p = kEight;
    p.push_back({"scheduler", GetParam()});
    return p;
  }
  static bool knows_teams() { return GetParam()[0] == 'p' && GetParam() != std::string("prio"); }
};
INSTANTIATE_TEST_SUITE_P(All, TeamPolicies,
                         testing::Values("peager", "pheft", "lws", "eager", "prio", "ws", "random", "dmda", "heft", "graph-lookahead"),
                         [](const auto &i) {
                           std::string name = i.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A chain of tasks, each of which reads the result of its predecessor; beside it ordinary tasks. Each rank is called
// exactly once.
TEST_P(TeamPolicies, RunEachTaskOnce) {  // PAR-01, PAR-02
  TeamBodies codelets;
  Bodies plain;
  Rt rt(pairs());
  std::atomic<uint64_t> parts{0}, wrong{0}, others{0};
  std::atomic<uint32_t> most{0};
  long home = 0;
  const auto x = variable_of(rt, &home);
  const auto spmd = codelets(rt, "spmd", CONSORT_CL_SPMD, [&](const consort_call &c) -> consort_status {
    long *v = pointer<long>(c, 0);
    const long before = *v;
    if (const consort_status s = c.barrier(&c); s < 0) return s;
    if (c.rank == 0) *v = before + 1;
    if (c.team > most) most = c.team;
    parts.fetch_add((1ull << 32) / c.team);
    if (const consort_status s = c.barrier(&c); s < 0) return s;
    wrong += *v != before + 1;
    return CONSORT_OK;
  });
  const auto fork = codelets(rt, "fork", CONSORT_CL_FORKJOIN, [&](const consort_call &c) -> consort_status {
    ++*pointer<long>(c, 0);
    parts.fetch_add(1ull << 32);
    wrong += c.rank != 0 || c.team > 4;
    return CONSORT_OK;
  }, 4);
  const auto other = plain(rt, "other", [&](const consort_call &) { return others++, CONSORT_OK; });
  constexpr uint64_t kTasks = 200;
  for (uint64_t i = 0; i < kTasks; ++i) {
    ASSERT_OK(Desc(i % 2 ? spmd : fork).rw(x).to(rt));
    if (i % 3 == 0) {
      ASSERT_OK(Desc(other).to(rt));
    }
  }
  EXPECT_OK(consort_wait_all(rt, kLong * kSlow, 0));
  // peager takes no busy worker into a team: on a machine with other load a full team may take some more tasks.
  uint64_t tasks = kTasks;
  for (; knows_teams() && most < 2 && tasks < 2 * kTasks; ++tasks)
    ASSERT_OK(consort_task_wait(rt, Desc(spmd).rw(x).must(rt), kLong * kSlow, 0));
  EXPECT_EQ(parts, tasks << 32) << "teams of 1, 2, 4 and 8 divide it";
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(others, (kTasks + 2) / 3);
  EXPECT_GE(most, knows_teams() ? 2u : 1u);
  EXPECT_LE(most, knows_teams() ? 8u : 1u);
  EXPECT_OK(rt.stop());
  EXPECT_EQ(home, static_cast<long>(tasks));
}

// ns, by the unit that the model is given: "…*4" is a team of four.
uint32_t team_of(const consort_model_ask *ask) {
  const char *star = std::strrchr(ask->arch, '*');
  return star ? static_cast<uint32_t>(std::atoi(star + 1)) : 1;
}
double faster(void *, const consort_model_ask *ask) { return 8e6 / team_of(ask); }
double slower(void *, const consort_model_ask *ask) { return 1e6 * team_of(ask); }

// A kernel that scales with the cores gets the largest teams, one that slows down gets none.
TEST(Pheft, ChoosesTheFastestTeamSize) {  // PAR-04, PAR-11, SCH-12
  TeamBodies codelets;
  Pairs pairs = kEight;
  pairs.push_back({"scheduler", "pheft"});
  Rt rt(pairs);
  std::mutex mutex;
  std::map<uint32_t, int> sizes;
  long home = 0;
  const auto x = variable_of(rt, &home);
  for (const bool scales : {true, false}) {
    // A body takes at least the time of its model. An earlier end would free workers that the policy takes for busy.
    const auto c = codelets(rt, scales ? "scales" : "does not", CONSORT_CL_FORKJOIN, [&, scales](const consort_call &call) {
      // nap: the least time of a body; the policy goes by the model
      std::this_thread::sleep_for(std::chrono::microseconds(scales ? 8000 / call.team : 1000 * call.team));
      const std::lock_guard lock(mutex);
      return ++sizes[call.team], CONSORT_OK;
    });
    consort_model m = CONSORT_MODEL_INIT;
    m.kind = CONSORT_MODEL_PER_CLASS;
    m.cost = scales ? faster : slower;
    ASSERT_OK(consort_codelet_set_model(rt, c, CONSORT_MODEL_TIME, &m));
    sizes.clear();
    for (int i = 0; i < 40; ++i) ASSERT_OK(Desc(c).rw(x).to(rt));
    EXPECT_OK(consort_wait_all(rt, kLong * kSlow, 0));
    EXPECT_EQ(sizes, (std::map<uint32_t, int>{{scales ? 8 : 1, 40}}));
  }
  EXPECT_OK(rt.stop());
}

TEST(Pheft, SamplesEachTeamSize) {  // PAR-04, PAR-11
  TeamBodies codelets;
  Pairs pairs = kEight;
  pairs.push_back({"scheduler", "pheft"});
  pairs.push_back({"calibrate_samples", "3"});
  Rt rt(pairs);
  std::mutex mutex;
  std::map<uint32_t, int> sizes;
  const auto c = codelets(rt, "unknown", CONSORT_CL_SPMD, [&](const consort_call &call) {
    const std::lock_guard lock(mutex);
    return sizes[call.team] += call.rank == 0, CONSORT_OK;
  });
  for (int i = 0; i < 80; ++i) EXPECT_OK(consort_task_wait(rt, Desc(c).must(rt), kLong, 0));
  ASSERT_EQ(sizes.size(), 4u);
  for (const auto &[size, n] : sizes) EXPECT_GE(n, 3) << size;
}

// Many tasks at once that scale badly: most alone, side by side, though a team would end the first one sooner.
TEST(Pheft, RunsManyTasksSideBySide) {  // PAR-04
  TeamBodies codelets;
  Pairs pairs = kEight;
  pairs.push_back({"scheduler", "pheft"});
  Rt rt(pairs);
  std::atomic<uint32_t> alone{0}, ran{0};
  Gate gate;
  const auto c = codelets(rt, "hardly faster", CONSORT_CL_FORKJOIN, [&](const consort_call &call) -> consort_status {
    gate.pass();
    return ran++, alone += call.team == 1, CONSORT_OK;
  });
  consort_model m = CONSORT_MODEL_INIT;
  m.kind = CONSORT_MODEL_PER_CLASS;
  m.cost = [](void *, const consort_model_ask *ask) { return 2e6 + 2e6 / team_of(ask); };
  ASSERT_OK(consort_codelet_set_model(rt, c, CONSORT_MODEL_TIME, &m));
  for (int i = 0; i < 160; ++i) ASSERT_OK(Desc(c).to(rt));
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong * kSlow, 0));
  EXPECT_EQ(ran, 160u);
  EXPECT_GE(alone, 140u);
}

}  // namespace
}  // namespace consort_test
