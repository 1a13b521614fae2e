// cases.hpp — what the GPU benchmarks share: the device that they run on, and its kernels as codelets.
#pragma once
#include "../memory/task_copies.hpp"
#include "kernels.hpp"
#include "peer.hpp"

#include <cstring>

namespace bench::gpu {

// One device, by Consort's driver and by hand. peer: null where a vendor's calls are of another shape (level_zero).
struct Device {
  Options options;
  std::string driver;
  Machine::Settings settings;  // of the driver: its library
  Peer *peer = nullptr;
  std::string library;

  Machine::Settings machine(Machine::Settings more = {}) const {
    Machine::Settings all = {{"drivers", "cpu, " + driver}, {"workers", "1"}, {driver + ".devices", "0"}};
    all.insert(all.end(), settings.begin(), settings.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // Of kernels.hpp, for this device's units.
  consort_codelet_id codelet(const Machine &m, const char *kernel) const {
    const bool ptx = driver == "cuda";
    const consort_impl impl{driver.c_str(), nullptr, nullptr, nullptr, ptx ? "ptx" : "hip", ptx ? kPtx : kSource, kernel, 0};
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = kernel;
    d.impls = &impl;
    d.nimpls = 1;
    consort_codelet_id id{0};
    must(consort_codelet_add(m, &d, &id), "codelet");
    return id;
  }
};

// Memory that devices copy from and to without a stop, of floats.
class Pinned {
 public:
  Pinned(const Machine &m, uint64_t floats) : m_(m), n_(floats) {
    void *p = nullptr;
    must(consort_malloc(m, floats * sizeof(float), CONSORT_MALLOC_PINNED, &p), "pinned memory");
    p_ = static_cast<float *>(p);
  }
  Pinned(const Pinned &) = delete;
  ~Pinned() { consort_free(m_, p_); }
  float *data() const { return p_; }
  uint64_t bytes() const { return n_ * sizeof(float); }
  void fill(float value) const { std::fill_n(p_, n_, value); }
  consort_data_id registered() const {
    consort_data_id d{0};
    must(consort_register_vector(m_, p_, n_, sizeof(float), &d), "register");
    return d;
  }

 private:
  const Machine &m_;
  const uint64_t n_;
  float *p_ = nullptr;
};

inline void submit(const Machine &m, consort_codelet_id codelet, const std::vector<consort_use> &uses, uint32_t times) {
  const consort_arg arg{CONSORT_ARG_SCALAR, sizeof times, {0, 0}, 0, times};
  consort_task_desc t = CONSORT_TASK_INIT;
  t.codelet = codelet;
  t.uses = uses.data();
  t.nuses = static_cast<uint32_t>(uses.size());
  t.args = &arg;
  t.nargs = 1;
  must(consort_submit(m, &t, nullptr), "submit");
}

// How often a kernel's loop turns until it takes about `ns` over `n` elements, by hand.
uint32_t times_for(Peer &peer, uint64_t n, double ns);

// The cases. Each prints its rows; what this device lacks is said on stderr, and left out.
void launches(const Device &);
void copies(const Device &);
void overlap(const Device &);
void limited(const Device &);
void cholesky(const Device &);

}  // namespace bench::gpu
