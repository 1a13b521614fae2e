// Simulated units: whose functions they run, and time that goes from event to event. Their memory is the host's here,
// so nothing is copied.
#include <consort/clock.h>
#include <consort/order.h>
#include <poll.h>

#include <future>

#include "api/harness.hpp"
#include "support/text_file.hpp"

namespace consort_test {
namespace {

constexpr char kGpuInRam[] = "[[device]]\nhost = true\nclass = \"gpu\"\nunits = 2\n";

// A codelet as an application writes it: an implementation for gpu that cannot run here, and one for cpu.
struct Both {
  std::vector<consort_impl> impls;
  consort_codelet d = CONSORT_CODELET_INIT;
  explicit Both(const char *name = "both") { d.name = name; }
  Both &impl(const char *klass, consort_call_fn *fn, void *user = nullptr, const char *text = nullptr) {
    impls.push_back({klass, fn, user, nullptr, text ? "cl" : nullptr, text, nullptr, 0});
    return *this;
  }
  consort_codelet_id add(consort_runtime *rt) {
    d.impls = impls.data();
    d.nimpls = static_cast<uint32_t>(impls.size());
    consort_codelet_id id{0};
    need(consort_codelet_add(rt, &d, &id), "codelet");
    return id;
  }
};
consort_status wrong(const consort_call *) { return consort_fail(CONSORT_E_INTERNAL, "this function needs the real device"); }

Pairs beside_cores(const TextFile &f, const char *runs = "cpu") {
  return {{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"workers", "1"}, {"sim.machine", f.path.c_str()}, {"sim.runs", runs}};
}

TEST(Simulated, RunsFunctionsOfAnotherClass) {
  TextFile f(kGpuInRam);
  Rt rt(beside_cores(f));
  struct Seen { uint32_t worker, impl; int runs; } seen{};
  const auto good = [](const consort_call *c) -> consort_status {
    *static_cast<Seen *>(c->user) = {c->worker, c->impl, static_cast<Seen *>(c->user)->runs + 1};
    *pointer<int>(*c, 0) += 1;
    return CONSORT_OK;
  };
  int v = 0;
  const auto x = variable_of(rt, &v);
  const auto with_fn = Both("with a function").impl("gpu", wrong).impl("cpu", good, &seen).add(rt);
  const auto with_text = Both("with a text").impl("cpu", good, &seen).impl("gpu", nullptr, nullptr, "__kernel void f() {}").add(rt);
  const auto cpu_only = Both("cpu only").impl("cpu", good, &seen).add(rt);
  const auto gpu_only = Both("gpu only").impl("gpu", wrong).add(rt);
  ASSERT_OK(Desc(with_fn).rw(x).on(1).to(rt));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(seen.worker, 1u);
  EXPECT_EQ(seen.impl, 0u) << "the one that was declared for its class";
  ASSERT_OK(Desc(with_text).rw(x).on(2).to(rt));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(seen.worker, 2u);
  EXPECT_EQ(seen.impl, 1u);
  ASSERT_OK(Desc(with_fn).rw(x).on(0).to(rt));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(seen.impl, 1u) << "a core runs its own";
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(cpu_only).rw(x).on(1).to(rt), "cpu only");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(gpu_only).rw(x).to(rt), "gpu only");
  for (int i = 0; i < 300; ++i) ASSERT_OK(Desc(i % 2 ? with_fn : with_text).rw(x).to(rt));
  ASSERT_OK(consort_unregister(rt, x));
  EXPECT_EQ(v, 303);
  EXPECT_EQ(seen.runs, 303);
}

TEST(Simulated, RunsItsOwnClassesFunctions) {
  TextFile f(kGpuInRam);
  Rt rt(beside_cores(f, ""));
  int runs = 0;
  const auto own = Both().impl("gpu", [](const consort_call *c) -> consort_status { return ++*static_cast<int *>(c->user), CONSORT_OK; }, &runs).impl("cpu", wrong).add(rt);
  ASSERT_OK(Desc(own).on(2).to(rt));
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(runs, 1);
}

