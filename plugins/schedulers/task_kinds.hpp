// task_kinds.hpp — the kinds of tasks of an instance: one codelet, one size, one set of unit classes. The ready tasks of a
// kind wait here, ordered by priority and rank.
//
// Owned by one instance and guarded by its lock; a kind is not reused while a task of it waits. Times are
// queried occasionally, with the task at hand.
#pragma once
#include <array>
#include <cmath>

#include "worker_groups.hpp"
#include "ready.hpp"
#include "table.hpp"

namespace policies {

struct alignas(64) Kind {                        // fields read by every decision share the first cache line
  uint32_t nready = 0;
  uint32_t left = 0;                             // submitted, not popped
  float best_ns = 0;                             // on the fastest group; 0: unknown
  bool open = false;                             // scratch of one choice: the kind is compared
  bool lacks = false;                            // some eligible group has no time
  Ready ready;
  uint64_t fast_groups = 0, knowing = 0, able = 0;     // bit sets of the first kGroups groups, as below
  uint64_t declined = 0;                         // of these: an idle unit found nothing here since the last push
  uint64_t footprint = 0, where = 0, bytes = 0;  // bytes: all operands of one task
  uint32_t codelet = CONSORT_NONE, seen = 0;
  std::vector<float> ns;                         // by group; NaN: unknown
  std::vector<float> class_ns;                   // by class, average over its units; 0: not eligible or unknown
  std::vector<uint64_t> masks;                   // by group: implementations; 0: not eligible
  std::vector<uint32_t> homes;                   // by group: ready tasks that end first there (late_binding_home.hpp)
  uint64_t guessed = 0;                          // of the first kGroups groups: ns is tried_ns
  std::vector<uint32_t> learning;                // by group: tasks popped to learn their time, unfinished
  std::vector<float> tried_ns;                   // by group: time of the last such task; believed until models know. 0: none
  std::vector<double> try_again;                 // by group: ns, when the next may be popped

  static constexpr uint32_t kGroups = 64;        // further groups have no times, and the eligibility of their class
  bool is_of(const consort_task *t, uint64_t size) const noexcept {  // size: size_of() the task
    return codelet == t->codelet && footprint == size && where == t->where;
  }
  bool known() const noexcept { return best_ns > 0; }
  bool can(uint32_t g) const noexcept { return g < kGroups ? able >> g & 1 : masks[g] != 0; }
  bool known_at(uint32_t g) const noexcept { return g < kGroups && (knowing >> g & 1); }
  // Whether the group is about as fast as the fastest.
  bool fast_on(uint32_t g) const noexcept { return g < kGroups && (fast_groups >> g & 1); }
  void update_masks() noexcept {                       // after a change of ns, masks or best_ns
    fast_groups = knowing = able = 0;
    lacks = false;
    for (uint32_t g = 0; g < ns.size(); ++g) {
      lacks |= masks[g] && !(ns[g] > 0);
      if (g >= kGroups) continue;
      const uint64_t bit = uint64_t{1} << g;
      if (masks[g]) able |= bit;
      if (ns[g] > 0) knowing |= bit;
      if (ns[g] > 0 && ns[g] <= best_ns * 1.25f) fast_groups |= bit;
    }
  }
};

// Size class of a task: its footprint if it has one, else a hash of its data's sizes.
inline uint64_t size_of(const consort_task *t) noexcept {
  if (t->footprint) return t->footprint;
  uint64_t h = t->naccess;
  for (uint32_t a = 0; a < t->naccess; ++a)
    if (t->access[a].datum && !(t->access[a].mode & CONSORT_M_NOFOOTPRINT))
      h = h * 0x9e3779b97f4a7c15 + t->access[a].datum->bytes;
  return h;
}

// Exchange rate of energy and time. With gamma 0, energy is not queried.
struct Weights {
  double alpha = 1;                              // weight of time
  double gamma = 0;                              // microseconds per joule
  double idle_power = 0;                         // watts of the whole machine while it is busy
  double per_ns() const noexcept { return alpha + gamma * idle_power * 1e-6; }  // W * ns = nJ
  double per_uj() const noexcept { return gamma * 1e-3; }

  void read(const consort_host *host) noexcept {
    alpha = real_param(host, "alpha", alpha);
    gamma = real_param(host, "gamma", gamma);
    idle_power = real_param(host, "idle_power", idle_power);
  }
};
#define POLICY_PARAM_WEIGHTS                                                                                          \
  {"alpha", "f64", "1", "0..1e6", "weight of time, if gamma is not 0; 0: energy alone"},                              \
      {"gamma", "f64", "0", "0..1e9", "microseconds per joule"},                                                      \
      {"idle_power", "f64", "0", "0..1e6", "watts of the busy machine; used with gamma"}

class TaskKinds {
 public:
  static constexpr uint32_t kMost = 256, kGroups = Kind::kGroups;

