// Data of several formats that do not fit the memory of a program. Each format goes to a disk, comes back right, and is
// converted as before. A read that fails costs one task and nothing else (IFC-10, OOC-01, OOC-02).
#include "drivers/disk_faults.hpp"

#include <consort/formats.h>
#include <consort/memory.h>

#include <fstream>
#include <random>

#include "../api/harness.hpp"
#include "drivers/disk_machine.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kPairs = 4096;  // of a datum: 64 KiB in either format
struct Pair {
  double x, y;
};

// Two cores that see pairs and 1 MiB of memory, and a disk. A unit of class "gpu" sees two lines and 512 KiB of its
// own. From the gpu bytes go to the disk by way of the cores' memory.
struct Machine : DiskFolder {
  std::string devices = "/tmp/consort-disk-formats-" + std::to_string(getpid()) + ".toml";
  std::string drivers, key_path, key_direct, key_capacity;
  std::atomic<int> to_lines{0}, to_pairs{0};
  Bodies bodies;
  std::vector<std::unique_ptr<Body>> more;
  std::unique_ptr<Rt> rt;
  consort_codelet_id apart, together, set, add, sum;
  uint32_t ram = 0, disk = CONSORT_NONE, core = CONSORT_NONE, gpu = CONSORT_NONE;

  explicit Machine(const Kind &k) {
    std::ofstream(devices) << "[[device]]\nclass = \"gpu\"\nunits = 1\nmemory = \"512K\"\n";
    const std::string driver = k.driver;
    drivers = "cpu, sim, " + driver;
    key_path = driver + ".path", key_direct = driver + ".direct", key_capacity = driver + ".capacity";
    rt = std::make_unique<Rt>(Pairs{{"drivers", drivers.c_str()}, {"cpu.workers", "2"}, {"cpu.topology", kFourCores},
                                    {"sim.machine", devices.c_str()}, {"sim.runs", ""}, {key_path.c_str(), path().c_str()},
                                    {key_direct.c_str(), k.direct}, {key_capacity.c_str(), "64M"}, {"limits", "ram=1M"},
                                    {"log", "error"}});
    consort_info info{};
    info.size = sizeof info;
    need(consort_get_info(*rt, &info), "info");
    for (uint32_t s = 0; s < info.nspaces; ++s) {
      consort_space_info i{};
      i.size = sizeof i;
      need(consort_get_space(*rt, s, &i), "space");
      if (i.driver == driver) disk = s;
    }
    for (uint32_t w = 0; w < info.nworkers; ++w) {
      consort_worker_info i{};
      i.size = sizeof i;
      need(consort_get_worker(*rt, w, &i), "worker");
      (i.klass == std::string("gpu") ? gpu : core) = w;
    }
    apart = conversion("apart", true, "gpu");
    together = conversion("together", false, "cpu");
    set = either("set", [](const consort_call &c, bool lines) {
      for (uint64_t k = 0; k < kPairs; ++k) at(c, 0, lines, k, 0) = value<double>(c, 0), at(c, 0, lines, k, 1) = double(k);
    });
    add = either("add", [](const consort_call &c, bool lines) {
      for (uint64_t k = 0; k < kPairs; ++k)
        at(c, 0, lines, k, 0) += value<double>(c, 0), at(c, 0, lines, k, 1) -= value<double>(c, 0);
    });
    sum = either("sum", [](const consort_call &c, bool lines) {
      double s = 0;
      for (uint64_t k = 0; k < kPairs; ++k) s += at(c, 0, lines, k, 0) * double(k % 7) + at(c, 0, lines, k, 1);
      *value<double *>(c, 0) = s;
    });
  }
  ~Machine() {
    rt.reset();
    unlink(devices.c_str());
  }
  operator consort_runtime *() const { return *rt; }

