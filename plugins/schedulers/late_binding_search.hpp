// late_binding_search.hpp — LateBinding: choice among the kinds that a unit runs as fast as any. Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <bit>
#include <limits>

namespace policies {

// A task of a kind that models do not know on this group. If no group has a time, any worker takes one. Else one at a time is tried,
// the least urgent one, now and then until the models know.
inline LateBinding::Found LateBinding::unknown(uint32_t g, double now) noexcept {
  Found best;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.can(g) || (k.known() && k.learning[g] >= 1)) continue;
    if (k.known_at(g) && !(k.guessed >> g & 1 && now >= k.try_again[g])) continue;
    Node *n = k.known() ? k.ready.back() : k.ready.front();
    if (!best.node || more_urgent(n, best.node)) best = {n, i};
  }
  return best;
}

inline double square(double x) noexcept { return x * x; }

inline LateBinding::Search::Search(LateBinding &late, const WorkerGroups &served, uint32_t worker, double now, int32_t priority, double near,
                            uint32_t look, double beta) noexcept
    : policy_(late),
      served_(served),
      now_(now),
      worker_(worker),
      group_(served.group_of[worker]),
      space_(served.groups[group_].space),
      look_(std::min(look, kLook)),
      may_leave_(!late.all_idle(served)),
      priority_(priority),
      weight_(beta * (1 + near * square(late.stalls_of(served, group_).share()))),
      stays_(late.is_full(space_) ? 0 : kStays * late.ns_per_byte(group_)),
      congestion_(late.congestion_ - 1),
      urgent_(congestion_ > 0 ? 1 / (kUrgent * std::max(1.0, late.remaining_ns(served, now))) : 0),
      score_(-std::numeric_limits<double>::max()) {}

// Whether a space is nearly full, so that each copy to it evicts another.
inline bool LateBinding::is_full(uint32_t space) const noexcept {
  constexpr uint64_t kLittle = 16;
  consort_room room{};
  if (models_) models_->room(host_, &space, 1, &room);
  const uint64_t taken = std::min(room.capacity, room.reserved + room.evictable);
  return room.capacity && room.capacity - taken < room.capacity / kLittle;
}

// Weighted transfer cost: `ns` of copies, plus the loss if written data leave the place where they are.
inline double LateBinding::Search::cost(const Node *n, double ns) const noexcept {
  if (n->stays && !(n->stays >> group_ & 1)) ns += n->changes * stays_;
  return ns > 0 ? ns * (1 + congestion_ * std::max(0.0, 1 - n->rank * urgent_)) : 0;
}

inline void LateBinding::Search::look_at(uint32_t kind, double floor) noexcept {
  constexpr uint32_t kAtOnce = 4, kFew = 8;
  const uint32_t at_most = stays_ > 0 ? kAsked : kLook;  // with little memory the missing data decide
  const Ready &ready = policy_.kinds_[kind].ready;
  const double least = std::max(score_, floor);
  Node *some[kLook];
  double most[kLook];  // score if all data that it only reads are valid here; at most its rank
  uint32_t have = 0, n = 0;
  const auto reaches = [&](uint32_t j) {  // whether there is a j-th task that may beat the best so far
    if (j == n) {
      if (j == have && have < look_) have = ready.first(some, std::min(have ? 2 * have : kFew, look_), have);
      if (j >= have || some[j]->priority != priority_ || some[j]->rank <= least) return false;
      __builtin_prefetch(some[j]->task);
      most[n++] = some[j]->rank - cost(some[j], 0);
    }
    return true;
  };
  Node *asked[kAtOnce];
  const consort_task *tasks[kAtOnce];
  uint32_t m = 0;
  const auto ask = [&](uint32_t j) { asked[m] = some[j], tasks[m++] = some[j]->task; };
  const auto answer = [&] {
    float ns[kAtOnce] = {};
    if (policy_.models_) policy_.models_->transfer_ns(policy_.host_, tasks, m, &space_, 1, ns);
    for (uint32_t x = 0; x < m; ++x) {
      if (may_leave_ && policy_.ends_sooner_at_home(served_, asked[x], worker_, policy_.kinds_[kind].ns[group_], ns[x], now_)) continue;
      if (const double s = asked[x]->rank - cost(asked[x], ns[x] > 0 ? ns[x] * weight_ : 0); s > score_)
        score_ = s, best = {asked[x], kind};
    }
    m = 0;
  };
  // Transfer lowers a score: the search ends at the first task whose rank does not exceed the best score.
  uint32_t first = 0;
  for (uint32_t j = 0; reaches(j) && some[j]->rank > most[first]; ++j)
    if (most[j] > most[first]) first = j;
  for (uint32_t j = 0; j < n; ++j) __builtin_prefetch(some[j]->task->access);
  if (n && most[first] > score_) ask(first), answer();  // the most promising first, so that few others need a query
  for (uint32_t j = 0, all = 1; all < at_most && reaches(j) && some[j]->rank > score_; ++j) {
    if (j != first && most[j] > score_) ask(j), ++all;
    if (m == kAtOnce) answer();
  }
  if (m) answer();
}

// Idle workers of the group: without tasks of this policy and without other load, such as tasks bound to them.
inline uint32_t LateBinding::idle_in(const WorkerGroups &served, uint32_t g) const noexcept {
  constexpr uint32_t kMost = 64;
  uint32_t some[kMost], n = 0;
  for (uint32_t i = 0; i < std::min<std::size_t>(served.words, idle_bits_.size()); ++i)
    for (uint64_t idle = served.masks[g * served.words + i] & idle_bits_[i]; idle && n < kMost; idle &= idle - 1)
      some[n++] = i * 64 + static_cast<uint32_t>(std::countr_zero(idle));
  float load[kMost] = {};
  if (n) models_->load_ns(host_, some, n, load);
  return static_cast<uint32_t>(std::count_if(load, load + n, [](float ns) { return ns == 0; }));
}

