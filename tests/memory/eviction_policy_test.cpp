// A policy that chooses replicas to evict (consort_scheduler_ops.victim, MEM-02). Tested are its candidates, the effect
// of its answer, a bad answer, and an answer after a swap. Over the stream double with a memory of its own, and over
// two simulated devices.
#include <consort/memory.h>
#include <consort/plugin.h>
#include <consort/scheduler.h>

#include "memory_machine.hpp"
#include "support/fifo_policy.hpp"

namespace {

using namespace consort_test;

// First come, first served; `choose` names the replica to evict.
struct Chooser : Fifo {
  uint32_t space = CONSORT_NONE;  // of the last question
  std::vector<consort_replica> shown;
  uint64_t asked = 0;
  std::function<uint32_t(const consort_replica *, uint32_t, uint32_t *)> choose;
} chooser;
using Lock = std::lock_guard<std::mutex>;

constexpr consort_scheduler_ops ops = [] {
  consort_scheduler_ops o = fifo_policy<chooser>();
  o.victim = [](void *, uint32_t space, uint64_t bytes, const consort_replica *r, uint32_t n, uint32_t *order) -> uint32_t {
    {
      const Lock lock(chooser.mutex);
      ++chooser.asked;
      chooser.shown.assign(r, r + n);
      chooser.space = space;
      EXPECT_GT(bytes, 0u);
    }
    return chooser.choose(r, n, order);
  };
  return o;
}();

constexpr consort_plugin plugin = consort_test::policy_plugin("chooser", "chooses victims", ops);
CONSORT_MODULE(chooser, SCHEDULER, CONSORT_PF_SWAPPABLE, "chooser", "1.0", plugin);

constexpr uint64_t kBytes = 8192;

class EvictionPolicy : public ::testing::Test {
 protected:
  void begin(const char *layers) {
    chooser.shown.clear();
    chooser.asked = 0;
    const std::string limit = MemoryMachine().space_name() + "=32K";  // four of the data
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<void *>(counters_));
    const std::string stream = "+" CONSORT_TEST_PLUGIN_DIR "/stream.so";
    const Pairs pairs = {{"plugins", stream.c_str()}, {"drivers", "cpu, stream"}, {"cpu.workers", "2"}, {"cpu.topology", kFourCores},
                         {"stream.counters", text}, {"stream.space", "apart"}, {"limits", limit.c_str()}, {"scheduler", "chooser"},
                         {"layers", layers}, {"save_ahead", "0"}};
    static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(chooser);
    consort_settings s = settings_with(pairs, entry);
    s.log = [](void *, int32_t level, const char *line) {
      const Lock lock(said_mutex_);
      if (level == 0) said_ += line;
    };
    said_.clear();
    need(consort_start(&s, &rt_), "start");
    const consort_impl impl{"stream", run_body, &one_more_, nullptr, nullptr, nullptr, nullptr, 0};
    add_ = codelet_of(rt_, "add", {&impl, 1});
    v_.assign(6, std::vector<uint64_t>(kBytes / 8, 1));
    x_.clear();
    for (auto &v : v_) x_.push_back(vector_of(rt_, v.data(), v.size(), 8));
    for (size_t i = 0; i < 4; ++i) use(i);
    EXPECT_EQ(chooser.asked, 0u) << "there was room";
  }
  void use(size_t i) {  // and waits
    Desc(add_).rw(x_[i]).must(rt_);
    ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  }
  bool is_there(size_t i) {
    uint32_t bits = 0;
    need(consort_data_in(rt_, x_[i], 1, &bits), "in");
    return bits & CONSORT_IN_VALID;
  }
  void TearDown() override {
    for (size_t i = 0; i < x_.size(); ++i) {
      EXPECT_OK(consort_unregister(rt_, x_[i]));
      EXPECT_EQ(v_[i][0], 1 + uses_of_[i]) << i;
    }
    EXPECT_OK(consort_stop(rt_));
  }
  static uint32_t index_of(consort_data_id d, const consort_replica *r, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i)
      if (r[i].data == d.v) return i;
    return n;
  }
  static std::string said() {
    const Lock lock(said_mutex_);
    return said_;
  }

  uint64_t counters_[STREAM_COUNTERS] = {};
  consort_runtime *rt_ = nullptr;
  Body one_more_ = [](const consort_call &c) { return ++*pointer<uint64_t>(c, 0), CONSORT_OK; };
  consort_codelet_id add_{};
  std::vector<std::vector<uint64_t>> v_;
  std::vector<consort_data_id> x_;
  uint64_t uses_of_[6] = {1, 1, 1, 1, 1, 1};
  static inline std::mutex said_mutex_;
  static inline std::string said_;
};

