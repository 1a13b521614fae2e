// The setting `trace`: which tasks ran where and when, in a file that is written while they run.
#include <consort/reports.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>
#include <thread>

#include "api/harness.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"
#include "support/trace_text.hpp"

namespace {

using namespace consort_test;

struct Line : std::vector<std::string> {
  explicit Line(const std::string &text) {
    std::istringstream in(text);
    for (std::string field; std::getline(in, field, '\t');) push_back(field);
  }
  uint64_t number(size_t i) const { return std::stoull(at(i)); }
};

class Traces : public ::testing::Test {
 protected:
  void TearDown() override { stop(); }
  consort_status start(Pairs pairs) {
    pairs.push_back({"keep_models", "no"});
    if (std::none_of(pairs.begin(), pairs.end(), [](const auto &p) { return std::string(p.key) == "trace"; }))
      pairs.push_back({"trace", path_.c_str()});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = pairs.data();
    s.nset = static_cast<uint32_t>(pairs.size());
    return consort_start(&s, &rt_);
  }
  void stop() {
    if (rt_) {
      EXPECT_OK(consort_stop(std::exchange(rt_, nullptr)));
    }
  }
  void read() {
    stop();
    std::istringstream in(trace_text(path_));
    lines_.clear();
    for (std::string text; std::getline(in, text);) lines_.emplace_back(text);
    ASSERT_FALSE(lines_.empty());
    EXPECT_EQ(lines_[0], Line("consort trace 1"));
    EXPECT_EQ(lines_.back().at(0), "end");
  }
  std::vector<Line> of(const char *kind) const {
    std::vector<Line> some;
    for (const Line &l : lines_)
      if (!l.empty() && l[0] == kind) some.push_back(l);
    return some;
  }

