// Jobs in virtual time: ranks of this process under one clock, over the simulated network. Times by hand, the same run
// twice, a deadlock and a lost rank, limited memory.
#include "remote/job_ranks.hpp"

#include <consort/clock.h>

#include <fstream>

#include "support/read_file.hpp"
#include "support/trace_text.hpp"

using namespace consort_test;

namespace {

class Cluster {
 public:
  // more: further tables.
  explicit Cluster(const std::string &more = "") : file_(folder_ / "cluster.toml") {
    std::ofstream(file_) << "[[device]]\nname = \"cpu\"\nhost = true\nclass = \"cpu\"\nunits = 1\ndepth = 1\nmemory = \"1G\"\n"
                            "[network]\nlatency = \"1us\"\nbandwidth = \"10G\"\n[times]\nadd = \"10us\"\n" + more;
  }
  std::vector<consort_setting> settings(std::vector<consort_setting> more = {}) const {
    std::vector<consort_setting> all = {{"time", "virtual"}, {"drivers", "sim"}, {"sim.machine", file_.c_str()}, {"transport", "simnet"},
                                        {"simnet.machine", file_.c_str()}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string operator/(const std::string &name) const { return folder_ / name; }

 private:
  const Folder folder_{"cluster"};
  const std::string file_;
};

uint64_t now(const JobRank &me) {
  uint64_t ns = 0;
  EXPECT_EQ(consort_now(me.rt, &ns), CONSORT_OK);
  return ns;
}

consort_status add(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) elements<int64_t>(c)[i] += 1;
  return CONSORT_OK;
}
consort_status sum(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c, 1); ++i) elements<int64_t>(c, 1)[i] += elements<const int64_t>(c, 0)[i];
  return CONSORT_OK;
}

TEST(SimulatedJob, MessageTakesTheTimeOfTheNetwork) {
  const Cluster cluster;
  std::atomic<uint64_t> sent{0}, received{0};
  as_ranks(2, [&](JobRank &me) {
    std::vector<int64_t> x(125'000, me.rank() ? 0 : 7);  // 1,000,000 bytes
    consort_data_id id{};
    ASSERT_EQ(consort_register_vector(me.rt, x.data(), x.size(), 8, &id), CONSORT_OK) << consort_error();
    const uint64_t begin = now(me);
    const auto m = me.message(id, 1 - me.rank(), 3);
    ASSERT_EQ(me.wait(me.rank() ? me.receive(m) : me.send(m)), CONSORT_OK) << consort_error();
    (me.rank() ? received : sent) = now(me) - begin;
    ASSERT_EQ(consort_unregister(me.rt, id), CONSORT_OK) << consort_error();
    if (me.rank()) {
      EXPECT_EQ(x.back(), 7);
    }
  }, cluster.settings());
  // The offer and its answer, 56 bytes each, and the contents.
  EXPECT_EQ(received.load(), 2 * (1000 + 6) + 1000 + 100'000);
  EXPECT_EQ(sent.load(), 2 * (1000 + 6) + 100'000);
}

// Each rank adds to its datum and to the sum of the rank behind it.
void run_ring(JobRank &me, int turns) {
  std::vector<std::vector<int64_t>> memory(me.ranks(), std::vector<int64_t>(1000));
  const auto add_c = me.codelet("add", add), sum_c = me.codelet("sum", sum);
  std::vector<consort_data_id> x;
  for (uint32_t r = 0; r < me.ranks(); ++r) x.push_back(me.vector(memory[r].data(), 1000, 8, r, r));
  for (int t = 0; t < turns; ++t)
    for (uint32_t r = 0; r < me.ranks(); ++r) {
      me.submit(add_c, {{x[r], CONSORT_M_RW, 0}});
      me.submit(sum_c, {{x[r], CONSORT_M_R, 0}, {x[(r + 1) % me.ranks()], CONSORT_M_RW, 0}});
    }
  ASSERT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  ASSERT_EQ(consort_unregister(me.rt, x[me.rank()]), CONSORT_OK) << consort_error();
  std::vector<int64_t> expected(me.ranks());
  for (int t = 0; t < turns; ++t)
    for (uint32_t r = 0; r < me.ranks(); ++r) expected[(r + 1) % me.ranks()] += ++expected[r];
  EXPECT_EQ(memory[me.rank()][999], expected[me.rank()]);
}

TEST(SimulatedJob, ValuesAreRightOnAnyNumberOfRanks) {
  const Cluster cluster;
  for (const uint32_t n : {1u, 2u, 4u, 7u}) as_ranks(n, [](JobRank &me) { run_ring(me, 3); }, cluster.settings());
}

TEST(SimulatedJob, SameSeedMakesTheSameRun) {
  const Cluster cluster;
  std::vector<std::string> traces[2];
  for (auto &its : traces) {
    const std::string trace = cluster / "trace.%r";
    as_ranks(5, [](JobRank &me) { run_ring(me, 4); }, cluster.settings({{"trace", trace.c_str()}, {"sim.noise", "0.3"}, {"seed", "9"}}));
    for (int r = 0; r < 5; ++r) its.push_back(read_file(cluster / ("trace." + std::to_string(r))));
    EXPECT_NE(trace_text(cluster / "trace.0").find("\nrun\t"), std::string::npos);
    EXPECT_NE(its[0], its[1]);
  }
  EXPECT_EQ(traces[0], traces[1]);
}

TEST(SimulatedJob, DeadlockIsToldInsteadOfHanging) {
  const Cluster cluster;
  as_ranks(3, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    if (me.rank() == 0) {  // each waits for the other
      EXPECT_EQ(me.wait(me.receive(me.message(x, 1, 5))), CONSORT_E_TIMEOUT) << consort_error();
      EXPECT_NE(std::string(consort_error()).find("no rank of the job can go on, and no message is on its way: nothing comes from rank 1, tag 5"),
                std::string::npos) << consort_error();
    } else if (me.rank() == 1) {
      EXPECT_EQ(me.wait(me.receive(me.message(x, 0, 5))), CONSORT_E_PEER_LOST) << consort_error();  // rank 0 has given up
    }
    (void)me.wait_all();
    (void)consort_unregister(me.rt, x);
    (void)me.stop();
  }, cluster.settings());
}

TEST(SimulatedJob, BarrierThatARankDoesNotReachIsToldSo) {
  const Cluster cluster;
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    if (me.rank()) {
      EXPECT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_E_PEER_LOST) << consort_error();
    } else {
      EXPECT_LT(me.wait(me.receive(me.message(x, 1, 1))), 0);
    }
    (void)me.wait_all();
    (void)me.stop();
  }, cluster.settings());
}

