// Random data of the dense layouts: small enough to compare each byte, some empty, most with gaps between their lines.
#include <consort/layouts.h>

#include <algorithm>

#include "sample.hpp"

namespace conform {
namespace {

struct Grid {
  uint32_t dims;
  uint64_t n[CONSORT_NDIM_MAX] = {}, step[CONSORT_NDIM_MAX] = {}, elem = 1;
};

template <class T>
Blob blob(const T &t) {
  return {&t, sizeof t};
}

class Dense final : public Sampler {
 public:
  Dense(const std::string &name, const consort_interface_ops &ops, uint64_t seed, uint32_t samples)
      : name_(name), ops_(ops), seed_(seed), samples_(samples) {}

  bool args(uint32_t i, Arena *home, Blob *out) override {
    if (i >= (name_ == "void" ? 1 : samples_)) return false;
    const Grid g = grid(i);
    void *p = home ? home->data() + g.elem * (i % 3) : nullptr;  // not always aligned
    if (name_ == "void") *out = {};
    else if (name_ == "variable") *out = blob(consort_variable_args{p, g.elem});
    else if (name_ == "vector") *out = blob(consort_vector_args{p, g.n[0], g.elem});
    else if (name_ == "matrix") *out = blob(consort_matrix_args{p, g.n[0], g.n[1], g.step[1], g.elem});
    else if (name_ == "block") *out = blob(consort_block_args{p, g.n[0], g.n[1], g.n[2], g.step[1], g.step[2], g.elem});
    else if (name_ == "tensor")
      *out = blob(consort_tensor_args{p, g.n[0], g.n[1], g.n[2], g.n[3], g.step[1], g.step[2], g.step[3], g.elem});
    else {
      consort_ndim_args a{p, g.dims, {}, {}, g.elem};
      std::copy_n(g.n, CONSORT_NDIM_MAX, a.n);
      std::copy_n(g.step, CONSORT_NDIM_MAX, a.step);
      *out = blob(a);
    }
    return true;
  }

  std::vector<Blob> params(uint32_t i, uint32_t filter) override {
    const Grid g = grid(i);
    Random random(seed_ ^ (i * 64 + filter + 1) * 0x9e3779b97f4a7c15u);
    const std::string f = ops_.filters[filter].name;
    std::vector<Blob> all;
    for (uint32_t axis = 0; axis < g.dims; ++axis) {
      const auto parts = static_cast<uint32_t>(1 + random.below(5));
      if (f == "overlap") {
        all.push_back(blob(consort_halo{parts, axis, static_cast<uint32_t>(random.below(3)), random.one_in(2) ? uint32_t{CONSORT_HALO_RIM} : 0u}));
      } else if (f == "slices" || f == "ndim_slices") {
        all.push_back(blob(consort_slices{axis, 0}));
      } else if (f == "tiles") {
        consort_grid many{};
        for (uint32_t &k : many.parts) k = static_cast<uint32_t>(1 + random.below(3));
        all.push_back(name_ == "matrix" ? blob(consort_tiles{many.parts[0], many.parts[1]}) : blob(many));
      } else if (f == "list") {
        std::vector<uint64_t> list{uint64_t{axis} << 32 | parts};
        uint64_t rest = g.n[axis];
        for (uint32_t k = 0; k < parts; ++k) rest -= list.emplace_back(k + 1 < parts ? random.below(rest + 1) : rest);
        all.emplace_back(list.data(), list.size() * 8);
      } else {
        all.push_back(blob(consort_split{parts, axis}));
      }
    }
    return all;
  }

 private:
  Grid grid(uint32_t i) const {
    Random random(seed_ + i * 0xd1342543de82ef95u);
    Grid g{};
    const bool any = name_ == "ndim";
    g.dims = name_ == "vector" ? 1 : name_ == "matrix" ? 2 : name_ == "block" ? 3 : name_ == "tensor" ? 4 : 0;
    if (any) g.dims = static_cast<uint32_t>(1 + (i + random.below(2)) % CONSORT_NDIM_MAX);
    g.elem = 1 + random.below(8);
    if (!g.dims) g.elem = 1 + random.below(300);
    const uint64_t most = g.dims > 5 ? 2 : g.dims > 3 ? 4 : g.dims > 1 ? 7 : 40;
    uint32_t order[CONSORT_NDIM_MAX];
    for (uint32_t d = 0; d < g.dims; ++d) order[d] = d;
    for (uint32_t d = g.dims; any && d > 1; --d) std::swap(order[d - 1], order[random.below(d)]);
    uint64_t step = 1;
    for (uint32_t k = 0; k < g.dims; ++k) {
      const uint32_t d = order[k];
      g.n[d] = random.one_in(12) ? 0 : 1 + random.below(most);
      g.step[d] = k == 0 ? 1 : step + random.below(3);
      step = g.step[d] * std::max<uint64_t>(g.n[d], 1);
    }
    return g;
  }

  std::string name_;
  const consort_interface_ops &ops_;
  uint64_t seed_;
  uint32_t samples_;
};

}  // namespace

std::unique_ptr<Sampler> dense_sampler(const std::string &name, const consort_interface_ops &ops, uint64_t seed, uint32_t samples) {
  for (const char *known : {"void", "variable", "vector", "matrix", "block", "tensor", "ndim"})
    if (name == known) return std::make_unique<Dense>(name, ops, seed, samples);
  return nullptr;
}

}  // namespace conform
