// late_binding_remaining.hpp — LateBinding: estimate of the remaining time, and the tasks that slow units may take within it.
// Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>

namespace policies {

inline LateBinding::Found LateBinding::slack_task(const WorkerGroups &served, uint32_t g, double now, double slack) noexcept {
  constexpr double kArrivals = 2;  // more tasks become ready meanwhile
  Found best;
  double loss = std::numeric_limits<double>::max(), left = -1;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.known_at(g) || k.fast_on(g)) continue;
    const double l = k.ns[g] / k.best_ns;
    if (l >= loss) continue;
    Node *n = k.ready.back();
    if (left < 0) left = remaining_ns(served, now) * slack;
    const auto [way, fast_way] = ways(served, k, n->task, g);
    const double takes = k.ns[g] + n->rank - k.best_ns, drained = drained_ns(served, k) + fast_way, here = k.ns[g] + way;
    // Its end if it waits for a fast unit: it is the last of them.
    const double turn = slack > 0 ? std::max<double>(drained, k.best_ns + fast_way) : 0;
    if (takes + way > left && here > turn) continue;
    if (takes > longest_ && k.ns[g] > kArrivals * drained) continue;
    if (k.nready <= vacant(served, k, here - fast_way, now)) continue;  // faster units end all of them before
    best = {n, i}, loss = l;
  }
  return best;
}

// Transfer times of a task to the group, and the shortest to a group that is fast on the kind.
inline std::pair<double, double> LateBinding::ways(const WorkerGroups &served, const Kind &k, const consort_task *t, uint32_t g) const noexcept {
  if (!models_) return {0, 0};
  uint32_t spaces[TaskKinds::kGroups + 1] = {served.groups[g].space}, n = 1;
  for (uint32_t o = 0; o < served.groups.size() && o < TaskKinds::kGroups; ++o)
    if (k.fast_on(o)) spaces[n++] = served.groups[o].space;
  float way[TaskKinds::kGroups + 1] = {};
  models_->transfer_ns(host_, &t, 1, spaces, n, way);
  return {std::max(0.0f, way[0]), n > 1 ? std::max(0.0f, *std::min_element(way + 1, way + n)) : 0};
}

// Time in which the units that are fast on the kind run the ready tasks: a slow unit that takes longer lets them stand idle, if
// what follows waits for all of these tasks.
inline double LateBinding::drained_ns(const WorkerGroups &served, const Kind &k) const noexcept {
  double work = k.best_ns, units = 0;
  for (const Kind &other : kinds_.all())
    if (other.fast_groups & k.fast_groups) work += static_cast<double>(other.nready) * other.best_ns;
  for (uint32_t g = 0; g < served.groups.size() && g < TaskKinds::kGroups; ++g)
    if (k.fast_on(g)) units += served.groups[g].count;
  return units > 0 ? work / units : 0;
}

// Estimates the remaining time of all known work.
inline double LateBinding::remaining_ns(const WorkerGroups &served, double now) noexcept {
  if (now == remaining_at_) return remaining_total_;  // in virtual time many idle units pop at one time
  const double area = area_ns(served) * deferral_.loose;
  double longest = 0;
  for (const Kind &k : kinds_.all())
    if (k.nready) longest = std::max<double>(longest, k.ready.front()->rank);
  if (remaining_version_ != kinds_.times()) update_all_remaining();
  for (uint32_t w = 0; w < remaining_.size(); ++w) {
    if (w % kSome == 0 && remaining_max_[w / kSome] <= longest) {
      w += kSome - 1;
      continue;
    }
    if (remaining_[w] <= longest || !served.serves(w)) continue;
    const WorkerState &s = states_[w];
    for (uint32_t i = 0; i < npopped_[w]; ++i) {
      const double best = kinds_[s.popped[i].kind].best_ns;
      const double done = i == 0 && s.running ? std::min<double>(now - s.since, s.popped[i].exec) : 0;
      longest = std::max(longest, s.popped[i].rank - best + std::max(0.0, s.popped[i].exec - done));
    }
  }
  remaining_at_ = now;
  longest_ = longest;
  return remaining_total_ = std::max(area, longest);
}

// Upper bound of remaining_ns() for this worker's popped tasks: assumes that none has started.
inline double LateBinding::remaining_of(uint32_t worker) const noexcept {
  double far = 0;
  for (uint32_t i = 0; i < npopped_[worker]; ++i) {
    const Popped &o = states_[worker].popped[i];
    far = std::max(far, o.rank - static_cast<double>(kinds_.all()[o.kind].best_ns) + std::max(0.0f, o.exec));
  }
  return far;
}

