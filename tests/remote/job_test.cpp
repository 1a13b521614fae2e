// Jobs of several ranks: distributed tasks, inferred transfers, messages, barriers, failures.
#include <consort/layouts.h>

#include <map>

#include "remote/job_ranks.hpp"

namespace {

using namespace consort_test;

consort_status add_one(const consort_call *c) {
  for (uint64_t i = 0; i < size_of(c); ++i) ++elements<int64_t>(c)[i];
  return CONSORT_OK;
}
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

// Each rank adds its number to what the rank before has sent.
void go_around(uint64_t n, const std::vector<consort_setting> &settings = {}) {
  as_ranks(3, [&](JobRank &me) {
    std::vector<int64_t> v(n);
    const auto add_c = me.codelet("add one", add_one);
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, v.data(), n, 8, &x), CONSORT_OK);
    constexpr int kRounds = 20;
    const uint32_t next = (me.rank() + 1) % 3, before = (me.rank() + 2) % 3;
    const consort_use use{x, CONSORT_M_RW, 0};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = add_c, d.uses = &use, d.nuses = 1;
    for (int i = 0; i < kRounds; ++i) {
      if (i || me.rank()) me.receive(me.message(x, before, 7));
      ASSERT_EQ(consort_submit(me.rt, &d, nullptr), CONSORT_OK);
      if (i + 1 < kRounds || me.rank() != 2) me.send(me.message(x, next, 7));
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK) << consort_error();
    for (const int64_t e : v) ASSERT_EQ(e, 3 * (kRounds - 1) + me.rank() + 1);
  }, settings);
}
TEST(Job, ShortMessagesGoAround) { go_around(1); }
TEST(Job, LongMessagesGoAround) { go_around(20'000); }

// The tasks run on a device with a memory of its own: contents go by way of the host.
TEST(Job, MessagesOfDataOnDevices) {
  go_around(20'000, {{"drivers", "cpu,sim"}, {"sim.class", "cpu"}, {"cpu.units", "false"}});
}

// Tasks of one sequence on data of all ranks; the result is that of one rank alone.
TEST(Job, TasksRunWhereTheirDataLive) {
  for (const uint32_t n : {1u, 2u, 4u, 7u})
    for (const uint64_t length : {uint64_t{3}, uint64_t{1000}}) {
      constexpr int kData = 6, kSteps = 200;
      std::vector<std::vector<int64_t>> expected(kData, std::vector<int64_t>(length));
      for (int i = 0; i < kData; ++i)
        for (uint64_t e = 0; e < length; ++e) expected[i][e] = i;
      uint64_t seed = 11;
      std::vector<std::pair<int, int>> steps;
      for (int s = 0; s < kSteps; ++s) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int a = static_cast<int>(seed >> 33) % kData, b = (a + 1 + static_cast<int>(seed >> 40) % (kData - 1)) % kData;
        steps.emplace_back(a, b);
        for (uint64_t e = 0; e < length; ++e) expected[b][e] = (expected[b][e] + expected[a][e]) % 1'000'003;
      }
      as_ranks(n, [&](JobRank &me) {
        const auto c = me.codelet("add", [](const consort_call *call) -> consort_status {
          add(call);
          for (uint64_t i = 0; i < size_of(call); ++i) elements<int64_t>(call, 1)[i] %= 1'000'003;
          return CONSORT_OK;
        });
        std::vector<std::vector<int64_t>> v(kData, std::vector<int64_t>(length));
        std::vector<consort_data_id> x;
        for (int i = 0; i < kData; ++i) {
          for (int64_t &e : v[i]) e = i;
          x.push_back(me.vector(v[i].data(), length, 8, 100 + i, static_cast<uint32_t>(i) % n));
        }
        for (const auto &[a, b] : steps) {
          const auto id = me.submit(c, {{x[a], CONSORT_M_R, 0}, {x[b], CONSORT_M_RW, 0}});
          EXPECT_EQ(id.v != 0, static_cast<uint32_t>(b) % n == me.rank());
        }
        EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
        for (int i = 0; i < kData; ++i) {
          ASSERT_EQ(consort_unregister(me.rt, x[i]), CONSORT_OK) << consort_error();
          if (static_cast<uint32_t>(i) % n == me.rank()) {
            EXPECT_EQ(v[i], expected[i]) << i;
          }
        }
      });
    }
}

uint64_t tasks_of(consort_runtime *rt) {
  consort_info i{};
  i.size = sizeof i;
  EXPECT_EQ(consort_get_info(rt, &i), CONSORT_OK);
  return i.submitted;
}

TEST(Job, ContentsAreSentOnceUntilTheyAreOverwritten) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 5, b = 0;
    const auto add_c = me.codelet("add", add), one = me.codelet("add one", add_one);
    const auto x = me.vector(&a, 1, 8, 1, 0), y = me.vector(&b, 1, 8, 2, 1);
    const uint64_t before = tasks_of(me.rt);
    for (int i = 0; i < 10; ++i) me.submit(add_c, {{x, CONSORT_M_R, 0}, {y, CONSORT_M_RW, 0}});
    EXPECT_EQ(tasks_of(me.rt) - before, me.rank() ? 11u : 1u) << "one send, or one receive and ten tasks";
    me.submit(one, {{x, CONSORT_M_RW, 0}});
    me.submit(add_c, {{x, CONSORT_M_R, 0}, {y, CONSORT_M_RW, 0}});
    ASSERT_EQ(consort_data_flush(me.rt, x), CONSORT_OK);
    me.submit(add_c, {{x, CONSORT_M_R, 0}, {y, CONSORT_M_RW, 0}});
    ASSERT_EQ(consort_data_flush(me.rt, {0}), CONSORT_OK);
    me.submit(add_c, {{x, CONSORT_M_R, 0}, {y, CONSORT_M_RW, 0}});
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, y), CONSORT_OK) << consort_error();
    if (me.rank() == 1) {
      EXPECT_EQ(b, 50 + 3 * 6);
    }
  });
}

