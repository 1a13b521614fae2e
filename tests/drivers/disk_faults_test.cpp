// Disks that fail: full, broken, or with short transfers. Every failure is reported, with the place and the remedy.
// Earlier contents stay, and the source of a failed copy is unchanged (OOC-01; no datum is lost).
#include "drivers/disk_faults.hpp"

#include <sched.h>
#include <sys/mount.h>

#include "drivers/disk_machine.hpp"

namespace consort_test {
namespace {

struct DiskFaults : EachDisk {
  void TearDown() override { faults::none(); }
  static bool is_uring() { return std::string(GetParam().driver) == "disk_uring"; }
};
INSTANTIATE_TEST_SUITE_P(All, DiskFaults, testing::ValuesIn(kKinds), name_of);

#define EXPECT_TOLD(d, text) EXPECT_NE((d).plugin.failure().find(text), std::string::npos) << (d).plugin.failure()

struct Filled : Disk {  // with one block that holds known bytes
  std::vector<uint8_t> data = noise(300000, 4);
  consort_addr a{};
  void *q = nullptr;
  explicit Filled(const char *driver, Params p) : Disk(driver, std::move(p)) {
    q = open_queue();
    a = alloc(data.size());
    EXPECT_EQ(run_one(q, out(data.data(), a, {data.size()})), CONSORT_OK) << plugin.failure();
  }
  void expect_contents() {
    std::vector<uint8_t> back(data.size());
    ASSERT_EQ(run_one(q, in(a, back.data(), {back.size()})), CONSORT_OK) << plugin.failure();
    EXPECT_EQ(back, data);
  }
};

TEST_P(DiskFaults, ReportsWriteErrors) {
  Filled d(GetParam().driver, params());
  const consort_addr b = d.alloc(100000);
  const auto more = noise(100000, 5), same = more;
  faults::demand(faults::kWrite, EIO);
  EXPECT_EQ(d.run_one(d.q, d.out(more.data(), b, {100000})), CONSORT_E_IO);
  EXPECT_TOLD(d, "writing ");
  EXPECT_TOLD(d, " of the file in " + d.path() + ": Input/output error (5)");
  EXPECT_NE(d.plugin.log().find("Input/output error"), std::string::npos) << "in the log, too";
  EXPECT_EQ(more, same);
  d.expect_contents();
  EXPECT_EQ(d.run_one(d.q, d.out(more.data(), b, {100000})), CONSORT_OK) << "once more, and it is well";
}

TEST_P(DiskFaults, ReportsReadErrors) {
  Filled d(GetParam().driver, params());
  std::vector<uint8_t> back(d.data.size());
  faults::demand(faults::kRead, EIO);
  EXPECT_EQ(d.run_one(d.q, d.in(d.a, back.data(), {back.size()})), CONSORT_E_IO);
  EXPECT_TOLD(d, "reading ");
  EXPECT_TOLD(d, "Input/output error (5)");
  d.expect_contents();
}

TEST_P(DiskFaults, ReportsAFullDiskInACopy) {
  Filled d(GetParam().driver, params());
  const consort_addr b = d.alloc(100000);
  const auto more = noise(100000, 5);
  faults::demand(faults::kWrite, ENOSPC, 100);
  EXPECT_EQ(d.run_one(d.q, d.out(more.data(), b, {100000})), CONSORT_E_NOMEM);
  EXPECT_TOLD(d, "No space left on device (28), ");
  EXPECT_TOLD(d, "free some space, or set another folder in `path`");
  faults::none();
  d.expect_contents();
}

TEST_P(DiskFaults, ContinuesShortTransfers) {
  Filled d(GetParam().driver, params({{"chunk", "64K"}}));
  const auto data = noise(300000, 6);
  const consort_addr b = d.alloc(data.size());
  faults::demand(faults::kWrite, faults::kHalf, 1000);
  ASSERT_EQ(d.run_one(d.q, d.out(data.data(), b, {data.size()})), CONSORT_OK) << d.plugin.failure();
  EXPECT_GT(faults::plans[faults::kWrite].struck, 20);
  faults::none();
  faults::demand(faults::kRead, faults::kHalf, 1000);
  std::vector<uint8_t> back(data.size());
  ASSERT_EQ(d.run_one(d.q, d.in(b, back.data(), {back.size()})), CONSORT_OK) << d.plugin.failure();
  EXPECT_GT(faults::plans[faults::kRead].struck, 20);
  EXPECT_EQ(back, data);
}

TEST_P(DiskFaults, ReportsTransfersWithoutProgress) {
  Filled d(GetParam().driver, params());
  const consort_addr b = d.alloc(4096);
  faults::demand(faults::kWrite, faults::kNothing);
  EXPECT_EQ(d.run_one(d.q, d.out(d.data.data(), b, {1000})), CONSORT_E_IO);
  EXPECT_TOLD(d, "writing 1000 bytes");
  EXPECT_TOLD(d, "it ended after 0");
  faults::demand(faults::kRead, faults::kNothing);
  std::vector<uint8_t> back(1000);
  EXPECT_EQ(d.run_one(d.q, d.in(d.a, back.data(), {1000})), CONSORT_E_IO);
  EXPECT_TOLD(d, "it ended after 0");
  d.expect_contents();
}

TEST_P(DiskFaults, RetriesInterruptedCalls) {
  Filled d(GetParam().driver, params());
  faults::demand(faults::kRead, EINTR, 30);
  d.expect_contents();
  faults::none();
  faults::demand(faults::kWrite, EINTR, 30);
  EXPECT_EQ(d.run_one(d.q, d.out(d.data.data(), d.a, {d.data.size()})), CONSORT_OK);
  faults::none();
  if (!is_uring()) return;
  faults::demand(faults::kWrite, ECANCELED, 5);  // the thread that sent it has ended
  EXPECT_EQ(d.run_one(d.q, d.out(d.data.data(), d.a, {d.data.size()})), CONSORT_OK);
  d.expect_contents();
}

TEST_P(DiskFaults, FailsOnlyTheFailedOp) {
  Filled d(GetParam().driver, params({{"threads", "1"}}));
  consort_addr b[6];
  std::vector<consort_op> list;
  for (uint64_t i = 0; i < 6; ++i) list.push_back(d.out(d.data.data(), b[i] = d.alloc(4096), {1000}, i));
  faults::demand(faults::kWrite, EIO, 1, 2);
  ASSERT_EQ(d.ops->submit(d.q, list.data(), 6), 6u);
  int failed = 0;
  for (uint32_t over = 0; over < 6;) {
    consort_done some[6];
    const uint32_t n = d.ops->poll(d.q, some, 6);
    for (uint32_t i = 0; i < n; ++i) {
      if (some[i].status >= 0) continue;
      ++failed;
      EXPECT_EQ(i, n - 1) << "a failure is the last of its batch, so that its words are";
      EXPECT_EQ(some[i].bytes, 0u);
      EXPECT_TOLD(d, "at " + std::to_string(b[some[i].cookie].off) + " of");
    }
    over += n;
    if (!n) std::this_thread::yield();
  }
  EXPECT_EQ(failed, 1);
}

TEST_P(DiskFaults, FailedLargeCopyEndsOnceAllPiecesEnded) {
  Filled d(GetParam().driver, params({{"chunk", "64K"}}));
  const consort_addr b = d.alloc(4 << 20);
  for (int after = 0; after < 40; after += 7) {
    auto data = std::make_unique<std::vector<uint8_t>>(noise(4 << 20, 7));
    faults::demand(faults::kWrite, EIO, 3, after);
    EXPECT_EQ(d.run_one(d.q, d.out(data->data(), b, {4 << 20})), CONSORT_E_IO);
    data.reset();  // the sanitizer would see a read of it now
    faults::none();
    consort_done more;
    EXPECT_EQ(d.ops->poll(d.q, &more, 1), 0u);
  }
  d.expect_contents();
}

// A write through the page cache is over before the disk has its bytes. If the disk refuses them then, no read may
// return the old bytes.
TEST_P(DiskFaults, LateWriteErrorsFailReads) {
  Filled d(GetParam().driver, params());
  std::vector<uint8_t> back(d.data.size());
  faults::demand(faults::kLate, EIO);
  EXPECT_EQ(d.run_one(d.q, d.in(d.a, back.data(), {back.size()})), CONSORT_E_IO);
  faults::none();
  EXPECT_EQ(d.run_one(d.q, d.in(d.a, back.data(), {back.size()})), CONSORT_E_IO) << "the system says it only once";
  EXPECT_TOLD(d, "Input/output error");
}

TEST_P(DiskFaults, ReportsAFullDiskInAnAllocation) {
  Filled d(GetParam().driver, params({{"capacity", "1M"}}));
  consort_addr b{};
  faults::demand(faults::kReserve, ENOSPC);
  EXPECT_EQ(d.try_alloc(500000, &b), CONSORT_E_NOMEM);
  EXPECT_TOLD(d, "no space for 500000 bytes");
  EXPECT_TOLD(d, "No space left on device");
  EXPECT_EQ(d.try_alloc(700000, &b), CONSORT_OK) << "the failed call left nothing: " << d.plugin.failure();
  faults::demand(faults::kReserve, EIO);
  EXPECT_EQ(d.try_alloc(20000, &b), CONSORT_E_IO);
  d.expect_contents();
}

TEST_P(DiskFaults, WorksWithoutReservation) {
  faults::demand(faults::kReserve, EOPNOTSUPP, 1000);
  Filled d(GetParam().driver, params());
  EXPECT_NE(d.plugin.log().find("does not support preallocation"), std::string::npos) << d.plugin.log();
  d.alloc(5000, CONSORT_AL_ZERO);
  std::vector<uint8_t> z(5000, 1);
  EXPECT_EQ(d.run_one(d.q, d.in(d.blocks.back().first, z.data(), {5000})), CONSORT_OK);
  EXPECT_EQ(std::accumulate(z.begin(), z.end(), 0), 0);
  d.expect_contents();
}

TEST_P(DiskFaults, WorksWithoutUnnamedFiles) {
  faults::demand(faults::kUnnamed, EOPNOTSUPP);
  Filled d(GetParam().driver, params());
  EXPECT_EQ(faults::plans[faults::kUnnamed].struck, 1);
  EXPECT_EQ(d.files(), 0u);
  d.expect_contents();
}

// A process that is killed between the creation of its file and the removal of the name leaves the file behind.
TEST_P(DiskFaults, RemovesFilesOfKilledProcesses) {
  const DiskFolder f;
  const std::string left = f / "consort-disk.unfinished-aB3xY9", other = f / "consort-disk.backup";
  for (const std::string &name : {left, other}) close(open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  faults::demand(faults::kUnnamed, EOPNOTSUPP);
  PluginHost p(GetParam().driver, params({{"path", f.path()}, {"capacity", "1M"}}));
  ASSERT_TRUE(p.ready()) << p.failure();
  void *dev = nullptr;
  ASSERT_EQ(p.ops<consort_driver_ops>()->open(p.self(), 0, 1, &dev), CONSORT_OK) << p.failure();
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(other));
  EXPECT_EQ(f.files(), 1u);
  p.ops<consort_driver_ops>()->close(dev);
}

TEST_P(DiskFaults, ReportsAClosedFile) {
  Filled d(GetParam().driver, params());
  std::vector<int> closed;
  for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    if (std::filesystem::read_symlink(e, none).string().find(d.path() + "/") == 0)
      closed.push_back(std::stoi(e.path().filename()));
  }
  ASSERT_FALSE(closed.empty());
  for (const int fd : closed) close(fd);
  if (is_uring()) {
    d.expect_contents();  // the ring holds the file by itself
    for (const auto &e : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code none;
      if (std::filesystem::read_symlink(e, none) == "anon_inode:[io_uring]") close(std::stoi(e.path().filename()));
    }
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(d.run_one(d.q, d.out(d.data.data(), d.a, {d.data.size()})), CONSORT_E_IO) << "and then the ring itself";
      EXPECT_TOLD(d, "Bad file descriptor");
    }
  } else {
    std::vector<uint8_t> back(d.data.size());
    EXPECT_EQ(d.run_one(d.q, d.in(d.a, back.data(), {back.size()})), CONSORT_E_IO);
    EXPECT_TOLD(d, "Bad file descriptor");
    EXPECT_EQ(d.run_one(d.q, d.out(d.data.data(), d.a, {d.data.size()})), CONSORT_E_IO);
  }
}

