// A rank that is killed: what needs it fails with its number and host, within two seconds, and the rest goes on. The ranks
// are processes of this program, which `consort run` starts for the tests LostRankProgram.*.
#include <consort/distributed.h>

#include <consort/layouts.h>

#include <csignal>
#include <vector>

#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::Tools;

constexpr int kSlow = CONSORT_SAN ? 5 : 1;  // sanitizers: so many times slower


// This process as a rank that `consort run` has started.
class ProgramRank {
 public:
  ProgramRank() {
    EXPECT_EQ(consort_start(nullptr, &rt), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_job_join(rt, nullptr), CONSORT_OK) << consort_error();
    info.size = sizeof info;
    EXPECT_EQ(consort_job_get(rt, &info), CONSORT_OK) << consort_error();
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    lost = std::string("rank 1 on host ") + name + " has ended, or its connection is broken";
  }
  ~ProgramRank() { (void)consort_stop(rt); }
  consort_data_id variable(int64_t *home) {
    consort_data_id id{};
    EXPECT_EQ(consort_register_variable(rt, home, 8, &id), CONSORT_OK) << consort_error();
    return id;
  }
  consort_task_id message(bool is_send, consort_data_id x, uint32_t peer, uint64_t tag) {
    consort_message m = CONSORT_MESSAGE_INIT;
    m.data = x, m.rank = peer, m.tag = tag;
    consort_task_id id{};
    EXPECT_EQ((is_send ? consort_send : consort_receive)(rt, &m, &id), CONSORT_OK) << consort_error();
    return id;
  }
  // The request fails with the loss, in time.
  void expect_lost(consort_task_id request) const {
    EXPECT_EQ(consort_task_wait(rt, request, int64_t{2'000'000'000} * kSlow, 0), CONSORT_E_PEER_LOST);
    EXPECT_NE(std::string(consort_error()).find(lost), std::string::npos) << consort_error();
  }

  consort_runtime *rt = nullptr;
  consort_job_info info{};
  std::string lost;
};

bool is_program(const char *which) {
  const char *as = getenv("AS_PROGRAM");
  return as && std::string(as) == which;
}

// Rank 1 is killed while ranks 0 and 2 wait for it, and later ones need it.
TEST(LostRankProgram, Runs) {
  if (!is_program("lost")) GTEST_SKIP() << "run by the tests below";
  ProgramRank me;
  std::vector<int64_t> large(50'000, 7);
  int64_t a = 1, b = 2;
  const auto x = me.variable(&a), y = me.variable(&b);
  consort_data_id z{};
  ASSERT_EQ(consort_register_vector(me.rt, large.data(), large.size(), 8, &z), CONSORT_OK);
  ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
  if (me.info.rank == 1) raise(SIGKILL);
  const uint32_t other = 2 - me.info.rank;
  const auto receive = me.message(false, x, 1, 1), send = me.message(true, z, 1, 2);
  me.expect_lost(receive);
  me.expect_lost(send);
  me.expect_lost(me.message(false, y, 1, 3));
  EXPECT_EQ(consort_job_rank(me.rt, 1, nullptr), CONSORT_E_PEER_LOST);
  EXPECT_EQ(consort_job_barrier(me.rt, int64_t{2'000'000'000} * kSlow), CONSORT_E_PEER_LOST);
  EXPECT_NE(std::string(consort_error()).find(me.lost), std::string::npos) << consort_error();
  // The rest goes on: to and from the other rank.
  (void)consort_wait_all(me.rt, CONSORT_FOREVER, 0);
  EXPECT_EQ(consort_job_rank(me.rt, other, nullptr), CONSORT_OK) << consort_error();
  int64_t c = me.info.rank;
  const auto w = me.variable(&c);
  for (int i = 0; i < 100; ++i) {
    const bool sends = i % 2 == static_cast<int>(me.info.rank / 2);
    me.message(sends, w, other, 4);
  }
  EXPECT_EQ(consort_wait_all(me.rt, CONSORT_FOREVER, 0), CONSORT_OK) << consort_error();
  if (me.info.rank == 0) std::puts("rank 0 went on");
}

// A sequence on data of all ranks: what depends on the killed rank fails, on each rank, and the rest is computed.
TEST(LostRankProgram, Sequence) {
  if (!is_program("sequence")) GTEST_SKIP() << "run by the tests below";
  ProgramRank me;
  consort_impl impl{};
  impl.klass = "cpu", impl.fn = [](const consort_call *c) -> consort_status {
    const auto at = [&](uint32_t i) { return static_cast<int64_t *>(consort_ptr(static_cast<const consort_variable_view *>(c->views[i])->addr)); };
    if (c->nviews == 1) ++*at(0);
    else *at(1) += *at(0);
    return CONSORT_OK;
  };
  consort_codelet d = CONSORT_CODELET_INIT;
  d.name = "add", d.impls = &impl, d.nimpls = 1;
  consort_codelet_id add{};
  ASSERT_EQ(consort_codelet_add(me.rt, &d, &add), CONSORT_OK);
  int64_t value[3] = {1, 1, 1};
  consort_data_id x[3];
  for (uint32_t r = 0; r < 3; ++r) {
    x[r] = me.variable(r == me.info.rank ? &value[r] : nullptr);
    ASSERT_EQ(consort_data_distribute(me.rt, x[r], r, r), CONSORT_OK);
  }
  const auto submit = [&](std::vector<consort_use> uses) {
    consort_task_desc t = CONSORT_TASK_INIT;
    t.codelet = add, t.uses = uses.data(), t.nuses = static_cast<uint32_t>(uses.size());
    EXPECT_EQ(consort_job_submit(me.rt, &t, nullptr, nullptr), CONSORT_OK) << consort_error();
  };
  ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
  if (me.info.rank == 1) raise(SIGKILL);
  for (int i = 0; i < 10; ++i) submit({{x[0], CONSORT_M_RW, 0}});
  submit({{x[1], CONSORT_M_RW, 0}});
  submit({{x[1], CONSORT_M_R, 0}, {x[2], CONSORT_M_RW, 0}});  // rank 2 needs rank 1
  submit({{x[2], CONSORT_M_R, 0}, {x[0], CONSORT_M_RW, 0}});  // and rank 0 rank 2
  EXPECT_EQ(consort_wait_all(me.rt, 10'000'000'000 * kSlow, 0), CONSORT_E_PEER_LOST);
  EXPECT_NE(std::string(consort_error()).find(me.lost), std::string::npos) << consort_error();
  if (me.info.rank == 0) std::puts("rank 0 got the cause");
}

class LostRank : public Tools {
 protected:
  ToolAnswer program(const std::string &which, const std::string &n = "3") const {
    return run("run -n " + n + " -- " + std::filesystem::read_symlink("/proc/self/exe").string() + " --gtest_filter=LostRankProgram.*",
               "AS_PROGRAM=" + which + " CONSORT_LOG=error");
  }
};

TEST_F(LostRank, OperationsTowardsItFailAndTheRestGoesOn) {
  const ToolAnswer a = program("lost");
  EXPECT_EQ(a.status, 128 + SIGKILL) << a.out;
  EXPECT_TRUE(a.has("rank 0 went on\n")) << a.out;
  EXPECT_TRUE(a.has("consort: rank 1 of 3 on host ") && a.has("was killed by signal 9 (SIGKILL)")) << a.out;
  EXPECT_FALSE(a.has("[  FAILED  ]")) << a.out;
}

TEST_F(LostRank, FailureReachesRanksThatDependOnItByOthers) {
  const ToolAnswer a = program("sequence");
  EXPECT_EQ(a.status, 128 + SIGKILL) << a.out;
  EXPECT_TRUE(a.has("rank 0 got the cause\n")) << a.out;
  EXPECT_FALSE(a.has("[  FAILED  ]")) << a.out;
}

TEST_F(LostRank, JobThatCannotStartSaysWhy) {
  const ToolAnswer a = run("run -n 2 -- sh -c 'test $CONSORT_RANK = 1 && exit 3; exec " +
                       std::filesystem::read_symlink("/proc/self/exe").string() + " --gtest_filter=LostRankProgram.Runs'", "AS_PROGRAM=lost");
  EXPECT_EQ(a.status, 3) << a.out;
  EXPECT_TRUE(a.has("rank 1 has ended with status 3 before it joined the job")) << a.out;
}

}  // namespace
