// What every runtime's binary of the micro benchmark shares: options, pinning, warm-up, the clock, one line of JSON.
// Owned by main(); runs on the main thread, except run_body(), which runs in tasks on any thread. It must never start
// the clock before the runtime, its data and the oracle are ready.
//
// A backend gives: name, edges (true: it is told the edges and infers none), supports(), prepare(plan), make_data(n),
// drop_data(), drive(submitters, f) (f(s) on each submitting thread; returns when every task is done),
// submit<Body>(i, uses), and, where it can, sync<Body>(i), acquire()/release(), register_one()/unregister_one(), and
// record(plan, f) (f(s) submits what is to be kept), replay() (runs it once and waits), forget().
#pragma once
#include "check.hpp"
#include "patterns.hpp"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bench {

enum class Body { empty, check, spin, gate };

struct Options {
  std::string mode = "time"; // time, check, metg, memory, start
  std::string pattern = "independent";
  std::string scheduler;     // "": the runtime's default
  std::string pump;          // consort only: "manual" runs everything on the calling thread
  unsigned workers = 2, cores = 2, reps = 1;
  uint64_t n = 100000, window = 0; // window 0: the runtime's default
};

inline Check check;
inline uint64_t spin_loops = 0;           // set before the tasks that spin are submitted
inline std::atomic<uint32_t> gate_open{0}; // pairs with itself: open_gate() and the wait in run_body()

inline void spin(uint64_t loops) {
  for (uint64_t k = loops; k != 0; --k) asm volatile("" : "+r"(k));
}

