// The cost of a driver's calls, and whether its links have the bandwidth that it reports. On a busy machine: the best
// of several runs.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>

#include "conform/driver/store.hpp"

namespace conform {
namespace {

double seconds_on(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
// CPU time of this process's threads, and their time waiting for a core, in seconds.
struct Thread {
  double ran = 0, waited = 0;
  bool runnable = false;
};
using Threads = std::map<pid_t, Thread>;

Threads threads_now() {
  Threads all;
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir("/proc/self/task"), closedir);
  while (const dirent *entry = folder ? readdir(folder.get()) : nullptr) {
    if (*entry->d_name == '.') continue;
    const std::string path = std::string("/proc/self/task/") + entry->d_name;
    const auto open = [&](const char *name) {
      return std::unique_ptr<FILE, int (*)(FILE *)>(std::fopen((path + name).c_str(), "re"), std::fclose);
    };
    unsigned long long ran = 0, waited = 0;
    char state = 0;
    const auto times = open("/schedstat"), stat = open("/stat");
    if (!times || std::fscanf(times.get(), "%llu %llu", &ran, &waited) != 2) continue;
    if (stat && std::fscanf(stat.get(), "%*d (%*[^)]) %c", &state) != 1) state = 0;
    all[std::atoi(entry->d_name)] = {static_cast<double>(ran) * 1e-9, static_cast<double>(waited) * 1e-9, state == 'R'};
  }
  if (all.empty()) all[0].ran = seconds_on(CLOCK_PROCESS_CPUTIME_ID);  // the system does not report it
  return all;
}

double waited() {  // sum over all threads
  double all = 0;
  for (const auto &[id, thread] : threads_now()) all += thread.waited;
  return all;
}

// The cores that the threads would have used from `before` to `after` if each had had one: time waiting for a core does
// not count. -1: at the end a thread waits for a core, for an unknown time.
double cores_used(const Threads &before, const Threads &after, double seconds) {
  constexpr double kLeast = 0.002;               // CPU time of a thread that polls now and then
  double cores = 0;
  for (const auto &[id, now] : after) {
    const auto found = before.find(id);
    const Thread was = found == before.end() ? Thread{} : found->second;
    const double ran = now.ran - was.ran, had_core = seconds - (now.waited - was.waited);
    if (now.runnable && id != getpid() && ran < had_core / 2) return -1;
    if (ran > kLeast) cores += ran / std::max(had_core, ran);
  }
  return cores;
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
    double taken = 0;                            // in submit, and in polls that returned completions
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
    if (n < 100'000) continue;                   // too short for a measurement
    ++told;
    DeviceQueue q(devices, l.device);
    Store src(devices, l.src, n), dst(devices, l.dst, n);
    double best = 1e9, least = 1e9;                // least: without time in which a thread waited for a core
    const double told_s = static_cast<double>(n) / static_cast<double>(l.desc.bytes_per_s) + l.desc.latency_ns * 1e-9;
    for (int k = 0; k < 30 && (k < 5 || least > kUnlike / 10 * told_s); ++k) {
      const double waited_before = waited(), before = seconds_on(CLOCK_MONOTONIC);
      t.need(q.run(copy_op({l.src, l.dst, src.at(), dst.at(), n, {1, 1}, {0, 0}, {0, 0}})) == CONSORT_OK, "a copy of %llu bytes fails",
             static_cast<unsigned long long>(n));
      const double taken = seconds_on(CLOCK_MONOTONIC) - before;
      best = std::min(best, taken);
      least = std::min(least, std::max(taken - (waited() - waited_before), 0.0));
    }
    const char *from = devices.spaces()[l.src].name.c_str(), *to = devices.spaces()[l.dst].name.c_str();
    t.figure("%s to %s: %.2f GB/s, it says %.2f", from, to, static_cast<double>(n) / best * 1e-9,
             static_cast<double>(l.desc.bytes_per_s) * 1e-9);
    t.check(least < kUnlike * told_s, "%llu bytes from %s to %s take %.3f ms at best; by what the link says %.3f ms",
            static_cast<unsigned long long>(n), from, to, least * 1e3, told_s * 1e3);
    t.check(best > told_s / kUnlike, "%llu bytes from %s to %s take %.3f ms at best; by what the link says %.3f ms: no copy will take this path",
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
  double least = 100;
  t.doing("nothing, with queues open");
  for (int k = 0, tries = 0; k < 6 && tries < 40 && least > 0.05; ++tries) {
    const Threads before = threads_now();
    const double began = seconds_on(CLOCK_MONOTONIC);
    usleep(150'000);
    const double cores = cores_used(before, threads_now(), seconds_on(CLOCK_MONOTONIC) - began);
    if (cores < 0) continue;
    least = std::min(least, cores);
    ++k;
  }
  if (least == 100) t.skip("the machine is too busy to tell: threads wait for a core all the time");
  t.figure("%.1f %% of a core while nothing is in flight", least * 100);
  t.check(least < 0.25, "with nothing in flight it takes %.0f %% of a core", least * 100);
}

}  // namespace conform
