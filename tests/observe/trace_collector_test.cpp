// The collector of a trace: several writers and its thread at once, a file that nothing reads for a while, one whose reader
// goes away, and the file of a stepped clock.
#include <consort/shared/trace_reader.hpp>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "observe/trace_collector.hpp"
#include "support/folder.hpp"
#include "support/read_file.hpp"

namespace consort {
namespace {

using consort_test::Folder, shared::TraceReader;

SleepRecord record_of(uint32_t writer, uint64_t i) { return {head_of<SleepRecord>(RecordType::kSleep), writer, i, i}; }

struct Found {
  std::map<uint64_t, uint64_t> next;       // by writer: the number of its records so far
  bool cut = true, in_order = true;
  uint64_t lost = 0;
  explicit Found(const std::string &all) {
    TraceReader reader;
    if (!reader.open(all)) {
      ADD_FAILURE() << reader.why();
      return;
    }
    cut = reader.cut();
    lost = reader.lost();
    std::map<uint64_t, uint64_t> last;
    reader.each_record([&](const TraceReader::Record &r) {
      const uint64_t writer = r.number(TraceReader::kWorker), i = r.number(TraceReader::kBegin);
      if (next[writer]++) in_order &= i > last[writer];
      last[writer] = i;
    });
  }
};

// Each writer has a ring of its own.
void write_at_once(TraceCollector &collector, uint32_t writers, uint64_t each) {
  std::vector<std::thread> all;
  for (uint32_t w = 0; w < writers; ++w)
    all.emplace_back([&collector, w, each] {
      TraceRing *const ring = collector.add_ring();
      for (uint64_t i = 0; i < each; ++i) ring->put(record_of(w, i));
    });
  for (std::thread &one : all) one.join();
}

TEST(TraceCollectors, WriteWhatSeveralThreadsRecord) {
  const Folder folder("collector");
  const Clock clock(false, 1);
  const int fd = ::open((folder / "trace").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  TraceCollector collector(clock, TickClock::choose(clock), 4096, std::make_unique<TraceFile>(fd), std::make_unique<KeptRecords>(100, 100));
  ASSERT_TRUE(collector.start_thread());
  write_at_once(collector, 3, 20000);
  {
    const auto lock = collector.drain_and_hold();
    EXPECT_EQ(collector.kept()->lost(), 3u * 20000 - 100) << "those that stay in memory as well";
  }
  collector.stop("worker\t0\tcpu0\tcpu\n", 5);
  EXPECT_EQ(collector.failed(), 0);
  { const auto lock = collector.drain_and_hold(); }  // as reports do at the end
  const Found found(consort_test::read_file(folder / "trace"));
  EXPECT_FALSE(found.cut);
  EXPECT_TRUE(found.in_order);
  EXPECT_EQ(found.lost, 5u);
  ASSERT_EQ(found.next.size(), 3u);
  for (const auto &[writer, n] : found.next) EXPECT_EQ(n, 20000u) << writer;
}

TEST(TraceCollectors, WritersOfAFullFileWaitAndThenDrop) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Clock clock(false, 1);
  constexpr uint64_t kMany = 50000;        // more bytes than pipe and ring have
  std::string all;
  std::thread reader;
  {
    TraceCollector collector(clock, TickClock::choose(clock), 4096, std::make_unique<TraceFile>(ends[1]), nullptr);
    ASSERT_TRUE(collector.start_thread());
    write_at_once(collector, 1, kMany);    // it ends, though nothing is read
    reader = std::thread([&] {
      char piece[4096];
      for (ssize_t n; (n = ::read(ends[0], piece, sizeof piece)) > 0;) all.append(piece, static_cast<size_t>(n));
    });
    collector.stop("", 0);
    EXPECT_EQ(collector.failed(), 0);
  }                                        // the pipe's end is closed
  reader.join();
  ::close(ends[0]);
  const Found found(all);
  EXPECT_TRUE(found.in_order);
  EXPECT_FALSE(found.cut);
  EXPECT_GT(found.lost, 0u);
  EXPECT_EQ(found.next.at(0) + found.lost, kMany) << "what was not written is counted";
}

TEST(TraceCollectors, ReaderThatGoesAwayIsAnErrorAndNoSignal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Clock clock(false, 1);
  TraceCollector collector(clock, TickClock::choose(clock), 4096, std::make_unique<TraceFile>(ends[1]), nullptr);
  ASSERT_TRUE(collector.start_thread());
  write_at_once(collector, 2, 1000);
  collector.stop("", 0);
  EXPECT_EQ(collector.failed(), EPIPE);
}

TEST(TraceCollectors, WithASteppedClockTheWriterWritesTheFile) {
  const Folder folder("collector");
  const auto file_of = [&] {
    const Clock clock(true, 1);
    const int fd = ::open((folder / "trace").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT_GE(fd, 0);
    TraceCollector collector(clock, TickClock::choose(clock), 4096, std::make_unique<TraceFile>(fd), nullptr);
    EXPECT_TRUE(collector.start_thread());
    TraceRing *const ring = collector.add_ring();
    for (uint64_t i = 0; i < 1000; ++i) ring->put(record_of(0, i));
    collector.stop("", 0);
    return consort_test::read_file(folder / "trace");
  };
  const std::string once = file_of();
  EXPECT_EQ(Found(once).next.at(0), 1000u);
  EXPECT_EQ(once, file_of()) << "to the byte";
}

TEST(TraceCollectors, ResetDropsWhatWasRecorded) {
  const Folder folder("collector");
  const Clock clock(true, 1);
  const int fd = ::open((folder / "trace").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(fd, 0);
  TraceCollector collector(clock, TickClock::choose(clock), 4096, std::make_unique<TraceFile>(fd), std::make_unique<KeptRecords>(10, 10));
  TraceRing *const ring = collector.add_ring();
  for (uint64_t i = 0; i < 50; ++i) ring->put(record_of(0, i));
  collector.reset("clock\tvirtual\n");
  for (uint64_t i = 50; i < 53; ++i) ring->put(record_of(0, i));
  collector.stop("", 0);
  EXPECT_EQ(collector.kept()->lost(), 0u);
  const Found found(consort_test::read_file(folder / "trace"));
  EXPECT_EQ(found.next.at(0), 3u);
}

}  // namespace
}  // namespace consort
