// A matrix product whose matrices are four times what main memory may hold; the rest is on a disk. Against the slower
// of two that go on side by side here: the same products without a copy, the same bytes without a product.
#include "machine.hpp"

#include <cblas.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <thread>

extern "C" void openblas_set_num_threads(int n);

namespace bench {
namespace {

int tile_size = 0;                   // set before the first task

float *tile(const consort_call *c, int k) {
  return static_cast<float *>(consort_ptr(static_cast<const consort_matrix_view *>(c->views[k])->addr));
}
float element(int matrix, int64_t row, int64_t col) {  // small whole numbers: sums are exact
  return static_cast<float>((row * 7 + col * 13 + matrix * 5) % 5 - 2);
}
consort_status fill(const consort_call *c) {
  const auto arg = [&](int i) { return static_cast<int64_t>(c->args[i].scalar); };
  float *t = tile(c, 0);
  for (int64_t col = 0; col < tile_size; ++col)
    for (int64_t row = 0; row < tile_size; ++row)
      t[col * tile_size + row] = arg(0) == 2 ? 0 : element(static_cast<int>(arg(0)), arg(1) * tile_size + row, arg(2) * tile_size + col);
  return CONSORT_OK;
}
void multiply(const float *a, const float *b, float *c) {
  const int n = tile_size;
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0f, a, n, b, n, 1.0f, c, n);
}
consort_status gemm(const consort_call *c) {
  multiply(tile(c, 0), tile(c, 1), tile(c, 2));
  return CONSORT_OK;
}

uint64_t resident_bytes() {          // of this process, without files
  FILE *f = std::fopen("/proc/self/status", "re");
  char line[128];
  unsigned long long kb = 0;
  while (f && std::fgets(line, sizeof line, f))
    if (std::sscanf(line, "RssAnon: %llu kB", &kb) == 1) break;
  if (f) std::fclose(f);
  return kb * 1024;
}

// The most that is resident while it lives, looked at every few ms.
class Resident {
public:
  Resident() : before_(resident_bytes()), thread_([this] {
    while (!stop_.load(std::memory_order_relaxed)) {  // pairs with the store in peak()
      peak_ = std::max(peak_, resident_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }) {}
  ~Resident() { peak(); }
  uint64_t peak() {                  // beyond what there was before
    stop_.store(true, std::memory_order_relaxed);
    if (thread_.joinable()) thread_.join();
    return peak_ - std::min(peak_, before_);
  }

private:
  const uint64_t before_;
  uint64_t peak_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// How long the same products take when nothing waits for a copy, and the same bytes when none waits for a product: both
// begin together, so that each has the other going on for as long as that lasts. The products walk over as much memory as
// the limit is, in the order of the tasks: a tile that was just used is in a cache no more than it is there.
struct Bounds { double cores, disk; };  // ns
Bounds bounds(const Machine &m, uint32_t disk, unsigned workers, uint64_t n, uint64_t limit, double read, double written) {
  const uint64_t bytes = uint64_t{4} * tile_size * tile_size, tasks = n * n * n, spread = 3 * n * n;
  constexpr size_t kFlying = 8;
  std::vector<std::unique_ptr<Block>> there;
  std::vector<char *> here;
  for (uint64_t i = 0; i < spread; ++i) there.push_back(std::make_unique<Block>(m, disk, bytes));
  for (size_t i = 0; i < kFlying; ++i) {
    here.push_back(static_cast<char *>(std::aligned_alloc(4096, bytes)));
    std::memset(here.back(), static_cast<int>(i), bytes);
  }
  Raw raw(m, m.home(), disk);
  const auto copy = [&](uint64_t turn, bool out) {
    const consort_addr h{reinterpret_cast<uint64_t>(here[turn % kFlying]), 0}, t = there[turn % spread]->addr();
    return consort_copy{out ? m.home() : disk, out ? disk : m.home(), out ? h : t, out ? t : h, bytes, {1, 1}, {0, 0}, {0, 0}};
  };
  std::vector<consort_copy> first;
  for (uint64_t i = 0; i < spread; ++i) first.push_back(copy(i, true));  // what was never written is read for nothing
  raw.run(first);
  first.clear();
  const auto copies = static_cast<uint64_t>((read + written) / static_cast<double>(bytes) + 0.5);
  const double writes = read + written > 0 ? written / (read + written) : 0;
  double owed = 0;
  uint64_t turn = 0;
  const auto next = [&](consort_copy *c) {  // writes and reads as they were mixed
    if (turn == copies) return false;
    const bool out = (owed += writes) >= 1;
    if (out) owed -= 1;
    *c = copy(turn++, out);
    return true;
  };
  for (consort_copy c; first.size() < kFlying && next(&c);) first.push_back(c);
  std::vector<std::vector<float>> tiles(std::max<uint64_t>(limit / bytes, 2), std::vector<float>(bytes / 4, 1));
  std::atomic<uint64_t> taken{0};
  const double start = now_ns();
  std::vector<double> ends(workers);
  std::vector<std::thread> threads;
  for (unsigned w = 0; w < workers; ++w)
    threads.emplace_back([&, w] {
      std::vector<float> c(bytes / 4);
      for (uint64_t t; (t = taken.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
        const uint64_t i = t / (n * n), j = t / n % n, k = t % n;
        multiply(tiles[(i * n + k) % tiles.size()].data(), tiles[(n * n + k * n + j) % tiles.size()].data(), c.data());
      }
      ends[w] = now_ns();
    });
  Bounds found{0, raw.run(first, next)};
  for (auto &t : threads) t.join();
  found.cores = *std::max_element(ends.begin(), ends.end()) - start;
  for (char *p : here) std::free(p);
  return found;
}

// The same in virtual time: two simulated cores, and a simulated device that computes nothing for the disk. It has no
// noise and no uncounted bytes: the loss is waiting time.
void in_virtual_time(const Options &o, const char *name, double link_share) {
  const int n = o.smoke ? 4 : 8;
  constexpr uint64_t kTile = 1 << 20;
  constexpr double kProduct = 1e7;  // ns
  const auto run = [&](double bytes_per_s, double *bytes) {
    char bandwidth[32];
    std::snprintf(bandwidth, sizeof bandwidth, "%.0f", bytes_per_s);
    const Machine m({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "2"}, {"sim.units", "0"}, {"sim.memory", "16G"}, {"sim.bandwidth", bandwidth},
                     {"sim.latency", "100us"}, {"sim.duplex", "false"}, {"sim.execute", "false"}, {"sim.times", "fill=1us,gemm=10ms"},
                     {"limits", "ram=" + std::to_string(3 * kTile * static_cast<uint64_t>(n) * n / 4)}});
    if (!m) return std::fprintf(stderr, "out of core in virtual time is left out: %s\n", m.why().c_str()), 0.0;
    const auto filling = m.codelet("fill", "cpu", nothing), product = m.codelet("gemm", "cpu", nothing);
    std::vector<consort_data_id> data[3];
    for (auto &matrix : data)
      for (int i = 0; i < n * n; ++i) {
        consort_data_id d{0};
        must(consort_register_vector(m, nullptr, kTile, 1, &d), "register");
        matrix.push_back(d);
        m.submit(filling, {{d, CONSORT_M_W, 0}});
      }
    m.wait();
    const Traffic before = traffic(m, m.home());
    const double start = m.now();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k)
          m.submit(product, {{data[0][static_cast<size_t>(i * n + k)], CONSORT_M_R, 0},
                             {data[1][static_cast<size_t>(k * n + j)], CONSORT_M_R, 0},
                             {data[2][static_cast<size_t>(i * n + j)], CONSORT_M_RW, 0}});
    m.wait();
    const double took = m.now() - start;
    const Traffic after = traffic(m, m.home());
    *bytes = after.in - before.in + after.saved - before.saved;
    for (auto &matrix : data)
      for (const auto d : matrix) must(consort_unregister(m, d), "unregister");
    return took;
  };
  // The link takes about `link_share` of what the cores do, for as many bytes as a first run moved.
  const double cores = kProduct * n * n * n / 2;
  double bytes = 0;
  if (run(1e9, &bytes) == 0) return;
  const double speed = bytes / (cores * link_share) * 1e9, took = run(speed, &bytes);
  const double bound = std::max(cores, bytes / speed * 1e9);
  row(std::string("product out of core, virtual time, ") + name, n * n * n * 1e9 / took, "products/s", n * n * n * 1e9 / bound, ">= 0.85");
}

} // namespace

void out_of_core(const Options &o) {
  in_virtual_time(o, "a quick disk", 0.3);
  in_virtual_time(o, "disk and cores alike", 1);
  in_virtual_time(o, "a slow disk", 2);
  const int n = o.tiles ? o.tiles : o.smoke ? 4 : 8;
  tile_size = o.tile ? o.tile : o.smoke ? 128 : 768;
  openblas_set_num_threads(1);
  const uint64_t bytes = uint64_t{4} * tile_size * tile_size, limit = 3 * static_cast<uint64_t>(n) * n * bytes / 4;
  constexpr unsigned kWorkers = 2;
  std::vector<double> speeds, references, resident_at_most;
  double evictions = 0;
  const int reps = o.smoke ? 1 : o.reps;
  for (int r = 0; r < reps; ++r) {
    const Machine m({{"drivers", "cpu, disk_uring"}, {"disk_uring.path", o.disk}, {"cpu.workers", std::to_string(kWorkers)},
                     {"limits", "ram=" + std::to_string(limit)}});
    if (!m) return std::fprintf(stderr, "out of core is left out: %s\n", m.why().c_str()), void();
    const auto filling = m.codelet("fill", "cpu", fill), product = m.codelet("gemm", "cpu", gemm);
    std::vector<consort_data_id> data[3];
    for (auto &matrix : data)
      for (int i = 0; i < n * n; ++i) {
        consort_data_id d{0};
        must(consort_register_matrix(m, nullptr, tile_size, tile_size, tile_size, sizeof(float), &d), "register");
        matrix.push_back(d);
      }
    const auto at = [&](int matrix, int i, int j) { return data[matrix][static_cast<size_t>(i * n + j)]; };
    Resident resident;
    for (int matrix = 0; matrix < 3; ++matrix)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const consort_use use{at(matrix, i, j), CONSORT_M_W, 0};
          consort_arg args[3] = {};
          const int values[] = {matrix, i, j};
          for (int k = 0; k < 3; ++k) args[k].kind = CONSORT_ARG_SCALAR, args[k].bytes = 8, args[k].scalar = static_cast<uint64_t>(values[k]);
          consort_task_desc t = CONSORT_TASK_INIT;
          t.codelet = filling;
          t.uses = &use;
          t.nuses = 1;
          t.args = args;
          t.nargs = 3;
          must(consort_submit(m, &t, nullptr), "submit");
        }
    m.wait();
    const uint32_t disk = m.space("disk_uring"), ram = m.home();
    const Traffic before = traffic(m, ram);
    const double start = now_ns();
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) m.submit(product, {{at(0, i, k), CONSORT_M_R, 0}, {at(1, k, j), CONSORT_M_R, 0}, {at(2, i, j), CONSORT_M_RW, 0}});
    m.wait();
    const double took = now_ns() - start;
    resident_at_most.push_back(static_cast<double>(resident.peak()));
    const Traffic after = traffic(m, ram);
    const double read = after.in - before.in, written = after.saved - before.saved;
    evictions += after.evictions - before.evictions;
    // One tile is looked at: the sum over a row of the first by a column of the second.
    consort_hold hold;
    must(consort_acquire(m, at(2, n - 1, 0), CONSORT_M_R, CONSORT_FOREVER, &hold), "acquire");
    const float *c = static_cast<const float *>(consort_ptr(static_cast<const consort_matrix_view *>(hold.view)->addr));
    double want = 0;
    for (int64_t k = 0; k < int64_t{n} * tile_size; ++k) want += element(0, int64_t{n - 1} * tile_size + 3, k) * element(1, k, 2);
    const double got = c[2 * tile_size + 3];
    must(consort_release(m, hold), "release");
    if (std::fabs(got - want) > 1e-3 * std::fabs(want) + 1) std::fprintf(stderr, "the product is wrong: %g, not %g\n", got, want), std::exit(1);
    for (auto &matrix : data)
      for (const auto d : matrix) must(consort_unregister(m, d), "unregister");
    const double flops = 2.0 * tile_size * tile_size * tile_size, tasks = static_cast<double>(n) * n * n;
    const Bounds b = bounds(m, disk, kWorkers, static_cast<uint64_t>(n), limit, read, written);
    std::fprintf(stderr, "out of core: %.2f s; cores alone %.2f s, disk alone %.2f s (%.0f MB read, %.0f MB written)\n", took * 1e-9,
                 b.cores * 1e-9, b.disk * 1e-9, read * 1e-6, written * 1e-6);
    speeds.push_back(tasks * flops / took);
    references.push_back(tasks * flops / std::max(b.cores, b.disk));
  }
  const std::string what = "product out of core, " + std::to_string(n) + "x" + std::to_string(n) + " tiles of " + std::to_string(tile_size);
  // Reports the median repeat, which excludes a repeat during which another process starts or ends.
  std::vector<size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return speeds[a] / references[a] < speeds[b] / references[b]; });
  const size_t middle = order[order.size() / 2];
  row(what, speeds[middle], "GFlop/s", references[middle], ">= 0.85");
  row(what + ": resident memory", most(resident_at_most) / 1e6, "MB", static_cast<double>(limit) / 1e6, "<= 1.05");
  row(what + ": evictions (no reference)", evictions / reps, "evictions", 0, "");
}

} // namespace bench
