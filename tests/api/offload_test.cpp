// Whole small programs on cores and simulated accelerators, with data that move by themselves. Values are as on paper,
// also when memory is tight, copies and kernels fail, or a device goes.
#include <consort/memory.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "api/harness.hpp"

namespace consort_test {
namespace {

consort_data_id matrix_of(consort_runtime *rt, double *p, uint64_t n, uint64_t ld) {
  consort_data_id id{0};
  need(consort_register_matrix(rt, p, n, n, ld, sizeof *p, &id), "register matrix");
  return id;
}
const consort_vector_view &vec(const consort_call &c, uint32_t i) { return *static_cast<const consort_vector_view *>(c.views[i]); }
struct Tile {
  double *p;
  uint64_t n, ld;
  double &operator()(uint64_t i, uint64_t j) const { return p[i * ld + j]; }
};
Tile tile(const consort_call &c, uint32_t i) {
  const auto &v = *static_cast<const consort_matrix_view *>(c.views[i]);
  return {static_cast<double *>(consort_ptr(v.addr)), v.nx, v.ld};
}

// Two cores and two accelerators, each with memory of its own.
struct Machine {
  Pairs pairs;
  std::vector<std::unique_ptr<Body>> bodies;  // outlive the runtime
  std::unique_ptr<Rt> rt;
  uint32_t workers = 0;
  explicit Machine(const Pairs &more = {}, bool in_virtual_time = false) {
    if (in_virtual_time) pairs = {{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "2"}};
    else pairs = {{"drivers", "cpu,sim"}, {"cpu.topology", kFourCores}, {"cpu.workers", "2"}};
    const auto usual = [&](const char *key, const char *value) {
      for (const auto &s : more)
        if (std::string(s.key) == key) return;
      pairs.push_back({key, value});
    };
    usual("sim.devices", "2");
    usual("sim.latency", "2us");
    usual("sim.memory", "64M");
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    workers = info.nworkers;
  }
  operator consort_runtime *() const { return *rt; }
  // For both classes; the accelerator's own implementation is a text that no unit can run.
  consort_codelet_id codelet(const char *name, Body body) {
    bodies.push_back(std::make_unique<Body>(std::move(body)));
    const consort_impl impls[] = {{"cpu", run_body, bodies.back().get(), nullptr, nullptr, nullptr, nullptr, 0},
                                  {"gpu", nullptr, nullptr, nullptr, "cl", "__kernel void k() {}", nullptr, 0}};
    return codelet_of(*rt, name, impls);
  }
};

// Tasks go round: each on another worker than the one before, so everything moves; or where the policy likes.
struct Round {
  uint32_t n, next = 0;
  bool pinned;
  Desc &place(Desc &d) {
    if (pinned) d.on(next = (next + 1) % n);
    return d;
  }
};

void scale_vectors(Machine &m, bool pinned) {
  Round round{m.workers, 0, pinned};
  const auto scale = m.codelet("scale", [](const consort_call &c) -> consort_status {
    auto *x = pointer<float>(c, 0);
    for (uint64_t i = 0; i < vec(c, 0).n; ++i) x[i] *= value<float>(c, 0);
    return CONSORT_OK;
  });
  std::vector<std::vector<float>> v(6, std::vector<float>(5000, 1.f));
  std::vector<consort_data_id> x;
  for (auto &i : v) x.push_back(vector_of(m, i.data(), i.size(), sizeof(float)));
  for (int turn = 0; turn < 12; ++turn)
    for (size_t i = 0; i < v.size(); ++i) {
      Desc d(scale);
      round.place(d.rw(x[i]).arg(i % 2 ? 2.f : 0.5f)).must(m);
    }
  for (const auto d : x) ASSERT_OK(consort_unregister(m, d));
  for (uint32_t w = 0; pinned && w < m.workers; ++w) {
    consort_worker_info info{};
    info.size = sizeof info;
    ASSERT_OK(consort_get_worker(m, w, &info));
    EXPECT_EQ(info.tasks, 72u / m.workers) << info.name;
  }
  for (size_t i = 0; i < v.size(); ++i)
    for (float e : v[i]) ASSERT_EQ(e, std::pow(i % 2 ? 2.f : 0.5f, 12.f));
}
TEST(Offload, ScalesVectors) {
  for (bool pinned : {true, false}) {
    Machine m;
    scale_vectors(m, pinned);
  }
}

TEST(Offload, ComputesAxpy) {
  Machine m;
  const auto axpy = m.codelet("axpy", [](const consort_call &c) -> consort_status {
    const auto *x = pointer<double>(c, 0);
    auto *y = pointer<double>(c, 1);
    for (uint64_t i = 0; i < vec(c, 0).n; ++i) y[i] += value<double>(c, 0) * x[i];
    return CONSORT_OK;
  });
  constexpr int kParts = 8, kSize = 1000;
  std::vector<double> x(kParts * kSize), y(kParts * kSize, 1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  std::vector<consort_data_id> xs, ys;
  for (int i = 0; i < kParts; ++i) {
    xs.push_back(vector_of(m, &x[i * kSize], kSize, sizeof(double)));
    ys.push_back(vector_of(m, &y[i * kSize], kSize, sizeof(double)));
  }
  Round round{m.workers, 0, true};
  for (int turn = 1; turn <= 9; ++turn)
    for (int i = 0; i < kParts; ++i) {
      Desc d(axpy);
      round.place(d.r(xs[i]).rw(ys[i]).arg(static_cast<double>(turn))).must(m);
    }
  for (int i = 0; i < kParts; ++i) {
    ASSERT_OK(consort_unregister(m, xs[i]));
    ASSERT_OK(consort_unregister(m, ys[i]));
  }
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], 1 + 45.0 * static_cast<double>(i));
}

// A line of blocks, each of which sees the ends of its neighbours.
TEST(Offload, ComputesAStencil) {
  for (bool pinned : {true, false}) {
    Machine m;
    const auto step = m.codelet("step", [](const consort_call &c) -> consort_status {
      const auto *left = pointer<double>(c, 0), *mid = pointer<double>(c, 1), *right = pointer<double>(c, 2);
      auto *out = pointer<double>(c, 3);
      const uint64_t n = vec(c, 1).n;
      for (uint64_t i = 0; i < n; ++i)
        out[i] = 0.25 * (i ? mid[i - 1] : left[n - 1]) + 0.5 * mid[i] + 0.25 * (i + 1 < n ? mid[i + 1] : right[0]);
      return CONSORT_OK;
    });
    constexpr int kBlocks = 5, kSize = 200, kTurns = 20, kAll = kBlocks * kSize;
    std::vector<double> a(kAll), b(kAll), want(kAll);
    for (int i = 0; i < kAll; ++i) a[i] = want[i] = i % 7 * 10;
    std::vector<consort_data_id> d[2];
    for (int i = 0; i < kBlocks; ++i) {
      d[0].push_back(vector_of(m, &a[i * kSize], kSize, sizeof(double)));
      d[1].push_back(vector_of(m, &b[i * kSize], kSize, sizeof(double)));
    }
    Round round{m.workers, 0, pinned};
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<double> next(kAll);
      for (int i = 0; i < kAll; ++i) next[i] = 0.25 * want[(i + kAll - 1) % kAll] + 0.5 * want[i] + 0.25 * want[(i + 1) % kAll];
      want = next;
      const auto &from = d[turn % 2], &to = d[1 - turn % 2];
      for (int i = 0; i < kBlocks; ++i) {
        Desc t(step);
        round.place(t.r(from[(i + kBlocks - 1) % kBlocks]).r(from[i]).r(from[(i + 1) % kBlocks]).w(to[i])).must(m);
      }
    }
    for (int k = 0; k < 2; ++k)
      for (const auto x : d[k]) ASSERT_OK(consort_unregister(m, x));
    EXPECT_EQ(kTurns % 2 ? b : a, want) << "to the bit: the same sums in the same order";
  }
}

