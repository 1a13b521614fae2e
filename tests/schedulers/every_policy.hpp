// every_policy.hpp — every scheduler of the plugin folder, each on several machines: the fixture of the tests that any
// policy must pass. A new scheduler is tested as soon as its plugin is in the folder.
//
// A program under test ends within kBound or it fails; the watchdog of harness.hpp ends it otherwise.
#pragma once
#include <consort/clock.h>

#include <cctype>
#include <filesystem>
#include <set>

#include "api/harness.hpp"
#include "support/text_file.hpp"

namespace consort_test {

// The names of all schedulers in the folder of the plugins that ship.
inline std::vector<std::string> schedulers() {
  std::set<std::string> names;
  consort_settings s = CONSORT_SETTINGS_INIT;
  const auto add = [](void *all, const consort_plugin_row *row) {
    std::error_code none;
    const auto folder = std::filesystem::path(row->path).parent_path();
    if (row->kind == CONSORT_KIND_SCHEDULER && row->usable && std::filesystem::equivalent(folder, CONSORT_PLUGIN_DIR, none))
      static_cast<std::set<std::string> *>(all)->insert(row->name);
  };
  need(consort_list_plugins(&s, 0, add, &names), "list_plugins");
  return {names.begin(), names.end()};
}

enum class Units { kThreads, kOneThread, kPumped, kMixed, kMixedPumped, kVirtual };

struct Units_name {
  Units units;
  const char *name;
};
inline constexpr Units_name kUnits[] = {{Units::kThreads, "threads"},   {Units::kOneThread, "one_thread"},
                                        {Units::kPumped, "pumped"},     {Units::kMixed, "mixed"},
                                        {Units::kMixedPumped, "mixed_pumped"}, {Units::kVirtual, "virtual_time"}};

// The thread sanitizer takes those with several threads alone: with a manual pump it has nothing to see.
inline std::vector<Units> units_to_try(bool virtual_time) {
  std::vector<Units> units = {Units::kThreads, Units::kOneThread, Units::kMixed};
#if CONSORT_SAN != 2
  units.insert(units.end(), {Units::kPumped, Units::kMixedPumped});
  if (virtual_time) units.push_back(Units::kVirtual);
#else
  (void)virtual_time;
#endif
  return units;
}

using PolicyOn = std::tuple<std::string, Units>;

class EveryPolicy : public ::testing::TestWithParam<PolicyOn> {
 protected:
  // The time left for the program, in ns of real time. With a manual pump it is that of the runtime's clock, which an
  // idle pump does not move. All waits of a program share it, so nested ones do not add up.
  int64_t left(consort_runtime *rt) const {
    return std::max<int64_t>(1'000'000, static_cast<int64_t>(end_ - now(rt)));
  }

  static uint64_t now(consort_runtime *rt) {
    uint64_t ns = 0;
    need(consort_now(rt, &ns), "now");
    return ns;
  }

  std::string policy() const { return std::get<0>(GetParam()); }
  Units units() const { return std::get<1>(GetParam()); }
  bool pumped() const { return units() == Units::kPumped || units() == Units::kMixedPumped || is_virtual(); }
  bool mixed() const { return units() == Units::kMixed || units() == Units::kMixedPumped || is_virtual(); }
  bool is_virtual() const { return units() == Units::kVirtual; }
  uint32_t ncores() const { return units() == Units::kOneThread ? 1 : mixed() ? 2 : 4; }

  Pairs settings(const std::string &seed, Pairs more) const {
    Pairs p = {{"keep_models", "no"}, {"scheduler", name_.c_str()}, {"seed", seed.c_str()}};
    if (is_virtual()) {
      p.insert(p.end(), {{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "2"}, {"sim.machine", gpus_.path.c_str()},
                         {"sim.usual", "10us"}});
    } else {
      p.insert(p.end(), {{"cpu.topology", kFourCores}, {"workers", units() == Units::kOneThread ? "1" : mixed() ? "2" : "4"}});
      if (mixed()) p.insert(p.end(), {{"drivers", "cpu,sim"}, {"sim.machine", gpus_.path.c_str()}, {"sim.usual", "10us"}});
      if (pumped()) p.push_back({"pump", "manual"});
    }
    p.insert(p.end(), more.begin(), more.end());
    return p;
  }

  // Runs the program: once, or with several seeds where the seed decides the order.
  template <class F>
  void each_run(F program, Pairs more = {}) {
    const int seeds = pumped() && !is_virtual() ? 3 : 1;
    for (int seed = 1; seed <= seeds && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const std::string text = std::to_string(seed);
      Rt rt(settings(text, more));
      end_ = now(rt) + (pumped() ? 1'000'000'000 : 30'000'000'000 * kSlow);
      program(rt);
    }
  }

  // For tasks on all units: an implementation for cores, and for devices where there are some.
  consort_codelet_id anywhere(consort_runtime *rt, const char *name, Body body, uint32_t nmodes = CONSORT_NONE) {
    all_.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{"cpu", run_body, all_.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", run_body, all_.back().get(), nullptr, nullptr, nullptr, nullptr, 0}};
    return codelet_of(rt, name, {impls, mixed() ? 2u : 1u}, 0, nmodes);
  }
  // For bodies that wait: a function on a device must not.
  consort_codelet_id on_cores(consort_runtime *rt, const char *name, Body body, uint32_t nmodes = CONSORT_NONE,
                              uint32_t flags = 0) {
    all_.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impl = {"cpu", run_body, all_.back().get(), nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(rt, name, {&impl, 1}, flags, nmodes);
  }
  // A hang ends the process: the tasks use the stack of the test, and a stop would wait for them, too.
  consort_status wait_all(consort_runtime *rt) const {
    const Answer a = consort_wait_all(rt, left(rt), 0);
    if (a.status != CONSORT_E_TIMEOUT) return a.status < 0 ? consort_fail(a.status, a.text.c_str()) : a.status;
    char said[4096];
    consort_explain(rt, consort_task_id{0}, said, sizeof said);
    const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
    std::fprintf(stderr, "\n%s.%s hangs: %s\n", test->test_suite_name(), test->name(), said);
    std::fflush(nullptr);
    std::_Exit(124);
  }
  // For use in bodies.
  consort_status wait_for(consort_runtime *rt, consort_task_id t) const { return consort_task_wait(rt, t, left(rt), 0); }

 private:
  // Two of one class with memory of their own, so that data move.
  TextFile gpus_{"[[device]]\nname = \"near\"\nclass = \"gpu\"\nunits = 2\nmemory = \"64M\"\nruns = \"cpu\"\n"};
  const std::string name_ = policy();
  uint64_t end_ = 0;
  std::vector<std::unique_ptr<Body>> all_;  // until the last runtime of the test has stopped
};

inline std::string policy_and_units(const ::testing::TestParamInfo<PolicyOn> &i) {
  std::string name = std::get<0>(i.param) + "_";
  for (const Units_name &u : kUnits)
    if (u.units == std::get<1>(i.param)) name += u.name;
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace consort_test