  static double &at(const consort_call &c, uint32_t i, bool lines, uint64_t k, int part) {
    if (!lines) return part ? pointer<Pair>(c, i)[k].y : pointer<Pair>(c, i)[k].x;
    return pointer<double>(c, i)[uint64_t(part) * static_cast<const consort_matrix_view *>(c.views[i])->ld + k];
  }
  // The result of `sum` where every x is `x` and every y its place and `y`.
  static double sum_of(double x, double y) {
    double s = 0;
    for (uint64_t k = 0; k < kPairs; ++k) s += x * double(k % 7) + (double(k) + y);
    return s;
  }
  consort_codelet_id either(const char *name, std::function<void(const consort_call &, bool lines)> body) {
    std::vector<consort_impl> impls;
    for (const char *klass : {"cpu", "gpu"}) {
      const bool lines = klass == std::string("gpu");
      more.push_back(std::make_unique<Body>([=](const consort_call &c) { return body(c, lines), CONSORT_OK; }));
      impls.push_back({klass, run_body, more.back().get(), nullptr, nullptr, nullptr, nullptr, 0});
    }
    return codelet_of(*rt, name, impls);
  }
  consort_codelet_id conversion(const char *name, bool into_lines, const char *klass) {
    more.push_back(std::make_unique<Body>([this, into_lines](const consort_call &c) {
      ++(into_lines ? to_lines : to_pairs);
      for (uint64_t k = 0; k < kPairs; ++k)
        for (const int part : {0, 1}) at(c, 1, into_lines, k, part) = at(c, 0, !into_lines, k, part);
      return CONSORT_OK;
    }));
    const consort_impl impl{klass, run_body, more.back().get(), nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(*rt, name, {&impl, 1});
  }
  consort_data_id datum(int i, Pair *home = nullptr) {
    const auto id = vector_of(*rt, home, kPairs, sizeof(Pair), ("d" + std::to_string(i)).c_str());
    const consort_matrix_args lines{nullptr, kPairs, 2, 0, sizeof(double)};
    consort_format_desc f = CONSORT_FORMAT_INIT;
    f.klass = "gpu";
    f.interface = "matrix";
    f.args = &lines;
    f.args_bytes = sizeof lines;
    f.to = apart;
    f.from = together;
    need(consort_data_add_format(*rt, id, &f), "add_format");
    return id;
  }
  consort_link_use link(uint32_t from, uint32_t to) {
    consort_link_use u = CONSORT_LINK_USE_INIT;
    need(consort_get_link_use(*rt, from, to, &u), "link");
    return u;
  }
  uint64_t needed_evictions() {
    consort_space_use u = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(*rt, ram, &u), "space use");
    return u.needed_evictions;
  }
};

struct DiskSpillFormats : EachDisk {
  void TearDown() override { faults::none(); }
};
INSTANTIATE_TEST_SUITE_P(All, DiskSpillFormats, testing::ValuesIn(kKinds), name_of);

// 2.5 MiB of lines, then of pairs, then of both, in 1.5: data that do not fit come from the disk, and convert when read.
TEST_P(DiskSpillFormats, FormatsReturnAndConvert) {
  Machine m(GetParam());
  constexpr int kData = 40;
  std::vector<consort_data_id> x;
  for (int i = 0; i < kData; ++i) Desc(m.set).w(x.emplace_back(m.datum(i))).arg(double(i)).on(m.gpu).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(m.to_lines + m.to_pairs, 0) << "written whole";
  constexpr uint64_t room = 3u << 19;  // where lines may be: the memory of the gpu, and of the cores
  ASSERT_GE(m.link(m.ram, m.disk).bytes, (uint64_t{kData} << 16) - room) << "lines went to the disk";
  const auto all = [&](uint32_t worker, double by) {
    for (int i = 0; i < kData; ++i) Desc(m.add).rw(x[i]).arg(by).on(worker).must(m);
    ASSERT_OK(consort_wait_all(m, kLong, 0));
  };
  const uint64_t came = m.link(m.disk, m.ram).bytes;
  all(m.core, 1);
  EXPECT_EQ(m.to_pairs, kData);
  EXPECT_GE(m.link(m.disk, m.ram).bytes - came, (uint64_t{kData} << 16) - room) << "lines that were there came back";
  int away = 0;
  for (int i = 0; i < kData; ++i) {
    uint32_t in_ram = 0, on_disk = 0;
    ASSERT_OK(consort_data_in(m, x[i], m.ram, &in_ram));
    ASSERT_OK(consort_data_in(m, x[i], m.disk, &on_disk));
    away += !(in_ram & CONSORT_IN_VALID) && (on_disk & CONSORT_IN_VALID);
  }
  EXPECT_GE(away, kData / 2) << "pairs on the disk alone";
  all(m.gpu, 10);
  EXPECT_EQ(m.to_lines, kData);
  std::vector<double> there(kData, -1), here(kData, -1), again(kData, -1);
  for (int i = 0; i < kData; ++i) Desc(m.sum).r(x[i]).arg(&there[i]).on(m.gpu).must(m);
  for (int i = 0; i < kData; ++i) Desc(m.sum).r(x[i]).arg(&here[i]).on(m.core).must(m);
  for (int i = 0; i < kData; ++i) Desc(m.sum).r(x[i]).arg(&again[i]).on(m.gpu).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (int i = 0; i < kData; ++i) {
    const double want = Machine::sum_of(i + 11, -11);
    ASSERT_TRUE(there[i] == want && here[i] == want && again[i] == want) << "datum " << i;
  }
  EXPECT_EQ(m.to_lines, kData) << "both formats hold the contents, wherever they are";
  EXPECT_EQ(m.to_pairs, 2 * kData);
  EXPECT_EQ(m.needed_evictions(), 0u);
  for (const auto id : x) ASSERT_OK(consort_unregister(m, id));
}

