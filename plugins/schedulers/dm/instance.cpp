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
  std::vector<Seat> more(std::max(n, seats_.size()));
  std::vector<Mark> marks(more.size());
  {
    const std::lock_guard guard(lock_);
    std::copy(seats_.begin(), seats_.end(), more.begin());
    std::copy(marks_.begin(), marks_.end(), marks.begin());
    seats_.swap(more);
    marks_.swap(marks);
  }
  serving_.show();
}

consort_status Instance::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  if (const consort_status bad = check_added(host_, &t, add, na); bad < 0) return bad;
  Members next = crew().members;
  next.change(t, add, na, del, nd);
  publish(std::move(next), t);
  serving_.nobody_inside(CONSORT_NEVER);  // nobody is at work with the old crew any more
  const Crew &crew = this->crew();
  std::vector<consort_task *> homeless;
  {
    const std::lock_guard guard(lock_);
    for (uint32_t w = 0; w < seats_.size(); ++w) {
      if (crew.serves(w)) continue;
      while (Node *n = seats_[w].queue.front()) {
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
    pool_.promise(static_cast<uint32_t>(homeless.size()));  // those that have just come back
  }
  place(crew, homeless.data(), static_cast<uint32_t>(homeless.size()), CONSORT_NONE, 0,
        nullptr);
  return CONSORT_OK;
}

uint32_t Instance::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  serving_.begin(epoch);
  if (graph_) graph_->clear();
  const std::lock_guard guard(lock_);
  uint32_t count = 0;
  for (uint32_t w = 0; w < seats_.size(); ++w) {
    Seat &s = seats_[w];
    while (count < max && !s.queue.empty()) {
      Node *n = s.queue.front();
      out[count++] = n->task;
      take(n);
      pool_.put(n);
    }
    if (s.queue.empty()) s.running = 0, marks_[w] = {0, s.lent, 0, 0};  // another life begins: these ends are not told
  }
  for (Node *n; count < max && (n = strays_.front());) {
    out[count++] = n->task;
    strays_.remove(n);
    pool_.put(n);
  }
  for (uint32_t w = 0; w < seats_.size() && !count; ++w) seats_[w].lent = 0, note(w);  // of those that are out
  return count;
}

// -- the decision -------------------------------------------------------------------------------------------------

// When it is through with all that it was handed out and all that waits for it.
double Instance::through_at(uint32_t worker, double now) const noexcept {
  double popped = 0;
  for (uint32_t i = 0; i < marks_[worker].nout; ++i) popped += seats_[worker].out[i].exec;
  return now + popped + marks_[worker].queued;
}

// When a worker could begin with one more.
double Instance::free_at(uint32_t worker, const consort_task *t, double now) const noexcept {
  const Mark &m = marks_[worker];
  if (!settings_.traits.decision) return std::max(m.end, now + m.queued);
  if (!m.waiting) return std::max(m.end, now);
  const Queue &queue = seats_[worker].queue;
  const double before = queue.ahead_of(t->priority);
  return std::max(m.end - queue.sum(), now) + before;
}

uint32_t Instance::soonest(const Crew &crew, const Group &g, const consort_task *t, double now,
                           double *at) const noexcept {
  uint32_t best = CONSORT_NONE;
  *at = kFar;
  for (uint32_t i = g.first; i < g.first + g.count; ++i) {
    const uint32_t w = crew.order[i];
    if (const double free = free_at(w, t, now); free < *at) *at = free, best = w;
    if (*at <= now) break;  // nobody can begin before
  }
  return best;
}

// The team whose last member is free soonest.
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

// To all but the first, who has the task.
void Instance::lend(const TeamGroup::One &team, float ns) noexcept {
  for (std::size_t i = 1; i < team.members.size(); ++i) {
    double &lent = seats_[team.members[i]].lent;
    lent = std::max(0.0, lent + ns);
    note(team.members[i]);
  }
}

