// Contexts of cores and devices, in real and in virtual time. A context has several classes of units, and device queues
// move while they are at work. Data follow from one context's device to another's.
#include <consort/clock.h>

#include <map>
#include <set>

#include "api/in_context.hpp"
#include "support/text_file.hpp"

namespace consort_test {
namespace {

// Workers 0 to 3 are cores, 4 and 5 of class cuda, each with a memory of its own, 6 of class opencl.
constexpr char kMachine[] =
    "[[device]]\nname = \"cores\"\nhost = true\nclass = \"cpu\"\nunits = 4\ndepth = 1\nmemory = \"1G\"\n"
    "[[device]]\nname = \"acc\"\nclass = \"cuda\"\ncount = 2\ndepth = 4\nmemory = \"64M\"\n"
    "[[device]]\nname = \"ocl\"\nclass = \"opencl\"\ndepth = 2\nmemory = \"64M\"\n"
    "[times]\nstep = \"200us\"\n";

Pairs on(const TextFile &f, bool virtual_time, const char *scheduler) {
  Pairs p{{"drivers", "sim"}, {"sim.machine", f.path.c_str()}, {"scheduler", scheduler}, {"keep_models", "no"}, {"sim.noise", "0.05"}};
  if (virtual_time) p.push_back({"time", "virtual"});
  return p;
}

// A codelet for all three classes that adds one. It notes its worker and the context of its caller.
struct Steps {
  std::mutex mutex;
  std::map<uint32_t, std::set<uint32_t>> ran;  // workers, by the task's argument
  consort_codelet_id codelet{0};

