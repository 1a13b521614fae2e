// late_binding_remaining.hpp — Late, the part that says how long all that is known takes from now on, and so what a unit may take
// that does it slowly. Included by late_binding.hpp.
#pragma once
#include <algorithm>
#include <limits>

namespace policies {

inline Late::Found Late::costs_nothing(const Crew &crew, uint32_t g, double now, double slack) noexcept {
  Found best;
  double loss = std::numeric_limits<double>::max(), left = -1;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!k.nready || !k.known_at(g) || k.at_home(g)) continue;
    const double l = k.ns[g] / k.best_ns;
    if (l >= loss) continue;
    Node *n = k.ready.back();
    if (left < 0) left = left_ns(crew, now) * slack;
    const double takes = k.ns[g] + n->rank - k.best_ns;
    if (takes > left) continue;
    if (k.nready <= vacant(crew, k)) continue;  // somebody comes for it who does it better
    float way = 0;
    const consort_task *const t = n->task;
    if (models_) models_->transfer_ns(host_, &t, 1, &crew.groups[g].space, 1, &way);
    if (way > 0 && way + takes > left) continue;
    best = {n, i}, loss = l;
  }
  return best;
}

// How long all that is known takes from now on, about.
inline double Late::left_ns(const Crew &crew, double now) noexcept {
  if (now == left_at_) return left_;  // many idle ones ask at one time, where time is virtual
  double longest = area_ns(crew) * patience_.loose;
  for (const Kind &k : kinds_.all())
    if (k.nready) longest = std::max<double>(longest, k.ready.front()->rank);
  if (far_times_ != kinds_.times()) set_all_far();
  for (uint32_t w = 0; w < far_.size(); ++w) {
    if (w % kSome == 0 && far_most_[w / kSome] <= longest) {
      w += kSome - 1;
      continue;
    }
    if (far_[w] <= longest || !crew.serves(w)) continue;
    const Seat &s = seats_[w];
    for (uint32_t i = 0; i < nout_[w]; ++i) {
      const double best = kinds_[s.out[i].kind].best_ns;
      const double done = i == 0 && s.running ? std::min<double>(now - s.since, s.out[i].exec) : 0;
      longest = std::max(longest, s.out[i].rank - best + std::max(0.0, s.out[i].exec - done));
    }
  }
  left_at_ = now;
  return left_ = longest;
}

// left_ns() of what this worker has, as if nothing of it had begun: then it is no less.
inline double Late::farthest(uint32_t worker) const noexcept {
  double far = 0;
  for (uint32_t i = 0; i < nout_[worker]; ++i) {
    const Out &o = seats_[worker].out[i];
    far = std::max(far, o.rank - static_cast<double>(kinds_.all()[o.kind].best_ns) + std::max(0.0f, o.exec));
  }
  return far;
}

// What this worker has is another.
inline void Late::set_far(uint32_t worker) noexcept {
  const double before = far_[worker], now = farthest(worker);
  double &most = far_most_[worker / kSome];
  far_[worker] = now;
  if (now >= most) {
    most = now;
  } else if (before == most) {
    const auto first = far_.begin() + worker / kSome * kSome;
    most = *std::max_element(first, first + std::min<std::ptrdiff_t>(kSome, far_.end() - first));
  }
}

inline void Late::set_all_far() noexcept {
  std::fill(far_most_.begin(), far_most_.end(), 0.0);
  for (uint32_t w = 0; w < far_.size(); ++w) {
    far_[w] = farthest(w);
    far_most_[w / kSome] = std::max(far_most_[w / kSome], far_[w]);
  }
  far_times_ = kinds_.times();
}

// A kind that other units do in k times the time, and whose time is worth less than a k-th, is theirs as long as that
// does no harm: they are through with those that wait long before the end. Where units like these stand still for want of
// their data, carrying what a task changes there and back must not take longer than all of them need for it: over a way
// that all share, it would be theirs that is lost.
inline double Late::floor_of(const Crew &crew, const Kind &k, uint32_t g, double now) noexcept {
  constexpr double kFlows = 0.05;  // part of the time that they may wait, and yet the ways are free
  const uint32_t mine = crew.groups[g].klass;
  const bool flows = waits_of(crew, g).share() <= kFlows;
  double left = -1, floor = -1;
  const std::size_t nclasses = std::min({k.class_ns.size(), crew.of_class.size(), std::size_t{kClasses}});
  for (uint32_t c = 0; c < nclasses && mine < nclasses; ++c) {
    if (c == mine || !crew.of_class[c] || !(k.class_ns[c] > k.class_ns[mine])) continue;
    const double there_and_back = 2.0 * k.ready.front()->changes * pace(g);
    if (!flows && there_and_back > k.class_ns[mine] / static_cast<double>(crew.of_class[mine])) return -1;
    if (left < 0) left = left_ns(crew, now) * patience_.share;
    if (!priced_ || k.class_ns[c] * price_[c] >= k.class_ns[mine] * price_[mine]) continue;
    const double queue = patience_.queue * k.nready * k.class_ns[c] / crew.of_class[c];
    floor = std::max(floor, left - queue - (k.class_ns[c] - k.best_ns));
  }
  return floor;
}

// Of what nobody has taken yet: how long all units together are at work on it, each kind where it costs least. A lower
// bound, by prices of the classes' time: two classes exactly, more of them nearly.
inline double Late::area_ns(const Crew &crew) noexcept {
  uint32_t all = 0;
  for (const Kind &k : kinds_.all()) all += k.left;
  if (changes_ != kAlways && changes_ * 64 <= all) return area_;
  changes_ = 0;
  const uint32_t nclasses = static_cast<uint32_t>(std::min<std::size_t>(crew.of_class.size(), kClasses));
  if (!priced_) std::fill(price_, price_ + kClasses, 1.0);
  priced_ = true;
  // Row by row of a kind, of each class with units: ns of one, and of all that is left for each of the units.
  uint32_t classes[kClasses], n = 0;
  for (uint32_t c = 0; c < nclasses; ++c)
    if (crew.of_class[c]) classes[n++] = c;
  double left[Kinds::kMost], *row = rows_.data();
  uint32_t nkinds = 0;
  for (const Kind &k : kinds_.all()) {
    if (!k.left || !k.known()) continue;
    if (nkinds == Kinds::kMost) break;  // there may be more: a bound that is a little lower
    left[nkinds++] = k.left;
    for (uint32_t i = 0; i < n; ++i, row += 2) {
      const double ns = classes[i] < k.class_ns.size() ? k.class_ns[classes[i]] : 0;
      row[0] = ns > 0 ? ns : Prices::kNever;
      row[1] = k.left * ns / crew.of_class[classes[i]];
    }
  }
  double price[kClasses], units[kClasses];
  for (uint32_t i = 0; i < n; ++i) price[i] = price_[classes[i]], units[i] = crew.of_class[classes[i]];
  const double best = Prices{nkinds, n, left, rows_.data(), units, price}.bound();
  if (best < 0) return area_ = 0;
  for (uint32_t i = 0; i < n; ++i) price_[classes[i]] = price[i];
  // All data of all tasks on their way, in that time: of what many read the most is there already.
  constexpr double kMostIsThere = 0.2;
  double bytes = 0, pace = 0;
  for (const Kind &k : kinds_.all()) bytes += k.left * static_cast<double>(k.bytes);
  for (const float p : pace_) pace = std::max<double>(pace, p);
  const double crowded = best > 0 ? bytes * pace / best : 0;
  crowd_ = std::max(1.0, kMostIsThere * crowded * crowded);
  return area_ = best;
}

}  // namespace policies
