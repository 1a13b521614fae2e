// One datum in several formats: numbers as pairs on cores, as two lines on units of another class. Which view a task gets, when
// contents are converted, and which formats are refused. IFC-10, IFC-11, IFC-12.
#include <algorithm>
#include <fstream>
#include <random>

#include <consort/formats.h>
#include <consort/model.h>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct Pair {
  double x, y;
  bool operator==(const Pair &) const = default;
};

// Two cores, and two units of class "gpu" that run their own functions: in the cores' memory, or in one of their own.
struct Machine {
  std::string path = "/tmp/consort-formats-" + std::to_string(getpid()) + ".toml";
  explicit Machine(bool shared) {
    std::ofstream(path) << "[[device]]\n" << (shared ? "host = true\n" : "") << "class = \"gpu\"\nunits = 2\n";
  }
  ~Machine() { unlink(path.c_str()); }
  Pairs settings() const {
    return {{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"workers", "2"}, {"sim.machine", path.c_str()}, {"sim.runs", ""}};
  }
};

struct DataFormats : ::testing::TestWithParam<bool> {
  static constexpr uint64_t kN = 20;
  Machine machine{GetParam()};
  std::atomic<int> to_lines{0}, to_pairs{0}, on_cores{0}, on_gpu{0};
  std::atomic<bool> broken{false};
  std::vector<Body *> bodies;
  Rt rt{machine.settings()};
  std::vector<Pair> home = std::vector<Pair>(kN);
  consort_codelet_id to, from, core_add, gpu_add, add, set, sum;
  consort_data_id x{0};

  // The length of either view.
  static uint64_t size(const consort_call &c, uint32_t i, bool lines) {
    return lines ? static_cast<const consort_matrix_view *>(c.views[i])->nx : static_cast<const consort_vector_view *>(c.views[i])->n;
  }
  static double &at(const consort_call &c, uint32_t i, bool lines, uint64_t k, int part) {
    if (!lines) return part ? pointer<Pair>(c, i)[k].y : pointer<Pair>(c, i)[k].x;
    return pointer<double>(c, i)[uint64_t(part) * static_cast<const consort_matrix_view *>(c.views[i])->ld + k];
  }
  using Typed = std::function<consort_status(const consort_call &, bool lines)>;
  // A codelet for cores, for the others, or both: its body is told which view it has.
  consort_codelet_id typed(const char *name, Typed body, bool cores = true, bool gpu = true) {
    std::vector<consort_impl> impls;
    const auto impl = [&](const char *klass, bool lines) {
      bodies.push_back(new Body([this, body, lines](const consort_call &c) -> consort_status {
        ++(lines ? on_gpu : on_cores);
        return body(c, lines);
      }));
      impls.push_back({klass, run_body, bodies.back(), nullptr, nullptr, nullptr, nullptr, 0});
    };
    if (cores) impl("cpu", false);
    if (gpu) impl("gpu", true);
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name;
    d.impls = impls.data();
    d.nimpls = uint32_t(impls.size());
    consort_codelet_id id{0};
    need(consort_codelet_add(rt, &d, &id), name);
    return id;
  }
  consort_codelet_id conversion(const char *name, bool into_lines, const char *klass) {
    bodies.push_back(new Body([this, into_lines](const consort_call &c) -> consort_status {
      ++(into_lines ? to_lines : to_pairs);
      if (broken) return consort_fail(CONSORT_E_IO, "the conversion is broken");
      for (uint64_t k = 0; k < size(c, 0, !into_lines); ++k)
        for (int part : {0, 1}) at(c, 1, into_lines, k, part) = at(c, 0, !into_lines, k, part);
      return CONSORT_OK;
    }));
    const consort_impl impl{klass, run_body, bodies.back(), nullptr, nullptr, nullptr, nullptr, 0};
    constexpr uint32_t modes[] = {CONSORT_M_R, CONSORT_M_W};
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name;
    d.impls = &impl;
    d.nimpls = 1;
    d.nmodes = 2;
    d.modes = modes;
    consort_codelet_id id{0};
    need(consort_codelet_add(rt, &d, &id), name);
    return id;
  }
  consort_format_desc lines(const consort_matrix_args &a) const {
    consort_format_desc f = CONSORT_FORMAT_INIT;
    f.klass = "gpu";
    f.interface = "matrix";
    f.args = &a;
    f.args_bytes = sizeof a;
    f.to = to;
    f.from = from;
    return f;
  }
  consort_data_id pairs(std::vector<Pair> &v, const char *name) {
    const auto id = vector_of(rt, v.empty() ? nullptr : v.data(), kN, sizeof(Pair), name);
    const consort_matrix_args a{nullptr, kN, 2, 0, sizeof(double)};
    const auto f = lines(a);
    need(consort_data_add_format(rt, id, &f), "add_format");
    return id;
  }
  void SetUp() override {
    to = conversion("to lines", true, "gpu");      // on the side that wants it
    from = conversion("to pairs", false, "cpu");
    const Typed more = [](const consort_call &c, bool l) -> consort_status {
      for (uint64_t k = 0; k < size(c, 0, l); ++k) at(c, 0, l, k, 0) += value<double>(c, 0), at(c, 0, l, k, 1) -= value<double>(c, 0) * double(k);
      return CONSORT_OK;
    };
    core_add = typed("core add", more, true, false);
    gpu_add = typed("gpu add", more, false, true);
    add = typed("add", more);
    set = typed("set", [](const consort_call &c, bool l) {
      for (uint64_t k = 0; k < size(c, 0, l); ++k) at(c, 0, l, k, 0) = value<double>(c, 0), at(c, 0, l, k, 1) = double(k);
      return CONSORT_OK;
    });
    sum = typed("sum", [](const consort_call &c, bool l) {
      double s = 0;
      for (uint64_t k = 0; k < size(c, 0, l); ++k) s += at(c, 0, l, k, 0) * double(k + 1) + at(c, 0, l, k, 1);
      **reinterpret_cast<double *const *>(&c.args[0].scalar) = s;
      return CONSORT_OK;
    });
    for (uint64_t k = 0; k < kN; ++k) home[k] = {double(k), 1};
    x = pairs(home, "x");
  }
  void TearDown() override {
    rt.stop();
    for (Body *b : bodies) delete b;
  }
  static void more(std::vector<Pair> &v, double by) {
    for (uint64_t k = 0; k < v.size(); ++k) v[k].x += by, v[k].y -= by * double(k);
  }
  void by(consort_codelet_id c, double value) { Desc(c).rw(x).arg(value).must(rt); }
  void wait() { ASSERT_OK(consort_wait_all(rt, kLong, 0)); }
};

