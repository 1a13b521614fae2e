// mixed_test.cpp — random programs that mix all features of tasks and data, against a sequential oracle. No value is
// wrong, every task runs exactly as often as it should, every failure is where it belongs, nothing hangs.
//
// CONSORT_SEED=N prints the round of that seed and runs it alone, many times; CONSORT_FULL=1 runs 100,000 programs,
// STRESS_PROGRAMS=N as many, STRESS_FROM=N from that seed on. A failing program is printed with its seed and made
// smaller.
#include "stress/mixed_make.hpp"
#include "stress/mixed_run.hpp"

using namespace mixed;

namespace {

constexpr uint64_t kRoundsPerSite = 50;

struct Setup {
  const char *scheduler, *workers, *window, *pump;
  int threads;
};
std::string text_of(const Setup &s) {
  return std::string(s.scheduler) + ", " + s.workers + " workers, window " + s.window + ", pump " + s.pump + ", " +
         std::to_string(s.threads) + " submitting";
}

constexpr Setup kSetups[] = {
    {"lws", "2", "2048", "threads", 1}, {"eager", "1", "0", "threads", 1},   {"prio", "3", "16", "threads", 1},
    {"lws", "4", "0", "threads", 3},    {"lws", "1", "16", "threads", 1},    {"eager", "2", "2048", "manual", 1},
    {"prio", "2", "0", "threads", 2},   {"lws", "3", "16", "threads", 1},    {"eager", "4", "16", "threads", 2},
    {"lws", "2", "16", "manual", 1},    {"prio", "4", "2048", "threads", 4}, {"eager", "2", "16", "threads", 1},
};
const Setup &setup_of(uint64_t seed) { return kSetups[seed / kRoundsPerSite % std::size(kSetups)]; }

std::unique_ptr<Site> open_site(const Setup &setup, uint64_t seed) {
  consort_runtime *rt = nullptr;
  need(start({{"cpu.topology", kFourCores},
              {"workers", setup.workers},
              {"scheduler", setup.scheduler},
              {"window", setup.window},
              {"pump", setup.pump},
              {"seed", std::to_string(seed % 1000).c_str()},
              {"spin_us", seed % 3 ? "5" : "50"},
              {"bypass", seed % 5 ? "32" : "0"}},
             &rt),
       "start");
  return std::make_unique<Site>(rt, *setup.pump == 'm');
}

// The running round, for the message on a hang.
struct Now {
  std::mutex mutex;
  uint64_t seed = 0;
  const Setup *setup = nullptr;
  std::vector<std::unique_ptr<Run>> *runs = nullptr;
  consort_runtime *rt = nullptr;
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  bool over = false;
  std::condition_variable changed;
};
Now &now() {
  static auto *n = new Now;
  return *n;
}
void watch_rounds() {
  Now &n = now();
  std::unique_lock lock(n.mutex);
  while (!n.changed.wait_for(lock, 1s, [&] { return n.over; })) {
    if (!n.runs || std::chrono::steady_clock::now() - n.since < 40s * kSlow) continue;
    std::fprintf(stderr, "\nhang: seed %llu (%s)\n", static_cast<unsigned long long>(n.seed),
                 text_of(*n.setup).c_str());
    for (const auto &r : *n.runs)
      std::fprintf(stderr, "%s\n%s%s", r->first_complaint().c_str(), r->text().c_str(), r->unfinished().c_str());
    char text[4096];
    consort_explain(n.rt, {0}, text, sizeof text);
    std::fprintf(stderr, "%s\n", text);
    if (std::getenv("TEST_GDB")) {
      char command[128];
      std::snprintf(command, sizeof command, "gdb -batch -p %d -ex 'thread apply all bt 25' 2>&1 >&2", getpid());
      (void)!system(command);
    }
    std::_Exit(124);
  }
}

std::vector<Program> programs_of(uint64_t seed) {
  const Setup &setup = setup_of(seed);
  std::vector<Program> all;
  for (int t = 0; t < setup.threads; ++t) {
    const uint64_t own = seed * 8 + static_cast<uint64_t>(t);
    std::mt19937_64 random(own);
    Shape shape;
    shape.steps = random() % 10 ? 8 + static_cast<int>(random() % 40) : 150;
    shape.data = 2 + static_cast<int>(random() % 5);
    shape.workers = static_cast<uint32_t>(std::atoi(setup.workers));
    shape.alone = setup.threads == 1;
    shape.fails = random() % 2;
    all.push_back(Maker(own * 2654435761u + 1, shape).make());
  }
  return all;
}

// One round on a site: "" or the first complaint.
std::string round(Site &site, uint64_t seed, const std::vector<Program> &programs, std::string *texts = nullptr) {
  std::vector<std::unique_ptr<Run>> runs;
  for (const Program &p : programs) runs.push_back(std::make_unique<Run>(p, site, static_cast<int>(runs.size())));
  {
    std::lock_guard lock(now().mutex);
    now().seed = seed;
    now().setup = &setup_of(seed);
    now().runs = &runs;
    now().rt = site.rt;
    now().since = std::chrono::steady_clock::now();
  }
  std::vector<std::thread> threads;
  for (size_t r = 1; r < runs.size(); ++r) threads.emplace_back([&, r] { runs[r]->submit(); });
  runs[0]->submit();
  for (auto &t : threads) t.join();
  const Answer end(consort_wait_all(site.rt, kLong, 0));
  std::string complaint;
  bool may_fail = false;
  for (auto &r : runs) {
    may_fail |= r->oracle().anything_failed();
    if (!r->complaints()) r->check();
    if (complaint.empty() && r->complaints()) complaint = r->first_complaint();
  }
  if (complaint.empty() && end.status < 0 && !may_fail) complaint = "wait_all answered " + end.text;
  for (int i = 0; i < 3 && complaint.empty(); ++i) {
    consort_hold hold{};
    const Answer a(consort_acquire(site.rt, site.shared[i], CONSORT_M_R, kLong, &hold));
    if (a.status < 0)
      complaint = "shared sum: " + a.text;
    else if (site.value[i] != site.want[i])
      complaint = "shared sum " + std::to_string(i) + " is " + std::to_string(site.value[i]) + ", should be " +
                  std::to_string(site.want[i]);
    if (a.status >= 0) (void)consort_release(site.rt, hold);
  }
  (void)consort_wait_all(site.rt, kLong, 0);
  if (texts && !complaint.empty())
    for (auto &r : runs) *texts += r->text();
  std::lock_guard lock(now().mutex);
  now().runs = nullptr;
  return complaint;
}

// Does it fail again, in so many tries on a fresh site?
bool fails_again(uint64_t seed, const std::vector<Program> &programs, int tries, std::string *complaint,
                 std::string *texts) {
  const auto site = open_site(setup_of(seed), seed);
  for (int i = 0; i < tries; ++i) {
    *texts = "";
    *complaint = round(*site, seed, programs, texts);
    if (!complaint->empty()) return true;
  }
  return false;
}

// Leaves out every step that is not needed for the failure. Takes no longer than a minute.
std::string smaller(uint64_t seed, std::vector<Program> programs) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  const auto in_time = [&] { return std::chrono::steady_clock::now() < end; };
  std::string best, complaint, texts;
  const int tries = 100;
  if (!fails_again(seed, programs, tries, &complaint, &texts))
    return "it did not fail again in " + std::to_string(tries) + " tries\n";
  best = complaint + "\n" + texts;
  for (size_t p = 0; p < programs.size() && programs.size() > 1;) {
    auto fewer = programs;
    fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(p));
    if (!in_time() || !fails_again(seed, fewer, tries, &complaint, &texts)) {
      ++p;
      continue;
    }
    programs = fewer;
    best = complaint + "\n" + texts;
  }
  for (Program &p : programs)
    for (size_t chunk = p.steps.size() / 2; chunk; chunk /= 2)
      for (size_t at = 0; at < p.steps.size() && in_time(); at += chunk) {
        const auto before = p.dropped;
        for (size_t i = at; i < std::min(at + chunk, p.steps.size()); ++i) p.dropped[i] = 1;
        if (p.dropped == before) continue;
        if (fails_again(seed, programs, tries, &complaint, &texts))
          best = complaint + "\n" + texts;
        else
          p.dropped = before;
      }
  return best;
}