  const Folder folder_{"traces"};
  const std::string path_ = folder_ / "trace";
  std::vector<Line> lines_;
  Bodies body_;
  consort_runtime *rt_ = nullptr;
};

TEST_F(Traces, RecordTaskRuns) {
  ASSERT_OK(start({{"workers", "2"}, {"scheduler", "lws"}}));
  const auto good = body_(rt_, "good", [](const consort_call &) { return CONSORT_OK; });
  const auto bad = body_(rt_, "bad\tone", [](const consort_call &) { return CONSORT_E_IO; });
  for (int i = 0; i < 10; ++i) Desc(good).must(rt_);
  Desc(bad).must(rt_);
  EXPECT_EQ(consort_wait_all(rt_, kLong, 0), CONSORT_E_IO);
  read();
  const auto runs = of("run"), codelets = of("codelet");
  ASSERT_EQ(runs.size(), 11u);
  EXPECT_EQ(of("worker").size(), 2u);
  ASSERT_EQ(codelets.size(), 2u);
  EXPECT_EQ(codelets[0].at(2), "good");
  EXPECT_EQ(codelets[1].at(2), "bad?one") << "a name does not break its line";
  int failed = 0;
  for (const Line &r : runs) {
    ASSERT_EQ(r.size(), 9u);
    EXPECT_LE(r.number(2), r.number(3));
    EXPECT_LT(r.number(1), 2u);
    EXPECT_EQ(r.at(7), "-1") << "their time was not queried";
    failed += r.at(8) != "0";
  }
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(lines_.back().number(1), 0u);
}

TEST_F(Traces, RecordCopiesAndDecisionsInVirtualTime) {
  const auto program = [&](const char *scheduler) {
    ASSERT_OK(start({{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", scheduler}, {"sim.cores", "1"}, {"sim.units", "1"}, {"sim.class", "gpu"}, {"sim.runs", ""},
                     {"sim.memory", "1G"}, {"sim.times", "work=1ms"}}));
    std::vector<double> v(1000);
    const auto datum = vector_of(rt_, v.data(), v.size(), sizeof(double));
    const consort_impl impl = {"gpu", [](const consort_call *) -> consort_status { return CONSORT_OK; }, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    consort_codelet desc = CONSORT_CODELET_INIT;
    desc.name = "work";
    desc.impls = &impl;
    desc.nimpls = 1;
    consort_codelet_id c{};
    ASSERT_OK(consort_codelet_add(rt_, &desc, &c));
    for (int i = 0; i < 3; ++i) Desc(c).rw(datum).must(rt_);
    ASSERT_OK(consort_wait_all(rt_, kLong, 0));
    ASSERT_OK(consort_unregister(rt_, datum));
    read();
  };
  for (const char *scheduler : {"dmda", "graph-lookahead"}) {
    SCOPED_TRACE(scheduler);
    program(scheduler);
    const auto runs = of("run"), copies = of("copy"), decisions = of("decision");
    ASSERT_EQ(runs.size(), 3u);
    for (const Line &r : runs) EXPECT_GE(r.number(3) - r.number(2), 1000000u);
    EXPECT_EQ(runs.back().at(7), "1000000") << "its expected time";
    ASSERT_EQ(copies.size(), 2u) << "there and back";
    for (const Line &c : copies) {
      EXPECT_EQ(c.number(5), 8000u);
      EXPECT_LT(c.number(3), c.number(4));
    }
    EXPECT_FALSE(decisions.empty());  // for tasks issued early on the same queue the policy makes no decision
    for (const Line &d : decisions) {
      EXPECT_EQ(d.at(3), runs[0].at(1)) << "the worker";
      EXPECT_EQ(d.at(4), "1000000");
      EXPECT_GE(d.number(5), d.number(1) + 1000000) << "when it expects it to end";
    }
    const std::string once = read_file(path_);
    program(scheduler);
    EXPECT_EQ(once, read_file(path_)) << "two runs, one trace";
  }
}

TEST_F(Traces, RecordWhatAReportNeeds) {
  ASSERT_OK(start({{"drivers", "sim"}, {"time", "virtual"}, {"scheduler", "eager"}, {"sim.cores", "1"}, {"sim.units", "1"}, {"sim.class", "gpu"}, {"sim.runs", ""},
                   {"sim.memory", "20K"}, {"sim.times", "work=1ms"}, {"trace_graph", "true"}}));
  std::vector<double> v[3];                // two of them have room on the device
  consort_data_id data[3];
  for (int i = 0; i < 3; ++i) v[i].resize(1000), data[i] = vector_of(rt_, v[i].data(), v[i].size(), sizeof(double));
  const consort_impl impl = {"gpu", [](const consort_call *) -> consort_status { return CONSORT_OK; }, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
  consort_codelet desc = CONSORT_CODELET_INIT;
  desc.name = "work";
  desc.impls = &impl;
  desc.nimpls = 1;
  consort_codelet_id c{};
  ASSERT_OK(consort_codelet_add(rt_, &desc, &c));
  for (int i = 0; i < 6; ++i) Desc(c).rw(data[i % 3]).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  for (const consort_data_id d : data) ASSERT_OK(consort_unregister(rt_, d));
  read();
  const auto runs = of("run"), fetches = of("fetch"), evictions = of("evict"), uses = of("used"), tasks = of("task");
  ASSERT_EQ(runs.size(), 6u);
  ASSERT_FALSE(fetches.empty());
  for (const Line &f : fetches) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Line &r) { return r.at(5) == f.at(4); });
    ASSERT_NE(run, runs.end()) << "of the task that waited";
    EXPECT_EQ(f.at(1), run->at(1)) << "its worker";
    EXPECT_LT(f.number(2), f.number(3));
    EXPECT_LE(f.number(3), run->number(2)) << "it began when its data were there";
  }
  EXPECT_GE(evictions.size(), 3u) << "the third datum and the next round need room";
  for (const Line &e : evictions) EXPECT_GE(e.number(4), 8000u);
  ASSERT_FALSE(uses.empty());
  for (const Line &u : uses) {
    EXPECT_LE(u.number(3), u.number(4)) << "no more than its limit";
    EXPECT_EQ(u.number(4), 20u << 10);
  }
  std::set<std::string> reasons;
  for (const Line &copy : of("copy")) reasons.insert(copy.at(8));
  EXPECT_TRUE(reasons.count("d") && reasons.count("s")) << "tasks waited, and contents were saved";
  size_t submitted = 0;
  for (const Line &t : tasks) {
    ASSERT_EQ(t.size(), 7u);
    submitted += t.number(6) <= runs[0].number(2);
  }
  EXPECT_GE(submitted, 6u) << "all were submitted before virtual time went on";
}

TEST_F(Traces, KeepTheLastEvents) {
  ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}, {"trace_mode", "keep"}, {"trace_events", "8"}}));
  const auto early = body_(rt_, "early", [](const consort_call &) { return CONSORT_OK; });
  const auto late = body_(rt_, "late", [](const consort_call &) { return CONSORT_OK; });
  for (int i = 0; i < 20; ++i) Desc(early).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  for (int i = 0; i < 8; ++i) Desc(late).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  read();
  const auto runs = of("run");
  ASSERT_EQ(runs.size(), 8u);
  uint64_t before = 0;
  for (const Line &r : runs) {
    EXPECT_EQ(r.at(4), of("codelet").back().at(1));
    EXPECT_GE(r.number(2), before);
    before = r.number(2);
  }
  EXPECT_EQ(lines_.back().number(1), 20u);
}

