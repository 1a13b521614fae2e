// Reductions on units with memory of their own: on devices alone, also ones that can do one step each, and on cores and
// devices together. Devices are simulated or OpenCL's (RED-01, RED-02, RED-03, RED-05). Codelets without an eligible
// worker are refused, failures are reported, and a fixed tree gives the same bits wherever its tasks run.
#include <map>
#include <memory>
#include <random>

#include "api/harness.hpp"

namespace consort_test {
namespace {

constexpr uint32_t kFixed = CONSORT_M_REDUX | CONSORT_M_FIXED_TREE;
constexpr uint64_t kLength = 100;

constexpr char kKernels[] =
    "__kernel void zero(__global float *x, ulong n) { x[get_global_id(0)] = 0; }\n"
    "__kernel void plus(__global float *x, ulong n, __global const float *y, ulong m) {\n"
    "  x[get_global_id(0)] += y[get_global_id(0)];\n"
    "}\n"
    "__kernel void add(__global float *x, ulong n, float a) { x[get_global_id(0)] += a; }\n"
    "__kernel void set(__global float *x, ulong n, float a) { x[get_global_id(0)] = a; }\n";

float *element(const consort_call &c, uint32_t i) { return pointer<float>(c, i); }
consort_status zero(const consort_call &c) { return std::fill_n(element(c, 0), kLength, 0.0f), CONSORT_OK; }
consort_status plus(const consort_call &c) {
  for (uint64_t i = 0; i < kLength; ++i) element(c, 0)[i] += element(c, 1)[i];
  return CONSORT_OK;
}
consort_status add(const consort_call &c) {
  for (uint64_t i = 0; i < kLength; ++i) element(c, 0)[i] += value<float>(c, 0);
  return CONSORT_OK;
}
consort_status set(const consort_call &c) { return std::fill_n(element(c, 0), kLength, value<float>(c, 0)), CONSORT_OK; }

struct Where {
  const char *name, *klass;  // of the devices
  bool cores;
  const char *memory;        // of each simulated device
};

struct Machine {
  std::unique_ptr<Rt> rt;
  std::map<std::string, int> ran;  // codelet, class: by functions; under `mutex`
  std::mutex mutex;
  std::vector<std::unique_ptr<Body>> bodies;
  const Where &where;