TEST(Simulated, RunOnEachCallsEveryWorker) {
  TextFile f(kGpuInRam);
  Rt rt(beside_cores(f));
  std::atomic<int> runs{0};
  const auto count = [](const consort_call *c) -> consort_status { return ++*static_cast<std::atomic<int> *>(c->user), CONSORT_OK; };
  EXPECT_OK(consort_run_on_each(rt, "gpu", count, &runs));
  EXPECT_EQ(runs, 2);
  EXPECT_OK(consort_run_on_each(rt, nullptr, count, &runs));
  EXPECT_EQ(runs, 5);
}

TEST(Simulated, RefusesMixedExecutionOfOneClass) {
  TextFile f("[[device]]\nhost = true\nclass = \"gpu\"\n[[device]]\nclass = \"gpu\"\nruns = \"\"\n");
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, start(beside_cores(f), &rt), "units of class 'gpu' that run other functions", "leave one driver out");
}

TEST(Simulated, DriverNeedsToBeNamed) {
  Rt rt({{"cpu.topology", kFourCores}, {"workers", "1"}});  // drivers = "*"
  consort_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_info(rt, &info));
  EXPECT_EQ(info.nworkers, 1u);
  consort_runtime *other = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, start({{"drivers", "*,sim"}, {"sim.memory", "none"}}, &other), "memory = \"none\"");
}

// -- virtual time -----------------------------------------------------------------------------------------------------

Pairs in_virtual_time(Pairs more = {}) {
  Pairs p = {{"drivers", "sim"}, {"time", "virtual"}, {"sim.devices", "0"}, {"sim.cores", "2"}, {"sim.usual", "1ms"}};
  p.insert(p.end(), more.begin(), more.end());
  return p;
}

