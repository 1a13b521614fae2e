// A datum and its parts side by side: accepted programs, the order of tasks, refusals and their messages.
#include "api/harness.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

using namespace consort_test;

namespace {

consort_status plan_of(consort_runtime *rt, consort_data_id x, const char *filter, const void *params, uint64_t bytes,
                       consort_plan_id *out, const char *name = nullptr, uint32_t flags = 0) {
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = filter;
  d.params = params;
  d.params_bytes = bytes;
  d.name = name;
  d.flags = flags;
  return consort_plan_create(rt, x, &d, out);
}
struct Parts {
  consort_plan_id plan{0};
  std::vector<consort_data_id> part;
  consort_data_id operator[](size_t i) const { return part[i]; }
  size_t size() const { return part.size(); }
};
Parts divide(consort_runtime *rt, consort_data_id x, const char *filter, uint32_t n, const char *name = nullptr,
             uint32_t flags = 0) {
  const consort_split params{n, 0};
  Parts p;
  need(plan_of(rt, x, filter, &params, sizeof params, &p.plan, name, flags), "plan");
  p.part.resize(n);
  EXPECT_EQ(consort_plan_parts(rt, p.plan, p.part.data(), n), int64_t{n});
  return p;
}

struct Partition : ::testing::Test {
  Rt rt;
  Bodies body;
  std::vector<long> v = std::vector<long>(12);
  consort_data_id x{0};
  consort_codelet_id add{0}, sum{0}, wait{0};
  Gate gate;
  std::atomic<long> seen{-1};

  void SetUp() override {
    std::iota(v.begin(), v.end(), 0);
    x = vector_of(rt, v.data(), v.size(), sizeof(long), "x");
    add = body(rt, "add", [](const consort_call &c) {
      const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
      for (uint64_t i = 0; i < w.n; ++i) pointer<long>(c, 0)[i] += value<long>(c, 0);
      return CONSORT_OK;
    });
    sum = body(rt, "sum", [this](const consort_call &c) {
      const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
      seen = std::accumulate(pointer<long>(c, 0), pointer<long>(c, 0) + w.n, 0L);
      return CONSORT_OK;
    });
    wait = body(rt, "wait", [this](const consort_call &) {
      gate.pass();
      return CONSORT_OK;
    });
  }
  void TearDown() override { gate.open(); }
  consort_task_id more(consort_data_id d, long by) { return Desc(add).rw(d).arg(by).must(rt); }
  long sum_of(consort_data_id d) {
    const auto t = Desc(sum).r(d).must(rt);
    EXPECT_OK(consort_task_wait(rt, t, kLong, CONSORT_WAIT_NO_HELP));
    return seen;
  }
  bool over(consort_task_id t) { return consort_task_state(rt, t) == CONSORT_OK; }
};

TEST_F(Partition, PartsShareMemoryWithTheWhole) {
  auto p = divide(rt, x, "blocks", 3);
  for (uint32_t i = 0; i < 3; ++i) more(p[i], 100 * (i + 1));
  EXPECT_EQ(sum_of(x), 66 + 4 * 600);  // without an explicit gather
  EXPECT_EQ(v[0], 100);                // in place: the home copy itself
  EXPECT_EQ(v[11], 311);
  more(x, 1000);
  EXPECT_EQ(sum_of(p[2]), 8 + 9 + 10 + 11 + 4 * 1300);
  EXPECT_OK(consort_plan_destroy(rt, p.plan));
  more(x, 1);
  EXPECT_EQ(sum_of(x), 66 + 4 * 600 + 12 * 1001);
}

TEST_F(Partition, HandlesFollowTheFiltersOrder) {
  const auto p = divide(rt, x, "blocks", 2);
  const auto q = divide(rt, p[1], "blocks", 3);
  consort_data_id two[2] = {};
  EXPECT_EQ(consort_plan_parts(rt, q.plan, two, 2), 3);
  EXPECT_EQ(two[1].v, q[1].v);
  EXPECT_EQ(consort_plan_parts(rt, q.plan, nullptr, 0), 3);
  EXPECT_EQ(sum_of(q[2]), 10 + 11);
  more(q[0], 5);
  EXPECT_EQ(sum_of(p[1]), 6 + 7 + 8 + 9 + 10 + 11 + 10);
}

TEST_F(Partition, SeveralPlansOfOneMatrix) {
  std::vector<int> m(6 * 4);
  consort_data_id a;
  ASSERT_OK(consort_register_matrix(rt, m.data(), 6, 4, 6, sizeof(int), &a));
  const auto rows = divide(rt, a, "rows", 2), cols = divide(rt, a, "cols", 3);
  const auto fill = body(rt, "fill", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < w.ny; ++j)
      for (uint64_t i = 0; i < w.nx; ++i) {
        int &e = pointer<int>(c, 0)[j * w.ld + i];
        e = e * 10 + value<int>(c, 0);
      }
    return CONSORT_OK;
  });
  for (int i = 0; i < 2; ++i) Desc(fill).rw(rows[static_cast<size_t>(i)]).arg(i + 1).must(rt);
  for (int i = 0; i < 3; ++i) Desc(fill).rw(cols[static_cast<size_t>(i)]).arg(i + 5).must(rt);
  Desc(fill).rw(rows[0]).arg(9).must(rt);
  consort_hold h;
  ASSERT_OK(consort_acquire(rt, a, CONSORT_M_R, kLong, &h));
  EXPECT_EQ(m[0], 159);
  EXPECT_EQ(m[5], 179);
  EXPECT_EQ(m[6 + 2], 169);
  EXPECT_EQ(m[3 * 6 + 2], 26);
  EXPECT_OK(consort_release(rt, h));
  EXPECT_OK(consort_unregister(rt, a));
}