// Where it ends soonest, weighed as the settings say. Under the lock.
Instance::Choice Instance::choose(const Crew &crew, const consort_task *t, const Estimates &e, uint32_t index,
                                  double now) noexcept {
  struct Offer {
    uint32_t group, worker;
    double end;
    const TeamGroup::One *team;
  };
  const auto ngroups = static_cast<uint32_t>(crew.groups.size());
  Offer offers[64];
  uint32_t noffers = 0, nlacking = 0, lacking[64];
  const auto offer = [&](const Offer &o) {
    if (noffers < 64) {
      offers[noffers++] = o;
    } else {  // more groups than that: the worst makes room
      auto worst = std::max_element(offers, offers + noffers, [](auto &a, auto &b) { return a.end < b.end; });
      if (o.end < worst->end) *worst = o;
    }
  };
  Choice choice;
  double last = 0;  // when the machine is through as things are; only where idle power counts
  for (uint32_t g = 0; g < ngroups; ++g) {
    const uint64_t mask = e.mask(index, g);
    if (!mask) continue;
    if (g < 64) choice.groups |= uint64_t{1} << g;
    double free;
    const uint32_t w = soonest(crew, crew.groups[g], t, now, &free);
    if (std::isnan(e.exec(index, g))) {
      if (nlacking < 64) lacking[nlacking++] = g;
      continue;
    }
    offer({g, w, std::max(free, now + e.transfer(index, g)) + e.exec(index, g), nullptr});
  }
  for (uint32_t k = 0; k < crew.teams.size() && (t->flags & CONSORT_TK_TEAM); ++k) {
    const uint32_t g = ngroups + k;
    if (!e.mask(index, g)) continue;
    if (std::isnan(e.exec(index, g))) {
      if (nlacking < 64) lacking[nlacking++] = g;
      continue;
    }
    double free;
    const TeamGroup::One *team = soonest(crew.teams[k], t, now, &free);
    offer({g, team->members.front(), std::max(free, now + e.transfer(index, g)) + e.exec(index, g), team});
  }
  if (settings_.idle_power > 0)
    for (const uint32_t w : crew.order) last = std::max(last, marks_[w].end);
  const auto fill = [&](uint32_t g, uint32_t w, float exec, bool known, const TeamGroup::One *team, double end) {
    choice.team = team, choice.end = end;
    choice.worker = w, choice.group = g, choice.mask = e.mask(index, g);
    choice.exec = exec, choice.transfer = e.transfer(index, g), choice.known = known;
  };
  if (nlacking) {  // those of which nothing is known get their samples first, by turns, few at a time
    uint32_t best_group = CONSORT_NONE, best = CONSORT_NONE, fewest = CONSORT_NONE;
    const TeamGroup::One *best_team = nullptr;
    for (uint32_t k = 0; k < nlacking; ++k) {
      const uint32_t g = lacking[(turns_ + k) % nlacking];
      if (g >= ngroups) {
        const auto &all = crew.teams[g - ngroups].teams;
        const TeamGroup::One &team = all[turns_ % all.size()];
        const uint32_t leader = team.members.front(), has = seats_[leader].unknown + marks_[leader].nout;
        if (has < fewest)
          fewest = has, best = team.members.front(), best_group = g, best_team = &team;
        continue;
      }
      const Group &group = crew.groups[g];
      for (uint32_t i = 0; i < group.count; ++i) {
        const uint32_t w = crew.order[group.first + (turns_ + i) % group.count];
        const uint32_t has = seats_[w].unknown + (models_ ? marks_[w].nout : 0);
        if (has < fewest) fewest = has, best = w, best_group = g, best_team = nullptr;
      }
    }
    ++turns_;
    if (noffers == 0 || fewest < 2) {
      fill(best_group, best, seats_[best].usual, false, best_team, now + seats_[best].usual);
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
    // What a team takes more of its workers' time than the least that there is, those wait for who come after it.
    if (const uint32_t waiting = o.team ? pool_.waiting() : 0; waiting > 1) {
      double frugal = area(o);
      for (uint32_t i = 0; i < noffers; ++i)
        if (crew.klass(offers[i].group) == crew.klass(o.group)) frugal = std::min(frugal, area(offers[i]));
      cost += settings_.alpha * (waiting - 1) * (area(o) - frugal) / static_cast<double>(crew.order.size());
    }
    if (cost < least) least = cost, fill(o.group, o.worker, e.exec(index, o.group), true, o.team, o.end);
  }
  return choice;
}

// -- push ---------------------------------------------------------------------------------------------------------

void Instance::insert(Node *n, const Choice &c) noexcept {
  if (c.worker == CONSORT_NONE) return strays_.push(n);
  Seat &s = seats_[c.worker];
  if (!c.known) ++s.unknown;
  ++queued_beside(c.worker);
  ++marks_[c.worker].waiting;
  s.queue.push(n);
  note(c.worker);
}

// The one that it was given to; and those that are idle beside one that lags behind what was expected of it.
void Instance::wake_for(const Crew &crew, uint32_t worker, uint32_t from, double now,
                        consort_wake *wake) const noexcept {
  if (!wake) return;
  if (worker != from && worker / 64 < wake->nwords) consort_wake_worker(wake, worker);
  else ++wake->k;
  if (const Mark &m = marks_[worker]; !settings_.steal || !(m.nout && m.end < now + seats_[worker].queue.sum())) return;
  const Group &g = crew.groups[crew.group_of[worker]];
  for (uint32_t i = g.first; i < g.first + g.count; ++i) {
    const uint32_t w = crew.order[i];
    if (w != from && w / 64 < wake->nwords && !marks_[w].nout && !marks_[w].waiting)
      wake->bits[w / 64] |= uint64_t{1} << w % 64;
  }
}

// Their nodes are in the pool.
void Instance::place(const Crew &crew, consort_task *const *tasks, uint32_t n, uint32_t from, uint32_t flags,
                     consort_wake *wake) noexcept {
  Estimates e;
  Choice choices[Estimates::kTasks];
  float ranks[Estimates::kTasks];
  for (uint32_t done = 0; done < n;) {
    const uint32_t some = Estimates::fit(crew, n - done);
    e.ask(host_, models_, crew, tasks + done, some,
          {settings_.traits.data && (settings_.beta > 0 || settings_.alpha > 0), settings_.gamma > 0});
    for (uint32_t k = 0; k < some; ++k) ranks[k] = graph_ ? graph_->rank(tasks[done + k], host_, models_) : 0;
    const double now = this->now();
    bool later = false;  // something is to be asked or told before others may have them
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
        for (uint32_t w = 0; (flags & CONSORT_PUSH_RETRIED) && w < seats_.size(); ++w) forget(w, t->id);
        const Choice &c = choices[k] = choose(crew, t, e, k, now);
        if (c.worker == CONSORT_NONE) continue;
        Mark &m = marks_[c.worker];
        m.end = std::max(m.end, std::max(now + m.queued, now + c.transfer)) + c.exec;
        if (c.team) {
          lend(*c.team, c.exec);
          for (const uint32_t w : c.team->members) marks_[w].end = std::max(marks_[w].end, c.end);
        }
        wake_for(crew, c.worker, from, now, wake);
        if (tells_) models_->decided(host_, t, c.worker, c.known ? c.exec : NAN, static_cast<uint64_t>(m.end));
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
          models_->prefetch(host_, tasks[done + k], crew.spaces[c.group], tasks[done + k]->priority);
      }
      const std::lock_guard guard(lock_);
      for (uint32_t k = 0; k < some; ++k) put(k);
    }
    done += some;
  }
}

