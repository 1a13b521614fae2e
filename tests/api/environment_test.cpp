// Variables of the environment: each changes a runtime whose code does not give that setting.
#include <consort/model.h>
#include <consort/teams.h>
#include <sched.h>

#include <filesystem>

#include "api/introspection.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"
#include "support/trace_text.hpp"
#include "support/variable.hpp"

namespace {

using namespace consort_test;

const Pairs kMachine = {{"cpu.topology", kFourCores}};
Pairs with(Pairs more) {
  more.insert(more.end(), kMachine.begin(), kMachine.end());
  return more;
}

TEST(Environment, SelectsWorkersAndCores) {  // ENV-01, ENV-06
  EXPECT_EQ(info(Rt(kMachine)).nworkers, 4u);
  {
    const Variable three("CONSORT_WORKERS", "3");
    EXPECT_EQ(info(Rt(kMachine)).nworkers, 3u);
    EXPECT_EQ(info(Rt(with({{"workers", "2"}}))).nworkers, 2u) << "the program goes over the environment";
  }
  {
    const Variable cores("CONSORT_CPU__CORES", "1,3");
    EXPECT_EQ(info(Rt(kMachine)).nworkers, 2u);
  }
  if (const Pairs here; info(Rt(here)).nworkers >= 2) {  // cores of this machine
    const auto of = [&](const char *core) {
      const Variable cores("CONSORT_CPU__CORES", core);
      Rt rt(here);
      EXPECT_EQ(info(rt).nworkers, 1u);
      return worker(rt, 0).os_cpu;
    };
    EXPECT_NE(of("0"), of("1"));
  }
  const Variable none("CONSORT_CPU__UNITS", "false");
  Rt rt(with({{"drivers", "cpu,sim"}, {"sim.devices", "1"}}));
  for (uint32_t w = 0; w < info(rt).nworkers; ++w) EXPECT_STRNE(worker(rt, w).klass, "cpu");
}

// The cores that the thread of worker 0 may run on.
int cores_of_a_worker() {
  Rt rt(Pairs{{"workers", "1"}});
  Bodies body;
  int n = 0;
  Desc(body(rt, "looks", [&](const consort_call &) {
    cpu_set_t set;
    n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
    return CONSORT_OK;
  })).must(rt);
  need(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP), "wait");
  return n;
}

TEST(Environment, BindSwitchesPinning) {  // ENV-05
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "one core alone shows nothing";
  const int bound = cores_of_a_worker();
  const Variable loose("CONSORT_BIND", "false");
  const int unbound = cores_of_a_worker();
  EXPECT_LT(bound, unbound);
  EXPECT_EQ(unbound, CPU_COUNT(&mine));
}

// TSK-36: cores that a setting leaves to the application are used by no task, so its own threads may compute there.
TEST(Environment, UnselectedCoresRunNoTasks) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "one core alone cannot be divided";
  const Variable cores("CONSORT_CPU__CORES", "0");
  Rt rt(Pairs{{"scheduler", "eager"}});
  ASSERT_EQ(info(rt).nworkers, 1u);
  const int its = worker(rt, 0).os_cpu;
  Bodies body;
  std::atomic<int> there{0}, elsewhere{0};
  std::atomic<uint64_t> computed{0};  // meanwhile, on this thread: each task waits until it goes on
  const auto looks = body(rt, "looks", [&](const consort_call &) {
    for (const uint64_t before = computed; computed == before;) std::this_thread::yield();
    return ++(sched_getcpu() == its ? there : elsewhere), CONSORT_OK;
  });
  for (int i = 0; i < 200; ++i) Desc(looks).must(rt);
  while (there + elsewhere < 200) ++computed;
  EXPECT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_EQ(there, 200);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_GE(computed, 200u);
}

TEST(Environment, SelectsTeams) {  // ENV-09, ENV-10
  const Pairs eight = {{"cpu.topology", "pack:1 core:8 pu:1"}};
  const auto teams = [&] {
    uint32_t n = 0;
    need(consort_team_count(Rt(eight), &n), "teams");
    return n;
  };
  EXPECT_EQ(teams(), 7u) << "of 2, of 4, of 8: four, two, one";
  {
    const Variable single("CONSORT_TEAMS", "single");
    EXPECT_EQ(teams(), 7u) << "of 2, 3 … 8";
    Rt rt(eight);
    consort_team_info t{};
    t.size = sizeof t;
    ASSERT_OK(consort_get_team(rt, 9, &t));
    EXPECT_EQ(t.nmembers, 3u);
  }
  const Variable four("CONSORT_TEAM_ARITY", "4");
  EXPECT_EQ(teams(), 5u) << "four of 2 in one of 8";
}

