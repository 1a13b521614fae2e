// The order of tasks in hard cases, such as two submitters on two data and a thousand readers. A successor run in place
// must not overtake more urgent tasks, starve others or grow the stack. Records may be freed by another thread than
// their allocator.
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "api/harness.hpp"
#include "api/settled.hpp"

using namespace consort_test;

namespace {

const char *const kSchedulers[] = {"eager", "prio", "lws", "ws", "random"};

Pairs with(const char *scheduler, const char *workers) {
  return {{"workers", workers}, {"cpu.topology", kFourCores}, {"scheduler", scheduler}};
}

class AccessOrder : public ::testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Under, AccessOrder, ::testing::ValuesIn(kSchedulers),
                         [](const auto &i) { return std::string(i.param); });

// T1 appends to A then B, T2 to B then A: were they to interleave, each would wait for the other.
TEST_P(AccessOrder, OppositeSubmittersMakeNoCycle) {
  Rt rt(with(GetParam(), "2"));
  long x[3] = {};
  consort_data_id d[3];
  for (int i = 0; i < 3; ++i) d[i] = variable_of(rt, &x[i]);
  std::atomic<int> torn{0};
  Bodies body;
  // Each task adds one to both of its data; a third codelet checks that readers see equal sums of pairs.
  const auto both = body(
      rt, "both", [](const consort_call &c) { return ++*pointer<long>(c, 0), ++*pointer<long>(c, 1), CONSORT_OK; });
  const auto look = body(rt, "look", [&](const consort_call &c) {
    torn += *pointer<long>(c, 0) != *pointer<long>(c, 1);
    return CONSORT_OK;
  });
  const int n = full() ? 200000 : 10000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < n / 4; ++i) {
        if (t % 2) need(Desc(both).rw(d[0]).rw(d[1]).to(rt), "submit");
        else need(Desc(both).rw(d[1]).rw(d[0]).to(rt), "submit");
        if (i % 8 == 0) need(Desc(look).r(d[t % 2]).r(d[1 - t % 2]).to(rt), "submit");
        if (i % 64 == 0) need(Desc(both).rw(d[2]).rw(d[2]).to(rt), "submit");
      }
    });
  for (auto &t : threads) t.join();
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x[0], n / 4 * 4);
  EXPECT_EQ(x[1], n / 4 * 4);
  EXPECT_EQ(torn, 0) << "a task was seen by one datum before another";
}

// Two threads submit at the same moment, again and again, to the same two data in opposite order: they meet inside the
// submission itself. A wrongly linked task runs beside another or never.
TEST_P(AccessOrder, ConcurrentSubmissionsLinkConsistently) {
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", GetParam()}, {"window", "0"}});
  long x[2] = {};
  consort_data_id d[2];
  for (int i = 0; i < 2; ++i) d[i] = variable_of(rt, &x[i]);
  struct Seen { std::atomic<int> inside{0}, together{0}, ran{0}; } seen;
  const auto both = codelet(rt, "both", [](const consort_call *c) -> consort_status {
    auto *s = static_cast<Seen *>(c->user);
    ++s->ran;
    if (s->inside.fetch_add(1)) ++s->together;
    ++*pointer<long>(*c, 0), ++*pointer<long>(*c, 1);
    s->inside.fetch_sub(1);
    return CONSORT_OK;
  }, 2, &seen);
  const int rounds = full() ? 300000 : 8000 / kSlow, burst = 4;
  std::atomic<int> arrived{0};
  const auto submitter = [&](int me) {
    Desc t(both);
    t.rw(d[me]).rw(d[1 - me]);
    const consort_task_desc *desc = t.desc();
    for (int i = 0; i < rounds; ++i) {
      ++arrived;
      for (int spin = 0; arrived < 2 * (i + 1); ++spin)
        if (spin > 2000) std::this_thread::yield();
      for (int k = 0; k < burst; ++k) need(consort_submit(rt, desc, nullptr), "submit");
    }
  };
  consort_hold hold;  // so that nothing runs, and all linking is to tasks that are alive
  ASSERT_OK(consort_acquire(rt, d[0], CONSORT_M_RW, kLong, &hold));
  std::thread a(submitter, 0), b(submitter, 1);
  a.join();
  b.join();
  EXPECT_OK(consort_release(rt, hold));
  consort_status over = CONSORT_OK;
  for (int before = -1; (over = consort_wait_all(rt, 1'000'000'000, 0)) == CONSORT_E_TIMEOUT; before = seen.ran)
    if (seen.ran == before && others_sleep()) break;  // nothing is under way any more
  EXPECT_OK(over) << "a cycle";
  EXPECT_EQ(seen.together, 0);
  EXPECT_EQ(x[0], 2L * rounds * burst);
  EXPECT_EQ(x[1], 2L * rounds * burst);
}

// The bias towards one submitter comes and goes: each thread submits alone for a while, then together.
TEST_P(AccessOrder, BiasMovesBetweenSubmitters) {
  Rt rt(with(GetParam(), "2"));
  long x = 0;
  const auto d = variable_of(rt, &x);
  const auto inc =
      codelet(rt, "inc", [](const consort_call *c) -> consort_status { return ++*pointer<long>(*c, 0), 0; });
  long expected = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    const int k = 1 + round % 3;
    for (int t = 0; t < k; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 300; ++i) need(Desc(inc).rw(d).to(rt), "submit");
      });
    for (auto &t : threads) t.join();
    expected += 300 * k;
    for (int i = 0; i < 100; ++i) Desc(inc).rw(d).must(rt);
    expected += 100;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, expected);
}

