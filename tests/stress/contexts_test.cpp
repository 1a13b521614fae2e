// Contexts come, go, are resized and change workers and schedulers, while random programs run in all of them. The
// values are the oracle's, nothing is lost or runs twice, nothing hangs.
#include <random>

#include "stress/program.hpp"

namespace {

using namespace stress;

const std::vector<const char *> kPolicies = {"eager", "prio", "lws", "ws", "random", "dmdas", "heft", "pheft",
                                             "graph-lookahead", "peager", "heteroprio", "darts"};

// Four contexts (the runtime's own is the first), one of them inside another; one thread changes them without a pause.
struct Changer {
  consort_runtime *rt;
  std::mt19937 random;
  std::array<consort_context_id, 4> all{};
  uint64_t changes = 0;

  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random() % n); }
  void change(uint32_t nworkers) {
    consort_context_id of{0};
    const uint32_t w = pick(nworkers), to = pick(4);
    switch (pick(8)) {
      case 0:
        EXPECT_OK(consort_context_set_scheduler(rt, all[to], kPolicies[pick(static_cast<uint32_t>(kPolicies.size()))]));
        break;
      case 1: {  // a context that comes and goes, with one worker of another
        EXPECT_OK(consort_context_of_worker(rt, w, &of));
        consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
        d.workers = &w;
        d.nworkers = 1;
        d.parent = of;
        consort_context_id brief{0};
        EXPECT_OK(consort_context_create(rt, &d, &brief));
        EXPECT_OK(consort_context_enter(rt, brief));
        for (int i = 0; i < 20; ++i) EXPECT_OK(Desc(count).to(rt));
        sent += 20;
        EXPECT_OK(consort_context_leave(rt));
        EXPECT_OK(consort_context_destroy(rt, brief));
        break;
      }
      default:
        EXPECT_OK(consort_context_of_worker(rt, w, &of));
        EXPECT_OK(consort_context_move(rt, of, all[to], &w, 1));
    }
    ++changes;
  }
  consort_codelet_id count{0};
  uint64_t sent = 0;
};

class RandomContextPrograms : public ::testing::TestWithParam<const char *> {};
TEST_P(RandomContextPrograms, GiveTheOraclesValues) {
  const int seeds = full() ? 40 : kSlow > 1 || brief() ? 2 : 4;
  for (int seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    Rt rt({{"cpu.topology", kFourCores}, {"workers", GetParam()}, {"spin_us", seed % 2 ? "1" : "20"},
           {"keep_models", "no"}, {"scheduler", kPolicies[static_cast<size_t>(seed) % kPolicies.size()]}});
    Bodies body;
    std::atomic<uint64_t> ran{0};
    uint64_t counters[2] = {0, 0};
    const std::array<consort_data_id, 2> shared = {variable_of(rt, &counters[0]), variable_of(rt, &counters[1])};
    const auto nworkers = static_cast<uint32_t>(std::atoi(GetParam()));
    Shape shape;
    shape.steps = full() ? 1500 : 400;
    shape.workers = nworkers;
    std::vector<std::unique_ptr<Program>> programs;
    for (uint64_t t = 0; t < 4; ++t)
      programs.push_back(std::make_unique<Program>(static_cast<uint64_t>(seed) * 1000 + t, shape));
    Changer changer{rt, std::mt19937(static_cast<unsigned>(seed)), {}};
    changer.count = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    for (size_t i = 1; i < 4; ++i) {
      consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
      if (i == 3) d.parent = changer.all[2];
      ASSERT_OK(consort_context_create(rt, &d, &changer.all[i]));
    }
    std::atomic<bool> over{false};
    std::thread changing([&] {
      while (!over) {
        changer.change(nworkers);
        // nap: changes at random times
        if (changer.random() % 4) std::this_thread::sleep_for(changer.random() % 4 ? 300us : 20us);
      }
    });
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        EXPECT_OK(consort_context_enter(rt, changer.all[t]));
        programs[t]->run(rt, shared);
        EXPECT_OK(consort_context_leave(rt));
      });
    for (auto &t : threads) t.join();
    for (size_t i = 1; i < 4; ++i) EXPECT_OK(consort_context_wait(rt, changer.all[i], kLong, 0));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    over = true;
    changing.join();
    for (size_t i = 3; i > 0; --i) EXPECT_OK(consort_context_destroy(rt, changer.all[i]));
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, changer.sent);
    EXPECT_GT(changer.changes, 0u);
    uint64_t expected = 0;
    for (auto &p : programs) {
      p->check(rt);
      expected += static_cast<uint64_t>(p->shared_steps());
      EXPECT_EQ(p->complaints(), 0) << p->first_complaint();
    }
    EXPECT_EQ(counters[0], expected);
    EXPECT_EQ(counters[1], expected);
    EXPECT_OK(consort_unregister(rt, shared[0]));
    EXPECT_OK(consort_unregister(rt, shared[1]));
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Workers, RandomContextPrograms, ::testing::Values("1", "2", "4"),
                         [](const auto &i) { return std::string("w") + i.param; });

