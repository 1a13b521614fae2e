// late_binding_prefetch.hpp — LateBinding: prefetch for successors that are not ready yet, while units are idle.
// Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <atomic>
#include <mutex>

namespace policies {

// Makes the host record the locations of new tasks' data, if there are several memories.
inline void LateBinding::request_location_records(const WorkerGroups &served, const consort_task *first) noexcept {
  const bool apart = std::any_of(served.spaces.begin(), served.spaces.end(), [&](uint32_t s) { return s != served.spaces[0]; });
  if (models_ && apart && !records_requested_.exchange(true, std::memory_order_relaxed))
    models_->prefetch(host_, first, CONSORT_NONE, 0);
}

// Called for a popped task when no other task waits. Its successors will go to fast units that are free when it ends, in order of
// rank, up to ahead_ tasks per unit. Data that such a successor writes are prefetched there unless a fast unit has them: when the
// successor becomes ready, links are busy. Must be called before the task is returned: then it is unfinished, and so are its
// successors.
inline void LateBinding::prefetch_successors(const WorkerGroups &served, const consort_task *task, double now, double end) noexcept {
  constexpr uint32_t kNext = 16, kUnits = 64;
  const consort_task *next[kNext];
  const uint32_t n = std::min(kNext, models_->successors(host_, task, next, kNext));
  std::pair<float, const consort_task *> order[kNext];
  for (uint32_t i = 0; i < n; ++i) {  // insertion sort: std::stable_sort allocates, and pop() must not
    const std::pair<float, const consort_task *> one{graph_.rank(next[i], host_, models_), next[i]};
    uint32_t at = i;
    for (; at > 0 && order[at - 1].first < one.first; --at) order[at] = order[at - 1];
    order[at] = one;
  }
  struct Wish {
    const consort_task *task;
    uint32_t space;
    uint64_t fast_groups;
  } wishes[kNext];
  uint32_t nwishes = 0;
  {
    const std::lock_guard guard(lock_);
    const auto nunits = static_cast<uint32_t>(std::min<std::size_t>(served.order.size(), kUnits));
    bool free[kUnits];
    for (uint32_t u = 0; u < nunits; ++u) {
      const double at = free_at(served.order[u], now);  // 0: unknown
      free[u] = at > 0 && at <= end;
    }
    uint32_t unit = nunits, more = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const Kind *const k = kinds_.find(order[i].second);
      if (!k || !k->known()) continue;
      const auto is_fast = [&](uint32_t u) { return k->fast_on(served.group_of[served.order[u]]); };
      if (!more || !is_fast(unit)) {
        for (unit = 0; unit < nunits && !(free[unit] && is_fast(unit));) ++unit;
        if (unit == nunits) break;
        free[unit] = false;
        more = ahead_;
      }
      --more;
      wishes[nwishes++] = {order[i].second, served.groups[served.group_of[served.order[unit]]].space, k->fast_groups};
    }
  }
  const auto ngroups = static_cast<uint32_t>(std::min<std::size_t>(served.groups.size(), TaskKinds::kGroups));
  for (uint32_t i = 0; i < nwishes; ++i) {
    uint64_t lacks[TaskKinds::kGroups];
    const uint64_t changed = changed_by(wishes[i].task);
    lacking_(host_, &wishes[i].task, 1, served.spaces.data(), ngroups, lacks);
    bool there = !changed;
    for (uint32_t g = 0; g < ngroups; ++g) there |= (wishes[i].fast_groups >> g & 1) && !(lacks[g] & changed);
    if (!there) models_->prefetch(host_, wishes[i].task, wishes[i].space, 0);
  }
}

}  // namespace policies