  explicit Machine(const Where &w, const Pairs &more = {}) : where(w) {
    const bool opencl = w.klass == std::string("opencl");
    Pairs pairs = {{"drivers", opencl ? "cpu,opencl" : "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"},
                   {"cpu.units", w.cores ? "true" : "false"}, {"log", "error"}};
    if (opencl) pairs.insert(pairs.end(), {{"opencl.types", "cpu"}, {"opencl.platforms", "portable"}, {"opencl.cache", "off"}});
    else pairs.insert(pairs.end(), {{"sim.devices", "2"}, {"sim.class", w.klass}, {"sim.runs", ""}, {"sim.latency", "1us"}, {"sim.memory", w.memory}});
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
  }
  ~Machine() { (void)rt->stop(); }  // before the bodies of its tasks
  operator consort_runtime *() const { return *rt; }
  // For "cpu", for the devices, or for "both".
  consort_codelet_id codelet(const char *name, Body body, const std::string &on) {
    std::vector<consort_impl> impls;
    for (const char *klass : {"cpu", where.klass}) {
      if (on != "both" && (on == "cpu") != (klass == std::string("cpu"))) continue;
      if (klass == std::string("opencl")) {
        impls.push_back({klass, nullptr, nullptr, nullptr, "cl", kKernels, name, 0});
        continue;
      }
      bodies.push_back(std::make_unique<Body>([this, name, klass, body](const consort_call &c) {
        {
          std::lock_guard lock(mutex);
          ++ran[std::string(name) + " " + klass];
        }
        return body(c);
      }));
      impls.push_back({klass, run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0});
    }
    return codelet_of(*rt, name, impls);
  }
  int count(const std::string &what) {
    std::lock_guard lock(mutex);
    return ran[what];
  }
  float read(consort_data_id x) {
    consort_hold hold;
    need(consort_acquire(*rt, x, CONSORT_M_R, kLong, &hold), "acquire");
    const float *p = static_cast<float *>(consort_ptr(*static_cast<const consort_addr *>(hold.view)));
    const float v = p[0];
    for (uint64_t i = 1; i < kLength; ++i) EXPECT_EQ(std::memcmp(&p[i], &v, sizeof v), 0) << "element " << i;
    need(consort_release(*rt, hold), "release");
    return v;
  }
};

uint32_t first_worker(consort_runtime *rt, const std::string &klass) {
  for (uint32_t w = 0;; ++w) {
    consort_worker_info worker{};
    worker.size = sizeof worker;
    need(consort_get_worker(rt, w, &worker), "worker");
    if (worker.klass == klass) return w;
  }
}

bool no_opencl(std::string *why) {
  consort_runtime *rt = nullptr;
  const consort_status s = start({{"drivers", "cpu,opencl"}, {"cpu.topology", kFourCores}, {"cpu.workers", "1"}, {"opencl.types", "cpu"},
                                  {"opencl.platforms", "portable"}, {"opencl.cache", "off"}, {"log", "error"}}, &rt);
  if (s < 0) return *why = consort_error(), true;
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(rt, &info), "info");
  need(consort_stop(rt), "stop");
  return *why = "no OpenCL device here: install pocl-opencl-icd", info.nclasses < 2;
}

class DeviceReduction : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    std::string why;
    if (GetParam().klass == std::string("opencl") && no_opencl(&why)) GTEST_SKIP() << why;
  }
};
INSTANTIATE_TEST_SUITE_P(All, DeviceReduction,
                         testing::Values(Where{"SimAlone", "gpu", false, "1M"}, Where{"SimAloneAndShort", "gpu", false, "2000"},
                                         Where{"CoresAndSim", "gpu", true, "1M"}, Where{"CoresAndShortSim", "gpu", true, "2000"},
                                         Where{"OpenClAlone", "opencl", false, ""}, Where{"CoresAndOpenCl", "opencl", true, ""}),
                         [](const auto &i) { return std::string(i.param.name); });

// On devices alone nothing is for a core; with cores each part is once for them alone, once for devices alone.
TEST_P(DeviceReduction, ReadersSeeTheSum) {
  const std::vector<std::vector<const char *>> alone = {{"there", "there", "there"}},
                                               mixed = {{"both", "both", "both"}, {"cpu", "there", "both"}, {"there", "cpu", "both"},
                                                        {"there", "there", "cpu"}, {"cpu", "cpu", "there"}, {"there", "there", "there"}};
  uint32_t mode = kFixed;
  for (const auto &on : GetParam().cores ? mixed : alone) {
    mode ^= CONSORT_M_FIXED_TREE;
    Machine m(GetParam());
    const auto init = m.codelet("zero", zero, on[0]), combine = m.codelet("plus", plus, on[1]);
    const auto contribute = m.codelet("add", add, on[2]), here = m.codelet("set", set, GetParam().cores ? "both" : "there");
    std::vector<float> v(kLength, 1000);
    const auto x = vector_of(m, v.data(), kLength, sizeof(float)), y = vector_of(m, nullptr, kLength, sizeof(float), "born of its parts");
    for (const auto d : {x, y}) ASSERT_OK(consort_data_set_reduction(m, d, init, combine));
    float want = 1000, born = 0;
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 5 * round + 1; ++i) {
        Desc(contribute).use(x, mode).arg(static_cast<float>(i)).must(m), want += static_cast<float>(i);
        Desc(contribute).use(y, mode).arg(1.0f).must(m), born += 1;
      }
      if (round % 3 == 0) {
        EXPECT_EQ(m.read(x), want) << round;
      }
      if (round % 3 == 1) Desc(contribute).rw(x).arg(5.0f).must(m), want += 5;
      if (round == 4) Desc(here).w(x).arg(want = 7.0f).must(m);
    }
    EXPECT_EQ(m.read(y), born);
    for (const auto d : {x, y}) EXPECT_OK(consort_unregister(m, d));
    EXPECT_EQ(v[0], want);
    EXPECT_OK(consort_wait_all(m, kLong, 0));
    for (int part = 0; part < 2 && GetParam().klass == std::string("gpu"); ++part) {
      const std::string klass = on[part] == std::string("cpu") ? " cpu" : " gpu", name = part ? "plus" : "zero";
      if (on[part] == std::string("both")) continue;
      EXPECT_GT(m.count(name + klass), 0);
    }
    for (const auto c : {init, combine}) EXPECT_OK(consort_codelet_remove(m, c));
  }
}

