// A product's pattern, C(i,j) from A(i,k) and B(k,j), whose tiles are half as much again as the device's memory may hold:
// against the same with all the memory there is.
#include "cases.hpp"

#include <cmath>

namespace bench::gpu {
namespace {

constexpr float kA = 0.5f, kB = 0.25f;

struct Product {
  const Device &device;
  uint64_t floats;  // of a tile
  int n;            // tiles along a side
  uint32_t times;
  uint64_t bytes() const { return 3 * static_cast<uint64_t>(n) * static_cast<uint64_t>(n) * floats * sizeof(float); }

  // Tasks a second. limit: bytes of the device's memory; 0: all.
  double run(uint64_t limit) const {
    const Machine m(device.machine(limit ? Machine::Settings{{device.driver + ".limit", std::to_string(limit)}} : Machine::Settings{}));
    const auto mix = device.codelet(m, "mix");
    std::vector<std::unique_ptr<Pinned>> tiles;
    std::vector<consort_data_id> data;
    for (int i = 0; i < 3 * n * n; ++i) {
      tiles.push_back(std::make_unique<Pinned>(m, floats));
      tiles.back()->fill(i < n * n ? kA : i < 2 * n * n ? kB : 0);
      data.push_back(tiles.back()->registered());
    }
    const auto at = [&](int matrix, int i, int j) { return data[static_cast<size_t>((matrix * n + i) * n + j)]; };
    submit(m, mix, {{at(0, 0, 0), CONSORT_M_R, 0}, {at(1, 0, 0), CONSORT_M_R, 0}, {at(2, 0, 0), CONSORT_M_RW, 0}}, 0);  // code is loaded
    m.wait();
    const double start = now_ns();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k)
          submit(m, mix, {{at(0, i, k), CONSORT_M_R, 0}, {at(1, k, j), CONSORT_M_R, 0}, {at(2, i, j), CONSORT_M_RW, 0}}, times);
    m.wait();
    const double took = now_ns() - start;
    for (const auto d : data) must(consort_unregister(m, d), "unregister");
    float want = 0;
    for (uint64_t k = 0; k < static_cast<uint64_t>(n) * times; ++k) want = want * 0.5f + (kA + kB);
    for (int i = 2 * n * n; i < 3 * n * n; ++i)
      if (const float got = tiles[static_cast<size_t>(i)]->data()[floats - 1]; !(std::fabs(got - want) <= 1e-3f * want))
        std::fprintf(stderr, "limited: tile %d of C has %g, not %g\n", i - 2 * n * n, got, want), std::exit(1);
    return n * n * n * 1e9 / took;
  }
};

}  // namespace

void limited(const Device &device) {
  const Options &o = device.options;
  if (!device.peer) return std::fprintf(stderr, "limited memory is left out: its kernel is not there for %s\n", device.driver.c_str()), void();
  Product p{device, (o.smoke ? 16 << 10 : 16 << 20) / sizeof(float), o.smoke ? 3 : 8, 3};
  if (!o.smoke) {  // a task takes as long as its tile would to be copied
    const Machine m(device.machine());
    const Pinned tile(m, p.floats);
    const uint64_t there = device.peer->alloc(tile.bytes());
    double took = 0;
    for (int r = 0; r < 3; ++r) {
      const double start = now_ns();
      device.peer->in(there, tile.data(), tile.bytes());
      device.peer->wait();
      took = now_ns() - start;
    }
    device.peer->free(there);
    p.times = times_for(*device.peer, p.floats, took);
  }
  std::vector<Pair> pairs;
  for (int r = 0; r < o.reps; ++r) {
    const double all = p.run(0);
    pairs.push_back({p.run(p.bytes() * 2 / 3), all});
  }
  const Pair middle = middle_of(pairs);
  row("tiles half as much again as memory may hold", middle.kernel, "tasks/s", middle.raw, ">= 0.90");
}

}  // namespace bench::gpu
