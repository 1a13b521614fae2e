// late_parts.hpp — the functions of late.hpp, which includes it: inline, so that plugins that share them can be linked
// into one program.
#pragma once
#include <algorithm>
#include <limits>

namespace policies {

// -- life ---------------------------------------------------------------------------------------------------------

inline Late::Late(const consort_host *host, const consort_topology &t, uint64_t epoch, uint32_t ahead)
    : host_(host),
      models_(host->get ? static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID)) : nullptr),
      ahead_(ahead),
      serving_(host, epoch),
      kinds_(host, models_) {
  publish(Members(t), t);
}

inline void Late::publish(Members &&members, const consort_topology &t) {
  const Crew &next = serving_.prepare(std::move(members), t);
  std::vector<Seat> more(std::max(next.members.serves.size(), seats_.size()));
  std::vector<uint32_t> nout(more.size());
  const std::lock_guard guard(lock_);
  std::copy(seats_.begin(), seats_.end(), more.begin());
  std::copy(nout_.begin(), nout_.end(), nout.begin());
  seats_.swap(more);
  nout_.swap(nout);
  idle_.assign(next.groups.size(), 0);
  for (const uint32_t w : next.order) idle_[next.group_of[w]] += !nout_[w];
  kinds_.asked_anew(next);  // what a decision reads of groups is this crew's from here on
  changes_ = kAlways;
  left_at_ = -1;
  serving_.show();
}

inline consort_status Late::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  if (const consort_status bad = check_added(host_, &t, add, na); bad < 0) return bad;
  Members next = crew().members;
  next.change(t, add, na, del, nd);
  publish(std::move(next), t);
  serving_.nobody_inside(CONSORT_NEVER);  // nobody is at work with the old crew any more
  return CONSORT_OK;
}

// Out of its kind's queue; the node is the caller's. Under the lock.
inline void Late::take(Kind &k, Node *n) noexcept {
  gone(n);
  left_at_ = -1;
  k.ready.remove(n);
  --k.nready;
  --nready_;
}

inline uint32_t Late::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  serving_.begin(epoch);
  graph_.clear();
  const std::lock_guard guard(lock_);
  uint32_t count = 0;
  for (Kind &k : kinds_.all()) {
    k.left = 0;
    std::fill(k.learning.begin(), k.learning.end(), 0);
    while (count < max && !k.ready.empty()) {
      Node *n = k.ready.front();
      out[count++] = n->task;
      take(k, n);
      pool_.put(n);
    }
  }
  for (Seat &s : seats_) s.running = 0;
  std::fill(nout_.begin(), nout_.end(), 0);  // another life begins: these ends are not told
  for (uint32_t g = 0; g < idle_.size() && g < crew().groups.size(); ++g)
    idle_[g] = static_cast<int32_t>(crew().groups[g].count);
  changes_ = kAlways;
  left_at_ = -1;
  return count;
}

// -- push ---------------------------------------------------------------------------------------------------------

inline uint32_t Late::push(const consort_push &p) noexcept {
  constexpr uint32_t kSome = 16;
  const Visit visit(serving_.visitors_of(p.from));
  if (!serving_.in(p.epoch)) return 0;
  const Crew &crew = this->crew();
  try {
    const std::lock_guard guard(lock_);
    pool_.promise(p.n);
    left_at_ = -1;
    for (uint32_t i = 0; i < p.n; ++i) kinds_.of(crew, p.ready[i]);  // from here on this throws nothing
  } catch (...) {
    return 0;  // no memory: the kernel takes them to workers by itself
  }
  const double now = this->now();
  for (uint32_t done = 0; done < p.n;) {
    const uint32_t some = std::min(kSome, p.n - done);
    float ranks[kSome];
    for (uint32_t i = 0; i < some; ++i) ranks[i] = graph_.rank(p.ready[done + i], host_, models_);
    const std::lock_guard guard(lock_);
    for (uint32_t i = 0; i < some; ++i) {
      consort_task *t = p.ready[done + i];
      const uint32_t kind = kinds_.of(crew, t);
      Kind &k = kinds_[kind];
      if (p.flags & CONSORT_PUSH_RETRIED) {
        bool was_out = !(p.flags & CONSORT_PUSH_NEW);  // with both, some are new
        for (uint32_t w = 0; w < seats_.size(); ++w) was_out |= forget(w, t->id);
        k.left += was_out;
      }
      if (!models_) crew.members.announce(p.wake, t->where, p.from);
      Node *n = pool_.take();
      n->task = t;
      n->seq = ++seq_;
      n->priority = t->priority;
      n->rank = std::max(ranks[i], k.best_ns);
      n->worker = kind;
      k.ready.push(n);
      queued(n);
      ++k.nready;
      ++nready_;
    }
    left_at_ = -1;
    done += some;
  }
  if (p.wake && models_) {
    const std::lock_guard guard(lock_);
    wake(crew, p, now);
  }
  return p.n;
}