void report(uint64_t seed, const std::string &complaint) {
  ADD_FAILURE() << "seed " << seed << " (" << text_of(setup_of(seed)) << "): " << complaint
                << "\nmade smaller: " << smaller(seed, programs_of(seed));
}

class MixedPrograms : public ::testing::Test {
 protected:
  void SetUp() override { thread_ = std::thread(watch_rounds); }
  void TearDown() override {
    {
      std::lock_guard lock(now().mutex);
      now().over = true;
    }
    now().changed.notify_all();
    thread_.join();
    now().over = false;
  }

 private:
  std::thread thread_;
};

TEST_F(MixedPrograms, GiveTheOraclesValues) {
  if (const char *one = std::getenv("CONSORT_SEED")) {
    const uint64_t seed = std::strtoull(one, nullptr, 10);
    const auto programs = programs_of(seed);
    const auto site = open_site(setup_of(seed), seed);
    for (const Program &p : programs) {
      std::deque<Fate> fates(p.steps.size());
      std::deque<Life> lives;
      const Oracle oracle(p, fates, lives);
      std::printf("%s", text_of(p, fates).c_str());
    }
    for (int i = 0; i < 500; ++i)
      if (const std::string complaint = round(*site, seed, programs); !complaint.empty()) return report(seed, complaint);
    return;
  }
  const char *given = std::getenv("STRESS_PROGRAMS");
  const uint64_t most = given ? std::strtoull(given, nullptr, 10) : full() ? 100'000 : kSlow > 1 || brief() ? 2'500 : 15'000;
  const char *from = std::getenv("STRESS_FROM");
  std::unique_ptr<Site> site;
  uint64_t done = 0;
  for (uint64_t seed = from ? std::strtoull(from, nullptr, 10) : 0; done < most; ++seed) {
    if (seed % kRoundsPerSite == 0 || !site) {
      site = nullptr;
      site = open_site(setup_of(seed), seed);
    }
    const auto programs = programs_of(seed);
    done += programs.size();
    if (const std::string complaint = round(*site, seed, programs); !complaint.empty()) return report(seed, complaint);
  }
  std::printf("%llu programs\n", static_cast<unsigned long long>(done));
}

