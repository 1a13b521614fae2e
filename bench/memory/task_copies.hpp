// task_copies.hpp — copies that the kernel's movers carry out for one task, to be timed beside the same copies by hand.
//
// Owned by a case, on its thread.
#pragma once
#include "machine.hpp"

#include <consort/pinned.h>

namespace bench {

inline constexpr uint64_t kMiB = 1 << 20;

struct Shape {
  const char *name;
  uint64_t run, rows, step;      // bytes; step: from row to row at home
  uint64_t bytes() const { return run * rows; }
  bool gaps() const { return run != step; }
};

// The same copies both ways, one right after the other. What else the machine does changes from second to second: it is
// the ratios that are compared, and the pair in their middle is shown.
struct Pair {
  double kernel = 0, raw = 0;  // bytes per ns
};
inline Pair middle_of(std::vector<Pair> pairs) {
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(pairs.size() / 2);
  std::nth_element(pairs.begin(), middle, pairs.end(),
                   [](const Pair &a, const Pair &b) { return a.kernel * b.raw < b.kernel * a.raw; });
  return *middle;
}

// `count` data in the host's memory, which a unit of class `klass` reads or writes. pinned: devices copy from it as it is.
class TaskCopies {
public:
  TaskCopies(const Machine &m, const char *klass, const Shape &shape, int count, bool pinned = false)
      : m_(m), shape_(shape), pinned_(pinned), use_(m.codelet("use", klass, nothing)), sink_(m.codelet("sink", "cpu", nothing)) {
    for (int i = 0; i < count; ++i) {
      const uint64_t extent = shape.step * shape.rows;
      void *p = nullptr;
      if (pinned) must(consort_malloc(m, extent, CONSORT_MALLOC_PINNED, &p), "pinned memory");
      else p = std::aligned_alloc(4096, (extent + 4095) / 4096 * 4096);
      memory_.push_back(static_cast<char *>(p));
      std::fill_n(memory_.back(), extent, static_cast<char>(i));
      consort_data_id d{0};
      must(consort_register_matrix(m_, memory_.back(), shape.run, shape.rows, shape.step, 1, &d), "register");
      data_.push_back(d);
    }
  }
  TaskCopies(const TaskCopies &) = delete;
  ~TaskCopies() {
    for (const auto d : data_) consort_unregister(m_, d);
    for (char *p : memory_) pinned_ ? void(consort_free(m_, p)) : std::free(p);
  }

  const Shape &shape() const { return shape_; }
  const std::vector<char *> &memory() const { return memory_; }
  double bytes() const { return static_cast<double>(shape_.bytes() * data_.size()); }
  // ns until a task there has all of them (in), or one at home.
  double kernel(bool in) {
    if (in)  // written at home: copies elsewhere are stale, and their memory stays
      for (const auto d : data_) {
        consort_hold hold;
        must(consort_acquire(m_, d, CONSORT_M_W, CONSORT_FOREVER, &hold), "acquire");
        must(consort_release(m_, hold), "release");
      }
    else
      m_.wait(m_.submit(use_, uses(CONSORT_M_W)));
    const double start = m_.now();
    m_.wait(m_.submit(in ? use_ : sink_, uses(CONSORT_M_R)));
    return m_.now() - start;
  }

private:
  std::vector<consort_use> uses(uint32_t mode) const {
    std::vector<consort_use> u;
    for (const auto d : data_) u.push_back({d, mode, 0});
    return u;
  }
  const Machine &m_;
  const Shape shape_;
  const bool pinned_;
  const consort_codelet_id use_, sink_;
  std::vector<char *> memory_;
  std::vector<consort_data_id> data_;
};

// In copies.cpp: rows for copies between the host and the space `far`, where units of class `klass` are, beside the driver's own.
void compare(const Machine &m, const char *klass, const std::string &far, const Options &o);

}  // namespace bench
