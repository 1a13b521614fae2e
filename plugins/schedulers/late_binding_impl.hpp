// late_binding_impl.hpp — the functions of late_binding.hpp, which includes it: inline, so that plugins that share them can be linked
// into one program.
#pragma once
#include <algorithm>
#include <bit>
#include <limits>

namespace policies {

// -- life ---------------------------------------------------------------------------------------------------------

inline Late::Late(const consort_host *host, const consort_topology &t, uint64_t epoch, uint32_t ahead,
                  Patience patience)
    : host_(host),
      models_(host->get ? static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID)) : nullptr),
      lacking_(models_ && CONSORT_HAS_FN(models_, consort_sched_host, lacking) ? models_->lacking : nullptr),
      ahead_(ahead),
      patience_(patience),
      serving_(host, epoch),
      kinds_(host, models_) {
  publish(Members(t), t);
}

// By group: ns of a byte's way from the other groups, on the average. May throw.
inline std::vector<float> paces(const Crew &crew, const consort_topology &t) {
  std::vector<float> all(crew.groups.size());
  for (uint32_t g = 0; t.hops && g < all.size(); ++g) {
    uint32_t ways = 0;
    const uint32_t to = crew.groups[g].space;
    for (const Group &other : crew.groups) {
      if (other.space == to || other.space >= t.nspaces || to >= t.nspaces) continue;
      const uint64_t rate = t.hops[other.space * t.nspaces + to].bytes_per_s;
      if (rate) all[g] += 1e9f / static_cast<float>(rate), ++ways;
    }
    if (ways) all[g] /= static_cast<float>(ways);
  }
  return all;
}

inline void Late::publish(Members &&members, const consort_topology &t) {
  const Crew &next = serving_.prepare(std::move(members), t);
  std::vector<Seat> more(std::max(next.members.serves.size(), seats_.size()));
  std::vector<uint32_t> nout(more.size());
  std::vector<uint64_t> idle((more.size() + 63) / 64), still(idle.size());
  std::vector<double> far(more.size()), most((more.size() + kSome - 1) / kSome);
  std::vector<float> ways = paces(next, t);
  std::vector<double> rows(2 * Kinds::kMost * std::min<std::size_t>(next.of_class.size(), kClasses));
  std::vector<Nothing> nothing(next.groups.size());
  const std::lock_guard guard(lock_);
  kinds_.expect(next);
  idle_.reserve(next.groups.size());  // from here on nothing fails: what there is belongs to one crew
  std::copy(seats_.begin(), seats_.end(), more.begin());
  std::copy(nout_.begin(), nout_.end(), nout.begin());
  seats_.swap(more);
  nout_.swap(nout);
  far_.swap(far);
  far_most_.swap(most);
  idle_bits_.swap(idle);
  still_bits_.swap(still);
  for (uint32_t w = 0; w < nout_.size(); ++w) idle_bits_[w / 64] |= uint64_t{!nout_[w]} << w % 64, set_still(w);
  pace_.swap(ways);
  rows_.swap(rows);
  nothing_.swap(nothing);
  idle_.assign(next.groups.size(), 0);
  for (const uint32_t w : next.order) idle_[next.group_of[w]] += !nout_[w];
  kinds_.asked_anew(next);  // what a decision reads of groups is this crew's from here on
  set_all_far();
  changes_ = kAlways;
  changed();
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
  changed();
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
  std::fill(idle_bits_.begin(), idle_bits_.end(), ~uint64_t{0});
  std::fill(still_bits_.begin(), still_bits_.end(), ~uint64_t{0});
  set_all_far();
  for (uint32_t g = 0; g < idle_.size() && g < crew().groups.size(); ++g)
    idle_[g] = static_cast<int32_t>(crew().groups[g].count);
  changes_ = kAlways;
  changed();
  return count;
}

// Which of its accesses change what is there.
inline uint64_t Late::changed_by(const consort_task *t) noexcept {
  uint64_t changed = 0;
  for (uint32_t a = 0; a < t->naccess && a < 64; ++a)
    if (t->access[a].datum && (t->access[a].mode & CONSORT_M_R) && (t->access[a].mode & CONSORT_M_W))
      changed |= uint64_t{1} << a;
  return changed;
}

