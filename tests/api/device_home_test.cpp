// Data whose home is memory that the application has on a device. They are used there in place, copied elsewhere like
// other data, and are back in that memory after unregistration. Counted by link (DAT-03, DAT-07, DAT-14).
#include <random>
#include <thread>

#include "device_home.hpp"
#include "api/settled.hpp"
#include "support/folder.hpp"

namespace consort_test {
namespace {

TEST(DeviceHome, DataAreUsedAndReturnedInPlace) {
  for (const bool is_virtual : {false, true}) {
    Words there(1000, 1);
    Machine m({}, is_virtual);
    std::atomic<const uint64_t *> seen{nullptr};
    const auto look = m.on_any("look", [&](const consort_call &c) { return seen = pointer<uint64_t>(c, 0), CONSORT_OK; });
    const auto x = m.born(there, 0);
    EXPECT_TRUE(m.is_in(x, m.space[0]));
    EXPECT_FALSE(m.is_in(x, m.host));
    for (int i = 0; i < 3; ++i) Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[0]).must(m);
    Desc(look).r(x).on(m.devices[0]).must(m);
    EXPECT_EQ(m.moved(), 0u) << "it is where it is used";
    EXPECT_EQ(seen, there.data());
    EXPECT_EQ(m.use(m.space[0]).used, 0u) << "the application's memory is in no count";
    EXPECT_EQ(there, Words(1000, 4));

    uint64_t s = 0;
    Desc(m.sum).r(x).arg(&s).on(m.cores[0]).must(m);
    EXPECT_EQ(m.moved(), 8000u);
    EXPECT_EQ(s, 4000u);
    Desc(m.add).rw(x).arg(uint64_t{6}).on(m.cores[1]).must(m);
    EXPECT_EQ(m.moved(), 8000u);
    EXPECT_EQ(there[9], 4u) << "written in the host's memory alone";
    ASSERT_OK(consort_unregister(m, x));
    EXPECT_EQ(there, Words(1000, 10));
    EXPECT_EQ(m.moved(), 16000u);
    EXPECT_EQ(m.bytes(m.host, m.space[0]), 8000u);
    EXPECT_EQ(m.use(m.space[0]).used, 0u);

    const auto again = m.born(there, 0);  // it was given back: the driver takes it anew
    Desc(m.add).rw(again).arg(uint64_t{1}).on(m.devices[1]).must(m);  // by way of the host, and back
    ASSERT_OK(consort_unregister(m, again));
    EXPECT_EQ(there, Words(1000, 11));
    EXPECT_EQ(m.moved(), 16000u + 4 * 8000);
  }
}

TEST(DeviceHome, AcquireGivesACopyInHostMemory) {
  Words there(500);
  std::iota(there.begin(), there.end(), 0);
  Machine m;
  const auto x = m.born(there, 1);
  consort_hold hold;
  const auto words = [&] {
    return static_cast<uint64_t *>(consort_ptr(static_cast<const consort_vector_view *>(hold.view)->addr));
  };
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_R, kLong, &hold));
  EXPECT_NE(words(), there.data());
  for (uint64_t i = 0; i < there.size(); ++i) ASSERT_EQ(words()[i], i);
  ASSERT_OK(consort_release(m, hold));
  EXPECT_TRUE(m.is_in(x, m.space[1])) << "readers leave it there";
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_RW, kLong, &hold));
  EXPECT_EQ(m.moved_now(), 4000u) << "the copy is still good";
  words()[7] = 70;
  ASSERT_OK(consort_release(m, hold));
  EXPECT_FALSE(m.is_in(x, m.space[1]));
  EXPECT_EQ(there[7], 7u);
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[1]).must(m);
  EXPECT_EQ(m.moved(), 8000u);
  EXPECT_EQ(there[7], 71u);
  ASSERT_OK(consort_acquire(m, x, CONSORT_M_W, kLong, &hold));
  std::fill_n(words(), there.size(), 5);
  ASSERT_OK(consort_release(m, hold));
  EXPECT_EQ(m.moved(), 8000u) << "nothing was brought to be overwritten";
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(there, Words(500, 5));
}

