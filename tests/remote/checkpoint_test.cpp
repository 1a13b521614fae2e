// Checkpoints of a job: data stored at a point of the sequence come back, on the same and on other numbers of ranks; a
// failure on one rank fails the checkpoint on all, and the one before remains; damaged files are named.
#include <consort/checkpoint.h>
#include <consort/distributed.hpp>

#include <consort/layouts.h>

#include <fcntl.h>
#include <fstream>
#include <numeric>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "remote/job_ranks.hpp"
#include "support/read_file.hpp"

namespace consort_test {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kData = 5;
constexpr uint64_t kElements = 1000;

consort_status add_codelet(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) elements<double>(c)[i] += 1;
  return CONSORT_OK;
}
consort_status fail_codelet(const consort_call *) { return CONSORT_E_IO; }

// The data of a job, dealt out to its ranks; datum i begins as i * 1000 everywhere.
struct Data {
  explicit Data(JobRank &rank, uint64_t elements = kElements) : me(rank) {
    for (uint32_t i = 0; i < kData; ++i) {
      memory[i].assign(elements, 1000.0 * i);
      id[i] = me.vector(memory[i].data(), elements, 8, 100 + i, owner(i));
    }
    add = me.codelet("add", add_codelet);
    bad = me.codelet("bad", fail_codelet);
  }
  uint32_t owner(uint32_t i) const { return i % me.ranks(); }
  void step() {
    for (const auto x : id) me.submit(add, {{x, CONSORT_M_RW, 0}});
  }
  consort_task_id save(uint64_t number, consort_status want = CONSORT_OK) {
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.data = id, d.n = kData, d.name = "step", d.number = number;
    consort_task_id t{};
    EXPECT_EQ(consort_checkpoint_save(me.rt, &d, &t), want) << consort_error();
    return t;
  }
  consort_status restore() { return consort_checkpoint_restore(me.rt, id, kData); }
  consort_checkpoint_info found() const {
    consort_checkpoint_info i{};
    i.size = sizeof i;
    EXPECT_EQ(consort_checkpoint_found(me.rt, &i), CONSORT_OK) << consort_error();
    return i;
  }
  // Every element of this rank's data has had so many steps. Ends the use of the data.
  void expect_steps(double steps) {
    for (uint32_t i = 0; i < kData; ++i) {
      EXPECT_EQ(consort_unregister(me.rt, id[i]), CONSORT_OK) << consort_error();
      if (owner(i) != me.rank()) continue;
      for (const double e : memory[i]) ASSERT_EQ(e, 1000.0 * i + steps) << "datum " << i << " on rank " << me.rank();
    }
  }

  JobRank &me;
  std::vector<double> memory[kData];
  consort_data_id id[kData];
  consort_codelet_id add, bad;
};

class JobCheckpoint : public ::testing::Test {
 protected:
  std::vector<consort_setting> settings(std::vector<consort_setting> more = {}) const {
    more.insert(more.begin(), {"checkpoint", path_.c_str()});
    return more;
  }
  // A job that makes `steps` steps and stores the data, twice if `again`.
  void make(uint32_t ranks, int steps, bool again = false) const {
    as_ranks(ranks, [&](JobRank &me) {
      Data data(me);
      for (int i = 0; i < steps; ++i) data.step();
      EXPECT_EQ(me.wait(data.save(static_cast<uint64_t>(steps))), CONSORT_OK) << consort_error();
      if (!again) return;
      data.step();
      EXPECT_EQ(me.wait(data.save(static_cast<uint64_t>(steps) + 1)), CONSORT_OK) << consort_error();
    }, settings());
  }
  // A job that finds the data as they were after `steps` steps.
  void expect(uint32_t ranks, int steps, std::vector<consort_setting> more = {}) const {
    as_ranks(ranks, [&](JobRank &me) {
      Data data(me);
      ASSERT_EQ(data.found().number, static_cast<uint64_t>(steps));
      ASSERT_EQ(data.restore(), CONSORT_OK) << consort_error();
      data.step();
      ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
      data.expect_steps(steps + 1);
    }, settings(std::move(more)));
  }
  // A job of one rank gets this failure when it reads the data.
  void expect_refused(consort_status want, const std::string &words) const {
    as_ranks(1, [&](JobRank &me) {
      Data data(me);
      consort_status s = data.restore();
      std::string text = s < 0 ? consort_error() : "";
      if (s >= 0) s = me.wait_all(), text = consort_error();
      EXPECT_EQ(s, want) << text;
      EXPECT_NE(text.find(words), std::string::npos) << text;
      EXPECT_NE(text.find("checkpoint = \"" + path_ + "\""), std::string::npos) << text;
      for (const auto x : data.id) (void)consort_unregister(me.rt, x);
      (void)me.stop();
    }, settings());
  }
  std::string file(const std::string &name) const { return path_ + "/" + name; }
  void write(const std::string &name, const std::string &bytes) const { std::ofstream(file(name), std::ios::binary) << bytes; }

