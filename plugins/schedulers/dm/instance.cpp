#include "instance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <mutex>

#include "../graph.hpp"

namespace dm {
namespace {

constexpr double kFar = std::numeric_limits<double>::max();

}  // namespace

// -- life ---------------------------------------------------------------------------------------------------------

Instance::Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
    : settings_(settings),
      host_(host),
      models_(host->get ? static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID)) : nullptr),
      tells_(models_ && models_->size > offsetof(consort_sched_host, decided) && models_->decided),
      serving_(host, epoch, settings.traits.teams) {
  if (settings.traits.ranks) graph_ = std::make_unique<Graph>();
  publish(Members(t), t);
}
Instance::~Instance() = default;

void Instance::publish(Members &&members, const consort_topology &t) {
  const std::size_t n = serving_.prepare(std::move(members), t).members.serves.size();
  std::vector<WorkerState> more(std::max(n, states_.size()));
  std::vector<Mark> marks(more.size());
  {
    const std::lock_guard guard(lock_);
    std::copy(states_.begin(), states_.end(), more.begin());
    std::copy(marks_.begin(), marks_.end(), marks.begin());
    states_.swap(more);
    marks_.swap(marks);
  }
  serving_.publish();
}

consort_status Instance::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  if (const consort_status bad = check_added(host_, &t, add, na); bad < 0) return bad;
  Members next = served().members;
  next.change(t, add, na, del, nd);
  publish(std::move(next), t);
  serving_.wait_until_empty(CONSORT_NEVER);  // no thread uses the old groups any more
  const WorkerGroups &served = this->served();
  std::vector<consort_task *> homeless;
  {
    const std::lock_guard guard(lock_);
    for (uint32_t w = 0; w < states_.size(); ++w) {
      if (served.serves(w)) continue;
      while (Node *n = states_[w].queue.front()) {
        homeless.push_back(n->task);
        take(n);
        pool_.put(n);
      }
    }
    while (Node *n = strays_.front()) {
      homeless.push_back(n->task);
      strays_.remove(n);
      pool_.put(n);
    }
    pool_.promise(static_cast<uint32_t>(homeless.size()));  // nodes freed above
  }
  place(served, homeless.data(), static_cast<uint32_t>(homeless.size()), CONSORT_NONE, 0,
        nullptr);
  return CONSORT_OK;
}

uint32_t Instance::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  serving_.begin(epoch);
  if (graph_) graph_->clear();
  const std::lock_guard guard(lock_);
  uint32_t count = 0;
  for (uint32_t w = 0; w < states_.size(); ++w) {
    WorkerState &s = states_[w];
    while (count < max && !s.queue.empty()) {
      Node *n = s.queue.front();
      out[count++] = n->task;
      take(n);
      pool_.put(n);
    }
    if (s.queue.empty()) s.running = 0, marks_[w] = {0, s.lent, 0, 0};  // a new epoch: ends of these tasks are not reported
  }
  for (Node *n; count < max && (n = strays_.front());) {
    out[count++] = n->task;
    strays_.remove(n);
    pool_.put(n);
  }
  for (uint32_t w = 0; w < states_.size() && !count; ++w) states_[w].lent = 0, note(w);  // of popped tasks
  return count;
}

// -- the decision -------------------------------------------------------------------------------------------------

// Expected end of the worker's popped and queued tasks.
double Instance::through_at(uint32_t worker, double now) const noexcept {
  double popped = 0;
  for (uint32_t i = 0; i < marks_[worker].npopped; ++i) popped += states_[worker].popped[i].exec;
  return now + popped + marks_[worker].queued;
}

// Earliest start of one more task on the worker.
double Instance::free_at(uint32_t worker, const consort_task *t, double now) const noexcept {
  const Mark &m = marks_[worker];
  if (!settings_.traits.decision) return std::max(m.end, now + m.queued);
  if (!m.waiting) return std::max(m.end, now);
  const Queue &queue = states_[worker].queue;
  const double before = queue.ahead_of(t->priority);
  return std::max(m.end - queue.sum(), now) + before;
}

uint32_t Instance::soonest(const WorkerGroups &served, const Group &g, const consort_task *t, double now,
                           double *at) const noexcept {
  uint32_t best = CONSORT_NONE;
  *at = kFar;
  for (uint32_t i = g.first; i < g.first + g.count; ++i) {
    const uint32_t w = served.order[i];
    if (const double free = free_at(w, t, now); free < *at) *at = free, best = w;
    if (*at <= now) break;  // no worker can start earlier
  }
  return best;
}