// Invalidated contents are not copied home. A datum that never left its home moves nothing.
TEST(DeviceHome, UnneededContentsAreNotCopied) {
  Words there(100, 3), other(100, 4);
  Machine m;
  const auto x = m.born(there, 0), y = m.born(other, 0, "y");
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_invalidate(m, x));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(there, Words(100, 3));
  EXPECT_EQ(m.bytes(m.host, m.space[0]), 0u);
  const uint64_t before = m.moved();
  uint64_t s = 0;
  Desc(m.sum).r(y).arg(&s).on(m.cores[0]).must(m);
  ASSERT_OK(consort_unregister_later(m, y));
  EXPECT_EQ(m.moved(), before + 800);
  EXPECT_EQ(s, 400u);
  EXPECT_EQ(other, Words(100, 4));
}

TEST(DeviceHome, GapsBetweenRowsStayUntouched) {
  constexpr uint64_t kX = 5, kY = 4, kLd = 9;
  Words there(kLd * kY, 1);
  Machine m;
  const consort_matrix_args a{there.data(), kX, kY, kLd, sizeof(uint64_t)};
  const consort_data_desc d{sizeof d, 0, "matrix", &a, sizeof a, nullptr};
  consort_data_id x{0};
  ASSERT_OK(consort_register_in(m, &d, m.space[0], &x));
  const auto twice = m.on_any("twice", [](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t j = 0; j < v.ny; ++j)
      for (uint64_t i = 0; i < v.nx; ++i) pointer<uint64_t>(c, 0)[j * v.ld + i] *= 2;
    return CONSORT_OK;
  });
  for (const uint32_t w : {m.devices[0], m.cores[0], m.devices[1], m.devices[0], m.cores[1]}) Desc(twice).rw(x).on(w).must(m);
  ASSERT_OK(consort_unregister(m, x));
  for (uint64_t i = 0; i < there.size(); ++i) ASSERT_EQ(there[i], i % kLd < kX ? 32u : 1u) << i;
}

// Each device has memory for four of the runtime's own data. Homes on the device take none of it and are never evicted.
TEST(DeviceHome, HomesAreNeverEvicted) {
  for (const bool is_virtual : {false, true})
    for (uint32_t seed = 1; seed <= (full() ? 50u : 4u); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      constexpr uint64_t kN = 512;  // 4 KiB
      constexpr int kData = 18;
      std::vector<Words> memory(kData, Words(kN, 1));
      std::vector<uint64_t> want(kData, 1);
      Machine m(Pairs{{"limits", "sim0:ram=16K, sim1:ram=16K"}}, is_virtual);
      std::vector<consort_data_id> x;
      for (uint32_t i = 0; i < kData; ++i)
        x.push_back(i % 3 == 2 ? vector_of(m, memory[i].data(), kN, 8) : m.born(memory[i], i % 3));
      struct Read {
        uint64_t want, got = 0;
      };
      std::vector<std::unique_ptr<Read>> reads;
      std::mt19937 random(seed);
      for (int step = 0; step < 200; ++step) {
        const auto k = random() % kData;
        const uint32_t w = random() % 4;
        const uint32_t where = w < 2 ? m.devices[w] : w == 2 ? m.cores[random() % 2] : CONSORT_NONE;
        if (random() % 3 == 0) {
          reads.push_back(std::make_unique<Read>(Read{want[k] * kN}));
          Desc(m.sum).r(x[k]).arg(&reads.back()->got).on(where).must(m);
        } else {
          const uint64_t by = random() % 9;
          want[k] += by;
          Desc(m.add).rw(x[k]).arg(by).on(where).must(m);
        }
        if (step % 50 == 20) {
          ASSERT_OK(consort_wont_use(m, x[k]));
        }
        if (step % 50 == 30) {
          ASSERT_OK(consort_prefetch(m, x[k], m.space[random() % 2], 0, 0, nullptr));
        }
        if (step % 50 == 40) {
          ASSERT_OK(consort_data_set_write_through(m, x[k], uint64_t{1} << m.space[k % 3 == 1]));
        }
      }
      ASSERT_OK(consort_wait_all(m, kLong, 0));
      for (const auto &r : reads) ASSERT_EQ(r->got, r->want);
      for (const uint32_t s : m.space) {
        EXPECT_LE(m.use(s).used, 16u << 10);
        EXPECT_EQ(m.use(s).needed_evictions, 0u);
      }
      for (const auto id : x) ASSERT_OK(consort_unregister(m, id));
      for (int i = 0; i < kData; ++i) ASSERT_EQ(memory[i], Words(kN, want[i])) << i;
    }
}

