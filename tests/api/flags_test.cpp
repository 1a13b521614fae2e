// Unknown bits and reserved fields are refused by every call that takes them, with the bits in the message. Structs of
// a newer header are recognised by their size and accepted.
#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct ReservedFlags : ::testing::Test {
  Rt rt;
  int64_t v = 0;
  consort_data_id x = variable_of(rt, &v, "x");
  consort_codelet_id nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
};

TEST(SettingsFlags, RefusesUnknownBits) {
  consort_runtime *rt = nullptr;
  const auto with = [&](auto set) {
    consort_settings s = CONSORT_SETTINGS_INIT;
    set(s);
    const auto told = [](void *, const consort_config_row *) {};
    EXPECT_EQ(consort_list_config(&s, told, nullptr), CONSORT_E_INVAL) << "as the start does";
    return consort_start(&s, &rt);
  };
  EXPECT_SAYS(CONSORT_E_INVAL, with([](auto &s) { s.flags = 0x14; }), "settings: flags has 0x14");
  EXPECT_SAYS(CONSORT_E_INVAL, with([](auto &s) { s.reserved = 3; }), "reserved", "0x3", "CONSORT_SETTINGS_INIT");
  EXPECT_SAYS(CONSORT_E_INVAL, with([](auto &s) { s.reserved2 = 0x100; }), "reserved", "0x100");
  EXPECT_EQ(rt, nullptr);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_list_plugins(nullptr, 6, [](void *, const consort_plugin_row *) {}, nullptr), "0x6",
              "CONSORT_LIST_LOAD");
}

TEST(SettingsFlags, AcceptsLargerSettingsOfNewerHeaders) {
  struct Newer {
    consort_settings known = CONSORT_SETTINGS_INIT;
    uint64_t unheard_of = ~uint64_t{0};
  } s;
  s.known.size = sizeof s;
  consort_runtime *rt = nullptr;
  EXPECT_OK(consort_start(&s.known, &rt));
  EXPECT_OK(consort_stop(rt));
  s.known.size = offsetof(consort_settings, modules);  // and of an older header: the field is beyond the size
  s.known.reserved2 = 77;
  EXPECT_OK(consort_start(&s.known, &rt));
  EXPECT_OK(consort_stop(rt));
}

TEST_F(ReservedFlags, RefusesUnknownBitsOfWaits) {
  const uint64_t tag = 1;
  ASSERT_OK(consort_tag_notify(rt, tag));
  const auto t = Desc(nop).must(rt);
  const auto all = [&](uint32_t flags) {
    return std::vector<Answer>{consort_task_wait(rt, t, kLong, flags), consort_group_wait(rt, {0}, kLong, flags),
                               consort_wait_all(rt, kLong, flags), consort_tag_wait(rt, &tag, 1, kLong, flags),
                               consort_wait_no_ready(rt, kLong, flags)};
  };
  for (const Answer &a : all(0)) EXPECT_EQ(a.status, CONSORT_OK) << a.text;
  for (const Answer &a : all(CONSORT_WAIT_NO_HELP)) EXPECT_EQ(a.status, CONSORT_OK) << a.text;
  for (const Answer &a : all(CONSORT_WAIT_NO_HELP | 0x20)) {
    EXPECT_EQ(a.status, CONSORT_E_INVAL);
    EXPECT_EQ(a.text.find("flags has 0x20"), 0u) << a.text;
  }
}

TEST_F(ReservedFlags, RefusesUnknownBitsOfDescriptions) {
  consort_group_id group{};
  consort_group_desc g = {sizeof g, 2, nullptr, nullptr, nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_create(rt, &g, &group), "desc->flags has 0x2");
  const consort_variable_args args{&v, sizeof v};
  consort_data_id y{};
  consort_data_desc d{sizeof d, 0x80, "variable", &args, sizeof args, nullptr};
  EXPECT_SAYS(CONSORT_E_INVAL, consort_register(rt, &d, &y), "desc->flags has 0x80");
  consort_plan_desc p = CONSORT_PLAN_INIT;
  consort_plan_id plan{};
  p.flags = 8, p.filter = "blocks";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, x, &p, &plan), "desc->flags has 0x8");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_record_begin(rt, 4), "flags has 0x4");
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

// The short way of submission and the long one agree.
TEST_F(ReservedFlags, RefusesUnknownBitsOfTasks) {
  Desc flagged(nop);
  flagged.d.flags = 0x40;
  EXPECT_SAYS(CONSORT_E_INVAL, flagged.to(rt), "task->flags has 0x40");
  Desc reserved(nop);
  reserved.d.reserved = 5;
  EXPECT_SAYS(CONSORT_E_INVAL, reserved.to(rt), "task->reserved has 0x5", "CONSORT_TASK_INIT");
  reserved.d.size = CONSORT_TASK_BRIEF;  // it ends before
  EXPECT_OK(reserved.to(rt));
  int64_t others[3] = {};
  std::vector<consort_data_id> data = {x};
  for (auto &o : others) data.push_back(variable_of(rt, &o));
  for (size_t n = 1; n <= data.size(); ++n)
    for (size_t bad = 0; bad < n; ++bad)
      for (const bool rare : {false, true})
        for (const uint32_t mode : {uint32_t{CONSORT_M_RW}, uint32_t{CONSORT_M_RW | CONSORT_M_COMMUTE}}) {
          Desc t(nop);
          for (size_t i = 0; i < n; ++i) t.use(data[i], mode);
          if (rare) t.name("rare");
          EXPECT_OK(t.to(rt));
          t.uses[bad].reserved = 0x30;
          const std::string which = "datum " + std::to_string(bad) + " of the task";
          EXPECT_SAYS(CONSORT_E_INVAL, t.to(rt), which, "reserved has 0x30");
        }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(ReservedFlags, AcceptsLargerTasksOfNewerHeaders) {
  struct Newer {
    consort_task_desc known = CONSORT_TASK_INIT;
    uint64_t unheard_of = ~uint64_t{0};
  } t;
  t.known.size = sizeof t;
  t.known.codelet = nop;
  EXPECT_OK(consort_submit(rt, &t.known, nullptr));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

}  // namespace