  const Folder folder_{"checkpoint"};
  const std::string path_ = folder_ / "here";
};

TEST_F(JobCheckpoint, DataComeBackOnAnyNumberOfRanks) {
  make(3, 4);
  for (const uint32_t ranks : {1u, 2u, 3u, 4u, 7u}) expect(ranks, 4);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
}

TEST_F(JobCheckpoint, ContentsAreThoseOfThePoint) {
  as_ranks(2, [&](JobRank &me) {
    Data data(me);
    EXPECT_EQ(data.found().serial, 0u);
    data.step();
    const consort_task_id first = data.save(1);
    data.step();  // waits until the data are stored
    const consort_task_id second = data.save(2);
    data.step();
    EXPECT_EQ(me.wait(first), CONSORT_OK) << consort_error();
    EXPECT_EQ(me.wait(second), CONSORT_OK) << consort_error();
    EXPECT_EQ(data.found().serial, 0u) << "of the start";
    ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    data.expect_steps(3);
  }, settings());
  expect(2, 2);
  as_ranks(1, [&](JobRank &me) {
    Data data(me);
    const consort_checkpoint_info i = data.found();
    EXPECT_EQ(i.serial, 2u);
    EXPECT_EQ(i.nranks, 2u);
    EXPECT_EQ(i.ndata, kData);
    EXPECT_EQ(i.bytes, kData * kElements * 8);
    EXPECT_STREQ(i.name, "step");
    EXPECT_EQ(i.folder, path_);
  }, settings());
}

TEST_F(JobCheckpoint, OnlyTheLastIsKept) {
  make(3, 1, true);
  EXPECT_EQ(folder_.files(), 5u) << "manifest, lock, three parts";
  make(1, 2);  // a smaller job
  EXPECT_EQ(folder_.files(), 3u);
  expect(2, 2);
}

TEST_F(JobCheckpoint, FailedDatumFailsItOnAllRanksAndTheOneBeforeRemains) {
  make(3, 2);
  as_ranks(3, [&](JobRank &me) {
    Data data(me);
    ASSERT_EQ(data.restore(), CONSORT_OK) << consort_error();
    me.submit(data.bad, {{data.id[1], CONSORT_M_RW, 0}});
    EXPECT_LT(me.wait(data.save(3)), 0);
    const std::string text = consort_error();
    EXPECT_NE(text.find("(tag 101): datum "), std::string::npos) << text;
    EXPECT_NE(text.find("task 'bad' failed"), std::string::npos) << text;
    (void)me.wait_all();
    for (const auto x : data.id) (void)consort_unregister(me.rt, x);
    (void)me.stop();
  }, settings());
  expect(3, 2);
}

TEST_F(JobCheckpoint, CheckpointAfterAFailedOneIsComplete) {
  as_ranks(2, [&](JobRank &me) {
    Data data(me);
    me.submit(data.bad, {{data.id[0], CONSORT_M_RW, 0}});
    EXPECT_LT(me.wait(data.save(0)), 0);
    (void)me.wait_all();
    EXPECT_EQ(consort_invalidate(me.rt, data.id[0]), CONSORT_OK);
    me.submit(me.codelet("zero", [](const consort_call *c) -> consort_status {
      std::fill_n(elements<double>(c), size_of(c), 0.0);
      return CONSORT_OK;
    }), {{data.id[0], CONSORT_M_W, 0}});
    data.step();
    EXPECT_EQ(me.wait(data.save(1)), CONSORT_OK) << consort_error();
    (void)me.wait_all();
    (void)me.stop();
  }, settings());
  expect(2, 1);
}