TEST(DeviceHome, EvictsTheHostCopyButNotTheHome) {
  Words there(100, 1);
  Machine m;
  const auto x = m.born(there, 0);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_evict(m, x, m.space[0]), "'x'", "application's own memory", "sim0:ram");
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_evict(m, x, m.host));
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_TRUE(eventually([&] { return !m.is_in(x, m.host) && m.is_in(x, m.space[0]); })) << "saved to its home";
  EXPECT_EQ(there, Words(100, 2));
  ASSERT_OK(consort_data_set_write_through(m, x, uint64_t{1} << m.space[0]));
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_TRUE(eventually([&] { return m.is_in(x, m.space[0]); }));
  EXPECT_EQ(there, Words(100, 3)) << "written through to its home";
  ASSERT_OK(consort_unregister(m, x));
}

TEST(DeviceHome, WorksWithReductionsFormatsAndRecordings) {
  Words there(64, 1), pairs(64, 2);
  Machine m;
  const auto x = m.born(there, 0), y = m.born(pairs, 1, "y");
  const auto init = m.bodies(m, "init", [](const consort_call &c) { return std::fill_n(pointer<uint64_t>(c, 0), 64, 0), CONSORT_OK; }, 1);
  const auto unite = m.bodies(m, "unite", [](const consort_call &c) {
    for (int i = 0; i < 64; ++i) pointer<uint64_t>(c, 0)[i] += pointer<uint64_t>(c, 1)[i];
    return CONSORT_OK;
  }, 2);
  ASSERT_OK(consort_data_set_reduction(m, x, init, unite));
  for (uint32_t i = 0; i < 20; ++i) Desc(m.add).use(x, CONSORT_M_REDUX).arg(uint64_t{i}).on(m.cores[i % 2]).must(m);
  ASSERT_OK(consort_record_begin(m, CONSORT_RECORD_ONLY));
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[0]).must(m);
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
  consort_recording_id recording{0};
  ASSERT_OK(consort_record_end(m, &recording));
  for (int i = 0; i < 3; ++i) ASSERT_OK(consort_replay(m, recording, {0}, nullptr));
  ASSERT_OK(consort_recording_destroy(m, recording));
  ASSERT_OK(consort_unregister(m, x));
  EXPECT_EQ(there, Words(64, 1 + 190 + 6));

  // y is 64 words on its own device, and 32 pairs on cores, which add to the second of each.
  const auto copy = m.on_any("copy", [](const consort_call &c) {
    return std::copy_n(pointer<uint64_t>(c, 0), 64, pointer<uint64_t>(c, 1)), CONSORT_OK;
  });
  const auto second = m.bodies(m, "second", [](const consort_call &c) {
    const auto &v = *static_cast<const consort_matrix_view *>(c.views[0]);
    for (uint64_t i = 0; i < v.ny; ++i) ++pointer<uint64_t>(c, 0)[v.ld * i + 1];
    return CONSORT_OK;
  });
  const consort_matrix_args as_pairs{nullptr, 2, 32, 0, 8};
  consort_format_desc f = CONSORT_FORMAT_INIT;
  f.klass = "cpu";
  f.interface = "matrix";
  f.args = &as_pairs;
  f.args_bytes = sizeof as_pairs;
  f.to = f.from = copy;
  ASSERT_OK(consort_data_add_format(m, y, &f));
  Desc(m.add).rw(y).arg(uint64_t{1}).on(m.devices[1]).must(m);
  Desc(second).rw(y).must(m);
  ASSERT_OK(consort_unregister(m, y));
  for (uint64_t i = 0; i < 64; ++i) ASSERT_EQ(pairs[i], 3 + i % 2) << i;
}