TEST_F(Partition, ReadersOfAllLevelsRunTogether) {
  const auto p = divide(rt, x, "blocks", 3), q = divide(rt, x, "blocks", 4);
  const auto below = divide(rt, p[0], "blocks", 2);
  more(below[1], 1);
  more(p[1], 1);
  const auto stuck = Desc(wait).r(p[2]).must(rt);  // submitted first, waits for the gate alone
  EXPECT_EQ(sum_of(x), 66 + 2 + 4);
  EXPECT_EQ(sum_of(q[0]), 0 + 1 + 2 + 1);
  EXPECT_EQ(sum_of(below[1]), 2 + 3 + 2);
  EXPECT_FALSE(over(stuck));
  // A writer of another part of that plan comes after the reader of the whole, but not after the reader of this part.
  more(p[0], 10);
  EXPECT_EQ(sum_of(p[0]), 6 + 2 + 40);
  EXPECT_FALSE(over(stuck));
  const auto all = more(x, 1);
  EXPECT_FALSE(over(all));
  gate.open();
  EXPECT_OK(consort_task_wait(rt, all, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_TRUE(over(stuck));
}

TEST_F(Partition, WritersOfDifferentPartsRunTogether) {
  const auto p = divide(rt, x, "blocks", 3);
  const auto stuck = Desc(wait).rw(p[0]).must(rt);
  EXPECT_OK(consort_task_wait(rt, more(p[1], 1), kLong, CONSORT_WAIT_NO_HELP));
  const auto all = more(x, 1);
  EXPECT_FALSE(over(all));
  gate.open();
  EXPECT_OK(consort_task_wait(rt, all, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_TRUE(over(stuck));
}

TEST_F(Partition, WritesFollowReadsOnTwoLevels) {
  const auto p = divide(rt, x, "blocks", 3);
  const auto nothing = body(rt, "nothing", [](const consort_call &) { return CONSORT_OK; });
  for (int round = 0; round < 50; ++round) {
    for (uint32_t i = 0; i < 3; ++i) more(p[i], 1);
    Desc(nothing).r(x).must(rt);
    Desc(nothing).r(p[1]).must(rt);
  }
  EXPECT_EQ(sum_of(x), 66 + 50 * 12);
}

TEST_F(Partition, RefusesBadParameters) {
  consort_plan_id plan{0};
  const consort_split none{0, 0}, three{3, 0};
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "tiles!", &three, sizeof three, &plan), "vector", "tiles!", "blocks");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "blocks", &none, sizeof none, &plan), "blocks", "no part", "'x'");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "blocks", &three, 4, &plan), "8 bytes of params", "4");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "blocks", nullptr, 8, &plan), "params is NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "", &three, sizeof three, &plan), "no filter");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "blocks", &three, sizeof three, &plan, nullptr, 64), "0x40");
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, {0}, "blocks", &three, sizeof three, &plan), "null handle");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_create(rt, x, nullptr, &plan), "NULL");
  const consort_split many{1u << 30, 0};
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, x, "blocks", &many, sizeof many, &plan), "1073741824", "most");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_plan_destroy(rt, {0}), "null handle");
  EXPECT_EQ(consort_plan_parts(rt, {12345}, nullptr, 0), CONSORT_E_STALE);
  EXPECT_OK(consort_unregister(rt, x));
  EXPECT_SAYS(CONSORT_E_STALE, plan_of(rt, x, "blocks", &three, sizeof three, &plan), "stale");
}