  TaskKinds(const consort_host *host, const consort_sched_host *models) : host_(host), models_(models) {
    all_.reserve(kMost);
  }
  std::vector<Kind> &all() noexcept { return all_; }
  const std::vector<Kind> &all() const noexcept { return all_; }
  Kind &operator[](uint32_t i) noexcept { return all_[i]; }

  // Index of this task's kind; size: size_of() the task. May throw at the first task of a kind.
  uint32_t of(const WorkerGroups &, const consort_task *, uint64_t size);
  uint32_t of(const WorkerGroups &served, const consort_task *t) { return of(served, t, size_of(t)); }
  // The task's kind; nullptr: no task of it was seen.
  const Kind *find(const consort_task *t) const noexcept {
    const uint64_t size = size_of(t);
    for (const Kind &k : all_)
      if (k.is_of(t, size)) return &k;
    return nullptr;
  }
  uint32_t times() const noexcept { return times_; }  // changes with every best_ns
  void reserve(const WorkerGroups &);                     // reserves space for reload() with these groups. May throw
  void reload(const WorkerGroups &) noexcept;        // queries all kinds for new groups, after reserve()
  // A task of a kind that models do not know on the group took so long there. The first time may be exceptional, and models need
  // several: the next ones are spaced, so that they cost a tenth of a unit at most.
  void tried(const WorkerGroups &served, uint32_t kind, uint32_t g, float ns, double now) noexcept {
    constexpr double kSpaced = 10;
    Kind &k = all_[kind];
    k.tried_ns[g] = ns;
    k.try_again[g] = now + kSpaced * ns;
    k.seen = 0;  // queried again with the next task
    if (const Node *n = k.ready.front()) refresh(served, k, n->task);
  }
  void weigh(const Weights &w) noexcept { weights_ = w; }  // to be called before the first kind

 private:
  static constexpr uint32_t kAgain = 64;         // tasks of one kind between queries of its times

  void refresh(const WorkerGroups &, Kind &, const consort_task *) noexcept;
  void drop_energy_inefficient(const WorkerGroups &, const consort_task *, const float *ns, uint64_t *masks) const noexcept;
  static void make_room(const WorkerGroups &, Kind &);   // reserves its tables. May throw
  void clear(const WorkerGroups &, Kind &) noexcept;

  const consort_host *const host_;
  const consort_sched_host *const models_;
  Weights weights_;
  std::vector<Kind> all_;
  uint32_t last_ = 0, times_ = 0;
};

// Requires make_room().
inline void TaskKinds::clear(const WorkerGroups &served, Kind &k) noexcept {
  const std::size_t n = served.groups.size();
  k.ns.assign(n, NAN);
  k.masks.assign(n, 0);
  k.learning.assign(n, 0);
  k.tried_ns.assign(n, 0);
  k.try_again.assign(n, 0);
  k.homes.assign(n, 0);
  k.class_ns.assign(served.members.nclasses, 0);
  for (uint32_t g = 0; g < n; ++g) k.masks[g] = served.members.nclasses == 1 || (k.where >> served.groups[g].klass & 1);
  k.best_ns = 0;
  k.seen = 0;
  k.declined = k.guessed = 0;
  ++times_;
  k.update_masks();
}

inline void TaskKinds::make_room(const WorkerGroups &served, Kind &k) {
  const std::size_t n = served.groups.size();
  k.ns.reserve(n);
  k.masks.reserve(n);
  k.learning.reserve(n);
  k.tried_ns.reserve(n);
  k.try_again.reserve(n);
  k.homes.reserve(n);
  k.class_ns.reserve(served.members.nclasses);
}

inline void TaskKinds::reserve(const WorkerGroups &served) {
  for (Kind &k : all_) make_room(served, k);
}

inline void TaskKinds::reload(const WorkerGroups &served) noexcept {
  for (Kind &k : all_) {
    clear(served, k);
    if (const Node *n = k.ready.front()) refresh(served, k, n->task);
  }
}

// Removes groups whose extra energy is worth more than the time they save: a further unit saves at most one task's time, divided among
// the units with the least cost. Groups without a known energy stay.
inline void TaskKinds::drop_energy_inefficient(const WorkerGroups &served, const consort_task *t, const float *ns,
                                    uint64_t *masks) const noexcept {
  const auto n = static_cast<uint32_t>(std::min<std::size_t>(served.groups.size(), kGroups));
  float uj[kGroups];
  models_->energy_uj(host_, &t, 1, served.asked.data(), n, CONSORT_NONE, uj);
  const auto known = [&](uint32_t g) { return masks[g] && ns[g] > 0 && uj[g] >= 0; };
  const auto cost = [&](uint32_t g) { return weights_.per_ns() * ns[g] + weights_.per_uj() * uj[g]; };
  uint32_t best = CONSORT_NONE;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && (best == CONSORT_NONE || cost(g) < cost(best))) best = g;
  if (best == CONSORT_NONE) return;
  double units = 0;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && cost(g) <= cost(best) * 1.001) units += served.groups[g].count;
  const double saved = weights_.per_ns() * ns[best] / units;
  for (uint32_t g = 0; g < n; ++g)
    if (known(g) && cost(g) > cost(best) * 1.001 && weights_.per_uj() * (uj[g] - uj[best]) > saved) masks[g] = 0;
}

