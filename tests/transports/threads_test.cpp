// The transport inproc with a thread for each rank. Messages have all lengths, peers leave while long ones are copied,
// memory is unregistered under a GET. Nothing here measures time; waiting threads yield.
#include <poll.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "transports/ranks.hpp"

namespace {

using namespace consort_test;

#if CONSORT_SAN
constexpr uint64_t kMessages = 1500;
constexpr int kRounds = 14;
#else
constexpr uint64_t kMessages = 8000;
constexpr int kRounds = 60;
#endif

char letter(uint64_t tag, uint64_t i) { return static_cast<char>(tag * 31 + i * 7); }
uint64_t length_of(uint64_t tag) { return tag % 11 == 0 ? 20'000 + tag % 1000 : tag * 37 % 600; }

// Sends to all others and receives their messages, in the order of the tags of each.
void talk(Rank &me, uint32_t nranks, std::atomic<uint32_t> &left) {
  struct Slot {
    std::vector<char> bytes;
    uint64_t tag = 0;
    bool is_busy = false;
  };
  // As many as the queue takes (40), with some receives for each rank. If all sends of a rank waited for a peer that
  // receives from another alone, three ranks could wait without end.
  std::vector<Slot> out(20), in(20);
  std::vector<uint64_t> sent(nranks, 0), wanted(nranks, 0), got(nranks, 0);
  const uint64_t each = kMessages / nranks;
  uint64_t received = 0, told = 0;
  const uint64_t all = each * (nranks - 1);
  std::mt19937 random(me.number());
  while (received < all || told < all) {
    for (uint32_t k = 0; k < out.size(); ++k) {
      const uint32_t to = random() % nranks;
      if (out[k].is_busy || to == me.number() || sent[to] == each) continue;
      Slot &s = out[k];
      s.tag = sent[to];
      s.bytes.resize(length_of(s.tag));
      for (uint64_t i = 0; i < s.bytes.size(); ++i) s.bytes[i] = letter(s.tag + me.number(), i);
      if (!me.post(Rank::send(to, k, s.bytes.data(), s.bytes.size(), s.tag))) break;
      s.is_busy = true, ++sent[to];
    }
    for (uint32_t k = 0; k < in.size(); ++k) {
      const uint32_t from = (me.number() + 1 + k % (nranks - 1)) % nranks;
      if (in[k].is_busy || wanted[from] == each) continue;
      Slot &s = in[k];
      s.bytes.assign(32'000, 0);
      if (!me.post(Rank::recv(from, 1000 + k, s.bytes.data(), s.bytes.size(), 0, UINT64_MAX))) break;
      s.is_busy = true, s.tag = wanted[from]++;  // any tag: the oldest comes
    }
    const std::vector<consort_done> done = me.poll();
    for (const consort_done &d : done) {
      ASSERT_EQ(d.status, CONSORT_OK);
      if (d.cookie < 1000) {
        out[d.cookie].is_busy = false, ++told;
        continue;
      }
      Slot &s = in[d.cookie - 1000];
      ASSERT_EQ(d.tag, s.tag);
      ASSERT_EQ(d.bytes, length_of(d.tag));
      for (uint64_t i = 0; i < d.bytes; ++i)
        ASSERT_EQ(s.bytes[i], letter(d.tag + d.source, i)) << i << " of " << d.bytes;
      s.is_busy = false, ++received, ++got[d.source];
    }
    if (done.empty()) std::this_thread::yield();
  }
  EXPECT_TRUE(me.poll().empty());
  --left;
  while (left) std::this_thread::yield();
}

TEST(InprocThreads, MessagesOfAllLengthsBetweenAllRanks) {
  constexpr uint32_t kRanks = 3;
  const Job job{.nranks = kRanks};
  std::vector<std::unique_ptr<Rank>> ranks;
  for (uint32_t r = 0; r < kRanks; ++r)
    ranks.push_back(std::make_unique<Rank>(job, r, PluginHost::Params{{"depth", "40"}, {"unexpected", "20"}}));
  for (uint32_t r = 0; r < kRanks; ++r)
    for (uint32_t q = 0; q < r; ++q) join(*ranks[r], *ranks[q]);
  std::atomic<uint32_t> left{kRanks};
  std::vector<std::thread> threads;
  for (auto &r : ranks) threads.emplace_back([&] { talk(*r, kRanks, left); });
  for (std::thread &t : threads) t.join();
}

// Rank 1 connects, exchanges long messages, and leaves in the midst of them; its memory goes with it. Every message of
// rank 0 ends, each once.
TEST(InprocThreads, PeerLeavesDuringLongMessages) {
  constexpr size_t kLong = 1 << 20;
  const Job job;
  Rank a(job, 0);
  std::vector<char> data(kLong, 'a'), to(kLong);
  for (int round = 0; round < kRounds; ++round) {
    auto memory = std::make_unique<std::vector<char>>(kLong, 'b');
    auto b = std::make_unique<Rank>(job, 1);
    join(a, *b);
    const void *there = memory->data();
    const consort_mr mr = b->reg(memory->data(), kLong);
    std::atomic<bool> gone{false};
    std::thread other([&] {
      std::vector<char> mine(kLong), sent(kLong);
      for (int k = 0; k < round % 7; ++k) {
        b->post({Rank::recv(0, 1, mine.data(), kLong), Rank::send(0, 2, sent.data(), kLong)});
        b->poll();
      }
      if (round % 2) b->disconnect(a);
      b.reset();
      memory.reset();  // a sanitizer would see a late write there
      gone = true;
    });
    uint64_t posted = 0, ended = 0;
    const auto look = [&] {
      for (const consort_done &d : a.poll(256)) {
        ++ended;
        ASSERT_TRUE(d.status == CONSORT_OK || d.status == CONSORT_E_PEER_LOST) << d.status;
      }
    };
    while (!gone) {
      posted += a.post({Rank::send(1, 1, data.data(), kLong), Rank::recv(1, 2, to.data(), kLong),
                        Rank::reach(CONSORT_MSG_PUT, 1, 3, data.data(), kLong, there, mr)});
      look();
    }
    other.join();
    for (int k = 0; k < 8; ++k) look();
    EXPECT_EQ(ended, posted);
    EXPECT_EQ(a.count(CONSORT_EV_PEER_LOST, 1), static_cast<uint32_t>(round + 1));
  }
}

TEST(InprocThreads, MemoryIsUnregisteredDuringPutAndGet) {
  constexpr size_t kLong = 1 << 18;
  const Job job;
  Rank a(job, 0), b(job, 1);
  join(a, b);
  std::vector<char> data(kLong, 'a');
  for (int round = 0; round < kRounds; ++round) {
    auto memory = std::make_unique<std::vector<char>>(kLong, 'b');
    const void *there = memory->data();
    const consort_mr mr = b.reg(memory->data(), kLong);
    std::atomic<bool> gone{false};
    std::thread other([&] {
      for (int k = 0; k < round; ++k) std::this_thread::yield();
      b.ops().dereg(b.raw(), &mr);
      memory.reset();
      gone = true;
    });
    uint64_t good = 0;
    bool stale = false;
    while (!stale) {
      ASSERT_TRUE(
          a.post(Rank::reach(good % 2 ? CONSORT_MSG_PUT : CONSORT_MSG_GET, 1, 1, data.data(), kLong, there, mr)));
      const consort_done d = a.one();
      stale = d.status == CONSORT_E_STALE;
      ASSERT_TRUE(stale || d.status == CONSORT_OK);
      good += !stale;
    }
    other.join();
  }
}

// Asleep on the descriptor whenever there is nothing to poll: no wake is lost.
TEST(InprocThreads, SleepersOnTheFdAreWoken) {
  const Job job;
  Rank a(job, 0), b(job, 1);
  join(a, b);
  constexpr uint64_t kTurns = 2000;
  const auto turn = [](Rank &me, uint32_t other, bool begins) {
    const int fd = me.ops().event_fd(me.raw());
    char c = 1, to = 0;
    for (uint64_t round = 0; round < kTurns; ++round) {
      ASSERT_TRUE(me.post(Rank::recv(other, 1, &to, 1)));
      if (begins) {
        ASSERT_TRUE(me.post(Rank::send(other, 2, &c, 1)));
      }
      for (bool has = false; !has;) {
        for (const consort_done &d : me.poll()) has = has || d.cookie == 1;
        if (has || me.ops().arm(me.raw()) != CONSORT_OK) continue;
        pollfd f{fd, POLLIN, 0};
        ASSERT_EQ(poll(&f, 1, 60'000), 1) << "nothing woke it for a minute, in round " << round;
      }
      if (!begins) {
        ASSERT_TRUE(me.post(Rank::send(other, 2, &c, 1)));
      }
    }
  };
  std::thread t(turn, std::ref(a), 1, true);
  turn(b, 0, false);
  t.join();
}

TEST(InprocThreads, JobsStartAndEndInManyThreads) {
  std::vector<std::thread> threads;
  for (uint32_t k = 0; k < 4; ++k)
    threads.emplace_back([k] {
      for (int round = 0; round < 50; ++round) {
        const Job job{.name = k % 2 ? "of two" : "alone " + std::to_string(k)};
        Rank a(job, k / 2);
        ASSERT_EQ(a.opened(), CONSORT_OK) << a.host().failure();
        join(a, a);
        char c = 1, to = 0;
        ASSERT_TRUE(a.post(Rank::send(k / 2, 1, &c, 1)) && a.post(Rank::recv(k / 2, 2, &to, 1)));
        ASSERT_EQ(a.poll().size(), 2u);
      }
    });
  for (std::thread &t : threads) t.join();
}

}  // namespace