INSTANTIATE_TEST_SUITE_P(Memory, DataFormats, ::testing::Values(true, false),
                         [](const auto &i) { return std::string(i.param ? "Shared" : "OfItsOwn"); });

TEST_P(DataFormats, ConvertsContentsOnDemand) {
  auto expected = home;
  by(core_add, 1);
  wait();
  EXPECT_EQ(to_lines + to_pairs, 0) << "the first format needs nothing";
  by(gpu_add, 2);
  by(gpu_add, 3);
  wait();
  EXPECT_EQ(to_lines, 1) << "once, not for each task";
  EXPECT_EQ(to_pairs, 0);
  by(core_add, 4);
  by(core_add, 5);
  by(gpu_add, 6);
  for (double d : {1, 2, 3, 4, 5, 6}) more(expected, d);
  ASSERT_OK(consort_unregister(rt, x));
  EXPECT_EQ(to_lines, 2);
  EXPECT_EQ(to_pairs, 2) << "the last brings it home";
  EXPECT_EQ(home, expected);
  consort_info info{};
  info.size = sizeof info;
  EXPECT_TRUE(eventually([&] { return consort_get_info(rt, &info) == CONSORT_OK && info.data == 0; }));
}

TEST_P(DataFormats, EachClassGetsItsOwnView) {
  consort_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_info(rt, &info));
  ASSERT_EQ(info.nworkers, 4u);
  std::vector<Pair> expected = home;
  int core_tasks = 0, gpu_tasks = 0;
  for (int round = 0; round < 50; ++round)
    for (uint32_t w = 0; w < 4; ++w) {
      consort_worker_info i{};
      i.size = sizeof i;
      ASSERT_OK(consort_get_worker(rt, w, &i));
      ++(std::string(i.klass) == "gpu" ? gpu_tasks : core_tasks);
      Desc(add).rw(x).arg(1.0).on(w).must(rt);
      more(expected, 1);
    }
  ASSERT_OK(consort_unregister(rt, x));
  EXPECT_EQ(home, expected);
  EXPECT_EQ(on_cores, core_tasks);
  EXPECT_EQ(on_gpu, gpu_tasks);
}

