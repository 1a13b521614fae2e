// The ring of policy lws, small and crowded. A pusher may lose its core between claiming a place and filling it, and no
// lap may overtake it then. Each task comes out exactly once, and the ring never stands still.
#include <memory>

#include "api/harness.hpp"
#include "plugins/schedulers/lws/ring.hpp"

namespace consort_test {
namespace {

TEST(LwsRing, SlowPusherIsNotOvertaken) {
  constexpr uint32_t kPushers = 8, kTakers = 3;
  const size_t total = full() ? 20'000'000 : 300'000 / kSlow;
  lws::Ring ring;
  ASSERT_TRUE(ring.init(8));
  const std::atomic<uint64_t> epoch{1};
  std::vector<std::atomic<uint8_t>> taken(total + 1);
  std::atomic<size_t> next{1}, done{0};
  const auto as_task = [](size_t i) { return reinterpret_cast<consort_task *>(i * 64); };  // never looked into
  std::vector<std::thread> threads;
  for (uint32_t p = 0; p < kPushers; ++p)
    threads.emplace_back([&, p] {
      for (;;) {
        const uint32_t want = 1 + p % 3;
        const size_t begin = next.fetch_add(want);
        if (begin > total) return;
        consort_task *tasks[3];
        uint32_t n = 0;
        for (; n < want && begin + n <= total; ++n) tasks[n] = as_task(begin + n);
        while (ring.push(tasks, n, 1, epoch) != lws::Ring::Push::kDone) std::this_thread::yield();
      }
    });
  for (uint32_t t = 0; t < kTakers; ++t)
    threads.emplace_back([&] {
      while (done.load() < total) {
        consort_task *out[4];
        const uint32_t n = ring.take(out, 4, 2);
        for (uint32_t i = 0; i < n; ++i) taken[reinterpret_cast<uintptr_t>(out[i]) / 64].fetch_add(1);
        if (n) done.fetch_add(n);
        else std::this_thread::yield();
      }
    });
  for (auto &t : threads) t.join();
  for (size_t i = 1; i <= total; ++i) ASSERT_EQ(taken[i].load(), 1) << "task " << i;
  EXPECT_TRUE(ring.empty());
}

}  // namespace
}  // namespace consort_test