// A stop copies contents home: to the device's memory, or to the host's.
TEST(DeviceHome, StopCopiesEverythingHome) {
  for (const bool is_virtual : {false, true}) {
    Words there(100, 1), here(100, 1), divided(100, 1);
    Machine m({}, is_virtual);
    const auto x = m.born(there, 0), y = vector_of(m, here.data(), 100, 8, "y"), z = vector_of(m, divided.data(), 100, 8, "z");
    Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
    Desc(m.add).rw(y).arg(uint64_t{2}).on(m.devices[0]).must(m);
    const consort_split split{4, 0};
    consort_plan_desc d = CONSORT_PLAN_INIT;
    d.filter = "blocks";
    d.params = &split;
    d.params_bytes = sizeof split;
    consort_plan_id plan{0};
    ASSERT_OK(consort_plan_create(m, z, &d, &plan));
    consort_data_id part[4];
    ASSERT_EQ(consort_plan_parts(m, plan, part, 4), 4);
    for (uint32_t i = 0; i < 4; ++i) Desc(m.add).rw(part[i]).arg(uint64_t{i}).on(m.devices[i % 2]).must(m);
    ASSERT_OK(m.rt->stop());
    EXPECT_EQ(there, Words(100, 2));
    EXPECT_EQ(here, Words(100, 3));
    for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(divided[i], 1 + i / 25) << i;
  }
}

// The contents may be in any space at unregistration, while other tasks read or prefetch them.
TEST(DeviceHome, UnregisterCopiesHomeFromAnySpace) {
  const Folder folder("home", "/var/tmp");
  for (const char *peer : {"0", "24G"})
    for (const bool prefetched : {false, true}) {
      SCOPED_TRACE(std::string(peer) + (prefetched ? " prefetched" : ""));
      constexpr uint64_t kN = 1 << 14;
      Words there(kN, 1);
      Machine m(Pairs{{"drivers", "cpu,sim,disk_posix"}, {"sim.devices", "3"}, {"sim.peer", peer}, {"sim.latency", "200us"},
                      {"disk_posix.path", folder.path().c_str()}, {"disk_posix.capacity", "1M"}});
      const uint32_t disk = m.space.back() + 1;
      uint64_t want = 1, sum = 0, sum_there = 0;
      const auto more = [&](consort_data_id x, uint32_t worker) { Desc(m.add).rw(x).arg(uint64_t{1}).on(worker).must(m), ++want; };
      const auto back = [&](consort_data_id x, const char *from) {
        if (prefetched)
          for (const uint32_t s : {m.space[2], m.space[0], disk}) need(consort_prefetch(m, x, s, 0, 0, nullptr), "prefetch");
        ASSERT_OK(consort_unregister(m, x)) << from;
        ASSERT_EQ(there, Words(kN, want)) << from;
      };
      auto x = m.born(there, 0);
      more(x, m.devices[1]);
      back(x, "another device");

      x = m.born(there, 0);
      more(x, m.devices[1]);
      Desc(m.sum).r(x).arg(&sum_there).on(m.devices[2]).must(m);
      Desc(m.sum).r(x).arg(&sum).on(m.cores[0]).must(m);
      back(x, "another device, read by a third and a core");

      x = m.born(there, 0);
      ASSERT_OK(consort_data_set_write_through(m, x, uint64_t{1} << m.space[2] | uint64_t{1} << m.space[0]));
      more(x, m.devices[1]);
      back(x, "another device, while it is written through");

      x = m.born(there, 0);
      ASSERT_OK(consort_data_set_write_through(m, x, uint64_t{1} << disk));
      more(x, m.cores[0]);
      ASSERT_OK(consort_wait_all(m, kLong, 0));
      ASSERT_TRUE(eventually([&] { return m.is_in(x, disk); }));
      ASSERT_OK(consort_evict(m, x, m.host));
      ASSERT_TRUE(eventually([&] { return !m.is_in(x, m.host); }));
      ASSERT_FALSE(m.is_in(x, m.space[0])) << "they are in the file alone";
      back(x, "a disk");
      EXPECT_EQ(sum, kN * 3);
    }
}