// Tiles of one array that is larger than they are: rows with gaps, so every copy is a strided one.
void cholesky(Machine &m, bool pinned) {
  constexpr int kTiles = 6;
  constexpr uint64_t kN = 24, kLd = kTiles * kN + 5;
  const auto potrf = m.codelet("potrf", [](const consort_call &c) -> consort_status {
    const Tile a = tile(c, 0);
    for (uint64_t k = 0; k < a.n; ++k) {
      a(k, k) = std::sqrt(a(k, k));
      for (uint64_t i = k + 1; i < a.n; ++i) a(i, k) /= a(k, k);
      for (uint64_t j = k + 1; j < a.n; ++j)
        for (uint64_t i = j; i < a.n; ++i) a(i, j) -= a(i, k) * a(j, k);
    }
    return CONSORT_OK;
  });
  const auto trsm = m.codelet("trsm", [](const consort_call &c) -> consort_status {
    const Tile l = tile(c, 0), b = tile(c, 1);
    for (uint64_t i = 0; i < b.n; ++i)
      for (uint64_t j = 0; j < b.n; ++j) {
        for (uint64_t k = 0; k < j; ++k) b(i, j) -= b(i, k) * l(j, k);
        b(i, j) /= l(j, j);
      }
    return CONSORT_OK;
  });
  const auto gemm = m.codelet("gemm", [](const consort_call &c) -> consort_status {
    const Tile a = tile(c, 0), b = tile(c, 1), d = tile(c, 2);
    for (uint64_t i = 0; i < d.n; ++i)
      for (uint64_t j = 0; j < d.n; ++j)
        for (uint64_t k = 0; k < d.n; ++k) d(i, j) -= a(i, k) * b(j, k);
    return CONSORT_OK;
  });
  std::vector<double> a(kTiles * kN * kLd);
  constexpr uint64_t kAll = kTiles * kN;
  std::mt19937 rng(7);
  for (uint64_t i = 0; i < kAll; ++i)
    for (uint64_t j = 0; j <= i; ++j) a[i * kLd + j] = a[j * kLd + i] = static_cast<double>(rng() % 1000) / 1000 + (i == j ? kAll : 0);
  const std::vector<double> before = a;
  consort_data_id t[kTiles][kTiles];
  for (int i = 0; i < kTiles; ++i)
    for (int j = 0; j <= i; ++j) t[i][j] = matrix_of(m, &a[i * kN * kLd + j * kN], kN, kLd);
  Round round{m.workers, 0, pinned};
  const auto go = [&](Desc d) { round.place(d).must(m); };
  for (int k = 0; k < kTiles; ++k) {
    go(Desc(potrf).rw(t[k][k]));
    for (int i = k + 1; i < kTiles; ++i) go(Desc(trsm).r(t[k][k]).rw(t[i][k]));
    for (int j = k + 1; j < kTiles; ++j)
      for (int i = j; i < kTiles; ++i) go(Desc(gemm).r(t[i][k]).r(t[j][k]).rw(t[i][j]));
  }
  for (int i = 0; i < kTiles; ++i)
    for (int j = 0; j <= i; ++j) ASSERT_OK(consort_unregister(m, t[i][j]));
  double worst = 0;
  for (uint64_t i = 0; i < kAll; ++i)
    for (uint64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (uint64_t k = 0; k <= j; ++k) sum += a[i * kLd + k] * a[j * kLd + k];
      worst = std::max(worst, std::fabs(sum - before[i * kLd + j]));
    }
  EXPECT_LT(worst, 1e-9);
  for (uint64_t i = 0; i < kAll; ++i)
    for (uint64_t j = kAll; j < kLd; ++j) ASSERT_EQ(a[i * kLd + j], 0) << "gaps stay untouched";
}
TEST(Offload, FactorisesByCholesky) {
  for (bool pinned : {true, false}) {
    Machine m(Pairs{{"sim.peer", pinned ? "20G" : "0"}});
    cholesky(m, pinned);
  }
}
// Each memory has room for seven of 21 tiles of 4608 bytes: the others are evicted.
TEST(Offload, FactorisesInTightMemory) {
  for (bool pinned : {true, false}) {
    Machine m(Pairs{{"sim.memory", "32256"}});
    cholesky(m, pinned);
  }
}

