// Data of a job and their tasks: owners, inferred transfers, collectives, and memory that is too small.
#include <consort/layouts.h>

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

// Tasks of one sequence on data of all ranks; the result is that of one rank alone.
TEST(JobData, TasksRunWhereTheirDataLive) {
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

TEST(JobData, ContentsAreSentOnceUntilTheyAreOverwritten) {
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

TEST(JobData, PlaceNamesTheRank) {
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

TEST(JobData, OwnerMayChange) {
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

TEST(JobData, FetchBringsContentsToOneRank) {
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

// All-reduce: a tree of tasks, then a tree of messages.
TEST(JobData, PartsOfAllRanksAreCombinedAndSpread) {
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

TEST(JobData, BroadcastSendsEachRankOnce) {
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
TEST(JobData, DataAreScatteredAndGathered) {
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

TEST(JobData, TaskMayRunWhereMostBytesAre) {
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

// Both ranks send more than the limited memory of the other holds; each datum is evicted and comes back.
TEST(JobData, LimitedMemoryDoesNotStopBothRanks) {
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

}  // namespace
