// estimates.hpp — answers of the host's models for a few tasks on every group of workers. Lives on the stack of a push;
// queried without a lock. Without models (no consort.sched/1) times are NaN and `where` decides.
#pragma once
#include <bit>
#include <cmath>

#include "worker_groups.hpp"

namespace policies {

class Estimates {
 public:
  static constexpr uint32_t kTasks = 16;
  static constexpr uint32_t kRoom = 1024;  // maximum number of answers

  struct Wanted {
    bool transfer = false, energy = false;
  };

  // Number of the n tasks that fit.
  static uint32_t fit(const WorkerGroups &served, uint32_t n) noexcept {
    const auto groups = static_cast<uint32_t>(served.asked.size());
    return std::min({n, kTasks, groups ? std::max(1u, kRoom / groups) : n});
  }

  // Requires groups <= kRoom and n from fit().
  void ask(const consort_host *host, const consort_sched_host *models, const WorkerGroups &served, consort_task *const *tasks,
           uint32_t n, Wanted wanted) noexcept {
    stride_ = static_cast<uint32_t>(served.asked.size());
    const uint32_t all = n * stride_;
    for (uint32_t i = 0; i < all; ++i) exec_[i] = NAN, transfer_[i] = 0, energy_[i] = 0;
    if (!models || stride_ == 0) {
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t g = 0; g < stride_; ++g) mask_[t * stride_ + g] = served.can(tasks[t], g);
      return;
    }
    const auto *in = const_cast<const consort_task *const *>(tasks);
    models->can_execute(host, in, n, served.asked.data(), stride_, mask_);
    models->expected_ns(host, in, n, served.asked.data(), stride_, CONSORT_NONE, exec_);
    if (wanted.transfer) models->transfer_ns(host, in, n, served.spaces.data(), stride_, transfer_);
    if (wanted.energy) models->energy_uj(host, in, n, served.asked.data(), stride_, CONSORT_NONE, energy_);
    for (uint32_t i = 0; i < all; ++i) {
      if (!(transfer_[i] > 0)) transfer_[i] = 0;  // also NaN: unknown counts as no cost
      if (!(energy_[i] > 0)) energy_[i] = 0;
      if (!(exec_[i] >= 0)) exec_[i] = NAN;
    }
  }

  uint64_t mask(uint32_t t, uint32_t g) const noexcept { return mask_[t * stride_ + g]; }
  float exec(uint32_t t, uint32_t g) const noexcept { return exec_[t * stride_ + g]; }
  float transfer(uint32_t t, uint32_t g) const noexcept { return transfer_[t * stride_ + g]; }
  float energy(uint32_t t, uint32_t g) const noexcept { return energy_[t * stride_ + g]; }

 private:
  uint32_t stride_ = 0;
  uint64_t mask_[kRoom];  // implementations; 0: not eligible
  float exec_[kRoom], transfer_[kRoom], energy_[kRoom];
};

// A time as consort_sched_host::decided takes it. A model may answer infinity, which leaves the end unknown: 0.
inline uint64_t expected_end(double ns) noexcept { return ns > 0 && ns < 0x1p63 ? static_cast<uint64_t>(ns) : 0; }

// Chooses among implementations: first those without a known time, in turn, then the fastest. CONSORT_NONE:
// there is no choice.
inline uint32_t best_impl(const consort_host *host, const consort_sched_host *models, const consort_task *t,
                          uint32_t worker, uint64_t mask, uint32_t turn) noexcept {
  if (!models || std::popcount(mask) < 2) return CONSORT_NONE;
  uint32_t best = CONSORT_NONE, unknown[64], nunknown = 0;
  float least = 0;
  for (uint64_t left = mask; left; left &= left - 1) {
    const auto impl = static_cast<uint32_t>(std::countr_zero(left));
    float ns = NAN;
    models->expected_ns(host, &t, 1, &worker, 1, impl, &ns);
    if (!(ns >= 0)) unknown[nunknown++] = impl;
    else if (best == CONSORT_NONE || ns < least) best = impl, least = ns;
  }
  return nunknown ? unknown[turn % nunknown] : best;
}

}  // namespace policies
