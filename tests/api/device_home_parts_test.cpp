// Parts of data whose home is on a device. They are used in place there, and on the host and other devices like any
// parts. They are back in that very memory when the whole is unregistered (DAT-03, FLT-02, FLT-19).
#include <random>

#include "device_home.hpp"
#include "division.hpp"

namespace consort_test {
namespace {

std::vector<consort_data_id> blocks(const Machine &m, consort_data_id x, uint32_t n, consort_plan_id *plan) {
  return split(m, x, "blocks", n, plan);
}

TEST(DeviceHomeParts, PartsAreUsedInPlace) {
  for (const bool is_virtual : {false, true}) {
    Words there(1024, 1);
    Machine m({}, is_virtual);
    const auto x = m.born(there, 0);
    consort_plan_id plan{0};
    const auto part = blocks(m, x, 4, &plan);
    std::atomic<const uint64_t *> seen{nullptr};
    const auto look = m.on_any("look", [&](const consort_call &c) { return seen = pointer<uint64_t>(c, 0), CONSORT_OK; });
    for (int round = 0; round < 3; ++round) {
      for (uint32_t i = 0; i < 4; ++i) Desc(m.add).rw(part[i]).arg(uint64_t{i}).on(m.devices[0]).must(m);
      Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[0]).must(m);
    }
    Desc(look).rw(part[2]).on(m.devices[0]).must(m);
    EXPECT_EQ(m.moved(), 0u) << "all is where it is used";
    EXPECT_EQ(seen, there.data() + 512);
    EXPECT_EQ(m.use(m.space[0]).used, 0u);
    for (uint64_t i = 0; i < 1024; ++i) ASSERT_EQ(there[i], 4 + 3 * (i / 256)) << i;

    uint64_t sum = 0;
    Desc(m.add).rw(part[1]).arg(uint64_t{1}).on(m.cores[0]).must(m);
    EXPECT_EQ(m.moved(), 2048u) << "one part alone goes to the host";
    Desc(m.sum).r(x).arg(&sum).on(m.devices[0]).must(m);
    EXPECT_EQ(m.moved(), 4096u) << "and comes back";
    EXPECT_EQ(sum, 256u * (4 + 7 + 10 + 13 + 1));
    Desc(m.add).rw(part[3]).arg(uint64_t{1}).on(m.devices[1]).must(m);  // over the host
    ASSERT_OK(consort_unregister(m, x));                                // and back
    EXPECT_EQ(m.moved(), 4096u + 4 * 2048);
    for (uint64_t i = 0; i < 1024; ++i) ASSERT_EQ(there[i], 4 + 3 * (i / 256) + (i / 256 % 2)) << i;
    EXPECT_SAYS(CONSORT_E_STALE, consort_plan_destroy(m, plan), "stale");
  }
}

// Rows have gaps at home, which belong to no element. Other replicas have none.
TEST(DeviceHomeParts, TilesOfAPaddedMatrix) {
  constexpr uint64_t kX = 6, kY = 8, kLd = 11;
  Words there(kLd * kY, 1);
  Machine m;
  const consort_matrix_args a{there.data(), kX, kY, kLd, sizeof(uint64_t)};
  const consort_data_desc d{sizeof d, 0, "matrix", &a, sizeof a, nullptr};
  consort_data_id x{0};
  ASSERT_OK(consort_register_in(m, &d, m.space[0], &x));
  const auto add = m.on_any("add", [](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i) pointer<uint64_t>(c, 0)[j * v.ld + i] += value<uint64_t>(c, 0);
    return CONSORT_OK;
  });
  consort_plan_id plan{0};
  const consort_tiles grid{3, 2};
  const auto part = divide(m, x, "tiles", &grid, sizeof grid, &plan);
  const uint32_t everywhere[] = {m.devices[0], m.cores[0], m.devices[1], m.cores[1]};
  for (uint64_t round = 0; round < 4; ++round) {
    for (size_t i = 0; i < part.size(); ++i) Desc(add).rw(part[i]).arg(uint64_t{100 * i}).on(everywhere[(i + round) % 4]).must(m);
    Desc(add).rw(x).arg(uint64_t{1}).on(everywhere[round]).must(m);
  }
  ASSERT_OK(consort_unregister(m, x));
  for (uint64_t j = 0; j < kY; ++j)
    for (uint64_t i = 0; i < kLd; ++i) {
      const uint64_t tile = j / 4 * 3 + i / 2;
      ASSERT_EQ(there[j * kLd + i], i < kX ? 5 + 400 * tile : 1) << j << ", " << i;
    }
}

// Random accesses to the datum and its parts, checked against a sequential run. Memory is short, and routes differ.
struct Case {
  Machine m;
  std::mt19937 random;
  Words there, want;
  consort_data_id x{0};
  struct Part {
    consort_data_id id;
    size_t at, n;
    bool read_only;
  };
  std::vector<Part> parts;
  struct Read {
    uint64_t want, got = 0;
  };
  std::vector<std::unique_ptr<Read>> reads;
  static constexpr size_t kN = 960;  // divided by 2 to 6