TEST_F(JobCheckpoint, FullDiskIsNamedAndTheOneBeforeRemains) {
  make(2, 1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  as_ranks(2, [&](JobRank &me) {
    Data data(me);
    ASSERT_EQ(data.restore(), CONSORT_OK) << consort_error();
    ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
    if (me.rank() == 0) setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
    EXPECT_LT(me.wait(data.save(2)), 0);
    const std::string text = consort_error();
    EXPECT_NE(text.find("File too large"), std::string::npos) << text;
    EXPECT_NE(text.find("bytes are free there; free some space, or take another folder"), std::string::npos) << text;
    (void)me.wait_all();
    (void)me.stop();
  }, settings());
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(folder_.files(), 4u) << "no temporary file is left";
  expect(2, 1);
}

TEST_F(JobCheckpoint, DamagedFilesAreNamed) {
  make(2, 1, true);
  const std::string manifest = read_file(file("manifest")), part = read_file(file("2.part1"));
  ASSERT_GT(part.size(), 8 * kElements);
  write("manifest", manifest.substr(0, manifest.size() - 1));
  expect_refused(CONSORT_E_IO, "the file manifest cannot be used: it was cut short, or was changed");
  write("manifest", std::string(100, 'x'));
  expect_refused(CONSORT_E_IO, "start anew with an empty one");
  write("manifest", manifest);
  write("2.part1", part.substr(0, part.size() - 1));
  expect_refused(CONSORT_E_IO, "the file 2.part1 cannot be used: it has ");
  std::string damaged = part;
  damaged[part.size() / 2] = static_cast<char>(damaged[part.size() / 2] ^ 1);
  write("2.part1", damaged);
  expect_refused(CONSORT_E_IO, "differ from what was written");
  fs::remove(file("2.part1"));
  expect_refused(CONSORT_E_IO, "the file 2.part1 cannot be used: it is missing");
  write("2.part1", part);
  expect(1, 2);
}

TEST_F(JobCheckpoint, PartOfAnEarlierCheckpointIsRefused) {
  make(2, 1);
  const std::string earlier = read_file(file("1.part1"));
  make(2, 3);
  write("2.part1", earlier);
  expect_refused(CONSORT_E_IO, "differ from what was written");
}

TEST_F(JobCheckpoint, FilesThatOthersMayWriteAreRefused) {
  make(2, 1);
  ASSERT_EQ(chmod(file("manifest").c_str(), 0666), 0);
  expect_refused(CONSORT_E_INVAL, "may be written by other users: chmod go-w");
  ASSERT_EQ(chmod(file("manifest").c_str(), 0600), 0);
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  expect_refused(CONSORT_E_INVAL, "may be written by other users: chmod go-w");
  ASSERT_EQ(chmod(path_.c_str(), 0700), 0);
  fs::remove(file("1.part0"));
  ASSERT_EQ(mkfifo(file("1.part0").c_str(), 0600), 0);
  expect_refused(CONSORT_E_INVAL, "1.part0 is not a plain file");
  fs::remove(file("1.part0"));
  fs::create_symlink("/dev/zero", file("1.part0"));
  expect_refused(CONSORT_E_IO, "1.part0: Too many levels of symbolic links");
  if (geteuid() != 0) return;
  fs::remove(file("1.part0"));
  write("1.part0", "");
  ASSERT_EQ(chown(file("1.part0").c_str(), 12345, 12345), 0);
  expect_refused(CONSORT_E_INVAL, "belongs to user 12345");
}

TEST_F(JobCheckpoint, FolderThatCannotBeUsedIsNamed) {
  std::ofstream(path_) << "a file";
  as_ranks(2, [&](JobRank &me) {
    Data data(me);
    EXPECT_LT(me.wait(data.save(1)), 0);
    const std::string text = consort_error();
    EXPECT_NE(text.find("cannot open the folder " + path_ + ": Not a directory"), std::string::npos) << text;
    (void)me.wait_all();
    (void)me.stop();
  }, settings());
}

TEST_F(JobCheckpoint, TwoJobsCannotUseOneFolder) {
  make(1, 1);
  as_ranks(1, [&](JobRank &me) {
    Data data(me);
    EXPECT_EQ(data.found().number, 1u);
    expect_refused(CONSORT_E_BUSY, "is in use by another job");
  }, settings());
}

TEST_F(JobCheckpoint, WrongUseIsRefused) {
  as_ranks(1, [&](JobRank &me) {
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_save(me.rt, &d, nullptr), "consort run --checkpoint FOLDER");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_restore(me.rt, nullptr, 0), "consort run --checkpoint FOLDER");
    consort_checkpoint_info i{};
    i.size = sizeof i;
    EXPECT_EQ(consort_checkpoint_found(me.rt, &i), CONSORT_OK);
    EXPECT_EQ(i.serial, 0u);
    EXPECT_STREQ(i.folder, "");
  });
  as_ranks(1, [&](JobRank &me) {
    Data data(me);
    EXPECT_SAYS(CONSORT_E_INVAL, data.restore(), "there is no complete checkpoint in this folder");
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.n = 1;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_save(me.rt, &d, nullptr), "data is NULL");
    d.n = 0, d.name = "two\nlines";
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_save(me.rt, &d, nullptr), "printable ASCII");
    const std::string name(256, 'x');
    d.name = name.c_str();
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_save(me.rt, &d, nullptr), "at most 255 bytes");
    d.name = nullptr, d.size = 4;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_save(me.rt, &d, nullptr), "CONSORT_CHECKPOINT_INIT");
    consort_data_id twice[] = {data.id[0], data.id[0]};
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_restore(me.rt, twice, 2), "two of the data have the tag 100");
    consort_data_id alone{};
    EXPECT_EQ(consort_register_variable(me.rt, nullptr, 8, &alone), CONSORT_OK);
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_restore(me.rt, &alone, 1), "none of the job");
    (void)data.save(7);
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  }, settings());
  as_ranks(1, [&](JobRank &me) {
    const auto other = me.vector(nullptr, 10, 8, 1, 0);
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_restore(me.rt, &other, 1), "'step' has no datum with the tag 1");
    const auto small = me.vector(nullptr, 10, 8, 101, 0);
    EXPECT_EQ(consort_checkpoint_restore(me.rt, &small, 1), CONSORT_OK);
    EXPECT_SAYS(CONSORT_E_INVAL, me.wait_all(), "stored with 8000 bytes and has 80 here");
    consort_data_id matrix{};
    EXPECT_EQ(consort_register_matrix(me.rt, nullptr, 10, 100, 0, 8, &matrix), CONSORT_OK);
    EXPECT_EQ(consort_data_distribute(me.rt, matrix, 102, 0), CONSORT_OK);
    EXPECT_EQ(consort_checkpoint_restore(me.rt, &matrix, 1), CONSORT_OK);
    EXPECT_SAYS(CONSORT_E_INVAL, me.wait_all(), "stored as 'vector' and is a 'matrix' here");
    (void)consort_unregister(me.rt, small), (void)consort_unregister(me.rt, matrix);
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.data = &other, d.n = 0;
    EXPECT_EQ(consort_checkpoint_save(me.rt, &d, nullptr), CONSORT_OK) << consort_error();
    EXPECT_SAYS(CONSORT_E_INVAL, consort_checkpoint_restore(me.rt, nullptr, 0), "restore before the first one");
    (void)me.wait_all();
    (void)me.stop();
  }, settings());
}

