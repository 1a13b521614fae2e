// estimates.hpp — what the host's models say of a few tasks on every group of workers. Lives on the stack of a push;
// asked without any lock. A host without models (consort.sched/1 is missing) knows nothing: NaN, and `where` decides.
#pragma once
#include <bit>
#include <cmath>

#include "worker_groups.hpp"

namespace policies {

class Estimates {
 public:
  static constexpr uint32_t kTasks = 16;
  static constexpr uint32_t kRoom = 1024;  // answers at once

  struct Wanted {
    bool transfer = false, energy = false;
  };

  // How many of n tasks fit.
  static uint32_t fit(const Crew &crew, uint32_t n) noexcept {
    const auto groups = static_cast<uint32_t>(crew.asked.size());
    return std::min({n, kTasks, groups ? std::max(1u, kRoom / groups) : n});
  }

  // groups <= kRoom. n as fit() says.
  void ask(const consort_host *host, const consort_sched_host *models, const Crew &crew, consort_task *const *tasks,
           uint32_t n, Wanted wanted) noexcept {
    stride_ = static_cast<uint32_t>(crew.asked.size());
    const uint32_t all = n * stride_;
    for (uint32_t i = 0; i < all; ++i) exec_[i] = NAN, transfer_[i] = 0, energy_[i] = 0;
    if (!models || stride_ == 0) {
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t g = 0; g < stride_; ++g) mask_[t * stride_ + g] = crew.can(tasks[t], g);
      return;
    }
    const auto *in = const_cast<const consort_task *const *>(tasks);
    models->can_execute(host, in, n, crew.asked.data(), stride_, mask_);
    models->expected_ns(host, in, n, crew.asked.data(), stride_, CONSORT_NONE, exec_);
    if (wanted.transfer) models->transfer_ns(host, in, n, crew.spaces.data(), stride_, transfer_);
    if (wanted.energy) models->energy_uj(host, in, n, crew.asked.data(), stride_, CONSORT_NONE, energy_);
    for (uint32_t i = 0; i < all; ++i) {
      if (!(transfer_[i] > 0)) transfer_[i] = 0;  // NaN as well: not known is no reason to go elsewhere
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
  uint64_t mask_[kRoom];  // of implementations; 0: not there
  float exec_[kRoom], transfer_[kRoom], energy_[kRoom];
};

// Which of several implementations: the fastest, but first those of which nothing is known, by turns. CONSORT_NONE:
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
