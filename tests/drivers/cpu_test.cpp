// The cpu driver: which cores it offers on which machine, its memory, the contract of its queue.
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "drivers/driver_harness.hpp"
#include "support/folder.hpp"
#include "support/variable.hpp"

namespace consort_test {
namespace {

using Params = PluginHost::Params;

uint32_t allowed_cpus() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<uint32_t>(CPU_COUNT(&set)) : 0;
}

// A /proc and /sys of our own.
struct Root : Folder {
  Root() : Folder("root") {}
  void write(const std::string &file, const std::string &text) {
    std::filesystem::create_directories(std::filesystem::path(path() + file).parent_path());
    std::ofstream(path() + file) << text;
  }
};

TEST(Cpu, OffersThisMachine) {
  Root none;  // no quota
  DriverHarness d("cpu", {{"root", none.path()}});
  ASSERT_EQ(d.status, CONSORT_OK) << d.plugin.failure();
  ASSERT_GE(d.units.size(), 1u);
  EXPECT_LE(d.units.size(), allowed_cpus());
  ASSERT_GE(d.own_spaces, 1u);
  EXPECT_STREQ(d.spaces[0].name, "ram");
  EXPECT_STREQ(d.spaces[0].domain, "host");
  EXPECT_EQ(d.spaces[0].flags, uint32_t{CONSORT_SP_CPU | CONSORT_SP_COHERENT});
  EXPECT_GT(d.spaces[0].capacity, 1u << 20);
  std::vector<uint64_t> seen(64);
  for (const auto &u : d.units) {
    EXPECT_EQ(u.flags, uint32_t{CONSORT_UNIT_INLINE});
    EXPECT_STREQ(u.klass, "cpu");
    EXPECT_EQ(std::string(u.arch).rfind("cpu/", 0), 0u) << u.arch;
    EXPECT_EQ(std::string(u.arch).find(' '), std::string::npos) << u.arch;
    EXPECT_GE(u.space, d.kFirstSpace);
    ASSERT_NE(u.cpuset, nullptr);
    for (uint32_t i = 0; i < u.cpuset_words; ++i) {
      EXPECT_EQ(seen[i] & u.cpuset[i], 0u) << "two units on one cpu";
      seen[i] |= u.cpuset[i];
    }
  }
}

TEST(Cpu, SyntheticTopologyIsOffered) {
  DriverHarness d("cpu", {{"topology", "numa:4 core:16 pu:2"}});
  ASSERT_EQ(d.status, CONSORT_OK) << d.plugin.failure();
  ASSERT_EQ(d.units.size(), 64u);
  ASSERT_EQ(d.own_spaces, 4u);
  EXPECT_STREQ(d.spaces[3].name, "ram:3");
  EXPECT_EQ(d.spaces[2].numa, 2);
  EXPECT_EQ(d.units[0].space, d.kFirstSpace);
  EXPECT_EQ(d.units[63].space, d.kFirstSpace + 3);
  EXPECT_EQ(d.units[20].numa, 1);
  EXPECT_EQ(d.units[0].cpuset, nullptr) << "no thread can be bound to an absent cpu";
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_NE(d.link(i, j).size, 0u);
      EXPECT_TRUE(d.link(i, j).flags & CONSORT_LK_LOADSTORE);
      EXPECT_EQ(d.link(i, j).bounce_space, CONSORT_NONE);
    }
}

TEST(Cpu, SettingsSelectCores) {
  const std::string machine = "numa:2 core:8 pu:2";
  const auto units = [&](Params more) {
    more["topology"] = machine;
    DriverHarness d("cpu", more);
    EXPECT_EQ(d.status, CONSORT_OK) << d.plugin.failure();
    return d.units.size();
  };
  EXPECT_EQ(units({}), 16u);
  EXPECT_EQ(units({{"smt", "true"}}), 32u);
  EXPECT_EQ(units({{"workers", "3"}}), 3u);
  EXPECT_EQ(units({{"cores", "0-3, 8,15"}}), 6u);
  EXPECT_EQ(units({{"cores", "4"}, {"smt", "true"}}), 2u);
  DriverHarness one("cpu", {{"topology", machine}, {"numa", "false"}});
  EXPECT_EQ(one.own_spaces, 1u);
  EXPECT_EQ(one.units[15].space, one.kFirstSpace);
  DriverHarness memory("cpu", {{"topology", machine}, {"units", "false"}});
  EXPECT_EQ(memory.units.size(), 0u);
  EXPECT_EQ(memory.own_spaces, 2u) << "the memory is there for others";
  DriverHarness shared("cpu", {{"topology", machine}, {"cores", "1,2"}, {"workers", "5"}});
  EXPECT_EQ(shared.units.size(), 5u);
  EXPECT_NE(shared.plugin.log().find("workers = 5, but 2 cores"), std::string::npos) << shared.plugin.log();
}