TEST(SimulatedJob, RankThatLeavesFailsWhatNeedsIt) {
  const Cluster cluster;
  as_ranks(3, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    if (me.rank() == 1) return;
    if (me.rank() == 0) {
      EXPECT_EQ(me.wait(me.receive(me.message(x, 1, 1))), CONSORT_E_PEER_LOST) << consort_error();
    }
    (void)me.wait_all();
    (void)me.stop();
  }, cluster.settings());
}

TEST(SimulatedJob, TimeoutIsInVirtualTime) {
  const Cluster cluster;
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    const auto m = me.message(x, 1 - me.rank(), 1);
    if (me.rank() == 0) {
      const auto request = me.receive(m);
      const uint64_t begin = now(me);
      EXPECT_EQ(consort_task_wait(me.rt, request, 3'600'000'000'000, 0), CONSORT_E_TIMEOUT);  // an hour
      EXPECT_EQ(now(me) - begin, 3'600'000'000'000u);
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
      EXPECT_EQ(me.wait(request), CONSORT_OK) << consort_error();
    } else {
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
      EXPECT_EQ(me.wait(me.send(m)), CONSORT_OK) << consort_error();
    }
  }, cluster.settings());
}

consort_status fill(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) elements<int64_t>(c)[i] = 7;
  return CONSORT_OK;
}
consort_status check(const consort_call *c) {
  return elements<int64_t>(c)[size_of(c) - 1] == 7 ? CONSORT_OK : consort_fail(CONSORT_E_IO, "wrong contents");
}

// All ranks send to all others at once, each in another order. Their memory holds two to five of forty-eight data; the
// others lie in a second memory meanwhile.
TEST(SimulatedJob, TightMemoryDoesNotHang) {
  for (const char *limit : {"ram=512K", "ram=768K", "ram=1300K"}) {
    const Cluster cluster("[[device]]\nname = \"store\"\nclass = \"store\"\nunits = 0\nmemory = \"1G\"\n"
                          "[[link]]\nfrom = \"host\"\nto = \"store\"\nbandwidth = \"2G\"\nlatency = \"20us\"\nboth = true\n");
    std::atomic<uint32_t> done{0};
    as_ranks(4, [&](JobRank &me) {
      constexpr uint64_t kLength = 32 * 1024;  // 256 KiB each
      const auto fill_c = me.codelet("fill", fill), check_c = me.codelet("check", check);
      const auto submit = [&](consort_codelet_id codelet, consort_data_id x, uint32_t mode) {
        const consort_use use{x, mode, 0};
        consort_task_desc d = CONSORT_TASK_INIT;
        d.codelet = codelet, d.uses = &use, d.nuses = 1;
        ASSERT_EQ(consort_submit(me.rt, &d, nullptr), CONSORT_OK) << consort_error();
      };
      for (uint32_t i = 0; i < 8; ++i)
        for (uint32_t k = 1; k < me.ranks(); ++k) {
          const uint32_t to = (me.rank() + k) % me.ranks(), from = (me.rank() + (k + i) % 3 + 1) % me.ranks();
          consort_data_id out{}, in{};
          ASSERT_EQ(consort_register_vector(me.rt, nullptr, kLength, 8, &out), CONSORT_OK);
          ASSERT_EQ(consort_register_vector(me.rt, nullptr, kLength, 8, &in), CONSORT_OK);
          submit(fill_c, out, CONSORT_M_W);
          me.send(me.message(out, to, 1));
          me.receive(me.message(in, from, 1));
          submit(check_c, in, CONSORT_M_R);
        }
      EXPECT_EQ(me.wait_all(), CONSORT_OK) << limit << ": " << consort_error();
      ++done;
    }, cluster.settings({{"limits", limit}}));
    EXPECT_EQ(done.load(), 4u);
  }
}

TEST(SimulatedJob, OtherTransportsAreRefused) {
  const Cluster cluster;
  const Folder folder("ranks");
  make_secret(folder);
  std::thread other([&] { JobRank rank(folder.path(), 1, 2, cluster.settings({{"transport", "inproc"}})); EXPECT_LT(rank.joined, 0); });
  JobRank rank(folder.path(), 0, 2, cluster.settings({{"transport", "inproc"}}));
  EXPECT_EQ(rank.joined, CONSORT_E_UNSUPPORTED);
  EXPECT_EQ(rank.why, "transport 'inproc' knows no virtual time: start the ranks by consort sim -n");
  other.join();
}

}  // namespace