// -- random programs --------------------------------------------------------------------------------------------------

// v[w] = v[w] * 3 + the sum of the read data + a constant; a task that only writes starts anew.
struct Step {
  std::vector<int> reads;
  int writes;
  bool anew;
  uint32_t worker;
  uint64_t constant;
};

// A random memory request of the application. It changes no value, and no task fails by it.
void wish(Machine &m, std::mt19937_64 &rng, consort_data_id x, std::vector<consort_prefetch_id> &wishes) {
  consort_info info{};
  info.size = sizeof info;
  need(consort_get_info(m, &info), "info");
  const uint32_t nspaces = info.nspaces;
  const auto space = static_cast<uint32_t>(rng() % nspaces);
  consort_prefetch_id id{0};
  switch (rng() % 6) {
    case 0: case 1:
      ASSERT_OK(consort_prefetch(m, x, space, static_cast<int32_t>(rng() % 3), rng() % 5 ? 0 : CONSORT_PREFETCH_ROOM, &id));
      wishes.push_back(id);
      break;
    case 2: ASSERT_OK(consort_wont_use(m, x)); break;
    case 3: {
      const Answer a = consort_evict(m, x, space);
      ASSERT_TRUE(a.status == CONSORT_OK || a.text.find("own memory") != std::string::npos) << a.text;
      break;
    }
    case 4: ASSERT_OK(consort_data_set_write_through(m, x, rng() % (uint64_t{1} << nspaces))); break;
    default:
      if (!wishes.empty()) { ASSERT_GE(consort_prefetch_cancel(m, wishes[rng() % wishes.size()]), CONSORT_OK); }
  }
}

