// decide.cpp — Instance: the order of kinds for each class. Functions run under the lock, except construction and workers().
#include <algorithm>
#include <cstddef>
#include <limits>

#include "instance.hpp"

namespace heteroprio {

Instance::Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
    : LateBinding(host, t, epoch, settings.ahead), settings_(settings) {
  kinds_.weigh(settings.weights);
  names_ = !settings.orders.empty() && models_ && CONSORT_HAS_FN(models_, consort_sched_host, codelet_name);
  if (names_) named_.resize(TaskKinds::kMost);
  name_classes(t);
  for (const std::string_view name : settings.orders.classes())
    if (std::find(classes_.begin(), classes_.end(), name) == classes_.end())
      host->log(host, 2, ("orders: there are no units of class \"" + std::string(name) + "\" here").c_str());
}

void Instance::name_classes(const consort_topology &t) {
  std::vector<std::string> names;
  for (uint32_t c = 0; c < t.nclasses && t.classes; ++c) names.emplace_back(t.classes[c] ? t.classes[c] : "");
  const std::lock_guard guard(lock_);
  classes_.swap(names);
  for (Named &n : named_) n.codelet = CONSORT_NONE;
}

consort_status Instance::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  name_classes(t);
  return LateBinding::workers(t, add, na, del, nd);
}

// Queries the codelet's name once for each kind.
void Instance::queued(Node *n) noexcept {
  if (!names_ || n->worker >= named_.size()) return;
  Named &named = named_[n->worker];
  if (named.codelet == n->task->codelet) return;
  const char *name = models_->codelet_name(host_, n->task);
  try {
    named.place.assign(classes_.size(), Orders::kUnnamed);
  } catch (...) {
    return;  // retried with the next task
  }
  for (uint32_t c = 0; name && c < classes_.size(); ++c) named.place[c] = settings_.orders.place(classes_[c], name);
  named.codelet = n->task->codelet;
}

uint32_t Instance::place_of(uint32_t kind, uint32_t klass) const noexcept {
  if (!names_ || kind >= named_.size() || klass >= named_[kind].place.size()) return Orders::kUnnamed;
  return named_[kind].place[klass];
}

// Speed relative to the best other class.
double Instance::advantage(const WorkerGroups &served, const Kind &k, uint32_t klass) const noexcept {
  float other = 0;
  for (uint32_t c = 0; c < k.class_ns.size(); ++c)
    if (c != klass && served.of_class[c] && k.class_ns[c] > 0 && (other == 0 || k.class_ns[c] < other))
      other = k.class_ns[c];
  if (other == 0 || klass >= k.class_ns.size() || !(k.class_ns[klass] > 0)) return std::numeric_limits<double>::max();
  return static_cast<double>(other) / k.class_ns[klass];
}

// The kind's next task for this group, if it may take one. A slow group may take one only if that does not delay the end.
Node *Instance::open(const WorkerGroups &served, Kind &k, uint32_t g, double *left, double now) noexcept {
  if (!k.nready || !k.can(g) || !k.known_at(g)) return nullptr;
  if (k.fast_on(g)) return k.ready.front();
  Node *n = k.ready.back();
  if (*left < 0) *left = remaining_ns(served, now);
  return k.ns[g] + n->rank - k.best_ns <= *left ? n : nullptr;
}

// Codelets of the class's list first; then the kinds at which this class is better. In a bucket, the most urgent task for a fast
// class, the least urgent task for a slow one.
Instance::Found Instance::choose(const WorkerGroups &served, uint32_t worker, double now) noexcept {
  const uint32_t g = served.group_of[worker], klass = served.groups[g].klass;
  if (const Found f = unknown(g, now); f.node) return f;
  struct Open {
    Node *node;
    uint32_t kind, place;
    double advantage;
  } some[TaskKinds::kMost];
  uint32_t n = 0, place = Orders::kUnnamed;
  double left = -1, most = 0;
  const bool idle = is_idle(worker);
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (!idle && !k.fast_on(g)) continue;
    Node *node = open(served, k, g, &left, now);
    if (!node) continue;
    const Open o{node, i, place_of(i, klass), advantage(served, k, klass)};
    if (o.place < place) n = 0, place = o.place, most = 0;
    if (o.place > place) continue;
    most = std::max(most, o.advantage);
    if (n < TaskKinds::kMost) some[n++] = o;  // more kinds than entries: any of these is acceptable
  }
  bool home = false;
  int32_t priority = std::numeric_limits<int32_t>::min();
  if (left < 0) left = remaining_ns(served, now);
  const auto in_bucket = [&](const Open &o) {
    return o.advantage * settings_.bucket >= most ||
           (kinds_[o.kind].fast_on(g) && o.node->rank >= settings_.critical * left);
  };
  for (uint32_t i = 0; i < n; ++i) {
    if (!in_bucket(some[i]) || !kinds_[some[i].kind].fast_on(g)) continue;
    home = true;
    priority = std::max(priority, some[i].node->priority);
  }
  if (home) {
    Search s(*this, served, worker, now, priority, settings_.near, settings_.look, 1);
    for (uint32_t i = 0; i < n; ++i)
      if (in_bucket(some[i]) && kinds_[some[i].kind].fast_on(g)) s.look_at(some[i].kind, -1);
    return s.best;
  }
  Found best;
  for (uint32_t i = 0; i < n; ++i)
    if (in_bucket(some[i]) && (!best.node || policies::more_urgent(best.node, some[i].node)))
      best = {some[i].node, some[i].kind};
  return best;
}

bool Instance::would_take(const WorkerGroups &served, uint32_t g, double now) noexcept {
  double left = -1;
  for (Kind &k : kinds_.all())
    if (open(served, k, g, &left, now)) return true;
  return unknown(g, now).node;
}

}  // namespace heteroprio