// Those that would take one of what waits now. Under the lock.
inline void Late::wake(const Crew &crew, const consort_push &p, double now) noexcept {
  uint32_t named = 0;
  for (uint32_t g = 0; g < crew.groups.size(); ++g) {
    const Group &group = crew.groups[g];
    int takes = -1;
    for (uint32_t i = group.first; i < group.first + group.count; ++i) {
      const uint32_t w = crew.order[i];
      if (w == p.from || w / 64 >= p.wake->nwords) continue;
      if (nout_[w]) continue;  // it comes by itself when one of its ends
      if (takes < 0) takes = would_take(crew, g, now);
      if (!takes) break;
      p.wake->bits[w / 64] |= uint64_t{1} << w % 64;
      ++named;
    }
  }
  p.wake->k += std::max(named, p.n);
}

// -- pop ----------------------------------------------------------------------------------------------------------

inline bool Late::forget(uint32_t worker, uint64_t id) noexcept {
  Seat &s = seats_[worker];
  uint32_t &nout = nout_[worker];
  for (uint32_t i = 0; i < nout; ++i) {
    if (s.out[i].id != id) continue;
    s.running -= s.out[i].started;
    const Crew &crew = this->crew();
    Kind &k = kinds_[s.out[i].kind];
    if (!s.out[i].known && worker < crew.group_of.size() && crew.group_of[worker] < k.learning.size())
      if (uint32_t &l = k.learning[crew.group_of[worker]]; l > 0) --l;
    std::copy(s.out + i + 1, s.out + nout, s.out + i);
    if (--nout == 0 && crew.serves(worker)) count_idle(crew.group_of[worker], 1);
    return true;
  }
  return false;
}

// What it cannot start soon is not bound to it yet.
inline bool Late::has_enough(const Crew &crew, uint32_t worker) const noexcept {
  const uint32_t nout = nout_[worker];
  if (!models_ || nout == 0) return false;
  const Seat &s = seats_[worker];
  const uint32_t most = crew.depth[worker] + 2;
  bool enough = nout >= most;
  if (!enough && nout >= ahead_) {
    double work = 0;  // behind the first
    for (uint32_t i = 1; i < nout; ++i) work += s.out[i].exec;
    enough = work > kSoon;
  }
  if (!enough) return false;
  if (s.running) return true;  // it will end, and then this is asked again
  float load = 0;              // those that never start are not in here: nobody waits for them for ever
  models_->load_ns(host_, &worker, 1, &load);
  return load > 0;
}

// When what it was handed out has ended, as far as is known; 0: something of it is not. Under the lock.
inline double Late::free_at(uint32_t worker, double now) const noexcept {
  const Seat &s = seats_[worker];
  double end = now;
  for (uint32_t i = 0; i < nout_[worker]; ++i) {
    if (!s.out[i].known) return 0;
    end = i == 0 && s.running ? std::max(end, s.since + s.out[i].exec) : end + s.out[i].exec;
  }
  return end;
}

inline uint32_t Late::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const Visit visit(serving_.visitors_of(worker));
  const Crew &crew = this->crew();
  if (max == 0 || !crew.serves(worker)) return 0;
  const uint32_t g = crew.group_of[worker];
  const double now = this->now();
  consort_task *t;
  uint64_t mask;
  float exec = NAN, rank;
  double end = 0;
  {
    const std::lock_guard guard(lock_);
    if (nready_ == 0) return 0;
    if (has_enough(crew, worker)) return 0;
    const Found f = choose(crew, worker, now);
    if (!f.node) return 0;
    Kind &k = kinds_[f.kind];
    t = f.node->task;
    mask = k.masks[g];
    Seat &s = seats_[worker];
    uint32_t &nout = nout_[worker];
    if (nout == kOut) forget(worker, s.out[0].id);
    const bool known = k.known_at(g);
    if (known) exec = k.ns[g];
    if (nout == 0) count_idle(g, -1);
    s.out[nout++] = {t->id, now, known ? k.ns[g] : 0, f.node->rank, f.kind, false, known};
    end = free_at(worker, now);
    if (!known) ++k.learning[g];
    if (k.left) --k.left;
    if (changes_ != kAlways) ++changes_;
    taken(crew, worker, f.node);
    take(k, f.node);
    rank = f.node->rank;
    pool_.put(f.node);
  }
  if (models_ && CONSORT_HAS_FN(models_, consort_sched_host, ranked)) models_->ranked(host_, t, rank);
  if (models_ && CONSORT_HAS_FN(models_, consort_sched_host, decided))
    models_->decided(host_, t, worker, exec, static_cast<uint64_t>(end));
  *out = {t, best_impl(host_, models_, t, worker, mask, static_cast<uint32_t>(t->id)), CONSORT_NONE};
  return 1;
}

// -- what is told -------------------------------------------------------------------------------------------------

inline void Late::submitted(const consort_task *const *tasks, uint32_t n) noexcept {
  const Visit visit(serving_.outsiders());
  const Crew &crew = this->crew();
  graph_.submitted(tasks, n, host_, models_, crew);
  const std::lock_guard guard(lock_);
  try {
    for (uint32_t i = 0; i < n; ++i) ++kinds_[kinds_.of(crew, tasks[i])].left;
  } catch (...) {  // no memory: fewer are known
  }
  changes_ = kAlways;
  left_at_ = -1;
}

