// task_kinds.hpp — the kinds of tasks that an instance has met: one codelet, one size, the same classes of units. What is
// ready of a kind waits here, ordered by priority and by what hangs on it.
//
// Owned by one instance and guarded by its lock; a kind is never given up while something of it waits. Estimates are
// asked once in a while, by the task at hand.
#pragma once
#include <array>
#include <cmath>

#include "worker_groups.hpp"
#include "ready.hpp"

namespace policies {

struct alignas(64) Kind {                        // what each decision looks at is in the first line
  uint32_t nready = 0;
  uint32_t left = 0;                             // submitted, not handed out
  float best_ns = 0;                             // on the group that is fastest; 0: not known anywhere
  bool open = false;                             // in one choice: it is among those that are compared
  bool lacks = false;                            // there are groups that can do it, and in what time is not known
  Ready ready;
  uint64_t homes = 0, knowing = 0, able = 0;     // groups, as below; told of are kGroups
  uint64_t footprint = 0, where = 0, bytes = 0;  // bytes: of all operands of one
  uint32_t codelet = CONSORT_NONE, seen = 0;
  std::vector<float> ns;                         // by group; NaN: not known
  std::vector<float> class_ns;                   // by class, as if its units were alike; 0: none can or is known
  std::vector<uint64_t> masks;                   // by group: implementations; 0: it cannot
  std::vector<uint32_t> learning;                // by group: handed out without being known, not ended

  static constexpr uint32_t kGroups = 64;        // more have no times, and can what their class can
  bool is_of(const consort_task *t, uint64_t size) const noexcept {  // size: size_of() it
    return codelet == t->codelet && footprint == size && where == t->where;
  }
  bool known() const noexcept { return best_ns > 0; }
  bool can(uint32_t g) const noexcept { return g < kGroups ? able >> g & 1 : masks[g] != 0; }
  bool known_at(uint32_t g) const noexcept { return g < kGroups && (knowing >> g & 1); }
  // One of the places where this is done about as fast as anywhere.
  bool at_home(uint32_t g) const noexcept { return g < kGroups && (homes >> g & 1); }
  void sum_up() noexcept {                       // ns, masks or best_ns have changed
    homes = knowing = able = 0;
    lacks = false;
    for (uint32_t g = 0; g < ns.size(); ++g) {
      lacks |= masks[g] && !(ns[g] > 0);
      if (g >= kGroups) continue;
      const uint64_t bit = uint64_t{1} << g;
      if (masks[g]) able |= bit;
      if (ns[g] > 0) knowing |= bit;
      if (ns[g] > 0 && ns[g] <= best_ns * 1.25f) homes |= bit;
    }
  }
};

// What makes tasks of one codelet alike: their footprint if they were given one, else the bytes of their data.
inline uint64_t size_of(const consort_task *t) noexcept {
  if (t->footprint) return t->footprint;
  uint64_t h = t->naccess;
  for (uint32_t a = 0; a < t->naccess; ++a)
    if (t->access[a].datum && !(t->access[a].mode & CONSORT_M_NOFOOTPRINT))
      h = h * 0x9e3779b97f4a7c15 + t->access[a].datum->bytes;
  return h;
}

// What a joule is worth beside time. Where it is worth nothing, nobody is asked about energy.
struct Weights {
  double alpha = 1;                              // of time
  double gamma = 0;                              // microseconds that a joule is worth
  double idle_power = 0;                         // watts of the machine as long as it is at work, whatever it does
  double per_ns() const noexcept { return alpha + gamma * idle_power * 1e-6; }  // W * ns = nJ
  double per_uj() const noexcept { return gamma * 1e-3; }
};

class Kinds {
 public:
  static constexpr uint32_t kMost = 256, kGroups = Kind::kGroups;

  Kinds(const consort_host *host, const consort_sched_host *models) : host_(host), models_(models) {
    all_.reserve(kMost);
  }
  std::vector<Kind> &all() noexcept { return all_; }
  const std::vector<Kind> &all() const noexcept { return all_; }
  Kind &operator[](uint32_t i) noexcept { return all_[i]; }

  // The place of this task's kind; size: size_of() it. May throw the first time that a kind is met.
  uint32_t of(const Crew &, const consort_task *, uint64_t size);
  uint32_t of(const Crew &crew, const consort_task *t) { return of(crew, t, size_of(t)); }
  // Of one that was met; nullptr: it was not.
  const Kind *find(const consort_task *t) const noexcept {
    const uint64_t size = size_of(t);
    for (const Kind &k : all_)
      if (k.is_of(t, size)) return &k;
    return nullptr;
  }
  uint32_t times() const noexcept { return times_; }  // changes with every best_ns
  void expect(const Crew &);                     // room to be asked_anew() by these groups. May throw
  void asked_anew(const Crew &) noexcept;        // by other groups, which were expected
  void weigh(const Weights &w) noexcept { weights_ = w; }  // before the first kind

 private:
  static constexpr uint32_t kAgain = 64;         // tasks of one kind until its times are asked for again

  void refresh(const Crew &, Kind &, const consort_task *) noexcept;
  void leave_to_thrifty(const Crew &, const consort_task *, const float *ns, uint64_t *masks) const noexcept;
  static void make_room(const Crew &, Kind &);   // for its tables. May throw
  void clear(const Crew &, Kind &) noexcept;