TEST_F(JobCheckpoint, DriverWithoutFilesIsRefused) {
  as_ranks(1, [&](JobRank &me) {
    consort_checkpoint_info i{};
    i.size = sizeof i;
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_checkpoint_found(me.rt, &i), "checkpoint_driver = \"cpu\": this driver keeps no files");
  }, settings({{"checkpoint_driver", "cpu"}}));
}

TEST_F(JobCheckpoint, LayersAreAroundTheDriver) {
  make(1, 1);
  expect(2, 1, {{"layers", "checks"}});
}

// Contents are packed: other leading dimensions, and layouts of several runs.
TEST_F(JobCheckpoint, MatricesWithGapsComeBack) {
  constexpr uint64_t kWide = 7, kHigh = 5;
  const auto fill = [](std::vector<double> &m, uint64_t ld, double by) {
    for (uint64_t y = 0; y < kHigh; ++y)
      for (uint64_t x = 0; x < kWide; ++x) m[y * ld + x] = by * static_cast<double>(y * kWide + x);
  };
  for (const uint64_t ld : {uint64_t{11}, kWide})
    as_ranks(1, [&](JobRank &me) {
      std::vector<double> m(kHigh * ld, -1), expected = m;
      fill(expected, ld, 1);
      if (ld != kWide) fill(m, ld, 1);
      consort_data_id id{};
      ASSERT_EQ(consort_register_matrix(me.rt, m.data(), kWide, kHigh, ld, 8, &id), CONSORT_OK);
      ASSERT_EQ(consort_data_distribute(me.rt, id, 1, 0), CONSORT_OK);
      consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
      EXPECT_EQ(ld != kWide ? consort_checkpoint_save(me.rt, &d, nullptr) : consort_checkpoint_restore(me.rt, nullptr, 0), CONSORT_OK)
          << consort_error();
      EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
      EXPECT_EQ(consort_unregister(me.rt, id), CONSORT_OK);
      EXPECT_EQ(m, expected);
    }, settings());
}

