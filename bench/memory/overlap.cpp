// Copy in, kernel, copy out on a simulated device, in its time: against the slowest of the three alone.
#include "machine.hpp"

namespace bench {

void overlap(const Options &o) {
  const int n = o.smoke ? 40 : 200;
  constexpr uint64_t kBytes = 120'000;
  constexpr double kCopy = 1e6;  // ns, at 120 MB/s
  struct Stage { const char *name, *kernel; double slowest; };
  for (const Stage &stage : {Stage{"all stages alike", "work=1ms", kCopy}, Stage{"the kernel slowest", "work=2ms", 2 * kCopy},
                             Stage{"the kernel quickest", "work=200us", kCopy}}) {
    const Machine m({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.bandwidth", "120M"}, {"sim.latency", "1us"}, {"sim.runs", ""},
                     {"sim.times", stage.kernel + std::string(",sink=1us")}});
    if (!m) return std::fprintf(stderr, "overlap is left out: %s\n", m.why().c_str()), void();
    std::vector<char> in(kBytes * static_cast<size_t>(n)), out(in.size());
    const auto work = m.codelet("work", "gpu", nothing), sink = m.codelet("sink", "cpu", nothing);
    std::vector<consort_data_id> data;
    const auto add = [&](void *p) {
      consort_data_id d{0};
      must(consort_register_vector(m, p, kBytes, 1, &d), "register");
      data.push_back(d);
      return d;
    };
    const uint64_t start = m.kernel().clock.now();
    for (int i = 0; i < n; ++i) {
      const auto a = add(in.data() + kBytes * static_cast<size_t>(i)), b = add(out.data() + kBytes * static_cast<size_t>(i));
      m.submit(work, {{a, CONSORT_M_R, 0}, {b, CONSORT_M_W, 0}});
      m.submit(sink, {{b, CONSORT_M_R, 0}});
    }
    m.wait();
    const double took = static_cast<double>(m.kernel().clock.now() - start);
    for (const auto d : data) must(consort_unregister(m, d), "unregister");
    row("pipeline of " + std::to_string(n) + " blocks, " + stage.name, n * 1e9 / took, "blocks/s", 1e9 / stage.slowest, ">= 0.95");
  }
}

} // namespace bench