TEST(Job, PlaceNamesTheRank) {
  as_ranks(3, [](JobRank &me) {
    int64_t a = 1, b = 2;
    const auto both = me.codelet("add one", [](const consort_call *c) -> consort_status {
      ++*elements<int64_t>(c, 0), ++*elements<int64_t>(c, 1);
      return CONSORT_OK;
    });
    const auto x = me.vector(&a, 1, 8, 1, 0), y = me.vector(&b, 1, 8, 2, 1);
    const std::vector<consort_use> uses{{x, CONSORT_M_RW, 0}, {y, CONSORT_M_RW, 0}};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = both, d.uses = uses.data(), d.nuses = 2;
    EXPECT_EQ(consort_job_submit(me.rt, &d, nullptr, nullptr), CONSORT_E_INVAL);
    EXPECT_STREQ(consort_error(), "the task writes data of rank 0 (tag 1) and of rank 1 (tag 2): name a place for it");
    consort_place place = CONSORT_PLACE_INIT;
    place.flags = CONSORT_PLACE_RANK, place.rank = 2;
    for (int i = 0; i < 5; ++i) EXPECT_EQ(me.submit(both, uses, &place).v != 0, me.rank() == 2);
    place.flags = CONSORT_PLACE_DATA, place.data = y;
    EXPECT_EQ(me.submit(both, uses, &place).v != 0, me.rank() == 1);
    place.flags = CONSORT_PLACE_RANK, place.rank = 3;
    EXPECT_EQ(consort_job_submit(me.rt, &d, &place, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_unregister(me.rt, x), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_unregister(me.rt, y), CONSORT_OK) << consort_error();
    if (me.rank() == 0) {
      EXPECT_EQ(a, 7);
    }
    if (me.rank() == 1) {
      EXPECT_EQ(b, 8);
    }
  });
}

TEST(Job, OwnerMayChange) {
  as_ranks(3, [](JobRank &me) {
    int64_t a = 1;
    const auto one = me.codelet("add one", add_one);
    const auto x = me.vector(&a, 1, 8, 1, 0);
    for (uint32_t i = 0; i < 12; ++i) {
      EXPECT_EQ(me.submit(one, {{x, CONSORT_M_RW, 0}}).v != 0, me.rank() == i % 3);
      ASSERT_EQ(consort_data_migrate(me.rt, x, (i + 1) % 3), CONSORT_OK) << consort_error();
      uint32_t owner;
      uint64_t tag;
      ASSERT_EQ(consort_data_owner(me.rt, x, &owner, &tag), CONSORT_OK);
      EXPECT_EQ(owner, (i + 1) % 3);
      EXPECT_EQ(tag, 1u);
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_unregister(me.rt, x), CONSORT_OK) << consort_error();
    if (me.rank() == 0) {
      EXPECT_EQ(a, 13);
    }
  });
}

TEST(Job, FetchBringsContentsToOneRank) {
  as_ranks(3, [](JobRank &me) {
    int64_t a = 41;
    const auto one = me.codelet("add one", add_one);
    const auto x = me.vector(&a, 1, 8, 1, 2);
    me.submit(one, {{x, CONSORT_M_RW, 0}});
    ASSERT_EQ(consort_data_fetch(me.rt, x, 0), CONSORT_OK);
    if (me.rank() != 1) {
      consort_hold hold;
      ASSERT_EQ(consort_acquire(me.rt, x, CONSORT_M_R, CONSORT_FOREVER, &hold), CONSORT_OK) << consort_error();
      EXPECT_EQ(*static_cast<const int64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr)), 42);
      EXPECT_EQ(consort_release(me.rt, hold), CONSORT_OK);
    }
  });
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

