// OpenMP inside a function that a team runs: its threads have the cores of the team, and no others. PAR-09, PAR-10. Its
// threads synchronise by means that the thread sanitizer does not see, so it is no test under that one.
#include <sched.h>

#include <set>

#include "api/team_bodies.hpp"

#if defined(_OPENMP) && CONSORT_SAN != 2
#include <omp.h>

using namespace consort_test;

namespace {

struct Seen {
  std::mutex mutex;
  std::set<int> threads;
  std::set<int> cores;
  int size = 0;
};

// y = a x + y; notes the thread of each step.
consort_status axpy(const consort_call &call, Seen &seen) {
  float *y = pointer<float>(call, 1);
  const float *x = pointer<float>(call, 0), a = value<float>(call, 0);
  const int n = value<int>(call, 1);
#pragma omp parallel num_threads(static_cast<int>(call.team))
  {
    cpu_set_t set;
    CPU_ZERO(&set);
    consort_bind_to_team(&call);
    sched_getaffinity(0, sizeof set, &set);
    {
      const std::lock_guard lock(seen.mutex);
      seen.threads.insert(omp_get_thread_num());
      seen.size = omp_get_num_threads();
      for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &set)) seen.cores.insert(i);
    }
#pragma omp for
    for (int i = 0; i < n; ++i) y[i] += a * x[i];
  }
  return CONSORT_OK;
}

TEST(OpenMp, ThreadsRunOnTheTeamsCores) {  // PAR-09
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "one core is all that there is";
  constexpr int kN = 100'000;
  std::vector<float> x(kN, 2), y(kN, 1);
  Seen seen;
  TeamBodies body;
  Rt rt({{"workers", "2"}, {"keep_models", "no"}});
  const auto c = body(rt, "axpy", CONSORT_CL_FORKJOIN, [&](const consort_call &call) { return axpy(call, seen); });
  const auto dx = vector_of(rt, x.data(), kN, sizeof(float)), dy = vector_of(rt, y.data(), kN, sizeof(float));
  const auto run = [&](uint32_t on) {
    seen.threads.clear(), seen.cores.clear();
    EXPECT_OK(consort_task_wait(rt, Desc(c).r(dx).rw(dy).arg(0.5f).arg(kN).on(on).must(rt), kLong, CONSORT_WAIT_NO_HELP));
  };
  std::set<int> team, alone[2];
  for (uint32_t w = 0; w < 2; ++w) {
    run(w);
    EXPECT_EQ(seen.size, 1);
    alone[w] = seen.cores;
    team.insert(seen.cores.begin(), seen.cores.end());
  }
  EXPECT_NE(alone[0], alone[1]);
  run(2);
  EXPECT_EQ(seen.threads, (std::set<int>{0, 1}));
  EXPECT_EQ(seen.cores, team);
  run(0);
  EXPECT_EQ(seen.cores, alone[0]) << "afterwards it is as before";
  EXPECT_OK(rt.stop());
  EXPECT_EQ(std::count(y.begin(), y.end(), 1 + 4 * 0.5f * 2), kN);
}

}  // namespace
#else
TEST(OpenMp, SkippedWithoutOpenMp) { GTEST_SKIP() << "built without OpenMP, or with the thread sanitizer"; }
#endif