TEST(VirtualTime, AdvancesFromEventToEvent) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s,quick=10us"}}));
  Bodies body;
  int v = 0;
  std::vector<uint64_t> at;
  const auto step = [&](const consort_call &c) -> consort_status { return at.push_back(c.host->now(c.host)), ++*pointer<int>(c, 0), CONSORT_OK; };
  const auto slow = body(rt, "slow", step), quick = body(rt, "quick", step), other = body(rt, "other", step);
  const auto x = variable_of(rt, &v);
  const auto begin = std::chrono::steady_clock::now();
  for (const auto c : {slow, quick, other, slow, other}) ASSERT_OK(Desc(c).rw(x).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(v, 5);
  ASSERT_EQ(at.size(), 5u);
  EXPECT_EQ(at[1] - at[0], 5'000'000'000u);
  EXPECT_EQ(at[2] - at[1], 10'000u);
  EXPECT_EQ(at[3] - at[2], 1'000'000u);
  EXPECT_EQ(at[4] - at[3], 5'000'000'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s) << "ten seconds pass in no time";
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_OK(consort_codelet_remove(rt, slow));
}

TEST(VirtualTime, ChargesKernelsBySizeAndSubmissions) {
  TextFile f("[overheads]\nsubmit = \"2us\"\n[[device]]\nhost = true\nclass = \"cpu\"\n"
         "[[kernel]]\ncodelet = \"work\"\n4 = \"1ms\"\n8 = \"3ms\"\n");
  Rt rt({{"drivers", "sim"}, {"time", "virtual"}, {"sim.machine", f.path.c_str()}});
  Bodies body;
  std::vector<uint64_t> at;
  const auto work = body(rt, "work", [&](const consort_call &c) -> consort_status { return at.push_back(c.host->now(c.host)), CONSORT_OK; });
  int v = 0, w = 0;
  const auto x = variable_of(rt, &v), y = variable_of(rt, &w);
  ASSERT_OK(Desc(work).rw(x).to(rt));
  ASSERT_OK(Desc(work).rw(x).r(y).to(rt));
  ASSERT_OK(Desc(work).rw(x).r(x).to(rt));
  ASSERT_OK(Desc(work).rw(x).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  ASSERT_EQ(at.size(), 4u);
  EXPECT_EQ(at[0], 4 * 2'000u) << "bodies run when their time begins";
  EXPECT_EQ(at[1] - at[0], 1'000'000u);
  EXPECT_EQ(at[2] - at[1], 3'000'000u) << "two data";
  EXPECT_EQ(at[3] - at[2], 1'000'000u) << "one datum named twice";
  ASSERT_OK(Desc(work).rw(x).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(at[4] - at[3], 1'000'000u + 2'000u) << "the next wait pays for one more";
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_OK(consort_unregister(rt, y));
}

TEST(VirtualTime, NowBeginsAtZero) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s"}}));
  Bodies body;
  uint64_t t = 1;
  ASSERT_OK(consort_now(rt, &t));
  EXPECT_EQ(t, 0u);
  ASSERT_OK(Desc(body(rt, "slow", [](const consort_call &) { return CONSORT_OK; })).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  ASSERT_OK(consort_now(rt, &t));
  EXPECT_EQ(t, 5'000'000'000u);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_now(rt, nullptr), "ns is NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_now(nullptr, &t), "runtime is NULL");
  Rt real({{"drivers", "cpu"}, {"cpu.topology", kFourCores}, {"workers", "1"}});
  uint64_t a = 0, b = 0;
  ASSERT_OK(consort_now(real, &a));
  ASSERT_OK(consort_now(real, &b));
  EXPECT_GT(a, 0u);
  EXPECT_GE(b, a);
}

// Successors are not issued behind their predecessor on its unit, where that would pass the policy by, or gain nothing.
TEST(VirtualTime, SuccessorsSpreadOverUnits) {
  for (const auto &[policy, depth] : {std::pair{"eager", "2"}, {"lws", "1"}}) {
    TextFile f("[[device]]\nhost = true\nclass = \"gpu\"\nunits = 2\ndepth = " + std::string(depth) + "\n");
    Rt rt({{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", policy}, {"sim.machine", f.path.c_str()}, {"sim.runs", ""}, {"sim.usual", "1s"}});
    int v = 0, w[4] = {};
    const auto x = variable_of(rt, &v);
    const auto work = Both("work").impl("gpu", [](const consort_call *) -> consort_status { return CONSORT_OK; }).add(rt);
    ASSERT_OK(Desc(work).rw(x).to(rt));
    std::vector<consort_data_id> y;
    for (int &i : w) {
      y.push_back(variable_of(rt, &i));
      ASSERT_OK(Desc(work).r(x).rw(y.back()).to(rt));
    }
    ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
    uint64_t t = 0;
    ASSERT_OK(consort_now(rt, &t));
    EXPECT_EQ(t, 3'000'000'000u) << policy;
    y.push_back(x);
    for (const auto d : y) EXPECT_OK(consort_unregister(rt, d));
  }
}

TEST(VirtualTime, TimeoutsUseVirtualTime) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s"}}));
  Bodies body;
  const auto slow = body(rt, "slow", [](const consort_call &) { return CONSORT_OK; });
  const auto t = Desc(slow).must(rt);
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 1'000'000'000, 0), "time ran out");
  EXPECT_SAYS(CONSORT_E_TIMEOUT, consort_task_wait(rt, t, 3'999'999'998, 0), "time ran out");
  EXPECT_OK(consort_task_wait(rt, t, 2, 0));
}

// An event loop sleeps in the system, so no thread waits in the runtime.
TEST(VirtualTime, AdvancesWhileTheProgramPollsAnFd) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s"}}));
  Bodies body;
  const auto slow = body(rt, "slow", [](const consort_call &) { return CONSORT_OK; });
  consort_group_id group{0};
  ASSERT_OK(consort_group_create(rt, nullptr, &group));
  Desc(slow).in(group).must(rt);
  Desc(slow).in(group).must(rt);
  pollfd p{-1, POLLIN, 0};
  ASSERT_OK(consort_group_fd(rt, group, &p.fd));
  ASSERT_EQ(poll(&p, 1, 20'000), 1) << "the descriptor becomes readable";
  EXPECT_OK(consort_group_wait(rt, group, 0, 0));
  uint64_t ns = 0;
  ASSERT_OK(consort_now(rt, &ns));
  EXPECT_GE(ns, 5'000'000'000u);
}

TEST(VirtualTime, AdvancesWhileTheProgramWaitsForACallback) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s"}}));
  Bodies body;
  const auto slow = body(rt, "slow", [](const consort_call &) { return CONSORT_OK; });
  for (int turn = 0; turn < 3; ++turn) {
    std::promise<void> ended;
    Desc d(slow);
    d.d.done = [](void *p, const consort_outcome *) { static_cast<std::promise<void> *>(p)->set_value(); };
    d.d.done_arg = &ended;
    d.must(rt);
    ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
}

TEST(VirtualTime, AdvancesWhileTheProgramPollsAWait) {
  Rt rt(in_virtual_time({{"sim.times", "slow=5s"}}));
  Bodies body;
  const auto slow = body(rt, "slow", [](const consort_call &) { return CONSORT_OK; });
  Desc(slow).must(rt);
  int polls = 0;
  for (; polls < 100'000 && consort_wait_all(rt, 0, 0) == CONSORT_E_TIMEOUT; ++polls) {
  }
  EXPECT_LT(polls, 100'000) << "polling ends";
  EXPECT_GE(polls, 1'000) << "a few polls do not move the clock";
}

TEST(VirtualTime, IndependentTasksOverlap) {
  Rt rt(in_virtual_time({{"sim.times", "work=1s"}}));
  Bodies body;
  uint64_t last = 0;
  const auto work = body(rt, "work", [&](const consort_call &c) -> consort_status { return last = c.host->now(c.host), CONSORT_OK; });
  for (int i = 0; i < 10; ++i) ASSERT_OK(Desc(work).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_GE(last, 4'000'000'000u);
  EXPECT_LT(last, 4'100'000'000u) << "the last two of ten begin when four pairs are through";
}

TEST(VirtualTime, NestedTasksAndWaits) {
  Rt rt(in_virtual_time());
  Bodies body;
  consort_runtime *const r = rt;
  std::atomic<int> leaves{0};
  const auto leaf = body(rt, "leaf", [&](const consort_call &) { return ++leaves, CONSORT_OK; });
  const auto tree = body(rt, "tree", [&](const consort_call &) -> consort_status {
    for (int i = 0; i < 4; ++i) Desc(leaf).must(r);
    return CONSORT_OK;
  });
  for (int i = 0; i < 50; ++i) ASSERT_OK(Desc(tree).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(leaves, 200);
}

// A wait in a body could end only after all bodies above it on the one stack, at a wrong time. The message and the
// remedy are in docs/simulate.md.
TEST(VirtualTime, WaitsInBodiesAreRefused) {
  constexpr char kWhy[] = "the device would stand still; submit a task that comes after it instead";
  Rt rt(in_virtual_time());
  Bodies body;
  consort_runtime *const r = rt;
  int value = 0, leaves = 0;
  const auto x = variable_of(rt, &value);
  consort_group_id g{0};
  need(consort_group_create(rt, nullptr, &g), "group");
  const auto leaf = body(rt, "leaf", [&](const consort_call &) { return ++leaves, CONSORT_OK; });
  std::vector<std::string> said;
  const auto ask = [&](consort_status s) { said.push_back(std::to_string(s == CONSORT_E_BUSY) + consort_error()); };
  const auto waits = body(rt, "waits", [&](const consort_call &) -> consort_status {
    const auto t = Desc(leaf).in(g).must(r);
    const uint64_t tag = 1;
    consort_hold hold{};
    ask(consort_task_wait(r, t, CONSORT_FOREVER, 0));
    ask(consort_group_wait(r, g, CONSORT_FOREVER, 0));
    ask(consort_wait_all(r, CONSORT_FOREVER, 0));
    ask(consort_tag_wait(r, &tag, 1, CONSORT_FOREVER, 0));
    ask(consort_acquire(r, x, CONSORT_M_R, CONSORT_FOREVER, &hold));
    return CONSORT_OK;
  });
  ASSERT_OK(Desc(waits).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  EXPECT_EQ(leaves, 1);
  const char *const what[] = {"for a task", "for a group", "for all tasks", "for a tag", "to acquire a datum"};
  ASSERT_EQ(said.size(), std::size(what));
  for (size_t i = 0; i < said.size(); ++i)
    EXPECT_EQ(said[i], std::string("1a function on a device must not wait ") + what[i] + ": " + kWhy);
  ASSERT_OK(consort_unregister(rt, x));
}

// The remedy: a task after the children in place of a wait. The parent takes 4 ms, four leaves 2 ms each on two cores, the
// sum 1 ms.
TEST(VirtualTime, TaskAfterChildrenRunsAtTheirEnd) {
  Rt rt(in_virtual_time({{"sim.times", "parent=4ms,leaf=2ms,sum=1ms"}}));
  Bodies body;
  consort_runtime *const r = rt;
  int total = 0, leaves = 0;
  const auto leaf = body(rt, "leaf", [&](const consort_call &) { return ++leaves, CONSORT_OK; });
  const auto sum = body(rt, "sum", [&](const consort_call &) { return total = leaves, CONSORT_OK; });
  const auto parent = body(rt, "parent", [&](const consort_call &) -> consort_status {
    Desc last(sum);
    for (int i = 0; i < 4; ++i) last.then(Desc(leaf).must(r));
    return last.must(r), CONSORT_OK;
  });
  uint64_t end = 0;
  ASSERT_OK(Desc(parent).to(rt));
  ASSERT_OK(consort_wait_all(rt, CONSORT_FOREVER, 0));
  ASSERT_OK(consort_now(rt, &end));
  EXPECT_EQ(total, 4);
  EXPECT_GE(end, 7'000'000u) << "of four leaves two run at a time, one of the two cores still runs the parent at first";
  EXPECT_LE(end, 9'100'000u);
}

TEST(VirtualTime, RefusesDriversOfRealTime) {
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, start({{"drivers", "cpu"}, {"time", "virtual"}, {"cpu.topology", kFourCores}}, &rt), "driver 'cpu' keeps to the world's time");
}

std::string trace_of(const char *seed) {
  TextFile f;
  {
    Rt rt(in_virtual_time({{"seed", seed}, {"sim.noise", "0.5"}, {"sim.trace", f.path.c_str()}, {"sim.cores", "3"}, {"sim.times", "a=70us,b=1ms"}}));
    Bodies body;
    std::vector<int> v(8, 0);
    std::vector<consort_data_id> x;
    for (int &i : v) x.push_back(variable_of(rt, &i));
    const auto add = [](const consort_call &c) -> consort_status {
      auto sum = static_cast<unsigned>(*pointer<int>(c, 0));  // which wraps
      sum += static_cast<unsigned>(*pointer<int>(c, 1)) + 1;
      return *pointer<int>(c, 0) = static_cast<int>(sum), CONSORT_OK;
    };
    const auto a = body(rt, "a", add), b = body(rt, "b", add);
    uint32_t z = 12345;
    for (int i = 0; i < 400; ++i) {
      z = z * 1664525 + 1013904223;
      const auto p = z >> 8 & 7, q = z >> 16 & 7;
      if (p == q) continue;
      need(Desc(z >> 24 & 1 ? a : b).rw(x[p]).r(x[q]).to(rt), "submit");
      if (i % 100 == 99) need(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
    }
    need(consort_wait_all(rt, CONSORT_FOREVER, 0), "wait");
    for (const auto d : x) need(consort_unregister(rt, d), "unregister");
  }
  return f.text();
}

TEST(VirtualTime, SameSeedGivesTheSameTrace) {
  const std::string one = trace_of("3");
  EXPECT_GT(std::count(one.begin(), one.end(), '\n'), 300);
  EXPECT_EQ(one, trace_of("3"));
  EXPECT_NE(one, trace_of("4"));
}

}  // namespace
}  // namespace consort_test
