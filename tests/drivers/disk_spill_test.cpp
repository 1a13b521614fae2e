// Data that do not fit the memory of a program go to a disk and come back right, under each driver of files. A disk
// that fails costs time, or a task with the reason. It never costs a datum that is whole somewhere (OOC-01, OOC-02).
#include "drivers/disk_faults.hpp"

#include <consort/memory.h>

#include <random>

#include "../api/harness.hpp"
#include "drivers/disk_machine.hpp"

namespace consort_test {
namespace {

constexpr uint64_t kCells = 8192;  // of a datum: 64 KiB

// Two workers with 1 MiB of memory between them, and a disk.
struct Machine : DiskFolder {
  std::string drivers, key_path, key_direct, key_capacity;
  Pairs pairs;
  Bodies bodies;
  std::unique_ptr<Rt> rt;
  explicit Machine(const Kind &k, const char *others = "cpu", Pairs more = {}) {
    const std::string driver = k.driver;
    drivers = std::string(others) + ", " + driver;
    key_path = driver + ".path", key_direct = driver + ".direct", key_capacity = driver + ".capacity";
    pairs = {{"drivers", drivers.c_str()},   {"cpu.workers", "2"},
             {"cpu.topology", kFourCores},   {key_path.c_str(), path().c_str()},
             {key_direct.c_str(), k.direct}, {key_capacity.c_str(), "64M"},
             {"limits", "ram=1M"},           {"log", "error"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    rt = std::make_unique<Rt>(pairs);
  }
  operator consort_runtime *() const { return *rt; }
  // The extent of the file: data that were never moved there take nothing.
  uint64_t spilled() const {
    uint64_t most = 0;
    for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code none;
      struct stat s {};
      if (std::filesystem::read_symlink(e, none).string().find(path() + "/") == 0 && stat(e.path().c_str(), &s) == 0)
        most = std::max<uint64_t>(most, static_cast<uint64_t>(s.st_size));
    }
    return most;
  }
  consort_data_id datum(int i) { return vector_of(*rt, nullptr, kCells, 8, ("d" + std::to_string(i)).c_str()); }
  // The first and last cell of it; all cells are alike or it fails.
  consort_status look(consort_data_id x, uint64_t *value) {
    consort_hold hold;
    const consort_status s = consort_acquire(*rt, x, CONSORT_M_R, kLong, &hold);
    if (s < 0) return s;
    const auto *p =
        static_cast<const uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
    *value = p[0];
    for (uint64_t i = 0; i < kCells; ++i)
      if (p[i] != p[0]) *value = ~uint64_t{0};
    return consort_release(*rt, hold);
  }
};

consort_status set_all(const consort_call &c) {
  for (uint64_t i = 0; i < kCells; ++i) pointer<uint64_t>(c, 0)[i] = value<uint64_t>(c, 0);
  return CONSORT_OK;
}
consort_status add_all(const consort_call &c) {
  for (uint64_t i = 0; i < kCells; ++i) pointer<uint64_t>(c, 0)[i] += 3 * pointer<uint64_t>(c, 1)[i];
  return CONSORT_OK;
}

struct DiskSpill : EachDisk {
  void TearDown() override { faults::none(); }
};
INSTANTIATE_TEST_SUITE_P(All, DiskSpill, testing::ValuesIn(kKinds), name_of);

// Four times the memory, by random additions: the values are those of a sequential run.
void random_additions(Machine &m, consort_codelet_id set, consort_codelet_id add, consort_codelet_id second,
                      int tasks) {
  constexpr int kData = 64;
  std::vector<consort_data_id> x;
  std::vector<uint64_t> want;
  for (int i = 0; i < kData; ++i) {
    x.push_back(m.datum(i));
    want.push_back(static_cast<uint64_t>(i) + 1);
    Desc(set).w(x.back()).arg(want.back()).must(m);
  }
  std::mt19937 random(7);
  for (int i = 0; i < tasks; ++i) {
    const auto a = random() % kData, b = (a + 1 + random() % (kData - 1)) % kData;
    Desc(random() % 3 ? add : second).rw(x[a]).r(x[b]).must(m);
    want[a] += 3 * want[b];
    uint64_t got = 0;
    const auto k = random() % kData;
    if (i % 50 == 0) {
      ASSERT_OK(m.look(x[k], &got));
      ASSERT_EQ(got, want[k]) << "after " << i;
    }
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_GE(m.spilled(), 2u << 20) << "the disk was needed";
  for (int i = 0; i < kData; ++i) {
    uint64_t got = 0;
    ASSERT_OK(m.look(x[i], &got));
    ASSERT_EQ(got, want[i]) << i;
    ASSERT_OK(consort_unregister(m, x[i]));
  }
}

TEST_P(DiskSpill, DataOfFourTimesTheMemoryReturn) {  // OOC-01
  Machine m(GetParam());
  const auto set = m.bodies(m, "set", set_all), add = m.bodies(m, "add", add_all);
  random_additions(m, set, add, add, 400);
}

// From a device's memory to the host's, and from there to the disk; and all the way back.
TEST_P(DiskSpill, DataMoveBetweenDeviceHostAndDisk) {  // OOC-02
  Machine m(GetParam(), "cpu, sim", {{"sim.memory", "512K"}});
  const auto set = m.bodies(m, "set", set_all), add = m.bodies(m, "add", add_all);
  static const consort_impl there = {"gpu", run_body, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  static Body body = add_all;
  consort_impl impls[2] = {there, there};
  impls[0].user = impls[1].user = &body;
  impls[1].klass = "cpu";
  random_additions(m, set, add, codelet_of(m, "either", impls), 300);
}

TEST_P(DiskSpill, SpillsStridedTiles) {  // a matrix whose rows do not touch is packed there
  Machine m(GetParam());
  constexpr uint64_t kNx = 100, kNy = 90, kTiles = 40;
  std::vector<consort_data_id> x;
  const auto set = m.bodies(m, "set", [](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i)
        static_cast<uint64_t *>(consort_ptr(v.addr))[j * v.ld + i] = value<uint64_t>(c, 0) + j * 1000 + i;
    return CONSORT_OK;
  });
  std::atomic<int> wrong{0};
  const auto check = m.bodies(m, "check", [&](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i)
        wrong +=
            static_cast<const uint64_t *>(consort_ptr(v.addr))[j * v.ld + i] != value<uint64_t>(c, 0) + j * 1000 + i;
    return CONSORT_OK;
  });
  for (uint64_t t = 0; t < kTiles; ++t) {
    const consort_matrix_args args{nullptr, kNx, kNy, kNx + 28, 8};
    const consort_data_desc d{sizeof d, 0, "matrix", &args, sizeof args, "tile"};
    consort_data_id id{0};
    ASSERT_OK(consort_register(m, &d, &id));
    x.push_back(id);
    Desc(set).w(id).arg(t * 1000000).must(m);
  }
  for (uint64_t t = 0; t < kTiles; ++t) Desc(check).r(x[t]).arg(t * 1000000).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(m.spilled(), 1u << 20);
  for (const auto id : x) ASSERT_OK(consort_unregister(m, id));
}

TEST_P(DiskSpill, FailedWritesLoseNoData) {
  Machine m(GetParam());
  const auto set = m.bodies(m, "set", set_all), add = m.bodies(m, "add", add_all);
  faults::demand(faults::kWrite, EIO, 1 << 20, 0, 5);  // one write in five
  constexpr int kData = 64;
  std::vector<consort_data_id> x;
  for (int i = 0; i < kData; ++i) {
    x.push_back(m.datum(i));
    Desc(set).w(x.back()).arg(uint64_t{1} + static_cast<uint64_t>(i)).must(m);
  }
  for (int i = 0; i < kData; ++i) Desc(add).rw(x[i]).r(x[(i + 1) % kData]).must(m);
  const Answer all = consort_wait_all(m, kLong, 0);
  EXPECT_GT(faults::plans[faults::kWrite].struck, 3);
  faults::none();
  EXPECT_OK(all);
  for (int i = 0; i < kData && all.status >= 0; ++i) {
    uint64_t got = 0;
    ASSERT_OK(m.look(x[i], &got));
    const uint64_t next = i + 1 == kData ? 1 + 3 * 2 : static_cast<uint64_t>(i) + 2;
    ASSERT_EQ(got, static_cast<uint64_t>(i) + 1 + 3 * next) << i;
  }
  for (const auto id : x) (void)consort_unregister(m, id);
}

TEST_P(DiskSpill, FailedReadNamesDatumPlaceAndReason) {
  Machine m(GetParam());
  const auto set = m.bodies(m, "set", set_all), add = m.bodies(m, "add", add_all);
  std::vector<consort_data_id> x;
  for (int i = 0; i < 40; ++i) Desc(set).w(x.emplace_back(m.datum(i))).arg(uint64_t{7}).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  std::vector<consort_data_id> away;  // data whose contents are on the disk alone
  for (int i = 0; i < 39; ++i) {
    uint32_t bits = 0;
    ASSERT_OK(consort_data_in(m, x[i], 0, &bits));
    if (!(bits & CONSORT_IN_VALID)) away.push_back(x[i]);
  }
  ASSERT_GE(away.size(), 8u) << "two thirds of them do not fit";
  faults::demand(faults::kRead, EIO, 1 << 20);
  for (int i = 0; i < 8; ++i) Desc(add).rw(x[39]).r(away[i]).must(m);
  const std::string disk = std::string(GetParam().driver) + ":" + m.path();
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(m, kLong, 0), "its datum 'd",
              "could not be copied from " + disk + " to ram", "reading 65536 bytes at ", "Input/output error (5)");
  faults::none();
  for (int i = 0; i < 39; ++i) {
    uint64_t got = 0;
    ASSERT_OK(m.look(x[i], &got));
    ASSERT_EQ(got, 7u) << "only the new contents are lost";
  }
}

// One bit of one datum changes in the file: the task that reads it fails, and so do its dependents, and no others.
TEST_P(DiskSpill, DamagedDatumFailsItsReadersOnly) {
  Machine m(GetParam());
  const auto set = m.bodies(m, "set", set_all), add = m.bodies(m, "add", add_all);
  std::vector<consort_data_id> x;
  for (int i = 0; i < 40; ++i)
    Desc(set).w(x.emplace_back(m.datum(i))).arg(uint64_t{1000} + static_cast<uint64_t>(i)).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  std::vector<int> away;  // data whose contents are on the disk alone
  for (int i = 0; i < 38; ++i) {
    uint32_t bits = 0;
    ASSERT_OK(consort_data_in(m, x[i], 0, &bits));
    if (!(bits & CONSORT_IN_VALID)) away.push_back(i);
  }
  ASSERT_GE(away.size(), 8u);
  // The datum is found in the file by its contents; one bit of it changes.
  const uint64_t value = 1000 + static_cast<uint64_t>(away[3]);
  bool changed = false;
  for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const int fd = std::stoi(e.path().filename().string());
    if (!std::filesystem::read_symlink(e, none).string().starts_with(m.path() + "/") || fcntl(fd, F_GETFL) & O_DIRECT)
      continue;
    uint64_t word = 0;
    for (off_t at = 0; !changed && pread(fd, &word, 8, at) == 8; at += 4096)
      if (word == value) {
        word ^= uint64_t{1} << 40;
        changed = pwrite(fd, &word, 8, at + 800) == 8;
      }
  }
  ASSERT_TRUE(changed);
  Desc(add).rw(x[39]).r(x[away[3]]).must(m);
  Desc(add).rw(x[38]).r(x[39]).must(m);
  const std::string disk = std::string(GetParam().driver) + ":" + m.path();
  const std::string name = "its datum 'd" + std::to_string(away[3]) + "'";
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(m, kLong, 0), name, "could not be copied from " + disk + " to ram",
              "of the file in " + m.path(), "differ from the bytes written (checksum 0x");
  uint64_t got = 0;
  EXPECT_SAYS(CONSORT_E_IO, m.look(x[away[3]], &got), name, "differ from the bytes written");
  for (const int i : {38, 39}) EXPECT_LT(m.look(x[i], &got), 0) << "a dependent result is not believed";
  for (const int i : away) {
    if (i == away[3]) continue;
    ASSERT_OK(m.look(x[i], &got));
    ASSERT_EQ(got, 1000 + static_cast<uint64_t>(i));
  }
}

TEST_P(DiskSpill, FullDiskFailsTasksAndKeepsData) {
  Machine m(GetParam());
  const auto set = m.bodies(m, "set", set_all);
  faults::demand(faults::kWrite, ENOSPC, 1 << 20);
  std::vector<consort_data_id> x;
  for (int i = 0; i < 16; ++i) Desc(set).w(x.emplace_back(m.datum(i))).arg(uint64_t{5}).must(m);  // as many as fit
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  for (int i = 16; i < 20; ++i) Desc(set).w(x.emplace_back(m.datum(i))).arg(uint64_t{5}).must(m);
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_wait_all(m, kLong, 0), "65536 bytes", "ram", "could not be copied elsewhere");
  for (int i = 0; i < 16; ++i) {
    uint64_t got = 0;
    ASSERT_OK(m.look(x[i], &got));
    ASSERT_EQ(got, 5u) << i;
  }
}

}  // namespace
}  // namespace consort_test