// Data without memory of their own, more than fit at once, which lie on a disk meanwhile.
TEST_F(JobCheckpoint, DataThatDoNotFitIntoMemoryAreStored) {
  constexpr uint64_t kLarge = 1 << 17;
  const std::string spill = folder_.path();
  const std::vector<consort_setting> limited = settings({{"drivers", "cpu, disk_posix"}, {"disk_posix.path", spill.c_str()}, {"limits", "ram=3M"}});
  const auto body = [](const consort_call *c) -> consort_status {
    std::iota(elements<double>(c), elements<double>(c) + size_of(c), 0.0);
    return CONSORT_OK;
  };
  const auto check = [](const consort_call *c) -> consort_status {
    for (uint64_t i = 0; i < size_of(c); ++i)
      if (elements<double>(c)[i] != static_cast<double>(i)) return CONSORT_E_INVAL;
    return CONSORT_OK;
  };
  for (const bool stores : {true, false})
    as_ranks(2, [&](JobRank &me) {
      const auto fill = me.codelet("fill", body), look = me.codelet("look", check);
      for (uint32_t i = 0; i < 8; ++i) {
        const auto x = me.vector(nullptr, kLarge, 8, i, i % 2);
        if (stores) {
          me.submit(fill, {{x, CONSORT_M_W, 0}});
        } else {
          EXPECT_EQ(consort_checkpoint_restore(me.rt, &x, 1), CONSORT_OK) << consort_error();
          me.submit(look, {{x, CONSORT_M_R, 0}});
        }
      }
      consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
      if (stores) {
        EXPECT_EQ(consort_checkpoint_save(me.rt, &d, nullptr), CONSORT_OK) << consort_error();
      }
      EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    }, limited);
}

// With a manual pump the turn of a step reads and writes the file.
TEST_F(JobCheckpoint, OneRankWithAManualPump) {
  make(1, 1);
  as_ranks(1, [&](JobRank &me) {
    Data data(me);
    ASSERT_EQ(data.restore(), CONSORT_OK) << consort_error();
    data.step();
    (void)data.save(2);
    data.step();
    (void)data.save(3);
    ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    data.expect_steps(3);
  }, settings({{"pump", "manual"}}));
  expect(1, 3);
  as_ranks(1, [&](JobRank &me) {
    Data data(me);
    me.submit(data.bad, {{data.id[0], CONSORT_M_RW, 0}});
    const consort_task_id stored = data.save(1);
    (void)me.wait_all();
    EXPECT_LT(me.wait(stored), 0);
    for (const auto x : data.id) (void)consort_unregister(me.rt, x);
    (void)me.stop();
  }, settings({{"pump", "manual"}}));
  expect(1, 3);
}

TEST_F(JobCheckpoint, EndIsToldOnce) {
  as_ranks(2, [&](JobRank &me) {
    Data data(me);
    std::atomic<int> told{0};
    consort_checkpoint_desc d = CONSORT_CHECKPOINT_INIT;
    d.done = [](void *arg, const consort_outcome *o) {
      if (o->status == CONSORT_OK) ++*static_cast<std::atomic<int> *>(arg);
    };
    d.done_arg = &told;
    ASSERT_EQ(consort_checkpoint_save(me.rt, &d, nullptr), CONSORT_OK) << consort_error();
    ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    EXPECT_EQ(told, 1);
  }, settings());
}

TEST_F(JobCheckpoint, FaceStoresAndRestores) {
  for (const bool again : {false, true}) {
    consort::Runtime rt{{"checkpoint", path_.c_str()}, {"log", "error"}};
    consort::Job job(rt);
    std::vector<double> a(10, 1), b(10, 2);
    const auto x = rt.vector(a, "x"), y = rt.vector(b, "y");
    job.distribute(x, 1, 0);
    job.distribute(y, 2, 0);
    EXPECT_EQ(job.checkpoint_folder(), path_);
    const auto found = job.checkpoint_found();
    ASSERT_EQ(found.has_value(), again);
    if (!again) {
      job.checkpoint("start", 41, x).wait();
      job.checkpoint("end", 42).wait();
      continue;
    }
    EXPECT_EQ(found->name, "end");
    EXPECT_EQ(found->number, 42u);
    EXPECT_EQ(found->serial, 2u);
    EXPECT_EQ(found->ranks, 1u);
    job.restore(x, y);
    EXPECT_EQ(x.read()[0], 1);
    EXPECT_EQ(y.read()[9], 2);
  }
}

}  // namespace
}  // namespace consort_test