  explicit Steps(consort_runtime *rt) {
    const auto run = [](const consort_call *c) -> consort_status {
      auto &s = *static_cast<Steps *>(c->user);
      ++*pointer<long>(*c, 0);
      const std::lock_guard lock(s.mutex);
      s.ran[value<uint32_t>(*c, 0)].insert(c->worker);
      return CONSORT_OK;
    };
    consort_impl impls[3] = {};
    const char *const classes[] = {"cpu", "cuda", "opencl"};
    for (int i = 0; i < 3; ++i) impls[i].klass = classes[i], impls[i].fn = run, impls[i].user = this;
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = "step";
    d.impls = impls;
    d.nimpls = 3;
    need(consort_codelet_add(rt, &d, &codelet), "codelet");
  }
  std::set<uint32_t> of(uint32_t who) {
    const std::lock_guard lock(mutex);
    return ran[who];
  }
};

using Case = std::tuple<bool, const char *>;
class ContextDevices : public testing::TestWithParam<Case> {
 protected:
  static bool is_virtual() { return std::get<0>(GetParam()); }
  static const char *scheduler() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, ContextDevices,
                         testing::Combine(testing::Bool(), testing::Values("lws", "eager", "dmda", "heft", "graph-lookahead", "darts")),
                         [](const auto &i) {
                           std::string name = std::get<1>(i.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name + (std::get<0>(i.param) ? "_virtual" : "_real");
                         });

// Chains through both contexts: each task runs where its context has units, of whatever class. The values are those of
// a sequential run.
TEST_P(ContextDevices, TasksRunOnTheUnitsOfTheirContext) {
  TextFile f(kMachine);
  Rt rt(on(f, is_virtual(), scheduler()));
  Steps steps(rt);
  const auto a = create(rt, {1, 4}), b = create(rt, {2, 3, 5, 6}, nullptr, "dmdas");
  constexpr uint32_t kChains = 6, kLinks = 30;
  std::vector<long> home(kChains);
  std::vector<consort_data_id> data;
  for (long &h : home) data.push_back(variable_of(rt, &h));
  for (uint32_t link = 0; link < kLinks; ++link)
    for (uint32_t chain = 0; chain < kChains; ++chain) {
      const uint32_t who = (link + chain) % 3;
      if (who == 0) {
        EXPECT_OK(Desc(steps.codelet).rw(data[chain]).arg(0u).to(rt));
      } else {
        const Inside inside(rt, who == 1 ? a : b);
        EXPECT_OK(Desc(steps.codelet).rw(data[chain]).arg(who).to(rt));
      }
    }
  ASSERT_OK(consort_wait_all(rt, kLong * kSlow, 0));
  for (const auto x : data) EXPECT_OK(consort_unregister(rt, x));
  for (const long h : home) EXPECT_EQ(h, long{kLinks});
  const std::set<uint32_t> mine[] = {{0}, {1, 4}, {2, 3, 5, 6}};
  for (uint32_t who = 0; who < 3; ++who)
    for (const uint32_t w : steps.of(who)) EXPECT_TRUE(mine[who].contains(w)) << "worker " << w << " is not of " << who;
  EXPECT_OK(consort_context_destroy(rt, a));
  EXPECT_OK(consort_context_destroy(rt, b));
}

// A device that goes over to another context while tasks are in flight on it ends those, and takes the other's then.
TEST_P(ContextDevices, DevicesMoveWhileTasksAreInFlight) {
  TextFile f(kMachine);
  Rt rt(on(f, is_virtual(), scheduler()));
  Steps steps(rt);
  const auto a = create(rt, {1, 4, 6}), b = create(rt, {2});
  std::vector<long> home(40);
  std::vector<consort_data_id> data;
  for (long &h : home) data.push_back(variable_of(rt, &h));
  const uint32_t acc = 4;
  for (uint32_t turn = 0; turn < 6; ++turn) {
    for (const auto x : data) {
      const Inside inside(rt, turn % 2 ? b : a);
      EXPECT_OK(Desc(steps.codelet).rw(x).arg(turn % 2).to(rt));
    }
    for (uint32_t i = 0; is_virtual() && i < 21; ++i) (void)consort_step(rt, i % 7);  // some of them begin
    EXPECT_OK(consort_context_move(rt, turn % 2 ? b : a, turn % 2 ? a : b, &acc, 1));
  }
  ASSERT_OK(consort_wait_all(rt, kLong * kSlow, 0));
  for (const auto x : data) EXPECT_OK(consort_unregister(rt, x));
  for (const long h : home) EXPECT_EQ(h, 6);
  for (uint32_t who = 0; who < 2; ++who)
    for (const uint32_t w : steps.of(who)) EXPECT_TRUE(w == 4 || (who ? w == 2 : w == 1 || w == 6)) << who << ' ' << w;
  EXPECT_OK(consort_context_destroy(rt, a));
  EXPECT_OK(consort_context_destroy(rt, b));
  const auto only = create(rt, {5});
  consort_context_info i{};
  i.size = sizeof i;
  EXPECT_OK(consort_get_context(rt, only, &i));
  long last = 0;
  const auto x = variable_of(rt, &last);
  {
    const Inside inside(rt, only);
    EXPECT_OK(Desc(steps.codelet).rw(x).arg(9u).to(rt));
  }
  EXPECT_OK(consort_context_wait(rt, only, kLong * kSlow, 0));
  EXPECT_EQ(steps.of(9), (std::set<uint32_t>{5})) << "a context of one device";
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_EQ(last, 1);
}

// In virtual time one seed is one run, contexts or not.
TEST(ContextDevicesInVirtualTime, SameSeedGivesTheSameTrace) {
  TextFile f(kMachine);
  const auto trace = [&](const char *seed) {
    TextFile out;
    Pairs p = on(f, true, "dmdas");
    p.insert(p.end(), {{"sim.trace", out.path.c_str()}, {"sim.seed", seed}, {"seed", seed}});
    Rt rt(p);
    Steps steps(rt);
    const auto a = create(rt, {0, 1, 4}, nullptr, "heft");
    std::vector<long> home(30);
    std::vector<consort_data_id> data;
    for (long &h : home) data.push_back(variable_of(rt, &h));
    for (int turn = 0; turn < 4; ++turn)
      for (size_t i = 0; i < data.size(); ++i) {
        if (i % 2) {
          const Inside inside(rt, a);
          EXPECT_OK(Desc(steps.codelet).rw(data[i]).arg(1u).to(rt));
        } else {
          EXPECT_OK(Desc(steps.codelet).rw(data[i]).arg(0u).to(rt));
        }
      }
    EXPECT_OK(consort_wait_all(rt, kLong * kSlow, 0));
    for (const auto x : data) EXPECT_OK(consort_unregister(rt, x));
    EXPECT_OK(rt.stop());
    return out.text();
  };
  const std::string one = trace("3");
  EXPECT_GE(std::count(one.begin(), one.end(), '\n'), 120);
  EXPECT_EQ(one, trace("3"));
  EXPECT_NE(one, trace("4"));
}

}  // namespace
}  // namespace consort_test
