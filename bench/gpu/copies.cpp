// Pinned memory, to the device and back: by one task's data, and by the vendor's asynchronous copies on one stream.
#include "cases.hpp"

namespace bench::gpu {

void copies(const Device &device) {
  const Options &o = device.options;
  const Machine m(device.machine());
  if (!device.peer) return compare(m, device.driver.c_str(), device.driver, o);
  Peer &peer = *device.peer;
  for (const Shape &shape : {Shape{"4 MiB", 4 * kMiB, 1, 4 * kMiB}, Shape{"16 MiB", 16 * kMiB, 1, 16 * kMiB}, Shape{"64 MiB", 64 * kMiB, 1, 64 * kMiB}}) {
    if (o.smoke && shape.bytes() > 4 * kMiB) continue;
    const int count = o.smoke ? 2 : static_cast<int>(1024 * kMiB / shape.bytes());  // a task's own start and end are in it once
    TaskCopies tasks(m, device.driver.c_str(), shape, count, true);
    std::vector<uint64_t> blocks;
    for (int i = 0; i < count; ++i) blocks.push_back(peer.alloc(shape.bytes()));
    const auto by_hand = [&](bool in) {
      const double start = now_ns();
      for (size_t i = 0; i < blocks.size(); ++i)
        in ? peer.in(blocks[i], tasks.memory()[i], shape.bytes()) : peer.out(tasks.memory()[i], blocks[i], shape.bytes());
      peer.wait();
      return now_ns() - start;
    };
    for (const bool in : {true, false}) {
      std::vector<Pair> pairs;
      tasks.kernel(in), by_hand(in);  // memory is taken, pages are touched
      for (int r = 0; r < o.reps; ++r) {
        const double raw = tasks.bytes() / by_hand(in), kernel = tasks.bytes() / tasks.kernel(in);
        pairs.push_back({kernel, raw});
      }
      const Pair middle = middle_of(pairs);
      row(std::string("pinned copy ") + (in ? "to" : "from") + " the device, " + shape.name, middle.kernel, "GB/s", middle.raw, ">= 0.95");
    }
    for (const uint64_t at : blocks) peer.free(at);
  }
}

}  // namespace bench::gpu