// Contributions of cores alone and of devices alone to one datum.
TEST_P(DeviceReduction, CoresAndDevicesContributeToOneDatum) {
  if (!GetParam().cores) GTEST_SKIP() << "there is one kind only";
  Machine m(GetParam());
  const auto init = m.codelet("zero", zero, "both"), combine = m.codelet("plus", plus, "both");
  const consort_codelet_id by[] = {m.codelet("add", add, "cpu"), m.codelet("add", add, "there")};
  std::vector<float> v(kLength, 3);
  const auto x = vector_of(m, v.data(), kLength, sizeof(float));
  ASSERT_OK(consort_data_set_reduction(m, x, init, combine));
  float want = 3;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 30; ++i) Desc(by[i % 3 == 0]).use(x, CONSORT_M_REDUX).arg(static_cast<float>(i)).must(m), want += static_cast<float>(i);
    Desc(by[round % 2]).rw(x).arg(1.0f).must(m), want += 1;
  }
  EXPECT_OK(consort_unregister(m, x));
  EXPECT_EQ(v[0], want);
}

// Numbers whose sum depends on the order, by every policy.
TEST_P(DeviceReduction, FixedTreeIsBitwiseReproducible) {
  std::vector<float> sums;
  for (const char *scheduler : {"eager", "lws", "random", "prio"}) {
    Machine m(GetParam(), {{"scheduler", scheduler}});
    const char *const on = GetParam().cores ? "both" : "there";
    const auto contribute = m.codelet("add", add, on);
    std::vector<float> v(kLength, 0);
    const auto x = vector_of(m, v.data(), kLength, sizeof(float));
    ASSERT_OK(consort_data_set_reduction(m, x, m.codelet("zero", zero, on), m.codelet("plus", plus, on)));
    std::mt19937 random(11);
    for (int i = 0; i < 100; ++i)
      Desc(contribute).use(x, kFixed).arg(std::ldexp(float(random() % 1000 + 1), int(random() % 40) - 20)).must(m);
    EXPECT_OK(consort_unregister(m, x));
    sums.push_back(v[0]);
  }
  for (const float s : sums) EXPECT_EQ(std::memcmp(&s, &sums[0], sizeof s), 0) << s << " " << sums[0];
}

TEST_P(DeviceReduction, MixedAccessesGiveTheSequentialValues) {
  const char *const on = GetParam().cores ? "both" : "there";
  for (unsigned seed = 0; seed < 3; ++seed) {
    Machine m(GetParam(), {{"scheduler", seed % 2 ? "lws" : "eager"}});
    const auto init = m.codelet("zero", zero, on), combine = m.codelet("plus", plus, on), more = m.codelet("add", add, on), fresh = m.codelet("set", set, on);
    std::vector<std::vector<float>> v(3, std::vector<float>(kLength, 0));
    std::vector<consort_data_id> x;
    for (auto &one : v) x.push_back(vector_of(m, one.data(), kLength, sizeof(float)));
    for (const auto d : x) ASSERT_OK(consort_data_set_reduction(m, d, init, combine));
    std::vector<float> want(3, 0);
    std::mt19937 random(seed);
    for (int i = 0; i < 150; ++i) {
      const size_t k = random() % 3;
      const auto a = static_cast<float>(random() % 100);
      switch (random() % 12) {
        case 0: if (random() % 4 == 0) Desc(fresh).w(x[k]).arg(want[k] = a).must(m); break;
        case 1: Desc(more).rw(x[k]).arg(a).must(m), want[k] += a; break;
        case 2: Desc(more).use(x[k], CONSORT_M_RW | CONSORT_M_COMMUTE).arg(a).must(m), want[k] += a; break;
        case 3:
          if (random() % 8 == 0) {
            EXPECT_EQ(m.read(x[k]), want[k]) << "seed " << seed << ", step " << i;
          }
          break;
        default: Desc(more).use(x[k], random() % 2 ? kFixed : uint32_t{CONSORT_M_REDUX}).arg(a).must(m), want[k] += a;
      }
    }
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_OK(consort_unregister(m, x[k]));
      EXPECT_EQ(v[k][0], want[k]) << "seed " << seed;
    }
    EXPECT_OK(consort_wait_all(m, kLong, 0));
  }
}

