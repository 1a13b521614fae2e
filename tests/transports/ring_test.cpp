// The ring of the transport shm between two threads: each record comes once, in order and whole, whatever its length, and
// no wake is lost. The thread sanitizer judges the memory order.
#include "plugins/transports/shm/ring.hpp"

#include <consort/plugin.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace {

using namespace shm;

#if CONSORT_SAN
constexpr uint64_t kRecords = 20'000;
#else
constexpr uint64_t kRecords = 200'000;
#endif

struct Ring {
  static constexpr uint64_t kRoom = 8192;
  const std::unique_ptr<RingHead> head = std::make_unique<RingHead>();
  std::vector<char> data = std::vector<char>(kRoom);
  RingWriter writer{head.get(), data.data(), kRoom};
  RingReader reader{head.get(), data.data(), kRoom};
};

uint32_t length_of(uint64_t i) { return static_cast<uint32_t>(i * 7919 % (kShort + 1)); }
char letter(uint64_t i, uint32_t k) { return static_cast<char>(i * 31 + k); }

void write_all(Ring &ring, std::atomic<uint64_t> &wakes) {
  char payload[kShort];
  for (uint64_t i = 0; i < kRecords; ++i) {
    Record r{};
    r.kind = kShortSend, r.payload = length_of(i), r.tag = i;
    for (uint32_t k = 0; k < r.payload; ++k) payload[k] = letter(i, k);
    while (!ring.writer.write(r, payload)) std::this_thread::yield();
    if (ring.writer.must_wake()) wakes.fetch_add(1);
  }
}

bool read_one(Ring &ring, uint64_t i) {
  Record r;
  const char *payload;
  if (ring.reader.peek(r, payload) != RingReader::Found::kRecord) return false;
  EXPECT_EQ(r.tag, i);
  EXPECT_EQ(r.payload, length_of(i));
  for (uint32_t k = 0; k < r.payload; ++k)
    if (payload[k] != letter(i, k)) return ADD_FAILURE() << "byte " << k << " of record " << i, false;
  ring.reader.pop();
  return true;
}

TEST(ShmRing, RecordsComeOnceInOrderAndWhole) {
  Ring ring;
  std::atomic<uint64_t> wakes{0};
  std::thread writer([&] { write_all(ring, wakes); });
  for (uint64_t i = 0; i < kRecords && !HasFailure();) {
    if (read_one(ring, i)) ++i;
    else std::this_thread::yield();
  }
  writer.join();
  EXPECT_TRUE(ring.reader.is_empty());
  EXPECT_FALSE(ring.writer.is_broken());
}

// The reader arms, looks once more, and sleeps until it is woken: it never sleeps while a record is there.
TEST(ShmRing, NoWakeIsLost) {
  Ring ring;
  std::atomic<uint64_t> wakes{0};
  std::thread writer([&] { write_all(ring, wakes); });
  uint64_t sleeps = 0;
  for (uint64_t i = 0; i < kRecords && !HasFailure();) {
    if (read_one(ring, i)) {
      ++i;
      continue;
    }
    const uint64_t before = wakes.load();
    ring.head->armed.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!ring.reader.is_empty()) continue;
    ++sleeps;
    while (wakes.load() == before) std::this_thread::yield();  // for ever, if the wake is lost
  }
  writer.join();
  EXPECT_LE(sleeps, wakes.load() + 1);
}

TEST(ShmRing, PositionsThatMakeNoSenseAreRefused) {
  Ring ring;
  Record r{};
  const char *payload;
  ring.head->tail = Ring::kRoom + 64;
  EXPECT_EQ(ring.reader.peek(r, payload), RingReader::Found::kNonsense);
  ring.head->tail = 63;
  EXPECT_EQ(ring.reader.peek(r, payload), RingReader::Found::kNonsense);
  ring.head->tail = 0;
  ring.head->head = 5;  // more is read than was written
  EXPECT_EQ(ring.writer.claim(64), nullptr);
  EXPECT_TRUE(ring.writer.is_broken());
}

}  // namespace