// A task writes runs of equal numbers. The plan has as many parts as there are runs; a callback in program order reads
// the contents and makes it.
TEST_F(Partition, PartCountFollowsContents) {
  const auto write = body(rt, "write", [](const consort_call &c) {
    for (long i = 0; i < 12; ++i) pointer<long>(c, 0)[i] = i / value<long>(c, 0);
    return CONSORT_OK;
  });
  struct Division {
    Partition &test;
    Parts parts;
  };
  for (const long length : {3L, 4L, 5L, 12L}) {
    Division division{*this, {}};
    Desc(write).w(x).arg(length).must(rt);
    EXPECT_OK(consort_acquire_later(rt, x, CONSORT_M_R, [](void *p, consort_status, const consort_hold *hold) {
      Division &d = *static_cast<Division *>(p);
      const long *at = static_cast<const long *>(consort_ptr(*static_cast<const consort_addr *>(hold->view)));
      std::vector<uint64_t> sizes{0};
      for (int i = 0; i < 12; ++i) {
        if (!i || at[i] != at[i - 1]) sizes.push_back(0);
        ++sizes.back();
      }
      sizes[0] = sizes.size() - 1;  // consort_split: parts, and the axis 0
      need(plan_of(d.test.rt, d.test.x, "list", sizes.data(), sizes.size() * 8, &d.parts.plan), "plan");
      d.parts.part.resize(sizes[0]);
      EXPECT_EQ(consort_plan_parts(d.test.rt, d.parts.plan, d.parts.part.data(), static_cast<uint32_t>(sizes[0])), int64_t(sizes[0]));
      need(consort_release(d.test.rt, *hold), "release");
      for (const auto part : d.parts.part) d.test.more(part, 100);
    }, &division));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    const size_t runs = static_cast<size_t>((12 + length - 1) / length);
    ASSERT_EQ(division.parts.size(), runs) << "runs of " << length;
    EXPECT_EQ(sum_of(division.parts[runs - 1]), (100 + long(runs) - 1) * (12 - length * (long(runs) - 1)));
    EXPECT_OK(consort_plan_destroy(rt, division.parts.plan));
  }
}

TEST_F(Partition, ReadOnlyPlanRefusesWrites) {
  auto p = divide(rt, x, "blocks", 3, "look", CONSORT_PLAN_READ_ONLY);
  EXPECT_EQ(sum_of(p[1]), 4 + 5 + 6 + 7);
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).rw(p[1]).arg(1L).to(rt), "look[1]", "read-only", "'x'");
  consort_hold h;
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire(rt, p[1], CONSORT_M_W, kLong, &h), "look[1]", "read-only");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_invalidate(rt, p[0]), "look[0]", "read-only");
  const auto q = divide(rt, p[0], "blocks", 2);  // nor the parts that it makes
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).rw(q[0]).arg(1L).to(rt), "look[0].blocks[0]", "'look'");
  EXPECT_EQ(sum_of(q[1]), 2 + 3);
  EXPECT_OK(consort_acquire(rt, p[2], CONSORT_M_R, kLong, &h));
  EXPECT_OK(consort_release(rt, h));
}