TEST_F(EvictionPolicy, EvictsTheNamedReplica) {
  begin("");
  chooser.choose = [&](const consort_replica *r, uint32_t n, uint32_t *order) {
    order[0] = index_of(x_[2], r, n);
    return 1u;
  };
  use(4);
  EXPECT_EQ(chooser.asked, 1u);
  EXPECT_EQ(chooser.space, 1u);
  ASSERT_EQ(chooser.shown.size(), 4u);
  for (const consort_replica &r : chooser.shown) {
    EXPECT_EQ(r.bytes, kBytes);
    EXPECT_EQ(r.space, 1u);
    EXPECT_EQ(r.flags, uint32_t{CONSORT_RP_DIRTY});
    EXPECT_GT(r.last_use_ns, 0u);
  }
  EXPECT_EQ(chooser.shown[0].data, x_[0].v) << "in the kernel's order: the longest unused first";
  EXPECT_TRUE(is_there(0) && is_there(1) && !is_there(2) && is_there(3) && is_there(4));
  chooser.choose = [&](const consort_replica *r, uint32_t n, uint32_t *order) {
    order[0] = index_of(x_[4], r, n);
    return 1u;
  };
  use(5);
  EXPECT_EQ(chooser.asked, 2u);
  EXPECT_TRUE(is_there(0) && is_there(1) && is_there(3) && !is_there(4) && is_there(5));
  EXPECT_EQ(said(), "");
}

TEST_F(EvictionPolicy, EmptyAnswerUsesTheKernelsOrder) {
  begin("checks");
  chooser.choose = [](const consort_replica *, uint32_t, uint32_t *) { return 0u; };
  use(4);
  use(5);
  EXPECT_EQ(chooser.asked, 2u);
  EXPECT_TRUE(!is_there(0) && !is_there(1) && is_there(2) && is_there(3));
}

TEST_F(EvictionPolicy, BadAnswersAreReportedAndIgnored) {
  const std::pair<std::function<uint32_t(const consort_replica *, uint32_t, uint32_t *)>, const char *> bad[] = {
      {[](const consort_replica *, uint32_t n, uint32_t *order) { return order[0] = n, 1u; }, "names replica 4 of 4"},
      {[](const consort_replica *, uint32_t, uint32_t *order) { return order[0] = order[1] = 3, 2u; }, "names replica 3 twice"},
      {[](const consort_replica *, uint32_t n, uint32_t *) { return n + 7; }, "names 11 of 4"},
  };
  for (const auto &[choose, words] : bad) {
    if (rt_) TearDown();
    begin("");
    chooser.choose = choose;
    use(4);
    use(5);
    EXPECT_TRUE(!is_there(0) && !is_there(1) && is_there(2) && is_there(3) && is_there(4) && is_there(5)) << words;
    EXPECT_NE(said().find(words), std::string::npos) << said();
    EXPECT_EQ(said().find("victims"), said().rfind("victims")) << "once";
  }
}

// Data that the task itself needs are not offered, so a policy that names all candidates evicts none of them.
TEST_F(EvictionPolicy, NeededReplicasAreNotOffered) {
  begin("");
  chooser.choose = [](const consort_replica *, uint32_t n, uint32_t *order) {
    for (uint32_t i = 0; i < n; ++i) order[i] = i;
    return n;
  };
  Desc(add_).rw(x_[4]).r(x_[0]).r(x_[2]).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_EQ(chooser.asked, 1u);
  ASSERT_EQ(chooser.shown.size(), 2u);
  EXPECT_EQ(chooser.shown[0].data, x_[1].v);
  EXPECT_EQ(chooser.shown[1].data, x_[3].v);
  EXPECT_TRUE(is_there(0) && !is_there(1) && is_there(2) && is_there(3) && is_there(4)) << "only as many as must";
  --uses_of_[5];
}

// A swap takes place while the policy answers: its answer still counts, and later questions go to the new policy.
TEST_F(EvictionPolicy, SwapWhileAnswering) {
  begin("");
  std::atomic<int> asking{0}, over{0};
  chooser.choose = [&](const consort_replica *r, uint32_t n, uint32_t *order) {
    asking = 1;
    EXPECT_TRUE(eventually([&] { return over.load() != 0; }));
    order[0] = index_of(x_[2], r, n);
    return 1u;
  };
  Desc(add_).rw(x_[4]).must(rt_);
  EXPECT_TRUE(eventually([&] { return asking.load() != 0; }));
  EXPECT_OK(consort_runtime_set_scheduler(rt_, "lws"));
  over = 1;
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  EXPECT_TRUE(is_there(0) && is_there(1) && !is_there(2) && is_there(3) && is_there(4));
  use(5);
  EXPECT_EQ(chooser.asked, 1u) << "lws has no opinion";
  EXPECT_FALSE(is_there(0));
}

