// Tasks of a given length, each with a value, a priority and two data, as the environment says with a trace or without. One
// line of JSON: ns a task from the first submission to the end of the last, and of the runtime's stop, which writes the
// trace. `./run bench trace` calls this.
#include <consort/consort.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point t) { return std::chrono::duration<double, std::nano>(Clock::now() - t).count(); }

[[noreturn]] void usage() {
  std::fprintf(stderr, "usage: trace-consort [--n TASKS] [--length NS] [--workers N]\n");
  std::exit(2);
}

}  // namespace

int main(int argc, char **argv) {
  long n = 100'000, length = 0, workers = 1;
  for (int i = 1; i < argc; i += 2) {
    long *value = nullptr;
    for (const auto &[name, to] : {std::pair{"--n", &n}, std::pair{"--length", &length}, std::pair{"--workers", &workers}})
      if (!std::strcmp(argv[i], name)) value = to;
    char *end = nullptr;
    if (!value || i + 1 == argc || (*value = std::strtol(argv[i + 1], &end, 10)) < 0 || *end) usage();
  }
  if (n < 1 || workers < 1) usage();
  constexpr int kData = 64;
  std::vector<long> numbers(kData);
  consort::Runtime rt(consort::Settings{}.set("drivers", "cpu").set("workers", static_cast<uint32_t>(workers)));
  std::vector<consort::Data<long &>> data;
  for (long &x : numbers) data.push_back(rt.variable(x));
  const consort::Codelet add{"add", consort::cpu([](const long &x, long &y, long by, long length) {
    const auto began = Clock::now();
    while (length && ns_since(began) < static_cast<double>(length)) {}
    y += by + (x & 0);
  })};
  const auto submit = [&](long i) {
    rt.submit({.priority = static_cast<int>(i % 4)}, add, consort::r(data[i % kData]), consort::rw(data[(i + 1) % kData]), i, length);
  };
  const long warm = std::min(n, 2000L);
  for (long i = 0; i < warm; ++i) submit(i);  // pools are full then
  rt.wait();
  const auto began = Clock::now();
  for (long i = 0; i < n; ++i) submit(i);
  rt.wait();
  const double a_task = ns_since(began) / static_cast<double>(n);
  data.clear();
  const auto stop = Clock::now();
  rt.stop();
  const double of_stop = ns_since(stop) / static_cast<double>(n + warm);
  long sum = 0;
  for (const long x : numbers) sum += x;
  if (sum != n * (n - 1) / 2 + warm * (warm - 1) / 2) return std::fprintf(stderr, "wrong sum: %ld\n", sum), 1;
  std::printf("{\"ns\": %.1f, \"stop_ns\": %.1f}\n", a_task, of_stop);
}