TEST_P(DeviceReduction, FailedContributionPoisonsUntilWritten) {
  if (GetParam().klass == std::string("opencl")) GTEST_SKIP() << "a kernel does not fail when asked";
  Machine m(GetParam());
  const auto contribute = m.codelet("add", add, "there"), fresh = m.codelet("set", set, "there");
  const auto fail = m.codelet("fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); }, "there");
  std::atomic<bool> refuse{false};
  const auto combine = m.codelet("plus", [&](const consort_call &c) { return refuse ? consort_fail(CONSORT_E_IO, "not united") : plus(c); }, "there");
  std::vector<float> v(kLength, 0);
  const auto x = vector_of(m, v.data(), kLength, sizeof(float), "total");
  ASSERT_OK(consort_data_set_reduction(m, x, m.codelet("zero", zero, "there"), combine));
  consort_hold hold;
  for (const bool in_tree : {false, true}) {
    refuse = in_tree;
    for (int i = 0; i < 20; ++i) Desc(i == 7 && !in_tree ? fail : contribute).use(x, CONSORT_M_REDUX).arg(1.0f).must(m);
    EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(m, x, CONSORT_M_R, kLong, &hold), "total", in_tree ? "not united" : "no luck");
    EXPECT_LT(consort_wait_all(m, kLong, 0), 0);
    refuse = false;
    Desc(fresh).w(x).arg(1.0f).must(m);
    for (int i = 0; i < 20; ++i) Desc(contribute).use(x, CONSORT_M_REDUX).arg(2.0f).must(m);
    EXPECT_EQ(m.read(x), 41);
    EXPECT_OK(consort_wait_all(m, kLong, 0));
  }
}

// Memory that only ending data occupy, homeless data or copies of a reduction, is never waited for without end. No task
// is refused for lack of it.
TEST_P(DeviceReduction, UnregisteredDataReleaseMemory) {
  if (GetParam().memory != std::string("2000")) GTEST_SKIP() << "there is room for all";
  Machine m(GetParam());
  const auto init = m.codelet("zero", zero, "there"), combine = m.codelet("plus", plus, "there");
  const auto contribute = m.codelet("add", add, "there"), fresh = m.codelet("set", set, "there");
  const auto all_three = m.codelet("three", [](const consort_call &c) {
    for (uint64_t i = 0; i < kLength; ++i) element(c, 0)[i] += element(c, 1)[i] - element(c, 2)[i];
    return CONSORT_OK;
  }, "there");
  std::vector<std::vector<float>> v(3, std::vector<float>(kLength, 1));
  std::vector<consort_data_id> x;
  for (auto &one : v) x.push_back(vector_of(m, one.data(), kLength, sizeof(float)));
  for (unsigned i = 0; i < 100; ++i) {
    const auto homeless = vector_of(m, nullptr, kLength, sizeof(float));
    ASSERT_OK(consort_data_set_reduction(m, homeless, init, combine));
    const consort_task_id last = Desc(fresh).w(homeless).arg(1.0f).must(m);
    for (unsigned k = 0; k < i % 4; ++k) Desc(contribute).use(homeless, CONSORT_M_REDUX).arg(1.0f).must(m);
    ASSERT_OK(consort_task_wait(m, last, kLong, 0));
    for (unsigned k = 0; k < 3; ++k) Desc(all_three).rw(x[k]).r(x[(k + 1) % 3]).r(x[(k + 2) % 3]).must(m);
    EXPECT_OK(consort_unregister(m, homeless));
  }
  EXPECT_OK(consort_wait_all(m, kLong, 0));
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_OK(consort_unregister(m, x[k]));
    EXPECT_EQ(v[k][0], 1);
  }
}

