// Copy in, kernel, copy out, block after block: all three at once should take as long as the slowest by itself.
#include "cases.hpp"

#include <cmath>

namespace bench::gpu {

uint32_t times_for(Peer &peer, uint64_t n, double ns) {
  const Peer::Kernel kernel = peer.kernel("work");
  uint64_t x = peer.alloc(n * sizeof(float)), y = peer.alloc(n * sizeof(float)), length = n;
  const auto took = [&](uint32_t times) {
    void *params[] = {&x, &length, &y, &length, &times};
    const double start = now_ns();
    peer.launch(kernel, static_cast<uint32_t>((n + 255) / 256), 256, params);
    peer.wait();
    return now_ns() - start;
  };
  took(1);
  uint32_t times = 16;
  double found = took(times);
  while (found < ns && times < 1u << 20) found = took(times *= 2);
  peer.free(x), peer.free(y);
  // The loop takes what is beyond a launch with hardly any of it; between two powers it is linear enough.
  return std::max(1u, static_cast<uint32_t>(times * std::min(1.0, ns / found)));
}

namespace {

// What is by itself, by hand: ns for a block.
struct Stages { double in, kernel, out; };
Stages alone(Peer &peer, const std::vector<std::unique_ptr<Pinned>> &from, const std::vector<std::unique_ptr<Pinned>> &to, uint64_t n, uint32_t times) {
  const Peer::Kernel kernel = peer.kernel("work");
  uint64_t x = peer.alloc(n * sizeof(float)), y = peer.alloc(n * sizeof(float)), length = n;
  const auto each = [&](auto &&one) {
    const double start = now_ns();
    for (size_t i = 0; i < from.size(); ++i) one(i);
    peer.wait();
    return (now_ns() - start) / static_cast<double>(from.size());
  };
  Stages found{};
  void *params[] = {&x, &length, &y, &length, &times};
  found.in = each([&](size_t i) { peer.in(x, from[i]->data(), from[i]->bytes()); });
  found.kernel = each([&](size_t) { peer.launch(kernel, static_cast<uint32_t>((n + 255) / 256), 256, params); });
  found.out = each([&](size_t i) { peer.out(to[i]->data(), y, to[i]->bytes()); });
  peer.free(x), peer.free(y);
  return found;
}

}  // namespace

void overlap(const Device &device) {
  const Options &o = device.options;
  if (!device.peer) return std::fprintf(stderr, "overlap is left out: its kernel is not there for %s\n", device.driver.c_str()), void();
  Peer &peer = *device.peer;
  const uint64_t n = (o.smoke ? 64 << 10 : 16 << 20) / sizeof(float);
  const int blocks = o.smoke ? 4 : 64;
  const Machine m(device.machine());
  const auto work = device.codelet(m, "work"), sink = m.codelet("sink", "cpu", nothing);
  std::vector<std::unique_ptr<Pinned>> from, to;
  for (int i = 0; i < blocks; ++i) {
    from.push_back(std::make_unique<Pinned>(m, n));
    to.push_back(std::make_unique<Pinned>(m, n));
    from.back()->fill(static_cast<float>(i));
  }
  const auto by_tasks = [&](uint32_t times) {
    std::vector<consort_data_id> data;
    for (int i = 0; i < blocks; ++i)
      for (const auto *side : {&from, &to}) {
        data.push_back((*side)[static_cast<size_t>(i)]->registered());
      }
    const double start = now_ns();
    for (size_t i = 0; i < data.size(); i += 2) {
      submit(m, work, {{data[i], CONSORT_M_R, 0}, {data[i + 1], CONSORT_M_W, 0}}, times);
      m.submit(sink, {{data[i + 1], CONSORT_M_R, 0}});
    }
    m.wait();
    const double took = (now_ns() - start) / blocks;
    for (const auto d : data) must(consort_unregister(m, d), "unregister");
    return took;
  };
  struct Case { const char *name; double share; };
  for (const Case &c : {Case{"all stages alike", 1}, Case{"the kernel slowest", 2}, Case{"the kernel quickest", 0.2}}) {
    const uint32_t times = o.smoke ? 3 : times_for(peer, n, c.share * alone(peer, from, to, n, 1).in);
    std::vector<Pair> pairs;
    by_tasks(times);  // memory is taken
    for (int r = 0; r < o.reps; ++r) {
      const Stages s = alone(peer, from, to, n, times);
      for (const auto &block : to) block->fill(-1);
      pairs.push_back({1e9 / by_tasks(times), 1e9 / std::max({s.in, s.kernel, s.out})});
    }
    for (int i = 0; i < blocks; ++i) {
      float want = static_cast<float>(i);
      for (uint32_t k = 0; k < times; ++k) want = want * 0.5f + 1.0f;
      for (const uint64_t e : {uint64_t{0}, n / 2, n - 1})
        if (const float got = to[static_cast<size_t>(i)]->data()[e]; !(std::fabs(got - want) <= 1e-3f * std::fabs(want)))
          std::fprintf(stderr, "overlap: element %llu of block %d is %g, not %g\n", static_cast<unsigned long long>(e), i, got, want), std::exit(1);
    }
    const Pair middle = middle_of(pairs);
    row(std::string("in, kernel, out, ") + c.name, middle.kernel, "blocks/s", middle.raw, ">= 0.95");
    if (o.smoke) return;
  }
}

}  // namespace bench::gpu
