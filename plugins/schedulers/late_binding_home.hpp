// late_binding_home.hpp — LateBinding: the group at which a ready task ends first with the data where they are, its home.
// Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <bit>
#include <limits>

namespace policies {

// Time until a unit of the group is free, of the first few. Under the lock.
inline double LateBinding::busy_ns(const WorkerGroups &served, uint32_t g, double now) const noexcept {
  constexpr uint32_t kSampled = 8;
  if (g < idle_.size() && idle_[g] > 0) return 0;
  double least = std::numeric_limits<double>::max();
  const Group &group = served.groups[g];
  for (uint32_t i = group.first; i < group.first + std::min(group.count, kSampled); ++i)
    least = std::min(least, std::max(0.0, free_at(served.order[i], now) - now));
  return group.count ? least : 0;
}

// The home is one of the groups with about the least sum of run time and transfer: of these, the one with the least expected end.
// Work at home counts per unit. Under the lock.
inline void LateBinding::settle_home(const WorkerGroups &served, Kind &k, Node *n, const uint64_t *lacks, double now) noexcept {
  constexpr float kAlike = 1.25f;
  const consort_task *t = n->task;
  const auto ngroups =
      static_cast<uint32_t>(std::min({served.groups.size(), k.ns.size(), home_ns_.size(), std::size_t{TaskKinds::kGroups}}));
  if (!urgency_.homes || !k.known() || k.lacks || ngroups < 2) return;
  float way[TaskKinds::kGroups], least = std::numeric_limits<float>::max();
  for (uint32_t g = 0; g < ngroups; ++g) {
    if (!k.known_at(g)) continue;
    way[g] = 0;
    for (uint64_t left = lacks[g]; left; left &= left - 1)
      way[g] += static_cast<float>(t->access[std::countr_zero(left)].datum->bytes) * ns_per_byte_[g];
    least = std::min(least, way[g] + k.ns[g]);
  }
  double soonest = std::numeric_limits<double>::max();
  for (uint32_t g = 0; g < ngroups; ++g) {
    if (!k.known_at(g) || way[g] + k.ns[g] > least * kAlike) continue;
    const double end = std::max<double>(way[g], busy_ns(served, g, now) + home_ns_[g] / served.groups[g].count) + k.ns[g];
    if (end < soonest) soonest = end, n->home = g;
  }
  if (n->home == CONSORT_NONE) return;
  n->exec = k.ns[n->home];
  n->home_way = way[n->home];
  n->group_change = groups_change_;
  home_ns_[n->home] += n->exec;
  ++k.homes[n->home];
}

// The node is about to leave its kind's queue. Under the lock.
inline void LateBinding::leave_home(Kind &k, Node *n) noexcept {
  if (!has_home(n)) return;
  home_ns_[n->home] = std::max(0.0, home_ns_[n->home] - n->exec);
  --k.homes[n->home];
  n->home = CONSORT_NONE;
}

// Whether the task ends sooner at its home, even after all work there, than at this worker. Under the lock.
inline bool LateBinding::ends_sooner_at_home(const WorkerGroups &served, const Node *n, uint32_t worker, double ns, double way,
                                             double now) const noexcept {
  const uint32_t g = served.group_of[worker];
  if (!(way > 0) || !has_home(n) || n->home == g) return false;
  const double here = std::max(way, free_at(worker, now) - now) + ns;
  if (n->home_way + n->exec >= here) return false;
  return busy_ns(served, n->home, now) + home_ns_[n->home] / served.groups[n->home].count < here;
}

// The first task of a kind that has its home at this group of slow units.
inline LateBinding::Found LateBinding::task_at_home(uint32_t g) noexcept {
  constexpr uint32_t kFew = 32;
  Found best;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || g >= k.homes.size() || !k.homes[g] || k.fast_on(g)) continue;
    Node *some[kFew];
    const uint32_t n = k.ready.first(some, kFew);
    for (uint32_t j = 0; j < n; ++j) {
      if (some[j]->home != g || !has_home(some[j])) continue;
      if (!best.node || more_urgent(some[j], best.node)) best = {some[j], i};
      break;
    }
  }
  return best;
}

}  // namespace policies
