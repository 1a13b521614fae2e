// late_binding_search.hpp — Late, the part that chooses for a unit among what it does as fast as any. Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <limits>

namespace policies {

// Known nowhere: whoever comes. Not known here: a few at a time, so that it is.
inline Late::Found Late::unknown(uint32_t g) noexcept {
  Found best;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.can(g) || k.known_at(g) || (k.known() && k.learning[g] >= 2)) continue;
    Node *n = k.ready.front();
    if (!best.node || more_urgent(n, best.node)) best = {n, i};
  }
  return best;
}

inline double square(double x) noexcept { return x * x; }

inline Late::Search::Search(Late &late, const Crew &crew, uint32_t group, double now, int32_t priority, double near,
                            uint32_t look, double beta) noexcept
    : late_(late),
      group_(group),
      space_(crew.groups[group].space),
      look_(std::min(look, kLook)),
      priority_(priority),
      weight_(beta * (1 + near * square(late.waits_of(crew, group).share()))),
      stays_(late.is_full(space_) ? 0 : kStays * late.pace(group)),
      crowd_(late.crowd_ - 1),
      urgent_(crowd_ > 0 ? 1 / (kUrgent * std::max(1.0, late.left_ns(crew, now))) : 0),
      score_(-std::numeric_limits<double>::max()) {}

// Little is free: what is brought there drives something else out.
inline bool Late::is_full(uint32_t space) const noexcept {
  constexpr uint64_t kLittle = 16;
  consort_room room{};
  if (models_) models_->room(host_, &space, 1, &room);
  const uint64_t taken = std::min(room.capacity, room.reserved + room.evictable);
  return room.capacity && room.capacity - taken < room.capacity / kLittle;
}

// Of its way, what `ns` of copies and the loss of what stays elsewhere count.
inline double Late::Search::cost(const Node *n, double ns) const noexcept {
  if (n->stays && !(n->stays >> group_ & 1)) ns += n->changes * stays_;
  return ns > 0 ? ns * (1 + crowd_ * std::max(0.0, 1 - n->rank * urgent_)) : 0;
}

inline void Late::Search::look_at(uint32_t kind, double floor) noexcept {
  constexpr uint32_t kAtOnce = 4, kFew = 8;
  const uint32_t at_most = stays_ > 0 ? kAsked : kLook;  // where memory is short what it lacks decides
  const Ready &ready = late_.kinds_[kind].ready;
  const double least = std::max(score_, floor);
  Node *some[kLook];
  double most[kLook];  // the score if all that it only reads is there: no more than its rank
  uint32_t have = 0, n = 0;
  const auto reaches = [&](uint32_t j) {  // is there a j-th, and may it be better than what there was before?
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
    if (late_.models_) late_.models_->transfer_ns(late_.host_, tasks, m, &space_, 1, ns);
    for (uint32_t x = 0; x < m; ++x)
      if (const double s = asked[x]->rank - cost(asked[x], ns[x] > 0 ? ns[x] * weight_ : 0); s > score_)
        score_ = s, best = {asked[x], kind};
    m = 0;
  };
  // The way counts against it: nothing behind can be better once a rank is no more than the score.
  uint32_t first = 0;
  for (uint32_t j = 0; reaches(j) && some[j]->rank > most[first]; ++j)
    if (most[j] > most[first]) first = j;
  for (uint32_t j = 0; j < n; ++j) __builtin_prefetch(some[j]->task->access);
  if (n && most[first] > score_) ask(first), answer();  // the most promising, so that few others are asked about
  for (uint32_t j = 0, all = 1; all < at_most && reaches(j) && some[j]->rank > score_; ++j) {
    if (j != first && most[j] > score_) ask(j), ++all;
    if (m == kAtOnce) answer();
  }
  if (m) answer();
}