// Units of the group that have work, and end it within `ns`; counts up to `most`.
inline uint32_t LateBinding::free_before(const WorkerGroups &served, uint32_t g, double now, double ns, uint32_t most) const noexcept {
  const Group &group = served.groups[g];
  uint32_t n = 0;
  for (uint32_t i = group.first; i < group.first + group.count && n < most; ++i) {
    const uint32_t worker = served.order[i];
    if (!npopped_[worker]) continue;
    const double end = free_at(worker, now);
    n += end > 0 && end - now < ns;
  }
  return n;
}

// Idle units counted here were woken by the push and have not popped since, or search for work: the decision never depends on a
// sleeping unit, though transfer times change between two pops and each of two units may think the other one sooner. A worker
// that has work leaves a task also to units that are busy, if they end it sooner: it pops again.
inline bool LateBinding::leaves_to_faster(const WorkerGroups &served, const Kind &k, uint32_t worker, double now) const noexcept {
  constexpr double kClear = 0.97;  // smaller differences between units do not count
  const uint32_t g = served.group_of[worker];
  const bool ahead = !is_idle(worker);
  const auto ngroups = static_cast<uint32_t>(
      std::min({served.groups.size(), k.ns.size(), idle_.size(), std::size_t{TaskKinds::kGroups}}));
  uint32_t groups[TaskKinds::kGroups], spaces[TaskKinds::kGroups], n = 0, most = 0;
  for (uint32_t o = 0; o < ngroups; ++o) {
    if (!k.known_at(o) || (!ahead && (o == g || !k.fast_on(o) || idle_[o] <= 0 || k.declined >> o & 1))) continue;
    groups[n] = o, spaces[n++] = served.groups[o].space;
    most += ahead ? served.groups[o].count : static_cast<uint32_t>(idle_[o]);
  }
  if (k.nready > most) return false;
  if (!ahead && g < k.homes.size() && k.homes[g]) return false;  // the faster unit may leave these to this one
  const consort_task *const t = k.ready.front()->task;
  const double wait = std::max(0.0, free_at(worker, now) - now);
  float way[TaskKinds::kGroups] = {};
  models_->transfer_ns(host_, &t, 1, &served.groups[g].space, 1, way);
  const double here = (std::max<double>(wait, way[0]) + k.ns[g]) * kClear;
  way[0] = 0;
  const auto sooner = [&] {  // units that end a task sooner, up to the number of tasks
    uint32_t units = 0;
    for (uint32_t i = 0; i < n && units < k.nready; ++i) {
      const uint32_t o = groups[i];
      const double left = here - k.ns[o] - std::max(way[i], 0.0f);
      if (left <= 0) continue;
      if (idle_[o] > 0) units += idle_in(served, o);
      if (ahead) units += free_before(served, o, now, left, k.nready);
    }
    return units;
  };
  if (sooner() < k.nready) return false;  // even if all data are there: spares the query
  models_->transfer_ns(host_, &t, 1, spaces, n, way);
  return sooner() >= k.nready;
}

inline LateBinding::Found LateBinding::most_urgent(const WorkerGroups &served, uint32_t worker, double now, double near, uint32_t look,
                                     double beta) noexcept {
  const uint32_t g = served.group_of[worker];
  int32_t priority = std::numeric_limits<int32_t>::min();
  bool alike = true, any = false;  // alike: all priorities are equal
  for (Kind &k : kinds_.all()) {
    k.open = k.nready && k.can(g) && k.fast_on(g) && !leaves_to_faster(served, k, worker, now);
    if (!k.open) continue;
    const int32_t its = k.ready.front()->priority;
    alike &= priority == std::numeric_limits<int32_t>::min() || its == priority;
    priority = std::max(priority, its);
    any = true;
  }
  if (!any) {  // nothing to choose; updates the prices, whose iteration depends on the number of calls
    if (congestion_ > 1) remaining_ns(served, now);
    return {};
  }
  Search s(*this, served, worker, now, priority, near, look, beta);
  bool leaves = false;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    if (!kinds_[i].open) continue;
    const double floor = alike ? rank_floor(served, kinds_[i], g, now) : -1;
    leaves |= floor >= 0;
    s.look_at(i, floor);
  }
  // Takes a task left to others rather than being idle.
  for (uint32_t i = 0; leaves && !s.best.node && is_idle(worker) && i < kinds_.all().size(); ++i)
    if (kinds_[i].open) s.look_at(i, -1);
  return s.best;
}

inline uint32_t LateBinding::vacant(const WorkerGroups &served, const Kind &k, double ns, double now) const noexcept {
  uint32_t n = 0;
  for (uint32_t g = 0; g < served.groups.size() && g < TaskKinds::kGroups; ++g) {
    if (!k.fast_on(g)) continue;
    for (uint32_t i = served.groups[g].first; i < served.groups[g].first + served.groups[g].count; ++i) {
      const uint32_t worker = served.order[i];
      double end = std::max(now, free_at(worker, now)) - now + k.ns[g];
      for (uint32_t npopped = npopped_[worker]; npopped < ahead_ && end <= ns; ++npopped, end += k.ns[g]) ++n;
    }
  }
  return n;
}

}  // namespace policies