TEST_F(Partition, PartHandlesLiveAsLongAsTheirPlan) {
  consort_plan_id none{0};
  consort_data_id part{0};
  EXPECT_EQ(consort_plan_parts(rt, none, &part, 1), CONSORT_E_INVAL);
  auto p = divide(rt, x, "blocks", 2);
  const auto q = divide(rt, p[0], "blocks", 2);
  more(p[0], 1);
  EXPECT_OK(consort_plan_destroy(rt, p.plan));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(add).rw(p[0]).arg(1L).to(rt), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, Desc(add).rw(q[0]).arg(1L).to(rt), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_plan_destroy(rt, p.plan), "stale");
  EXPECT_SAYS(CONSORT_E_STALE, consort_plan_destroy(rt, q.plan), "stale");
  EXPECT_EQ(consort_plan_parts(rt, q.plan, &part, 1), CONSORT_E_STALE);
  EXPECT_EQ(sum_of(x), 66 + 6);
  p = divide(rt, x, "blocks", 2);  // the same slots, other names
  EXPECT_EQ(sum_of(p[0]), 0 + 1 + 2 + 3 + 4 + 5 + 6);
}

TEST_F(Partition, RefusesOverlappingWritesOfOneTask) {
  const auto p = divide(rt, x, "blocks", 3), q = divide(rt, x, "blocks", 2, "q");
  const auto below = divide(rt, p[0], "blocks", 2);
  const auto nothing = body(rt, "nothing", [](const consort_call &) { return CONSORT_OK; });
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nothing).r(x).rw(p[1]).to(rt), "'x'", "'x.blocks[1]'", "share bytes");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nothing).rw(p[2]).r(q[0]).to(rt), "'x.blocks[2]'", "'q[0]'");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nothing).rw(below[0]).r(p[0]).to(rt), "'x.blocks[0]'", "'x.blocks[0].blocks[0]'");
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(nothing).rw(below[0]).r(x).to(rt), "'x'");
  EXPECT_OK(Desc(nothing).r(x).r(p[0]).r(below[1]).r(q[1]).to(rt));
  EXPECT_OK(Desc(nothing).rw(p[1]).r(p[2]).rw(below[0]).r(below[1]).to(rt));
  EXPECT_OK(Desc(nothing).r(below[1]).r(q[1]).r(x).r(p[0]).to(rt));
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Partition, DataWithoutHomeAndEmptyParts) {
  const consort_data_id y = vector_of(rt, nullptr, 5, sizeof(long), "y");
  const auto p = divide(rt, y, "blocks", 8);
  EXPECT_OK(Desc(sum).r(p[0]).to(rt));  // it is unwritten
  EXPECT_SAYS(CONSORT_E_INVAL, consort_wait_all(rt, kLong, 0), "y.blocks[0]", "never written");
  const auto set = body(rt, "set", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
    for (uint64_t i = 0; i < w.n; ++i) pointer<long>(c, 0)[i] = value<long>(c, 0);
    return CONSORT_OK;
  });
  for (long i = 0; i < 4; ++i) Desc(set).w(p[static_cast<size_t>(i)]).arg(i).must(rt);
  consort_hold h;
  // A part is missing.
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire(rt, y, CONSORT_M_R, kLong, &h), "never written");
  Desc(set).w(p[4]).arg(4L).must(rt);
  EXPECT_EQ(sum_of(y), 10);
  EXPECT_EQ(sum_of(p[4]), 4);
  EXPECT_EQ(sum_of(p[7]), 0);
  EXPECT_OK(consort_invalidate(rt, p[2]));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_acquire(rt, y, CONSORT_M_R, kLong, &h), "never written");
  EXPECT_EQ(sum_of(p[3]), 3);
  EXPECT_OK(consort_unregister(rt, y));
}

