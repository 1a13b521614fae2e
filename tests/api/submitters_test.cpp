// Registered submitters in virtual time take turns: two runs of several threads are equal, to the byte of their traces.
#include <consort/clock.h>
#include <consort/submitters.h>

#include <fstream>
#include <sstream>

#include "api/harness.hpp"

namespace consort_test {
namespace {

consort_status nothing(const consort_call *) { return CONSORT_OK; }

struct Turns : testing::Test {
  std::string trace = "/tmp/consort-submitters-" + std::to_string(getpid());
  ~Turns() override { std::remove(trace.c_str()); }
  consort_runtime *rt = nullptr;
  consort_codelet_id codelet{};
  void begin() {
    ASSERT_OK(start({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "2"}, {"sim.devices", "0"}, {"sim.times", "work=100us"}, {"scheduler", "eager"},
                     {"trace", trace.c_str()}}, &rt));
    consort_impl impl{"cpu", nothing, nullptr, nullptr, nullptr, nullptr, nullptr, 0};
    consort_codelet desc = CONSORT_CODELET_INIT;
    desc.name = "work";
    desc.impls = &impl;
    desc.nimpls = 1;
    ASSERT_OK(consort_codelet_add(rt, &desc, &codelet));
  }
  consort_task_id task() {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = codelet;
    consort_task_id id{};
    need(consort_submit(rt, &d, &id), "submit");
    return id;
  }
  uint64_t now() const {
    uint64_t ns = 0;
    need(consort_now(rt, &ns), "now");
    return ns;
  }
  std::string end() {
    need(consort_stop(rt), "stop");
    std::ifstream in(trace);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
  }
};

// Each thread submits bursts of its own length and waits for their last task; who starts first is left to the system.
TEST_F(Turns, TwoRunsAreEqual) {
  constexpr uint32_t kThreads = 4;
  const auto once = [&](bool reversed) {
    begin();
    std::vector<std::string> order;  // no lock: one thread at a time
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, me = reversed ? kThreads - 1 - i : i] {
        need(consort_submitter_enter(rt, me, kThreads), "enter");
        for (int round = 0; round < 5; ++round) {
          consort_task_id last{};
          for (uint32_t k = 0; k <= me; ++k) last = task();
          order.push_back(std::to_string(me) + "@" + std::to_string(now()));
          need(consort_task_wait(rt, last, kLong, 0), "wait");
        }
        need(consort_submitter_leave(rt), "leave");
      });
    for (auto &t : threads) t.join();
    std::string all;
    for (const std::string &o : order) all += o + " ";
    return all + end();
  };
  const std::string first = once(false);
  EXPECT_EQ(first.rfind("0@0 1@0 2@0 3@0 0@", 0), 0u) << first.substr(0, 200);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(once(i % 2), first) << i;
}

TEST_F(Turns, TimeoutsOfSubmittersEndInTheirOrder) {
  begin();
  std::string order;
  std::vector<std::thread> threads;
  for (uint32_t me = 0; me < 3; ++me)
    threads.emplace_back([&, me] {
      need(consort_submitter_enter(rt, me, 3), "enter");
      consort_task_id last{};
      for (int k = 0; k < 20; ++k) last = task();  // 3 * 20 * 100 us on two cores: 3 ms
      EXPECT_EQ(consort_task_wait(rt, last, (3 - me) * 100'000, 0), CONSORT_E_TIMEOUT);
      order += std::to_string(me) + "@" + std::to_string(now() / 1000) + " ";
      need(consort_submitter_leave(rt), "leave");
    });
  for (auto &t : threads) t.join();
  EXPECT_EQ(order, "2@100 1@200 0@300 ");
  ASSERT_OK(consort_wait_all(rt, kLong, 0));
  end();
}

TEST_F(Turns, WrongUseIsRefused) {
  begin();
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submitter_leave(rt), "no registered submitter");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submitter_enter(rt, 2, 2), "submitter 2 of 2");
  EXPECT_SAYS(CONSORT_E_INVAL, consort_submitter_enter(rt, 0, 65), "count is 1 to 64");
  ASSERT_OK(consort_submitter_enter(rt, 0, 1));
  EXPECT_SAYS(CONSORT_E_BUSY, consort_submitter_enter(rt, 0, 1), "already");
  std::thread([&] { EXPECT_SAYS(CONSORT_E_INVAL, consort_submitter_enter(rt, 0, 1), "is another thread already"); }).join();
  ASSERT_OK(consort_task_wait(rt, task(), kLong, 0));
  ASSERT_OK(consort_submitter_leave(rt));
  ASSERT_OK(consort_submitter_enter(rt, 0, 1)) << "all have left: a new round";
  ASSERT_OK(consort_submitter_leave(rt));
  end();
  Rt real;
  EXPECT_OK(consort_submitter_enter(real, 7, 3)) << "nothing in real time";
}

}  // namespace
}  // namespace consort_test
