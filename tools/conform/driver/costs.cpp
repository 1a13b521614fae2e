// What a driver costs whoever calls it, and whether its links do what it says. On a busy machine: the best of several.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

double seconds_on(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
// Of all threads of this process, what they computed and what they waited for a core that others had. Where the system
// does not tell, what they computed.
double wanted() {
  uint64_t all = 0;
  DIR *const threads = opendir("/proc/self/task");
  while (const dirent *entry = threads ? readdir(threads) : nullptr) {
    const std::string path = std::string("/proc/self/task/") + entry->d_name + "/schedstat";
    unsigned long long ran = 0, waited = 0;
    if (FILE *f = std::fopen(path.c_str(), "re")) {
      if (std::fscanf(f, "%llu %llu", &ran, &waited) == 2) all += ran + waited;
      std::fclose(f);
    }
  }
  if (threads) closedir(threads);
  return all ? static_cast<double>(all) * 1e-9 : seconds_on(CLOCK_PROCESS_CPUTIME_ID);
}
double computed() { return seconds_on(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace

CONFORM_CASE(D, 60, perf, calls_are_cheap) {
  Plugin p(t);
  Devices devices(t, p);
  DeviceQueue q(devices, 0);
  constexpr int kPolls = 2000, kMarks = 300;
  constexpr double kMostPoll = 20e-6, kMostMark = 300e-6;
  double poll = 1, mark = 1;
  for (int round = 0; round < 8; ++round) {
    double before = computed();
    consort_done done[4];
    for (int k = 0; k < kPolls; ++k) devices.ops().poll(q.raw(), done, 4);
    poll = std::min(poll, (computed() - before) / kPolls);
    double taken = 0;                            // of submit and of polls that had something
    for (int k = 0; k < kMarks; ++k) {
      const consort_op op = op_of(CONSORT_OP_MARK);
      before = computed();
      q.send(op);
      taken += computed() - before;
      while (q.in_flight() > q.desc().depth / 2) {
        before = computed();
        if (q.poll()) taken += computed() - before;
        else usleep(10);
      }
    }
    q.wait();
    mark = std::min(mark, taken / kMarks);
  }
  t.figure("poll with nothing in flight: %.0f ns; a mark, with the kit's book: %.0f ns", poll * 1e9, mark * 1e9);
  t.check(poll < kMostPoll, "poll with nothing in flight computes %.1f us", poll * 1e6);
  t.check(mark < kMostMark, "a mark computes %.1f us in submit and poll", mark * 1e6);
}

CONFORM_CASE(D, 61, perf, links_do_what_they_say) {
  Plugin p(t);
  Devices devices(t, p);
  constexpr double kUnlike = 1000;
  unsigned told = 0;
  for (const Devices::Link &l : devices.some_links(t.scaled(6, 20))) {
    if (!l.desc.bytes_per_s) continue;
    uint64_t n = std::min(l.longest(), t.scaled(2, 4) << 20);
    for (const uint32_t s : {l.src, l.dst}) n = std::min(n, devices.spaces()[s].desc.capacity / 8);
    n = n / l.grain() * l.grain();
    if (n < 100'000) continue;                   // too short to say anything
    ++told;
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, n), dst(devices, l.dst, n);
    double best = 1e9;
    const double told_s = static_cast<double>(n) / static_cast<double>(l.desc.bytes_per_s) + l.desc.latency_ns * 1e-9;
    for (int k = 0; k < 30 && (k < 5 || best > kUnlike / 10 * told_s); ++k) {
      const double before = seconds_on(CLOCK_MONOTONIC);
      t.need(q.run(copy_op({l.src, l.dst, src.at(), dst.at(), n, {1, 1}, {0, 0}, {0, 0}})) == CONSORT_OK, "a copy of %llu bytes fails",
             static_cast<unsigned long long>(n));
      best = std::min(best, seconds_on(CLOCK_MONOTONIC) - before);
    }
    const char *from = devices.spaces()[l.src].name.c_str(), *to = devices.spaces()[l.dst].name.c_str();
    t.figure("%s to %s: %.2f GB/s, it says %.2f", from, to, static_cast<double>(n) / best * 1e-9,
             static_cast<double>(l.desc.bytes_per_s) * 1e-9);
    t.check(best < kUnlike * told_s, "%llu bytes from %s to %s take %.3f ms at best; by what the link says %.3f ms",
            static_cast<unsigned long long>(n), from, to, best * 1e3, told_s * 1e3);
    t.check(best > told_s / kUnlike, "%llu bytes from %s to %s take %.3f ms at best; by what the link says %.3f ms: nobody will take this path",
            static_cast<unsigned long long>(n), from, to, best * 1e3, told_s * 1e3);
  }
  if (!told) t.skip("none of its links says how fast it is, or takes enough bytes to tell");
}

CONFORM_CASE(D, 62, perf, computes_nothing_when_idle) {
  Plugin p(t);
  Devices devices(t, p);
  std::vector<std::unique_ptr<DeviceQueue>> queues;
  for (uint32_t d = 0; d < devices.all().size() && d < 4; ++d) {
    queues.push_back(std::make_unique<DeviceQueue>(devices, d));
    queues.back()->run(op_of(CONSORT_OP_MARK));
  }
  double least = 1;
  t.doing("nothing, with queues open");
  for (int k = 0; k < 6 && least > 0.05; ++k) {
    const double began = seconds_on(CLOCK_MONOTONIC), before = wanted();
    usleep(150'000);
    least = std::min(least, (wanted() - before) / (seconds_on(CLOCK_MONOTONIC) - began));
  }
  t.figure("%.1f %% of a core while nothing is in flight", least * 100);
  t.check(least < 0.25, "with nothing in flight it takes %.0f %% of a core", least * 100);
}

}  // namespace conform