// Those that have nothing from here and nothing else either, such as tasks that were bound to them.
inline uint32_t Late::idle_in(const Crew &crew, uint32_t g) const noexcept {
  constexpr uint32_t kMost = 64;
  uint32_t some[kMost], n = 0;
  for (uint32_t i = 0; i < std::min<std::size_t>(crew.words, idle_bits_.size()); ++i)
    for (uint64_t idle = crew.masks[g * crew.words + i] & idle_bits_[i]; idle && n < kMost; idle &= idle - 1)
      some[n++] = i * 64 + static_cast<uint32_t>(std::countr_zero(idle));
  float load[kMost] = {};
  if (n) models_->load_ns(host_, some, n, load);
  return static_cast<uint32_t>(std::count_if(load, load + n, [](float ns) { return !(ns > 0); }));
}

// Whoever is named here was woken when it was pushed, or looks for work by itself: nobody waits for one that sleeps.
inline bool Late::awaits_quicker(const Crew &crew, const Kind &k, uint32_t worker, double now) const noexcept {
  constexpr double kClear = 0.97;  // of units that differ by less either will do
  const uint32_t g = crew.group_of[worker];
  const consort_task *const t = k.ready.front()->task;
  if (!std::any_of(idle_.begin(), idle_.end(), [](int32_t n) { return n > 0; })) return false;
  const double here = k.ns[g] + std::max(0.0, free_at(worker, now) - now);
  uint32_t idle = 0;
  for (uint32_t o = 0; o < crew.groups.size() && o < Kinds::kGroups; ++o) {
    if ((o == g && !nout_[worker]) || !(k.ns[o] > 0 && k.ns[o] < here * kClear)) continue;
    if (o >= idle_.size() || idle_[o] <= 0) continue;
    const uint32_t spaces[2] = {crew.groups[g].space, crew.groups[o].space};
    float way[2] = {};
    if (o != g) models_->transfer_ns(host_, &t, 1, spaces, 2, way);
    if (k.ns[o] + std::max(way[1], 0.0f) < here + std::max(way[0], 0.0f)) idle += idle_in(crew, o);
  }
  return k.nready <= idle && (!nout_[worker] || asks_again(worker));
}

inline Late::Found Late::most_urgent(const Crew &crew, uint32_t worker, double now, double near, uint32_t look,
                                     double beta) noexcept {
  const uint32_t g = crew.group_of[worker];
  int32_t priority = std::numeric_limits<int32_t>::min();
  bool alike = true, any = false;  // alike: nobody said what is more urgent
  for (Kind &k : kinds_.all()) {
    k.open = k.nready && k.can(g) && k.at_home(g) && !awaits_quicker(crew, k, worker, now);
    if (!k.open) continue;
    const int32_t its = k.ready.front()->priority;
    alike &= priority == std::numeric_limits<int32_t>::min() || its == priority;
    priority = std::max(priority, its);
    any = true;
  }
  if (!any) {  // nothing to weigh; but prices go on from what they were, so they are asked as often whoever comes
    if (crowd_ > 1) left_ns(crew, now);
    return {};
  }
  Search s(*this, crew, g, now, priority, near, look, beta);
  bool leaves = false;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    if (!kinds_[i].open) continue;
    const double floor = alike ? floor_of(crew, kinds_[i], g, now) : -1;
    leaves |= floor >= 0;
    s.look_at(i, floor);
  }
  // Before it does nothing, it does what others were to do.
  for (uint32_t i = 0; leaves && !s.best.node && !nout_[worker] && i < kinds_.all().size(); ++i)
    if (kinds_[i].open) s.look_at(i, -1);
  return s.best;
}

inline uint32_t Late::vacant(const Crew &crew, const Kind &k) const noexcept {
  uint32_t n = 0;
  for (uint32_t g = 0; g < crew.groups.size() && g < Kinds::kGroups; ++g) {
    if (!k.at_home(g)) continue;
    for (uint32_t i = crew.groups[g].first; i < crew.groups[g].first + crew.groups[g].count; ++i)
      if (const uint32_t nout = nout_[crew.order[i]]; nout < ahead_) n += ahead_ - nout;
  }
  return n;
}

}  // namespace policies
