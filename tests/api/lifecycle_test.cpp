// Lives of runtimes: a thousand starts and stops leave nothing behind; a start is quick; an idle one is small.
#include <dirent.h>

#include <fstream>

#include "api/harness.hpp"

using namespace consort_test;

namespace {

struct Footprint {
  long rss_kb = 0, threads = 0, fds = 0, maps = 0;
  static Footprint now() {
    Footprint f;
    std::string word;
    for (std::ifstream in("/proc/self/status"); in >> word;) {
      if (word == "VmRSS:") in >> f.rss_kb;
      if (word == "Threads:") in >> f.threads;
    }
    std::string line;
    for (std::ifstream in("/proc/self/maps"); std::getline(in, line);) ++f.maps;
    if (DIR *d = opendir("/proc/self/fd")) {
      while (readdir(d)) ++f.fds;
      closedir(d);
    }
    return f;
  }
};

consort_status inc(const consort_call *c) { return ++*pointer<long>(*c, 0), CONSORT_OK; }

void one_life(int i) {
  static const char *const schedulers[] = {"eager", "prio", "lws", "ws", "random"};
  Rt rt({{"workers", "2"}, {"cpu.topology", kFourCores}, {"scheduler", schedulers[i % 5]}});
  if (i % 2 == 0) {
    long v = 0;
    const auto c = codelet(rt, "inc", inc);
    const auto x = variable_of(rt, &v);
    const consort_vector_args a{nullptr, 10000, 8};
    const consort_data_desc d{sizeof d, 0, "vector", &a, sizeof a, "homeless"};
    consort_data_id y;
    need(consort_register(rt, &d, &y), "register");
    consort_group_id g;
    need(consort_group_create(rt, nullptr, &g), "group");
    int fd;
    need(consort_group_fd(rt, g, &fd), "fd");
    for (int k = 0; k < 20; ++k) Desc(c).rw(x).in(g).must(rt);
    Desc(c).w(y).scratch(y).in(g).must(rt);
    if (i % 4 == 0) {
      need(consort_group_wait(rt, g, kLong, 0), "wait");
      need(consort_group_destroy(rt, g), "destroy");
      need(consort_unregister(rt, x), "unregister");
    }
    need(rt.stop(), "stop");
    EXPECT_EQ(v, 20);
  }
}

TEST(Lifecycle, RepeatedStartAndStopLeaveNothing) {
  const int n = kSlow > 1 ? 200 : 1000;
  int i = 0;
  while (i < 60) one_life(i++);
  const auto before = Footprint::now();
  const auto start = std::chrono::steady_clock::now();
  while (i < n) one_life(i++);
  const auto each = (std::chrono::steady_clock::now() - start) / (n - 60);
  const auto after = Footprint::now();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.fds, before.fds);
  if (kSlow == 1) {  // a sanitizer keeps mappings of its own
    EXPECT_LE(after.maps, before.maps + (kSlow > 1 ? 100 : 4));
    EXPECT_LE(after.rss_kb, before.rss_kb + 1024);
  }
  RecordProperty("us_each", static_cast<int>(each / 1us));
  std::printf("a life: %lld us; RSS %ld → %ld kB, maps %ld → %ld\n", static_cast<long long>(each / 1us), before.rss_kb,
              after.rss_kb, before.maps, after.maps);
  EXPECT_LT(each, 150ms * kSlow) << "the goal is 15 ms; this limit only catches gross errors";
}

TEST(Lifecycle, RefusedStartsLeaveNothing) {
  const auto fails = [] {
    consort_runtime *rt = nullptr;
    EXPECT_LT(start({{"scheduler", "nonesuch"}}, &rt), 0);
    EXPECT_LT(start({{"cpu.topology", "not a machine"}}, &rt), 0);
    EXPECT_LT(start({{"nonsense", "1"}}, &rt), 0);
  };
  for (int i = 0; i < 20; ++i) fails();
  const auto before = Footprint::now();
  for (int i = 0; i < 100; ++i) fails();
  const auto after = Footprint::now();
  EXPECT_EQ(after.threads, before.threads);
  EXPECT_EQ(after.fds, before.fds);
  if (kSlow == 1) {
    EXPECT_LE(after.maps, before.maps + (kSlow > 1 ? 100 : 4));
  }
}