// The team whose last member is free first.
const TeamGroup::One *Instance::soonest(const TeamGroup &g, const consort_task *t, double now,
                                        double *at) const noexcept {
  const TeamGroup::One *best = nullptr;
  *at = kFar;
  for (const TeamGroup::One &team : g.teams) {
    double free = now;
    for (const uint32_t m : team.members) free = std::max(free, free_at(m, t, now));
    if (free < *at) *at = free, best = &team;
  }
  return best;
}

// Adds the load of a team's task to all members but the first, which holds the task.
void Instance::lend(const TeamGroup::One &team, float ns) noexcept {
  for (std::size_t i = 1; i < team.members.size(); ++i) {
    double &lent = states_[team.members[i]].lent;
    lent = std::max(0.0, lent + ns);
    note(team.members[i]);
  }
}

// The worker or team with the earliest weighted end. Under the lock.
Instance::Choice Instance::choose(const WorkerGroups &served, const consort_task *t, const Estimates &e, uint32_t index,
                                  double now) noexcept {
  struct Offer {
    uint32_t group, worker;
    double end;
    const TeamGroup::One *team;
  };
  const auto ngroups = static_cast<uint32_t>(served.groups.size());
  Offer offers[64];
  uint32_t noffers = 0, nlacking = 0, lacking[64];
  const auto offer = [&](const Offer &o) {
    if (noffers < 64) {
      offers[noffers++] = o;
    } else {  // more than 64 groups: replaces the worst
      auto worst = std::max_element(offers, offers + noffers, [](auto &a, auto &b) { return a.end < b.end; });
      if (o.end < worst->end) *worst = o;
    }
  };
  Choice choice;
  double last = 0;  // present end of all work; only with idle power
  for (uint32_t g = 0; g < ngroups; ++g) {
    const uint64_t mask = e.mask(index, g);
    if (!mask) continue;
    if (g < 64) choice.groups |= uint64_t{1} << g;
    double free;
    const uint32_t w = soonest(served, served.groups[g], t, now, &free);
    if (std::isnan(e.exec(index, g))) {
      if (nlacking < 64) lacking[nlacking++] = g;
      continue;
    }
    offer({g, w, std::max(free, now + e.transfer(index, g)) + e.exec(index, g), nullptr});
  }
  for (uint32_t k = 0; k < served.teams.size() && (t->flags & CONSORT_TK_TEAM); ++k) {
    const uint32_t g = ngroups + k;
    if (!e.mask(index, g)) continue;
    if (std::isnan(e.exec(index, g))) {
      if (nlacking < 64) lacking[nlacking++] = g;
      continue;
    }
    double free;
    const TeamGroup::One *team = soonest(served.teams[k], t, now, &free);
    offer({g, team->members.front(), std::max(free, now + e.transfer(index, g)) + e.exec(index, g), team});
  }
  if (settings_.idle_power > 0)
    for (const uint32_t w : served.order) last = std::max(last, marks_[w].end);
  const auto fill = [&](uint32_t g, uint32_t w, float exec, bool known, const TeamGroup::One *team, double end) {
    choice.team = team, choice.end = end;
    choice.worker = w, choice.group = g, choice.mask = e.mask(index, g);
    choice.exec = exec, choice.transfer = e.transfer(index, g), choice.known = known;
  };
  if (nlacking) {  // groups without a known time get samples first, in turn, a few at a time
    uint32_t best_group = CONSORT_NONE, best = CONSORT_NONE, fewest = CONSORT_NONE;
    const TeamGroup::One *best_team = nullptr;
    for (uint32_t k = 0; k < nlacking; ++k) {
      const uint32_t g = lacking[(turns_ + k) % nlacking];
      if (g >= ngroups) {
        const auto &all = served.teams[g - ngroups].teams;
        const TeamGroup::One &team = all[turns_ % all.size()];
        const uint32_t leader = team.members.front(), has = states_[leader].unknown + marks_[leader].npopped;
        if (has < fewest)
          fewest = has, best = team.members.front(), best_group = g, best_team = &team;
        continue;
      }
      const Group &group = served.groups[g];
      for (uint32_t i = 0; i < group.count; ++i) {
        const uint32_t w = served.order[group.first + (turns_ + i) % group.count];
        const uint32_t has = states_[w].unknown + (models_ ? marks_[w].npopped : 0);
        if (has < fewest) fewest = has, best = w, best_group = g, best_team = nullptr;
      }
    }
    ++turns_;
    if (noffers == 0 || fewest < 2) {
      fill(best_group, best, states_[best].usual, false, best_team, now + states_[best].usual);
      return choice;
    }
  }
  double least = kFar;
  const auto area = [&](const Offer &o) {  // ns of all its workers
    return (o.team ? static_cast<double>(o.team->members.size()) : 1.0) * e.exec(index, o.group);
  };
  for (uint32_t k = 0; k < noffers; ++k) {
    const Offer &o = offers[k];
    double cost = settings_.alpha * (o.end - now) + settings_.beta * e.transfer(index, o.group) +
                  settings_.gamma * 1e-3 * e.energy(index, o.group);
    if (settings_.idle_power > 0)  // W * ns = nJ
      cost += settings_.gamma * settings_.idle_power * 1e-6 * std::max(0.0, o.end - std::max(last, now));
    // A team's extra worker time, beyond the least, delays each waiting task.
    if (const uint32_t waiting = o.team ? pool_.waiting() : 0; waiting > 1) {
      double frugal = area(o);
      for (uint32_t i = 0; i < noffers; ++i)
        if (served.klass(offers[i].group) == served.klass(o.group)) frugal = std::min(frugal, area(offers[i]));
      cost += settings_.alpha * (waiting - 1) * (area(o) - frugal) / static_cast<double>(served.order.size());
    }
    if (cost < least) least = cost, fill(o.group, o.worker, e.exec(index, o.group), true, o.team, o.end);
  }
  return choice;
}

