// A chain of tasks on one in-order queue: how often the device ran dry because the host had to come back.
#include "machine.hpp"

#include <filesystem>

#include "../../tests/plugins/stream/stream.h"

namespace bench {

void chain(const Options &o) {
  const std::string plugin = CONSORT_BENCH_TEST_PLUGINS "/stream.so";
  if (!std::filesystem::exists(plugin)) {
    std::fprintf(stderr, "the chain is left out: %s, which counts, is built with the tests\n", plugin.c_str());
    return;
  }
  const int n = 1000;
  std::vector<double> trips;
  for (int r = 0; r < o.reps; ++r) {
    uint64_t counters[STREAM_COUNTERS] = {};
    char address[32];
    std::snprintf(address, sizeof address, "%p", static_cast<void *>(counters));
    // Each op takes longer than a submission: a queue that runs dry was waiting for the host.
    const Machine m({{"plugins", "+" + plugin}, {"drivers", "cpu, stream"}, {"workers", "1"}, {"stream.counters", address},
                     {"stream.latency_ns", "20000"}, {"stream.depth", "2048"}});
    if (!m) return std::fprintf(stderr, "the chain is left out: %s\n", m.why().c_str()), void();
    uint64_t x = 0;
    consort_data_id d{0};
    must(consort_register_variable(m, &x, sizeof x, &d), "register");
    const auto link = m.codelet("link", "stream", [](const consort_call *c) {
      ++*static_cast<uint64_t *>(consort_ptr(static_cast<const consort_variable_view *>(c->views[0])->addr));
      return consort_status{CONSORT_OK};
    });
    for (int i = 0; i < n; ++i) m.submit(link, {{d, CONSORT_M_RW, 0}});
    m.wait();
    must(consort_unregister(m, d), "unregister");
    if (x != static_cast<uint64_t>(n)) std::fprintf(stderr, "the chain gave %llu, not %d\n", static_cast<unsigned long long>(x), n), std::exit(1);
    trips.push_back(static_cast<double>(counters[STREAM_ROUND_TRIPS]));
  }
  row("chain of 1000 tasks on an in-order queue: times it ran dry", median(trips), "round trips", n, "<= 0.01");
}

} // namespace bench
