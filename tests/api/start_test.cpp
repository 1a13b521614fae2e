// Starting and stopping: settings, their errors, the answers of a stopped or null runtime, several runtimes.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct Call {
  const char *name;
  std::function<consort_status(consort_runtime *)> make;
};

// Every call that takes a runtime, with arguments that are fine otherwise.
const std::vector<Call> &calls() {
  static consort_codelet_id c{1};
  static consort_data_id d{0};
  static consort_task_id t{1};
  static consort_group_id g{0};
  static consort_hold hold{};
  static int fd = 0, x = 0;
  static consort_variable_args args{&x, sizeof x};
  static const consort_impl impl = {
      "cpu", [](const consort_call *) -> consort_status { return 0; }, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  static const std::vector<Call> all = {
      {"codelet_add",
       [](consort_runtime *rt) {
         consort_codelet k = CONSORT_CODELET_INIT;
         k.name = "k";
         k.impls = &impl;
         k.nimpls = 1;
         return consort_codelet_add(rt, &k, &c);
       }},
      {"codelet_remove", [](consort_runtime *rt) { return consort_codelet_remove(rt, c); }},
      {"register",
       [](consort_runtime *rt) {
         const consort_data_desc k{sizeof k, 0, "variable", &args, sizeof args, nullptr};
         return consort_register(rt, &k, &d);
       }},
      {"unregister", [](consort_runtime *rt) { return consort_unregister(rt, d); }},
      {"unregister_later", [](consort_runtime *rt) { return consort_unregister_later(rt, d); }},
      {"invalidate", [](consort_runtime *rt) { return consort_invalidate(rt, d); }},
      {"acquire", [](consort_runtime *rt) { return consort_acquire(rt, d, CONSORT_M_R, 0, &hold); }},
      {"release", [](consort_runtime *rt) { return consort_release(rt, hold); }},
      {"submit",
       [](consort_runtime *rt) {
         const consort_task_desc k = CONSORT_TASK_INIT;
         return consort_submit(rt, &k, nullptr);
       }},
      {"task_wait", [](consort_runtime *rt) { return consort_task_wait(rt, t, 0, 0); }},
      {"task_cancel", [](consort_runtime *rt) { return consort_task_cancel(rt, t); }},
      {"task_state", [](consort_runtime *rt) { return consort_task_state(rt, t); }},
      {"group_create", [](consort_runtime *rt) { return consort_group_create(rt, nullptr, &g); }},
      {"group_wait", [](consort_runtime *rt) { return consort_group_wait(rt, {0}, 0, 0); }},
      {"group_cancel", [](consort_runtime *rt) { return consort_group_cancel(rt, {0}); }},
      {"group_destroy", [](consort_runtime *rt) { return consort_group_destroy(rt, g); }},
      {"group_fd", [](consort_runtime *rt) { return consort_group_fd(rt, {0}, &fd); }},
      {"wait_all", [](consort_runtime *rt) { return consort_wait_all(rt, 0, 0); }},
      {"group_failure",
       [](consort_runtime *rt) {
         consort_failure f{};
         f.size = sizeof f;
         return consort_group_failure(rt, {0}, &f);
       }},
      {"get_info",
       [](consort_runtime *rt) {
         consort_info i{};
         i.size = sizeof i;
         return consort_get_info(rt, &i);
       }},
      {"get_worker",
       [](consort_runtime *rt) {
         consort_worker_info i{};
         i.size = sizeof i;
         return consort_get_worker(rt, 0, &i);
       }},
      {"step", [](consort_runtime *rt) { return consort_step(rt, 0); }},
      {"trace", [](consort_runtime *rt) { return consort_trace(rt, nullptr, nullptr); }},
  };
  return all;
}

TEST(Start, AcceptsNullSettings) {
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(nullptr, &rt));
  ASSERT_NE(rt, nullptr);
  EXPECT_STREQ(consort_error(), "");
  Bodies body;
  std::atomic<int> ran{0};
  const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  for (int i = 0; i < 100; ++i) EXPECT_OK(Desc(c).to(rt));
  EXPECT_OK(consort_stop(rt));
  EXPECT_EQ(ran, 100);  // stop waits for every task
}

