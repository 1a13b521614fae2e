// A space in a file: size, names, links, memory, and its messages where it cannot be.
#include <sys/resource.h>

#include "drivers/disk_machine.hpp"
#include "support/variable.hpp"

namespace consort_test {
namespace {

using DiskSpace = EachDisk;
INSTANTIATE_TEST_SUITE_P(All, DiskSpace, testing::Values(kKinds[0], kKinds[3]), name_of);

TEST_P(DiskSpace, OffersOneSpaceLinkedToTheHost) {
  Disk d(GetParam().driver, params());
  ASSERT_EQ(d.own_spaces, 1u);
  EXPECT_TRUE(d.units.empty());
  const auto &s = d.spaces[0];
  EXPECT_EQ(s.flags, uint32_t{CONSORT_SP_OPAQUE});
  EXPECT_EQ(s.capacity, 64u << 20);
  EXPECT_EQ(s.granule, 4096u);
  EXPECT_EQ(std::string(s.domain), "file");
  EXPECT_EQ(std::string(s.name), std::string(GetParam().driver) + ":" + d.path());
  const uint32_t want = CONSORT_LK_2D | CONSORT_LK_3D | CONSORT_LK_ASYNC;
  EXPECT_EQ(d.link(0, 1).flags, want);
  EXPECT_EQ(d.link(1, 0).flags, want);
  EXPECT_GT(d.link(0, 1).bytes_per_s, 0u);
  EXPECT_EQ(d.link(0, 0).size, 0u) << "nothing moves within it";
  EXPECT_EQ(d.link(1, 1).size, 0u);
  consort_space_desc device = ram(), elsewhere = d.spaces[0];
  device.flags = 0, elsewhere.id = 99;
  consort_link_desc l{};
  l.size = sizeof l;
  EXPECT_EQ(d.ops->link(d.dev, &d.spaces[0], &device, &l), CONSORT_E_UNSUPPORTED) << "memory that no core reaches";
  EXPECT_EQ(d.ops->link(d.dev, &d.spaces[0], &elsewhere, &l), CONSORT_E_UNSUPPORTED) << "another disk";
  uint64_t code = 0;
  EXPECT_EQ(d.ops->load_impl(d.dev, "cl", "", 0, "f", &code), CONSORT_E_UNSUPPORTED);
}

TEST_P(DiskSpace, FileIsUnnamed) {
  Disk d(GetParam().driver, params());
  EXPECT_EQ(d.files(), 0u);
  d.alloc(1 << 20);
  EXPECT_EQ(d.files(), 0u);
  int mine = 0;
  for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(e, none).string();
    mine += target.find(d.path() + "/") == 0;
  }
  EXPECT_GE(mine, 1) << "it is there all the same";
}

TEST_P(DiskSpace, AllocatesAndFreesUpToCapacity) {
  Disk d(GetParam().driver, params({{"capacity", "64K"}}));
  consort_addr a[17];
  for (int i = 0; i < 16; ++i) a[i] = d.alloc(100 + static_cast<uint64_t>(i));
  EXPECT_EQ(d.try_alloc(1, &a[16]), CONSORT_E_NOMEM);
  EXPECT_NE(d.plugin.failure().find("65536 of 65536 are taken: raise `capacity`"), std::string::npos)
      << d.plugin.failure();
  d.give_back(3);
  EXPECT_EQ(d.try_alloc(4097, &a[16]), CONSORT_E_NOMEM);
  EXPECT_EQ(d.alloc(4096).off, a[3].off);
  d.ops->free(d.dev, d.own(), {a[0].base, 1}, 4096);
  EXPECT_NE(d.plugin.log().find("is not allocated"), std::string::npos);
  EXPECT_EQ(d.try_alloc(0, &a[16]), CONSORT_E_INVAL);
  EXPECT_EQ(d.ops->alloc(d.dev, d.own(), 16, 3, 0, &a[16]), CONSORT_E_INVAL);
  EXPECT_EQ(d.ops->alloc(d.dev, d.host(), 16, 64, CONSORT_AL_PINNED, &a[16]), CONSORT_E_INVAL);
  EXPECT_EQ(d.try_alloc(16, &a[16], CONSORT_AL_EXPORT), CONSORT_E_UNSUPPORTED);
}

TEST_P(DiskSpace, OffersASpacePerFolder) {
  const DiskFolder a, b;
  PluginHost p(GetParam().driver, params({{"path", a.path() + "/, " + b.path()}, {"capacity", "1M"}}));
  ASSERT_TRUE(p.ready()) << p.failure();
  const auto *ops = p.ops<consort_driver_ops>();
  ASSERT_EQ(ops->count(p.self()), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    void *dev = nullptr;
    ASSERT_EQ(ops->open(p.self(), i, i + 1, &dev), CONSORT_OK);
    consort_space_desc s{};
    s.size = sizeof s;
    ASSERT_EQ(ops->space(dev, 0, &s), CONSORT_OK);
    EXPECT_EQ(std::string(s.name), std::string(GetParam().driver) + ":" + (i ? b : a).path())
        << "without the slash behind it";
    ops->close(dev);
  }
}

TEST_P(DiskSpace, SizesAreBytesOrShares) {
  for (const auto &[text, bytes] : std::map<std::string, uint64_t>{
           {"8192", 8192}, {"10000", 8192}, {"64k", 65536}, {"1.5M", 3 << 19}, {"2G", 2ull << 30}}) {
    Disk d(GetParam().driver, params({{"capacity", text}}));
    EXPECT_EQ(d.spaces[0].capacity, bytes) << text;
  }
  Disk half(GetParam().driver, params({{"capacity", "50%"}})), tenth(GetParam().driver, params({{"capacity", "10%"}}));
  EXPECT_NEAR(static_cast<double>(half.spaces[0].capacity) / static_cast<double>(tenth.spaces[0].capacity), 5, 0.5);
  Disk vast(GetParam().driver, params({{"capacity", "4000000G"}}));
  EXPECT_NE(vast.plugin.log().find("bytes free, but capacity is"), std::string::npos);
  for (const char *bad : {"", "much", "-1", "101%", "0", "5X", "5MB"}) {
    PluginHost p(GetParam().driver, params({{"capacity", bad}, {"path", "/var/tmp"}}));
    EXPECT_FALSE(p.ready()) << bad;
    EXPECT_NE(p.failure().find(std::string("capacity = \"") + bad + "\" is not a size"), std::string::npos) << p.failure();
  }
  PluginHost p(GetParam().driver, params({{"chunk", "1K"}}));
  EXPECT_NE(p.failure().find("chunk = \"1K\" is not between 64K and 1G"), std::string::npos) << p.failure();
}

TEST_P(DiskSpace, RefusesAbsentFolders) {
  PluginHost p(GetParam().driver, params({{"path", "/var/tmp/not-there"}}));
  ASSERT_TRUE(p.ready()) << p.failure();
  void *dev = nullptr;
  EXPECT_EQ(p.ops<consort_driver_ops>()->open(p.self(), 0, 1, &dev), CONSORT_E_IO);
  EXPECT_NE(p.failure().find("/var/tmp/not-there: No such file"), std::string::npos) << p.failure();
  EXPECT_NE(p.failure().find("`path`"), std::string::npos);
}

TEST_P(DiskSpace, DefaultsToTemporaryFolders) {
  const DiskFolder own;
  const auto name = [&] {
    DriverHarness d(GetParam().driver, params({{"capacity", "1M"}}));
    return std::string(d.spaces.at(0).name);
  };
  Variable tmpdir("TMPDIR", own.path());
  EXPECT_EQ(name(), std::string(GetParam().driver) + ":" + own.path());
  tmpdir.set("relative");
  EXPECT_EQ(name(), std::string(GetParam().driver) + ":/var/tmp");
  tmpdir.unset();
  EXPECT_EQ(name(), std::string(GetParam().driver) + ":/var/tmp");
}

TEST_P(DiskSpace, WarnsAboutFoldersInMemory) {
  if (access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm here";
  Disk d(GetParam().driver, params(), "/dev/shm");
  EXPECT_NE(d.plugin.log().find("is in memory"), std::string::npos) << d.plugin.log();
}

// A file that grows beyond the limit would cost the process its life by a signal.
TEST_P(DiskSpace, RespectsTheFileSizeLimit) {
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto limit = [&](rlim_t n) {
    const struct rlimit now { n, before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &now);
  };
  limit(1 << 20);
  {
    Disk d(GetParam().driver, params());
    EXPECT_EQ(d.spaces[0].capacity, 1u << 20);
    EXPECT_NE(d.plugin.log().find("ulimit -f"), std::string::npos);
    d.alloc(1 << 20);
    limit(64 << 10);
    const auto data = noise(1 << 20, 1);
    EXPECT_EQ(d.run_one(d.open_queue(), d.out(data.data(), d.blocks[0].first, {4096})), CONSORT_OK);
  }
  {
    limit(1 << 20);
    Disk d(GetParam().driver, params());
    limit(4096);
    consort_addr a{};
    EXPECT_EQ(d.try_alloc(8192, &a), CONSORT_E_NOMEM);
    EXPECT_NE(d.plugin.failure().find("File too large"), std::string::npos) << d.plugin.failure();
    EXPECT_EQ(d.try_alloc(4096, &a), CONSORT_OK);
  }
  limit(before.rlim_cur);
}

TEST_P(DiskSpace, ReportsLeakedBlocks) {
  const DiskFolder f;
  PluginHost p(GetParam().driver, params({{"path", f.path()}, {"capacity", "1M"}}));
  const auto *ops = p.ops<consort_driver_ops>();
  void *dev = nullptr;
  ASSERT_EQ(ops->open(p.self(), 0, 1, &dev), CONSORT_OK);
  consort_space_desc s{};
  s.size = sizeof s;
  ops->space(dev, 0, &s);
  consort_addr a{};
  ASSERT_EQ(ops->alloc(dev, s.id, 5000, 1, 0, &a), CONSORT_OK);
  ops->close(dev);
  EXPECT_NE(p.log().find("1 blocks that were not freed"), std::string::npos) << p.log();
}

}  // namespace
}  // namespace consort_test