TEST(Environment, SelectsThePolicyAndNamesBadValues) {  // ENV-11, ENV-14 … ENV-17: a value that a policy cannot take is named with its variable
  EXPECT_STRNE(info(Rt(kMachine)).scheduler, "eager");
  {
    const Variable eager("CONSORT_SCHEDULER", "eager");
    EXPECT_STREQ(info(Rt(kMachine)).scheduler, "eager");
  }
  const Variable dmda("CONSORT_SCHEDULER", "dmda");
  EXPECT_STREQ(info(Rt(kMachine)).scheduler, "dmda");
  for (const char *name : {"CONSORT_DMDA__ALPHA", "CONSORT_DMDA__BETA", "CONSORT_DMDA__GAMMA", "CONSORT_DMDA__IDLE_POWER"}) {
    {
      const Variable good(name, "0.5");
      EXPECT_STREQ(info(Rt(kMachine)).scheduler, "dmda");
    }
    const Variable bad(name, "heavy");
    consort_runtime *rt = nullptr;
    EXPECT_SAYS(CONSORT_E_INVAL, start(kMachine, &rt), name, "heavy");
  }
}

TEST(Environment, SetsCalibrationSamples) {  // ENV-12
  const auto known = [] {
    Rt rt(with({{"models", "all"}, {"keep_models", "no"}, {"calibrate_samples", "1"}}));
    const auto c = codelet(rt, "nothing", nothing);
    for (int i = 0; i < 40; ++i) Desc(c).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait");
    double ns = 0;
    Desc d(c);
    int n = 0;
    for (uint32_t w = 0; w < 4; ++w) n += consort_expected(rt, d.desc(), w, 0, CONSORT_MODEL_TIME, &ns) == CONSORT_OK;
    return n;
  };
  EXPECT_GT(known(), 0);
  const Variable off("CONSORT_CALIBRATE", "off");
  EXPECT_EQ(known(), 0);
}

TEST(Environment, SwitchesProfiling) {  // ENV-18
  const auto busy = [] {
    Rt rt(with({{"workers", "1"}}));
    Bodies body;
    // nap: a time that is measured
    Desc(body(rt, "nap", [](const consort_call &) { return std::this_thread::sleep_for(2ms), CONSORT_OK; })).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait");
    return worker(rt, 0).busy_ns;
  };
  EXPECT_EQ(busy(), 0u);
  const Variable on("CONSORT_PROFILE", "true");
  EXPECT_GE(busy(), 1'000'000u);
}

TEST(Environment, SetsTheLogLevel) {  // ENV-21, ENV-22: the lines go where the application wants them
  struct Lines {
    std::mutex mutex;
    int32_t loudest = -1;
  };
  const auto loudest = [] {
    Lines lines;
    consort_settings s = CONSORT_SETTINGS_INIT;
    const Pairs pairs = with({{"scheduler", "eager"}, {"cpu.cores", "1,2"}, {"cpu.workers", "3"}});  // worth a warning
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log_user = &lines;
    s.log = [](void *user, int32_t level, const char *) {
      auto *to = static_cast<Lines *>(user);
      const std::lock_guard lock(to->mutex);
      to->loudest = std::max(to->loudest, level);
    };
    consort_runtime *rt = nullptr;
    need(consort_start(&s, &rt), "start");
    need(consort_stop(rt), "stop");
    return lines.loudest;
  };
  EXPECT_EQ(loudest(), 1) << "a warning, by default";
  {
    const Variable debug("CONSORT_LOG", "debug");
    EXPECT_EQ(loudest(), 3);
  }
  const Variable quiet("CONSORT_LOG", "error");
  EXPECT_EQ(loudest(), -1);
}

TEST(Environment, WritesATrace) {  // ENV-23, ENV-25
  const Folder folder("environment");
  const std::string path = folder / "run.trace";
  const Variable trace("CONSORT_TRACE", path);
  Rt rt(kMachine);
  Desc(codelet(rt, "traced", nothing)).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_OK(rt.stop());
  const std::string text = trace_text(path);
  EXPECT_EQ(text.rfind("consort trace 1", 0), 0u) << text;
  EXPECT_NE(text.find("traced"), std::string::npos);
}

TEST(Environment, LimitsMemory) {  // ENV-24
  const auto writes = [] {
    Rt rt(with({{"cpu.numa", "false"}}));
    const auto x = vector_of(rt, nullptr, 1 << 20, 1, "a megabyte");
    const auto s = Answer(Desc(codelet(rt, "writes", nothing)).w(x).to(rt));
    const Answer wait(consort_wait_all(rt, kLong, 0));
    need(consort_unregister_later(rt, x), "unregister");
    return s.status < 0 ? s : wait;
  };
  EXPECT_OK(writes());
  const Variable limit("CONSORT_LIMITS", "ram=64K");
  EXPECT_TRUE(answered(CONSORT_E_NOMEM, writes(), {"ram"}));
}

TEST(Environment, SelectsTheModelFolder) {  // ENV-26: where models are kept
  const Folder home("home"), own("own");
  const auto run = [] {
    Rt rt(with({{"models", "all"}, {"keep_models", "yes"}}));
    const auto c = codelet(rt, "kept", nothing);
    for (int i = 0; i < 40; ++i) Desc(c).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait");
  };
  const Variable cache("XDG_CACHE_HOME", home.path());
  run();
  EXPECT_FALSE(std::filesystem::is_empty(home / "consort/models"));
  EXPECT_TRUE(std::filesystem::is_empty(own.path()));
  const Variable folder("CONSORT_MODEL_FOLDER", own.path());
  run();
  EXPECT_FALSE(std::filesystem::is_empty(own.path()));
}

}  // namespace