// A copy that fails is not the end where the contents are elsewhere, too: here in the host's memory and on another device.
TEST(DeviceHome, FailedCopyFallsBackToAnotherReplica) {
  uint32_t struck = 0;
  for (const char *peer : {"0", "24G"})
    for (int nth = 1; nth <= 6; ++nth)
      for (const char *device : {"/0", "/1"}) {
        const std::string fault = "copy@" + std::to_string(nth) + device;
        SCOPED_TRACE(fault + " peer " + peer);
        Words there(1000, 1);
        uint64_t sum = 0;
        Machine m(Pairs{{"sim.peer", peer}, {"sim.faults", fault.c_str()}});
        const auto x = m.born(there, 0);
        Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[1]).must(m);
        Desc(m.sum).r(x).arg(&sum).on(m.cores[0]).must(m);
        const bool good = consort_wait_all(m, kLong, 0) == CONSORT_OK;
        uint64_t failed = 0;
        const auto count = [&] {
          failed = 0;
          for (uint32_t from = 0; from < 3; ++from)
            for (uint32_t to = 0; to < 3; ++to) {
              consort_link_use use = CONSORT_LINK_USE_INIT;
              if (consort_get_link_use(m, from, to, &use) == CONSORT_OK) failed += use.failed;
            }
          return failed;
        };
        const uint64_t before = count();
        const consort_status s = consort_unregister(m, x);
        const bool only_then = good && !before && count();
        struck += only_then && s == CONSORT_OK;
        if (s == CONSORT_OK && good) {
          EXPECT_EQ(there, Words(1000, 2));
        }
        // Over the host alone there is one way; with the direct one there are two.
        if (*peer != '0') {
          EXPECT_FALSE(only_then && s < 0);
        }
        (void)consort_wait_all(m, kLong, 0);
      }
  EXPECT_GE(struck, 1u) << "a fault that met the last copy alone, and did not matter";
}