TEST(Lifecycle, RuntimesStopInAnyOrder) {
  std::vector<std::unique_ptr<Rt>> all;
  const auto before = Footprint::now();
  for (int i = 0; i < 24; ++i)
    all.push_back(std::make_unique<Rt>(Pairs{{"workers", "1"}, {"cpu.topology", kFourCores}}));
  long v[24] = {};
  for (int i = 0; i < 24; ++i) {
    const auto c = codelet(*all[i], "inc", inc);
    const auto x = variable_of(*all[i], &v[i]);
    for (int k = 0; k < 100; ++k) Desc(c).rw(x).must(*all[i]);
  }
  for (int i = 0; i < 24; i += 2) EXPECT_OK(all[static_cast<size_t>(i)]->stop());
  for (int i = 23; i > 0; i -= 2) EXPECT_OK(all[static_cast<size_t>(i)]->stop());
  for (const long n : v) EXPECT_EQ(n, 100);
  EXPECT_EQ(Footprint::now().threads, before.threads);
}

TEST(Lifecycle, ConcurrentStartsAndStops) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 10; ++i) one_life(4 * i + t);
    });
  for (auto &t : threads) t.join();
}

TEST(Lifecycle, ThreadRecordsAreFreedAtThreadExit) {
  Rt rt;
  const auto c = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
  long before = 0;
  for (int i = 0; i < 3000; ++i) {
    std::thread([&] {
      for (int k = 0; k < 3; ++k) Desc(c).must(rt);
    }).join();
    if (i == 500) before = Footprint::now().rss_kb;
  }
  EXPECT_OK(consort_wait_all(rt, kLong, 0));
  if (kSlow == 1) {
    EXPECT_LE(Footprint::now().rss_kb, before + 4096) << "a thread's record is not reused";
  }
}

TEST(Lifecycle, ThreadsMayOutliveTheirRuntime) {
  std::mutex m;
  std::condition_variable changed;
  int stage = 0;
  consort_runtime *rt = nullptr;
  const auto reach = [&](int s) {
    std::unique_lock lock(m);
    stage = s;
    changed.notify_all();
  };
  const auto await = [&](int s) {
    std::unique_lock lock(m);
    changed.wait(lock, [&] { return stage >= s; });
  };
  std::thread user([&] {
    for (int round = 0; round < 10; ++round) {
      await(2 * round + 1);
      const auto c = codelet(rt, "nop", [](const consort_call *) -> consort_status { return CONSORT_OK; });
      for (int i = 0; i < 50; ++i) Desc(c).must(rt);
      reach(2 * round + 2);
    }
  });
  for (int round = 0; round < 10; ++round) {
    need(start({{"workers", "2"}, {"cpu.topology", kFourCores}}, &rt), "start");
    reach(2 * round + 1);
    await(2 * round + 2);
    EXPECT_OK(consort_stop(rt));
  }
  user.join();
}

// A stop that only the application can let end logs its reason once.
TEST(Lifecycle, SlowStopLogsItsReason) {
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
    size_t about_the_stop() {
      std::lock_guard lock(mutex);
      return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [](const std::string &l) {
        return l.find("consort_stop() waits") != std::string::npos && l.find("'precious'") != std::string::npos;
      }));
    }
  } log;
  consort_settings settings = CONSORT_SETTINGS_INIT;
  settings.log = [](void *user, int32_t, const char *utf8) {
    auto &to = *static_cast<Log *>(user);
    std::lock_guard lock(to.mutex);
    to.lines.push_back(utf8);
  };
  settings.log_user = &log;
  consort_runtime *rt = nullptr;
  ASSERT_OK(consort_start(&settings, &rt));
  long x = 0;
  const consort_variable_args a{&x, sizeof x};
  const consort_data_desc d{sizeof d, 0, "variable", &a, sizeof a, "precious"};
  consort_data_id precious;
  ASSERT_OK(consort_register(rt, &d, &precious));
  std::atomic<bool> has{false};
  std::thread holder([&] {
    consort_hold hold{};
    need(consort_acquire(rt, precious, CONSORT_M_RW, kLong, &hold), "acquire");
    has = true;
    EXPECT_TRUE(eventually([&] { return log.about_the_stop() > 0; }));
    std::this_thread::sleep_for(100ms);  // nap: time for a second warning, which would be wrong
    need(consort_release(rt, hold), "release");
  });
  ASSERT_TRUE(eventually([&] { return has.load(); }));
  EXPECT_OK(consort_stop(rt));
  holder.join();
  EXPECT_EQ(log.about_the_stop(), 1u);
}

}  // namespace