  const consort_host *const host_;
  const consort_sched_host *const models_;
  Weights weights_;
  std::vector<Kind> all_;
  uint32_t last_ = 0, times_ = 0;
};

// There is room: make_room().
inline void Kinds::clear(const Crew &crew, Kind &k) noexcept {
  const std::size_t n = crew.groups.size();
  k.ns.assign(n, NAN);
  k.masks.assign(n, 0);
  k.learning.assign(n, 0);
  k.class_ns.assign(crew.members.nclasses, 0);
  for (uint32_t g = 0; g < n; ++g) k.masks[g] = crew.members.nclasses == 1 || (k.where >> crew.groups[g].klass & 1);
  k.best_ns = 0;
  k.seen = 0;
  ++times_;
  k.sum_up();
}

inline void Kinds::make_room(const Crew &crew, Kind &k) {
  const std::size_t n = crew.groups.size();
  k.ns.reserve(n);
  k.masks.reserve(n);
  k.learning.reserve(n);
  k.class_ns.reserve(crew.members.nclasses);
}

inline void Kinds::expect(const Crew &crew) {
  for (Kind &k : all_) make_room(crew, k);
}

inline void Kinds::asked_anew(const Crew &crew) noexcept {
  for (Kind &k : all_) {
    clear(crew, k);
    if (const Node *n = k.ready.front()) refresh(crew, k, n->task);
  }
}

// Takes those out that spend more than the time is worth which they save: another unit saves no more than one task's
// time, divided among those that do it at the least cost. Of whose energy nothing is known stay.
inline void Kinds::leave_to_thrifty(const Crew &crew, const consort_task *t, const float *ns,
                                    uint64_t *masks) const noexcept {
  const auto n = static_cast<uint32_t>(std::min<std::size_t>(crew.groups.size(), kGroups));
  float uj[kGroups];
  models_->energy_uj(host_, &t, 1, crew.asked.data(), n, CONSORT_NONE, uj);
  const auto known = [&](uint32_t g) { return masks[g] && ns[g] > 0 && uj[g] >= 0; };
  const auto cost = [&](uint32_t g) { return weights_.per_ns() * ns[g] + weights_.per_uj() * uj[g]; };
  uint32_t best = CONSORT_NONE;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && (best == CONSORT_NONE || cost(g) < cost(best))) best = g;
  if (best == CONSORT_NONE) return;
  double units = 0;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && cost(g) <= cost(best) * 1.001) units += crew.groups[g].count;
  const double saved = weights_.per_ns() * ns[best] / units;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && cost(g) > cost(best) * 1.001 && weights_.per_uj() * (uj[g] - uj[best]) > saved) masks[g] = 0;
}

inline void Kinds::refresh(const Crew &crew, Kind &k, const consort_task *t) noexcept {
  const auto n = static_cast<uint32_t>(std::min<std::size_t>(crew.groups.size(), kGroups));
  if (!models_ || n == 0) return;
  uint64_t masks[kGroups];
  float ns[kGroups];
  models_->can_execute(host_, &t, 1, crew.asked.data(), n, masks);
  models_->expected_ns(host_, &t, 1, crew.asked.data(), n, CONSORT_NONE, ns);
  k.bytes = 0;
  for (uint32_t a = 0; a < t->naccess; ++a)
    if (t->access[a].datum) k.bytes += t->access[a].datum->bytes;
  // Where its data do not fit it never begins; where they fit nowhere somebody has to say so.
  consort_room rooms[kGroups];
  uint64_t fits[kGroups];
  models_->room(host_, crew.spaces.data(), n, rooms);
  bool any = false;
  for (uint32_t g = 0; g < n; ++g) {
    if (!crew.can(t, g)) masks[g] = 0;
    fits[g] = rooms[g].capacity && k.bytes > rooms[g].capacity ? 0 : masks[g];
    any |= fits[g] != 0;
  }
  if (weights_.gamma > 0) leave_to_thrifty(crew, t, ns, any ? fits : masks);
  const float before = k.best_ns;
  k.best_ns = 0;
  std::vector<float> &by_class = k.class_ns;
  std::fill(by_class.begin(), by_class.end(), 0);
  std::array<float, kGroups> units{};
  for (uint32_t g = 0; g < n; ++g) {
    k.masks[g] = any ? fits[g] : masks[g];
    k.ns[g] = k.masks[g] && ns[g] > 0 ? ns[g] : NAN;
    if (!(k.ns[g] > 0)) continue;
    if (k.best_ns == 0 || k.ns[g] < k.best_ns) k.best_ns = k.ns[g];
    const Group &group = crew.groups[g];
    by_class[group.klass] += static_cast<float>(group.count) / k.ns[g];  // tasks in a ns
    if (group.klass < kGroups) units[group.klass] += static_cast<float>(group.count);
  }
  for (std::size_t c = 0; c < by_class.size() && c < kGroups; ++c)
    if (by_class[c] > 0) by_class[c] = units[c] / by_class[c];
  times_ += k.best_ns != before;
  k.sum_up();
}

inline uint32_t Kinds::of(const Crew &crew, const consort_task *t, uint64_t size) {
  uint32_t i = last_;
  if (i >= all_.size() || !all_[i].is_of(t, size)) {
    i = 0;
    while (i < all_.size() && !all_[i].is_of(t, size)) ++i;
  }
  if (i == all_.size()) {
    if (i >= kMost)  // in the place of one of which nothing is left, if there is one
      for (i = 0; i < all_.size() && (all_[i].nready || all_[i].left);) ++i;
    Kind made;
    make_room(crew, i < all_.size() ? all_[i] : made);
    if (i == all_.size()) all_.push_back(std::move(made));
    Kind &k = all_[i];  // it gets its name when nothing can fail any more
    k.codelet = t->codelet, k.footprint = size, k.where = t->where;
    clear(crew, k);
  }
  last_ = i;
  Kind &k = all_[i];
  if (k.seen++ % (k.lacks ? 4 : kAgain) == 0) refresh(crew, k, t);
  return i;
}

}  // namespace policies
