// Reports: the settings `reports` and `trace_graph`, and reports.h. The contents of the report "bound" are tested in
// tests/reports.
#include <consort/model.h>
#include <consort/reports.h>

#include <filesystem>
#include <fstream>

#include "api/harness.hpp"
#include "support/folder.hpp"
#include "support/glpk.hpp"
#include "support/trace_text.hpp"

namespace {

using namespace consort_test;

class Reports : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }
  consort_status start(Pairs pairs) {
    pairs.push_back({"keep_models", "no"});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    s.log = [](void *to, int32_t, const char *line) { static_cast<Reports *>(to)->log(line); };
    s.log_user = this;
    return consort_start(&s, &rt_);
  }
  // Two cores and a card of a machine that is not there: 4 ms and 1 ms for each task.
  consort_status start_virtual(Pairs more) {
    Pairs pairs = {{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", "dmda"}, {"sim.cores", "2"}, {"sim.units", "1"}, {"sim.class", "gpu"},
                   {"sim.runs", ""}, {"sim.memory", "1G"}, {"sim.times", "work=1ms"}, {"sim.execute", "false"}, {"sim.move", "false"}};
    pairs.insert(pairs.end(), more.begin(), more.end());
    return start(pairs);
  }
  consort_codelet_id card_codelet(const char *name) {
    const consort_impl impl = {"gpu", [](const consort_call *) -> consort_status { return CONSORT_OK; }, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    return codelet_of(rt_, name, {&impl, 1});
  }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  void log(const char *line) {
    const std::lock_guard lock(mutex_);
    log_.emplace_back(line);
  }
  static void note(void *to, const char *line) { static_cast<std::vector<std::string> *>(to)->emplace_back(line); }
  static bool says(const std::vector<std::string> &lines, const std::string &part) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string &l) { return l.find(part) != l.npos; });
  }
  static std::string all(const std::vector<std::string> &lines) {
    std::string text;
    for (const std::string &l : lines) text += l + "\n";
    return text;
  }
  std::string file() const { return trace_text(path_); }
  std::vector<std::string> of(const char *kind) const {
    std::vector<std::string> lines;
    std::istringstream in(trace_text(path_));
    for (std::string line; std::getline(in, line);)
      if (line.starts_with(std::string(kind) + "\t")) lines.push_back(line);
    return lines;
  }

  const Folder folder_{"reports"};
  const std::string path_ = folder_ / "trace";
  std::mutex mutex_;
  std::vector<std::string> log_;
  Bodies body_;
  consort_runtime *rt_ = nullptr;
};