TEST_F(Traces, LoseNothingWithSmallRings) {
  ASSERT_OK(start({{"workers", "2"}, {"scheduler", "lws"}, {"trace_buffer", "4"}, {"trace_graph", "true"}}));
  const auto small = body_(rt_, "small", [](const consort_call &) { return CONSORT_OK; });
  int values[4] = {};
  consort_data_id data[4];
  for (int i = 0; i < 4; ++i) data[i] = vector_of(rt_, &values[i], 1, sizeof values[i]);
  constexpr int kEach = 5000;
  std::vector<std::thread> submitters;
  for (int s = 0; s < 2; ++s)
    submitters.emplace_back([&, s] {
      for (int i = 0; i < kEach; ++i) Desc(small).must(rt_);
      for (int i = 0; i < 50; ++i) Desc(small).rw(data[2 * s]).r(data[2 * s + 1]).must(rt_);
    });
  for (std::thread &one : submitters) one.join();
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  for (const consort_data_id d : data) ASSERT_OK(consort_unregister(rt_, d));
  read();
  EXPECT_EQ(lines_.back().number(1), 0u) << "nothing was dropped";
  std::set<std::string> ran, submitted;
  for (const Line &r : of("run")) {
    EXPECT_TRUE(ran.insert(r.at(5)).second) << "each runs once";
    EXPECT_LE(r.number(2), r.number(3));
  }
  EXPECT_EQ(ran.size(), 2u * (kEach + 50));
  for (const Line &t : of("task")) submitted.insert(t.at(1));
  for (const std::string &id : ran) EXPECT_TRUE(submitted.count(id)) << id;
  EXPECT_EQ(of("datum").size(), 4u);
}

TEST_F(Traces, AreSwitchedByCategory) {
  ASSERT_OK(start({{"workers", "1"}, {"scheduler", "eager"}, {"trace_only", "nothing"}}));
  const auto body = body_(rt_, "body", [](const consort_call &) { return CONSORT_OK; });
  const auto some = [&](int n) {
    for (int i = 0; i < n; ++i) Desc(body).must(rt_);
    ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  };
  some(3);
  ASSERT_OK(consort_trace_select(rt_, CONSORT_TRACE_TASKS));
  some(5);
  ASSERT_OK(consort_trace_select(rt_, CONSORT_TRACE_COPIES));
  some(7);
  ASSERT_OK(consort_trace_select(rt_, CONSORT_TRACE_ALL));
  some(2);
  EXPECT_SAYS(CONSORT_E_INVAL, consort_trace_select(rt_, 1u << 20), "0x100000");
  read();
  EXPECT_EQ(of("run").size(), 7u);
  ASSERT_OK(start({{"workers", "1"}, {"trace", ""}}));
  EXPECT_SAYS(CONSORT_E_UNSUPPORTED, consort_trace_select(rt_, 0), "nothing is recorded");
  stop();
  EXPECT_EQ(start({{"workers", "1"}, {"trace_only", "tasks,what"}}), CONSORT_E_INVAL);
  EXPECT_NE(std::string(consort_error()).find("\"what\" is nothing that a trace has"), std::string::npos) << consort_error();
}

