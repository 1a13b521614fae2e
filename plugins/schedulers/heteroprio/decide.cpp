// decide.cpp — Instance: which kind goes first where. All but its life under the lock.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "instance.hpp"

namespace heteroprio {

Instance::Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
    : Late(host, t, epoch, settings.ahead), settings_(settings) {
  kinds_.weigh(settings.weights);
  names_ = !settings.orders.empty() && models_ && CONSORT_HAS_FN(models_, consort_sched_host, codelet_name);
  if (names_) named_.resize(Kinds::kMost);
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
  return Late::workers(t, add, na, del, nd);
}

// The names are asked once for each kind.
void Instance::queued(Node *n) noexcept {
  if (!names_ || n->worker >= named_.size()) return;
  Named &named = named_[n->worker];
  if (named.codelet == n->task->codelet) return;
  const char *name = models_->codelet_name(host_, n->task);
  try {
    named.place.assign(classes_.size(), Orders::kUnnamed);
  } catch (...) {
    return;  // asked again with the next one
  }
  for (uint32_t c = 0; name && c < classes_.size(); ++c) named.place[c] = settings_.orders.place(classes_[c], name);
  named.codelet = n->task->codelet;
}

uint32_t Instance::place_of(uint32_t kind, uint32_t klass) const noexcept {
  if (!names_ || kind >= named_.size() || klass >= named_[kind].place.size()) return Orders::kUnnamed;
  return named_[kind].place[klass];
}

// How many times as fast as on the best of the other classes.
double Instance::advantage(const Crew &crew, const Kind &k, uint32_t klass) const noexcept {
  float other = 0;
  for (uint32_t c = 0; c < k.class_ns.size(); ++c)
    if (c != klass && crew.of_class[c] && k.class_ns[c] > 0 && (other == 0 || k.class_ns[c] < other))
      other = k.class_ns[c];
  if (other == 0 || klass >= k.class_ns.size() || !(k.class_ns[klass] > 0)) return std::numeric_limits<double>::max();
  return static_cast<double>(other) / k.class_ns[klass];
}

// May this group take one of it now? Who does it slower: only where the end does not come later by it.
Node *Instance::open(const Crew &crew, Kind &k, uint32_t g, double *left, double now) noexcept {
  if (!k.nready || !k.can(g) || !k.known_at(g)) return nullptr;
  if (k.at_home(g)) return k.ready.front();
  Node *n = k.ready.back();
  if (*left < 0) *left = left_ns(crew, now);
  return k.ns[g] + n->rank - k.best_ns <= *left ? n : nullptr;
}

// Its own list goes before all; then what this class is better at; of what is about alike there the most urgent, or of
// what is slower here the least urgent.
Instance::Found Instance::choose(const Crew &crew, uint32_t worker, double now) noexcept {
  const uint32_t g = crew.group_of[worker], klass = crew.groups[g].klass;
  if (const Found f = unknown(g); f.node) return f;
  struct Open {
    Node *node;
    uint32_t kind, place;
    double advantage;
  } some[Kinds::kMost];
  uint32_t n = 0, place = Orders::kUnnamed;
  double left = -1, most = 0;
  for (uint32_t i = 0; i < kinds_.all().size(); ++i) {
    Kind &k = kinds_[i];
    if (nout_[worker] && !k.at_home(g)) continue;
    Node *node = open(crew, k, g, &left, now);
    if (!node) continue;
    const Open o{node, i, place_of(i, klass), advantage(crew, k, klass)};
    if (o.place < place) n = 0, place = o.place, most = 0;
    if (o.place > place) continue;
    most = std::max(most, o.advantage);
    if (n < Kinds::kMost) some[n++] = o;  // more kinds may wait than have room: any of these will do
  }
  bool home = false;
  int32_t priority = std::numeric_limits<int32_t>::min();
  if (left < 0) left = left_ns(crew, now);
  const auto in_bucket = [&](const Open &o) {
    return o.advantage * settings_.bucket >= most ||
           (kinds_[o.kind].at_home(g) && o.node->rank >= settings_.critical * left);
  };
  for (uint32_t i = 0; i < n; ++i) {
    if (!in_bucket(some[i]) || !kinds_[some[i].kind].at_home(g)) continue;
    home = true;
    priority = std::max(priority, some[i].node->priority);
  }
  if (home) {
    Search s(*this, crew, g, now, priority, settings_.near, settings_.look, 1);
    for (uint32_t i = 0; i < n; ++i)
      if (in_bucket(some[i]) && kinds_[some[i].kind].at_home(g)) s.look_at(some[i].kind, -1);
    return s.best;
  }
  Found best;
  for (uint32_t i = 0; i < n; ++i)
    if (in_bucket(some[i]) && (!best.node || policies::more_urgent(best.node, some[i].node)))
      best = {some[i].node, some[i].kind};
  return best;
}

bool Instance::would_take(const Crew &crew, uint32_t g, double now) noexcept {
  double left = -1;
  for (Kind &k : kinds_.all())
    if (open(crew, k, g, &left, now)) return true;
  return unknown(g).node;
}

}  // namespace heteroprio