// A refused reader opens both plans before there is memory. The writer of the inner part gets memory for all levels.
TEST_F(Partition, WriteToUnallocatedInnerPartAfterRefusedRead) {
  const consort_data_id y = vector_of(rt, nullptr, 8, sizeof(long), "y");
  const auto outer = divide(rt, y, "blocks", 2), inner = divide(rt, outer[0], "blocks", 2);
  EXPECT_OK(Desc(sum).r(inner[0]).to(rt));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_wait_all(rt, kLong, 0), "never written");
  const auto set = body(rt, "set", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
    for (uint64_t i = 0; i < w.n; ++i) pointer<long>(c, 0)[i] = value<long>(c, 0);
    return CONSORT_OK;
  });
  for (long i = 0; i < 2; ++i) Desc(set).w(inner[static_cast<size_t>(i)]).arg(i + 1).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(sum_of(inner[1]), 4);
  EXPECT_EQ(sum_of(outer[0]), 6);
  Desc(set).w(outer[1]).arg(5L).must(rt);
  EXPECT_EQ(sum_of(y), 26);
  EXPECT_OK(consort_unregister(rt, y));
}

TEST_F(Partition, PoisonPropagatesBetweenLevels) {
  auto p = divide(rt, x, "blocks", 3);
  const auto fail =
      body(rt, "fail", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "the disk is full"); });
  Desc(fail).rw(p[1]).must(rt);
  EXPECT_SAYS(CONSORT_E_IO, consort_wait_all(rt, kLong, 0), "disk is full");
  EXPECT_EQ(sum_of(p[0]), 6);
  consort_hold h;
  EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, x, CONSORT_M_R, kLong, &h), "'x'", "disk is full");
  const auto q = divide(rt, x, "blocks", 2, "q");
  EXPECT_SAYS(CONSORT_E_POISONED, consort_acquire(rt, q[0], CONSORT_M_R, kLong, &h), "disk is full");
  const auto zero = body(rt, "zero", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
    std::fill_n(pointer<long>(c, 0), w.n, 0L);
    return CONSORT_OK;
  });
  for (uint32_t i = 0; i < 2; ++i) Desc(zero).w(q[i]).must(rt);
  EXPECT_EQ(sum_of(x), 0);
  EXPECT_EQ(sum_of(p[1]), 0);
}

TEST_F(Partition, PartsCommuteAndReduce) {
  const auto p = divide(rt, x, "blocks", 3);
  for (int i = 0; i < 20; ++i) Desc(add).use(p[1], CONSORT_M_RW | CONSORT_M_COMMUTE).arg(1L).must(rt);
  EXPECT_EQ(sum_of(x), 66 + 80);
  const auto zero = body(rt, "zero", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
    std::fill_n(pointer<long>(c, 0), w.n, 0L);
    return CONSORT_OK;
  });
  const auto unite = body(rt, "unite", [](const consort_call &c) {
    const auto &w = *static_cast<const consort_vector_view *>(c.views[0]);
    for (uint64_t i = 0; i < w.n; ++i) pointer<long>(c, 0)[i] += pointer<long>(c, 1)[i];
    return CONSORT_OK;
  });
  ASSERT_OK(consort_data_set_reduction(rt, p[2], zero, unite));
  ASSERT_OK(consort_data_set_reduction(rt, x, zero, unite));
  for (int i = 0; i < 20; ++i) Desc(add).use(p[2], CONSORT_M_REDUX).arg(1L).must(rt);
  EXPECT_EQ(sum_of(x), 66 + 80 + 80);
  for (int i = 0; i < 20; ++i) Desc(add).use(x, CONSORT_M_REDUX).arg(1L).must(rt);
  EXPECT_EQ(sum_of(p[0]), 6 + 80);
  for (int i = 0; i < 20; ++i) Desc(add).use(p[2], CONSORT_M_REDUX | CONSORT_M_FIXED_TREE).arg(1L).must(rt);
  for (int i = 0; i < 20; ++i) Desc(add).use(p[1], CONSORT_M_RW | CONSORT_M_COMMUTE).arg(1L).must(rt);
  EXPECT_EQ(sum_of(x), 66 + 160 + 240 + 160);
  EXPECT_SAYS(CONSORT_E_INVAL, Desc(add).use(p[0], CONSORT_M_REDUX).arg(1L).to(rt), "x.blocks[0]", "set_reduction");
}

