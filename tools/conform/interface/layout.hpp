// layout.hpp — an interface under test: its functions, its samples, and data of it as the kernel makes them.
#pragma once
#include <functional>

#include "conform/plugin.hpp"
#include "sample.hpp"

namespace conform {

// A space as a driver describes it: 0 is the CPU's; addresses of 1 mean nothing to the CPU.
consort_space_desc some_space(uint32_t i);

// Returns the complete result of an array function; CONSORT-I-10 checks that it writes no more than fits.
template <class T, class F>
std::vector<T> all_of(Trial &t, const char *name, F f) {
  const uint32_t n = f(nullptr, 0);
  t.need(n <= 1u << 20, "%s answers that there are %u", name, n);
  std::vector<T> all(n);
  if (n) f(all.data(), n);
  return all;
}

// One replica of a datum: shape and view, and its bytes.
struct Datum {
  Pod shape, view;
  std::unique_ptr<Arena> arena;
};

class Layout {
 public:
  // Starts the subject. Skips the case if there are no samples.
  explicit Layout(Trial &, bool samples = true);

  // -- data; each call makes another arena ---------------------------------------------------------------------------
  Datum home(const Sample &);                              // as at its registration
  Datum replica(const Pod &shape, uint32_t space = 0);     // as made by the kernel, its blocks anywhere in the arena
  static std::vector<consort_addr> place(Arena &, const std::vector<consort_block> &);

  // -- results -------------------------------------------------------------------------------------------------------
  std::vector<consort_block> blocks(const Pod &shape, uint32_t space = 0);
  std::vector<consort_extent> extents(const Datum &d) { return extents(d.shape, d.view); }
  std::vector<consort_extent> extents(const Pod &shape, const Pod &view);
  std::vector<consort_run> runs(const Pod &shape, const Pod &src, const Pod &dst);
  std::vector<unsigned char> wire(const Pod &shape);
  std::string text(const Pod &shape);
  std::vector<unsigned char> packed(const Datum &);        // need() that it can be packed

  bool packs_only() const { return ops.flags & CONSORT_IF_PACK_ONLY; }
  const char *name() const { return name_.c_str(); }

  consort_interface_ops ops;
  std::vector<Sample> samples;
  Trial &t;

  // Of another interface, for children of that interface; without samples.
  Layout(Trial &, const consort_interface_ops &, const std::string &name);
  // Returns that interface, from the subject's folder or from the plugins of this installation; nullptr: not found.
  Layout *find(const char *name);
  Plugin *plugin() { return plugin_.get(); }
  Sampler &sampler() { return *sampler_; }

 private:
  std::unique_ptr<Plugin> plugin_;
  std::string name_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<std::unique_ptr<Layout>> others_;
};

// For each byte of one arena its source in the other, according to the runs; kNowhere for bytes that they do not write.
constexpr int64_t kNowhere = -1;
struct Moves {
  std::vector<int64_t> from;          // for each byte of dst: the offset in src
  std::vector<unsigned> read;         // number of reads of each byte of src
  uint64_t bytes = 0;                 // total
  bool good = true;                   // no byte is outside, none is written twice
};
// Reports bytes that are outside of either arena or written twice. `operation`: the operation, for the report.
Moves follow(Trial &, const std::vector<consort_run> &, const Arena &src, const Arena &dst, const char *operation);
void carry_out(const Moves &, const Arena &src, Arena &dst);

// Returns the bytes of an arena that the extents contain; calls outside(i) for those outside.
std::vector<bool> held_by(const std::vector<consort_extent> &, const Arena &, const std::function<void(size_t i)> &outside);

}  // namespace conform