uint32_t Instance::push(const consort_push &p) noexcept {
  const Visit visit(serving_.visitors_of(p.from));
  const Crew &crew = this->crew();
  if (!serving_.in(p.epoch)) return 0;
  try {
    const std::lock_guard guard(lock_);
    pool_.promise(p.n);
  } catch (...) {
    return 0;  // no memory for nodes: the kernel takes them to workers by itself
  }
  place(crew, p.ready, p.n, p.from, p.flags, p.wake);
  return p.n;
}

// -- pop ----------------------------------------------------------------------------------------------------------

// Out of its queue; the node is the caller's. Under the lock.
void Instance::take(Node *n) noexcept {
  Seat &s = seats_[n->worker];
  --queued_beside(n->worker);
  --marks_[n->worker].waiting;
  s.queue.remove(n);
  note(n->worker);
  if (!n->known) --s.unknown;
  if (n->team) lend(*static_cast<const TeamGroup::One *>(n->team), -n->exec);
}

Node *Instance::next_of(const Crew &crew, uint32_t worker) noexcept {
  Seat &s = seats_[worker];
  const Order order = settings_.traits.order;
  if (order == Order::kArrival || !models_) return s.queue.front();
  Node *some[kLook];
  const uint32_t n = s.queue.first(some, kLook);
  if (n < 2) return n ? some[0] : nullptr;
  const consort_task *tasks[kLook];
  uint64_t bytes[kLook];
  for (uint32_t i = 0; i < n; ++i) tasks[i] = some[i]->task;
  // What is missing counts, not how large a task is: of those with all their data the first, and none behind it is
  // asked about.
  uint32_t best = 0, asked = 0;
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 0; i < n && least; ++i) {
    if (i == asked) {
      const uint32_t more = std::min(n - i, i ? 4u : 1u);
      models_->resident(host_, tasks + i, more, &crew.groups[crew.group_of[worker]].space, 1, bytes + i);
      asked += more;
    }
    uint64_t all = 0;
    for (uint32_t a = 0; a < tasks[i]->naccess; ++a) all += tasks[i]->access[a].datum->bytes;
    if (const uint64_t missing = all - std::min(all, bytes[i]); missing < least) least = missing, best = i;
  }
  return some[best];
}