TEST(Job, LengthsMustAgree) {
  as_ranks(2, [](JobRank &me) {
    std::vector<int64_t> v(1000);
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, v.data(), me.rank() ? 1000 : 999, 8, &x), CONSORT_OK);
    const auto request = me.rank() ? me.receive(me.message(x, 0, 1)) : me.send(me.message(x, 1, 1));
    EXPECT_EQ(me.wait(request), CONSORT_E_INVAL);
    EXPECT_NE(std::string(consort_error()).find("register it with the same sizes on all ranks"), std::string::npos) << consort_error();
    (void)me.wait_all();
  });
}

TEST(Job, RequestsMayBeTestedAndCallbacksAreCalled) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = me.rank() ? 0 : 9;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    std::atomic<int> called{0};
    consort_message m = me.message(x, 1 - me.rank(), 5);
    m.flags = CONSORT_MESSAGE_SYNC * !me.rank();
    m.done = [](void *arg, const consort_outcome *o) { *static_cast<std::atomic<int> *>(arg) += o->status == CONSORT_OK; };
    m.done_arg = &called;
    if (!me.rank()) {
      const auto request = me.send(m);
      EXPECT_EQ(consort_task_wait(me.rt, request, 20'000'000, 0), CONSORT_E_TIMEOUT) << "no receive has begun";
      EXPECT_EQ(consort_task_state(me.rt, request), CONSORT_AGAIN);
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
      EXPECT_EQ(me.wait(request), CONSORT_OK) << consort_error();
    } else {
      ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK);
      EXPECT_EQ(me.wait(me.receive(m)), CONSORT_OK) << consort_error();
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK);
    EXPECT_EQ(called, 1);
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK);
    EXPECT_EQ(a, 9);
  });
}

TEST(Job, EndOfAMessageMayReachATag) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    consort_message m = me.message(x, 1 - me.rank(), 5);
    m.done = [](void *rt, const consort_outcome *) { (void)consort_tag_notify(static_cast<consort_runtime *>(rt), 77); };
    m.done_arg = me.rt;
    (void)(me.rank() ? me.send(m) : me.receive(m));
    const uint64_t tag = 77;
    EXPECT_EQ(consort_tag_wait(me.rt, &tag, 1, CONSORT_FOREVER, 0), CONSORT_OK) << consort_error();
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  });
}