TEST(Start, RefusesANullOutput) { EXPECT_SAYS(CONSORT_E_INVAL, consort_start(nullptr, nullptr), "NULL"); }

TEST(Start, RefusesSettingsOfSizeZero) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.size = 0;
  consort_runtime *rt = reinterpret_cast<consort_runtime *>(1);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "size", "0");
  EXPECT_EQ(rt, nullptr);
}

struct Bad {
  const char *what, *key, *value;
  std::vector<std::string> says;
};
class BadSetting : public ::testing::TestWithParam<Bad> {};
TEST_P(BadSetting, RefusalNamesKeyAndRemedy) {
  consort_runtime *rt = nullptr;
  const Answer a(start({{GetParam().key, GetParam().value}}, &rt));
  EXPECT_LT(a.status, 0);
  EXPECT_EQ(rt, nullptr);
  for (const auto &part : GetParam().says)
    EXPECT_NE(a.text.find(part), std::string::npos) << a.text << "\nshould say " << part;
}
INSTANTIATE_TEST_SUITE_P(Start, BadSetting, ::testing::Values(
    Bad{"key_with_a_slip", "schedular", "prio", {"schedular", "scheduler"}},
    Bad{"key_of_nothing", "qqqqqqqqqq", "1", {"qqqqqqqqqq"}},
    Bad{"key_of_a_plugin", "cpu.wrkers", "2", {"wrkers", "workers"}},
    Bad{"scheduler_with_a_slip", "scheduler", "prioo", {"prioo", "prio", "consort plugins"}},
    Bad{"scheduler_of_nothing", "scheduler", "zzzzzzzz", {"zzzzzzzz", "consort plugins"}},
    Bad{"no_number", "workers", "two", {"workers", "two"}},
    Bad{"out_of_range", "bypass", "4000000", {"bypass", "4000000"}},
    Bad{"negative", "window", "-1", {"window", "-1"}},
    Bad{"no_such_choice", "pump", "sometimes", {"pump", "sometimes", "manual"}},
    Bad{"no_bool", "profile", "perhaps", {"profile", "perhaps"}},
    Bad{"empty_key", "", "1", {}},
    Bad{"driver_of_nothing", "drivers", "cpuu", {"cpuu"}},
    Bad{"topology_nonsense", "cpu.topology", "no machine at all", {"no machine at all"}}),
    [](const auto &info) { return std::string(info.param.what); });

TEST(Start, RefusesNullKeyOrValue) {
  consort_runtime *rt = nullptr;
  EXPECT_LT(start({{nullptr, "1"}}, &rt), 0);
  EXPECT_LT(start({{"workers", nullptr}}, &rt), 0);
  EXPECT_EQ(rt, nullptr);
}

TEST(Start, CodeOverridesToml) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.text = "scheduler = \"eager\"\n[cpu]\ntopology = \"pack:1 core:4 pu:1\"\nworkers = 3\n";
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&s, &rt));
  consort_info i{};
  i.size = sizeof i;
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.nworkers, 3u);
  EXPECT_STREQ(i.scheduler, "eager");
  EXPECT_OK(consort_stop(rt));

  const consort_setting over[] = {{"scheduler", "prio"}, {"cpu.workers", "1"}};
  s.set = over;
  s.nset = 2;
  ASSERT_OK(consort_start(&s, &rt));
  i.size = sizeof i;
  EXPECT_OK(consort_get_info(rt, &i));
  EXPECT_EQ(i.nworkers, 1u);
  EXPECT_STREQ(i.scheduler, "prio");
  EXPECT_OK(consort_stop(rt));
}

TEST(Start, BrokenTomlNamesTheLine) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  s.text = "scheduler = \"eager\"\nworkers = = 2\n";
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "2");
  s.text = "\nscheduler = \"lwz\"\n";
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_start(&s, &rt), "text:2");
  EXPECT_NE(std::string(consort_error()).find("did you mean \"lws\"?"), std::string::npos) << consort_error();
  s.text = nullptr;
  s.file = "/nowhere/at/all.toml";
  const Answer a(consort_start(&s, &rt));
  EXPECT_LT(a.status, 0);
  EXPECT_NE(a.text.find("/nowhere/at/all.toml"), std::string::npos) << a.text;
}