// Tasks without order, each with a look at where it runs: a worker that is not its context's by then took it before.
TEST(WorkerMoves, LoseNoTask) {
  for (const char *policy : kPolicies) {
    SCOPED_TRACE(policy);
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "4"}, {"window", "256"}, {"spin_us", "1"}, {"keep_models", "no"},
           {"scheduler", policy}});
    Bodies body;
    std::atomic<uint64_t> ran{0}, sent{0};
    const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    consort_context_id two[2];
    for (auto &context : two) {
      const consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
      ASSERT_OK(consort_context_create(rt, &d, &context));
    }
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int k = 0; k < 2; ++k)
      threads.emplace_back([&, k] {
        EXPECT_OK(consort_context_enter(rt, two[k]));
        while (!over)
          for (int i = 0; i < 32; ++i, ++sent) EXPECT_OK(Desc(c).to(rt));
        EXPECT_OK(consort_context_leave(rt));
      });
    const auto end = std::chrono::steady_clock::now() + (full() ? 5s : 150ms);
    uint64_t moves = 0;
    while (std::chrono::steady_clock::now() < end || moves % 4)
      for (uint32_t w = 0; w < 4; ++w, ++moves) {
        consort_context_id of{0};
        EXPECT_OK(consort_context_of_worker(rt, w, &of));
        EXPECT_OK(consort_context_move(rt, of, of.v == two[0].v ? two[1] : two[0], &w, 1));
      }
    over = true;
    const uint32_t none = 0, three = 3;  // each has one at the end
    consort_context_id of{0};
    EXPECT_OK(consort_context_of_worker(rt, none, &of));
    EXPECT_OK(consort_context_move(rt, of, two[0], &none, 1));
    EXPECT_OK(consort_context_of_worker(rt, three, &of));
    EXPECT_OK(consort_context_move(rt, of, two[1], &three, 1));
    for (auto &t : threads) t.join();
    for (const auto context : two) EXPECT_OK(consort_context_wait(rt, context, kLong, 0));
    EXPECT_EQ(ran, sent);
    EXPECT_GT(moves, 0u);
    if (HasFailure()) return;
  }
}

// A submission that is announced to the policy of a context which is destroyed at this moment goes to the context's heir.
TEST(ContextDestruction, BesideSubmissionsLosesNone) {
  for (const char *policy : {"graph-lookahead", "heft"}) {
    SCOPED_TRACE(policy);
    Rt rt({{"cpu.topology", kFourCores}, {"workers", "2"}, {"keep_models", "no"}, {"scheduler", policy}});
    Bodies body;
    std::atomic<uint64_t> ran{0}, sent{0}, newest{0};
    const auto c = body(rt, "count", [&](const consort_call &) { return ++ran, CONSORT_OK; });
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (int k = 0; k < 2; ++k)
      threads.emplace_back([&] {
        while (!over) {
          if (consort_context_enter(rt, {newest.load()}) < 0) continue;  // destroyed before it was entered
          for (int i = 0; i < 64; ++i) {
            const consort_status s = Desc(c).to(rt);
            EXPECT_TRUE(s == CONSORT_OK || s == CONSORT_E_STALE) << s;
            sent += s == CONSORT_OK;
          }
          EXPECT_OK(consort_context_leave(rt));
        }
      });
    const auto end = std::chrono::steady_clock::now() + (full() ? 5s : 300ms);
    uint64_t made = 0;
    for (; std::chrono::steady_clock::now() < end; ++made) {
      const consort_context_desc d = CONSORT_CONTEXT_DESC_INIT;
      consort_context_id brief{0};
      EXPECT_OK(consort_context_create(rt, &d, &brief));
      newest = brief.v;
      if (made % 2) std::this_thread::yield();
      newest = 0;
      EXPECT_OK(consort_context_destroy(rt, brief));
    }
    over = true;
    for (auto &t : threads) t.join();
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    EXPECT_EQ(ran, sent);
    EXPECT_GT(made, 0u);
    if (HasFailure()) return;
  }
}

}  // namespace