TEST(Cpu, RefusesBadSettings) {
  const auto refused = [](Params params, const char *words) {
    DriverHarness d("cpu", params);
    EXPECT_EQ(d.status, CONSORT_E_INVAL);
    EXPECT_NE(d.plugin.failure().find(words), std::string::npos) << d.plugin.failure();
  };
  for (const char *list : {"a", "1-", "3-1", "1,,2", "1 2", "-1", "1,", "99999999999"})
    refused({{"topology", "core:4 pu:1"}, {"cores", list}}, "is not a list of cores");
  refused({{"topology", "core:4 pu:1"}, {"cores", "0-4"}}, "names core 4, but there are 4");
  refused({{"topology", "cores of gold"}}, "\"cores of gold\"");
  DriverHarness d("cpu", {{"topology", "/nowhere/at/all.xml"}});
  EXPECT_LT(d.status, 0);
  EXPECT_NE(d.plugin.failure().find("/nowhere/at/all.xml"), std::string::npos) << d.plugin.failure();
  DriverHarness good("cpu");
  void *dev;
  EXPECT_EQ(good.ops->open(good.plugin.self(), 1, 0, &dev), CONSORT_E_INVAL);
}

TEST(Cpu, HwlocEnvironmentApplies) {
  const Variable synthetic("HWLOC_SYNTHETIC", "numa:1 core:3 pu:1");
  DriverHarness d("cpu");
  EXPECT_EQ(d.units.size(), 3u);
  EXPECT_EQ(d.units[0].cpuset, nullptr);
}

TEST(Cpu, AffinityIsRespected) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "one cpu only";
  const pid_t child = fork();
  if (child == 0) {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int last = 0;
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &all)) last = i;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    sched_setaffinity(0, sizeof one, &one);
    DriverHarness d("cpu", {{"root", "/nowhere"}});
    const bool good = d.status == CONSORT_OK && d.units.size() == 1 && d.units[0].cpuset &&
                      d.units[0].cpuset[last / 64] == uint64_t{1} << last % 64;
    DriverHarness other("cpu", {{"cores", "0"}});
    const bool named =
        other.status == CONSORT_E_INVAL && other.plugin.failure().find("may not use") != std::string::npos;
    _exit(good ? named ? 0 : 2 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Cpu, CgroupQuotaIsRespected) {
  if (allowed_cpus() < 2) GTEST_SKIP() << "one cpu only";
  const auto workers = [](Root &root, Params more = {}) {
    more["root"] = root.path();
    DriverHarness d("cpu", more);
    EXPECT_EQ(d.status, CONSORT_OK) << d.plugin.failure();
    return std::pair(d.units.size(), d.plugin.log());
  };
  Root none;
  const size_t all = workers(none).first;
  ASSERT_GE(all, 1u);
  if (all < 2) GTEST_SKIP() << "one core only";
  Root v2;
  v2.write("/proc/self/cgroup", "0::/user.slice/app\n");
  v2.write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  v2.write("/sys/fs/cgroup/user.slice/cpu.max", "80000 100000\n");
  v2.write("/sys/fs/cgroup/user.slice/app/cpu.max", "max 100000\n");
  EXPECT_EQ(workers(v2).first, 1u) << "a parent's quota holds as well";
  EXPECT_NE(workers(v2).second.find("grants 0.80 cpus: 1 workers"), std::string::npos) << workers(v2).second;
  EXPECT_EQ(workers(v2, {{"workers", "2"}}).first, 2u) << "a given number overrides the quota";
  EXPECT_NE(workers(v2, {{"workers", "2"}}).second.find("cgroup quota"), std::string::npos);
  Root generous;
  generous.write("/proc/self/cgroup", "0::/\n");
  generous.write("/sys/fs/cgroup/cpu.max", "10000000 100000\n");
  EXPECT_EQ(workers(generous), std::pair(all, std::string()));
  Root fraction;
  fraction.write("/proc/self/cgroup", "0::/\n");
  fraction.write("/sys/fs/cgroup/cpu.max", "110000 100000\n");
  EXPECT_EQ(workers(fraction).first, 2u) << "rounded up";
  Root v1;
  v1.write("/proc/self/cgroup", "9:memory:/x\n4:cpu,cpuacct:/docker/ab12\n0::/\n");
  v1.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");  // the container's own group is mounted here
  v1.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(workers(v1).first, 1u);
  Root unlimited;
  unlimited.write("/proc/self/cgroup", "4:cpu:/\n");
  unlimited.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  unlimited.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(workers(unlimited).first, all);
  Root nonsense;
  nonsense.write("/proc/self/cgroup", "garbage\n::\n0::\n:::::\n");
  nonsense.write("/sys/fs/cgroup/cpu.max", "lots of it\n");
  EXPECT_EQ(workers(nonsense).first, all);
  // A machine that is not there has no quota.
  EXPECT_EQ(workers(v2, {{"topology", "core:12 pu:1"}}).first, 12u);
}