// -- push ---------------------------------------------------------------------------------------------------------

void Instance::insert(Node *n, const Choice &c) noexcept {
  if (c.worker == CONSORT_NONE) return strays_.push(n);
  WorkerState &s = states_[c.worker];
  if (!c.known) ++s.unknown;
  ++queued_beside(c.worker);
  ++marks_[c.worker].waiting;
  s.queue.push(n);
  note(c.worker);
}

// Names the worker that got the task, and idle workers of its group if it is late.
void Instance::wake_for(const WorkerGroups &served, uint32_t worker, uint32_t from, double now,
                        consort_wake *wake) const noexcept {
  if (!wake) return;
  if (worker != from && worker / 64 < wake->nwords) consort_wake_worker(wake, worker);
  else ++wake->k;
  if (const Mark &m = marks_[worker]; !settings_.steal || !(m.npopped && m.end < now + states_[worker].queue.sum())) return;
  const Group &g = served.groups[served.group_of[worker]];
  for (uint32_t i = g.first; i < g.first + g.count; ++i) {
    const uint32_t w = served.order[i];
    if (w != from && w / 64 < wake->nwords && !marks_[w].npopped && !marks_[w].waiting)
      wake->bits[w / 64] |= uint64_t{1} << w % 64;
  }
}

// Requires reserved nodes in the pool.
void Instance::place(const WorkerGroups &served, consort_task *const *tasks, uint32_t n, uint32_t from, uint32_t flags,
                     consort_wake *wake) noexcept {
  Estimates e;
  Choice choices[Estimates::kTasks];
  float ranks[Estimates::kTasks];
  for (uint32_t done = 0; done < n;) {
    const uint32_t some = Estimates::fit(served, n - done);
    e.ask(host_, models_, served, tasks + done, some,
          {settings_.traits.data && (settings_.beta > 0 || settings_.alpha > 0), settings_.gamma > 0});
    for (uint32_t k = 0; k < some; ++k) ranks[k] = graph_ ? graph_->rank(tasks[done + k], host_, models_) : 0;
    const double now = this->now();
    bool later = false;  // queries or prefetches precede publishing the tasks
    uint64_t turn;       // turns_ is read under the lock alone
    const auto put = [&](uint32_t k) {
      Node *node = pool_.take();
      consort_task *t = tasks[done + k];
      node->task = t;
      node->seq = ++seq_;
      node->groups = choices[k].groups;
      node->rank = ranks[k];
      node->exec = choices[k].exec;
      node->known = choices[k].known;
      node->worker = choices[k].worker;
      node->impl = choices[k].impl;
      node->team = choices[k].team;
      node->priority = settings_.traits.order == Order::kPriority ? t->priority : 0;
      insert(node, choices[k]);
    };
    {
      const std::lock_guard guard(lock_);
      for (uint32_t k = 0; k < some; ++k) {
        consort_task *t = tasks[done + k];
        for (uint32_t w = 0; (flags & CONSORT_PUSH_RETRIED) && w < states_.size(); ++w) forget(w, t->id);
        const Choice &c = choices[k] = choose(served, t, e, k, now);
        if (c.worker == CONSORT_NONE) continue;
        Mark &m = marks_[c.worker];
        m.end = std::max(m.end, std::max(now + m.queued, now + c.transfer)) + c.exec;
        if (c.team) {
          lend(*c.team, c.exec);
          for (const uint32_t w : c.team->members) marks_[w].end = std::max(marks_[w].end, c.end);
        }
        wake_for(served, c.worker, from, now, wake);
        if (tells_) models_->decided(host_, t, c.worker, c.known ? c.exec : NAN, policies::expected_end(m.end));
        later |= models_ && ((settings_.traits.data && c.transfer > 0) || std::popcount(c.mask) > 1);
      }
      turn = turns_;
      if (!later)
        for (uint32_t k = 0; k < some; ++k) put(k);
    }
    if (later) {
      for (uint32_t k = 0; k < some; ++k) {
        Choice &c = choices[k];
        if (c.worker == CONSORT_NONE) continue;
        c.impl = best_impl(host_, models_, tasks[done + k], c.team ? c.team->id : c.worker, c.mask,
                           static_cast<uint32_t>(turn + k));
        if (settings_.traits.data && c.transfer > 0)
          models_->prefetch(host_, tasks[done + k], served.spaces[c.group], tasks[done + k]->priority);
      }
      const std::lock_guard guard(lock_);
      for (uint32_t k = 0; k < some; ++k) put(k);
    }
    done += some;
  }
}