// While copies may still be on their way to where there is room.
TEST_P(DeviceReduction, CodeletsChangeBetweenRounds) {
  Machine m(GetParam());
  const char *const on = GetParam().cores ? "both" : "there";
  const auto contribute = m.codelet("add", add, on);
  std::vector<std::vector<float>> v(3, std::vector<float>(kLength, 0));
  std::vector<consort_data_id> x;
  for (auto &one : v) x.push_back(vector_of(m, one.data(), kLength, sizeof(float)));
  const consort_codelet_id inits[] = {m.codelet("zero", zero, on), m.codelet("zero", zero, "there")},
                           combines[] = {m.codelet("plus", plus, on), m.codelet("plus", plus, "there")};
  float want = 0;
  for (unsigned i = 0; i < 8; ++i) {
    for (const auto d : x) ASSERT_OK(consort_data_set_reduction(m, d, inits[i % 2], combines[i / 2 % 2]));
    for (unsigned k = 0; k < 9; ++k, ++want)
      for (const auto d : x) Desc(contribute).use(d, CONSORT_M_REDUX).arg(1.0f).must(m);
    for (const auto d : x) EXPECT_EQ(m.read(d), want);
  }
  EXPECT_OK(consort_wait_all(m, kLong, 0));
  for (const auto d : x) EXPECT_OK(consort_unregister(m, d));
}

// Contributions exist on a device only, which is lost: the datum fails, and its failure names the datum and the device.
// The device is lost at each of its first operations in turn. A value without a failure is right.
TEST_P(DeviceReduction, LostContributionPoisonsTheDatum) {
  if (GetParam().name != std::string("CoresAndSim")) GTEST_SKIP() << "one machine is enough";
  unsigned poisoned = 0;
  for (const uint32_t mode : {uint32_t{CONSORT_M_REDUX}, kFixed})
    for (int nth = 1; nth <= 12; ++nth) {
      const std::string fault = "lost@" + std::to_string(nth) + "/0";
      SCOPED_TRACE(fault + (mode == kFixed ? ", fixed tree" : ""));
      Machine m(GetParam(), {{"sim.faults", fault.c_str()}});
      const auto init = m.codelet("zero", zero, "both"), combine = m.codelet("plus", plus, "cpu");  // by a copy from the device
      const auto more = m.codelet("add", add, "both");
      const uint32_t device = first_worker(m, "gpu"), core = first_worker(m, "cpu");
      std::vector<float> v(kLength, 100), other(kLength, 1);
      const auto x = vector_of(m, v.data(), kLength, sizeof(float), "total");
      ASSERT_OK(consort_data_set_reduction(m, x, init, combine));
      std::vector<consort_task_id> tasks;
      for (int i = 0; i < 4; ++i) tasks.push_back(Desc(more).use(x, mode).arg(1.0f).on(device).must(m));
      bool contributed = true;
      for (const auto t : tasks) {
        const consort_status s = consort_task_wait(m, t, kLong, 0);
        EXPECT_NE(s, CONSORT_E_TIMEOUT);
        contributed &= s >= 0;
      }
      Desc(more).rw(x).arg(1.0f).on(core).must(m);
      consort_hold hold;
      const consort_status s = consort_acquire(m, x, CONSORT_M_R, kLong, &hold);
      if (s == CONSORT_OK) {
        EXPECT_TRUE(contributed);
        EXPECT_EQ(*static_cast<float *>(consort_ptr(*static_cast<const consort_addr *>(hold.view))), 105);
        ASSERT_OK(consort_release(m, hold));
      } else {
        const std::string why = consort_error();
        EXPECT_EQ(s, CONSORT_E_POISONED) << why;
        EXPECT_NE(why.find("'total'"), std::string::npos) << why;
        // its memory, from which a contribution could not be copied; or its worker, while a contribution ran
        EXPECT_NE(why.find(contributed ? "sim0" : "worker gpu0"), std::string::npos) << why;
        poisoned += contributed;
      }
      (void)consort_wait_all(m, kLong, 0);
      const consort_status left = consort_unregister(m, x);
      EXPECT_EQ(left >= 0, s >= 0) << consort_error();
      if (left >= 0) {
        EXPECT_EQ(v[0], 105);
      }
      const auto y = vector_of(m, other.data(), kLength, sizeof(float));
      Desc(more).rw(y).arg(1.0f).on(core).must(m);
      ASSERT_OK(consort_unregister(m, y));
      EXPECT_EQ(other[0], 2);
      (void)consort_wait_all(m, kLong, 0);
      for (const auto c : {init, combine}) EXPECT_OK(consort_codelet_remove(m, c));
    }
  EXPECT_GT(poisoned, 0u) << "no loss came after all contributions";
}