TEST(Bypass, DoesNotOvertakeAHigherPriority) {
  Rt rt(with("prio", "1"));
  long x = 0;
  const auto d = variable_of(rt, &x);
  Bodies body;
  Gate gate;
  std::vector<int> order;
  const auto urgent = body(rt, "urgent", [&](const consort_call &) { return order.push_back(-1), CONSORT_OK; });
  const auto link = body(rt, "link", [&](const consort_call &c) -> consort_status {
    const int i = value<int>(c, 0);
    if (i == 0) gate.pass();
    order.push_back(i);
    return i % 10 == 5 ? Desc(urgent).priority(100).to(rt) : CONSORT_OK;
  });
  std::thread opener([&] { eventually([&] { return gate.waiting() > 0 && others_sleep(); }), gate.open(); });
  for (int i = 0; i < 100; ++i) Desc(link).rw(d).arg(i).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  opener.join();
  ASSERT_EQ(order.size(), 110u);
  for (size_t i = 0; i + 1 < order.size(); ++i)
    if (order[i] >= 0 && order[i] % 10 == 5) {
      EXPECT_EQ(order[i + 1], -1) << "after link " << order[i];
    }
}

TEST_P(AccessOrder, InPlaceChainDoesNotStarveOthers) {
  Rt rt(with(GetParam(), "2"));
  long x = 0;
  const auto d = variable_of(rt, &x);
  Bodies body;
  std::atomic<int> links{0}, seen_at{-1};
  const int n = 2000;
  const auto link = body(rt, "link", [&](const consort_call &) {
    if (++links == n / 2) eventually([&] { return seen_at >= 0; });
    return CONSORT_OK;
  });
  const auto other = body(rt, "other", [&](const consort_call &) { return seen_at = links.load(), CONSORT_OK; });
  consort_hold hold;
  ASSERT_OK(consort_acquire(rt, d, CONSORT_M_RW, kLong, &hold));
  for (int i = 0; i < n; ++i) Desc(link).rw(d).must(rt);
  EXPECT_OK(consort_release(rt, hold));
  Desc(other).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP));
  EXPECT_EQ(links, n);
  EXPECT_LT(seen_at, n) << "a second worker was there all the time";
}

TEST(Bypass, LimitsInPlaceTasksToThirtyTwo) {
  for (const char *scheduler : {"eager", "prio"}) {
    Rt rt(with(scheduler, "1"));
    long x = 0;
    const auto d = variable_of(rt, &x);
    Bodies body;
    Gate gate;
    int links = 0, seen_at = -1;
    const auto link = body(rt, "link", [&](const consort_call &c) {
      if (value<int>(c, 0) == 0) gate.pass();
      return ++links, CONSORT_OK;
    });
    const auto other = body(rt, "other", [&](const consort_call &) { return seen_at = links, CONSORT_OK; });
    std::thread opener([&] { eventually([&] { return gate.waiting() > 0 && others_sleep(); }), gate.open(); });
    for (int i = 0; i < 200; ++i) Desc(link).rw(d).arg(i).must(rt);
    Desc(other).must(rt);
    EXPECT_OK(consort_wait_all(rt, kLong, 0));
    opener.join();
    EXPECT_LE(seen_at, 34) << scheduler;
  }
}