TEST_F(EvictionPolicy, RepeatedSwaps) {
  begin("");
  chooser.choose = [](const consort_replica *, uint32_t n, uint32_t *order) {
    for (uint32_t i = 0; i < n; ++i) order[i] = n - 1 - i;
    return n;
  };
  for (int i = 0; i < 300; ++i) {
    const size_t k = static_cast<size_t>(i * 5 + i / 7) % 6;
    Desc(add_).rw(x_[k]).must(rt_);
    ++uses_of_[k];
    if (i % 10 != 9) continue;
    EXPECT_OK(consort_runtime_set_scheduler(rt_, i % 20 == 9 ? "lws" : "chooser"));
  }
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  for (size_t i = 4; i < 6; ++i) --uses_of_[i];  // which begin() did not use
}

// Intermediate memory, on the host between two devices: a task that waits for the policy's answer there is not refused
// meanwhile.
TEST(EvictionPolicyOfHostMemory, IsAskedAboutIntermediateSpaces) {
  constexpr uint64_t kCells = 512;
  chooser.asked = 0;
  static consort_entry_fn *const entry = CONSORT_ENTRY_NAME(chooser);
  const Pairs pairs = {{"drivers", "cpu, sim"}, {"cpu.workers", "2"}, {"cpu.topology", kFourCores}, {"sim.devices", "2"},
                       {"sim.runs", ""}, {"scheduler", "chooser"}, {"limits", "ram=16K"}, {"save_ahead", "0"}};
  const consort_settings s = settings_with(pairs, entry);
  consort_runtime *rt = nullptr;
  need(consort_start(&s, &rt), "start");
  Body write = [](const consort_call &c) { return *pointer<uint64_t>(c, 0) = 5, CONSORT_OK; };
  std::atomic<uint64_t> sum{0};
  Body read = [&](const consort_call &c) { return sum += *pointer<uint64_t>(c, 0), CONSORT_OK; };
  const auto on = [&](const char *klass, Body &body) {
    const consort_impl impl{klass, run_body, &body, nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(rt, "body", {&impl, 1});
  };
  const auto write_here = on("cpu", write), write_there = on("gpu", write), read_there = on("gpu", read);
  std::vector<consort_data_id> h;
  for (int i = 0; i < 5; ++i) h.push_back(vector_of(rt, static_cast<uint64_t *>(nullptr), kCells, 8));
  for (size_t i = 0; i < 4; ++i) Desc(write_here).w(h[i]).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  for (size_t i = 0; i < 4; ++i) Desc(read_there).r(h[i]).on(2).must(rt);
  Desc(write_there).w(h[4]).on(2).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));  // the host is full of data that are on the first device, too
  EXPECT_EQ(chooser.asked, 0u);
  chooser.choose = [&](const consort_replica *r, uint32_t n, uint32_t *order) {
    for (uint32_t i = 0; i < n; ++i)
      if (r[i].data == h[2].v) return order[0] = i, 1u;
    return 0u;
  };
  Desc(read_there).r(h[4]).on(3).must(rt);
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(sum.load(), 5u * 5);
  EXPECT_EQ(chooser.asked, 1u);
  EXPECT_EQ(chooser.space, 0u);
  for (size_t i = 0; i < 5; ++i) {
    uint32_t bits = 0;
    need(consort_data_in(rt, h[i], 0, &bits), "in");
    EXPECT_EQ((bits & CONSORT_IN_VALID) != 0, i != 2) << i;
  }
  for (const auto d : h) EXPECT_OK(consort_unregister(rt, d));
  EXPECT_OK(consort_stop(rt));
}

// Other tasks go on while the policy answers. A replica that is in use by then stays.
TEST_F(EvictionPolicy, ArbitraryAnswersKeepValues) {
  begin("");
  std::atomic<uint32_t> lot{7};
  chooser.choose = [&](const consort_replica *, uint32_t n, uint32_t *order) {
    const uint32_t m = lot.fetch_add(1) % (n + 1);
    for (uint32_t i = 0; i < m; ++i) order[i] = n - 1 - i;
    return m;
  };
  for (int i = 0; i < 600; ++i) {
    const size_t k = static_cast<size_t>(i * 7 + i / 5) % 6;
    Desc(add_).rw(x_[k]).must(rt_);
    ++uses_of_[k];
  }
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  for (size_t i = 4; i < 6; ++i) --uses_of_[i];  // which begin() did not use
  EXPECT_GT(chooser.asked, 0u);
  consort_space_use use = CONSORT_SPACE_USE_INIT;
  ASSERT_OK(consort_get_space_use(rt_, 1, &use));
  EXPECT_EQ(use.needed_evictions, 0u);
}

}  // namespace
