// The rings of a trace: records in one piece and in order, room that is made, records that are dropped and counted; what
// stays in memory; a writer and a reader at once.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "observe/kept_records.hpp"
#include "observe/trace_ring.hpp"

namespace consort {
namespace {

SleepRecord sleep_of(uint64_t begin) { return {head_of<SleepRecord>(RecordType::kSleep), 0, begin, ~begin}; }

// Takes out all that a ring has, and keeps the begins of its records.
struct Taken {
  std::vector<uint64_t> begins;
  void from(TraceRing &ring) {
    ring.take_all([&](const char *bytes, uint64_t n) {
      for (uint64_t at = 0; at < n;) {
        RecordHead head;
        std::memcpy(&head, bytes + at, sizeof head);
        ASSERT_NE(head.words, 0) << "a record has a length";
        if (head.type != shared::trace_format::kPadding) {
          SleepRecord r;
          ASSERT_LE(at + sizeof r, n) << "a record lies in one piece";
          std::memcpy(&r, bytes + at, sizeof r);
          ASSERT_EQ(r.end, ~r.begin) << "and is whole";
          begins.push_back(r.begin);
        }
        at += size_t{8} * head.words;
      }
    });
  }
};

struct Emptied final : TraceDrain {        // takes them out when the ring is full
  Taken taken;
  int told = 0;
  bool lets = true;
  void half_full() noexcept override { ++told; }
  bool make_room(TraceRing &ring, uint64_t) noexcept override {
    if (lets) taken.from(ring);
    return lets;
  }
};

void expect_all(const std::vector<uint64_t> &begins, uint64_t n) {
  ASSERT_EQ(begins.size(), n);
  for (uint64_t i = 0; i < n; ++i) ASSERT_EQ(begins[i], i);
}

TEST(TraceRings, KeepRecordsWholeAndInOrder) {
  Emptied drain;
  TraceRing ring(drain, 0, 4096);          // not a multiple of a record's 24 bytes
  for (uint64_t i = 0; i < 10000; ++i) ring.put(sleep_of(i));
  EXPECT_GT(drain.told, 0);
  drain.taken.from(ring);
  expect_all(drain.taken.begins, 10000);
  EXPECT_EQ(ring.take_lost(), 0u);
}

TEST(TraceRings, TellOfTheirHalfOnceATime) {
  Emptied drain;
  TraceRing ring(drain, 0, 4096);
  for (uint64_t i = 0; i < 4096 / 24 - 1; ++i) ring.put(sleep_of(i));
  EXPECT_EQ(drain.told, 1);
  drain.taken.from(ring);
  for (uint64_t i = 0; i < 80; ++i) ring.put(sleep_of(i));
  EXPECT_EQ(drain.told, 1) << "it was emptied";
  for (uint64_t i = 0; i < 80; ++i) ring.put(sleep_of(i));
  EXPECT_EQ(drain.told, 2);
}

TEST(TraceRings, CountWhatHasNoRoom) {
  Emptied drain;
  drain.lets = false;
  TraceRing ring(drain, 0, 4096);
  for (uint64_t i = 0; i < 1000; ++i) ring.put(sleep_of(i));
  drain.taken.from(ring);
  EXPECT_GE(drain.taken.begins.size(), 4096u / 24 - 1);
  EXPECT_EQ(ring.take_lost(), 1000 - drain.taken.begins.size());
  EXPECT_EQ(ring.take_lost(), 0u) << "once";
  const uint64_t before = drain.taken.begins.size();
  ring.put(sleep_of(7));
  drain.taken.from(ring);
  EXPECT_EQ(drain.taken.begins.size(), before + 1) << "it has room again";
}

TEST(TraceRings, TakeRecordsOfAnyLength) {
  Emptied drain;
  TraceRing ring(drain, 0, 4096);
  uint64_t words = 0, seen = 0;
  for (uint32_t i = 0; i < 5000; ++i) {
    const uint32_t bytes = 8 + i % (ring.most() / 8) * 8;
    char *const at = ring.reserve(bytes);
    if (!at) {
      FAIL() << bytes;
    }
    const RecordHead head{shared::trace_format::kPadding, static_cast<uint16_t>(bytes / 8)};
    std::memset(at, 0x5a, bytes);
    std::memcpy(at, &head, sizeof head);
    ring.commit(bytes);
    words += bytes / 8;
    ring.take_all([&](const char *records, uint64_t n) {
      for (uint64_t pos = 0; pos < n;) {
        RecordHead one;
        std::memcpy(&one, records + pos, sizeof one);
        if (records[pos + 4] == 0x5a) seen += one.words;  // else it is the ring's own padding
        pos += size_t{8} * one.words;
      }
    });
  }
  EXPECT_GE(seen, words);
}

TEST(TraceRings, AreWrittenAndReadAtOnce) {
  struct Waits final : TraceDrain {
    void half_full() noexcept override {}
    bool make_room(TraceRing &ring, uint64_t bytes) noexcept override {
      while (ring.room() < bytes) std::this_thread::yield();
      return true;
    }
  } drain;
  constexpr uint64_t kMany = 40'000;
  TraceRing ring(drain, 0, 4096);
  std::atomic<bool> over{false};           // release pairs with the acquire in the reader's loop
  std::thread writer([&] {
    for (uint64_t i = 0; i < kMany; ++i) ring.put(sleep_of(i));
    over.store(true, std::memory_order_release);
  });
  Taken taken;
  while (!over.load(std::memory_order_acquire)) {
    taken.from(ring);
    std::this_thread::yield();
  }
  writer.join();
  taken.from(ring);
  expect_all(taken.begins, kMany);
}

TEST(KeptRecords, KeepTheLastOfEachWorkerAndTheFirstTasks) {
  KeptRecords kept(3, 2);
  const auto take = [&](const auto &r) { kept.take(reinterpret_cast<const char *>(&r), sizeof r); };
  for (uint32_t i = 0; i < 10; ++i) {
    const auto worker = static_cast<uint16_t>(i % 2);
    take(RunRecord{head_of<RunRecord>(RecordType::kRun), worker, 0, i, i * 10, 5, 1});
    take(TaskRecord{head_of<TaskRecord>(RecordType::kTask), 0, i, i, 0, 0, 0, 0});
    take(sleep_of(i));
  }
  std::vector<uint64_t> runs[2], tasks, sleeps;
  kept.each([&](const char *bytes, size_t n) {
    for (size_t at = 0; at < n;) {
      RecordHead head;
      std::memcpy(&head, bytes + at, sizeof head);
      if (head.type == static_cast<uint16_t>(RecordType::kRunInTicks)) {
        FullRunRecord r;
        std::memcpy(&r, bytes + at, sizeof r);
        EXPECT_EQ(r.end, r.begin + 5);
        runs[r.worker].push_back(r.task);
      } else if (head.type == static_cast<uint16_t>(RecordType::kTask)) {
        TaskRecord r;
        std::memcpy(&r, bytes + at, sizeof r);
        tasks.push_back(r.task);
      } else {
        SleepRecord r;
        std::memcpy(&r, bytes + at, sizeof r);
        sleeps.push_back(r.begin);
      }
      at += size_t{8} * head.words;
    }
  });
  EXPECT_EQ(runs[0], (std::vector<uint64_t>{4, 6, 8}));
  EXPECT_EQ(runs[1], (std::vector<uint64_t>{5, 7, 9}));
  EXPECT_EQ(tasks, (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(sleeps, (std::vector<uint64_t>{7, 8, 9}));
  EXPECT_EQ(kept.lost(), 2u + 2 + 7);
  EXPECT_EQ(kept.lost_tasks(), 8u);
  kept.clear();
  EXPECT_EQ(kept.lost() + kept.lost_tasks(), 0u);
  kept.each([](const char *, size_t) { ADD_FAILURE() << "nothing is left"; });
}

}  // namespace
}  // namespace consort