// IFC-12: which format it is has been settled before a policy looks.
TEST_P(DataFormats, PolicyPrefersTheValidFormat) {
  by(gpu_add, 1);
  for (int i = 0; i < 20; ++i) by(add, 1);
  wait();
  EXPECT_EQ(on_gpu, 21);
  EXPECT_EQ(to_lines, 1);
  EXPECT_EQ(to_pairs, 0);
  double s = 0;
  Desc(sum).r(x).arg(&s).on(0).must(rt);  // on a core: both hold it now
  wait();
  EXPECT_EQ(to_pairs, 1);
  for (uint32_t w = 0; w < 4; ++w) {
    double same = -1;
    Desc(sum).r(x).arg(&same).on(w).must(rt);
    wait();
    EXPECT_EQ(same, s);
  }
  EXPECT_EQ(to_lines + to_pairs, 2) << "readers on both sides share both formats";
  by(core_add, 1);  // alone with its format from now on
  by(gpu_add, 1);
  wait();
  EXPECT_EQ(to_lines, 2);
  Desc(set).w(x).arg(7.0).on(0).must(rt);  // written whole: nothing to convert
  wait();
  EXPECT_EQ(to_lines + to_pairs, 3);
}

// IFC-12: where models know all times, a conversion is made if the units on its other side gain more than it takes.
TEST_P(DataFormats, ModelsWeighConversions) {
  std::vector<double> raw(2 * kN);
  const consort_matrix_args shape{raw.data(), kN, 2, kN, sizeof(double)};
  consort_data_desc desc{};  // of the size of the other format, to be named to models
  desc.size = sizeof desc;
  desc.interface = "matrix";
  desc.args = &shape;
  desc.args_bytes = sizeof shape;
  consort_data_id as_lines{0};
  ASSERT_OK(consort_register(rt, &desc, &as_lines));
  const auto feed = [&](Desc d, uint32_t worker, double ns) {
    for (int i = 0; i < 16; ++i) ASSERT_OK(consort_model_feed(rt, d.desc(), worker, CONSORT_NONE, CONSORT_MODEL_TIME, ns));
  };
  constexpr uint32_t kCore = 0, kGpu = 2;
  const auto cheap = conversion("cheap", true, "gpu");
  feed(Desc(to).r(x).w(as_lines), kGpu, 100e6);
  feed(Desc(cheap).r(x).w(as_lines), kGpu, 1e6);
  feed(Desc(add).rw(x), kCore, 10e6);
  by(add, 1);
  wait();
  EXPECT_EQ(on_gpu, 0) << "one time is unknown: the fewest conversions";
  feed(Desc(add).rw(as_lines), kGpu, 0.1e6);
  by(add, 1);
  wait();
  EXPECT_EQ(on_gpu, 0) << "the conversion takes longer than is gained";
  to = cheap;
  std::vector<Pair> other(kN);
  const auto y = pairs(other, "y");
  Desc(add).rw(y).arg(1.0).must(rt);
  wait();
  EXPECT_EQ(on_gpu, 1) << "1.1 ms on the other side against 10";
  EXPECT_EQ(to_lines, 1);
  Desc(add).rw(y).arg(1.0).must(rt);
  wait();
  EXPECT_EQ(on_gpu, 2);
  ASSERT_OK(consort_unregister(rt, y));
  EXPECT_EQ(other[1], (Pair{2, -2}));
  ASSERT_OK(consort_unregister(rt, as_lines));
}

TEST_P(DataFormats, ApplicationSeesTheFirstFormat) {
  auto expected = home;
  by(gpu_add, 1);
  more(expected, 1);
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &hold));
  EXPECT_EQ(home, expected);
  ASSERT_OK(consort_release(rt, hold));
  EXPECT_EQ(to_pairs, 1);
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_RW, kLong, &hold));
  EXPECT_EQ(to_pairs, 1);
  home[0].x = 99;
  ASSERT_OK(consort_release(rt, hold));
  expected = home;
  by(gpu_add, 2);
  more(expected, 2);
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_W, kLong, &hold));
  EXPECT_EQ(to_pairs, 1) << "the old contents are not wanted";
  std::fill(home.begin(), home.end(), Pair{1, 2});
  ASSERT_OK(consort_release(rt, hold));
  by(gpu_add, 3);
  expected.assign(kN, {1, 2});
  more(expected, 3);
  ASSERT_OK(rt.stop());  // without a word about x
  EXPECT_EQ(home, expected);
}