// Where what it changes is: where it was changed last, and nobody moves it while the task waits. Under the lock.
inline void Late::locate(const Crew &crew, const Kind &k, Node *n, const uint64_t *lacks) const noexcept {
  const consort_task *t = n->task;
  const uint64_t changed = changed_by(t);
  for (uint64_t left = changed; left; left &= left - 1)
    n->changes += static_cast<float>(t->access[std::countr_zero(left)].datum->bytes);
  const std::size_t ngroups = std::min({crew.groups.size(), k.ns.size(), std::size_t{Kinds::kGroups}});
  for (uint32_t g = 0; changed && g < ngroups; ++g)
    if (k.at_home(g) && !(lacks[g] & changed)) n->stays |= uint64_t{1} << g;
}

// -- push ---------------------------------------------------------------------------------------------------------

inline uint32_t Late::push(const consort_push &p) noexcept {
  const Visit visit(serving_.visitors_of(p.from));
  if (!serving_.in(p.epoch)) return 0;
  const Crew &crew = this->crew();
  const auto ngroups = static_cast<uint32_t>(std::min<std::size_t>(crew.groups.size(), Kinds::kGroups));
  uint64_t lacks[kSome * Kinds::kGroups], sizes[kSome];
  float ranks[kSome];
  uint32_t places[kSome];
  const auto look_at = [&](consort_task *const *tasks, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) __builtin_prefetch(tasks[i]);
    for (uint32_t i = 0; i < n; ++i) __builtin_prefetch(tasks[i]->access);  // they come while ranks are looked up
    for (uint32_t i = 0; i < n; ++i) ranks[i] = graph_.rank(tasks[i], host_, models_, &places[i]);
    if (lacking_) lacking_(host_, tasks, n, crew.spaces.data(), ngroups, lacks);  // then sizes: it fetches all at once
    for (uint32_t i = 0; i < n; ++i) sizes[i] = size_of(tasks[i]);
  };
  look_at(p.ready, std::min(p.n, kSome));
  const double now = this->now();
  std::unique_lock guard(lock_);
  try {
    pool_.promise(p.n);
    changed();
    for (uint32_t i = 0; i < p.n; ++i)  // from here on this throws nothing
      kinds_.of(crew, p.ready[i], i < kSome ? sizes[i] : size_of(p.ready[i]));
  } catch (...) {
    return 0;  // no memory: the kernel takes them to workers by itself
  }
  for (uint32_t done = 0; done < p.n;) {
    const uint32_t some = std::min(kSome, p.n - done);
    if (done) {
      guard.unlock();
      look_at(p.ready + done, some);
      guard.lock();
    }
    for (uint32_t i = 0; i < some; ++i) {
      consort_task *t = p.ready[done + i];
      const uint32_t kind = kinds_.of(crew, t, sizes[i]);
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
      n->place = places[i];
      if (lacking_) locate(crew, k, n, lacks + i * ngroups);
      k.ready.push(n);
      queued(n);
      ++k.nready;
      ++nready_;
    }
    changed();
    done += some;
    if (done == p.n && p.wake && models_) wake(crew, p, now);
  }
  return p.n;
}

// Those that would take one of what waits now. Under the lock.
inline void Late::wake(const Crew &crew, const consort_push &p, double now) noexcept {
  uint32_t named = 0;
  const std::size_t words = std::min<std::size_t>({crew.words, still_bits_.size(), p.wake->nwords});
  for (uint32_t g = 0; g < crew.groups.size(); ++g) {
    int takes = -1;
    for (uint32_t i = 0; i < words && takes; ++i) {
      // A worker comes by itself when a task ends that it has started, or begins to wait. One whose tasks have not
      // started may sleep: they wait for data or for exclusive access, and come back by another push.
      uint64_t idle = crew.masks[g * crew.words + i] & still_bits_[i];
      if (p.from / 64 == i) idle &= ~(uint64_t{1} << p.from % 64);
      if (!idle) continue;
      if (takes < 0) takes = would_take(crew, g, now);
      if (!takes) break;
      p.wake->bits[i] |= idle;
      named += static_cast<uint32_t>(std::popcount(idle));
    }
  }
  p.wake->k += std::max(named, p.n);
}

// -- pop ----------------------------------------------------------------------------------------------------------