// Kernels, copies and allocations fail, or a device is lost. Every value without a reported failure is right, every
// task ends, and the codelets may be removed.
TEST_P(DeviceReduction, InjectedFaultsNeverHang) {
  if (GetParam().klass == std::string("opencl")) GTEST_SKIP() << "nothing fails there when asked";
  const char *const faults[] = {"kernel%0.01", "copy%0.01", "oom%0.05", "kernel%0.01,copy%0.01,oom%0.02,lost@150/1"};
  for (unsigned seed = 0; seed < (full() ? 40 : 4); ++seed) {
    const std::string number = std::to_string(seed + 1);
    Machine m(GetParam(), {{"sim.faults", faults[seed % 4]}, {"sim.seed", number.c_str()}});
    const char *const on = GetParam().cores ? "both" : "there";
    const auto init = m.codelet("zero", zero, on), combine = m.codelet("plus", plus, on), more = m.codelet("add", add, on);
    std::vector<std::vector<float>> v(2, std::vector<float>(kLength, 0));
    std::vector<consort_data_id> x;
    for (auto &one : v) x.push_back(vector_of(m, one.data(), kLength, sizeof(float)));
    for (const auto d : x) ASSERT_OK(consort_data_set_reduction(m, d, init, combine));
    float want = 0;
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 12; ++i, ++want)
        for (const auto d : x) Desc(more).use(d, CONSORT_M_REDUX).arg(1.0f).must(m);
      for (const auto d : x) Desc(more).rw(d).arg(1.0f).must(m);
      ++want;
    }
    bool all_went_well = true;
    const auto look = [&](consort_status told) {
      EXPECT_NE(told, CONSORT_E_TIMEOUT) << faults[seed % 4] << ", seed " << seed;
      all_went_well &= told >= 0;
    };
    look(consort_wait_all(m, kLong, 0));
    for (const auto d : x) look(consort_unregister(m, d));
    look(consort_wait_all(m, kLong, 0));
    for (const auto &one : v) {
      if (all_went_well) {
        EXPECT_EQ(one[0], want) << faults[seed % 4] << ", seed " << seed;
      }
    }
    for (const auto c : {init, combine}) EXPECT_OK(consort_codelet_remove(m, c));
  }
}

TEST_P(DeviceReduction, RefusesCodeletsWithoutAnEligibleWorker) {
  Machine m(GetParam());
  const char *const on = GetParam().cores ? "both" : "there";
  const consort_impl elsewhere = {"fpga", run_body, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  const auto init = m.codelet("zero", zero, on), combine = m.codelet("plus", plus, on), contribute = m.codelet("add", add, on);
  const auto nowhere = codelet_of(m, "nowhere", {&elsewhere, 1});
  std::vector<float> v(kLength, 1);
  const auto x = vector_of(m, v.data(), kLength, sizeof(float), "total");
  for (const bool begins : {true, false}) {
    ASSERT_OK(consort_data_set_reduction(m, x, begins ? nowhere : init, begins ? combine : nowhere));
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(contribute).use(x, CONSORT_M_REDUX).arg(1.0f).to(m), "'total'", "'nowhere'", "a unit of this machine");
  }
  ASSERT_OK(consort_data_set_reduction(m, x, init, combine));
  Desc(contribute).use(x, CONSORT_M_REDUX).arg(1.0f).must(m);
  EXPECT_EQ(m.read(x), 2);
  EXPECT_OK(consort_wait_all(m, kLong, 0));
}

}  // namespace
}  // namespace consort_test
