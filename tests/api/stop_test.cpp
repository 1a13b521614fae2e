// Calls of other threads while consort_stop() runs: each answers OK or E_STOPPED, and the stop ends.
#include <filesystem>
#include <regex>

#include "api/stop_calls.hpp"
#include "support/read_file.hpp"

using namespace consort_test;

namespace {

consort_status nop(const consort_call *) { return CONSORT_OK; }

// Threads that begin together; joined at the end.
class Crowd {
 public:
  template <class F>
  Crowd(int n, F f) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([f, i] { f(i); });
  }
  void join() {
    for (auto &t : threads_) t.join();
    threads_.clear();
  }
  ~Crowd() { join(); }

 private:
  std::vector<std::thread> threads_;
};

TEST(StopWhile, EightThreadsSubmit) {
  for (int round = 0; round < 20 / kSlow; ++round) {
    consort_runtime *rt = nullptr;
    need(start({{"workers", "2"}, {"cpu.topology", kFourCores}}, &rt), "start");
    const auto c = codelet(rt, "nop", nop);
    std::atomic<int> submitted{0};
    Crowd crowd(8, [&, rt](int) {
      for (;;) {
        const Answer a(Desc(c).to(rt));
        if (a.status < 0) {
          EXPECT_TRUE(answered(CONSORT_E_STOPPED, a, {"stop"}));
          return;
        }
        submitted.fetch_add(1, std::memory_order_relaxed);
      }
    });
    EXPECT_TRUE(eventually([&] { return submitted.load() > 500; }));
    EXPECT_OK(consort_stop(rt));
  }
}

// Answers that a call on a running or stopping runtime may give, where threads work on the same objects.
bool is_fine(consort_status s) {
  return s >= 0 || s == CONSORT_E_STOPPED || s == CONSORT_E_BUSY || s == CONSORT_E_STALE || s == CONSORT_E_INVAL ||
         s == CONSORT_E_UNSUPPORTED;
}

// Makes the calls until they answer E_STOPPED, at most `most` times.
void repeat(Scene &s, const StopCall &call, int most, std::atomic<int> &begun) {
  for (int i = 0; i < most; ++i) {
    begun.fetch_add(1);
    const Answer a(call.make(s));
    EXPECT_TRUE(is_fine(a.status)) << call.name << ": " << consort_status_name(a.status) << ": " << a.text;
    if (a.status == CONSORT_E_STOPPED) return;
  }
}

class StopDuring : public ::testing::TestWithParam<size_t> {};

TEST_P(StopDuring, EachCallReturnsOkOrStopped) {
  const StopCall &call = stop_calls()[GetParam()];
  for (int round = 0; round < 3; ++round) {
    Scene s;
    std::atomic<int> begun{0};
    Crowd crowd(3, [&](int) { repeat(s, call, 1'000'000, begun); });
    EXPECT_TRUE(eventually([&] { return begun.load() >= 3 * (1 + round * 10) || !std::strcmp(call.name, "tag_wait"); }));
    EXPECT_OK(consort_stop(s.rt));
    crowd.join();
    EXPECT_SAYS(CONSORT_E_STOPPED, call.make(s), "stopped");
  }
}
INSTANTIATE_TEST_SUITE_P(Calls, StopDuring, ::testing::Range(size_t{0}, stop_calls().size()),
                         [](const auto &info) { return stop_calls()[info.param].name; });

size_t index_of(const std::string &name) {
  size_t i = 0;
  while (i < stop_calls().size() && stop_calls()[i].name != name) ++i;
  EXPECT_LT(i, stop_calls().size()) << name;
  return i;
}

// Two threads make the one call, two the other, on the same objects; then a stop comes while they go on.
void together(const StopCall &one, const StopCall &other, const Pairs &more = {}) {
  SCOPED_TRACE(std::string(one.name) + " and " + other.name);
  Scene s(more);
  std::atomic<int> begun{0};
  Crowd crowd(4, [&](int i) { repeat(s, i % 2 ? one : other, 1'000'000, begun); });
  EXPECT_TRUE(eventually([&] {
    return begun.load() >= 100 || !std::strcmp(one.name, "tag_wait") || !std::strcmp(other.name, "tag_wait");
  }));
  EXPECT_OK(consort_stop(s.rt));
}

// A call that is new in a header has to be made beside a stop, too.
TEST(StopPairs, ListHasEachCallThatTakesARuntime) {
  const std::filesystem::path root = CONSORT_TEST_SOURCE_DIR "/..";
  const std::string made = read_file(root / "tests/api/stop_calls.hpp") + read_file(root / "tests/api/harness.hpp") +
                           read_file(root / "tests/api/stop_test.cpp");
  const std::regex takes_one("CONSORT_API [a-z0-9_ *]*\\b(consort_[a-z_]+)\\(consort_runtime \\*");
  size_t n = 0;
  for (const auto &entry : std::filesystem::directory_iterator(root / "sdk/include/consort")) {
    if (entry.path().extension() != ".h") continue;
    const std::string header = read_file(entry.path());
    for (std::sregex_iterator i(header.begin(), header.end(), takes_one), end; i != end; ++i, ++n)
      EXPECT_NE(made.find((*i)[1].str() + "("), made.npos) << (*i)[1] << " of " << entry.path().filename();
  }
  EXPECT_GT(n, 90u);
}

TEST(StopPairs, CallsOnTheSameObject) {
  const std::pair<const char *, const char *> pairs[] = {
      {"register", "submit_on_data"}, {"register", "acquire"},       {"register", "prefetch"},
      {"context", "context_submit"},  {"context_move", "context_submit"}, {"codelet", "submit"},
      {"group", "group_wait"},        {"group_fd", "group_wait"},    {"tag_restart", "tag_wait"},
      {"tag_notify", "tag_wait"},     {"record", "replay"},          {"replay", "recording_set_priority"},
      {"set_scheduler", "submit"},    {"set_scheduler", "context"},  {"context", "explain"},  {"plan", "evict"},
      {"acquire", "replay"},          {"acquire", "submit_on_data"}, {"wait_no_ready", "submit_on_data"},
      {"task_end", "wait_all"},       {"run_on_each", "set_scheduler"}};
  for (const auto &[one, other] : pairs) together(stop_calls()[index_of(one)], stop_calls()[index_of(other)]);
}

TEST(StopPairs, EachCallBesideOthers) {
  const size_t n = stop_calls().size();
  const size_t partners = full() ? n : 2;
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < partners; ++k) together(stop_calls()[i], stop_calls()[(i * 7 + k * 31 + 3) % n]);
}

TEST(StopPairs, WithTheManualPump) {
  const size_t n = stop_calls().size();
  for (size_t i = 0; i < n; ++i) together(stop_calls()[i], stop_calls()[index_of("step")], {{"pump", "manual"}});
}

}  // namespace