  Case(const Pairs &more, bool is_virtual, uint32_t seed) : m(more, is_virtual), random(seed), there(kN, 1), want(kN, 1) {}
  uint32_t anywhere() {
    const uint32_t w = random() % 5;
    return w < 2 ? m.devices[w] : w < 4 ? m.cores[w % 2] : CONSORT_NONE;
  }
  void set_up() {
    x = m.born(there, random() % 2);
    parts = {{x, 0, kN, false}};
    consort_plan_id plan{0};
    const uint32_t n = 2 + random() % 4;
    const auto first = blocks(m, x, n, &plan);
    for (uint32_t i = 0; i < n; ++i) parts.push_back({first[i], i * kN / n, kN / n, false});
    const auto thirds = blocks(m, x, 3, &plan);
    for (size_t i = 0; i < 3; ++i) parts.push_back({thirds[i], i * kN / 3, kN / 3, false});
    const auto inner = blocks(m, thirds[1], 2, &plan);
    for (size_t i = 0; i < 2; ++i) parts.push_back({inner[i], kN / 3 + i * kN / 6, kN / 6, false});
    const consort_halo border{4, 0, 8, 0};
    const auto wide = divide(m, x, "overlap", &border, sizeof border, &plan);
    for (size_t i = 0; i < 4; ++i) {
      const size_t from = i ? i * kN / 4 - 8 : 0, to = i < 3 ? (i + 1) * kN / 4 + 8 : kN;
      parts.push_back({wide[i], from, to - from, true});
    }
  }
  void step() {
    const Part &p = parts[random() % parts.size()];
    if (random() % 2 || p.read_only) {
      reads.push_back(std::make_unique<Read>(Read{std::accumulate(&want[p.at], &want[p.at] + p.n, uint64_t{0})}));
      Desc(m.sum).r(p.id).arg(&reads.back()->got).on(anywhere()).must(m);
    } else {
      const uint64_t by = random() % 9;
      for (size_t i = p.at; i < p.at + p.n; ++i) want[i] += by;
      Desc(m.add).rw(p.id).arg(by).on(anywhere()).must(m);
    }
    switch (random() % 24) {
      case 0: need(consort_wont_use(m, p.id), "wont_use"); break;
      case 1: need(consort_prefetch(m, p.id, m.space[random() % 2], 0, 0, nullptr), "prefetch"); break;
      case 2: (void)consort_evict(m, p.id, m.space[random() % 2]); break;  // refused where that is its home
      case 3: need(consort_data_set_write_through(m, x, random() % 2 ? uint64_t{1} << m.space[random() % 2] : 0), "through"); break;
      case 4: {
        consort_hold hold;
        need(consort_acquire(m, p.id, CONSORT_M_R, kLong, &hold), "acquire");
        const auto *words = static_cast<const uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
        for (size_t i = 0; i < p.n; ++i) ASSERT_EQ(words[i], want[p.at + i]);
        need(consort_release(m, hold), "release");
        break;
      }
      default: break;
    }
  }
};

TEST(DeviceHomeParts, RandomAccessesGiveTheSequentialValues) {
  for (const bool is_virtual : {false, true})
    for (const char *peer : {"0", "24G"})
      for (uint32_t seed = 1; seed <= (full() ? 60u : 6u); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " peer " + peer + (is_virtual ? " virtual" : ""));
        Pairs more{{"sim.peer", peer}};
        if (seed % 2) more.push_back({"limits", "sim0:ram=10K, sim1:ram=10K"});
        Case c(more, is_virtual, seed);
        for (int life = 0; life < 2; ++life) {
          c.set_up();
          for (int step = 0; step < 120; ++step) {
            c.step();
            if (HasFatalFailure()) return;
          }
          ASSERT_OK(consort_unregister(c.m, c.x));
          ASSERT_EQ(c.there, c.want);
        }
        ASSERT_OK(consort_wait_all(c.m, kLong, 0));
        for (const auto &r : c.reads) ASSERT_EQ(r->got, r->want);
        for (const uint32_t s : c.m.space) EXPECT_EQ(c.m.use(s).needed_evictions, 0u);
      }
}

// Parts that are read stay valid while the whole is read: no task waits, and nothing is gathered.
TEST(DeviceHomeParts, PartsAndWholeAreReadTogether) {
  Words there(1000, 1);
  Machine m;
  const auto x = m.born(there, 0);
  consort_plan_id plan{0}, halo{0};
  const auto part = blocks(m, x, 4, &plan);
  const consort_halo border{4, 0, 1, 0};
  const auto wide = divide(m, x, "overlap", &border, sizeof border, &halo);
  uint64_t sum[9] = {};
  for (int round = 0; round < 3; ++round) {
    Desc(m.sum).r(x).arg(&sum[8]).on(m.devices[0]).must(m);
    for (int i = 0; i < 4; ++i) Desc(m.sum).r(part[i]).arg(&sum[i]).on(m.devices[0]).must(m);
    for (int i = 0; i < 4; ++i) Desc(m.sum).r(wide[i]).arg(&sum[4 + i]).on(m.devices[0]).must(m);
  }
  EXPECT_EQ(m.moved(), 0u);
  EXPECT_EQ(sum[8], 1000u);
  EXPECT_EQ(sum[1], 250u);
  EXPECT_EQ(sum[5], 252u);
  ASSERT_OK(consort_unregister(m, x));
}

