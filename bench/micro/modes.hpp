// What a program of the micro benchmark can measure: time, order, the smallest useful task, memory, start, idleness.
// Each prints one line of JSON. It must never start the clock before the runtime, its data and the oracle are ready.
#pragma once
#include "runs.hpp"
#include <cmath>
#include <cstdio>

namespace bench {

using ull = unsigned long long;

template <class B> int time_case(const Options &o, const Case &c) {
  const Plan plan = make_plan(c, o.n);
  const Plan warm = make_plan(c, std::max<uint64_t>(plan.n / 10, 64));
  B b(o);
  b.make_data(std::max(data_of(plan), data_of(warm)));
  const unsigned reps = c.replayed ? std::max(o.reps, 7u) : o.reps;
  with_kind<Body::empty>(c, [&]<Kind K>() {
    const auto once = [&] {
      if constexpr (can_replay<B>)
        if (c.replayed) {
          const double t0 = now_ns();
          b.replay();
          return now_ns() - t0;
        }
      return run_once<K>(b, plan);
    };
    if (!c.replayed) run_once<K>(b, warm);
    if constexpr (can_replay<B>)
      if (c.replayed) {
        record<K>(b, plan);
        once();
      }
    std::printf("{\"pattern\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"ns\": [", o.pattern.c_str(), B::name, o.workers,
                static_cast<ull>(plan.n));
    constexpr unsigned printed = 64; // who counts instructions asks for many more
    for (unsigned r = 0; r < reps; ++r) {
      const double ns = once() / static_cast<double>(plan.n);
      if (r < printed) std::printf("%s%.2f", r ? ", " : "", ns);
    }
    std::printf("]}\n");
  });
  if constexpr (can_replay<B>)
    if (c.replayed) b.forget();
  b.drop_data();
  return 0;
}

// The timed run with a body that looks around: the same calls in the same order, with the same values and options.
template <class B> int check_case(const Options &o, const Case &c) {
  Plan plan = make_plan(c, o.n);
  B b(o);
  b.make_data(data_of(plan));
  uint64_t bad = 0;
  const auto expect = [&] {
    if (c.pattern == Pattern::acquire_release || c.pattern == Pattern::register_unregister) { // no tasks
      Plan empty = plan;
      empty.n = 0;
      return check.expect(empty);
    }
    check.expect(plan);
  };
  with_kind<Body::check>(c, [&]<Kind K>() {
    if constexpr (can_replay<B>)
      if (c.replayed) {
        record<K>(b, plan);
        for (int r = 0; r < 3; ++r) {
          expect();
          b.replay();
          bad += check.verdict();
        }
        b.forget();
        return;
      }
    expect();
    run_once<K>(b, plan);
    bad = check.verdict();
    if constexpr (can_add<B>)
      if (c.pattern == Pattern::redux || c.pattern == Pattern::commute) bad += b.read(0) != plan.n * (plan.n + 1) / 2;
  });
  b.drop_data();
  std::printf("{\"pattern\": \"%s\", \"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"wrong\": %llu, \"inline\": %.3f}\n", o.pattern.c_str(),
              B::name, o.workers, static_cast<ull>(plan.n), static_cast<ull>(bad), check.share_inline());
  return bad == 0 ? 0 : 1;
}

// The smallest grain of which half of the time is work: halve until efficiency falls under 1/2, then close in on it.
template <class B> int metg(const Options &o, const Case &c) {
  constexpr Kind spins{.body = Body::spin};
  double per_loop = 1e9;
  for (int r = 0; r < 7; ++r) {
    const double t0 = now_ns();
    spin(1u << 20);
    per_loop = std::min(per_loop, (now_ns() - t0) / (1u << 20));
  }
  B b(o);
  b.make_data(make_plan(c, o.n).data);
  std::string curve;
  auto efficiency = [&](double grain_ns) {
    const double tasks = std::clamp(2e7 * o.workers / grain_ns, 2000.0, static_cast<double>(o.n));
    const Plan p = make_plan(c, static_cast<uint64_t>(tasks));
    spin_loops = static_cast<uint64_t>(std::llround(grain_ns / per_loop));
    run_once<spins>(b, p);
    std::vector<double> e;
    for (unsigned r = 0; r < std::max(o.reps, 3u); ++r)
      e.push_back(static_cast<double>(p.n) * grain_ns / o.workers / run_once<spins>(b, p));
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
  const Plan p = make_plan({.name = "data2", .pattern = Pattern::data2}, o.n);
  const double r0 = resident_bytes();
  b.make_data(o.n);
  const double per_handle = (resident_bytes() - r0) / static_cast<double>(o.n);
  run_once<Kind{}>(b, make_plan({.name = "data2", .pattern = Pattern::data2}, 1000));
  double per_task = 0;
  b.drive(1, [&](unsigned) {
    for (unsigned w = 0; w < o.workers; ++w) b.template submit<gate_task>(w, Uses<0>{});
    while (gate_open.load(std::memory_order_acquire) < 2 * o.workers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const double before = resident_bytes();
    each_task(p, 0, [&](uint64_t i, const auto &uses) { b.template submit<Kind{}>(i, uses); });
    per_task = (resident_bytes() - before) / static_cast<double>(o.n);
    gate_open.fetch_add(1, std::memory_order_acq_rel);
  });
  b.drop_data();
  std::printf("{\"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"bytes_per_task\": %.1f, \"bytes_per_handle\": %.1f}\n", B::name,
              o.workers, static_cast<ull>(o.n), per_task, per_handle);
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

// One empty task in a millisecond: the processor time of each, of all threads, and of as many milliseconds without.
template <class B> int idle(const Options &o) {
  B b(o);
  const Plan some = make_plan(cases[0], 1000);
  if constexpr (B::edges) b.prepare(some);
  double with = 0, without = 0;
  b.drive(1, [&](unsigned) {
    const auto every_millisecond = [&](bool tasks) {
      const double before = cpu_us();
      for (uint64_t i = 0; i < o.n; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (tasks) b.template submit<Kind{}>(i % some.n, Uses<0>{});
      }
      return (cpu_us() - before) / static_cast<double>(o.n);
    };
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    without = every_millisecond(false);
    every_millisecond(true);
    with = every_millisecond(true);
  });
  std::printf("{\"runtime\": \"%s\", \"workers\": %u, \"n\": %llu, \"cpu_us_per_task\": %.1f, \"cpu_us_without\": %.1f}\n", B::name, o.workers,
              static_cast<ull>(o.n), with, without);
  return 0;
}

} // namespace bench