// A value that fits its type is refused by the plugin that opens with it; its place is told all the same.
TEST(Start, RefusalByADriverNamesThePlace) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  consort_runtime *rt = nullptr;
  s.text = "[cpu]\ntopology = \"pack:1 core:4 pu:1\"\n\ncores = \"0-99\"\n";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "text:4: driver 'cpu'", "cores = \"0-99\"");
  EXPECT_EQ(std::string(consort_error()).find("text:4: "), 0u) << consort_error();
  s.text = "[cpu]\ntopology = \"no machine at all\"\n";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "text:2: driver 'cpu'", "no machine at all");
  s.text = "drivers = [\"cpu\", \"sim\"]\n[cpu]\ntopology = \"pack:1 core:4 pu:1\"\n[sim]\nmemory = \"much\"\n";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "text:5: driver \"sim\"", "much");
  const consort_setting set[] = {{"cpu.topology", "pack:1 core:4 pu:1"}, {"cpu.cores", "7"}};
  s.text = nullptr, s.set = set, s.nset = 2;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_start(&s, &rt), "code: driver 'cpu'", "cores = \"7\"");
  EXPECT_EQ(rt, nullptr);
}

TEST(Start, UnavailableResourceNamesThePlace) {
  consort_settings s = CONSORT_SETTINGS_INIT;
  consort_runtime *first = nullptr, *rt = nullptr;
  s.text = "\ntime = \"virtual\"\ndrivers = [\"cpu\"]\n";
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_start(&s, &rt), "text:2: driver 'cpu'", "time = \"virtual\"");
  s.text = "workers = 1\ncores = \"refuse\"\n";
  ASSERT_OK(consort_start(&s, &first));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_start(&s, &rt), "text:2: ");
  EXPECT_OK(consort_stop(first));
  EXPECT_EQ(rt, nullptr);
}

TEST(Start, StartsOrRefusesWithoutADriver) {
  consort_runtime *rt = nullptr;
  const Answer a(start({{"drivers", "^cpu"}}, &rt));
  if (a.status >= 0) {  // a runtime that could run nothing must say so when asked to
    consort_info i{};
    i.size = sizeof i;
    EXPECT_OK(consort_get_info(rt, &i));
    EXPECT_EQ(i.nworkers, 0u);
    EXPECT_OK(consort_stop(rt));
  } else {
    EXPECT_NE(a.text.find("driver"), std::string::npos) << a.text;
  }
}

TEST(Stop, AcceptsNull) { EXPECT_OK(consort_stop(nullptr)); }

TEST(Stop, ReportsTheUncollectedFailure) {
  Rt rt;
  Bodies body;
  const auto c =
      body(rt, "breaks", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "the disk is on fire"); });
  Desc(c).name("first breaker").must(rt);
  EXPECT_SAYS(CONSORT_E_IO, rt.stop(), "first breaker", "the disk is on fire");
}

TEST(Stop, InsideATaskIsBusy) {
  Rt rt;
  Bodies body;
  Answer inside(CONSORT_OK);
  const auto c = body(rt, "stops", [&](const consort_call &) { return inside = Answer(consort_stop(rt)), CONSORT_OK; });
  EXPECT_OK(consort_task_wait(rt, Desc(c).must(rt), kLong, 0));
  EXPECT_TRUE(answered(CONSORT_E_BUSY, inside, {"task"}));
}

TEST(Stop, RefusedWhileTheThreadHoldsData) {
  Rt rt;
  const auto x = token_of(rt, "held");
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_W, kLong, &hold));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_stop(rt), "release");
  EXPECT_OK(consort_release(rt, hold));
}

TEST(Stop, AcceptsRegisteredData) {
  Rt rt;
  std::vector<double> v(100);
  vector_of(rt, v.data(), v.size(), sizeof v[0]);
  vector_of(rt, nullptr, 1 << 20, sizeof v[0]);
  EXPECT_OK(rt.stop());
}