// The contents are invalidated, so nothing is copied. Later writes of parts are copied home.
TEST(DeviceHomeParts, InvalidatedContentsAreWrittenAgain) {
  Words there(100, 3);
  Machine m;
  auto x = m.born(there, 0);
  consort_plan_id plan{0};
  auto part = blocks(m, x, 2, &plan);
  Desc(m.add).rw(part[0]).arg(uint64_t{1}).on(m.devices[1]).must(m);
  ASSERT_OK(consort_invalidate(m, x));
  ASSERT_OK(consort_unregister(m, x));
  const uint64_t before = m.moved();
  x = m.born(there, 0);
  part = blocks(m, x, 2, &plan);
  ASSERT_OK(consort_invalidate(m, x));
  const auto fill = m.on_any("fill", [](const consort_call &c) {
    const auto &v = *static_cast<const consort_vector_view *>(c.views[0]);
    return std::fill_n(pointer<uint64_t>(c, 0), v.n, 7), CONSORT_OK;
  });
  Desc(fill).w(part[0]).on(m.devices[1]).must(m);
  Desc(fill).w(part[1]).on(m.cores[0]).must(m);
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(there, Words(100, 7));
  EXPECT_GT(m.moved(), before);
}

TEST(DeviceHomeParts, StopCopiesPartsHome) {
  for (const bool is_virtual : {false, true}) {
    Words there(100, 1);
    Machine m({}, is_virtual);
    const auto x = m.born(there, 0);
    consort_plan_id plan{0};
    const auto part = blocks(m, x, 4, &plan);
    for (uint32_t i = 0; i < 4; ++i) Desc(m.add).rw(part[i]).arg(uint64_t{i}).on(i ? m.devices[i % 2] : m.cores[0]).must(m);
    ASSERT_OK(m.rt->stop());
    for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(there[i], 1 + i / 25) << i;
  }
}

// Parts have memory on the host, too. Where that is refused, the task that uses a part fails with a message.
TEST(DeviceHomeParts, HostMemoryLimitIsReported) {
  Words there(1024, 1);
  Machine m(Pairs{{"limits", "ram=4K"}});
  const auto x = m.born(there, 0);
  consort_plan_id plan{0};
  const auto part = blocks(m, x, 4, &plan);
  const auto t = Desc(m.add).rw(part[1]).arg(uint64_t{1}).on(m.devices[0]).must(m);
  EXPECT_LT(consort_task_wait(m, t, kLong, 0), 0);
  EXPECT_SAYS(CONSORT_E_NOMEM, consort_wait_all(m, kLong, 0), "it needs 8192 bytes in ram at once", "raise the limit");
  (void)consort_unregister(m, x);
  consort_data_id y{0};
  ASSERT_OK(m.try_born(there, 0, &y)) << "it was given back";
  Desc(m.add).rw(y).arg(uint64_t{1}).on(m.devices[0]).must(m);
  ASSERT_OK(consort_unregister(m, y));
  EXPECT_EQ(there, Words(1024, 2));
}

// A lost device loses the contents that it alone had. The rest of the machine goes on.
TEST(DeviceHomeParts, LostDeviceLosesOnlyItsContents) {
  for (int nth = 1; nth <= 12; ++nth) {
    const std::string fault = "lost@" + std::to_string(nth) + "/0";
    SCOPED_TRACE(fault);
    Words there(100, 1), other(100, 1);
    Machine m(Pairs{{"sim.faults", fault.c_str()}});
    const auto x = m.born(there, 0);
    consort_plan_id plan{0};
    const auto part = blocks(m, x, 4, &plan);
    for (int round = 0; round < 2; ++round) {
      for (uint32_t i = 0; i < 4; ++i) Desc(m.add).rw(part[i]).arg(uint64_t{1}).on(i % 2 ? m.devices[0] : m.cores[0]).must(m);
      Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[1]).must(m);
    }
    const bool good = consort_wait_all(m, kLong, 0) == CONSORT_OK;
    const bool back = consort_unregister(m, x) == CONSORT_OK;
    if (good && back) {
      EXPECT_EQ(there, Words(100, 5));
    }
    (void)consort_wait_all(m, kLong, 0);
    const auto y = m.born(other, 1);
    Desc(m.add).rw(y).arg(uint64_t{1}).on(m.cores[0]).must(m);
    ASSERT_OK(consort_unregister(m, y));
    EXPECT_EQ(other, Words(100, 2));
  }
}

}  // namespace
}  // namespace consort_test
