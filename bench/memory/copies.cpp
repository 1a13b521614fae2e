// Copies that the kernel's movers carry out for tasks, against the same copies handed to the driver.
#include "task_copies.hpp"

#include <cstring>
#include <memory>

namespace bench {
namespace {

// 384 MiB, whatever the shape: the figure is the rate of bytes, and includes the start and end of a task once.
int count_of(const Shape &shape, const Options &o) { return o.smoke ? 2 : static_cast<int>(384 * kMiB / shape.bytes()); }

// What a driver is handed for as many data of that shape: from home to packed blocks elsewhere, or back.
std::vector<consort_copy> raw_copies(const Shape &shape, uint32_t home, const std::vector<char *> &memory, uint32_t far,
                                     const std::vector<std::unique_ptr<Block>> &blocks, bool leaving) {
  const auto wide = static_cast<int64_t>(shape.step), narrow = static_cast<int64_t>(shape.run);
  std::vector<consort_copy> copies;
  for (size_t i = 0; i < memory.size(); ++i) {
    const consort_addr here{reinterpret_cast<uint64_t>(memory[i]), 0}, there = blocks[i]->addr();
    consort_copy c{leaving ? home : far, leaving ? far : home, leaving ? here : there, leaving ? there : here, shape.run,
                   {shape.rows, 1}, {leaving ? wide : narrow, 0}, {leaving ? narrow : wide, 0}};
    if (!shape.gaps()) c.run = shape.bytes(), c.n[0] = 1;
    copies.push_back(c);
  }
  return copies;
}

// `count` data in the host's memory, and memory for as many elsewhere.
class Bench : public TaskCopies {
public:
  Bench(const Machine &m, const char *klass, uint32_t far, const Shape &shape, int count)
      : TaskCopies(m, klass, shape, count), home_(m.home()), far_(far), in_(m, home_, far), out_(m, far, home_) {
    for (int i = 0; i < count; ++i) raw_.push_back(std::make_unique<Block>(m, far, shape.bytes()));
  }
  double raw(bool in) { return (in ? in_ : out_).run(raw_copies(shape(), home_, memory(), far_, raw_, in)); }

private:
  const uint32_t home_, far_;
  Raw in_, out_;
  std::vector<std::unique_ptr<Block>> raw_;
};

}  // namespace

void compare(const Machine &m, const char *klass, const std::string &far, const Options &o) {
  const uint32_t space = m.space(far);
  const Shape shapes[] = {{"4 MiB", 4 * kMiB, 1, 4 * kMiB}, {"16 MiB", 16 * kMiB, 1, 16 * kMiB},
                          {"2-D, 256 rows of 16 KiB", 16 << 10, 256, 32 << 10}};
  for (const Shape &shape : shapes) {
    if (o.smoke && shape.bytes() > 4 * kMiB) continue;
    Bench b(m, klass, space, shape, count_of(shape, o));
    for (const bool in : {true, false}) {
      std::vector<Pair> pairs;
      b.kernel(in), b.raw(in);  // memory is taken, pages are touched
      for (int r = 0; r < o.reps; ++r) {
        const double raw = b.bytes() / b.raw(in), kernel = b.bytes() / b.kernel(in);
        pairs.push_back({kernel, raw});
      }
      const Pair middle = middle_of(pairs);
      row("copy " + std::string(in ? "host -> " : "") + far + (in ? "" : " -> host") +
              (m.kernel().virtual_time ? ", virtual time, " : ", ") + shape.name, middle.kernel, "GB/s",
          middle.raw, shape.rows > 1 ? ">= 0.90" : ">= 0.95");
    }
  }
}

namespace {

// A disk has no units: data go there where the memory at home is taken from them, and come back for a task. Rows with gaps
// are an application's own memory, which nothing is taken from: they are wished for there, which is one way only.
class Disk {
public:
  Disk(const Machine &m, uint32_t disk, const Shape &shape, int count)
      : m_(m), shape_(shape), disk_(disk), out_(m, m.home(), disk), in_(m, disk, m.home()),
        write_(m.codelet("write", "cpu", [](const consort_call *c) {
          const auto *v = static_cast<const consort_matrix_view *>(c->views[0]);
          auto *p = static_cast<char *>(consort_ptr(v->addr));
          for (uint64_t row = 0; row < v->ny; ++row) std::memset(p + row * v->ld, static_cast<int>(row), v->nx);
          return consort_status{CONSORT_OK};
        })),
        read_(m.codelet("read", "cpu", nothing)) {
    const uint64_t extent = shape.step * shape.rows;
    for (int i = 0; i < count; ++i) {
      memory_.push_back(static_cast<char *>(std::aligned_alloc(4096, (extent + 4095) / 4096 * 4096)));
      std::memset(memory_.back(), i, extent);
      consort_data_id d{0};
      must(consort_register_matrix(m_, gaps() ? memory_.back() : nullptr, shape.run, shape.rows, shape.step, 1, &d), "register");
      data_.push_back(d);
      raw_.push_back(std::make_unique<Block>(m, disk, shape.bytes()));
    }
  }
  ~Disk() {
    for (const auto d : data_) consort_unregister(m_, d);
    for (char *p : memory_) std::free(p);
  }
  bool gaps() const { return shape_.gaps(); }
  double bytes() const { return static_cast<double>(shape_.bytes() * data_.size()); }