TEST(AnyCall, RefusesTheNullRuntime) {
  for (const Call &call : calls()) {
    SCOPED_TRACE(call.name);
    EXPECT_SAYS(CONSORT_E_INVAL, call.make(nullptr), "NULL");
  }
  char text[64] = "?";
  EXPECT_GT(consort_explain(nullptr, {0}, text, sizeof text), 0u);
}

TEST(AnyCall, RefusesAStoppedRuntime) {
  consort_runtime *rt = nullptr;
  ASSERT_OK(start({{"workers", "1"}}, &rt));
  ASSERT_OK(consort_stop(rt));
  for (const Call &call : calls()) {
    SCOPED_TRACE(call.name);
    EXPECT_SAYS(CONSORT_E_STOPPED, call.make(rt), "stopped");
  }
  EXPECT_SAYS(CONSORT_E_STOPPED, consort_stop(rt), "stopped");
}

TEST(AnyCall, SuccessClearsTheLastError) {
  consort_runtime *rt = nullptr;
  EXPECT_LT(start({{"scheduler", "nonesuch"}}, &rt), 0);
  EXPECT_STRNE(consort_error(), "");
  ASSERT_OK(start({{"workers", "1"}}, &rt));
  EXPECT_STREQ(consort_error(), "");
  EXPECT_OK(consort_stop(rt));
}

TEST(SeveralRuntimes, HandlesAreSeparate) {
  Rt a, b({{"workers", "1"}, {"scheduler", "eager"}});
  int x = 0;
  Bodies body;
  std::atomic<int> in_a{0}, in_b{0};
  const auto ca = body(a, "a", [&](const consort_call &) { return ++in_a, CONSORT_OK; });
  const auto cb = body(b, "b", [&](const consort_call &) { return ++in_b, CONSORT_OK; });
  const auto xa = variable_of(a, &x);
  for (int i = 0; i < 500; ++i) {
    Desc(ca).rw(xa).must(a);
    Desc(cb).must(b);
  }
  EXPECT_OK(consort_wait_all(b, kLong, 0));
  EXPECT_EQ(in_b, 500);
  EXPECT_OK(consort_wait_all(a, kLong, 0));
  EXPECT_EQ(in_a, 500);
}

TEST(SeveralRuntimes, TasksMaySubmitToAnotherRuntime) {
  Rt a, b;
  Bodies body;
  std::atomic<int> ran{0};
  const auto cb = body(b, "b", [&](const consort_call &) { return ++ran, CONSORT_OK; });
  const auto ca = body(a, "a", [&](const consort_call &) { return Desc(cb).to(b); });
  for (int i = 0; i < 100; ++i) Desc(ca).must(a);
  EXPECT_OK(consort_wait_all(a, kLong, 0));
  EXPECT_OK(consort_wait_all(b, kLong, 0));
  EXPECT_EQ(ran, 100);
}

TEST(StatusNames, CoverEveryCode) {
  EXPECT_STREQ(consort_version(), CONSORT_VERSION);
  EXPECT_STREQ(consort_status_name(CONSORT_E_INVAL), "E_INVAL");
  EXPECT_STREQ(consort_status_name(CONSORT_E_STOPPED), "E_STOPPED");
  EXPECT_STREQ(consort_status_name(CONSORT_E_POISONED), "E_POISONED");
  EXPECT_STREQ(consort_status_name(CONSORT_AGAIN), "AGAIN");
  EXPECT_STREQ(consort_status_name(CONSORT_OK), "OK");
  for (const consort_status odd : {-1000, INT32_MIN, INT32_MAX}) EXPECT_NE(consort_status_name(odd), nullptr);
}

TEST(LastError, IsPerThread) {
  Rt rt;
  EXPECT_LT(consort_unregister(rt, {0}), 0);
  const std::string mine = consort_error();
  EXPECT_FALSE(mine.empty());
  std::string theirs = "?";
  std::thread([&] { theirs = consort_error(); }).join();
  EXPECT_EQ(theirs, "");
  EXPECT_EQ(mine, consort_error());
}

}  // namespace