TEST_P(DataFormats, DataWithoutHomeOrContents) {
  std::vector<Pair> none;
  const auto y = pairs(none, "y");
  double s = 0;
  Desc(sum).r(y).arg(&s).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_wait(rt, {0}, kLong, 0), "never written");
  Desc(set).w(y).arg(3.0).on(3).must(rt);
  Desc(sum).r(y).arg(&s).on(0).must(rt);
  wait();
  EXPECT_EQ(s, 3 * kN * (kN + 1) / 2 + kN * (kN - 1) / 2.0);
  EXPECT_EQ(to_pairs, 1);
  Desc(set).w(y).arg(3.0).on(3).must(rt);
  ASSERT_OK(consort_unregister(rt, y));
  EXPECT_EQ(to_pairs, 1) << "the result would be unused";
  ASSERT_OK(consort_invalidate(rt, x));
  Desc(sum).r(x).arg(&s).on(3).must(rt);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_group_wait(rt, {0}, kLong, 0), "to lines", "never written");
  Desc(set).w(x).arg(4.0).on(3).must(rt);
  Desc(sum).r(x).arg(&s).on(0).must(rt);
  wait();
}

TEST_P(DataFormats, FailedConversionReportsAndRecovers) {
  const auto was = home;
  broken = true;
  by(gpu_add, 1);
  EXPECT_EQ(consort_group_wait(rt, {0}, kLong, 0), CONSORT_E_IO);
  broken = false;
  ASSERT_OK(consort_invalidate(rt, x));
  Desc(set).w(x).arg(1.0).on(3).must(rt);
  by(core_add, 0);
  wait();
  EXPECT_EQ(home[1].x, 1);
  EXPECT_NE(home, was);
}

TEST_P(DataFormats, CommuteAcrossFormats) {
  auto expected = home;
  for (int i = 0; i < 300; ++i) {
    Desc(add).use(x, CONSORT_M_RW | CONSORT_M_COMMUTE).arg(1.0).on(uint32_t(i / 7) % 4).must(rt);
    more(expected, 1);
  }
  ASSERT_OK(consort_unregister(rt, x));
  EXPECT_EQ(home, expected);
}

// Random programs from several threads: each reader's values are checked by a model without formats.
TEST_P(DataFormats, RandomProgramsGiveTheModelsValues) {
  constexpr int kThreads = 3, kData = 3;
  std::vector<std::vector<Pair>> memory(kThreads * kData, std::vector<Pair>(kN, {1, 1})), model = memory;
  std::vector<consort_data_id> data;
  for (auto &m : memory) data.push_back(pairs(m, "d"));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  const int steps = full() ? 20000 : 600;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random{uint64_t(t) + 5};
      struct Read { double expected, got = -1; };
      std::vector<std::unique_ptr<Read>> reads;
      for (int i = 0; i < steps; ++i) {
        const size_t k = size_t(t) * kData + random() % kData;
        const double v = double(random() % 5);
        auto &m = model[k];
        const auto where = [&](Desc d) {
          if (random() % 2) d.on(uint32_t(random() % 4));
          d.must(rt);
        };
        switch (random() % 8) {
          case 0:
            for (uint64_t e = 0; e < kN; ++e) m[e] = {v, double(e)};
            where(Desc(set).w(data[k]).arg(v));
            break;
          case 1: case 2: case 3:
            more(m, v);
            where(Desc(add).rw(data[k]).arg(v));
            break;
          case 4:
            more(m, v);
            where(Desc(add).use(data[k], CONSORT_M_RW | CONSORT_M_COMMUTE).arg(v));
            break;
          case 5:
            if (random() % 8 == 0) {
              consort_hold hold;
              need(consort_acquire(rt, data[k], CONSORT_M_RW, kLong, &hold), "acquire");
              if (memory[k] != m) ++wrong, std::printf("hold at step %d of thread %d, datum %zu\n", i, t, k);
              memory[k][0].x = m[0].x = v;
              need(consort_release(rt, hold), "release");
            }
            break;
          default: {
            double s = 0;
            for (uint64_t e = 0; e < kN; ++e) s += m[e].x * double(e + 1) + m[e].y;
            reads.push_back(std::make_unique<Read>(Read{s}));
            where(Desc(sum).r(data[k]).arg(&reads.back()->got));
          }
        }
      }
      for (int k = 0; k < kData; ++k) need(consort_unregister(rt, data[size_t(t * kData + k)]), "unregister");
      for (const auto &r : reads)
        if (r->got != r->expected) ++wrong, std::printf("a reader of thread %d got %f, not %f\n", t, r->got, r->expected);
    });
  for (auto &t : threads) t.join();
  wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(memory, model);
}

