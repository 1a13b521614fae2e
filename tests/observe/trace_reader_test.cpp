// The file of a trace: what is written is read, up to any byte at which it is cut; layouts of later versions; points of the
// clock; bytes that are no trace.
#include <consort/shared/trace_text.hpp>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <map>

#include "observe/trace_file.hpp"
#include "observe/trace_records.hpp"

namespace consort {
namespace {

using shared::TraceReader, shared::TraceText;

std::string traced_file(bool end = true) {
  TraceFile file(-1);
  file.begin();
  file.lines("clock\treal\nworker\t0\tcpu0\tcpu\nspace\t0\tram\nkind\t0\tgemm\tff\t8\n");
  file.point({1000, 5'000'000});
  char codelet[24] = "";
  const CodeletRecord name{head_of<CodeletRecord>(RecordType::kCodelet, 9), 3};
  std::memcpy(codelet, &name, sizeof name);
  std::memcpy(codelet + sizeof name, "gemm\tsmal", 9);
  file.events(0, codelet, sizeof codelet);
  const RunRecord run{head_of<RunRecord>(RecordType::kRun), 0, 1, 0xa1, 1200, 300, 3};
  file.events(0, reinterpret_cast<const char *>(&run), sizeof run);
  const FullRunRecord failed{head_of<FullRunRecord>(RecordType::kRunInNs), 0, 0, 0xa2, 7, 9, 3, -5, 44};
  file.events(1, reinterpret_cast<const char *>(&failed), sizeof failed);
  const DatumRecord datum{head_of<DatumRecord>(RecordType::kDatum), 0, 0x11, 64, 0, -1, 0};
  file.events(2, reinterpret_cast<const char *>(&datum), sizeof datum);
  struct { TaskRecord head; uint64_t after; uint32_t uses[2]; } task{
      {head_of<TaskRecord>(RecordType::kTask, 16), 0, 0xa2, 600, -2, 2, 1, 0}, 0xa1, {2u << 30, 0}};
  file.events(2, reinterpret_cast<const char *>(&task), sizeof task);
  const UseRecord use{head_of<UseRecord>(RecordType::kUse), 0, 800, 64, 128};
  file.events(2, reinterpret_cast<const char *>(&use), sizeof use);
  file.point({3000, 5'001'000});
  if (end) file.end(4);
  return file.memory();
}

TEST(TraceFiles, AreReadAsWritten) {
  std::string text, why;
  ASSERT_TRUE(TraceText::write(traced_file(), &text, &why)) << why;
  EXPECT_EQ(text, "consort trace 1\nclock\treal\nworker\t0\tcpu0\tcpu\nspace\t0\tram\nkind\t0\tgemm\tff\t8\ncodelet\t3\tgemm?smal\n"
                  "datum\t11\t64\t-1\t0\ntask\ta2\t0\t-2\tu11,r11\ta1\t600\n"
                  "run\t0\t5000100\t5000250\t3\ta1\t1\t-1\t0\nrun\t0\t7\t9\t3\ta2\t0\t44\t-5\nused\t0\t800\t64\t128\nend\t4\n");
}

TEST(TraceFiles, AreReadUpToAnyCut) {
  const std::string all = traced_file();
  size_t most = 0;
  for (size_t n = 0; n <= all.size(); ++n) {
    const std::string piece = all.substr(0, n);
    TraceReader reader;
    if (!reader.open(piece)) {
      EXPECT_LT(n, shared::trace_format::kFirstLine.size()) << reader.why();
      continue;
    }
    EXPECT_EQ(reader.cut(), n < all.size());
    size_t records = 0;
    reader.each_record([&](const TraceReader::Record &) { ++records; });
    EXPECT_GE(records, most) << "more bytes, not fewer records";
    most = records;
  }
  EXPECT_EQ(most, 6u);
}

TEST(TraceFiles, WhatStandsBeforeAResetIsDropped) {
  TraceFile file(-1);
  file.begin();
  file.lines("worker\t0\told\tcpu\n");
  const SleepRecord early{head_of<SleepRecord>(RecordType::kSleep), 0, 1, 2}, late{head_of<SleepRecord>(RecordType::kSleep), 0, 3, 4};
  file.events(0, reinterpret_cast<const char *>(&early), sizeof early);
  file.reset();
  file.lines("worker\t0\tnew\tcpu\n");
  file.events(0, reinterpret_cast<const char *>(&late), sizeof late);
  file.end(0);
  std::string text, why;
  ASSERT_TRUE(TraceText::write(file.memory(), &text, &why)) << why;
  EXPECT_EQ(text, "consort trace 1\nworker\t0\tnew\tcpu\nsleep\t0\t3\t4\nend\t0\n");
}

// A later version has more fields in another order, and types of records that this one does not know.
TEST(TraceFiles, OfLaterVersionsAreRead) {
  TraceFile file(-1);
  file.begin();
  file.lines("record\t7\tsleep\tdepth:u64:8\tend:ns:16\tbegin:ns:24\tworker:u16:4\tmood:colour:32\nrecord\t99\tdream\tat:ns:8\n");
  struct { RecordHead head; uint32_t worker; uint64_t depth, end, begin; } later{{7, 4}, 1, 77, 20, 10};
  file.events(0, reinterpret_cast<const char *>(&later), sizeof later);
  const uint64_t unknown[] = {uint64_t{2} << 16 | 98, 0}, known[] = {uint64_t{2} << 16 | 99, 0};
  file.events(0, reinterpret_cast<const char *>(unknown), sizeof unknown);
  file.events(0, reinterpret_cast<const char *>(known), sizeof known);
  file.end(0);
  std::string text, why;
  ASSERT_TRUE(TraceText::write(file.memory(), &text, &why)) << why;
  EXPECT_EQ(text, "consort trace 1\nsleep\t1\t10\t20\nend\t0\n");
}

TEST(TraceFiles, TicksBecomeTimesBetweenPoints) {
  const auto begin_of = [](std::vector<TickClock::Point> points, uint64_t ticks) {
    TraceFile file(-1);
    file.begin();
    for (const TickClock::Point &p : points) file.point(p);
    const RunRecord run{head_of<RunRecord>(RecordType::kRun), 0, 0, 1, ticks, 0, 0};
    file.events(0, reinterpret_cast<const char *>(&run), sizeof run);
    file.end(0);
    TraceReader reader;
    EXPECT_TRUE(reader.open(file.memory()));
    uint64_t begin = 0;
    reader.each_record([&](const TraceReader::Record &r) { begin = r.number(TraceReader::kBegin); });
    return begin;
  };
  const std::vector<TickClock::Point> points = {{1000, 100}, {3000, 1100}, {4000, 1200}};
  EXPECT_EQ(begin_of(points, 1000), 100u);
  EXPECT_EQ(begin_of(points, 2000), 600u);
  EXPECT_EQ(begin_of(points, 3500), 1150u);
  EXPECT_EQ(begin_of(points, 5000), 1300u) << "behind the last";
  EXPECT_EQ(begin_of(points, 900), 50u) << "before the first";
  EXPECT_EQ(begin_of(points, 0), 0u) << "no time is negative";
  EXPECT_EQ(begin_of({}, 77), 77u) << "ticks are ns";
  EXPECT_EQ(begin_of({{10, 1000}}, 17), 1007u);
  EXPECT_EQ(begin_of({{0, 0}, {1, UINT64_MAX}}, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(begin_of({{0, 900}, {10, 100}}, 5), 900u) << "a clock does not go back";
}

TEST(TraceFiles, RefuseWhatTheyAreNot) {
  const std::string good = traced_file();
  const auto refused = [](const std::string &all, const char *why) {
    TraceReader reader;
    EXPECT_FALSE(reader.open(all));
    EXPECT_NE(reader.why().find(why), std::string::npos) << reader.why();
  };
  refused("", "not a trace");
  refused("consort trace 1\n", "not a trace");
  refused(good + "x", "behind the end");
  std::string bad = good;
  bad[16] = 'X';
  refused(bad, "byte 16: no chunk begins there");
  const auto with_lines = [](const char *lines) {
    TraceFile file(-1);
    file.begin();
    file.lines(lines);
    return file.memory();
  };
  refused(with_lines("record\t0\tpadding\n"), "describes no record");
  refused(with_lines("record\t5\trun\tat:ns:2\n"), "describes no record");
  refused(with_lines("record\t5\trun\tat:ns\n"), "describes no record");
  refused(with_lines("record\tx\trun\n"), "describes no record");
  TraceFile file(-1);
  file.begin();
  const uint64_t empty = 0, long_one = uint64_t{9} << 16 | 7;
  file.events(0, reinterpret_cast<const char *>(&empty), sizeof empty);
  refused(file.memory(), "no record begins there");
  TraceFile other(-1);
  other.begin();
  other.events(0, reinterpret_cast<const char *>(&long_one), sizeof long_one);
  refused(other.memory(), "no record begins there");
}

// The lines of the format say where the fields of the structs are.
TEST(TraceFiles, LayoutsAreThoseOfTheRecords) {
  std::map<std::string, size_t> offsets;
  std::string_view rest = shared::trace_format::kLayouts;
  size_t lines = 0;
  while (!rest.empty()) {
    std::string line(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(line.size() + 1);
    ++lines;
    std::vector<std::string> fields(1);
    for (const char c : line)
      if (c == '\t') fields.emplace_back();
      else fields.back() += c;
    for (size_t i = 3; i < fields.size(); ++i)
      offsets[fields[1] + " " + fields[i].substr(0, fields[i].find(':'))] = std::stoul(fields[i].substr(fields[i].rfind(':') + 1));
  }
  EXPECT_EQ(lines, 12u);
#define HOLD(type, record, field) EXPECT_EQ(offsets.at(std::to_string(static_cast<int>(RecordType::type)) + " " #field), offsetof(record, field)) << #record
  HOLD(kRun, RunRecord, worker); HOLD(kRun, RunRecord, impl); HOLD(kRun, RunRecord, task); HOLD(kRun, RunRecord, begin);
  HOLD(kRun, RunRecord, took); HOLD(kRun, RunRecord, codelet);
  for (const auto type : {RecordType::kRunInTicks, RecordType::kRunInNs}) {
    const std::string number = std::to_string(static_cast<int>(type));
    EXPECT_EQ(offsets.at(number + " end"), offsetof(FullRunRecord, end));
    EXPECT_EQ(offsets.at(number + " status"), offsetof(FullRunRecord, status));
    EXPECT_EQ(offsets.at(number + " expected"), offsetof(FullRunRecord, expected));
    EXPECT_EQ(offsets.at(number + " codelet"), offsetof(FullRunRecord, codelet));
  }
  HOLD(kCopy, CopyRecord, to); HOLD(kCopy, CopyRecord, end); HOLD(kCopy, CopyRecord, bytes); HOLD(kCopy, CopyRecord, datum);
  HOLD(kCopy, CopyRecord, status); HOLD(kCopy, CopyRecord, reason);
  HOLD(kDecision, DecisionRecord, at); HOLD(kDecision, DecisionRecord, task); HOLD(kDecision, DecisionRecord, end); HOLD(kDecision, DecisionRecord, run);
  HOLD(kFetch, FetchRecord, task); HOLD(kSleep, SleepRecord, end);
  HOLD(kEviction, EvictionRecord, datum); HOLD(kEviction, EvictionRecord, bytes); HOLD(kUse, UseRecord, bytes); HOLD(kUse, UseRecord, limit);
  HOLD(kDatum, DatumRecord, whole); HOLD(kDatum, DatumRecord, space); HOLD(kTask, TaskRecord, priority); HOLD(kTask, TaskRecord, nuses);
  HOLD(kTask, TaskRecord, nafter);
#undef HOLD
  EXPECT_EQ(offsets.at("12 uses"), sizeof(TaskRecord));
  EXPECT_EQ(offsets.at("10 name"), sizeof(CodeletRecord));
}

}  // namespace
}  // namespace consort
