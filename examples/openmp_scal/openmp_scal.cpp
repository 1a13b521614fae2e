// openmp_scal — a vector is scaled by tasks that are parallel inside: a codelet for teams (FORKJOIN) is called once, on the team's first
// worker, and starts as many threads of OpenMP as the team has workers, on the team's cores. The policy peager gives a task all workers
// that have nothing else to do. Prints the sizes of the teams that were used, and the largest error.
#include "../example.hpp"

#include <array>
#include <atomic>
#include <span>
#include <string>

namespace {

std::array<std::atomic<unsigned>, 65> calls;  // by size of the team; relaxed, read when the runtime has stopped
std::atomic<bool> wrong{false};               // relaxed, likewise

const consort::Codelet scale{"scale", consort::forkjoin, consort::max_team(64),
                             consort::cpu([](const consort_call &call, std::span<float> x, float a) {
                               int threads = 0;
#pragma omp parallel num_threads(static_cast<int>(call.team))
                               {
                                 consort_bind_to_team(&call);  // OpenMP keeps its threads: they may come from another team
#pragma omp atomic
                                 ++threads;
#pragma omp for
                                 for (long i = 0; i < static_cast<long>(x.size()); ++i) x[static_cast<size_t>(i)] *= a;
                               }
                               if (threads != static_cast<int>(call.team)) wrong.store(true, std::memory_order_relaxed);
                               calls[call.team].fetch_add(1, std::memory_order_relaxed);
                             })};

}  // namespace

int main(int argc, char **argv) try {
  const example::Options size(argc, argv, {{"n", 1 << 20, "elements"}, {"rounds", 6, "tasks, one after the other"}});
  const size_t n = size["n"], rounds = size["rounds"];
  std::vector<float> x(n, 1), expected(n, 1);
  for (size_t round = 0; round < rounds; ++round)
    for (float &e : expected) e *= round % 2 ? 0.5f : 4;
  {
    consort::Settings settings;
    settings.set("scheduler", "peager");
    for (int i = 1; i + 1 < argc; i += 2)  // --workers and --scheduler
      if (const std::string key = argv[i]; key == "--workers" || key == "--scheduler") settings.set(key.c_str() + 2, argv[i + 1]);
    consort::Runtime rt(settings);
    const auto data = rt.vector(std::span(x), "x");
    for (size_t round = 0; round < rounds; ++round) rt.submit(scale, consort::readwrite(data), round % 2 ? 0.5f : 4.f);
    rt.wait();
  }
  std::string teams;
  unsigned all = 0;
  for (size_t t = 0; t < calls.size(); ++t)
    if (const unsigned c = calls[t].load(std::memory_order_relaxed)) teams += " " + std::to_string(c) + " by " + std::to_string(t), all += c;
  const double error = example::difference(x, expected);
  return example::end(error == 0 && !wrong && all == rounds, "openmp_scal: %zu tasks:%s, largest error %g", rounds, teams.c_str(), error);
} catch (const std::exception &e) {
  return example::failed(e);
}
