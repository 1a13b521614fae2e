// What the checksums of spilled data cost: the copies of a driver of files with them, beside the same copies without.
#include "machine.hpp"

#include <ctime>

#include <cstring>
#include <memory>

#include "task_copies.hpp"

namespace bench {
namespace {

// Two runtimes on the same folder, which differ in the setting alone. Copies go straight to the driver's table.
class Side {
public:
  Side(const std::string &driver, const Options &o, bool sums, uint64_t bytes, int count)
      : m_({{"drivers", "cpu, " + driver}, {"workers", "1"}, {driver + ".path", o.disk},
            {driver + ".checksum", sums ? "true" : "false"}}),
        bytes_(bytes) {
    if (!m_ || (disk_ = m_.space(driver)) == CONSORT_NONE) return;
    out_ = std::make_unique<Raw>(m_, m_.home(), disk_);
    in_ = std::make_unique<Raw>(m_, disk_, m_.home());
    for (int i = 0; i < count; ++i) blocks_.push_back(std::make_unique<Block>(m_, disk_, bytes));
  }
  bool is_there() const { return out_ != nullptr; }
  std::string why() const { return m_ ? "it is not there" : m_.why(); }
  // Bytes per ns, of time and of time on cores: other work on the machine moves the first far more.
  struct Speed { double wall, cores; };
  Speed run(bool out, const std::vector<char *> &memory) {
    std::vector<consort_copy> copies;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const consort_addr here{reinterpret_cast<uint64_t>(memory[i]), 0}, there = blocks_[i]->addr();
      copies.push_back({out ? m_.home() : disk_, out ? disk_ : m_.home(), out ? here : there, out ? there : here, bytes_,
                        {1, 1}, {0, 0}, {0, 0}});
    }
    const double before = core_ns(), wall = (out ? *out_ : *in_).run(copies), cores = core_ns() - before;
    const auto bytes = static_cast<double>(bytes_ * blocks_.size());
    return {bytes / wall, bytes / cores};
  }

private:
  static double core_ns() {  // of all threads of this process
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  }

  const Machine m_;
  const uint64_t bytes_;
  uint32_t disk_ = CONSORT_NONE;
  std::unique_ptr<Raw> out_, in_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

} // namespace

void checksum(const Options &o) {
  const uint64_t bytes = 4 * kMiB;
  const int count = o.smoke ? 2 : 64;
  std::vector<char *> memory;
  for (int i = 0; i < count; ++i) {
    memory.push_back(static_cast<char *>(std::aligned_alloc(4096, bytes)));
    std::memset(memory.back(), i + 1, bytes);
  }
  for (const std::string driver : {"disk_posix", "disk_uring"}) {
    Side with(driver, o, true, bytes, count), without(driver, o, false, bytes, count);
    if (!with.is_there() || !without.is_there()) {
      std::fprintf(stderr, "checksums of %s are left out: %s\n", driver.c_str(), with.why().c_str());
      continue;
    }
    std::vector<Pair> wall[2], cores[2];
    for (int r = -1; r < o.reps; ++r)  // of the first nothing is kept: the files grow
      for (const bool out : {true, false}) {
        const bool first = r & 1;  // the sides take turns in going first
        const Side::Speed a = (first ? with : without).run(out, memory), b = (first ? without : with).run(out, memory);
        if (r < 0) continue;
        wall[out].push_back(first ? Pair{a.wall, b.wall} : Pair{b.wall, a.wall});
        cores[out].push_back(first ? Pair{a.cores, b.cores} : Pair{b.cores, a.cores});
      }
    for (const bool out : {true, false}) {
      const std::string way = std::string(out ? "host -> " : "") + driver + (out ? "" : " -> host") + ", 4 MiB";
      const Pair by_wall = middle_of(wall[out]), by_cores = middle_of(cores[out]);
      row("with checksums beside without, " + way, by_wall.kernel, "GB/s", by_wall.raw, "");
      row("with checksums beside without, " + way + ", per second of a core", by_cores.kernel, "GB/s", by_cores.raw, "");
    }
  }
  for (char *p : memory) std::free(p);
}

} // namespace bench