// Beside the settings: whether faults may strike, whose time passes, and whether homeless data and memory requests are
// mixed in.
struct How {
  bool faults = false, in_virtual_time = false, strewn = false;
};

void random_program(uint64_t seed, const Pairs &more, How how) {
  const bool faults = how.faults;
  std::mt19937_64 rng(seed);
  constexpr int kData = 12;
  constexpr uint64_t kWords = 128;
  std::vector<std::vector<uint64_t>> v(kData, std::vector<uint64_t>(kWords, 5));  // outlives the runtime
  Machine m(more, how.in_virtual_time);
  const auto mix = m.codelet("mix", [](const consort_call &c) -> consort_status {
    auto *out = pointer<uint64_t>(c, 0);
    const bool anew = value<uint64_t>(c, 1);
    for (uint64_t i = 0; i < kWords; ++i) {
      uint64_t x = (anew ? 1 : out[i] * 3) + value<uint64_t>(c, 0) + i;
      for (uint32_t k = 1; k < c.nviews; ++k) x += pointer<uint64_t>(c, k)[i];
      out[i] = x;
    }
    return CONSORT_OK;
  });
  auto want = v;
  std::vector<bool> bad(kData, false);
  std::vector<consort_data_id> x;
  const int homeless = how.strewn ? static_cast<int>(rng() % 5) : 0;  // the first so many
  for (auto &i : v) x.push_back(vector_of(m, x.size() < static_cast<size_t>(homeless) ? nullptr : i.data(), kWords, 8));
  std::vector<Step> steps;
  std::vector<consort_task_id> tasks;
  std::vector<consort_prefetch_id> wishes;
  const int n = 60 + static_cast<int>(rng() % 60);
  for (int i = 0; i < n; ++i) {
    if (how.strewn && rng() % 3 == 0) { ASSERT_NO_FATAL_FAILURE(wish(m, rng, x[rng() % kData], wishes)); }
    Step s{{}, static_cast<int>(rng() % kData), rng() % 8 == 0, rng() % 2 ? CONSORT_NONE : static_cast<uint32_t>(rng() % m.workers), rng() % 100};
    if (i < homeless) s = {{}, i, true, s.worker, s.constant};
    for (uint64_t k = i < homeless ? 0 : rng() % 3; k; --k) {
      const int r = static_cast<int>(rng() % kData);
      if (r != s.writes && std::find(s.reads.begin(), s.reads.end(), r) == s.reads.end()) s.reads.push_back(r);
    }
    Desc d(mix);
    d.use(x[s.writes], s.anew ? CONSORT_M_W : CONSORT_M_RW);
    for (int r : s.reads) d.r(x[r]);
    tasks.push_back(d.arg(s.constant).arg<uint64_t>(s.anew).on(s.worker).must(m));
    steps.push_back(s);
  }
  for (int i = 0; i < n; ++i) {
    const consort_status status = consort_task_wait(m, tasks[i], kLong, 0);
    ASSERT_NE(status, CONSORT_E_TIMEOUT) << "seed " << seed;
    const Step &s = steps[i];
    bool input_bad = !s.anew && bad[s.writes];
    for (int r : s.reads) input_bad |= bad[r];
    ASSERT_TRUE(faults || status == CONSORT_OK) << "seed " << seed << ": " << consort_error();
    if (status < 0) {
      bad[s.writes] = true;
      continue;
    }
    ASSERT_FALSE(input_bad) << "seed " << seed << ", task " << i << ": it ran on data that another failed to write";
    bad[s.writes] = false;
    for (uint64_t w = 0; w < kWords; ++w) {
      uint64_t y = (s.anew ? 1 : want[s.writes][w] * 3) + s.constant + w;
      for (int r : s.reads) y += want[r][w];
      want[s.writes][w] = y;
    }
  }
  for (int i = 0; i < kData; ++i) {
    consort_hold hold;
    const consort_status s = consort_acquire(m, x[i], CONSORT_M_R, kLong, &hold);
    ASSERT_NE(s, CONSORT_E_TIMEOUT);
    ASSERT_TRUE(faults || s == CONSORT_OK) << "seed " << seed << ": " << consort_error();
    if (s >= 0) {
      ASSERT_FALSE(bad[i]) << "seed " << seed << ": data of a failed write were read";
      const auto *p = static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
      ASSERT_EQ(std::vector<uint64_t>(p, p + kWords), want[i]) << "seed " << seed << ", datum " << i;
      ASSERT_OK(consort_release(m, hold));
    }
    (void)consort_unregister(m, x[i]);
  }
}