inline void TaskKinds::refresh(const WorkerGroups &served, Kind &k, const consort_task *t) noexcept {
  const auto n = static_cast<uint32_t>(std::min<std::size_t>(served.groups.size(), kGroups));
  if (!models_ || n == 0) return;
  uint64_t masks[kGroups];
  float ns[kGroups];
  models_->can_execute(host_, &t, 1, served.asked.data(), n, masks);
  models_->expected_ns(host_, &t, 1, served.asked.data(), n, CONSORT_NONE, ns);
  k.bytes = 0;
  for (uint32_t a = 0; a < t->naccess; ++a)
    if (t->access[a].datum) k.bytes += t->access[a].datum->bytes;
  // Removes groups whose memory is too small, unless it is too small everywhere: then the kernel reports it.
  consort_room rooms[kGroups];
  uint64_t fits[kGroups];
  models_->room(host_, served.spaces.data(), n, rooms);
  bool any = false;
  for (uint32_t g = 0; g < n; ++g) {
    if (!served.can(t, g)) masks[g] = 0;
    fits[g] = rooms[g].capacity && k.bytes > rooms[g].capacity ? 0 : masks[g];
    any |= fits[g] != 0;
  }
  if (weights_.gamma > 0) drop_energy_inefficient(served, t, ns, any ? fits : masks);
  const float before = k.best_ns;
  k.best_ns = 0;
  k.guessed = 0;
  std::vector<float> &by_class = k.class_ns;
  std::fill(by_class.begin(), by_class.end(), 0);
  std::array<float, kGroups> units{};
  for (uint32_t g = 0; g < n; ++g) {
    k.masks[g] = any ? fits[g] : masks[g];
    const bool guess = !(ns[g] > 0) && k.tried_ns[g] > 0;
    k.guessed |= uint64_t{guess} << g;
    const float its = guess ? k.tried_ns[g] : ns[g];
    k.ns[g] = k.masks[g] && its > 0 ? its : NAN;
    if (!(k.ns[g] > 0)) continue;
    if (k.best_ns == 0 || k.ns[g] < k.best_ns) k.best_ns = k.ns[g];
    const Group &group = served.groups[g];
    by_class[group.klass] += static_cast<float>(group.count) / k.ns[g];  // tasks per ns
    if (group.klass < kGroups) units[group.klass] += static_cast<float>(group.count);
  }
  for (std::size_t c = 0; c < by_class.size() && c < kGroups; ++c)
    if (by_class[c] > 0) by_class[c] = units[c] / by_class[c];
  times_ += k.best_ns != before;
  const uint64_t fast = k.fast_groups;
  k.update_masks();
  k.declined |= k.fast_groups & ~fast;  // the push of the tasks that wait here did not wake them as fast ones
}

inline uint32_t TaskKinds::of(const WorkerGroups &served, const consort_task *t, uint64_t size) {
  uint32_t i = last_;
  if (i >= all_.size() || !all_[i].is_of(t, size)) {
    i = 0;
    while (i < all_.size() && !all_[i].is_of(t, size)) ++i;
  }
  if (i == all_.size()) {
    if (i >= kMost)  // replaces a kind without tasks, if there is one
      for (i = 0; i < all_.size() && (all_[i].nready || all_[i].left);) ++i;
    Kind made;
    make_room(served, i < all_.size() ? all_[i] : made);
    if (i == all_.size()) all_.push_back(std::move(made));
    Kind &k = all_[i];  // identified only after the last step that may fail
    k.codelet = t->codelet, k.footprint = size, k.where = t->where;
    clear(served, k);
  }
  last_ = i;
  Kind &k = all_[i];
  if (k.seen++ % (k.lacks ? 4 : kAgain) == 0) refresh(served, k, t);
  return i;
}

}  // namespace policies