template <Body K> inline void run_body(uint64_t i) {
  if constexpr (K == Body::check) check.ran(i);
  if constexpr (K == Body::spin) spin(spin_loops);
  if constexpr (K == Body::gate) {
    gate_open.fetch_add(2, std::memory_order_acq_rel);
    while ((gate_open.load(std::memory_order_acquire) & 1) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Keeps the process on the first `cores` of the processors it was given.
inline void pin(unsigned cores) {
  cpu_set_t all, few;
  CPU_ZERO(&few);
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  for (unsigned c = 0, got = 0; c < CPU_SETSIZE && got < cores; ++c)
    if (CPU_ISSET(c, &all)) {
      CPU_SET(c, &few);
      ++got;
    }
  sched_setaffinity(0, sizeof few, &few);
}

inline double resident_bytes() {
  unsigned long size = 0, resident = 0;
  if (FILE *f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    std::fclose(f);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  const size_t h = v.size() / 2;
  return v.size() % 2 ? v[h] : (v[h - 1] + v[h]) / 2;
}

template <class B> constexpr bool can_sync = requires(B &b) { b.template sync<Body::empty>(uint64_t{0}); };
template <class B> constexpr bool can_acquire = requires(B &b) { b.acquire(); b.release(); };
template <class B> constexpr bool can_register = requires(B &b) { b.register_one(); b.unregister_one(); };

template <class B> constexpr bool can_replay = requires(B &b) { b.replay(); b.forget(); };
template <class B> constexpr bool can_divide = requires(B &b) { b.divide(); b.bring_together(); };

template <class B> bool supported(const PatternName &p, unsigned workers) {
  if (p.replayed) return can_replay<B>;
  if (p.pattern == Pattern::sync) return can_sync<B>;
  if (p.pattern == Pattern::acquire_release) return can_acquire<B>;
  if (p.pattern == Pattern::register_unregister) return can_register<B>;
  if (p.pattern == Pattern::partition) return can_divide<B>;
  if (p.pattern == Pattern::redux || p.pattern == Pattern::commute) return B::any_order;
  return B::supports(p.pattern, p.submitters, workers);
}

// Runs the plan once and answers the nanoseconds it took, all tasks.
template <Body K, class B> double run_once(B &b, const Plan &p) {
  if constexpr (B::edges) b.prepare(p);
  const double t0 = now_ns();
  b.drive(p.submitters, [&](unsigned s) {
    if (p.pattern == Pattern::sync) {
      if constexpr (can_sync<B>)
        for (uint64_t i = 0; i < p.n; ++i) {
          b.template sync<K>(i);
          if constexpr (K == Body::check)
            if (!check.has_run(i)) check.fail();
        }
    } else if (p.pattern == Pattern::acquire_release) {
      if constexpr (can_acquire<B>)
        for (uint64_t i = 0; i < p.n; ++i) {
          if constexpr (K == Body::check) b.template submit<K>(i, Uses<1>{{0}});
          b.acquire();
          if constexpr (K == Body::check)
            if (!check.has_run(i)) check.fail();
          b.release();
        }
    } else if (p.pattern == Pattern::partition) { // one part is used, so that the whole is divided, and the whole is entered
      if constexpr (can_divide<B>)
        for (uint64_t i = 0; i < p.n; ++i) {
          b.divide();
          b.template submit<K>(i, Uses<1>{{0}});
          b.bring_together();
          if constexpr (K == Body::check)
            if (!check.has_run(i)) check.fail();
        }
    } else if (p.pattern == Pattern::register_unregister) {
      if constexpr (can_register<B>)
        for (uint64_t i = 0; i < p.n; ++i) {
          b.register_one();
          if constexpr (K == Body::check) b.template submit<K>(i, Uses<1>{{0}});
          b.unregister_one();
          if constexpr (K == Body::check)
            if (!check.has_run(i)) check.fail();
        }
    } else {
      each_task(p, s, [&](uint64_t i, const auto &uses) { b.template submit<K>(i, uses); });
    }
  });
  return now_ns() - t0;
}

template <Body K, class B> void record(B &b, const Plan &p) {
  if constexpr (B::edges) b.prepare(p);
  b.record(p, [&](unsigned s) {
    each_task(p, s, [&](uint64_t i, const auto &uses) { b.template submit<K>(i, uses); });
  });
}

// The data that a plan needs; register_unregister and partition make their own.
inline uint64_t data_of(const Plan &p) { return p.pattern == Pattern::register_unregister || p.pattern == Pattern::partition ? 0 : p.data; }

template <class B> int time_pattern(const Options &o, const PatternName &name) {
  const Plan plan = make_plan(name.pattern, name.submitters, o.n);
  const Plan warm = make_plan(name.pattern, name.submitters, std::max<uint64_t>(plan.n / 10, 64));
  B b(o);
  b.make_data(std::max(data_of(plan), data_of(warm)));
  const unsigned reps = name.replayed ? std::max(o.reps, 7u) : o.reps;
  const auto once = [&] {
    if constexpr (can_replay<B>)
      if (name.replayed) {
        const double t0 = now_ns();
        b.replay();
        return now_ns() - t0;
      }
    return run_once<Body::empty>(b, plan);
  };
  if (!name.replayed) run_once<Body::empty>(b, warm);
  if constexpr (can_replay<B>)
    if (name.replayed) {
      record<Body::empty>(b, plan);
      once();
    }
  std::printf("{\"pattern\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"ns\": [", o.pattern.c_str(), B::name,
              o.workers, static_cast<unsigned long long>(plan.n));
  for (unsigned r = 0; r < reps; ++r) std::printf("%s%.2f", r ? ", " : "", once() / static_cast<double>(plan.n));
  std::printf("]}\n");
  if constexpr (can_replay<B>)
    if (name.replayed) b.forget();
  b.drop_data();
  return 0;
}

template <class B> int check_pattern(const Options &o, const PatternName &name) {
  Plan plan = make_plan(name.pattern, name.submitters, o.n);
  B b(o);
  b.make_data(data_of(plan));
  Plan oracle = plan; // the three that submit nothing of their own: chains of one datum, or of none
  if (plan.pattern == Pattern::sync) oracle.pattern = Pattern::independent;
  if (plan.pattern == Pattern::acquire_release || plan.pattern == Pattern::register_unregister || plan.pattern == Pattern::partition) oracle.pattern = Pattern::chain;
  check.expect(oracle);
  uint64_t bad = 0;
  if constexpr (can_replay<B>)
    if (name.replayed) {
      record<Body::check>(b, plan);
      for (int r = 0; r < 3; ++r) {
        check.expect(oracle);
        b.replay();
        bad += check.verdict();
      }
      b.forget();
    }
  if (!name.replayed) {
    run_once<Body::check>(b, plan);
    bad = check.verdict();
  }
  b.drop_data();
  std::printf("{\"pattern\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"wrong\": %llu}\n", o.pattern.c_str(), B::name,
              o.workers, static_cast<unsigned long long>(plan.n), static_cast<unsigned long long>(bad));
  return bad == 0 ? 0 : 1;
}

// The smallest grain of which half of the time is work: halve until efficiency falls under 1/2, then close in on it.
template <class B> int metg(const Options &o, const PatternName &name) {
  double per_loop = 1e9;
  for (int r = 0; r < 7; ++r) {
    const double t0 = now_ns();
    spin(1u << 20);
    per_loop = std::min(per_loop, (now_ns() - t0) / (1u << 20));
  }
  B b(o);
  b.make_data(make_plan(name.pattern, name.submitters, o.n).data);
  std::string curve;
  auto efficiency = [&](double grain_ns) {
    const double tasks = std::clamp(2e7 * o.workers / grain_ns, 2000.0, static_cast<double>(o.n));
    const Plan p = make_plan(name.pattern, name.submitters, static_cast<uint64_t>(tasks));
    spin_loops = static_cast<uint64_t>(std::llround(grain_ns / per_loop));
    run_once<Body::spin>(b, p);
    std::vector<double> e;
    for (unsigned r = 0; r < std::max(o.reps, 3u); ++r)
      e.push_back(static_cast<double>(p.n) * grain_ns / o.workers / run_once<Body::spin>(b, p));
    const double m = median(e);
    char text[64];
    std::snprintf(text, sizeof text, "%s[%.1f, %.3f]", curve.empty() ? "" : ", ", grain_ns, m);
    curve += text;
    return m;
  };
  double good = 131072, bad = good;
  while (bad > 15 && efficiency(bad) >= 0.5) {
    good = bad;
    bad /= 2;
  }
  for (int step = 0; step < 4; ++step) {
    const double middle = std::sqrt(good * bad);
    (efficiency(middle) >= 0.5 ? good : bad) = middle;
  }
  b.drop_data();
  std::printf("{\"pattern\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"metg_us\": %.4f, \"curve\": [%s]}\n", o.pattern.c_str(),
              B::name, o.workers, good / 1000, curve.c_str());
  return 0;
}

// What a pending task and a handle cost in resident memory. Every worker stands in a gate, so nothing runs meanwhile.
template <class B> int memory(Options o) {
  o.window = 4 * o.n;
  B b(o);
  const Plan p = make_plan(Pattern::data2, 1, o.n);
  const double r0 = resident_bytes();
  b.make_data(o.n);
  const double per_handle = (resident_bytes() - r0) / static_cast<double>(o.n);
  run_once<Body::empty>(b, make_plan(Pattern::data2, 1, 1000));
  double per_task = 0;
  b.drive(1, [&](unsigned) {
    for (unsigned w = 0; w < o.workers; ++w) b.template submit<Body::gate>(w, Uses<0>{});
    while (gate_open.load(std::memory_order_acquire) < 2 * o.workers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const double before = resident_bytes();
    each_task(p, 0, [&](uint64_t i, const auto &uses) { b.template submit<Body::empty>(i, uses); });
    per_task = (resident_bytes() - before) / static_cast<double>(o.n);
    gate_open.fetch_add(1, std::memory_order_acq_rel);
  });
  b.drop_data();
  std::printf("{\"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"bytes_per_task\": %.1f, \"bytes_per_handle\": %.1f}\n", B::name,
              o.workers, static_cast<unsigned long long>(o.n), per_task, per_handle);
  return 0;
}

template <class B> int start(const Options &o) {
  const double before = resident_bytes();
  double idle = 0;
  {
    B b(o);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    idle = resident_bytes();
  }
  std::vector<double> ms;
  for (unsigned r = 0; r < std::max(o.reps, 7u); ++r) {
    const double t0 = now_ns();
    { B b(o); }
    ms.push_back((now_ns() - t0) / 1e6);
  }
  std::printf("{\"runtime\": \"%s\", \"workers\": %u, \"start_stop_ms\": %.3f, \"start_stop_min_ms\": %.3f, \"idle_rss_mb\": %.2f, "
              "\"rss_before_mb\": %.2f}\n",
              B::name, o.workers, median(ms), *std::min_element(ms.begin(), ms.end()), idle / 1e6, before / 1e6);
  return 0;
}

inline int usage(const char *self) {
  std::fprintf(stderr,
               "usage: %s [--mode time|check|metg|memory|start] [--pattern P] [--workers W] [--cores C] [--n N] [--reps R]\n"
               "       [--scheduler S] [--window N] [--pump manual]\npatterns:",
               self);
  for (const auto &p : pattern_names) std::fprintf(stderr, " %.*s", static_cast<int>(p.name.size()), p.name.data());
  std::fprintf(stderr, "\n");
  return 2;
}

// Exit: 0 good, 1 the check found something wrong, 2 a bad option, 3 this runtime has no such thing.
template <class B> int bench_main(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (i + 1 == argc) return usage(argv[0]);
    const char *value = argv[i + 1];
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (key == "--mode") o.mode = value;
    else if (key == "--pattern") o.pattern = value;
    else if (key == "--scheduler") o.scheduler = value;
    else if (key == "--pump") o.pump = value;
    else if (key == "--workers") o.workers = static_cast<unsigned>(number());
    else if (key == "--cores") o.cores = static_cast<unsigned>(number());
    else if (key == "--n") o.n = number();
    else if (key == "--window") o.window = number();
    else if (key == "--reps") o.reps = static_cast<unsigned>(number());
    else return usage(argv[0]);
  }
  if (o.workers == 0 || o.cores == 0 || o.n < 8) return usage(argv[0]);
  pin(o.cores);
  if (o.mode == "memory" || o.mode == "start") {
    if constexpr (can_register<B>) return o.mode == "memory" ? memory<B>(o) : start<B>(o);
    return 3;
  }
  for (const auto &p : pattern_names) {
    if (p.name != o.pattern) continue;
    if (!supported<B>(p, o.workers)) return 3;
    if (o.mode == "time") return time_pattern<B>(o, p);
    if (o.mode == "check") return check_pattern<B>(o, p);
    if (o.mode == "metg") return metg<B>(o, p);
  }
  return usage(argv[0]);
}

} // namespace bench
