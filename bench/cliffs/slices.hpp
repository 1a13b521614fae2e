// The program of `cliffs` for each runtime: every shape in short slices, in turns, so that a noisy minute hits all alike.
//
// A backend gives: name, has(shape), Backend(options), and run(shape, n, checked): submits n tasks of the shape and waits
// for them; checked: with functions that record what they find, in all else the same tasks. verdict() answers how many
// observations of the last checked run were wrong.
#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../micro/process.hpp"
#include "cache_line.hpp"
#include "shapes.hpp"
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#define CLIFFS_COUNTS 1
#endif

namespace cliffs {

struct Options {
  std::string mode = "time", shape, policy, pump;  // shape "": all; policy, pump "": the runtime's default
  unsigned workers = 2, cores = 2, reps = 15;
  uint64_t n = 20000;
};

inline int usage(const char *self) {
  std::fprintf(stderr, "usage: %s [--mode time|check|count|once] [--shape S] [--policy P] [--pump manual] [--workers W] [--cores C] [--n N] [--reps R]\n", self);
  return 2;
}

template <class B> int time_shapes(const Options &o, const std::vector<Shape> &shapes) {
  B b(o);
  std::vector<std::vector<double>> ns(shapes.size());
  std::vector<double> line;
  for (unsigned r = 0; r <= o.reps; ++r)  // the first warms up
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (k == 0 && r > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // idle workers have stopped to spin
        line.push_back(cache_line_ns());
      }
      const double t0 = bench::now_ns();
      b.run(shapes[k], o.n, false);
      if (r > 0) ns[k].push_back((bench::now_ns() - t0) / static_cast<double>(o.n));
    }
  const auto list = [](const std::vector<double> &v) {
    std::string s;
    char text[32];
    for (double x : v) std::snprintf(text, sizeof text, "%s%.2f", s.empty() ? "" : ", ", x), s += text;
    return "[" + s + "]";
  };
  std::printf("{\"runtime\": \"%s\", \"policy\": \"%s\", \"workers\": %u, \"n\": %llu, \"line_ns\": %s, \"shapes\": {", B::name, o.policy.c_str(),
              o.workers, static_cast<unsigned long long>(o.n), list(line).c_str());
  for (size_t k = 0; k < shapes.size(); ++k) {
    const Shape &s = shapes[k];
    std::printf("%s\"%s\": {\"base\": \"%s\", \"data\": %u, \"goal\": %.0f, \"lines\": %u, \"ns\": %s}", k ? ", " : "", s.name.c_str(),
                s.base.c_str(), s.data(), s.goal(), s.lines(), list(ns[k]).c_str());
  }
  std::printf("}}\n");
  return 0;
}

template <class B> int check_shapes(const Options &o, const std::vector<Shape> &shapes) {
  B b(o);
  uint64_t wrong = 0;
  std::string which;
  for (const Shape &s : shapes) {
    b.run(s, o.n, true);
    const uint64_t bad = b.verdict();
    if (bad != 0) which += (which.empty() ? "" : "; ") + s.name;
    wrong += bad;
  }
  std::printf("{\"runtime\": \"%s\", \"policy\": \"%s\", \"workers\": %u, \"n\": %llu, \"wrong\": %llu, \"which\": \"%s\"}\n", B::name, o.policy.c_str(),
              o.workers, static_cast<unsigned long long>(o.n), static_cast<unsigned long long>(wrong), which.c_str());
  return wrong ? 1 : 0;
}

// Under callgrind: a dump for each shape, named NAME|BASE, of the instructions of n tasks.
template <class B> int count_shapes([[maybe_unused]] const Options &o, [[maybe_unused]] const std::vector<Shape> &shapes) {
#ifdef CLIFFS_COUNTS
  B b(o);
  for (const Shape &s : shapes) {
    b.run(s, o.n / 4, false);
    CALLGRIND_ZERO_STATS;
    b.run(s, o.n, false);
    const std::string label = s.name + "|" + s.base;  // outlives the request, which keeps its address alone
    CALLGRIND_DUMP_STATS_AT(label.c_str());
  }
  std::printf("{\"runtime\": \"%s\", \"n\": %llu, \"dumps\": %zu}\n", B::name, static_cast<unsigned long long>(o.n), shapes.size());
  return 0;
#else
  std::fprintf(stderr, "built without valgrind/callgrind.h: apt-get install valgrind, then build again\n");
  return 3;
#endif
}

// Nothing but the tasks, for a profiler: a tenth of n to warm up, then n of each shape.
template <class B> int run_shapes(const Options &o, const std::vector<Shape> &shapes) {
  B b(o);
  for (const Shape &s : shapes) {
    b.run(s, o.n / 10, false);
    b.run(s, o.n, false);
  }
  return 0;
}

template <class B> int main_of(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    if (i + 1 == argc) return usage(argv[0]);
    const char *value = argv[i + 1];
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (key == "--mode") o.mode = value;
    else if (key == "--shape") o.shape = value;
    else if (key == "--policy") o.policy = value;
    else if (key == "--pump") o.pump = value;
    else if (key == "--workers") o.workers = static_cast<unsigned>(number());
    else if (key == "--cores") o.cores = static_cast<unsigned>(number());
    else if (key == "--n") o.n = number();
    else if (key == "--reps") o.reps = static_cast<unsigned>(number());
    else return usage(argv[0]);
  }
  if (o.workers == 0 || o.cores == 0 || o.reps == 0 || o.n < slots) return usage(argv[0]);
  bench::pin(o.cores);
  std::vector<Shape> shapes;
  for (Shape &s : all_shapes())
    if (B::has(s) && (o.shape.empty() || o.shape == s.name)) shapes.push_back(std::move(s));
  if (shapes.empty()) {
    std::fprintf(stderr, "no shape \"%s\"; there are:", o.shape.c_str());
    for (const Shape &s : all_shapes()) std::fprintf(stderr, " \"%s\"", s.name.c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  if (o.mode == "time") return time_shapes<B>(o, shapes);
  if (o.mode == "check") return check_shapes<B>(o, shapes);
  if (o.mode == "once") return run_shapes<B>(o, shapes);
  if (o.mode == "count") return count_shapes<B>(o, shapes);
  return usage(argv[0]);
}

}  // namespace cliffs
