// The policy auto, and the kernel's part for a director. It reports the current policy and asks again while tasks run.
// It removes the director when another scheduler is selected by name.
#include "api/harness.hpp"

namespace {

using namespace consort_test;

std::string explained(consort_runtime *rt) {
  std::string text(consort_explain(rt, {0}, nullptr, 0) + 1, 0);
  consort_explain(rt, {0}, text.data(), text.size());
  return text;
}
bool is_current(consort_runtime *rt, const std::string &name) {
  return explained(rt).find("scheduler auto (" + name + " at present): ") != std::string::npos;
}
std::string scheduler_of(consort_runtime *rt) {
  consort_info i{};
  i.size = sizeof i;
  need(consort_get_info(rt, &i), "info");
  return i.scheduler;
}

// Four cores and a device, in virtual time.
Pairs unlike(Pairs more = {}) {
  Pairs p = {{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "4"}, {"sim.devices", "1"}, {"window", "0"},
             {"sim.times", "large=1ms,tiny=10us"}, {"scheduler", "auto"}, {"keep_models", "no"}};
  p.insert(p.end(), more.begin(), more.end());
  return p;
}

// As Bodies, with an implementation for the device, too.
class EverywhereBodies {
 public:
  consort_codelet_id operator()(consort_runtime *rt, const char *name, Body body) {
    all_.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{"cpu", run_body, all_.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", run_body, all_.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(rt, name, impls, 0, CONSORT_NONE);
  }

 private:
  std::vector<std::unique_ptr<Body>> all_;
};

TEST(Auto, ChoosesByUnits) {
  {
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"scheduler", "auto"}});
    EXPECT_EQ(scheduler_of(rt), "auto");
    EXPECT_TRUE(is_current(rt, "lws")) << explained(rt);
  }
  {
    Rt rt(unlike());
    EXPECT_EQ(scheduler_of(rt), "auto");
    EXPECT_TRUE(is_current(rt, "graph-lookahead")) << explained(rt);
  }
  {
    Rt rt(unlike({{"auto.spaces", "dmdas"}}));
    EXPECT_TRUE(is_current(rt, "dmdas")) << explained(rt);
  }
}

// A program without kernels for the device gets the scheduler for like units, until it adds one.
TEST(Auto, ChoosesByCodelets) {
  Rt rt(unlike());
  Bodies on_cores;
  EverywhereBodies everywhere;
  int ran = 0;
  const auto count = [&](const consort_call &) { return ++ran, CONSORT_OK; };
  const auto cores = on_cores(rt, "large", count);
  const auto wave = [&] {
    for (int i = 0; i < 100; ++i) Desc(cores).must(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  };
  wave(), wave();
  EXPECT_TRUE(is_current(rt, "lws")) << explained(rt);
  EXPECT_NE(explained(rt).find("the codelets use 4 of 5 units, and these are alike"), std::string::npos) << explained(rt);
  const auto both = everywhere(rt, "large", count);
  EXPECT_TRUE(is_current(rt, "graph-lookahead")) << "at once, not at the next look: " << explained(rt);
  EXPECT_OK(consort_codelet_remove(rt, both));
  wave(), wave();
  EXPECT_TRUE(is_current(rt, "lws")) << explained(rt);
  EXPECT_EQ(ran, 400);
}

// The default, and its reason in the log. On like units it is not asked again, and no task is measured for it.
TEST(Auto, IsTheDefaultAndSaysWhy) {
  struct Told {
    std::mutex mutex;
    std::vector<std::string> lines;
  } told;
  const auto started = [&](const Pairs &pairs) {
    told.lines.clear();
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log_user = &told;
    s.log = [](void *user, int32_t, const char *text) {
      auto &t = *static_cast<Told *>(user);
      const std::lock_guard lock(t.mutex);
      if (std::string(text).starts_with("scheduler 'auto'")) t.lines.push_back(text);
    };
    consort_runtime *rt = nullptr;
    EXPECT_OK(consort_start(&s, &rt));
    EXPECT_EQ(scheduler_of(rt), "auto");
    EXPECT_OK(consort_stop(rt));
    return told.lines;
  };
  EXPECT_EQ(started({{"cpu.topology", kFourCores}, {"workers", "2"}, {"drivers", "cpu"}, {"log", "info"}}),
            std::vector<std::string>{"scheduler 'auto' selects 'lws': 2 like units"});
  Pairs p = unlike({{"log", "info"}});
  std::erase_if(p, [](const auto &x) { return std::string(x.key) == "scheduler"; });
  EXPECT_EQ(started(p), std::vector<std::string>{"scheduler 'auto' selects 'graph-lookahead': 5 units with memories of their own"});
}

// A wrong setting of the selected policy is an error of the start, as if the policy were named.
TEST(Auto, WrongSettingsOfTheSelectedPolicyAreAnError) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  const Pairs pairs = {{"cpu.topology", kFourCores}, {"drivers", "cpu"}, {"lws.depth", "1"}};
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "64..1048576");
}