// The route home leads through memory that a hold occupies: the copy waits for it, and older data are evicted.
TEST(DeviceHome, CopyHomeWaitsForIntermediateMemory) {
  const Folder folder("home", "/var/tmp");
  constexpr uint64_t kN = 1024;
  Words there(kN, 1);
  Machine m(Pairs{{"drivers", "cpu,sim,disk_posix"}, {"disk_posix.path", folder.path().c_str()}, {"disk_posix.capacity", "1M"},
                  {"limits", "ram=8K"}});
  const auto x = m.born(there, 0), y = vector_of(m, static_cast<uint64_t *>(nullptr), kN, 8, "y");
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[1]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  Desc(m.add).w(y).arg(uint64_t{1}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  consort_hold hold;
  ASSERT_OK(consort_acquire(m, y, CONSORT_M_R, kLong, &hold));
  ASSERT_OK(consort_unregister_later(m, x));
  EXPECT_TRUE(settled());
  EXPECT_EQ(there, Words(kN, 1));
  ASSERT_OK(consort_release(m, hold));
  consort_data_id again{0};
  ASSERT_TRUE(eventually([&] { return m.try_born(there, 0, &again) == CONSORT_OK; })) << "it was given back";
  EXPECT_EQ(there, Words(kN, 2));
  ASSERT_OK(consort_unregister(m, again));
  ASSERT_OK(consort_unregister(m, y));
}

TEST(DeviceHome, RefusesInvalidHomes) {
  const Folder folder("home", "/var/tmp");
  Words there(100, 1), empty;
  {
    Machine m(Pairs{{"drivers", "cpu,sim,disk_posix"}, {"disk_posix.path", folder.path().c_str()}, {"disk_posix.capacity", "1M"}});
    consort_info info{};
    info.size = sizeof info;
    ASSERT_OK(consort_get_info(m, &info));
    const consort_vector_args a{there.data(), 100, 8};
    const consort_data_desc good{sizeof good, 0, "vector", &a, sizeof a, "x"};
    consort_data_id x{0}, y{0};
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &good, info.nspaces, &x), "does not exist");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, nullptr, m.space[0], &x), "NULL");
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &good, m.space[0], nullptr), "NULL");
    auto bad = good;
    bad.flags = 1;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &bad, m.space[0], &x), "flags");
    const consort_vector_args nowhere{nullptr, 100, 8};
    bad = good;
    bad.args = &nowhere;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &bad, m.space[0], &x), "no address");
    EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_register_in(m, &good, info.nspaces - 1, &x), "'x'", "disk_posix", "file");
    ASSERT_OK(consort_register_in(m, &good, m.space[0], &x));
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &good, m.space[0], &y), "'x'", "sim0:ram", "in use", "unregister");
    const consort_vector_args beside{there.data() + 99, 1, 8};
    bad.args = &beside;
    EXPECT_SAYS(CONSORT_E_INVAL, consort_register_in(m, &bad, m.space[0], &y), "in use");
    ASSERT_OK(consort_register_in(m, &bad, m.space[1], &y)) << "another device's memory is another";
    ASSERT_OK(consort_unregister(m, y));
    const consort_split split{4, 0};
    consort_plan_desc d = CONSORT_PLAN_INIT;
    d.filter = "blocks";
    d.params = &split;
    d.params_bytes = sizeof split;
    consort_plan_id plan{0};
    // Nothing at all is anywhere; the host's memory is the host's.
    EXPECT_OK(m.try_born(empty, 0, &y));
    Desc(m.add).rw(y).arg(uint64_t{1}).on(m.devices[0]).must(m);
    EXPECT_OK(consort_unregister(m, y));
    Words host(100, 1);
    const consort_vector_args at_home{host.data(), 100, 8};
    bad.args = &at_home;
    ASSERT_OK(consort_register_in(m, &bad, m.host, &y));
    Desc(m.add).rw(y).arg(uint64_t{1}).on(m.devices[0]).must(m);
    ASSERT_OK(consort_plan_create(m, y, &d, &plan));
    EXPECT_OK(consort_unregister(m, y));
    EXPECT_EQ(host, Words(100, 2));
    consort_data_id found{0};
    EXPECT_OK(consort_find_data(m, there.data(), &found));
    EXPECT_EQ(found.v, x.v);
    ASSERT_OK(consort_unregister(m, x));
  }
}

// A lost device accepts no home, and no contents return to it. Nothing hangs, and the memory is given back.
TEST(DeviceHome, LostDeviceReportsAndHangsNothing) {
  Words there(100, 1), other(100, 1);
  Machine m(Pairs{{"sim.faults", "lost@2/0"}});
  const auto x = m.born(there, 0);
  Desc(m.add).rw(x).arg(uint64_t{1}).on(m.cores[0]).must(m);  // its first op brings it to the host
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  const auto lost = Desc(m.add).rw(x).arg(uint64_t{1}).on(m.devices[0]).must(m);
  EXPECT_SAYS(CONSORT_E_DEVICE_LOST, consort_task_wait(m, lost, kLong, 0), "'x'", "could not be copied", "sim0:ram");
  (void)consort_wait_all(m, kLong, 0);
  consort_data_id y{0};
  EXPECT_SAYS(CONSORT_E_DEVICE_LOST, m.try_born(other, 0, &y, "y"), "'y'", "sim0:ram", "lost");
  ASSERT_OK(consort_invalidate(m, x));
  Desc(m.add).w(x).arg(uint64_t{1}).on(m.cores[0]).must(m);
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  EXPECT_SAYS(CONSORT_E_DEVICE_LOST, consort_unregister(m, x), "'x'", "could not be copied", "sim0:ram");
  EXPECT_SAYS(CONSORT_E_STALE, consort_unregister(m, x), "stale");
  (void)consort_wait_all(m, kLong, 0);
  ASSERT_OK(m.try_born(there, 1, &y, "z")) << "on the device that is left";
  ASSERT_OK(consort_unregister(m, y));
}

}  // namespace
}  // namespace consort_test