TEST_P(DataFormats, RefusesInvalidFormats) {
  const consort_matrix_args a{nullptr, kN, 2, 0, sizeof(double)};
  const auto good = lines(a);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_add_format(rt, x, &good), "'x'", "gpu", "already");
  std::vector<Pair> other(kN);
  const auto y = vector_of(rt, other.data(), kN, sizeof(Pair), "y");
  const auto no = [&](consort_status s, auto change, const char *word) {
    auto f = good;
    change(f);
    EXPECT_SAYS(s, consort_data_add_format(rt, y, &f), word);
  };
  no(CONSORT_E_INVAL, [](auto &f) { f.klass = nullptr; }, "class");
  no(CONSORT_E_INVAL, [](auto &f) { f.flags = 1; }, "flags");
  no(CONSORT_E_INVAL, [](auto &f) { f.args_bytes = 3; }, "matrix");
  no(CONSORT_E_INVAL, [](auto &f) { f.to = {0}; }, "to");
  no(CONSORT_E_INVAL, [&](auto &f) { f.from = {0}; }, "from");
  auto bad = good;
  bad.interface = "nosuch";
  EXPECT_LT(consort_data_add_format(rt, y, &bad), 0);
  double there[2 * kN];
  const consort_matrix_args with_home{there, kN, 2, 0, sizeof(double)};
  no(CONSORT_E_INVAL, [&](auto &f) { f.args = &with_home; }, "no address");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_add_format(rt, x, nullptr), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_add_format(rt, {0}, &good), "null handle");

  consort_plan_desc p = CONSORT_PLAN_INIT;
  const consort_split two{2, 0};
  p.filter = "blocks";
  p.params = &two;
  p.params_bytes = sizeof two;
  consort_plan_id plan{0};
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_plan_create(rt, x, &p, &plan), "'x'", "formats");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_data_set_ordered(rt, x, 0), "'x'", "formats");
  const auto init = codelet(rt, "init", [](const consort_call *) -> consort_status { return CONSORT_OK; }, 1),
             unite = codelet(rt, "unite", [](const consort_call *) -> consort_status { return CONSORT_OK; }, 2);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_data_set_reduction(rt, x, init, unite), "'x'", "formats");
  EXPECT_LT(Desc(add).use(x, CONSORT_M_REDUX).arg(1.0).to(rt), 0);
  auto loose = Desc(add).rw(x).arg(1.0);
  loose.d.flags = CONSORT_TASK_UNORDERED;
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, loose.to(rt), "formats");
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(add).rw(x).arg(1.0).to(rt), "'x'", "formats");
  consort_recording_id r{0};
  EXPECT_LT(consort_record_end(rt, &r), 0);
  ASSERT_OK(consort_record_begin(rt, CONSORT_RECORD_ONLY));
  ASSERT_OK(Desc(core_add).rw(y).arg(1.0).to(rt));
  ASSERT_OK(consort_record_end(rt, &r));
  ASSERT_OK(consort_replay(rt, r, {0}, nullptr));
  ASSERT_OK(consort_data_add_format(rt, y, &good));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_replay(rt, r, {0}, nullptr), "'y'", "formats");

  std::vector<Pair> third(kN);
  const auto z = vector_of(rt, third.data(), kN, sizeof(Pair), "z");
  ASSERT_OK(consort_plan_create(rt, z, &p, &plan));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_data_add_format(rt, z, &good), "'z'", "plans");
  auto nowhere = good;
  nowhere.klass = "unobtainium";  // a machine without such units has no use for it
  std::vector<Pair> fourth(kN);
  const auto u = vector_of(rt, fourth.data(), kN, sizeof(Pair), "u");
  ASSERT_OK(consort_data_add_format(rt, u, &nowhere));
  ASSERT_OK(Desc(core_add).rw(u).arg(1.0).to(rt));
  for (auto d : {u, y, z}) ASSERT_OK(consort_unregister(rt, d));
  EXPECT_EQ(to_lines, 0);
  EXPECT_EQ(fourth[0].x, 1);
}

}  // namespace
