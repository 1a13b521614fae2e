// The setting device_cores (WRK-07): for each unit of a device one core runs no tasks, and the unit's thread stays there.
#include <sched.h>

#include <map>
#include <set>
#include <string>

#include "api/introspection.hpp"

namespace {

using namespace consort_test;

const char *const kStream = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so";

std::map<std::string, int> workers_of(Pairs more) {
  Pairs pairs = {{"plugins", kStream}, {"drivers", "cpu, stream"}, {"cpu.topology", kFourCores}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  Rt rt(pairs);
  std::map<std::string, int> n;
  for (uint32_t w = 0; w < info(rt).nworkers; ++w) {
    EXPECT_EQ(worker(rt, w).id, w);
    const std::string klass = worker(rt, w).klass;
    EXPECT_EQ(worker(rt, w).name, klass + std::to_string(n[klass]));
    ++n[klass];
  }
  return n;
}

TEST(DeviceCores, OneIsSetAsideForEachUnit) {
  using Workers = std::map<std::string, int>;
  EXPECT_EQ(workers_of({}), (Workers{{"cpu", 4}, {"stream", 1}}));
  EXPECT_EQ(workers_of({{"device_cores", "true"}}), (Workers{{"cpu", 3}, {"stream", 1}}));
  EXPECT_EQ(workers_of({{"device_cores", "true"}, {"stream.units", "2"}}), (Workers{{"cpu", 2}, {"stream", 2}}));
  EXPECT_EQ(workers_of({{"device_cores", "true"}, {"drivers", "stream, cpu"}}), (Workers{{"cpu", 3}, {"stream", 1}}));
}

TEST(DeviceCores, OneCoreAtLeastRunsTasks) {
  EXPECT_EQ(workers_of({{"device_cores", "true"}, {"stream.units", "6"}})["cpu"], 1);
  EXPECT_EQ(workers_of({{"device_cores", "true"}, {"cpu.workers", "1"}})["cpu"], 1);
}

// On this machine: each core has a worker, or drives the unit.
TEST(DeviceCores, TheUnitsThreadHasItsCore) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "one core alone cannot be set aside";
  const auto cores_of = [](const char *aside) {
    Rt rt({{"plugins", kStream}, {"drivers", "cpu, stream"}, {"device_cores", aside}});
    std::map<std::string, std::set<int>> cores;
    for (uint32_t w = 0; w < info(rt).nworkers; ++w) cores[worker(rt, w).klass].insert(worker(rt, w).os_cpu);
    return cores;
  };
  auto shared = cores_of("false"), aside = cores_of("true");
  if (shared["cpu"].contains(-1) || shared["cpu"].size() < 2) GTEST_SKIP() << "this process may not use two whole cores";
  EXPECT_EQ(shared["stream"], std::set<int>{-1});
  ASSERT_EQ(aside["stream"].size(), 1u);
  const int own = *aside["stream"].begin();
  EXPECT_TRUE(shared["cpu"].contains(own));
  EXPECT_FALSE(aside["cpu"].contains(own));
  aside["cpu"].insert(own);
  EXPECT_EQ(aside["cpu"], shared["cpu"]);
}

}  // namespace