int seeds(int few) { return full() ? 50 * few : std::max(1, few / kSlow); }

TEST(OffloadRandom, GivesTheSequentialValues) {
  for (int seed = 1; seed <= seeds(25); ++seed) ASSERT_NO_FATAL_FAILURE(random_program(seed, {}, {}));
}
TEST(OffloadRandom, GivesTheSequentialValuesInTightMemory) {  // four data of 1 KiB in each
  for (int seed = 1; seed <= seeds(25); ++seed) ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"sim.memory", "4096"}}, {}));
}
TEST(OffloadRandom, SurvivesFaults) {
  for (int seed = 1; seed <= seeds(25); ++seed) {
    const std::string s = std::to_string(seed);
    ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"seed", s.c_str()}, {"sim.faults", "kernel%0.03,copy%0.02"}}, {.faults = true}));
  }
}
TEST(OffloadRandom, SurvivesFaultsInTightMemory) {
  for (int seed = 1; seed <= seeds(25); ++seed) {
    const std::string s = std::to_string(seed);
    ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"seed", s.c_str()}, {"sim.memory", "4096"}, {"sim.faults", "kernel%0.03,copy%0.02,oom%0.05"}}, {.faults = true}));
  }
}
TEST(OffloadRandom, SurvivesALostDevice) {
  for (int seed = 1; seed <= seeds(25); ++seed) {
    const std::string fault = "lost@" + std::to_string(1 + seed * 7 % 60) + "/" + std::to_string(seed % 2);
    ASSERT_NO_FATAL_FAILURE(random_program(seed, {{"log", "error"}, {"sim.faults", fault.c_str()}}, {.faults = true}));
  }
}

