// The end of an instance's life against concurrent pushes, repeated where the race is narrow. After an instance was
// closed and drained, nothing is added to it.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "../plugins/schedulers/lws/ring.hpp"
#include "schedulers/policy_harness.hpp"

namespace consort_test {
namespace {

// Rounds of one pusher against one closer, for a while. A round is an epoch. The pusher pushes until it is refused, and
// the closer closes at some moment. `left` is asked once both are through.
template <class Push, class Close, class Left>
void hammer(Push push, Close close, Left left) {
  constexpr uint64_t kOver = ~uint64_t{0};
  std::atomic<uint64_t> go{0}, done{0};
  const auto wait_for = [](const std::atomic<uint64_t> &what, uint64_t least) {  // acquire: pairs with the stores
    for (int spins = 0; what.load(std::memory_order_acquire) < least;)
      if (++spins % 1000 == 0) std::this_thread::yield();
  };
  std::thread pusher([&] {
    for (uint64_t e = 1;; ++e) {
      wait_for(go, e);
      if (go.load(std::memory_order_relaxed) == kOver) return;
      for (int tries = 0; tries < 40 && push(e); ++tries) {  // so many that nothing is pushed twice in a round
      }
      done.store(e, std::memory_order_release);
    }
  });
  uint64_t late = 0;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(std::getenv("CONSORT_FULL") ? 10000 : 700);
  for (uint64_t e = 1; std::chrono::steady_clock::now() < end; ++e) {
    go.store(e, std::memory_order_release);
    for (volatile uint64_t i = e * 7 % 301 * 10; i > 0;) i = i - 1;
    close(e + 1);
    wait_for(done, e);
    late += left(e + 1);
  }
  go.store(kOver, std::memory_order_release);
  pusher.join();
  EXPECT_EQ(late, 0u) << "tasks were accepted by a closed and drained instance";
}

TEST(InstanceClosing, RingRefusesLatePushes) {
  lws::Ring ring;
  ASSERT_TRUE(ring.init(8192));
  std::atomic<uint64_t> epoch{1};
  Tasks tasks(4000);  // many at once: the longer a push takes, the more of them are under way when the ring closes
  const std::vector<consort_task *> all = tasks.range(0, 4000);
  consort_task *some[64];
  hammer(
      [&](uint64_t e) { return ring.push(all.data(), 4000, e, epoch) != lws::Ring::Push::kClosed; },
      [&](uint64_t next) {
        epoch.store(next, std::memory_order_seq_cst);
        ring.close();
        while (!ring.empty()) ring.take(some, 64, 1);
      },
      [&](uint64_t) {
        uint64_t n = 0;
        while (!ring.empty()) n += ring.take(some, 64, 1);
        return n;
      });
}

class InstanceClosing : public testing::TestWithParam<std::tuple<const char *, uint32_t>> {};
INSTANTIATE_TEST_SUITE_P(All, InstanceClosing,
                         testing::Combine(testing::Values("lws", "eager", "prio", "ws", "random", "peager"),
                                          testing::Values(0u, CONSORT_NONE)),
                         [](const auto &i) {
                           return std::string(std::get<0>(i.param)) + (std::get<1>(i.param) ? "_outsider" : "_worker");
                         });

TEST_P(InstanceClosing, DrainReturnsEveryTask) {
  PolicyHarness h(std::get<0>(GetParam()), {0, 0}, {{"depth", "1024"}});
  const uint32_t from = std::get<1>(GetParam());
  constexpr size_t kAtOnce = 100, kPushes = 40;  // many at once: as above
  Tasks tasks(kAtOnce * kPushes);
  const std::vector<consort_task *> all = tasks.range(0, kAtOnce * kPushes);
  consort_task *some[64];
  EXPECT_TRUE(h.drain(1).empty());
  size_t next = 0;
  const auto drain = [&](uint64_t epoch) {
    uint64_t n = 0;
    while (const uint32_t got = h.ops->drain(h.instance, epoch, some, 64)) n += got;
    return n;
  };
  hammer(
      [&](uint64_t e) {
        const size_t at = next++ % kPushes * kAtOnce;
        const consort_push p{e, from, CONSORT_PUSH_NEW, &all[at], kAtOnce, 0, nullptr};
        return h.ops->push(h.instance, &p) == kAtOnce;
      },
      drain, drain);
}

// A worker leaves while tasks are pushed, by itself or by another thread. The worker that stays gets all of them.
TEST_P(InstanceClosing, WorkerThatLeavesKeepsNoTask) {
  PolicyHarness h(std::get<0>(GetParam()), {0, 0}, {{"depth", "1024"}});
  const uint32_t from = std::get<1>(GetParam()), leaves = from == 0 ? 0 : 1, stays = 1 - leaves;
  constexpr size_t kMost = 40;  // pushes of a round
  Tasks tasks(kMost);
  size_t pushed = 0;
  hammer(
      [&](uint64_t e) {
        static thread_local uint64_t round = 0;
        if (round != e) round = e, pushed = 0;
        consort_task *const one = tasks[pushed];
        const consort_push p{kEpoch, from, CONSORT_PUSH_NEW, &one, 1, 0, nullptr};
        if (h.ops->push(h.instance, &p) != 1) ADD_FAILURE() << "a push of the instance's epoch was refused";
        return ++pushed < kMost;
      },
      [&](uint64_t) { EXPECT_EQ(h.ops->workers(h.instance, &h.topology, nullptr, 0, &leaves, 1), CONSORT_OK); },
      [&](uint64_t) {
        uint64_t got = 0;
        for (int empty = 0; empty < 3;) h.pop(stays) ? ++got : ++empty;
        EXPECT_EQ(h.ops->workers(h.instance, &h.topology, &leaves, 1, nullptr, 0), CONSORT_OK);
        while (h.pop(leaves) || h.pop(stays)) {  // for the next round
        }
        return pushed - got;
      });
}

}  // namespace
}  // namespace consort_test
