// What a tracer notes of tasks that are stepped by hand, what an explanation says of those that wait, and the table for
// debuggers.
#include <gtest/gtest.h>

#include <consort/shared/fields.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "base/last_error.hpp"
#include "observe/debug.hpp"
#include "observe/explain.hpp"
#include "observe/observation.hpp"
#include "replay/replay_room.hpp"
#include "support/folder.hpp"
#include "support/trace_text.hpp"

namespace consort {
namespace {

struct TraceText : ::testing::Test {
  const consort_test::Folder folder{"trace"};
  const std::string file = folder / "run.trace";
  consort_test::ReplayingOn<Observation> room{consort_test::Pairs{{"trace", file.c_str()}, {"trace_mode", "keep"}, {"trace_graph", "true"}}};
  Codelet &codelet = room.add_codelet("solve");
  int value = 0;
  consort_data_id x = room.add_variable(&value, "x");

  void SetUp() override {
    room.tracer = consort_test::must(Tracer::open(room));
    room.run_observer = room.tracer.get();
    room.traced = room.tracer->categories();
    room.graph_observer = room.tracer->graph();
    ASSERT_TRUE(room.tracer->begin());
    room.choose_paths();
  }
  size_t lines(const std::string &text, const std::string &begin) const {
    size_t n = 0;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) n += text.compare(at, begin.size(), begin) == 0;
    return n;
  }
  std::string explanation(const Task *t) const { return describe_task(const_cast<TraceText *>(this)->room, t->pub.id); }
};

TEST_F(TraceText, EachRunIsALine) {
  for (int i = 0; i < 3; ++i) room.submit_task(codelet, {{x, CONSORT_M_RW, 0}});
  room.run_all();
  const std::string text = room.tracer->text();
  EXPECT_EQ(lines(text, "run\t"), 3u) << text;
  EXPECT_EQ(lines(text, "worker\t"), 2u);
  EXPECT_NE(text.find("scheduler\teager\n"), std::string::npos);
  EXPECT_NE(text.find("solve"), std::string::npos);
}

TEST_F(TraceText, WaitsEvictionsAndMemoryInUseAreLines) {
  Task *const t = room.submit_task(codelet, {{x, CONSORT_M_RW, 0}});
  room.tracer->fetched(t->pub.id, 1, 3, 7);
  room.tracer->slept(0, 5, 9);
  room.tracer->in_use(0, 64, UINT64_MAX);
  room.tracer->in_use(0, 96, 128);
  room.run_all();
  const std::string text = room.tracer->text();
  EXPECT_NE(text.find("\nsleep\t0\t5\t9\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nfetch\t1\t3\t7\t"), std::string::npos);
  EXPECT_NE(text.find("\t64\t0\n"), std::string::npos) << "no limit is 0";
  EXPECT_NE(text.find("\t96\t128\n"), std::string::npos);
  room.tracer->clear();
  for (const char *kind : {"sleep\t", "fetch\t", "used\t"}) EXPECT_EQ(lines(room.tracer->text(), kind), 0u) << kind;
}

TEST_F(TraceText, TasksHaveTheTimeOfTheirSubmission) {
  const uint64_t before = room.clock.now();
  room.submit_task(codelet, {{x, CONSORT_M_RW, 0}});
  const std::string text = room.tracer->text();
  const size_t at = text.find("\ntask\t"), end = text.find('\n', at + 1);
  ASSERT_NE(at, std::string::npos);
  const std::string line = text.substr(at + 1, end - at - 1);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\t'), 6) << line;
  const uint64_t when = std::stoull(line.substr(line.rfind('\t') + 1));
  EXPECT_GE(when, before);
  EXPECT_LE(when, room.clock.now());
  room.run_all();
}

TEST_F(TraceText, ClearForgetsRuns) {
  room.submit_task(codelet);
  room.run_all();
  room.tracer->clear();
  EXPECT_EQ(lines(room.tracer->text(), "run\t"), 0u);
}

TEST_F(TraceText, CloseWritesTheFile) {
  room.submit_task(codelet);
  room.run_all();
  const std::string text = room.tracer->text();
  room.tracer->close();
  EXPECT_EQ(consort_test::trace_text(file), text);
}

TEST_F(TraceText, ExplanationNamesWhatATaskWaitsFor) {
  Task *const first = room.submit_task(codelet, {{x, CONSORT_M_RW, 0}});
  Task *const second = room.submit_task(codelet, {{x, CONSORT_M_R, 0}});
  EXPECT_NE(explanation(second).find("waits"), std::string::npos) << explanation(second);
  EXPECT_NE(explanation(second), explanation(first));
  const TaskName name = second->pub.id;
  room.run_all();
  EXPECT_NE(describe_task(room, name).find("finished"), std::string::npos) << describe_task(room, name);
}

TEST(DebugTable, SizesAreThoseOfTheRecords) {
  std::map<std::string, uint32_t> words;
  for (const DebugWord *w = consort_debug.words; *w->name; ++w) words[w->name] = w->offset;
  EXPECT_EQ(words.at("task.size"), sizeof(Task));
  EXPECT_EQ(words.at("task.word"), offsetof(Task, word));
  EXPECT_EQ(words.at("kind.gate"), static_cast<uint32_t>(TaskKind::kGate));
  EXPECT_TRUE(words.count("runtime.threads"));
}

TEST(Fields, AreAsTheFormatSays) {
  using shared::append, shared::append_line, shared::Hex;
  std::string text;
  append_line(&text, "run", uint32_t{0}, UINT64_MAX, INT64_MIN, Hex{UINT64_MAX}, -1, 'd');
  append_line(&text, "time", size_t{7}, 1.5e9f, std::numeric_limits<float>::lowest());
  append(&text, 'r', Hex{0x2a}, ',');
  EXPECT_EQ(text, "run\t0\t18446744073709551615\t-9223372036854775808\tffffffffffffffff\t-1\td\n"
                  "time\t7\t1500000000\t-340282346638528859811704183484516925440\nr2a,");
}

}  // namespace
}  // namespace consort