// Of a matrix whose lines do not lie together at one of the ranks.
TEST(Job, LinesWithGapsArePacked) {
  as_ranks(2, [](JobRank &me) {
    constexpr uint64_t kX = 30, kY = 40, kLd = 50;
    std::vector<double> v(kLd * kY, -1);
    const bool has_gaps = me.rank() == 1;
    consort_data_id x{};
    if (!me.rank())
      for (uint64_t i = 0; i < kX * kY; ++i) v[i] = static_cast<double>(i);
    ASSERT_EQ(consort_register_matrix(me.rt, v.data(), kX, kY, has_gaps ? kLd : kX, 8, &x), CONSORT_OK);
    for (int i = 0; i < 3; ++i) {  // there, back, there
      const bool sends = i % 2 == static_cast<int>(me.rank());
      if (sends) me.send(me.message(x, 1 - me.rank(), 1));
      else me.receive(me.message(x, 1 - me.rank(), 1));
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK);
    for (uint64_t i = 0; i < kX * kY && has_gaps; ++i) ASSERT_EQ(v[i / kX * kLd + i % kX], static_cast<double>(i));
    if (has_gaps) {
      EXPECT_EQ(v[kX], -1) << "the gaps are not written";
    }
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

// All-reduce: a tree of tasks, then a tree of messages.
TEST(Job, PartsOfAllRanksAreCombinedAndSpread) {
  for (const uint32_t n : {1u, 2u, 5u, 7u})
    for (const uint64_t length : {uint64_t{4}, uint64_t{500}})
      as_ranks(n, [&](JobRank &me) {
        constexpr uint32_t kParts = 9;
        const auto combine = me.codelet("combine", [](const consort_call *c) -> consort_status {
          for (uint64_t i = 0; i < size_of(c); ++i) elements<int64_t>(c, 0)[i] += elements<int64_t>(c, 1)[i];
          return CONSORT_OK;
        });
        const auto one = me.codelet("add one", add_one);
        std::vector<std::vector<int64_t>> v(kParts, std::vector<int64_t>(length));
        std::vector<consort_data_id> x;
        for (uint32_t i = 0; i < kParts; ++i) {
          for (int64_t &e : v[i]) e = int64_t{1} << i;
          x.push_back(me.vector(v[i].data(), length, 8, i, (i * 3 + 1) % n));
        }
        for (int turn = 1; turn <= 3; ++turn) {
          ASSERT_EQ(consort_data_reduce(me.rt, x.data(), kParts, combine), CONSORT_OK) << consort_error();
          ASSERT_EQ(consort_data_broadcast(me.rt, x[0]), CONSORT_OK) << consort_error();
          consort_hold hold;
          ASSERT_EQ(consort_acquire(me.rt, x[0], CONSORT_M_R, CONSORT_FOREVER, &hold), CONSORT_OK) << consort_error();
          const auto *at = static_cast<const int64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
          const int64_t sum = at[length - 1];
          EXPECT_EQ(consort_release(me.rt, hold), CONSORT_OK);
          if (turn == 1) {
            EXPECT_EQ(sum, (1 << kParts) - 1);
          }
          me.submit(one, {{x[0], CONSORT_M_RW, 0}});
        }
        EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
      });
}

TEST(Job, BroadcastSendsEachRankOnce) {
  as_ranks(7, [](JobRank &me) {
    int64_t a = 6;
    const auto x = me.vector(&a, 1, 8, 1, 3);
    const uint64_t before = tasks_of(me.rt);
    ASSERT_EQ(consort_data_broadcast(me.rt, x), CONSORT_OK);
    const uint64_t messages = tasks_of(me.rt) - before;
    const uint32_t distance = (me.rank() + 4) % 7;
    constexpr uint64_t kMessages[] = {3, 1, 2, 1, 3, 1, 1};  // of ranks by their distance from the owner
    EXPECT_EQ(messages, kMessages[distance]) << distance;
    ASSERT_EQ(consort_data_fetch(me.rt, x, (3 + 5) % 7), CONSORT_OK);
    EXPECT_EQ(tasks_of(me.rt) - before, messages) << "all ranks have it";
    consort_hold hold;
    ASSERT_EQ(consort_acquire(me.rt, x, CONSORT_M_R, CONSORT_FOREVER, &hold), CONSORT_OK) << consort_error();
    EXPECT_EQ(*static_cast<const int64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr)), 6);
    EXPECT_EQ(consort_release(me.rt, hold), CONSORT_OK);
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  });
}

// Scatter from rank 1, a task on each datum where it lives, gather at rank 2.
TEST(Job, DataAreScatteredAndGathered) {
  as_ranks(3, [](JobRank &me) {
    constexpr uint32_t kData = 8;
    const auto one = me.codelet("add one", add_one);
    std::vector<int64_t> v(kData);
    std::vector<consort_data_id> x(kData);
    for (uint32_t i = 0; i < kData; ++i) {
      v[i] = me.rank() == 1 ? 10 * i : 0;
      ASSERT_EQ(consort_register_vector(me.rt, &v[i], 1, 8, &x[i]), CONSORT_OK);
      ASSERT_EQ(consort_data_distribute(me.rt, x[i], i, i % 3), CONSORT_OK);
    }
    EXPECT_EQ(consort_data_scatter(me.rt, x.data(), kData, 3), CONSORT_E_INVAL);
    ASSERT_EQ(consort_data_scatter(me.rt, x.data(), kData, 1), CONSORT_OK) << consort_error();
    for (uint32_t i = 0; i < kData; ++i) me.submit(one, {{x[i], CONSORT_M_RW, 0}});
    ASSERT_EQ(consort_data_gather(me.rt, x.data(), kData, 2), CONSORT_OK) << consort_error();
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    for (uint32_t i = 0; i < kData; ++i) {
      ASSERT_EQ(consort_unregister(me.rt, x[i]), CONSORT_OK) << consort_error();
      if (me.rank() == 2 || i % 3 == me.rank()) {
        EXPECT_EQ(v[i], 10 * i + 1) << i;
      }
    }
  });
}

TEST(Job, TaskMayRunWhereMostBytesAre) {
  as_ranks(2, [](JobRank &me) {
    std::vector<int64_t> large(100);
    int64_t a = 0, b = 0;
    const auto many = me.codelet("many", [](const consort_call *c) -> consort_status { return ++*elements<int64_t>(c, 0), CONSORT_OK; });
    const auto x = me.vector(&a, 1, 8, 1, 0), y = me.vector(&b, 1, 8, 2, 0), z = me.vector(large.data(), 100, 8, 3, 1);
    consort_place place = CONSORT_PLACE_INIT;
    place.flags = CONSORT_PLACE_BYTES;
    EXPECT_EQ(me.submit(many, {{x, CONSORT_M_RW, 0}, {y, CONSORT_M_R, 0}, {z, CONSORT_M_R, 0}}, &place).v != 0, me.rank() == 1);
    EXPECT_EQ(me.submit(many, {{x, CONSORT_M_RW, 0}, {y, CONSORT_M_R, 0}}, &place).v != 0, me.rank() == 0);
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    ASSERT_EQ(consort_unregister(me.rt, x), CONSORT_OK);
    if (me.rank() == 0) {
      EXPECT_EQ(a, 2);
    }
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

// Many short messages before any receive: only so many are stored, and the rest waits at the sender.
TEST(Job, ManyMessagesWithoutReceives) {
  as_ranks(2, [](JobRank &me) {
    constexpr int kMessages = 3000;
    std::vector<int64_t> v(kMessages);
    std::vector<consort_data_id> x(kMessages);
    for (int i = 0; i < kMessages; ++i) {
      if (!me.rank()) v[i] = i;
      ASSERT_EQ(consort_register_vector(me.rt, &v[i], 1, 8, &x[i]), CONSORT_OK);
      if (!me.rank()) me.send(me.message(x[i], 1, 1));
    }
    ASSERT_EQ(consort_job_barrier(me.rt, CONSORT_FOREVER), CONSORT_OK) << consort_error();
    if (me.rank())  // in the order of the sends, whatever becomes ready first
      for (int i = 0; i < kMessages; ++i) me.receive(me.message(x[i], 0, 1));
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(consort_unregister(me.rt, x[i]), CONSORT_OK);
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(v[i], i);
  });
}

// Both ranks send more than the limited memory of the other holds; each datum is evicted and comes back.
TEST(Job, LimitedMemoryDoesNotStopBothRanks) {
  const Folder disks("job-disk");
  const std::string folder = disks.path();
  as_ranks(2, [&](JobRank &me) {
    constexpr uint64_t kLength = 32 * 1024;  // 256 KiB each
    constexpr int kData = 24;
    const auto fill = me.codelet("fill", [](const consort_call *c) -> consort_status {
      const int64_t value = static_cast<int64_t>(c->args[0].scalar);
      for (uint64_t i = 0; i < size_of(c); ++i) elements<int64_t>(c)[i] = value;
      return CONSORT_OK;
    });
    const auto check = me.codelet("check", [](const consort_call *c) -> consort_status {
      const int64_t value = static_cast<int64_t>(c->args[0].scalar);
      for (uint64_t i = 0; i < size_of(c); ++i)
        if (elements<int64_t>(c)[i] != value) return consort_fail(CONSORT_E_IO, "wrong contents");
      return CONSORT_OK;
    });
    const auto submit = [&](consort_codelet_id codelet, consort_data_id x, uint32_t mode, int64_t value) {
      const consort_use use{x, mode, 0};
      consort_arg arg{};
      arg.kind = CONSORT_ARG_SCALAR, arg.bytes = 8, arg.scalar = static_cast<uint64_t>(value);
      consort_task_desc d = CONSORT_TASK_INIT;
      d.codelet = codelet, d.uses = &use, d.nuses = 1, d.args = &arg, d.nargs = 1;
      ASSERT_EQ(consort_submit(me.rt, &d, nullptr), CONSORT_OK) << consort_error();
    };
    for (int i = 0; i < kData; ++i) {
      consort_data_id out{}, in{};
      ASSERT_EQ(consort_register_vector(me.rt, nullptr, kLength, 8, &out), CONSORT_OK);
      ASSERT_EQ(consort_register_vector(me.rt, nullptr, kLength, 8, &in), CONSORT_OK);
      submit(fill, out, CONSORT_M_W, 1000 * me.rank() + i);
      me.send(me.message(out, 1 - me.rank(), 1));
      me.receive(me.message(in, 1 - me.rank(), 1));
      submit(check, in, CONSORT_M_R, 1000 * (1 - me.rank()) + i);
    }
    EXPECT_EQ(me.wait_all(), CONSORT_OK) << consort_error();
  }, {{"drivers", "cpu,disk_posix"}, {"disk_posix.path", folder.c_str()}, {"limits", "ram=1M"}});
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

TEST(Job, SendAndReceiveRefuseNonsense) {
  as_ranks(2, [](JobRank &me) {
    int64_t a = 0;
    consort_data_id x{};
    ASSERT_EQ(consort_register_vector(me.rt, &a, 1, 8, &x), CONSORT_OK);
    consort_message m = me.message(x, me.rank(), 1);
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.rank = 2;
    EXPECT_EQ(consort_receive(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.rank = 1 - me.rank(), m.flags = 64;
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_INVAL);
    m.flags = 0, m.data = {x.v + (uint64_t{1} << 32)};
    EXPECT_EQ(consort_send(me.rt, &m, nullptr), CONSORT_E_STALE);
    EXPECT_EQ(consort_send(me.rt, nullptr, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(consort_data_distribute(me.rt, x, 1, 2), CONSORT_E_INVAL);
    EXPECT_EQ(consort_data_migrate(me.rt, x, 1), CONSORT_E_INVAL);
    const consort_use use{x, CONSORT_M_RW, 0};
    consort_task_desc d = CONSORT_TASK_INIT;
    d.uses = &use, d.nuses = 1;
    EXPECT_EQ(consort_job_submit(me.rt, &d, nullptr, nullptr), CONSORT_E_INVAL);
    EXPECT_EQ(consort_job_submit(me.rt, nullptr, nullptr, nullptr), CONSORT_E_INVAL);
  });
}

}  // namespace