// -- io_uring's own ---------------------------------------------------------------------------------------------------

TEST_P(DiskFaults, ReportsRefusedRings) {
  if (!is_uring()) return;
  for (const auto &[error, text] : std::map<int, const char *>{{EPERM, "seccomp"}, {ENOSYS, "this kernel does not have it"}}) {
    faults::demand(faults::kRing, error);
    PluginHost p(GetParam().driver, params());
    EXPECT_FALSE(p.ready());
    EXPECT_NE(p.failure().find("the system refuses io_uring"), std::string::npos) << p.failure();
    EXPECT_NE(p.failure().find(text), std::string::npos) << p.failure();
    EXPECT_NE(p.failure().find("disk_posix"), std::string::npos) << "says what to use instead";
  }
  faults::demand(faults::kRing, ENOMEM, 1, 1);  // the probe is well, the queue's ring is not
  Disk d(GetParam().driver, params());
  void *q = nullptr;
  consort_queue_desc desc{sizeof desc, 0, 0, 0, 0};
  EXPECT_EQ(d.ops->queue_open(d.dev, CONSORT_NONE, 1, &desc, &q), CONSORT_E_NOMEM);
  EXPECT_TOLD(d, "cannot create a ring");
}

TEST_P(DiskFaults, WorksWithoutRegisteredBuffers) {
  if (!is_uring()) return;
  faults::demand(faults::kRegister, ENOMEM);
  Filled d(GetParam().driver, params());
  EXPECT_NE(d.plugin.log().find("cannot register buffers"), std::string::npos) << d.plugin.log();
  d.expect_contents();
}

