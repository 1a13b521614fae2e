// Copies that the kernel's movers carry out for tasks, against the same copies handed to the driver.
#include "machine.hpp"

#include <memory>

namespace bench {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Shape {
  const char *name;
  uint64_t run, rows, step;      // bytes; step: from row to row at home
  uint64_t bytes() const { return run * rows; }
};

// `count` data in the host's memory, and memory for as many elsewhere.
class Bench {
public:
  Bench(const Machine &m, const char *klass, uint32_t far, const Shape &shape, int count)
      : m_(m), shape_(shape), home_(m.home()), far_(far), in_(m, home_, far), out_(m, far, home_),
        use_(m.codelet("use", klass, nothing)), sink_(m.codelet("sink", "cpu", nothing)) {
    for (int i = 0; i < count; ++i) {
      const uint64_t extent = shape.step * shape.rows;
      memory_.push_back(static_cast<char *>(std::aligned_alloc(4096, (extent + 4095) / 4096 * 4096)));
      std::fill_n(memory_.back(), extent, static_cast<char>(i));
      consort_data_id d{0};
      must(consort_register_matrix(m_, memory_.back(), shape.run, shape.rows, shape.step, 1, &d), "register");
      data_.push_back(d);
      raw_.push_back(std::make_unique<Block>(m, far, shape.bytes()));
    }
  }
  ~Bench() {
    for (const auto d : data_) consort_unregister(m_, d);
    for (char *p : memory_) std::free(p);
  }

  double bytes() const { return static_cast<double>(shape_.bytes() * data_.size()); }
  double raw(bool in) {
    std::vector<consort_copy> copies;
    for (size_t i = 0; i < data_.size(); ++i) {
      const consort_addr here{reinterpret_cast<uint64_t>(memory_[i]), 0}, there = raw_[i]->addr();
      const auto wide = static_cast<int64_t>(shape_.step), narrow = static_cast<int64_t>(shape_.run);
      const bool whole = shape_.run == shape_.step;
      consort_copy c{in ? home_ : far_, in ? far_ : home_, in ? here : there, in ? there : here, shape_.run, {shape_.rows, 1},
                     {in ? wide : narrow, 0}, {in ? narrow : wide, 0}};
      if (whole) c.run = shape_.bytes(), c.n[0] = 1;
      copies.push_back(c);
    }
    return (in ? in_ : out_).run(copies);
  }
  double kernel(bool in) {
    if (in)  // written at home: what is elsewhere is stale, and its memory stays
      for (const auto d : data_) {
        consort_hold hold;
        must(consort_acquire(m_, d, CONSORT_M_W, CONSORT_FOREVER, &hold), "acquire");
        must(consort_release(m_, hold), "release");
      }
    else
      m_.wait(m_.submit(use_, uses(CONSORT_M_W)));
    const double start = now_ns();
    m_.wait(m_.submit(in ? use_ : sink_, uses(CONSORT_M_R)));
    return now_ns() - start;
  }

private:
  std::vector<consort_use> uses(uint32_t mode) const {
    std::vector<consort_use> u;
    for (const auto d : data_) u.push_back({d, mode, 0});
    return u;
  }
  const Machine &m_;
  const Shape shape_;
  const uint32_t home_, far_;
  Raw in_, out_;
  const consort_codelet_id use_, sink_;
  std::vector<char *> memory_;
  std::vector<consort_data_id> data_;
  std::vector<std::unique_ptr<Block>> raw_;
};

void compare(const Machine &m, const char *klass, const std::string &far, const Options &o) {
  const uint32_t space = m.space(far);
  const Shape shapes[] = {{"4 MiB", 4 * kMiB, 1, 4 * kMiB}, {"16 MiB", 16 * kMiB, 1, 16 * kMiB},
                          {"2-D, 256 rows of 16 KiB", 16 << 10, 256, 32 << 10}};
  for (const Shape &shape : shapes) {
    if (o.smoke && shape.bytes() > 4 * kMiB) continue;
    Bench b(m, klass, space, shape, shape.bytes() > 4 * kMiB ? 4 : o.smoke ? 2 : 12);
    for (const bool in : {true, false}) {
      std::vector<double> raw, kernel;
      b.kernel(in), b.raw(in);  // memory is taken, pages are touched
      for (int r = 0; r < 2 * o.reps; ++r) (r % 2 ? kernel : raw).push_back(b.bytes() / (r % 2 ? b.kernel(in) : b.raw(in)));
      row("copy " + std::string(in ? "host -> " : "") + far + (in ? "" : " -> host") + ", " + shape.name, median(kernel), "GB/s",
          median(raw), shape.rows > 1 ? ">= 0.90" : ">= 0.95");
    }
  }
}

} // namespace

void copies(const Options &o) {
  {
    // Slower than the host can copy, so that what is seen is the path and not the other user of the host's memory.
    const Machine m({{"drivers", "cpu, sim"}, {"workers", "1"}, {"sim.bandwidth", "2G"}, {"sim.latency", "10us"}, {"sim.runs", ""}});
    if (m) compare(m, "gpu", "sim0", o);
    else std::fprintf(stderr, "copies to a simulated device are left out: %s\n", m.why().c_str());
  }
  {
    const Machine m({{"drivers", "cpu, opencl"}, {"workers", "1"}});
    if (m && m.space("opencl") != CONSORT_NONE) compare(m, "opencl", "opencl0", o);
    else std::fprintf(stderr, "copies to OpenCL are left out: %s\n", m ? "no device" : m.why().c_str());
  }
}

} // namespace bench