// Everything at once: small memories with several routes, homeless data, memory requests of the application, and in
// three of four programs faults of every kind. Each program ends, and each datum without a failure has its value.
TEST(OffloadRandom, Campaign) {
  const uint64_t n = full() ? 10'000 : 200 / kSlow;
  const char *one = std::getenv("TEST_SEED");
  for (uint64_t seed = one ? std::strtoull(one, nullptr, 0) : 0, end = one ? seed + 1 : n; seed < end; ++seed) {
    std::mt19937_64 random(seed * 7919 + 1);
    const auto up_to = [&](uint64_t most) { return random() % (most + 1); };
    const std::string name = std::to_string(seed), devices = std::to_string(1 + up_to(2)), depth = std::to_string(1 + up_to(3)),
                      memory = std::to_string(1024 * (4 + up_to(4)));  // a task uses up to three data of 1 KiB
    std::string faults = seed % 4 == 0 ? "" : "kernel%0.01";
    if (!faults.empty()) {
      if (up_to(1)) faults += ",copy%0.03";
      if (up_to(1)) faults += ",oom%0.05";
      if (!up_to(2)) faults += ",lost@" + std::to_string(1 + up_to(60)) + "/0";
      if (!up_to(2)) faults += ",copy@" + std::to_string(1 + up_to(20));
    }
    Pairs pairs{{"log", "error"}, {"seed", name.c_str()}, {"sim.seed", name.c_str()}, {"sim.devices", devices.c_str()},
                {"sim.depth", depth.c_str()}, {"sim.memory", memory.c_str()}, {"sim.peer", up_to(1) ? "20G" : "0"},
                {"window", up_to(3) ? "2048" : "16"}, {"sim.faults", faults.c_str()}};
    const How how{.faults = !faults.empty(), .in_virtual_time = seed % 8 != 7, .strewn = true};
    ASSERT_NO_FATAL_FAILURE(random_program(seed, pairs, how));
  }
}

// -- virtual time -----------------------------------------------------------------------------------------------------

std::string trace_of(const std::string &path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  return s.str();
}

TEST(OffloadInVirtualTime, SameSeedGivesTheSameTrace) {
  const std::string path = "/tmp/consort-offload-" + std::to_string(getpid());
  std::string traces[2];
  for (auto &t : traces) {
    {
      Machine m(Pairs{{"sim.trace", path.c_str()}, {"sim.times", "potrf=80us,trsm=50us,gemm=40us"}, {"sim.noise", "0.2"}, {"sim.memory", "64K"}}, true);
      cholesky(m, false);
    }
    t = trace_of(path);
    EXPECT_GT(std::count(t.begin(), t.end(), '\n'), 60);
  }
  EXPECT_EQ(traces[0], traces[1]);
}

TEST(OffloadInVirtualTime, ScalesVectors) {
  Machine m({}, true);
  scale_vectors(m, true);
}

// The trace reports tasks on devices, too, with the device's own times. A function on a device may not wait, for the
// device may have to run the awaited task.
TEST(Offload, FunctionOnADeviceMayNotWait) {
  Machine m(Pairs{{"window", "1024"}});
  double x = 1, y = 1;
  const auto a = variable_of(m, &x, "x"), b = variable_of(m, &y, "y");
  const auto nop = m.codelet("nop", [](const consort_call &) { return CONSORT_OK; });
  std::vector<std::string> said;
  const auto curious = m.codelet("curious", [&](const consort_call &) {
    const auto say = [&](consort_status s) {
      EXPECT_EQ(s, CONSORT_E_BUSY) << said.size();
      said.push_back(consort_error());
    };
    const auto t = Desc(nop).must(m);
    consort_hold hold;
    say(consort_task_wait(m, t, kLong, 0));
    say(consort_group_wait(m, {0}, kLong, 0));
    say(consort_wait_all(m, kLong, 0));
    say(consort_acquire(m, b, CONSORT_M_R, kLong, &hold));
    say(consort_unregister(m, b));
    say(consort_stop(m));
    for (int i = 0; i < 3000; ++i) Desc(nop).must(m);  // more than the window: it does not wait for room either
    return CONSORT_OK;
  });
  Desc(curious).rw(a).on(m.workers - 1).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_EQ(said.size(), 6u);
  for (const auto &words : said) EXPECT_TRUE(words.find("wait") != std::string::npos) << words;
  for (const auto d : {a, b}) ASSERT_OK(consort_unregister(m, d));
}

