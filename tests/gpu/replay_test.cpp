// Replays of recordings that are one graph of a device. They give the values of a task-by-task run, however often and
// whatever changes in between. Some recordings run task by task after all. Over the double of the vendor's library,
// which counts launched graphs.
#include <random>

#include "api/recordings.hpp"
#include "gpu/programs.hpp"

namespace consort_test {
namespace {

using Words = std::vector<uint32_t>;
constexpr uint32_t kWords = 256;

void mixed(const Words &from, Words &to, uint32_t a) {
  for (uint32_t i = 0; i < kWords; ++i) to[i] = to[i] * 3 + from[i] + a;
}

struct GpuReplay : GpuTest {
  static void expect_launches(size_t n) {
    if (!on_real_gpu()) {
      EXPECT_EQ(Double(GetParam()).graph_launches(), n);
    }
  }
};

// Where layers stand around a driver its graphs are not seen.
struct Unwatched : Machine {
  explicit Unwatched(const Vendor &v, std::vector<std::pair<std::string, std::string>> more = {}) : Machine(v, with(std::move(more))) {}
  static std::vector<std::pair<std::string, std::string>> with(std::vector<std::pair<std::string, std::string>> more) {
    more.emplace_back("layers", "");
    return more;
  }
};

struct Data {
  Data(consort_runtime *r, uint32_t n) : rt(r), v(n, Words(kWords, 5)), want(v) {
    for (auto &one : v) x.push_back(vector_of(rt, one.data(), kWords, 4));
  }
  // Checks the value that the host sees. write: and adds one.
  void look(uint32_t i, bool write = false) {
    consort_hold hold;
    ASSERT_OK(consort_acquire(rt, x[i], write ? CONSORT_M_RW : CONSORT_M_R, kLong, &hold));
    EXPECT_EQ(v[i], want[i]) << "datum " << i;
    if (write) ++v[i][7], ++want[i][7];
    ASSERT_OK(consort_release(rt, hold));
  }
  void end() {
    ASSERT_OK(consort_wait_all(rt, kLong, 0));
    for (const auto one : x) ASSERT_OK(consort_unregister(rt, one));
    EXPECT_EQ(v, want);
  }
  consort_runtime *rt;
  std::vector<Words> v, want;
  std::vector<consort_data_id> x;
};

// x1 of x0, x0 of x1, x1 of x0 again
struct Loop {
  Loop(Machine &m, Data &d) : data(d), mix(m.mix()) {
    r = record(m, [&] {
      Desc(mix).r(d.x[0]).rw(d.x[1]).arg(a).on(m.devices[0]).must(m);
      Desc(mix).r(d.x[1]).rw(d.x[0]).arg(2u).on(m.devices[0]).must(m);
      Desc(mix).r(d.x[0]).rw(d.x[1]).arg(3u).on(m.devices[0]).must(m);
    });
  }
  void turn(uint32_t from = 0) {
    mixed(data.want[from], data.want[1], a);
    mixed(data.want[1], data.want[from], 2);
    mixed(data.want[from], data.want[1], 3);
  }
  Data &data;
  uint32_t a = 1;
  consort_codelet_id mix;
  consort_recording_id r;
};

TEST_P(GpuReplay, SecondReplayIsOneLaunch) {
  Unwatched m(GetParam());
  Data d(m, 2);
  Loop loop(m, d);
  for (int i = 0; i < 10; ++i) {
    replay(m, loop.r);
    loop.turn();
    if (i == 6) d.look(0, true), d.look(1);
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  expect_launches(9);
  EXPECT_EQ(m.worker(m.devices[0]).tasks, 30u) << "each that ran, as always";
  EXPECT_EQ(info(m, loop.r).replays, 10u);
  ASSERT_OK(consort_recording_destroy(m, loop.r));
  d.end();
}

TEST_P(GpuReplay, ChangesApplyToTheLaunch) {
  Unwatched m(GetParam());
  Data d(m, 3);
  Loop loop(m, d);
  uint32_t from = 0;
  for (uint32_t i = 0; i < 12; ++i) {
    wait(m, replay(m, loop.r));
    loop.turn(from);
    if (i % 4 == 1) {
      const consort_arg now = scalar(loop.a = i * 7);
      ASSERT_OK(consort_recording_set_arg(m, loop.r, 0, 0, &now));
    }
    if (i % 4 == 2) {
      ASSERT_OK(consort_recording_set_data(m, loop.r, d.x[from], d.x[2 - from]));
      from = 2 - from;
    }
  }
  expect_launches(11);
  ASSERT_OK(consort_recording_set_priority(m, loop.r, 1, 5));
  for (int i = 0; i < 2; ++i) wait(m, replay(m, loop.r)), loop.turn(from);
  expect_launches(11);
  d.end();
}

TEST_P(GpuReplay, UncapturableRecordingsRunTaskByTask) {
  Unwatched m(GetParam());
  Data d(m, 2);
  const auto mix = m.mix();
  const auto add = m.function("add", [](const consort_call &) { return CONSORT_OK; }, CONSORT_CL_ASYNC);
  const uint32_t gpu = m.devices[0];
  const auto both = [&](auto first, auto second) {
    return record(m, [&] {
      first(Desc(mix).r(d.x[0]).rw(d.x[1]).arg(1u));
      second(Desc(mix).r(d.x[1]).rw(d.x[0]).arg(2u));
    });
  };
  const auto on = [&](uint32_t w) { return [&m, w](Desc &t) { t.on(w).must(m); }; };
  std::vector<consort_recording_id> all = {
      both(on(gpu), on(m.cores[0])), both(on(m.cores[0]), on(m.cores[1])),
      both(on(gpu), [&](Desc &t) { t.must(m); }), both(on(gpu), [&](Desc &t) { t.on(gpu).priority(3).must(m); }),
      both(on(gpu), [&](Desc &t) { t.on(gpu).must(m), Desc(add).r(d.x[0]).on(gpu).must(m); })};
  if (m.devices.size() > 1) all.push_back(both(on(gpu), on(m.devices[1])));
  for (const auto r : all)
    for (int i = 0; i < 3; ++i) {
      wait(m, replay(m, r));
      mixed(d.want[0], d.want[1], 1);
      mixed(d.want[1], d.want[0], 2);
    }
  expect_launches(0);
  d.end();
}

// Data that the first task only writes need no contents: they are neither copied nor checked.
TEST_P(GpuReplay, DataWrittenFirstAreNotCopied) {
  Unwatched m(GetParam());
  Data d(m, 2);
  const consort_vector_args a{nullptr, kWords, 4};
  const consort_data_desc temporary{sizeof temporary, 0, "vector", &a, sizeof a, "between"};
  consort_data_id t{0};
  ASSERT_OK(consort_register(m, &temporary, &t));
  const auto set = m.codelet("set", [](const consort_call &) { return CONSORT_OK; }, "set");
  const auto mix = m.mix();
  const auto r = record(m, [&] {
    Desc(set).w(t).arg(11u).on(m.devices[0]).must(m);
    Desc(mix).r(t).rw(d.x[0]).arg(1u).on(m.devices[0]).must(m);
  });
  for (int i = 0; i < 5; ++i) {
    wait(m, replay(m, r));
    mixed(Words(kWords, 11), d.want[0], 1);
    ASSERT_OK(consort_invalidate(m, t));
  }
  expect_launches(4);
  ASSERT_OK(consort_unregister(m, t));
  d.end();
}

TEST_P(GpuReplay, EvictedDataReturn) {
  Unwatched m(GetParam(), {{".limit", "3K"}});
  Data d(m, 5);  // of a kibibyte each
  Loop loop(m, d);
  for (int i = 0; i < 8; ++i) {
    replay(m, loop.r);
    loop.turn();
    for (uint32_t k = 2; k < 5; ++k) {
      Desc(loop.mix).r(d.x[k == 4 ? 2 : k + 1]).rw(d.x[k]).arg(9u).on(m.devices[0]).must(m);
      mixed(d.want[k == 4 ? 2 : k + 1], d.want[k], 9);
    }
  }
  ASSERT_OK(consort_wait_all(m, kLong, 0));
  expect_launches(7);
  d.end();
}

TEST_P(GpuReplay, DataThatDoNotFitRunTaskByTask) {
  Unwatched m(GetParam(), {{".limit", "3K"}});
  Data d(m, 6);
  const auto mix = m.mix();
  const auto r = record(m, [&] {
    for (uint32_t k = 0; k < 6; ++k) Desc(mix).r(d.x[k]).rw(d.x[(k + 1) % 6]).arg(k).on(m.devices[0]).must(m);
  });
  for (int i = 0; i < 4; ++i) {
    wait(m, replay(m, r));
    for (uint32_t k = 0; k < 6; ++k) mixed(d.want[k], d.want[(k + 1) % 6], k);
  }
  expect_launches(0);
  EXPECT_EQ(m.worker(m.devices[0]).tasks, 24u);
  d.end();
}

TEST_P(GpuReplay, CancelAndPoisonApply) {
  Unwatched m(GetParam(), {{"log", "error"}});
  Data d(m, 2);
  Loop loop(m, d);
  for (int i = 0; i < 2; ++i) wait(m, replay(m, loop.r)), loop.turn();
  Bodies bodies;
  Gate gate;
  const auto hold = bodies(m, "hold", [&](const consort_call &) { return gate.pass(), CONSORT_OK; });
  const auto fails = bodies(m, "fails", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
  consort_group_id g{0};
  ASSERT_OK(consort_group_create(m, nullptr, &g));
  Desc(hold).rw(d.x[0]).on(m.cores[0]).must(m);
  const auto cancelled = replay(m, loop.r, g);
  ASSERT_OK(consort_group_cancel(m, g));
  gate.open();
  EXPECT_SAYS(CONSORT_E_CANCELLED, consort_task_wait(m, cancelled, kLong, 0), "cancelled");
  // The data to be written are poisoned, and are written anew.
  for (uint32_t i = 0; i < 2; ++i) {
    ASSERT_OK(consort_invalidate(m, d.x[i]));
    consort_hold h;
    ASSERT_OK(consort_acquire(m, d.x[i], CONSORT_M_W, kLong, &h));
    d.v[i].assign(kWords, 4), d.want[i] = d.v[i];
    ASSERT_OK(consort_release(m, h));
  }
  wait(m, replay(m, loop.r)), loop.turn();
  expect_launches(2);
  d.look(0), d.look(1);
  Desc(fails).w(d.x[0]).on(m.cores[0]).must(m);
  EXPECT_SAYS(CONSORT_E_POISONED, consort_task_wait(m, replay(m, loop.r), kLong, 0), "no luck");
  expect_launches(2);
  (void)consort_wait_all(m, kLong, 0);
  for (uint32_t i = 0; i < 2; ++i) ASSERT_OK(consort_invalidate(m, d.x[i]));
  for (uint32_t i = 0; i < 2; ++i) ASSERT_OK(consort_unregister(m, d.x[i]));
  ASSERT_OK(consort_group_destroy(m, g));
}

TEST_P(GpuReplay, LibraryFaultsFallBack) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  const bool cuda = GetParam().driver == std::string("cuda");
  const std::string make = cuda ? "cuGraphInstantiate" : "hipGraphInstantiateWithFlags", go = cuda ? "cuGraphLaunch" : "hipGraphLaunch",
                    begin = cuda ? "cuStreamBeginCapture" : "hipStreamBeginCapture",
                    set = cuda ? "cuGraphExecKernelNodeSetParams" : "hipGraphExecKernelNodeSetParams";
  struct Case {
    std::string words;
    size_t launches;
    bool fails;
  };
  for (const Case &c : {Case{"fail=" + make + ":1:801", 0, false}, Case{"fail=" + begin + ":1:1", 0, false}, Case{"fail=" + set + ":1:801", 5, false},
                        Case{"fail=" + go + ":2:1", 1, true}, Case{"fault=" + go + ":2:719", 2, true}, Case{"fail=" + go + ":2:719", 1, true}}) {
    d.set("devices=1,memory=64M,quiet=1," + c.words);
    {
      Unwatched m(GetParam(), {{"log", "error"}});
      Data data(m, 2);
      Loop loop(m, data);
      bool failed = false;
      for (uint32_t i = 0; i < 6; ++i) {
        const Answer a = consort_task_wait(m, replay(m, loop.r), kLong, 0);
        ASSERT_NE(a.status, CONSORT_E_TIMEOUT) << c.words;
        failed |= a.status < 0;
        if (!failed) loop.turn();
        else EXPECT_LT(a.status, 0) << "its data are poisoned";
        const consort_arg now = scalar(loop.a = i);
        ASSERT_OK(consort_recording_set_arg(m, loop.r, 0, 0, &now));
      }
      EXPECT_EQ(failed, c.fails) << c.words;
      EXPECT_EQ(d.graph_launches(), c.launches) << c.words;
      if (!failed) {
        data.end();
        continue;
      }
      (void)consort_wait_all(m, kLong, 0);
      for (const auto x : data.x) (void)consort_invalidate(m, x);
      for (const auto x : data.x) (void)consort_unregister(m, x);
    }
    EXPECT_EQ(d.live(), 0u) << c.words;
  }
  d.set(words());
}

TEST_P(GpuReplay, LostDeviceIsNamed) {
  CONSORT_NEEDS_DOUBLE;
  const Double d(GetParam());
  {
    Unwatched m(GetParam(), {{"log", "error"}});
    Data data(m, 2);
    Loop loop(m, data);
    for (int i = 0; i < 3; ++i) wait(m, replay(m, loop.r));
    d.lose(0);
    const Answer a = consort_task_wait(m, replay(m, loop.r), kLong, 0);
    EXPECT_TRUE(a.status == CONSORT_E_DEVICE_LOST || a.status == CONSORT_E_POISONED) << consort_status_name(a.status) << a.text;
    EXPECT_NE(a.text.find("of the recording failed"), std::string::npos) << a.text;
    EXPECT_LT(consort_task_wait(m, replay(m, loop.r), kLong, 0), 0) << "and the next, too";
    (void)consort_wait_all(m, kLong, 0);
    for (const auto x : data.x) (void)consort_invalidate(m, x);
    for (const auto x : data.x) (void)consort_unregister(m, x);
  }
  d.set(words());
}

// Any sequence, with other tasks in between, gives the host's values.
TEST_P(GpuReplay, RandomSequencesGiveTheHostsValues) {
  for (uint32_t seed = 1; seed <= (full() ? 200u : 6u); ++seed) {
    std::mt19937 rng(seed);
    Unwatched m(GetParam(), {{".limit", seed % 3 ? "64M" : "6K"}, {"log", "error"}});
    Data d(m, 6);
    const auto mix = m.mix();
    struct Step { uint32_t from, to, a; };
    std::vector<Step> steps;
    const auto r = record(m, [&] {
      for (uint32_t i = 0, n = 2 + rng() % 8; i < n; ++i) {
        const uint32_t to = rng() % 4, from = (to + 1 + rng() % 3) % 4;
        steps.push_back({from, to, static_cast<uint32_t>(rng() % 100)});
        Desc(mix).r(d.x[from]).rw(d.x[to]).arg(steps.back().a).on(m.devices[0]).must(m);
      }
    });
    for (int turn = 0; turn < 20; ++turn) {
      const auto t = replay(m, r);
      for (const Step &s : steps) mixed(d.want[s.from], d.want[s.to], s.a);
      const uint32_t act = rng() % 8, i = rng() % 6, k = (i + 1 + rng() % 5) % 6;
      if (act == 0) d.look(i, rng() % 2);
      if (act == 1 || act == 2) {
        Desc(mix).r(d.x[i]).rw(d.x[k]).arg(act).on(act == 1 ? m.devices[0] : rng() % m.workers()).must(m);
        mixed(d.want[i], d.want[k], act);
      }
      if (act == 3) {
        wait(m, t);
        Step &s = steps[rng() % steps.size()];
        const consort_arg now = scalar(s.a = static_cast<uint32_t>(rng() % 100));
        ASSERT_OK(consort_recording_set_arg(m, r, static_cast<uint32_t>(&s - steps.data()), 0, &now));
      }
    }
    d.end();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

CONSORT_GPU_VENDORS(GpuReplay);

}  // namespace
}  // namespace consort_test
