// late_binding_prefetch.hpp — Late, the part that has data brought for tasks that are not ready yet, while units have nothing to do.
// Included by late_binding.hpp.
#pragma once
#include <algorithm>

namespace policies {

// From here on the host keeps records of where the data of new tasks are, if there are several memories.
inline void Late::wants_records(const Crew &crew, const consort_task *first) noexcept {
  const bool apart = std::any_of(crew.spaces.begin(), crew.spaces.end(), [&](uint32_t s) { return s != crew.spaces[0]; });
  if (models_ && apart && !told_.exchange(true, std::memory_order_relaxed))
    models_->prefetch(host_, first, CONSORT_NONE, 0);
}

// This task has just been taken, and nothing else waits: what follows it will go to those that do it well and are free when
// it ends, those on which most hangs first, as many to each as it is given at once. What such a task changes is brought
// there now, if none of those has it: when the task is ready the way will be crowded. To be called before the task is
// handed out, for then it has not ended, and so none of these has.
inline void Late::bring_ahead(const Crew &crew, const consort_task *task, double now, double end) noexcept {
  constexpr uint32_t kNext = 16, kUnits = 64;
  const consort_task *next[kNext];
  const uint32_t n = std::min(kNext, models_->successors(host_, task, next, kNext));
  std::pair<float, const consort_task *> order[kNext];
  for (uint32_t i = 0; i < n; ++i) {  // sorted in place: std::stable_sort allocates, and pop() may not
    const std::pair<float, const consort_task *> one{graph_.rank(next[i], host_, models_), next[i]};
    uint32_t at = i;
    for (; at > 0 && order[at - 1].first < one.first; --at) order[at] = order[at - 1];
    order[at] = one;
  }
  struct Wish {
    const consort_task *task;
    uint32_t space;
    uint64_t homes;
  } wishes[kNext];
  uint32_t nwishes = 0;
  {
    const std::lock_guard guard(lock_);
    const auto nunits = static_cast<uint32_t>(std::min<std::size_t>(crew.order.size(), kUnits));
    bool free[kUnits];
    for (uint32_t u = 0; u < nunits; ++u) {
      const double at = free_at(crew.order[u], now);  // 0: nobody knows
      free[u] = at > 0 && at <= end;
    }
    uint32_t unit = nunits, more = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const Kind *const k = kinds_.find(order[i].second);
      if (!k || !k->known()) continue;
      const auto is_home = [&](uint32_t u) { return k->at_home(crew.group_of[crew.order[u]]); };
      if (!more || !is_home(unit)) {
        for (unit = 0; unit < nunits && !(free[unit] && is_home(unit));) ++unit;
        if (unit == nunits) break;
        free[unit] = false;
        more = ahead_;
      }
      --more;
      wishes[nwishes++] = {order[i].second, crew.groups[crew.group_of[crew.order[unit]]].space, k->homes};
    }
  }
  const auto ngroups = static_cast<uint32_t>(std::min<std::size_t>(crew.groups.size(), Kinds::kGroups));
  for (uint32_t i = 0; i < nwishes; ++i) {
    uint64_t lacks[Kinds::kGroups];
    const uint64_t changed = changed_by(wishes[i].task);
    lacking_(host_, &wishes[i].task, 1, crew.spaces.data(), ngroups, lacks);
    bool there = !changed;
    for (uint32_t g = 0; g < ngroups; ++g) there |= (wishes[i].homes >> g & 1) && !(lacks[g] & changed);
    if (!there) models_->prefetch(host_, wishes[i].task, wishes[i].space, 0);
  }
}

}  // namespace policies
