// decide.cpp — Instance, the part that says what a worker is to take. All of it under the lock.
#include <algorithm>
#include <limits>

#include "instance.hpp"

namespace lookahead {
namespace {

constexpr double kFar = std::numeric_limits<double>::max();

bool before(const Node *a, const Node *b) noexcept {
  if (a->priority != b->priority) return a->priority > b->priority;
  if (a->rank != b->rank) return a->rank > b->rank;
  return a->seq < b->seq;
}

}  // namespace

Instance::Found Instance::choose(const Crew &crew, uint32_t worker, double now) noexcept {
  const uint32_t g = crew.group_of[worker];
  if (const Found f = unknown(g); f.node) return f;
  if (const Found f = most_urgent(crew, g); f.node) return f;
  return seats_[worker].nout ? Found{} : costs_nothing(crew, g, now);
}

// Is there anything for an idle one of this group?
bool Instance::would_take(const Crew &crew, uint32_t g, double now) noexcept {
  for (Kind &k : kinds_.all())
    if (k.nready && k.can(g) && k.at_home(g)) return true;
  return unknown(g).node || costs_nothing(crew, g, now).node;
}

// Known nowhere: whoever comes. Not known here: a few at a time, so that it is.
Instance::Found Instance::unknown(uint32_t g) noexcept {
  Found best;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.can(g) || k.known_at(g) || (k.known() && k.learning[g] >= 2)) continue;
    Node *n = k.ready.front();
    if (!best.node || before(n, best.node)) best = {n, i};
  }
  return best;
}

// What hangs on it, less what its data's way here costs: the more, the more units stand still for want of theirs.
Instance::Found Instance::most_urgent(const Crew &crew, uint32_t g) noexcept {
  int32_t priority = std::numeric_limits<int32_t>::min();
  for (const Kind &k : kinds_.all())
    if (k.nready && k.can(g) && k.at_home(g)) priority = std::max(priority, k.ready.front()->priority);
  const double share = waited_ > 0 ? waited_ / (waited_ + worked_) : 0;
  const double weight = 1 + settings_.near * share * share;
  Found best;
  double score = -kFar;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.can(g) || !k.at_home(g)) continue;
    Node *some[kLook];
    const uint32_t n = k.ready.first(some, std::min(settings_.look, kLook), false);
    // The way counts against it, so nothing behind can be better once a rank is no more than the score.
    for (uint32_t j = 0, batch = 1; j < n && some[j]->priority == priority && some[j]->rank > score; batch = 4) {
      const consort_task *tasks[4];
      float ns[4] = {};
      uint32_t m = 0;
      while (m < batch && j + m < n && some[j + m]->priority == priority) tasks[m] = some[j + m]->task, ++m;
      if (models_) models_->transfer_ns(host_, tasks, m, &crew.groups[g].space, 1, ns);
      for (uint32_t x = 0; x < m; ++x, ++j)
        if (const double s = some[j]->rank - (ns[x] > 0 ? ns[x] * weight : 0); s > score)
          score = s, best = {some[j], i};
    }
  }
  return best;
}

// Places that units which do it well have free for it just now.
uint32_t Instance::vacant(const Crew &crew, const Kind &k) const noexcept {
  uint32_t n = 0;
  for (uint32_t g = 0; g < crew.groups.size() && g < Kinds::kGroups; ++g) {
    if (!k.at_home(g)) continue;
    for (uint32_t i = crew.groups[g].first; i < crew.groups[g].first + crew.groups[g].count; ++i)
      if (const Seat &s = seats_[crew.order[i]]; s.nout < settings_.ahead) n += settings_.ahead - s.nout;
  }
  return n;
}

Instance::Found Instance::costs_nothing(const Crew &crew, uint32_t g, double now) noexcept {
  Found best;
  double loss = kFar, left = -1;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.known_at(g) || k.at_home(g)) continue;
    const double l = k.ns[g] / k.best_ns;
    if (l >= loss) continue;
    Node *n = k.ready.back();
    if (left < 0) left = left_ns(crew, now) * settings_.slack;
    if (k.ns[g] + n->rank - k.best_ns > left) continue;
    if (k.nready <= vacant(crew, k)) continue;  // somebody comes for it who does it better
    best = {n, i}, loss = l;
  }
  return best;
}

// How long all that is known takes from now on, at least.
double Instance::left_ns(const Crew &crew, double now) noexcept {
  double longest = 0;
  for (const Kind &k : kinds_.all())
    if (k.nready) longest = std::max<double>(longest, k.ready.front()->rank);
  for (const uint32_t w : crew.order) {
    const Seat &s = seats_[w];
    for (uint32_t i = 0; i < s.nout; ++i) {
      const double best = kinds_[s.out[i].kind].best_ns;
      const double done = i == 0 && s.running ? std::min<double>(now - s.since, s.out[i].exec) : 0;
      longest = std::max(longest, s.out[i].rank - best + std::max(0.0, s.out[i].exec - done));
    }
  }
  return std::max(longest, area_ns());
}

// Of what nobody has taken yet: how long all units together are at work on it, each kind where it costs least. A lower
// bound, by prices of the classes' time: two classes exactly, more of them nearly.
double Instance::area_ns() noexcept {
  uint32_t all = 0;
  for (const Kind &k : kinds_.all()) all += k.left;
  if (changes_ != kAlways && changes_ * 64 <= all) return area_;
  changes_ = 0;
  const uint32_t nclasses = static_cast<uint32_t>(std::min<std::size_t>(class_count_.size(), kClasses));
  if (!priced_) std::fill(price_, price_ + kClasses, 1.0);
  priced_ = true;
  double best = 0, step = 0.5;
  for (int round = 0; round < 24; ++round, step *= 0.8) {
    double load[kClasses] = {}, norm = 0, value = 0;
    for (uint32_t c = 0; c < nclasses; ++c)
      if (class_count_[c]) norm += price_[c] * class_count_[c];
    if (!(norm > 0)) return area_ = 0;
    for (const Kind &k : kinds_.all()) {
      if (!k.left || !k.known()) continue;
      double least = kFar;
      uint32_t where = 0;
      for (uint32_t c = 0; c < nclasses && c < k.class_ns.size(); ++c)
        if (k.class_ns[c] > 0 && class_count_[c] && k.class_ns[c] * price_[c] < least)
          least = k.class_ns[c] * price_[c], where = c;
      if (least == kFar) continue;
      value += k.left * least / norm;
      load[where] += k.left * static_cast<double>(k.class_ns[where]) / class_count_[where];
    }
    best = std::max(best, value);
    for (uint32_t c = 0; c < nclasses; ++c)  // a class that has more to do than all on the average costs more
      if (class_count_[c]) price_[c] = std::max(price_[c] / norm * (load[c] > value ? 1 + step : 1 / (1 + step)), 1e-9);
  }
  return area_ = best;
}

}  // namespace lookahead
