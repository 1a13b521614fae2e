// decide.cpp — Instance: the choice of data to load, the tasks planned on them, and eviction. Functions run under the lock,
// except the functions that the kernel calls.
#include <algorithm>
#include <cstddef>
#include <limits>

#include "instance.hpp"

namespace darts {

// -- events ------------------------------------------------------------------------------------------------------

void Instance::count(const consort_task *t, bool more) noexcept {
  for (uint32_t a = 0; a < t->naccess; ++a) {
    const consort_access &access = t->access[a];
    if (!access.datum || (access.mode & CONSORT_M_SCRATCH)) continue;
    if (more) bytes_ += uses_.add(access.datum->id) == 1 ? access.datum->bytes : 0;
    else if (uses_.take(access.datum->id) == 0) bytes_ -= std::min(bytes_, access.datum->bytes);
  }
}

void Instance::submitted(const consort_task *const *tasks, uint32_t n) noexcept {
  LateBinding::submitted(tasks, n);
  const std::lock_guard guard(lock_);
  for (uint32_t i = 0; i < n; ++i) count(tasks[i], true);
}

uint32_t Instance::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  {
    const std::lock_guard guard(lock_);
    for (uint32_t i = 0; i < n; ++i) count(tasks[i], false);
  }
  return LateBinding::dropped(tasks, n, held);
}

uint32_t Instance::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  const uint32_t n = LateBinding::drain(epoch, out, max);
  const std::lock_guard guard(lock_);
  uses_.clear();
  bytes_ = 0;
  return n;
}

void Instance::taken(const WorkerGroups &, uint32_t, Node *n) noexcept { count(n->task, false); }

void Instance::gone(Node *n) noexcept {
  if (n->plan >= kGroups) return;
  Plan &p = plans_[n->plan];
  for (uint32_t i = 0; i < p.n; ++i)
    if (p.nodes[i] == n) {
      std::copy(p.nodes + i + 1, p.nodes + p.n, p.nodes + i);
      --p.n;
      break;
    }
  n->plan = CONSORT_NONE;
}

// -- the decision -------------------------------------------------------------------------------------------------

bool Instance::open(const WorkerGroups &, const Kind &k, uint32_t g) const noexcept {
  return k.nready && k.can(g) && k.fast_on(g);
}

bool Instance::short_of(uint32_t space) const noexcept {
  if (!lacking_) return false;
  consort_room room{};
  models_->room(host_, &space, 1, &room);
  return room.capacity && room.capacity < bytes_;
}

Instance::Found Instance::choose(const WorkerGroups &served, uint32_t worker, double now) noexcept {
  const uint32_t g = served.group_of[worker];
  const bool idle = is_idle(worker);
  if (idle && finds_nothing(g, now)) return {};
  if (const Found f = unknown(g, now); f.node) return f;
  int32_t priority = std::numeric_limits<int32_t>::min();
  bool any = false;
  if (!idle && leaves_to_others(served, g)) return {};
  for (const Kind &k : kinds_.all())
    if (open(served, k, g)) any = true, priority = std::max(priority, k.ready.front()->priority);
  if (!any) {
    Found f = idle ? task_at_home(g) : Found{};
    if (idle && !f.node) f = slack_task(served, g, now, 1);
    if (!f.node && idle) found_nothing(g, now);
    return f;
  }
  if (g < kGroups && short_of(served.groups[g].space)) {
    Plan &p = plans_[g];
    if (p.n && p.nodes[0]->priority < priority) give_up(p);
    if (p.n || make_plan(served, g, priority, now) || relieve(served, g, priority))
      return {p.nodes[0], p.nodes[0]->worker};
  }
  return most_urgent(served, worker, now, settings_.near, settings_.look);
}

bool Instance::would_take(const WorkerGroups &served, uint32_t g, double now) noexcept {
  for (const Kind &k : kinds_.all())
    if (open(served, k, g)) return true;
  return unknown(g, now).node || task_at_home(g).node || slack_task(served, g, now, 1).node;
}

// A worker with a task takes no second one that could be an idle worker's first.
bool Instance::leaves_to_others(const WorkerGroups &served, uint32_t g) const noexcept {
  uint32_t ready = 0, idle = 0;
  for (const Kind &k : kinds_.all())
    if (open(served, k, g)) ready += k.nready;
  for (uint32_t o = 0; o < served.groups.size() && o < kGroups; ++o) {
    if (served.groups[o].klass != served.groups[g].klass) continue;
    for (uint32_t i = served.groups[o].first; i < served.groups[o].first + served.groups[o].count; ++i)
      idle += !npopped_[served.order[i]];
  }
  return ready <= idle;
}

void Instance::give_up(Plan &p) noexcept {
  for (uint32_t i = 0; i < p.n; ++i) p.nodes[i]->plan = CONSORT_NONE;
  p.n = 0;
}

// All remaining tasks are planned by others: takes the last half of the longest plan.
bool Instance::relieve(const WorkerGroups &served, uint32_t g, int32_t priority) noexcept {
  uint32_t most = 0, from = g;
  for (uint32_t o = 0; o < served.groups.size() && o < kGroups; ++o) {
    const Plan &p = plans_[o];
    const bool fits = o != g && p.n > most && p.nodes[p.n - 1]->priority == priority &&
                      open(served, kinds_[p.nodes[p.n - 1]->worker], g);
    if (fits) most = p.n, from = o;
  }
  Plan &p = plans_[g], &theirs = plans_[from];
  for (uint32_t n = (most + 1) / 2; n > 0; --n) {
    Node *node = theirs.nodes[theirs.n - 1];
    if (!open(served, kinds_[node->worker], g)) break;
    --theirs.n;
    node->plan = g;
    p.nodes[p.n++] = node;
  }
  return p.n;
}