TEST_F(Reports, StopReportsTheBound) {  // BND-04, BND-05, BND-08
  if (!kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  std::vector<double> v(1000), w(1000);
  ASSERT_OK(start_virtual({{"reports", "bound"}, {"bound.kind", "deps"}}));
  const auto a = vector_of(rt_, v.data(), v.size(), sizeof(double)), b = vector_of(rt_, w.data(), w.size(), sizeof(double));
  const auto work = card_codelet("work");
  for (int i = 0; i < 3; ++i) Desc(work).rw(a).must(rt_);
  for (int i = 0; i < 3; ++i) Desc(work).rw(b).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  EXPECT_TRUE(says(log_, "bound: work: 6 ran on gpu (1 ms each), best 6")) << all(log_);
  EXPECT_TRUE(says(log_, "bound: no schedule of these 6 tasks takes less than 6 ms here (counted: the work, and which task waits for which)")) << all(log_);
  EXPECT_TRUE(says(log_, "% of the best possible speed")) << all(log_);
}

TEST_F(Reports, WritesTheTaskRecord) {  // BND-01
  std::vector<double> v(1000);
  int64_t x = 0;
  ASSERT_OK(start_virtual({{"trace", path_.c_str()}, {"trace_graph", "true"}}));
  const auto a = vector_of(rt_, v.data(), v.size(), sizeof(double)), b = variable_of(rt_, &x);
  const auto work = card_codelet("work");
  const auto first = Desc(work).w(a).priority(4).must(rt_);
  Desc(work).r(a).rw(b).must(rt_);
  Desc(work).then(first).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  const auto tasks = of("task"), data = of("datum"), kinds = of("kind"), times = of("time");
  ASSERT_EQ(tasks.size(), 3u) << file();
  ASSERT_EQ(data.size(), 2u) << file();
  ASSERT_EQ(of("home").size(), 1u);
  const std::string home = of("home")[0];
  EXPECT_NE(data[0].find("\t8000\t" + home.substr(5) + "\t0"), std::string::npos) << data[0];
  EXPECT_EQ(kinds.size(), 3u) << "by size";
  EXPECT_EQ(times.size(), 3u) << "the card's alone";
  EXPECT_NE(times[0].find("\t1000000"), std::string::npos) << times[0];
  const auto fields = [](const std::string &line) {
    std::vector<std::string> some(1);
    for (const char c : line)
      if (c == '\t') some.emplace_back();
      else some.back() += c;
    return some;
  };
  const auto t0 = fields(tasks[0]), t1 = fields(tasks[1]), t2 = fields(tasks[2]), d0 = fields(data[0]), d1 = fields(data[1]);
  EXPECT_EQ(t0[3], "4");
  EXPECT_EQ(t0[4], "w" + d0[1]);
  EXPECT_EQ(t1[4], "r" + d0[1] + ",u" + d1[1]);
  EXPECT_EQ(t2[4], "");
  EXPECT_EQ(t2[5], t0[1]);
  EXPECT_EQ(of("submitted").size(), 1u);
}

TEST_F(Reports, ReportsEnergy) {  // POW-04
  ASSERT_OK(start_virtual({{"trace", path_.c_str()}, {"trace_graph", "true"}}));
  const auto work = card_codelet("work"), other = card_codelet("other");
  consort_model model = CONSORT_MODEL_INIT;
  model.kind = CONSORT_MODEL_COMMON;
  model.cost = [](void *, const consort_model_ask *) -> double { return 4200; };
  ASSERT_OK(consort_codelet_set_model(rt_, work, CONSORT_MODEL_ENERGY, &model));
  for (int i = 0; i < 3; ++i) Desc(work).must(rt_);
  Desc(other).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  ASSERT_EQ(of("energy").size(), 1u) << file();
  EXPECT_TRUE(of("energy")[0].ends_with("\t4200")) << of("energy")[0];
}

TEST_F(Reports, BeginRestrictsToAPartOfARun) {  // BND-01: begin; BND-05: now
  if (!kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  ASSERT_OK(start_virtual({{"reports", "bound"}}));
  const auto work = card_codelet("work");
  for (int i = 0; i < 100; ++i) Desc(work).must(rt_);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_report_begin(rt_), "tasks are pending");
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  ASSERT_OK(consort_report_begin(rt_));
  std::vector<std::string> lines;
  ASSERT_OK(consort_report_now(rt_, "bound", note, &lines));
  EXPECT_TRUE(says(lines, "no task ran")) << all(lines);
  for (int i = 0; i < 5; ++i) Desc(work).must(rt_);
  EXPECT_SAYS(CONSORT_E_BUSY, consort_report_now(rt_, "bound", note, &lines), "tasks are pending");
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  lines.clear();
  ASSERT_OK(consort_report_now(rt_, "bound", note, &lines));
  EXPECT_TRUE(says(lines, "no schedule of these 5 tasks takes less than 5 ms")) << all(lines);
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_report_now(rt_, "bund", note, &lines), "\"bund\"", "reports");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_report_now(rt_, nullptr, note, &lines), "NULL");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_report_now(rt_, "bound", nullptr, &lines), "NULL");
}