// Any program, half of it over data with a home: its pairs never leave it, its lines do.
TEST_P(DiskSpillFormats, RandomProgramsGiveTheModelsValues) {
  std::vector<std::vector<Pair>> homes(20, std::vector<Pair>(kPairs));
  Machine m(GetParam());
  constexpr int kData = 40;
  std::vector<consort_data_id> x;
  std::vector<std::pair<double, double>> want(kData, {1, 0});
  for (int i = 0; i < kData; ++i)
    Desc(m.set).w(x.emplace_back(m.datum(i, i % 2 ? homes[i / 2].data() : nullptr))).arg(1.0).must(m);
  struct Read {
    double want, got = -1;
  };
  std::vector<std::unique_ptr<Read>> reads;
  std::mt19937 random(3);
  for (int step = 0, steps = full() ? 4000 : 300; step < steps; ++step) {
    const auto k = random() % kData;
    const uint32_t where = random() % 3 ? random() % 2 ? m.gpu : m.core : CONSORT_NONE;
    const double v = double(random() % 5);
    switch (random() % 5) {
      case 0:
        want[k] = {v, 0};
        Desc(m.set).w(x[k]).arg(v).on(where).must(m);
        break;
      case 1: {
        reads.push_back(std::make_unique<Read>(Read{Machine::sum_of(want[k].first, want[k].second)}));
        Desc(m.sum).r(x[k]).arg(&reads.back()->got).on(where).must(m);
        break;
      }
      default:
        want[k].first += v, want[k].second -= v;
        Desc(m.add).rw(x[k]).arg(v).on(where).must(m);
    }
    if (step % 40 == 39) {
      consort_hold hold;
      ASSERT_OK(consort_acquire(m, x[k], CONSORT_M_R, kLong, &hold));
      const auto *p = static_cast<const Pair *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
      for (uint64_t e = 0; e < kPairs; ++e)
        ASSERT_TRUE(p[e].x == want[k].first && p[e].y == double(e) + want[k].second) << "step " << step << ", element " << e;
      ASSERT_OK(consort_release(m, hold));
    }
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (size_t i = 0; i < reads.size(); ++i) ASSERT_EQ(reads[i]->got, reads[i]->want) << "reader " << i;
  EXPECT_GT(m.link(m.ram, m.disk).bytes, 1u << 19);
  for (const auto id : x) ASSERT_OK(consort_unregister(m, id));
  for (int i = 1; i < kData; i += 2)
    for (uint64_t e = 0; e < kPairs; ++e)
      ASSERT_TRUE(homes[i / 2][e].x == want[i].first && homes[i / 2][e].y == double(e) + want[i].second) << i;
}

// Lines are wanted as pairs, and cannot be read; they are still on the disk, and later tasks that want lines get them.
TEST_P(DiskSpillFormats, FailedReadKeepsOtherFormats) {
  Machine m(GetParam());
  std::vector<consort_data_id> x;
  for (int i = 0; i < 40; ++i) Desc(m.set).w(x.emplace_back(m.datum(i))).arg(7.0).on(m.gpu).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  faults::demand(faults::kRead, EIO, 1 << 20);
  double unseen[40];
  for (int i = 0; i < 40; ++i) Desc(m.sum).r(x[i]).arg(&unseen[i]).on(m.core).must(m);  // by way of pairs
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(m, kLong, 0), "its datum 'd", "could not be copied from", "Input/output error (5)");
  faults::none();
  double seen[40];
  for (int i = 0; i < 40; ++i) {
    seen[i] = -1;
    Desc(m.sum).r(x[i]).arg(&seen[i]).on(m.gpu).must(m);
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (int i = 0; i < 40; ++i) ASSERT_EQ(seen[i], Machine::sum_of(7, 0)) << "lines of datum " << i;
  for (const auto id : x) (void)consort_unregister(m, id);
}

}  // namespace
}  // namespace consort_test
