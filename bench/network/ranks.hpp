// A chain of tasks over the ranks, and the tiled Cholesky dealt out to them: what each program of several ranks runs.
//
// A runtime R has rank(), ranks(), barrier(), chain(from, n), fill(), factorise(), and tile(block), the memory of one of this
// rank's tiles. Owned by main(), on the main thread. Every rank checks what it has: the number that each step of the chain
// finds, and its tiles beside a factorisation by one thread. A rank that has found something wrong exits with 1.
#pragma once
#include "../factor/cholesky.hpp"
#include "../micro/process.hpp"
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace network {

struct RankOptions {
  std::string what = "chain", name = "consort";
  uint64_t n = 2000;
  int tile = 256;
  unsigned reps = 3;
};

inline RankOptions rank_options(int argc, char **argv) {
  RankOptions o;
  bool good = true;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view key = argv[i];
    const char *const value = i + 1 < argc ? argv[i + 1] : "";
    if (key == "--what") o.what = value;
    else if (key == "--name") o.name = value;
    else if (key == "--n") o.n = std::strtoull(value, nullptr, 10);
    else if (key == "--tile") o.tile = std::atoi(value);
    else if (key == "--reps") o.reps = static_cast<unsigned>(std::atoi(value));
    else good = false;
  }
  const bool is_tiled = o.what == "cholesky";
  if (!good || !o.n || o.tile < 1 || !o.reps || (is_tiled && o.n % static_cast<unsigned>(o.tile)) || (!is_tiled && o.what != "chain" && o.what != "dropped")) {
    std::fprintf(stderr, "usage: %s [--what chain|cholesky|dropped] [--name NAME] [--n N, of cholesky a multiple of T] [--tile T] [--reps R]\n", argv[0]);
    std::exit(2);
  }
  return o;
}

inline int tile_size; // of the kernels that run; set before the first task

inline std::atomic<uint64_t> wrong{0}; // relaxed: read when the tasks have ended

// Step i of the chain: it adds one to what the step before, on another rank, has left.
inline void step(uint64_t *x, uint64_t i) {
  if (*x != i) wrong.fetch_add(1, std::memory_order_relaxed);
  *x = i + 1;
}

// The tiles are dealt out to a grid of ranks, as square as their number allows, row by row and column by column in turn.
class Deal {
public:
  Deal(int n, int tile, uint32_t ranks) : tile_(tile), n_(n), ranks_(ranks) {
    for (uint32_t r = 1; r * r <= ranks; ++r)
      if (ranks % r == 0) rows_ = r;
    for (int i = 0; i < n / tile; ++i)
      for (int j = 0; j <= i; ++j) at_.push_back({i, j});
  }
  uint32_t owner(uint32_t block) const {
    const auto [i, j] = at_[block];
    return static_cast<uint32_t>(i) % rows_ * (ranks_ / rows_) + static_cast<uint32_t>(j) % (ranks_ / rows_);
  }
  void fill(uint32_t block, float *to) const {
    const auto [i, j] = at_[block];
    cholesky::Tiled::fill(to, tile_, tile_, tile_, int64_t{i} * tile_, int64_t{j} * tile_, n_);
  }
  // The distance of a tile of the factor from the right one, and the length of that: squares.
  void compare(uint32_t block, const float *mine, const float *right, double *off, double *all) const {
    const auto [i, j] = at_[block];
    for (int c = 0; c < tile_; ++c)
      for (int r = i == j ? c : 0; r < tile_; ++r) {
        const size_t at = static_cast<size_t>(c) * static_cast<size_t>(tile_) + static_cast<size_t>(r);
        *off += std::pow(double{mine[at]} - double{right[at]}, 2), *all += std::pow(double{right[at]}, 2);
      }
  }

private:
  struct Place {
    int i, j;
  };
  int tile_, n_;
  uint32_t ranks_, rows_ = 1;
  std::vector<Place> at_;
};

// The tiles of this rank; those of others are null.
class Tiles {
public:
  Tiles(const bench::Cholesky &a, const Deal &deal, uint32_t rank) : at_(a.blocks()) {
    for (uint32_t b = 0; b < a.blocks(); ++b)
      if (deal.owner(b) == rank) at_[b].reset(static_cast<float *>(std::aligned_alloc(128, (a.elements(b) * sizeof(float) + 127) / 128 * 128)));
  }
  float *operator[](uint32_t block) const { return at_[block].get(); }

private:
  struct Free {
    void operator()(float *p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<float, Free>> at_;
};

template <class R> int measure_chain(R &runtime, const RankOptions &o) {
  std::vector<double> ns;
  uint64_t from = 0;
  for (unsigned rep = 0; rep <= o.reps; ++rep) {
    const uint64_t n = rep ? o.n : o.n / 10 + 1; // warm-up
    runtime.barrier();
    const double t0 = bench::now_ns();
    runtime.chain(from, n);
    runtime.barrier();
    if (rep) ns.push_back((bench::now_ns() - t0) / static_cast<double>(n));
    from += n;
  }
  const uint64_t bad = wrong.load(std::memory_order_relaxed) + (runtime.rank() == 0 && runtime.value() != from);
  if (bad) std::fprintf(stderr, "rank %u: %lu steps of the chain are wrong\n", runtime.rank(), bad);
  if (runtime.rank() == 0)
    std::printf("{\"runtime\": \"%s\", \"ranks\": %u, \"n\": %lu, \"ns\": %.1f, \"wrong\": %lu}\n", o.name.c_str(), runtime.ranks(), o.n, bench::median(ns), bad);
  return bad != 0;
}

template <class R> int measure_cholesky(R &runtime, const RankOptions &o, const bench::Cholesky &a, const Deal &deal) {
  std::vector<double> wall;
  for (unsigned rep = 0; rep <= o.reps; ++rep) {
    runtime.fill();
    runtime.barrier();
    const double t0 = bench::now_ns();
    runtime.factorise();
    runtime.barrier();
    if (rep) wall.push_back(bench::now_ns() - t0);
  }
  a.fill();
  a.each_task([&](const bench::Task &t) {
    float *operands[bench::max_operands] = {};
    for (unsigned k = 0; k < bench::Cholesky::kernels[t.kernel].operands; ++k) operands[k] = a.at(t.block[k]);
    if (!bench::Cholesky::kernels[t.kernel].run(operands, o.tile)) std::exit(1);
  });
  double off = 0, all = 0;
  for (uint32_t b = 0; b < a.blocks(); ++b)
    if (deal.owner(b) == runtime.rank()) deal.compare(b, runtime.tile(b), a.at(b), &off, &all);
  const double error = std::sqrt(off / all);
  const bool good = error < 1e-5 && wrong.load(std::memory_order_relaxed) == 0; // also if it is no number
  if (!good) std::fprintf(stderr, "rank %u: its tiles are off by %g\n", runtime.rank(), error);
  if (runtime.rank() == 0)
    std::printf("{\"runtime\": \"%s\", \"ranks\": %u, \"n\": %lu, \"tile\": %d, \"gflops\": %.2f, \"error\": %.3g}\n", o.name.c_str(), runtime.ranks(), o.n,
                o.tile, a.flops() / bench::median(wall), error);
  return !good;
}

} // namespace network
