// The C++ face for programs that work with other libraries: lists of submissions, a function on each worker, the trace,
// data by address.
#include <consort/consort.hpp>

#include <algorithm>
#include <set>

#include "api/harness.hpp"

using consort::r, consort::rw, consort::w;
using consort_test::kFourCores, consort_test::kLong;

namespace {

struct FaceInterop : ::testing::Test {
  consort::Runtime rt{consort::Settings{}.set("workers", 2).set("cpu.topology", kFourCores)};
  const consort::Codelet<void(long &, long)> add{"add", consort::cpu([](long &x, long by) { x += by; })};
};

TEST_F(FaceInterop, SubmissionListKeepsItsOrder) {
  struct Large {
    long a[4];
  };
  const consort::Codelet<void(long &, Large)> join{"join", consort::cpu([](long &x, Large y) { x = x * 10 + y.a[3]; })};
  long v = 1;
  {
    auto x = rt.variable(v);
    std::vector<consort::Submission> list;
    for (long i = 2; i < 6; ++i) list.push_back(rt.prepare(join, rw(x), Large{{0, 0, 0, i}}));  // the bytes are copied
    const std::vector<consort::Task> sent = rt.submit_list(list);
    ASSERT_EQ(sent.size(), 4u);
    sent.back().wait();
    for (const auto &t : sent) EXPECT_TRUE(t.done());
    EXPECT_EQ(*x.read(), 12345);
    rt.submit_list(list);  // the same once more
    EXPECT_EQ(*x.read(), 123452345);
    rt.submit_list({rt.prepare(add, rw(x), 1L), rt.prepare({.priority = 3, .name = "named"}, add, rw(x), 2L)});
    EXPECT_EQ(*x.read(), 123452348);
    EXPECT_TRUE(rt.submit_list(std::vector<consort::Submission>{}).empty());
  }
  EXPECT_EQ(v, 123452348);
}

TEST_F(FaceInterop, SubmissionListStopsAtTheFirstFailure) {
  long v = 0;
  auto x = rt.variable(v);
  std::atomic<int> begun{0};
  const auto mine = std::make_shared<int>(0);
  std::vector<consort::Task> sent;
  {
    const consort::Options hooked{.begin = [&begun, mine] { ++begun; }};
    const consort::Submission list[] = {rt.prepare(hooked, add, rw(x), 1L), rt.prepare({.worker = 99}, add, rw(x), 10L),
                                        rt.prepare(hooked, add, rw(x), 100L)};
    try {
      rt.submit_list(list, sent);
      FAIL() << "worker 99 was taken";
    } catch (const consort::Error &e) {
      EXPECT_EQ(e.status(), CONSORT_E_INVAL);
      EXPECT_NE(std::string(e.what()).find("worker 99"), std::string::npos) << e.what();
    }
  }
  ASSERT_EQ(sent.size(), 1u);
  sent[0].wait();
  EXPECT_EQ(*x.read(), 1);
  EXPECT_EQ(begun, 1);
  EXPECT_TRUE(consort_test::eventually([&] { return mine.use_count() == 1; })) << "hooks of what was not sent are dropped";
  consort::Runtime other{{"workers", "1"}};
  EXPECT_THROW(other.submit_list({rt.prepare(add, rw(x), 1L)}), consort::Error);
  EXPECT_THROW(rt.submit_list({consort::Submission{}}), consort::Error);
}

TEST_F(FaceInterop, RunOnEachCallsEachWorkerOnce) {
  std::mutex mutex;
  std::multiset<uint32_t> seen;
  rt.run_on_each([&](const consort_call &c) {
    const std::lock_guard lock(mutex);
    seen.insert(c.worker);
  });
  EXPECT_EQ(seen, (std::multiset<uint32_t>{0, 1}));
  std::atomic<int> n{0};
  const auto count = [&] { ++n; };
  rt.run_on_each(count, "cpu");
  EXPECT_EQ(n, 2);
  const auto said = [&](auto &&f, const char *klass = nullptr) -> std::string {
    try {
      rt.run_on_each(f, klass);
    } catch (const consort::Error &e) {
      return std::string(consort_status_name(e.status())) + " " + e.what();
    }
    return "nothing";
  };
  EXPECT_NE(said([](const consort_call &c) {
              if (c.worker == 1) throw std::runtime_error("no such library");
            }).find("no such library"), std::string::npos);
  EXPECT_EQ(said([] { return consort_fail(CONSORT_E_IO, "the disk is full"); }).find("E_IO"), 0u);
  EXPECT_NE(said(count, "cpus").find("did you mean \"cpu\""), std::string::npos);
  EXPECT_EQ(n, 2);
}

TEST_F(FaceInterop, TraceReportsStartAndEnd) {
  std::mutex mutex;
  std::vector<std::pair<uint64_t, uint32_t>> events;
  std::string name;
  auto note = [&](const consort_trace_event &e) {
    const std::lock_guard lock(mutex);
    events.push_back({e.task, e.what});
    name = e.name;
  };
  rt.trace(note);
  rt.trace(nullptr);
  rt.trace(note);
  long v = 0;
  auto x = rt.variable(v);
  const auto t = rt.submit(add, rw(x), 1L);
  rt.wait();
  const std::lock_guard lock(mutex);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], std::pair(t.id().v, 0u));
  EXPECT_EQ(events[1], std::pair(t.id().v, 1u));
  EXPECT_EQ(name, "add");
  EXPECT_THROW(rt.trace(nullptr), consort::Error) << "tasks were submitted already";
}

TEST_F(FaceInterop, FindsDataByAddress) {
  std::vector<float> v(8);
  auto x = rt.vector(v);
  EXPECT_EQ(rt.find_data(v.data()).v, x.id().v);
  EXPECT_EQ(rt.find_data(v.data() + 1).v, 0u);
  EXPECT_THROW(rt.find_data(nullptr), consort::Error);
  x.unregister();
  EXPECT_EQ(rt.find_data(v.data()).v, 0u);
}

}  // namespace