TEST_F(Partition, PlansNeedOrderedData) {
  const consort_data_id y = vector_of(rt, v.data(), 4, sizeof(long), "y");
  ASSERT_OK(consort_data_set_ordered(rt, y, 0));
  consort_plan_id plan;
  const consort_split two{2, 0};
  EXPECT_SAYS(CONSORT_E_INVAL, plan_of(rt, y, "blocks", &two, sizeof two, &plan), "'y'", "set_ordered(1)");
  const auto p = divide(rt, x, "blocks", 2);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_ordered(rt, x, 0), "'x'", "has plans");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_data_set_ordered(rt, p[0], 0), "x.blocks[0]", "part");
  Desc d(add);
  d.d.flags = CONSORT_TASK_UNORDERED;
  EXPECT_SAYS(CONSORT_E_INVAL, d.rw(p[0]).arg(1L).to(rt), "without order");
}

TEST_F(Partition, AcquiresPartsAndWhole) {
  const auto p = divide(rt, x, "blocks", 3);
  consort_hold a, b, c;
  ASSERT_OK(consort_acquire(rt, p[0], CONSORT_M_RW, kLong, &a));
  ASSERT_OK(consort_acquire(rt, p[1], CONSORT_M_RW, kLong, &b));
  static_cast<long *>(consort_ptr(static_cast<const consort_vector_view *>(b.view)->addr))[0] = 1000;
  EXPECT_SAYS(CONSORT_E_BUSY, consort_acquire(rt, x, CONSORT_M_R, kLong, &c), "x.blocks[0]", "'x'", "release it first");
  EXPECT_SAYS(CONSORT_E_BUSY, consort_unregister(rt, x), "release it first");
  ASSERT_OK(consort_release(rt, a));
  ASSERT_OK(consort_release(rt, b));
  ASSERT_OK(consort_acquire(rt, x, CONSORT_M_R, kLong, &c));
  EXPECT_EQ(v[4], 1000);
  ASSERT_OK(consort_acquire(rt, p[0], CONSORT_M_R, kLong, &a));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_acquire(rt, p[0], CONSORT_M_RW, kLong, &b), "release it first");
  ASSERT_OK(consort_release(rt, a));
  ASSERT_OK(consort_release(rt, c));
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unregister(rt, p[0]), "x.blocks[0]", "is a part", "consort_plan_destroy");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_unregister_later(rt, p[0]), "is a part");
  const auto inside = body(rt, "inside", [&](const consort_call &) {
    consort_hold h;
    EXPECT_SAYS(CONSORT_E_BUSY, consort_acquire(rt, x, CONSORT_M_R, kLong, &h), "x.blocks[2]", "itself", "'x'");
    return CONSORT_OK;
  });
  Desc(inside).rw(p[2]).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Partition, UnregisterOfTheWholeEndsItsPlans) {
  auto p = divide(rt, x, "blocks", 3);
  const auto q = divide(rt, p[1], "blocks", 2);
  Desc(wait).rw(q[0]).must(rt);
  more(q[0], 7);
  const consort_data_id y = vector_of(rt, v.data(), 1, sizeof(long));
  ASSERT_OK(consort_unregister_later(rt, x));
  EXPECT_SAYS(CONSORT_E_STALE, Desc(add).rw(q[0]).arg(1L).to(rt), "stale");
  EXPECT_EQ(consort_plan_parts(rt, p.plan, nullptr, 0), CONSORT_E_STALE);
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(v[4], 11);
  consort_info info{};
  info.size = sizeof info;
  EXPECT_OK(consort_get_info(rt, &info));
  EXPECT_EQ(info.data, 1u);  // parts are not counted, and are gone
  EXPECT_OK(consort_unregister(rt, y));
}

TEST_F(Partition, DestroyNeitherWaitsNorLosesContents) {
  auto p = divide(rt, x, "blocks", 3);
  Desc(wait).rw(p[0]).must(rt);
  more(p[0], 1);
  more(p[2], 1);
  ASSERT_OK(consort_plan_destroy(rt, p.plan));  // while the gate is closed
  const auto after = more(x, 10);
  EXPECT_FALSE(over(after));
  auto q = divide(rt, x, "blocks", 6, "q");
  const auto then = more(q[5], 100);
  EXPECT_FALSE(over(then));
  gate.open();
  EXPECT_EQ(sum_of(x), 66 + 4 + 4 + 120 + 200);
  EXPECT_OK(consort_plan_destroy(rt, q.plan));
}

