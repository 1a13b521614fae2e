// memcpy between two buffers of one process, of as many bytes as the windows of messages: what a transport in shared memory
// is held against.
#include "exchange.hpp"
#include "pair.hpp"

int main(int argc, char **argv) {
  const network::Options o = network::options(argc, argv);
  network::pin_to(0);
  const network::Buffer in(network::window_bytes), out(network::window_bytes);
  unsigned wrong = 0;
  std::string rows;
  for (const uint64_t n : network::sizes) {
    if (!o.only.empty() && o.only.find("," + std::to_string(n) + ",") == std::string::npos) continue;
    const unsigned w = network::window_of(n);
    for (unsigned i = 0; i < w; ++i) network::fill(out.at(i * n), n, i);
    const auto reps = static_cast<uint64_t>(o.scale * static_cast<double>(std::clamp<uint64_t>((768u << 20) / (n * w), 6, 100000))) + 1;
    const auto copy = [&](uint64_t rep) {
      for (unsigned i = 0; i < w; ++i) {
        network::mark(out.at(i * n), n, rep * w + i);
        std::memcpy(in.at(i * n), out.at(i * n), n);
        wrong += !network::is_marked(in.at(i * n), n, rep * w + i);
      }
    };
    copy(0);
    const double t0 = bench::now_ns();
    for (uint64_t rep = 0; rep < reps; ++rep) copy(rep);
    const double ns = bench::now_ns() - t0;
    for (unsigned i = 0; i < w; ++i) wrong += !network::is_filled(in.at(i * n), n, i);
    char row[160];
    std::snprintf(row, sizeof row, "%s{\"bytes\": %lu, \"ns\": %.1f, \"bytes_per_s\": %.4g}", rows.empty() ? "" : ", ", n,
                  ns / static_cast<double>(reps * w), static_cast<double>(reps * w * n) / ns * 1e9);
    rows += row;
  }
  std::printf("{\"runtime\": \"memcpy\", \"transport\": \"shm\", \"wrong\": %u, \"rows\": [%s]}\n", wrong, rows.c_str());
  return wrong != 0;
}