TEST(Cpu, AllocatesAndFreesMemory) {
  DriverHarness d("cpu");
  for (uint64_t bytes : {1ull, 64ull, 4096ull, 131071ull, 131072ull, 1000001ull, 5ull << 20})
    for (uint64_t align : {0ull, 1ull, 64ull, 4096ull, 2ull << 20})
      for (uint32_t flags :
           {0u, uint32_t{CONSORT_AL_ZERO}, uint32_t{CONSORT_AL_ZERO | CONSORT_AL_HUGE | CONSORT_AL_TRANSIENT}}) {
        consort_addr a{};
        ASSERT_EQ(d.ops->alloc(d.dev, d.kFirstSpace, bytes, align, flags, &a), CONSORT_OK) << d.plugin.failure();
        auto *p = reinterpret_cast<unsigned char *>(a.base + a.off);
        EXPECT_EQ(reinterpret_cast<uint64_t>(p) % (align ? align : 64), 0u) << bytes << " " << align;
        for (uint64_t i = 0; flags & CONSORT_AL_ZERO && i < bytes; i += 997) ASSERT_EQ(p[i], 0);
        std::memset(p, 0xa5, bytes);
        consort_addr local{};
        EXPECT_EQ(d.ops->attach(d.dev, d.kFirstSpace, a, bytes, &local), CONSORT_OK);
        EXPECT_EQ(local.base + local.off, a.base + a.off);
        d.ops->detach(d.dev, d.kFirstSpace, local);
        d.ops->free(d.dev, d.kFirstSpace, a, bytes);
      }
}

TEST(Cpu, RefusesBadAllocations) {
  DriverHarness d("cpu");
  const auto refused = [&](uint32_t space, uint64_t bytes, uint64_t align, uint32_t flags, consort_status status,
                           const char *words) {
    consort_addr a{};
    EXPECT_EQ(d.ops->alloc(d.dev, space, bytes, align, flags, &a), status);
    EXPECT_NE(d.plugin.failure().find(words), std::string::npos) << d.plugin.failure();
  };
  const uint32_t ram = d.kFirstSpace;
  refused(ram, 0, 64, 0, CONSORT_E_INVAL, "0 bytes");
  refused(ram, 64, 48, 0, CONSORT_E_INVAL, "aligned to 48");
  refused(ram + 40, 64, 64, 0, CONSORT_E_INVAL, "space 43");
  refused(ram, 64, 64, CONSORT_AL_PINNED, CONSORT_E_UNSUPPORTED, "pinned");
  refused(ram, 64, 64, CONSORT_AL_EXPORT, CONSORT_E_UNSUPPORTED, "0x4");
  refused(ram, uint64_t{1} << 60, 64, 0, CONSORT_E_NOMEM, "1152921504606846976 bytes");
  refused(ram, UINT64_MAX, 64, 0, CONSORT_E_NOMEM, "out of memory");
  refused(ram, UINT64_MAX - 8192, uint64_t{1} << 63, 0, CONSORT_E_NOMEM, "out of memory");
  uint64_t code;
  EXPECT_EQ(d.ops->load_impl(d.dev, "ptx", "x", 1, "f", &code), CONSORT_E_UNSUPPORTED);
  EXPECT_NE(d.plugin.failure().find("\"ptx\""), std::string::npos);
}