  double raw(bool out) {
    if (out)  // as the tasks do it before theirs go: what a cache holds of it is the same
      for (size_t i = 0; i < memory_.size(); ++i) std::memset(memory_[i], static_cast<int>(i), shape_.step * shape_.rows);
    return (out ? out_ : in_).run(raw_copies(shape_, m_.home(), memory_, disk_, raw_, out));
  }
  double kernel(bool out) {
    if (out)
      for (const auto d : data_) m_.submit(write_, {{d, CONSORT_M_W, 0}});
    m_.wait();
    const double start = now_ns();
    if (!out) {
      std::vector<consort_use> uses;
      for (const auto d : data_) uses.push_back({d, CONSORT_M_R, 0});
      m_.wait(m_.submit(read_, uses));
      return now_ns() - start;
    }
    for (const auto d : data_)
      must(gaps() ? consort_prefetch(m_, d, disk_, 0, 0, nullptr) : consort_evict(m_, d, m_.home()), "to the disk");
    for (const auto d : data_)
      for (uint32_t bits = 0; !(bits & CONSORT_IN_VALID);) {
        must(consort_data_in(m_, d, disk_, &bits), "in");
        // Each look takes a core from the disk's threads for a moment; time overslept counts as the kernel's.
        if (!(bits & CONSORT_IN_VALID)) std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    return now_ns() - start;
  }

private:
  const Machine &m_;
  const Shape shape_;
  const uint32_t disk_;
  Raw out_, in_;
  const consort_codelet_id write_, read_;
  std::vector<char *> memory_;
  std::vector<consort_data_id> data_;
  std::vector<std::unique_ptr<Block>> raw_;
};

void compare_disk(const Machine &m, const std::string &driver, const Options &o) {
  const Shape shapes[] = {{"4 MiB", 4 * kMiB, 1, 4 * kMiB}, {"16 MiB", 16 * kMiB, 1, 16 * kMiB},
                          {"2-D, 256 rows of 16 KiB", 16 << 10, 256, 32 << 10}};
  for (const Shape &shape : shapes) {
    if (o.smoke && shape.bytes() > 4 * kMiB) continue;
    Disk d(m, m.space(driver), shape, count_of(shape, o));
    std::vector<Pair> pairs[2];
    for (int r = -1; r < o.reps; ++r) {  // of the first nothing is kept: memory is taken, the file grows
      Pair speed[2];
      for (const bool of_kernel : {false, true})
        for (const bool out : {true, false}) {
          if (!out && d.gaps()) continue;
          (of_kernel ? speed[out].kernel : speed[out].raw) = d.bytes() / (of_kernel ? d.kernel(out) : d.raw(out));
        }
      for (const bool out : {true, false})
        if (r >= 0 && speed[out].raw > 0) pairs[out].push_back(speed[out]);
    }
    for (const bool out : {true, false}) {
      if (pairs[out].empty()) continue;
      const Pair middle = middle_of(pairs[out]);
      row("copy " + std::string(out ? "host -> " : "") + driver + (out ? "" : " -> host") + ", " + shape.name, middle.kernel,
          "GB/s", middle.raw, d.gaps() ? ">= 0.90" : ">= 0.95");
    }
  }
}

} // namespace

void copies(const Options &o) {
  {
    const Machine m({{"drivers", "sim"}, {"time", "virtual"}, {"sim.cores", "1"}, {"sim.bandwidth", "2G"}, {"sim.latency", "10us"},
                     {"sim.runs", ""}, {"sim.times", "use=1us,sink=1us"}});
    if (m) compare(m, "gpu", "sim0", o);
    else std::fprintf(stderr, "copies in virtual time are left out: %s\n", m.why().c_str());
  }
  {
    // Slower than the host can copy, so that the figure shows the path and not other users of the host's memory.
    const Machine m({{"drivers", "cpu, sim"}, {"workers", "1"}, {"sim.bandwidth", "2G"}, {"sim.latency", "10us"}, {"sim.runs", ""}});
    if (m) compare(m, "gpu", "sim0", o);
    else std::fprintf(stderr, "copies to a simulated device are left out: %s\n", m.why().c_str());
  }
  {
    const Machine m({{"drivers", "cpu, opencl"}, {"workers", "1"}, {"opencl.types", "gpu,accelerator,cpu"}});
    if (m && m.space("opencl") != CONSORT_NONE) compare(m, "opencl", "opencl0", o);
    else std::fprintf(stderr, "copies to OpenCL are left out: %s\n", m ? "no device" : m.why().c_str());
  }
  for (const std::string driver : {"disk_uring", "disk_posix"}) {
    const Machine m({{"drivers", "cpu, " + driver}, {"workers", "1"}, {driver + ".path", o.disk}});
    if (m && m.space(driver) != CONSORT_NONE) compare_disk(m, driver, o);
    else std::fprintf(stderr, "copies to %s are left out: %s\n", driver.c_str(), m ? "it is not there" : m.why().c_str());
  }
}

} // namespace bench