TEST_P(AccessOrder, LongChainsNeedNoStack) {
  Rt rt(with(GetParam(), "2"));
  long x = 0;
  const auto d = variable_of(rt, &x);
  struct Range { uintptr_t low = UINTPTR_MAX, high = 0; };
  struct Stacks { std::mutex mutex; std::map<std::thread::id, Range> of; } stacks;  // by thread: a helper's stack is another's
  const auto link = codelet(rt, "link", [](const consort_call *c) -> consort_status {
    auto &all = *static_cast<Stacks *>(c->user);
    const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    {
      std::lock_guard lock(all.mutex);
      Range &r = all.of[std::this_thread::get_id()];
      r.low = std::min(r.low, here), r.high = std::max(r.high, here);
    }
    return ++*pointer<long>(*c, 0), 0;
  }, 1, &stacks);
  const int n = full() ? 1000000 : 100000;
  for (int i = 0; i < n; ++i) Desc(link).rw(d).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, n);
  ASSERT_FALSE(stacks.of.empty());
  for (const auto &[thread, r] : stacks.of) EXPECT_LT(r.high - r.low, 32768u * kSlow);
}

TEST_P(AccessOrder, ManyReadersRunBetweenWriters) {
  Rt rt(with(GetParam(), "4"));
  long x = 0;
  const auto d = variable_of(rt, &x);
  std::atomic<int> wrong{0}, reads{0};
  Bodies body;
  const auto read = body(rt, "read", [&](const consort_call &c) {
    return wrong += *pointer<long>(c, 0) != value<long>(c, 0), ++reads, CONSORT_OK;
  });
  const auto write = body(rt, "write", [](const consort_call &c) { return ++*pointer<long>(c, 0), CONSORT_OK; });
  for (long round = 0; round < 30; ++round) {
    for (int i = 0; i < 1000; ++i) Desc(read).r(d).arg(round).must(rt);
    Desc(write).rw(d).must(rt);
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  EXPECT_EQ(x, 30);
  EXPECT_EQ(reads, 30000);
  EXPECT_EQ(wrong, 0) << "a reader saw another round";
}

TEST_P(AccessOrder, ReaderListsStayBounded) {
  // The list of readers since the last write must not grow with readers that have ended.
  Rt rt(with(GetParam(), "2"));
  long x = 7;
  const auto d = variable_of(rt, &x);
  const auto read = codelet(rt, "read", [](const consort_call *) -> consort_status { return 0; }, 1);
  const auto rss = [] {
    std::string word;
    long kb = 0;
    for (std::ifstream in("/proc/self/status"); in >> word;)
      if (word == "VmRSS:") in >> kb;
    return kb;
  };
  for (int i = 0; i < 20000; ++i) Desc(read).r(d).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  const long before = rss();
  for (int i = 0; i < 500000 / kSlow; ++i) Desc(read).r(d).must(rt);
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  if (kSlow == 1) {
    EXPECT_LE(rss(), before + 1024);
  }
}

TEST(TaskRecords, AreReusedAcrossThreads) {
  // One thread takes every record, others free them, and the other way round: memory must not grow with the tasks.
  Rt rt(with("lws", "2"));
  const auto nop = codelet(rt, "nop", [](const consort_call *) -> consort_status { return 0; });
  const auto rss = [] {
    std::string word;
    long kb = 0;
    for (std::ifstream in("/proc/self/status"); in >> word;)
      if (word == "VmRSS:") in >> kb;
    return kb;
  };
  long before = 0;
  for (int round = 0; round < 40; ++round) {
    std::thread([&] {
      for (int i = 0; i < 10000; ++i) need(Desc(nop).to(rt), "submit");
    }).join();
    need(consort_wait_all(rt, kLong, CONSORT_WAIT_NO_HELP), "wait");
    if (round == 10) before = rss();
  }
  if (kSlow == 1) {
    EXPECT_LE(rss(), before + 2048);
  }
}

}  // namespace