TEST(Offload, TasksOfADeviceFunctionJoinItsGroup) {
  Machine m;
  std::atomic<int> leaves{0};
  std::atomic<uint64_t> me{0};
  consort_codelet_id split{0};
  split = m.codelet("split", [&](const consort_call &c) {
    if (const int level = value<int>(c, 0); level > 0) {
      me = consort_current_task(m).v;
      for (int i = 0; i < 2; ++i) Desc(split).arg(level - 1).on(m.workers - 1 - i).must(m);
    } else {
      ++leaves;
    }
    return CONSORT_OK;
  });
  for (int round = 1; round <= 5; ++round) {
    consort_group_id g{0};
    need(consort_group_create(m, nullptr, &g), "group");
    const auto first = Desc(split).in(g).arg(0).on(m.workers - 1).must(m);
    ASSERT_OK(consort_task_wait(m, first, kLong, 0));
    const auto root = Desc(split).in(g).arg(1).on(m.workers - 1).must(m);
    ASSERT_OK(consort_group_wait(m, g, kLong, 0));
    EXPECT_EQ(me, root.v);
    Desc(split).in(g).arg(6).on(m.workers - 2).must(m);
    ASSERT_OK(consort_group_wait(m, g, kLong, 0));
    EXPECT_EQ(leaves, round * (1 + 2 + 64));
    EXPECT_OK(consort_group_destroy(m, g));
  }
}

TEST(Offload, DevicesAreTracedAndCounted) {
  double x = 1;  // the runtime's end brings it home
  Machine m({{"profile", "true"}, {"sim.times", "work=1ms"}});
  std::mutex mutex;
  std::vector<consort_trace_event> seen;
  const std::pair<std::mutex *, std::vector<consort_trace_event> *> both{&mutex, &seen};
  ASSERT_OK(consort_trace(m, [](void *user, const consort_trace_event *e) {
    const auto &to = *static_cast<decltype(&both)>(user);
    std::lock_guard lock(*to.first);
    to.second->push_back(*e);
  }, const_cast<void *>(static_cast<const void *>(&both))));
  const auto d = variable_of<double>(m, &x);
  const auto work = m.codelet("work", [](const consort_call &c) { return *pointer<double>(c, 0) *= 2, CONSORT_OK; });
  const uint32_t device = m.workers - 1;
  for (int i = 0; i < 3; ++i) Desc(work).rw(d).on(device).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  ASSERT_EQ(seen.size(), 6u);
  uint64_t busy = 0;
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(seen[i].worker, device);
    EXPECT_EQ(seen[i].what, i % 2);
    EXPECT_STREQ(seen[i].name, "work");
    EXPECT_GT(seen[i].t_ns, 0u);
    if (i % 2) busy += seen[i].t_ns - seen[i - 1].t_ns;
  }
  EXPECT_GE(busy, 3'000'000u);
  consort_worker_info info{};
  info.size = sizeof info;
  ASSERT_OK(consort_get_worker(m, device, &info));
  EXPECT_EQ(info.busy_ns, busy);
  EXPECT_EQ(info.tasks, 3u);
}

TEST(Offload, RefusalNamesTheMissingImplementation) {
  Machine m({}, true);
  const auto nothing = [](const consort_call *) { return consort_status{CONSORT_OK}; };
  const consort_impl own = {"gpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  const auto c = codelet_of(m, "scale", {&own, 1});
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, Desc(c).to(m), "'scale'", "what plays gpu here calls its function for cpu",
              "add an implementation for cpu");
}

}  // namespace
}  // namespace consort_test