inline void Late::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (worker >= seats_.size()) return;
  Seat &s = seats_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < nout_[worker]; ++i) {
      Out &o = s.out[i];
      if (o.id != tasks[k]->id || o.started) continue;
      o.started = true;
      left_at_ = -1;
      if (s.running++) continue;
      waited_ += std::max(0.0, now - std::max(o.at, s.since));
      s.since = now;
      if (i > 0) std::rotate(s.out, s.out + i, s.out + i + 1);  // it went before those that lack data
    }
}

inline void Late::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
  const double now = this->now();
  {
    const std::lock_guard guard(lock_);
    if (worker >= seats_.size()) return;
    Seat &s = seats_[worker];
    worked_ += std::max(0.0, now - s.since);
    const double keep = 1 - 1.0 / (8.0 * static_cast<double>(std::max<std::size_t>(1, seats_.size())));
    waited_ *= keep;
    worked_ *= keep;
    s.since = now;
    left_at_ = -1;
    for (uint32_t k = 0; k < n; ++k) forget(worker, done[k].cookie);
  }
  for (uint32_t k = 0; k < n; ++k) graph_.finished(done[k].cookie);
}

// Cancelled or poisoned: those that are in here come out at once and not by pop.
inline uint32_t Late::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  const Visit visit(serving_.outsiders());
  uint32_t nheld = 0;
  for (uint32_t i = 0; i < n; ++i) graph_.finished(tasks[i]->id);
  const std::lock_guard guard(lock_);
  for (uint32_t i = 0; i < n; ++i) {
    Node *node = pool_.find(tasks[i]);
    if (!node) {
      for (Kind &k : kinds_.all())
        if (k.left > k.nready && k.codelet == tasks[i]->codelet && k.where == tasks[i]->where &&
            k.footprint == size_of(tasks[i])) {
          --k.left;
          break;
        }
      continue;
    }
    held[nheld++] = node->task;
    Kind &k = kinds_[node->worker];
    if (k.left) --k.left;
    take(k, node);
    pool_.put(node);
  }
  changes_ = kAlways;
  left_at_ = -1;
  return nheld;
}

// -- for those that choose ----------------------------------------------------------------------------------------

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

inline Late::Search::Search(Late &late, uint32_t space, int32_t priority, double near, uint32_t look,
                            double beta) noexcept
    : late_(late),
      space_(space),
      look_(std::min(look, kLook)),
      priority_(priority),
      weight_(beta * (1 + near * late.waiting_share() * late.waiting_share())),
      score_(-std::numeric_limits<double>::max()) {}

inline void Late::Search::look_at(uint32_t kind) noexcept {
  Node *some[kLook];
  const uint32_t n = late_.kinds_[kind].ready.first(some, look_, false);
  // The way counts against it, so nothing behind can be better once a rank is no more than the score.
  for (uint32_t j = 0, batch = 1; j < n && some[j]->priority == priority_ && some[j]->rank > score_; batch = 4) {
    const consort_task *tasks[4];
    float ns[4] = {};
    uint32_t m = 0;
    while (m < batch && j + m < n && some[j + m]->priority == priority_) tasks[m] = some[j + m]->task, ++m;
    if (late_.models_) late_.models_->transfer_ns(late_.host_, tasks, m, &space_, 1, ns);
    for (uint32_t x = 0; x < m; ++x, ++j)
      if (const double s = some[j]->rank - (ns[x] > 0 ? ns[x] * weight_ : 0); s > score_)
        score_ = s, best = {some[j], kind};
  }
}

// Those that have nothing from here and nothing else either, such as tasks that were bound to them.
inline uint32_t Late::idle_in(const Crew &crew, uint32_t g) const noexcept {
  constexpr uint32_t kSome = 64;
  uint32_t some[kSome], n = 0;
  for (uint32_t i = crew.groups[g].first; i < crew.groups[g].first + crew.groups[g].count && n < kSome; ++i)
    if (!nout_[crew.order[i]]) some[n++] = crew.order[i];
  float load[kSome] = {};
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
  return k.nready <= idle;
}

inline Late::Found Late::most_urgent(const Crew &crew, uint32_t worker, double now, double near, uint32_t look,
                                     double beta) noexcept {
  const uint32_t g = crew.group_of[worker];
  int32_t priority = std::numeric_limits<int32_t>::min();
  for (Kind &k : kinds_.all()) {
    k.open = k.nready && k.can(g) && k.at_home(g) && !awaits_quicker(crew, k, worker, now);
    if (k.open) priority = std::max(priority, k.ready.front()->priority);
  }
  Search s(*this, crew.groups[g].space, priority, near, look, beta);
  for (uint32_t i = 0; i < kinds_.all().size(); ++i)
    if (kinds_[i].open) s.look_at(i);
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