uint32_t Instance::push(const consort_push &p) noexcept {
  const Visit visit(serving_.visitors_of(p.from));
  const WorkerGroups &served = this->served();
  if (!serving_.in(p.epoch)) return 0;
  try {
    const std::lock_guard guard(lock_);
    pool_.promise(p.n);
  } catch (...) {
    return 0;  // no memory for nodes: the kernel distributes the tasks itself
  }
  place(served, p.ready, p.n, p.from, p.flags, p.wake);
  return p.n;
}

// -- pop ----------------------------------------------------------------------------------------------------------

// Removes the node from its queue; the caller owns it. Under the lock.
void Instance::take(Node *n) noexcept {
  WorkerState &s = states_[n->worker];
  --queued_beside(n->worker);
  --marks_[n->worker].waiting;
  s.queue.remove(n);
  note(n->worker);
  if (!n->known) --s.unknown;
  if (n->team) lend(*static_cast<const TeamGroup::One *>(n->team), -n->exec);
}

Node *Instance::next_of(const WorkerGroups &served, uint32_t worker) noexcept {
  WorkerState &s = states_[worker];
  const Order order = settings_.traits.order;
  if (order == Order::kArrival || !models_) return s.queue.front();
  Node *some[kLook];
  const uint32_t n = s.queue.first(some, kLook);
  if (n < 2) return n ? some[0] : nullptr;
  const consort_task *tasks[kLook];
  uint64_t bytes[kLook];
  for (uint32_t i = 0; i < n; ++i) tasks[i] = some[i]->task;
  // Compares missing bytes, not sizes of tasks: the first task without missing data wins, and no query
  // is made for later ones.
  uint32_t best = 0, asked = 0;
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 0; i < n && least; ++i) {
    if (i == asked) {
      const uint32_t more = std::min(n - i, i ? 4u : 1u);
      models_->resident(host_, tasks + i, more, &served.groups[served.group_of[worker]].space, 1, bytes + i);
      asked += more;
    }
    uint64_t all = 0;
    for (uint32_t a = 0; a < tasks[i]->naccess; ++a) all += tasks[i]->access[a].datum->bytes;
    if (const uint64_t missing = all - std::min(all, bytes[i]); missing < least) least = missing, best = i;
  }
  return some[best];
}

// The last task of another worker's queue that ends sooner on this one. Same class only.
Node *Instance::steal(const WorkerGroups &served, uint32_t worker, double now) noexcept {
  const uint32_t mine = served.group_of[worker];
  Node *best = nullptr;
  double most = 0;
  for (uint32_t g = 0; g < served.groups.size(); ++g) {
    if (served.groups[g].klass != served.groups[mine].klass) continue;
    for (uint32_t i = 0; i < served.groups[g].count; ++i) {
      const uint32_t w = served.order[served.groups[g].first + i];
      if (w == worker || !marks_[w].waiting) continue;
      const Queue &queue = states_[w].queue;
      Node *n = queue.back();
      if (mine >= 64 || n->team || !(n->groups >> mine & 1)) continue;
      double gain = std::max(marks_[w].end, now + queue.sum()) - now - n->exec;  // its waiting time there
      if (g != mine && models_) {
        const consort_task *t = n->task;
        float transfer = 0;
        models_->transfer_ns(host_, &t, 1, &served.groups[mine].space, 1, &transfer);
        gain -= transfer > 0 ? 2.0 * transfer : 0;  // its data were prefetched there, and the way back is busy too
      }
      if (gain < 0 || (best && gain <= most)) continue;
      best = n, most = gain;
    }
  }
  return best;
}