TEST_F(Partition, NestsPlans) {
  std::vector<long> big(1 << 10, 0);
  const consort_data_id y = vector_of(rt, big.data(), big.size(), sizeof(long), "y");
  consort_data_id d = y;
  long at = 0;
  for (int i = 0; i < 10; ++i) {
    const auto p = divide(rt, d, "blocks", 2);
    more(p[1], 1);
    d = p[i & 1];
    at = at * 2 + (i & 1);
  }
  EXPECT_EQ(sum_of(y), 512 + 256 + 128 + 64 + 32 + 16 + 8 + 4 + 2 + 1);
  EXPECT_EQ(sum_of(d), big[static_cast<size_t>(at)]);
  consort_plan_id plan;
  const consort_split one{1, 0};
  int depth = 10;
  for (; depth < 100; ++depth) {
    const Answer a(plan_of(rt, d, "blocks", &one, sizeof one, &plan));
    if (a.status < 0) {
      EXPECT_TRUE(answered(CONSORT_E_INVAL, a, {"deep", "32"}));
      break;
    }
    EXPECT_EQ(consort_plan_parts(rt, plan, &d, 1), 1);
  }
  EXPECT_EQ(depth, 32);
  more(d, 5);
  EXPECT_EQ(sum_of(y), 1023 + 5);
  EXPECT_OK(consort_unregister(rt, y));
}

TEST_F(Partition, ExplainNamesSplitAndGather) {
  const auto p = divide(rt, x, "blocks", 2);
  Desc(wait).rw(x).must(rt);
  const auto t = more(p[0], 1);
  char text[512];
  consort_explain(rt, t, text, sizeof text);
  EXPECT_NE(std::string(text).find("split"), std::string::npos) << text;
  Desc(sum).r(x).must(rt);
  const auto u = more(x, 1);
  consort_explain(rt, u, text, sizeof text);
  EXPECT_NE(std::string(text).find("gather"), std::string::npos) << text;
  gate.open();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
}

TEST_F(Partition, ConcurrentPlansAndQueries) {
  const auto nothing = body(rt, "nothing", [](const consort_call &) { return CONSORT_OK; });
  std::vector<std::thread> threads;
  std::vector<std::vector<long>> own(4, std::vector<long>(64));
  for (auto &mine : own)
    threads.emplace_back([&] {
      const consort_data_id d = vector_of(rt, mine.data(), mine.size(), sizeof(long));
      for (int i = 0; i < 30 / kSlow; ++i) {
        auto p = divide(rt, d, "blocks", 8);
        for (size_t k = 0; k < 8; ++k) more(p[k], 1);
        Desc(nothing).r(d).must(rt);
        more(p[3], 1);
        if (i % 3) need(consort_plan_destroy(rt, p.plan), "destroy");
        auto q = divide(rt, x, "blocks", 3);  // all on one
        for (size_t k = 0; k < 3; ++k) more(q[k], 1);
        need(consort_plan_destroy(rt, q.plan), "destroy");
      }
      need(consort_unregister(rt, d), "unregister");
    });
  for (auto &t : threads) t.join();
  const long rounds = 30 / kSlow;
  EXPECT_EQ(sum_of(x), 66 + 12 * 4 * rounds);
  for (const auto &mine : own) EXPECT_EQ(std::accumulate(mine.begin(), mine.end(), 0L), rounds * (64 + 8));
}

TEST(PartitionWithManualPump, StopFreesOpenPlans) {
  std::vector<long> v(8);
  Rt rt({{"workers", "1"}, {"pump", "manual"}});
  const auto x = vector_of(rt, v.data(), v.size(), sizeof(long));
  const auto p = divide(rt, x, "blocks", 4);
  divide(rt, p[0], "blocks", 2);
  EXPECT_OK(rt.stop());
}

}  // namespace
