// Jobs of several ranks: start, barriers, failures, ranks that leave, and what explain says of a rank.
#include <consort/layouts.h>

#include <map>

#include "remote/job_ranks.hpp"

namespace {

using namespace consort_test;

// The second datum += the first.
consort_status add(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) elements<int64_t>(c, 1)[i] += elements<int64_t>(c, 0)[i];
  return CONSORT_OK;
}
consort_status fails(const consort_call *) { return consort_fail(CONSORT_E_IO, "no ink"); }

TEST(Job, OneRankNeedsNoLauncher) {
  consort_runtime *rt = nullptr;
  ASSERT_EQ(consort_start(nullptr, &rt), CONSORT_OK) << consort_error();
  consort_job_info info{};
  info.size = sizeof info;
  EXPECT_EQ(consort_job_get(rt, &info), CONSORT_E_INVAL);
  ASSERT_EQ(consort_job_join(rt, nullptr), CONSORT_OK) << consort_error();
  EXPECT_EQ(consort_job_join(rt, nullptr), CONSORT_E_BUSY);
  ASSERT_EQ(consort_job_get(rt, &info), CONSORT_OK);
  EXPECT_EQ(info.rank, 0u);
  EXPECT_EQ(info.nranks, 1u);
  EXPECT_EQ(consort_job_barrier(rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
  EXPECT_EQ(consort_stop(rt), CONSORT_OK);
}

TEST(Job, RanksKnowOneAnother) {
  as_ranks(4, [](JobRank &me) {
    EXPECT_EQ(me.ranks(), 4u);
    for (uint32_t r = 0; r < 4; ++r) {
      const char *host = nullptr;
      EXPECT_EQ(consort_job_rank(me.rt, r, &host), CONSORT_OK) << consort_error();
      char mine[256] = "";
      gethostname(mine, sizeof mine - 1);
      EXPECT_STREQ(host, mine);
    }
    EXPECT_EQ(consort_job_rank(me.rt, 4, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();  // none leaves before
  });
}

TEST(Job, BarrierWaitsForAllRanks) {
  for (const uint32_t n : {2u, 3u, 5u, 8u}) {
    std::atomic<uint32_t> came{0};
    as_ranks(n, [&](JobRank &me) {
      for (uint32_t turn = 1; turn <= 5; ++turn) {
        ++came;
        ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
        EXPECT_GE(came, turn * n);
      }
    });
  }
}

TEST(Job, FailureReachesReadersOnOtherRanks) {
  as_ranks(3, [](JobRank &me) {
    int64_t a = 1, b = 1, d = 1;
    const auto bad = me.codelet("bad", fails), add_c = me.codelet("add", add);
    const auto x = me.vector(&a, 1, 8, 1, 0), y = me.vector(&b, 1, 8, 2, 1), z = me.vector(&d, 1, 8, 3, 2);
    me.submit(bad, {{x, CONSORT_M_RW, 0}});
    me.submit(add_c, {{x, CONSORT_M_R, 0}, {y, CONSORT_M_RW, 0}});
    me.submit(add_c, {{y, CONSORT_M_R, 0}, {z, CONSORT_M_RW, 0}});
    EXPECT_EQ(me.wait_all(), CONSORT_E_IO) << consort_error();
    EXPECT_NE(std::string(consort_error()).find("no ink"), std::string::npos) << consort_error();
    EXPECT_EQ(consort_unregister(me.rt, me.rank() == 0 ? x : me.rank() == 1 ? y : z), CONSORT_E_IO);
    // Its contents are good again after a write.
    (void)consort_stop(std::exchange(me.rt, nullptr));
  });
}

TEST(Job, RankThatLeavesFailsWhatNeedsIt) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
    if (me.rank() == 1) return;
    EXPECT_EQ(me.wait(me.receive(me.message(x, 1, 1))), CONSORT_E_PEER_LOST);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    EXPECT_NE(std::string(consort_error()).find(std::string("rank 1 on host ") + host + " has left the job"), std::string::npos)
        << consort_error();
    EXPECT_EQ(consort_job_rank(me.rt, 1, nullptr), CONSORT_E_PEER_LOST);
    EXPECT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_E_PEER_LOST);
    (void)me.wait_all();
    (void)me.stop();
  });
}

TEST(Job, ExplainSaysWhichRankIsAwaited) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    if (!me.rank()) {
      const auto request = me.receive(me.message(x, 1, 5));
      char text[256], host[256] = "";
      gethostname(host, sizeof host - 1);
      consort_explain(me.rt, request, text, sizeof text);
      EXPECT_EQ(std::string(text), std::string("the message is awaited from rank 1 on host ") + host + ", tag 5");
    }
    ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
    if (me.rank()) me.send(me.message(x, 0, 5));
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  });
}

// The start of an application: ranks meet at a board in memory.
struct Board {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<uint32_t, std::string>, std::string> all;
  uint32_t fences = 0;
};
Board &board() {
  static Board b;
  return b;
}
template <uint32_t kRank>
consort_boot boot_of() {
  consort_boot b{};
  b.size = sizeof b, b.rank = kRank, b.nranks = 2, b.job = "a board", b.secret = reinterpret_cast<const uint8_t *>("secret"), b.nsecret = 6;
  b.put = [](const consort_host *, const char *key, const void *p, uint32_t n) -> consort_status {
    const std::lock_guard lock(board().mutex);
    board().all[{kRank, key}].assign(static_cast<const char *>(p), n);
    board().changed.notify_all();
    return CONSORT_OK;
  };
  b.get = [](const consort_host *, uint32_t rank, const char *key, void *p, uint32_t *n, uint64_t) -> consort_status {
    std::unique_lock lock(board().mutex);
    board().changed.wait(lock, [&] { return board().all.contains({rank, key}); });
    const std::string &found = board().all[{rank, key}];
    if (found.size() > *n) return CONSORT_E_TRUNCATED;
    std::memcpy(p, found.data(), found.size());
    return *n = static_cast<uint32_t>(found.size()), CONSORT_OK;
  };
  b.fence = [](const consort_host *, uint64_t) -> consort_status {
    std::unique_lock lock(board().mutex);
    const uint32_t mine = board().fences++ / 2;
    board().changed.notify_all();
    board().changed.wait(lock, [&] { return board().fences >= 2 * (mine + 1); });
    return CONSORT_OK;
  };
  return b;
}

TEST(Job, ApplicationMayHaveAStartOfItsOwn) {
  const consort_boot boots[] = {boot_of<0>(), boot_of<1>()};
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      const Rt rt(Pairs{{"workers", "1"}, {"bind", "false"}});
      consort_job_desc d = CONSORT_JOB_DESC_INIT;
      d.boot = &boots[r], d.transport = "inproc";
      ASSERT_EQ(consort_job_join(rt, &d), CONSORT_OK) << consort_error();
      consort_job_info info{};
      info.size = sizeof info;
      ASSERT_EQ(consort_job_get(rt, &info), CONSORT_OK);
      EXPECT_EQ(info.rank, r);
      EXPECT_STREQ(info.name, "a board");
      EXPECT_STREQ(info.transport, "inproc");
      EXPECT_EQ(consort_job_barrier(rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
      EXPECT_EQ(consort_job_abort(rt, "no"), CONSORT_E_UNSUPPORTED);
    });
  for (std::thread &t : threads) t.join();
}

}  // namespace