// In real time, by estimates that models have learned meanwhile: nothing was known at submission.
TEST_F(Reports, UsesModelsInRealTime) {  // BND-09
  if (!kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  std::vector<double> v(1 << 12), w(1 << 12);
  ASSERT_OK(start({{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", "dmda"}, {"reports", "bound"}, {"bound.kind", "transfers"}, {"trace", path_.c_str()}}));
  const auto a = vector_of(rt_, v.data(), v.size(), sizeof(double)), b = vector_of(rt_, w.data(), w.size(), sizeof(double));
  const auto work = body_(rt_, "work", [](const consort_call &c) {
    double *p = pointer<double>(c, 0);
    for (int i = 0; i < 1 << 12; ++i) p[i] += 1;
    return CONSORT_OK;
  });
  for (int i = 0; i < 40; ++i) Desc(work).rw(i % 2 ? a : b).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  EXPECT_TRUE(says(log_, "no schedule of these 40 tasks takes less than")) << all(log_);
  EXPECT_FALSE(says(log_, "is unknown")) << all(log_);
  for (const std::string &line : of("time")) EXPECT_EQ(line.find("\t-1"), std::string::npos) << line;
  std::vector<std::string> again;
  ASSERT_OK(consort_report_file(nullptr, "bound", path_.c_str(), note, &again));
  EXPECT_TRUE(says(again, "no schedule of these 40 tasks takes less than")) << all(again);
}

TEST_F(Reports, CoverPartsReductionsReplaysAndFailures) {
  if (!kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  constexpr int kRounds = 4;
  std::vector<int64_t> v(64);
  int64_t sum = 0;
  ASSERT_OK(start({{"workers", "2"}, {"cpu.topology", kFourCores}, {"reports", "bound"}, {"bound.kind", "deps"}, {"trace", path_.c_str()}}));
  const auto x = vector_of(rt_, v.data(), v.size(), sizeof(int64_t)), total = variable_of(rt_, &sum);
  const auto touch = body_(rt_, "touch", [](const consort_call &) { return CONSORT_OK; });
  const auto add = body_(rt_, "add", [](const consort_call &c) {
    *pointer<int64_t>(c, 0) += 1;
    return CONSORT_OK;
  });
  const auto unite = body_(rt_, "unite", [](const consort_call &c) {
    *pointer<int64_t>(c, 0) += *pointer<int64_t>(c, 1);
    return CONSORT_OK;
  });
  const auto zero = body_(rt_, "zero", [](const consort_call &c) {
    *pointer<int64_t>(c, 0) = 0;
    return CONSORT_OK;
  });
  const auto bad = body_(rt_, "bad", [](const consort_call &) { return consort_fail(CONSORT_E_IO, "no luck"); });
  const uint64_t four = 4;
  consort_plan_desc d = CONSORT_PLAN_INIT;
  d.filter = "blocks";
  d.params = &four;
  d.params_bytes = sizeof four;
  consort_plan_id plan{0};
  ASSERT_OK(consort_plan_create(rt_, x, &d, &plan));
  consort_data_id part[4];
  ASSERT_EQ(consort_plan_parts(rt_, plan, part, 4), 4);
  ASSERT_OK(consort_data_set_reduction(rt_, total, zero, unite));
  for (int round = 0; round < kRounds; ++round) {
    Desc(touch).rw(x).must(rt_);
    for (const auto p : part) Desc(touch).rw(p).must(rt_);
    Desc(touch).r(x).must(rt_);
    for (int i = 0; i < 3; ++i) Desc(add).use(total, CONSORT_M_REDUX).must(rt_);
    Desc(touch).r(total).must(rt_);
    for (int i = 0; i < 3; ++i) Desc(add).use(total, CONSORT_M_RW | CONSORT_M_COMMUTE).must(rt_);
  }
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  ASSERT_OK(consort_record_begin(rt_, CONSORT_RECORD_ONLY));
  for (int i = 0; i < 3; ++i) Desc(touch).rw(total).must(rt_);
  consort_recording_id recording{0};
  ASSERT_OK(consort_record_end(rt_, &recording));
  ASSERT_OK(consort_replay(rt_, recording, {0}, nullptr));
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  Desc(bad).rw(x).must(rt_);
  Desc(touch).r(x).must(rt_);
  EXPECT_EQ(consort_wait_all(rt_, kLong, 0), CONSORT_E_IO);
  ASSERT_OK(consort_plan_destroy(rt_, plan));
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  EXPECT_EQ(sum, 6 * kRounds);
  EXPECT_TRUE(says(log_, "some tasks came from recordings")) << all(log_);
  EXPECT_TRUE(says(log_, "did not run")) << all(log_);
  EXPECT_TRUE(says(log_, "% of the best possible speed")) << all(log_);
}

TEST_F(Reports, ConcurrentSubmittersAreRecorded) {
  if (!kHasGlpk) GTEST_SKIP() << "the report bound was built without GLPK";
  constexpr int kThreads = 4, kTasks = 200;
  ASSERT_OK(start({{"workers", "2"}, {"cpu.topology", kFourCores}, {"reports", "bound"}, {"trace", path_.c_str()}}));
  std::vector<int64_t> v(4);
  std::vector<consort_data_id> x;
  for (auto &one : v) x.push_back(variable_of(rt_, &one));
  const auto work = body_(rt_, "work", [](const consort_call &) { return CONSORT_OK; });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTasks; ++i)
        Desc(work).rw(x[static_cast<size_t>(i % 4)]).r(x[static_cast<size_t>((i + 1 + t % 3) % 4)]).must(rt_);
    });
  for (auto &t : threads) t.join();
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  std::vector<std::string> lines;
  ASSERT_OK(consort_report_now(rt_, "bound", note, &lines));
  EXPECT_TRUE(says(lines, "no schedule of these 800 tasks takes less than")) << all(lines);
  stop();
  EXPECT_EQ(of("task").size(), size_t{kThreads * kTasks});
  EXPECT_TRUE(says(log_, "% of the best possible speed")) << all(log_);
}

TEST_F(Reports, LostRecordsAreCountedAndGiveNoBound) {
  ASSERT_OK(start({{"workers", "1"}, {"cpu.topology", kFourCores}, {"reports", "bound"}, {"trace_events", "1"}, {"log", "error"}}));
  const auto work = body_(rt_, "work", [](const consort_call &) { return CONSORT_OK; });
  for (int i = 0; i < 20; ++i) Desc(work).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  stop();
  EXPECT_TRUE(says(log_, "report \"bound\": 4 tasks did not fit into the record")) << all(log_);
}

TEST_F(Reports, RefusesWrongUse) {
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, start({{"workers", "1"}, {"reports", "bonud"}}), "report \"bonud\" not found", "did you mean \"bound\"?");
  EXPECT_SAYS(CONSORT_E_INVAL, start({{"workers", "1"}, {"reports", "bound"}, {"bound.kind", "dreams"}}), "bound.kind", "dreams");
  std::vector<std::string> lines;
  EXPECT_SAYS(CONSORT_E_IO, consort_report_file(nullptr, "bound", "/no/such/file", note, &lines), "/no/such/file");
  std::ofstream(path_) << "hello\n";
  EXPECT_SAYS(CONSORT_E_INVAL, consort_report_file(nullptr, "bound", path_.c_str(), note, &lines), "this is not a record");
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_report_file(nullptr, "none", path_.c_str(), note, &lines), "report \"none\" not found");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_report_file(nullptr, nullptr, path_.c_str(), note, &lines), "NULL");
  ASSERT_OK(start({{"workers", "1"}, {"cpu.topology", kFourCores}}));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_report_begin(rt_), "nothing is recorded");
}

}  // namespace