// Tasks too small for decisions by models, then large ones: it switches both ways, and no task is lost.
TEST(Auto, SwitchesWhileTasksRun) {
  const auto run = [] {
    Rt rt(unlike());
    std::vector<uint64_t> trace;
    need(consort_trace(rt, [](void *p, const consort_trace_event *e) {
      static_cast<std::vector<uint64_t> *>(p)->push_back(e->task * 16 + e->worker * 2 + e->what);
    }, &trace), "trace");
    EverywhereBodies body;
    int ran = 0;
    const auto count = [&](const consort_call &) { return ++ran, CONSORT_OK; };
    const auto tiny = body(rt, "tiny", count), large = body(rt, "large", count);
    EXPECT_TRUE(is_current(rt, "graph-lookahead"));
    for (int i = 0; i < 12000; ++i) Desc(tiny).must(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
    EXPECT_TRUE(is_current(rt, "lws")) << explained(rt);
    for (int i = 0; i < 400; ++i) Desc(large).must(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
    EXPECT_TRUE(is_current(rt, "graph-lookahead")) << explained(rt);
    EXPECT_EQ(ran, 12400);
    return trace;
  };
  const auto first = run();
  EXPECT_EQ(first.size(), 24800u);
  EXPECT_EQ(first, run());
}

// Small tasks without known times run ahead of a graph of large ones that is submitted already. Nothing changes, since
// another policy would not know the graph.
TEST(Auto, KeepsAPolicyThatKnowsTheGraph) {
  struct Log {
    std::vector<std::string> lines;
  } log;
  consort_settings s = CONSORT_SETTINGS_INIT;
  const Pairs pairs = unlike({{"log", "info"}});
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.log_user = &log;
  s.log = [](void *user, int32_t, const char *text) { static_cast<Log *>(user)->lines.push_back(text); };
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&s, &rt));
  EverywhereBodies body;
  int ran = 0;
  const auto count = [&](const consort_call &) { return ++ran, CONSORT_OK; };
  const auto fill = body(rt, "unknown", count), large = body(rt, "large", count);
  for (int i = 0; i < 3000; ++i) Desc(fill).must(rt);
  for (int i = 0; i < 20000; ++i) Desc(large).must(rt);
  EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(ran, 23000);
  for (const std::string &line : log.lines) EXPECT_EQ(line.find("goes over from 'graph-lookahead'"), line.npos) << line;
  EXPECT_OK(consort_stop(rt));
}

// Without estimates it chooses a policy without models, for a while.
TEST(Auto, ChoosesWithoutModels) {
  Rt rt(unlike({{"calibrate", "off"}, {"sim.times", ""}}));
  EverywhereBodies body;
  int ran = 0;
  const auto c = body(rt, "unknown", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int wave = 0; wave < 20; ++wave) {
    for (int i = 0; i < 400; ++i) Desc(c).must(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  }
  EXPECT_EQ(ran, 8000);
  EXPECT_TRUE(is_current(rt, "lws")) << explained(rt);
}

// A policy that looks ahead sees more than the default window, but no more than a window that is given.
TEST(Auto, WindowGrowsForAPolicyThatLooksAhead) {
  const auto pending = [](const char *scheduler, const char *window) {
    Pairs p = unlike({{"scheduler", scheduler}});
    std::erase_if(p, [](const auto &x) { return std::string(x.key) == "window"; });
    if (window) p.push_back({"window", window});
    Rt rt(p);
    EverywhereBodies body;
    const auto c = body(rt, "large", [](const consort_call &) { return CONSORT_OK; });
    for (int i = 0; i < 10000; ++i) Desc(c).must(rt);
    const std::string text = explained(rt);
    EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
    return std::atoi(text.c_str() + text.find("submitted, ") + 11);
  };
  EXPECT_EQ(pending("auto", nullptr), 10000);
  EXPECT_LE(pending("auto", "2048"), 2048);
  EXPECT_LE(pending("lws", nullptr), 2048);
}

TEST(Auto, NamedSchedulerReplacesIt) {
  Rt rt(unlike());
  EXPECT_OK(consort_runtime_set_scheduler(rt, "prio"));
  EXPECT_EQ(scheduler_of(rt), "prio");
  EXPECT_EQ(explained(rt).find("at present"), std::string::npos);
  EverywhereBodies body;
  int ran = 0;
  const auto c = body(rt, "large", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 200; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(scheduler_of(rt), "prio");
  EXPECT_OK(consort_runtime_set_scheduler(rt, "auto"));
  EXPECT_TRUE(is_current(rt, "graph-lookahead"));
  EXPECT_OK(consort_runtime_set_scheduler(rt, "graph-lookahead"));  // that it named itself: now by name
  EXPECT_EQ(scheduler_of(rt), "graph-lookahead");
  EXPECT_EQ(explained(rt).find("at present"), std::string::npos);
  EXPECT_EQ(ran, 200);
}

// A policy that it names is not found: it logs that once, and takes the tasks itself.
TEST(Auto, UnknownPoliciesAreLogged) {
  struct Told {
    std::mutex mutex;
    std::vector<std::string> lines;
  } told;
  consort_settings s = CONSORT_SETTINGS_INIT;
  const Pairs pairs = unlike({{"auto.spaces", "dmads"}});
  s.set = pairs.data();
  s.nset = static_cast<uint32_t>(pairs.size());
  s.log_user = &told;
  s.log = [](void *user, int32_t level, const char *text) {
    auto &t = *static_cast<Told *>(user);
    const std::lock_guard lock(t.mutex);
    if (level <= 1) t.lines.push_back(text);
  };
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&s, &rt));
  EverywhereBodies body;
  int ran = 0;
  const auto c = body(rt, "large", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 200; ++i) Desc(c).must(rt);
  EXPECT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(ran, 200);
  EXPECT_EQ(scheduler_of(rt), "auto");
  EXPECT_OK(consort_stop(rt));
  ASSERT_EQ(told.lines.size(), 1u);
  EXPECT_NE(told.lines[0].find("names 'dmads', which does not come"), std::string::npos) << told.lines[0];
  EXPECT_NE(told.lines[0].find("did you mean \"dmdas\""), std::string::npos) << told.lines[0];
}

}  // namespace