TEST(Cpu, LinksOnlyHostMemory) {
  consort_space_desc gpu{}, other{}, disk{};
  gpu.name = "gpu0:hbm", gpu.domain = "gpu", gpu.flags = 0;
  other.name = "ram", other.domain = "host", other.flags = CONSORT_SP_CPU | CONSORT_SP_COHERENT;
  disk.name = "disk", disk.domain = "file", disk.flags = CONSORT_SP_OPAQUE | CONSORT_SP_PERSISTENT;
  DriverHarness d("cpu", {{"numa", "false"}}, CONSORT_PLUGIN_DIR, {gpu, other, disk});
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 4; ++j)
      EXPECT_EQ(d.link(i, j).size != 0, (i == 0 || i == 2) && (j == 0 || j == 2)) << i << " to " << j;
}

TEST(Cpu, QueueRunsOpsInOrder) {
  DriverHarness d("cpu");
  void *q = d.open_queue();
  EXPECT_EQ(d.desc.flags, uint32_t{CONSORT_Q_IN_ORDER});
  EXPECT_EQ(d.desc.sync, 0u);
  unsigned char src[64], dst[64] = {};
  for (int i = 0; i < 64; ++i) src[i] = static_cast<unsigned char>(i);
  std::vector<consort_op> ops;
  consort_op copy = op_of(CONSORT_OP_COPY, 1);  // 2 slices of 3 rows of 4 bytes, packed on the other side
  copy.flags = CONSORT_OPF_TIME;
  copy.u.copy = {3,       3,      {reinterpret_cast<uint64_t>(src), 1}, {reinterpret_cast<uint64_t>(dst), 0}, 4, {3, 2},
                 {8, 32}, {4, 12}};
  ops.push_back(copy);
  consort_op fill = op_of(CONSORT_OP_FILL, 2);
  const unsigned char pattern[] = {1, 2, 3, 4};
  fill.u.fill = {{reinterpret_cast<uint64_t>(dst), 24}, 7, 3, std::bit_cast<uint32_t>(pattern)};
  ops.push_back(fill);
  static int calls;
  calls = 0;
  consort_call call{};
  call.size = sizeof call;
  call.native_queue = &call;
  consort_op run = op_of(CONSORT_OP_CALL, 3);
  run.u.call = {[](const consort_call *c) -> consort_status {
                  return ++calls, c->native_queue ? CONSORT_E_INTERNAL : CONSORT_E_IO;
                },
                &call};
  ops.push_back(run);
  ops.push_back(op_of(CONSORT_OP_MARK, 4));
  ops.push_back(op_of(CONSORT_OP_LAUNCH, 5));
  ASSERT_EQ(d.ops->submit(q, ops.data(), 5), 5u);
  const auto done = d.collect(q, 5);
  const consort_status expected[] = {CONSORT_OK, CONSORT_OK, CONSORT_E_IO, CONSORT_OK, CONSORT_E_UNSUPPORTED};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(done[i].cookie, i + 1);
    EXPECT_EQ(done[i].status, expected[i]);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(done[0].bytes, 24u);
  EXPECT_GT(done[0].t0, 0u);
  EXPECT_GE(done[0].t1, done[0].t0);
  EXPECT_EQ(done[1].t0, 0u) << "not asked for";
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 4; ++x) EXPECT_EQ(dst[z * 12 + y * 4 + x], 1 + z * 32 + y * 8 + x);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(dst[24 + i], pattern[i % 4]);
  EXPECT_EQ(dst[31], 0);
}

TEST(Cpu, QueueAcceptsUpToItsDepth) {
  DriverHarness d("cpu");
  void *q = d.open_queue();
  const std::vector<consort_op> ops(d.desc.depth + 5, op_of(CONSORT_OP_MARK, 9));
  EXPECT_EQ(d.ops->submit(q, ops.data(), d.desc.depth + 5), d.desc.depth);
  EXPECT_EQ(d.ops->submit(q, ops.data(), 1), 0u);
  d.collect(q, 3);
  EXPECT_GT(d.ops->submit(q, ops.data(), 5), 0u);
}

}  // namespace
}  // namespace consort_test
