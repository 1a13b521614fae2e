// Contents that will be evicted are saved while the link is idle (the setting save_ahead), so that memory is free at
// once later. On a simulated device in virtual time, so the same copies every time.
#include <consort/memory.h>
#include <kernel/api/entry.hpp>

#include "../api/harness.hpp"

namespace {

using namespace consort_test;

constexpr uint64_t kBytes = 1 << 20;
constexpr int kRoom = 6, kData = 9;

// A device with room for six of nine data, whose copies take a millisecond; a core.
struct Device {
  consort_call_fn *nothing = [](const consort_call *) -> consort_status { return CONSORT_OK; };
  std::string memory = std::to_string(kRoom * kBytes);
  std::vector<std::vector<char>> bytes = std::vector<std::vector<char>>(kData, std::vector<char>(kBytes));
  Rt rt;                             // its end brings them home
  std::vector<consort_data_id> x;
  consort_data_id token;
  consort_codelet_id step, rest;
  uint32_t far = 0;
  explicit Device(const char *percent)
      : rt({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.memory", memory.c_str()}, {"sim.bandwidth", "1G"},
            {"sim.latency", "1us"}, {"sim.times", "step=100us,rest=100ms"}, {"sim.runs", ""}, {"save_ahead", percent}}),
        token(token_of(rt)), step(of("step", "gpu")), rest(of("rest", "cpu")) {
    for (auto &b : bytes) x.push_back(vector_of(rt, b.data(), kBytes, 1));
    consort_space_info info{sizeof info, 0, nullptr, nullptr, nullptr, 0, 0, 0};
    for (uint32_t s = 0; s < 2; ++s) {
      need(consort_get_space(rt, s, &info), "space");
      if (std::string(info.name).starts_with("sim")) far = s;
    }
  }
  consort_codelet_id of(const char *name, const char *klass) {
    const consort_impl impl{klass, nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(rt, name, {&impl, 1});
  }
  consort_data_id datum(int i) const { return x[static_cast<size_t>(i)]; }
  void fill() {
    for (int i = 0; i < kRoom; ++i) Desc(step).w(datum(i)).must(rt);
  }
  void pass_time() {
    Desc(rest).rw(token).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait");
  }
  consort_space_use use() {
    consort_space_use use = CONSORT_SPACE_USE_INIT;
    need(consort_get_space_use(rt, far, &use), "space");
    return use;
  }
  uint64_t now() { return consort_runtime::runtime(static_cast<consort_runtime *>(rt)->state.load(std::memory_order_acquire))->clock.now(); }
  uint64_t time_of_three_more() {
    const uint64_t start = now();
    for (int i = kRoom; i < kData; ++i) Desc(step).r(datum(i)).must(rt);
    need(consort_wait_all(rt, kLong, 0), "wait");
    return now() - start;
  }
};

TEST(Writeback, FreesMemoryAhead) {
  Device none("0"), half("50");
  for (Device *d : {&none, &half}) {
    d->fill();
    d->pass_time();
  }
  EXPECT_EQ(none.use().saves, 0u);
  EXPECT_EQ(half.use().saves, 3u) << "half of the capacity";
  EXPECT_EQ(half.use().evictions, 0u) << "saved data are still there";
  const uint64_t late = none.time_of_three_more(), early = half.time_of_three_more();
  EXPECT_LE(early + 1'000'000, late) << "the first save at least is not waited for";
  EXPECT_EQ(none.use().saves, 3u);
  EXPECT_EQ(half.use().evictions, 3u);
}

TEST(Writeback, SkipsDataAboutToBeWritten) {
  Device d("100");
  d.fill();
  Desc(d.rest).rw(d.token).must(d.rt);
  for (int i = 0; i < kRoom; ++i) Desc(d.step).rw(d.datum(i)).r(d.token).must(d.rt);
  ASSERT_OK(consort_wait_all(d.rt, kLong, 0));
  d.pass_time();
  EXPECT_EQ(d.use().saves, static_cast<uint64_t>(kRoom)) << "each once, after its last task";
}

TEST(Writeback, DiscardsCopiesOverwrittenMeanwhile) {
  Device d("100");
  Body set = [](const consort_call &c) {
    std::memset(pointer<char>(c, 0), static_cast<int>(value<int64_t>(c, 0)), kBytes);
    return CONSORT_OK;
  };
  const consort_impl impl{"gpu", run_body, &set, nullptr, nullptr, nullptr, nullptr, 0};
  const auto write = codelet_of(d.rt, "step", {&impl, 1});
  for (int64_t round = 1; round < 60; ++round) {
    for (int i = 0; i < kRoom; ++i) Desc(write).w(d.datum(i)).arg(round).must(d.rt);
    if (round % 3 == 0) {
      ASSERT_OK(consort_wait_all(d.rt, kLong, 0));
    }
  }
  for (int i = 0; i < kRoom; ++i) {
    ASSERT_OK(consort_unregister(d.rt, d.datum(i)));
    EXPECT_EQ(d.bytes[static_cast<size_t>(i)], std::vector<char>(kBytes, 59));
  }
}

TEST(Writeback, RefusesBadShares) {
  consort_runtime *rt = nullptr;
  EXPECT_SAYS(CONSORT_E_INVAL, start({{"save_ahead", "101"}}, &rt), "save_ahead", "101");
}

}  // namespace