// Of another worker's queue the last, where this one ends it sooner. Among the same class alone.
Node *Instance::steal(const Crew &crew, uint32_t worker, double now) noexcept {
  const uint32_t mine = crew.group_of[worker];
  Node *best = nullptr;
  double most = 0;
  for (uint32_t g = 0; g < crew.groups.size(); ++g) {
    if (crew.groups[g].klass != crew.groups[mine].klass) continue;
    for (uint32_t i = 0; i < crew.groups[g].count; ++i) {
      const uint32_t w = crew.order[crew.groups[g].first + i];
      if (w == worker || !marks_[w].waiting) continue;
      const Queue &queue = seats_[w].queue;
      Node *n = queue.back();
      if (mine >= 64 || n->team || !(n->groups >> mine & 1)) continue;
      double gain = std::max(marks_[w].end, now + queue.sum()) - now - n->exec;  // how long it would wait there
      if (g != mine && models_) {
        const consort_task *t = n->task;
        float transfer = 0;
        models_->transfer_ns(host_, &t, 1, &crew.groups[mine].space, 1, &transfer);
        gain -= transfer > 0 ? 2.0 * transfer : 0;  // it was sent there, and the way back is busy too
      }
      if (gain < 0 || (best && gain <= most)) continue;
      best = n, most = gain;
    }
  }
  return best;
}

void Instance::forget(uint32_t worker, uint64_t id) noexcept {
  Seat &s = seats_[worker];
  uint32_t &nout = marks_[worker].nout;
  for (uint32_t i = 0; i < nout; ++i) {
    if (s.out[i].id != id) continue;
    s.running -= s.out[i].started;
    if (s.out[i].team) lend(*s.out[i].team, -s.out[i].exec);
    std::copy(s.out + i + 1, s.out + nout, s.out + i);
    --nout;
    return;
  }
}

// More than it can start soon is kept here, where it may still be put behind another, or be had by others.
bool Instance::has_enough(const Crew &crew, uint32_t worker) const noexcept {
  if (!models_ || marks_[worker].nout < crew.depth[worker] + settings_.ahead) return false;
  if (seats_[worker].running) return true;  // it will end, and then this is asked again
  float load = 0;              // those that never start are not in here: nobody waits for them for ever
  models_->load_ns(host_, &worker, 1, &load);
  return load > 0;
}

void Instance::hand_out(uint32_t worker, Node *n, double now, consort_pick *out) noexcept {
  Seat &s = seats_[worker];
  Mark &m = marks_[worker];
  const auto *team = static_cast<const TeamGroup::One *>(n->team);
  *out = {n->task, n->impl, team ? team->id : CONSORT_NONE};
  if (m.nout == kOut) forget(worker, s.out[0].id);
  s.out[m.nout++] = {n->task->id, n->exec, false, team};
  if (team) lend(*team, n->exec);
  m.end = std::max(m.end, now + n->exec + s.queue.sum());
  pool_.put(n);
}

uint32_t Instance::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const Visit visit(serving_.visitors_of(worker));
  const Crew &crew = this->crew();
  if (max == 0 || !crew.serves(worker)) return 0;
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (!queued_beside(worker)) return 0;  // neither here nor with those that it may take from
  if (has_enough(crew, worker)) return 0;
  Node *n = next_of(crew, worker);
  const bool idle = !seats_[worker].running && (!models_ || !marks_[worker].nout);
  if (!n && settings_.steal && idle && (n = steal(crew, worker, now))) marks_[n->worker].end -= n->exec;
  if (!n) return 0;
  take(n);
  if (n->worker != worker) n->impl = CONSORT_NONE;
  if (graph_ && models_ && CONSORT_HAS_FN(models_, consort_sched_host, ranked)) models_->ranked(host_, n->task, n->rank);
  hand_out(worker, n, now, out);
  return 1;
}

// -- what is told -------------------------------------------------------------------------------------------------

void Instance::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (worker >= seats_.size()) return;
  Seat &s = seats_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < marks_[worker].nout; ++i) {
      if (s.out[i].id != tasks[k]->id || s.out[i].started) continue;
      s.out[i].started = true;
      if (s.running++ == 0) marks_[worker].end = through_at(worker, now);
    }
}

void Instance::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
  const double now = this->now();
  {
    const std::lock_guard guard(lock_);
    if (worker >= seats_.size()) return;
    Seat &s = seats_[worker];
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

// Cancelled or poisoned: those that are in here come out at once and not by pop.
uint32_t Instance::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  const Visit visit(serving_.outsiders());
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
  if (graph_) graph_->submitted(tasks, n, host_, models_, crew());
}

}  // namespace dm