TEST_F(Traces, AreSwitchedWhileTasksRun) {
  ASSERT_OK(start({{"workers", "2"}, {"scheduler", "lws"}, {"trace_buffer", "4"}}));
  const auto body = body_(rt_, "body", [](const consort_call &) { return CONSORT_OK; });
  std::atomic<bool> over{false};
  std::thread switches([&] {
    for (uint32_t i = 0; !over.load(); ++i) EXPECT_OK(consort_trace_select(rt_, i % (CONSORT_TRACE_ALL + 1)));
  });
  for (int i = 0; i < 20000; ++i) Desc(body).must(rt_);
  EXPECT_OK(consort_wait_all(rt_, kLong, 0));
  over.store(true);
  switches.join();
  read();
  EXPECT_LE(of("run").size(), 20000u);
  for (const Line &r : of("run")) EXPECT_LE(r.number(2), r.number(3));
}

TEST_F(Traces, OfKilledProcessesAreReadUpToTheirEnd) {
  if (CONSORT_SAN == 2) GTEST_SKIP() << "the thread sanitizer takes no child that starts threads";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (start({{"workers", "1"}, {"scheduler", "eager"}}) != CONSORT_OK) _exit(1);
    const auto body = body_(rt_, "killed", [](const consort_call &) { return CONSORT_OK; });
    for (;;) {
      for (int i = 0; i < 100; ++i) Desc(body).must(rt_);
      (void)consort_wait_all(rt_, kLong, 0);
    }
  }
  for (int i = 0; i < 1000 && (!std::filesystem::exists(path_) || std::filesystem::file_size(path_) < 20000); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // nap: until it has written something
  ASSERT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  const std::string all = read_file(path_);
  consort::shared::TraceReader reader;
  ASSERT_TRUE(reader.open(all)) << reader.why();
  EXPECT_TRUE(reader.cut());
  size_t runs = 0;
  reader.each_record([&](const auto &r) { runs += r.name() == "run" && r.number(consort::shared::TraceReader::kBegin) <= r.end(); });
  EXPECT_GT(runs, 100u);
}

TEST_F(Traces, RecordWaitingBodies) {
  ASSERT_OK(start({{"workers", "2"}, {"scheduler", "eager"}}));
  const auto inner = body_(rt_, "inner", [](const consort_call &) { return CONSORT_OK; });
  const auto outer = body_(rt_, "outer", [&](const consort_call &) {
    consort_task_id id{};
    for (int i = 0; i < 20; ++i) id = Desc(inner).must(rt_);
    return consort_task_wait(rt_, id, kLong, 0);
  });
  for (int i = 0; i < 8; ++i) Desc(outer).must(rt_);
  ASSERT_OK(consort_wait_all(rt_, kLong, 0));
  read();
  EXPECT_EQ(of("run").size(), 8u * 21);
}

TEST_F(Traces, UnwritableFileIsRefusedAtStart) {
  const std::string nowhere = folder_ / "no/such/trace";
  EXPECT_EQ(start({{"workers", "1"}, {"trace", nowhere.c_str()}}), CONSORT_E_IO);
  EXPECT_NE(std::string(consort_error()).find("the setting trace: cannot write " + nowhere), std::string::npos) << consort_error();
}

TEST_F(Traces, FileNameMayHoldTheProcessId) {
  const std::string pattern = folder_ / "of-%p";
  ASSERT_OK(start({{"workers", "1"}, {"trace", pattern.c_str()}}));
  stop();
  EXPECT_TRUE(std::filesystem::exists(folder_ / "of-" + std::to_string(getpid())));
}

}  // namespace
