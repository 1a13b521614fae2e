// `cliffs` on the sketch of a floor, which stands outside of the repository: data and one value of 8 bytes, no more.
// Owned by main(), which submits and runs tasks as the first of its threads.
#include <mini_stf.h>

#include "oracle.hpp"
#include "slices.hpp"

namespace {

using cliffs::oracle;
using cliffs::Shape;

class Backend {
public:
  static constexpr const char *name = "mini";
  static bool has(const Shape &s) {
    return s.value <= 8 && !s.priority && !s.worker && !s.named && !s.done && !s.id && !s.after;
  }

  explicit Backend(const cliffs::Options &o)
      : rt_(static_cast<int>(o.workers)), read_cells_(cliffs::pool, cliffs::unwritten), cells_(cliffs::slots * cliffs::max_data) {}

  void run(const Shape &s, uint64_t n, bool check) {
    read_.assign(cliffs::pool, {});  // what is read and never written would keep every reader
    written_.assign(cliffs::slots * cliffs::max_data, {});
    if (check) oracle.expect(s, n, cells_.data());
    shape_ = &s;
    if (check) s.value ? submit<true, true>(s, n) : submit<true, false>(s, n);
    else s.value ? submit<false, true>(s, n) : submit<false, false>(s, n);
    rt_.wait_all();
  }
  uint64_t verdict() const { return oracle.verdict(0); }

private:
  // Checked tasks know their number in any case: their data come with it.
  static void checked(const Backend *b, uint64_t i, bool value) {
    const Shape &s = *b->shape_;
    std::array<uint64_t *, cliffs::max_data> cells{};
    for (unsigned k = 0; k < s.reads; ++k) cells[k] = &b->read_cells_[(i + k) % cliffs::pool];
    for (unsigned k = 0; k < s.writes; ++k) cells[s.reads + k] = &b->cells_[i % cliffs::slots * cliffs::max_data + k];
    oracle.uses(cells);
    if (value) oracle.value(&i);
    oracle.ran(0);
  }
  template <bool Check, bool Value> void submit(const Shape &s, uint64_t n) {
    std::array<mini::Access, cliffs::max_data> use;
    for (uint64_t i = 0; i < n; ++i) {
      for (unsigned k = 0; k < s.reads; ++k) use[k] = {&read_[(i + k) % cliffs::pool], mini::R};
      for (unsigned k = 0; k < s.writes; ++k) use[s.reads + k] = {&written_[i % cliffs::slots * cliffs::max_data + k], mini::W};
      const auto count = static_cast<int>(s.data());
      if constexpr (Check) rt_.submit(use.data(), count, [this, i] { checked(this, i, Value); });
      else if constexpr (Value) rt_.submit(use.data(), count, [i] { asm volatile("" ::"r"(i)); });
      else rt_.submit(use.data(), count, [] {});
    }
  }

  mini::Runtime rt_;
  const Shape *shape_ = nullptr;
  mutable std::vector<uint64_t> read_cells_, cells_;
  std::vector<mini::Handle> read_, written_;
};

}  // namespace

int main(int argc, char **argv) { return cliffs::main_of<Backend>(argc, argv); }