void Instance::forget(uint32_t worker, uint64_t id) noexcept {
  WorkerState &s = states_[worker];
  uint32_t &npopped = marks_[worker].npopped;
  for (uint32_t i = 0; i < npopped; ++i) {
    if (s.popped[i].id != id) continue;
    s.running -= s.popped[i].started;
    if (s.popped[i].team) lend(*s.popped[i].team, -s.popped[i].exec);
    std::copy(s.popped + i + 1, s.popped + npopped, s.popped + i);
    --npopped;
    return;
  }
}

// A worker holds only the tasks that it can start soon; the others stay here, where they may be overtaken or stolen.
bool Instance::has_enough(const WorkerGroups &served, uint32_t worker) const noexcept {
  if (!models_ || marks_[worker].npopped < served.depth[worker] + settings_.ahead) return false;
  if (states_[worker].running) return true;  // its end causes another pop
  float load = 0;              // excludes tasks that cannot start, so no wait for them
  models_->load_ns(host_, &worker, 1, &load);
  return load > 0;
}

void Instance::hand_out(uint32_t worker, Node *n, double now, consort_pick *out) noexcept {
  WorkerState &s = states_[worker];
  Mark &m = marks_[worker];
  const auto *team = static_cast<const TeamGroup::One *>(n->team);
  *out = {n->task, n->impl, team ? team->id : CONSORT_NONE};
  if (m.npopped == kPopped) forget(worker, s.popped[0].id);
  s.popped[m.npopped++] = {n->task->id, n->exec, false, team};
  if (team) lend(*team, n->exec);
  m.end = std::max(m.end, now + n->exec + s.queue.sum());
  pool_.put(n);
}

uint32_t Instance::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const Visit visit(serving_.visitors_of(worker));
  const WorkerGroups &served = this->served();
  if (max == 0 || !served.serves(worker)) return 0;
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (!queued_beside(worker)) return 0;  // no task here or at workers it may steal from
  if (has_enough(served, worker)) return 0;
  Node *n = next_of(served, worker);
  const bool idle = !states_[worker].running && (!models_ || !marks_[worker].npopped);
  if (!n && settings_.steal && idle && (n = steal(served, worker, now))) marks_[n->worker].end -= n->exec;
  if (!n) return 0;
  take(n);
  if (n->worker != worker) n->impl = CONSORT_NONE;
  if (graph_ && models_ && CONSORT_HAS_FN(models_, consort_sched_host, ranked)) models_->ranked(host_, n->task, n->rank);
  hand_out(worker, n, now, out);
  return 1;
}

// -- events ------------------------------------------------------------------------------------------------------

void Instance::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (worker >= states_.size()) return;
  WorkerState &s = states_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < marks_[worker].npopped; ++i) {
      if (s.popped[i].id != tasks[k]->id || s.popped[i].started) continue;
      s.popped[i].started = true;
      if (s.running++ == 0) marks_[worker].end = through_at(worker, now);
    }
}

void Instance::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
  const double now = this->now();
  {
    const std::lock_guard guard(lock_);
    if (worker >= states_.size()) return;
    WorkerState &s = states_[worker];
    for (uint32_t k = 0; k < n; ++k) {
      forget(worker, done[k].cookie);
      if (done[k].t1 > done[k].t0) {
        const auto took = static_cast<float>(done[k].t1 - done[k].t0);
        s.usual = s.usual > 0 ? s.usual + (took - s.usual) / 4 : took;
      }
    }
    marks_[worker].end = through_at(worker, now);
  }
  if (graph_)
    for (uint32_t k = 0; k < n; ++k) graph_->finished(done[k].cookie);
}

// Cancelled or poisoned tasks: queued ones are returned at once and not by pop.
uint32_t Instance::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  const Visit visit(serving_.external());
  uint32_t nheld = 0;
  const std::lock_guard guard(lock_);
  for (uint32_t k = 0; k < n; ++k) {
    Node *node = pool_.find(tasks[k]);
    if (!node) continue;
    held[nheld++] = node->task;
    if (node->worker == CONSORT_NONE) {
      strays_.remove(node);
    } else {
      marks_[node->worker].end -= node->exec;
      take(node);
    }
    pool_.put(node);
  }
  return nheld;
}

void Instance::submitted(const consort_task *const *tasks, uint32_t n) noexcept {
  if (graph_) graph_->submitted(tasks, n, host_, models_, served());
}

}  // namespace dm