// To be called when the worker's popped tasks have changed.
inline void LateBinding::update_remaining(uint32_t worker) noexcept {
  const double before = remaining_[worker], now = remaining_of(worker);
  double &most = remaining_max_[worker / kSome];
  remaining_[worker] = now;
  if (now >= most) {
    most = now;
  } else if (before == most) {
    const auto first = remaining_.begin() + worker / kSome * kSome;
    most = *std::max_element(first, first + std::min<std::ptrdiff_t>(kSome, remaining_.end() - first));
  }
}

inline void LateBinding::update_all_remaining() noexcept {
  std::fill(remaining_max_.begin(), remaining_max_.end(), 0.0);
  for (uint32_t w = 0; w < remaining_.size(); ++w) {
    remaining_[w] = remaining_of(w);
    remaining_max_[w / kSome] = std::max(remaining_max_[w / kSome], remaining_[w]);
  }
  remaining_version_ = kinds_.times();
}

// A kind is left to a class that needs k times as long if its time is worth less than a k-th, as long as that delays nothing: the class
// finishes its waiting tasks long before the end. If units of this group stall for data, the round trip of written data must be
// shorter than the time that all units of the class need per task; otherwise the shared link would become the bottleneck.
inline double LateBinding::rank_floor(const WorkerGroups &served, const Kind &k, uint32_t g, double now) noexcept {
  constexpr double kFlows = 0.05;  // share of stalls up to which links count as free
  const uint32_t mine = served.groups[g].klass;
  const bool flows = stalls_of(served, g).share() <= kFlows;
  double left = -1, floor = -1;
  const std::size_t nclasses = std::min({k.class_ns.size(), served.of_class.size(), std::size_t{kClasses}});
  for (uint32_t c = 0; c < nclasses && mine < nclasses; ++c) {
    if (c == mine || !served.of_class[c] || !(k.class_ns[c] > k.class_ns[mine])) continue;
    const double there_and_back = 2.0 * k.ready.front()->changes * ns_per_byte(g);
    if (!flows && there_and_back > k.class_ns[mine] / static_cast<double>(served.of_class[mine])) return -1;
    if (left < 0) left = remaining_ns(served, now) * deferral_.share;
    if (!priced_ || k.class_ns[c] * price_[c] >= k.class_ns[mine] * price_[mine]) continue;
    const double queue = deferral_.queue * k.nready * k.class_ns[c] / served.of_class[c];
    floor = std::max(floor, left - queue - (k.class_ns[c] - k.best_ns));
  }
  return floor;
}

// Area bound of unstarted tasks: the time of all units together, with each kind where it costs least. A lower bound by dual
// prices of the classes' time: exact for two classes, approximate for more.
inline double LateBinding::area_ns(const WorkerGroups &served) noexcept {
  uint32_t all = 0;
  for (const Kind &k : kinds_.all()) all += k.left;
  if (changes_ != kAlways && changes_ * 64 <= all) return area_;
  changes_ = 0;
  const uint32_t nclasses = static_cast<uint32_t>(std::min<std::size_t>(served.of_class.size(), kClasses));
  if (!priced_) std::fill(price_, price_ + kClasses, 1.0);
  priced_ = true;
  // One row per kind, with an entry per class: ns of one task, and ns per unit for all unstarted tasks.
  uint32_t classes[kClasses], n = 0;
  for (uint32_t c = 0; c < nclasses; ++c)
    if (served.of_class[c]) classes[n++] = c;
  double left[TaskKinds::kMost], *row = rows_.data();
  uint32_t nkinds = 0;
  for (const Kind &k : kinds_.all()) {
    if (!k.left || !k.known()) continue;
    if (nkinds == TaskKinds::kMost) break;  // more kinds are ignored: the bound is a little lower
    left[nkinds++] = k.left;
    for (uint32_t i = 0; i < n; ++i, row += 2) {
      const double ns = classes[i] < k.class_ns.size() ? k.class_ns[classes[i]] : 0;
      row[0] = ns > 0 ? ns : AreaBound::kNever;
      row[1] = k.left * ns / served.of_class[classes[i]];
    }
  }
  double price[kClasses], units[kClasses];
  for (uint32_t i = 0; i < n; ++i) price[i] = price_[classes[i]], units[i] = served.of_class[classes[i]];
  const double best = AreaBound{nkinds, n, left, rows_.data(), units, price}.bound();
  if (best < 0) return area_ = 0;
  for (uint32_t i = 0; i < n; ++i) price_[classes[i]] = price[i];
  // Ratio of transferring all data of all tasks to that time; most data read by many tasks are valid already.
  constexpr double kMostIsThere = 0.2;
  double bytes = 0, pace = 0;
  for (const Kind &k : kinds_.all()) bytes += k.left * static_cast<double>(k.bytes);
  for (const float p : ns_per_byte_) pace = std::max<double>(pace, p);
  const double load = best > 0 ? bytes * pace / best : 0;
  congestion_ = std::max(1.0, kMostIsThere * load * load);
  return area_ = best;
}

}  // namespace policies