inline bool Late::forget(uint32_t worker, uint64_t id, uint32_t *place) noexcept {
  Seat &s = seats_[worker];
  uint32_t &nout = nout_[worker];
  for (uint32_t i = 0; i < nout; ++i) {
    if (s.out[i].id != id) continue;
    s.running -= s.out[i].started;
    set_still(worker);
    if (place) *place = s.out[i].place;
    const Crew &crew = this->crew();
    Kind &k = kinds_[s.out[i].kind];
    if (!s.out[i].known && worker < crew.group_of.size() && crew.group_of[worker] < k.learning.size())
      if (uint32_t &l = k.learning[crew.group_of[worker]]; l > 0) --l;
    std::copy(s.out + i + 1, s.out + nout, s.out + i);
    if (--nout == 0) set_idle(crew, worker, true);
    set_far(worker);
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
  return enough && asks_again(worker);
}

inline bool Late::asks_again(uint32_t worker) const noexcept {
  if (seats_[worker].running) return true;
  float load = 0;  // without those that wait for exclusive access
  if (models_ && nout_[worker]) models_->load_ns(host_, &worker, 1, &load);
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
  bool ahead;
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
    if (nout == 0) set_idle(crew, worker, false);
    s.out[nout++] = {t->id, now, known ? k.ns[g] : 0, f.node->rank, f.kind, f.node->place, false, known};
    set_far(worker);
    end = free_at(worker, now);
    if (!known) ++k.learning[g];
    if (k.left) --k.left;
    if (changes_ != kAlways) ++changes_;
    taken(crew, worker, f.node);
    take(k, f.node);
    ahead = nready_ == 0 && known && end > 0 && lacking_ && brings_ahead() && idle_elsewhere(crew, g);
    rank = f.node->rank;
    if (known) rank += k.ns[g] - k.best_ns;  // what hangs on it has to wait so much longer: its data are in that hurry
    pool_.put(f.node);
  }
  if (ahead) bring_ahead(crew, t, now, end);
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
  if (n && brings_ahead() && !told_.load(std::memory_order_relaxed)) wants_records(crew, tasks[0]);
  graph_.submitted(tasks, n, host_, models_, crew);
  const std::lock_guard guard(lock_);
  try {
    for (uint32_t i = 0; i < n; ++i) ++kinds_[kinds_.of(crew, tasks[i])].left;
  } catch (...) {  // no memory: fewer are known
  }
  changes_ = kAlways;
  changed();
}

inline void Late::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  const Crew &crew = this->crew();
  if (worker >= seats_.size()) return;
  Seat &s = seats_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < nout_[worker]; ++i) {
      Out &o = s.out[i];
      if (o.id != tasks[k]->id || o.started) continue;
      o.started = true;
      changed();
      if (s.running++) continue;
      set_still(worker);
      if (crew.serves(worker))
        waits_of(crew, crew.group_of[worker]).waited += std::max(0.0, now - std::max(o.at, s.since));
      s.since = now;
      if (i > 0) std::rotate(s.out, s.out + i, s.out + i + 1);  // it went before those that lack data
    }
}

inline void Late::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
  const double now = this->now();
  // As many at once are seldom told; of those beyond the graph finds the place by itself.
  uint32_t places[kSome] = {};
  {
    const std::lock_guard guard(lock_);
    const Crew &crew = this->crew();
    if (worker >= seats_.size()) return;
    Seat &s = seats_[worker];
    if (crew.serves(worker)) {
      const Group &group = crew.groups[crew.group_of[worker]];
      Waits &w = waits_of(crew, crew.group_of[worker]);
      w.worked += std::max(0.0, now - s.since);
      const double keep = 1 - 1.0 / (8.0 * std::max(1u, crew.of_class[group.klass]));
      w.waited *= keep;
      w.worked *= keep;
    }
    s.since = now;
    changed();
    for (uint32_t k = 0; k < n; ++k) forget(worker, done[k].cookie, k < kSome ? &places[k] : nullptr);
  }
  for (uint32_t k = 0; k < n; ++k) graph_.finished(done[k].cookie, k < kSome ? places[k] : 0);
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
        if (k.left > k.nready && k.is_of(tasks[i], size_of(tasks[i]))) {
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
  changed();
  return nheld;
}

}  // namespace policies
