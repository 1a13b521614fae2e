// From launch to launch: a chain of kernels that do nothing, each after the one before it, by tasks that share a datum and by
// hand on one stream.
#include "cases.hpp"

namespace bench::gpu {

void launches(const Device &device) {
  const Options &o = device.options;
  if (!device.peer) return std::fprintf(stderr, "launches are left out: there is nothing of %s's to compare with\n", device.driver.c_str()), void();
  Peer &peer = *device.peer;
  const int n = o.smoke ? 50 : 20'000;
  const Machine m(device.machine());
  const auto nothing_at_all = device.codelet(m, "nothing");
  float x = 0;
  consort_data_id d{0};
  must(consort_register_vector(m, &x, 1, sizeof x, &d), "register");
  const auto by_tasks = [&] {
    const double start = now_ns();
    for (int i = 0; i < n; ++i) m.submit(nothing_at_all, {{d, CONSORT_M_RW, 0}});
    m.wait();
    return (now_ns() - start) / n;
  };
  const Peer::Kernel kernel = peer.kernel("nothing");
  uint64_t at = peer.alloc(sizeof x), length = 1;
  void *params[] = {&at, &length};
  const auto by_hand = [&] {
    const double start = now_ns();
    for (int i = 0; i < n; ++i) peer.launch(kernel, 1, 1, params);
    peer.wait();
    return (now_ns() - start) / n;
  };
  std::vector<Pair> pairs;
  by_tasks(), by_hand();  // code is loaded, pools are filled
  for (int r = 0; r < o.reps; ++r) {
    const double raw = by_hand();
    pairs.push_back({by_tasks(), raw});
  }
  const Pair middle = middle_of(pairs);
  row("launch to launch, " + std::to_string(n) + " kernels in a chain", middle.kernel, "ns", middle.raw, "<= 1.3");
  peer.free(at);
  must(consort_unregister(m, d), "unregister");
}

}  // namespace bench::gpu