TEST_P(DiskFaults, WorksWithSubmissionPolling) {
  if (!is_uring()) return;
  const std::string why = missing(GetParam().driver, {{"sqpoll", "true"}});
  if (!why.empty()) GTEST_SKIP() << why;
  Filled d(GetParam().driver, params({{"sqpoll", "true"}, {"entries", "2"}, {"buffers", "1"}, {"chunk", "64K"}}));
  for (int i = 0; i < 5; ++i) d.expect_contents();
}

// -- disks that are really full ---------------------------------------------------------------------------------------

struct Small : DiskFolder {  // a file system of 1 MiB; in a namespace of mounts of this process
  bool mounted = false;
  Small() {
    static const bool apart =
        unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    mounted = apart && mount("none", path().c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  ~Small() {
    if (mounted) umount2(path().c_str(), MNT_DETACH);
  }
};

TEST_P(DiskFaults, ReportsARealFullDisk) {
  const Small small;
  if (!small.mounted) GTEST_SKIP() << "no right to mount a small file system: " << strerror(errno);
  for (const char *ahead : {"true", "false"}) {
    Disk d(GetParam().driver, params({{"path", small.path()}, {"capacity", "8M"}, {"preallocate", ahead}}));
    void *q = d.open_queue();
    const auto data = noise(4 << 20, 8);
    const consort_addr a = d.alloc(500000);
    ASSERT_EQ(d.run_one(q, d.out(data.data(), a, {500000})), CONSORT_OK) << d.plugin.failure();
    consort_addr b{};
    const consort_status s = d.try_alloc(2 << 20, &b);
    if (ahead == std::string("true")) {
      EXPECT_EQ(s, CONSORT_E_NOMEM) << "met at the allocation";
      EXPECT_TOLD(d, "No space left on device");
      EXPECT_EQ(d.try_alloc(100000, &b), CONSORT_OK) << "an allocation that fits succeeds: " << d.plugin.failure();
    } else {
      ASSERT_EQ(s, CONSORT_OK);
      EXPECT_EQ(d.run_one(q, d.out(data.data(), b, {2 << 20})), CONSORT_E_NOMEM) << "met by the copy";
      EXPECT_TOLD(d, "No space left on device");
    }
    std::vector<uint8_t> back(500000);
    ASSERT_EQ(d.run_one(q, d.in(a, back.data(), {back.size()})), CONSORT_OK) << d.plugin.failure();
    EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin())) << "old contents are intact";
  }
}

}  // namespace
}  // namespace consort_test