// Collects the first unplanned tasks of each kind, with the data they lack here.
uint32_t Instance::candidates(const WorkerGroups &served, uint32_t g, int32_t priority) noexcept {
  uint32_t n = 0;
  for (uint32_t i = 0; i < kinds_.all().size() && n < kMost; ++i) {
    if (!open(served, kinds_[i], g)) continue;
    Node *some[kMost];
    const uint32_t m = kinds_[i].ready.first(some, std::min(settings_.look, kMost - n));
    for (uint32_t j = 0; j < m && some[j]->priority == priority; ++j)
      if (some[j]->plan == CONSORT_NONE) some_[n++] = {some[j], 0, 0};
  }
  constexpr uint32_t kBatch = 16;
  for (uint32_t from = 0; from < n; from += kBatch) {
    const consort_task *tasks[kBatch];
    uint64_t bits[kBatch];
    const uint32_t m = std::min(kBatch, n - from);
    for (uint32_t j = 0; j < m; ++j) tasks[j] = some_[from + j].node->task;
    lacking_(host_, tasks, m, &served.groups[g].space, 1, bits);
    for (uint32_t j = 0; j < m; ++j) {
      some_[from + j].lacks = static_cast<uint32_t>(std::popcount(bits[j]));
      some_[from + j].bits = bits[j];
    }
  }
  return n;
}

uint32_t &Instance::help(uint64_t datum) noexcept {
  for (std::size_t i = policies::mix(datum) % kHelps;; i = (i + 1) % kHelps) {
    Help &h = helps_[i];
    if (h.round != round_ && nhelps_ == kHelps / 2) return help_of_others_;
    if (h.round != round_) h = {datum, round_, 0}, ++nhelps_;
    if (h.datum == datum) return h.count;
  }
}

// Plans the tasks without missing data; else the datum that completes most tasks, and those tasks; else the task that lacks least.
bool Instance::make_plan(const WorkerGroups &served, uint32_t g, int32_t priority, double now) noexcept {
  uint32_t n = candidates(served, g, priority);
  if (!n) return false;
  const double late = remaining_ns(served, now) * settings_.critical;
  Candidate *const end = std::partition(some_, some_ + n, [&](const Candidate &c) { return c.node->rank >= late; });
  if (end != some_) n = static_cast<uint32_t>(end - some_);
  uint32_t least = ~0u;
  for (uint32_t i = 0; i < n; ++i) least = std::min(least, some_[i].lacks);
  n = static_cast<uint32_t>(std::partition(some_, some_ + n, [&](auto &c) { return c.lacks == least; }) - some_);
  // For each missing datum: the number of tasks that it helps.
  ++round_, nhelps_ = help_of_others_ = 0;
  const auto each_datum = [&](const Candidate &c, auto f) {
    for (uint64_t bits = c.bits; bits; bits &= bits - 1) f(c.node->task->access[std::countr_zero(bits)].datum->id);
  };
  for (uint32_t i = 0; i < n; ++i) each_datum(some_[i], [&](uint64_t id) { ++help(id); });
  const Candidate *best = nullptr;
  uint64_t most = 0;
  for (uint32_t i = 0; i < n; ++i) {
    uint64_t helped = 0;
    each_datum(some_[i], [&](uint64_t id) { helped += help(id); });
    if (best && (helped < most || (helped == most && !policies::more_urgent(some_[i].node, best->node)))) continue;
    best = &some_[i], most = helped;
  }
  // With one missing datum: all tasks that it completes. Without missing data: all tasks.
  const uint64_t datum = least == 1 ? best->node->task->access[std::countr_zero(best->bits)].datum->id : 0;
  Plan &p = plans_[g];
  const uint32_t room = std::min({settings_.plan, kPlan, n / static_cast<uint32_t>(served.groups.size()) + 1});
  const auto add = [&](Node *node) {
    uint32_t i = p.n++;
    for (; i > 0 && policies::more_urgent(node, p.nodes[i - 1]); --i) p.nodes[i] = p.nodes[i - 1];
    p.nodes[i] = node;
    node->plan = g;
  };
  p.n = 0;
  add(best->node);
  const auto goes_along = [&](const Candidate &c) {
    return least == 0 || c.node->task->access[std::countr_zero(c.bits)].datum->id == datum;
  };
  for (uint32_t i = 0; i < n && p.n < room && least < 2; ++i)
    if (&some_[i] != best && goes_along(some_[i])) add(some_[i].node);
  return true;
}

// -- victims ------------------------------------------------------------------------------------------------------

// Eviction order: data of plans in this space last; of the others, the least used from now on first.
uint32_t Instance::victim(uint32_t space, uint64_t, const consort_replica *replicas, uint32_t n,
                          uint32_t *order) noexcept {
  constexpr uint32_t kShown = 256;
  if (!settings_.least_used || n > kShown) return 0;
  const policies::Visit visit(serving_.external());
  const WorkerGroups &served = this->served();
  uint64_t keys[kShown];
  {
    const std::lock_guard guard(lock_);
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t planned = 0;
      for (uint32_t g = 0; g < served.groups.size() && g < kGroups; ++g) {
        if (served.groups[g].space != space) continue;
        for (uint32_t k = 0; k < plans_[g].n; ++k) {
          const consort_task *t = plans_[g].nodes[k]->task;
          for (uint32_t a = 0; a < t->naccess; ++a) planned += t->access[a].datum->id == replicas[i].data;
        }
      }
      keys[i] = std::min<uint64_t>(planned, 0xffff) << 48 | uint64_t{uses_.left(replicas[i].data)} << 16 | i;
    }
  }
  for (uint32_t i = 0; i < n; ++i) order[i] = i;
  std::sort(order, order + n, [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  return n;
}

}  // namespace darts
