// Repeated start and end.
#include <chrono>
#include <memory>
#include <thread>

#include "conform/case.hpp"
#include "conform/plugin.hpp"

namespace conform {
namespace {

using Clock = std::chrono::steady_clock;
// A joined thread stays visible for a moment.
void let_threads_go(size_t down_to) {
  for (int turn = 0; turn < 1000 && count_threads() > down_to; ++turn) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

}  // namespace

CONFORM_CASE(P, 40, life, starts_and_ends_again_and_again) {
  Plugin p(t);
  p.stop();
  constexpr uint32_t kWarm = 8, kPart = 25;              // leaks are detected within each part
  const uint32_t rounds = static_cast<uint32_t>(t.scaled(200, 1000));
  const double most = static_cast<double>(t.scaled(2, 20));
  size_t threads = 0, descriptors = 0, blocks = 0;
  MemoryMarks memory(8 * kPart, kPart);
  const auto began = Clock::now();
  uint32_t round = 0;
  for (; (round < kWarm + rounds && seconds_since(began) < most) || memory.is_undecided(); ++round) {
    if (round == kWarm)
      threads = count_threads(), descriptors = count_descriptors(), blocks = p.host().live_blocks();
    if (round % kPart == 0) memory.mark();
    t.need(p.start() >= 0, "start %u fails: %s", round + 2, p.host().failure().c_str());
    p.stop();
  }
  const size_t counted = round - kWarm;
  let_threads_go(threads);
  t.check(count_threads() <= threads, "%zu threads more after %zu starts and ends", count_threads() - threads, counted);
  t.check(count_descriptors() <= descriptors, "%zu descriptors more after %zu starts and ends", count_descriptors() - descriptors,
          counted);
  t.check(p.host().live_blocks() <= blocks, "%zu blocks of alloc more after %zu starts and ends", p.host().live_blocks() - blocks,
          counted);
  t.check(!memory.leaks(), "%zu bytes more after each %u starts and ends", memory.growth(), kPart);
}

CONFORM_CASE(P, 40, life, leaves_nothing_behind) {
  Host host;
  Plugin p(t, host, false);
  size_t threads = count_threads(), descriptors = count_descriptors();
  p.must_start();
  p.stop();
  let_threads_go(threads);
  if (count_threads() > threads || count_descriptors() > descriptors) {
    // Resources that a library keeps for the life of the process, like a vendor's threads, appear once: measure again.
    threads = count_threads(), descriptors = count_descriptors();
    p.must_start();
    p.stop();
    let_threads_go(threads);
  }
  t.check(count_threads() <= threads, "%zu threads live on after fini", count_threads() - threads);
  t.check(count_descriptors() == descriptors, "%zu descriptors stay open after fini", count_descriptors() - descriptors);
}

CONFORM_CASE(P, 41, life, two_live_side_by_side) {
  for (const bool first_ends_first : {true, false}) {
    auto a = std::make_unique<Plugin>(t), b = std::make_unique<Plugin>(t);
    (first_ends_first ? a : b).reset();
    t.doing("get() of the one that is left");
    const Plugin &left = first_ends_first ? *b : *a;
    left.manifest().get(left.self(), "com.example.nothing/1");
  }
}

CONFORM_CASE(P, 42, life, gives_back_the_hosts_memory) {
  Host host;
  {
    Plugin p(t, host);
  }
  t.check(host.live_blocks() == 0, "%zu blocks of alloc are not released after fini", host.live_blocks());
  for (const std::string &what : host.complaints()) t.check(what.find("alloc") == what.npos, "%s", what.c_str());
}

CONFORM_CASE(P, 43, life, quiesces_in_time) {
  const Plugin p(t);
  const uint64_t deadlines[] = {CONSORT_NEVER, p.table()->now(p.table()) + 1'000'000'000, 0};
  for (const uint64_t deadline : deadlines) {
    const auto began = Clock::now();
    t.doing("quiesce");
    const consort_status s = p.manifest().quiesce(p.self(), deadline);
    t.check(s == CONSORT_OK, "quiesce answers %d though nothing is going on", s);
    t.check(seconds_since(began) < 2, "quiesce took %.1f s though nothing is going on", seconds_since(began));
  }
}

CONFORM_CASE(P, 50, threads, started_here_ended_there) {
  Plugin p(t);
  p.stop();
  consort_status s = CONSORT_OK;
  for (int round = 0; round < 3; ++round) {
    std::thread([&] { s = p.start(); }).join();
    t.need(s >= 0, "init failed: %s", p.host().failure().c_str());
    std::thread([&] { p.stop(); }).join();
  }
}

CONFORM_CASE(P, 70, perf, starts_quickly) {
  Plugin p(t);
  p.stop();
  double least = 1e9;
  for (int k = 0; k < 5; ++k) {
    const auto began = Clock::now();
    t.need(p.start() >= 0, "init failed: %s", p.host().failure().c_str());
    p.stop();
    least = std::min(least, seconds_since(began));
  }
  t.figure("start and end: %.3f ms", least * 1e3);
  t.check(least < 2, "start and end take %.1f s", least);
}

}  // namespace conform