// A failed task carried a tag; the tag was restarted and carried again. A task that comes after both carriers names the
// first one by its id, and is poisoned by it.
TEST_F(MixedPrograms, PredecessorSurvivesTagRestart) {
  Program p;
  p.slots.resize(1);
  p.slots[0].shadow = true;
  const auto add = [&](Kind kind) -> Step & {
    Step &s = p.steps.emplace_back();
    s.kind = kind;
    s.k = 1;
    return s;
  };
  add(Kind::kTask).tag = 0;
  p.steps[0].fails = true;
  add(Kind::kTagWait);
  add(Kind::kTagRestart);
  add(Kind::kTask).tag = 0;
  Step &last = add(Kind::kTask);
  last.tag = 1;
  last.by_tags = true;
  last.after = {0, 3};
  p.dropped.assign(p.steps.size(), 0);
  const auto site = open_site({"eager", "2", "2048", "manual", 1}, 1);
  mixed::Run run(p, *site, 0);
  EXPECT_EQ(run.fates()[4].ends, CONSORT_E_POISONED);
  EXPECT_EQ(run.fates()[4].tag_after, std::vector<int>{0});
  run.submit();
  (void)consort_wait_all(site->rt, kLong, 0);
  run.check();
  EXPECT_EQ(run.complaints(), 0) << run.first_complaint() << "\n" << run.text();
}

}  // namespace
