// late_binding_impl.hpp — functions of late_binding.hpp, which includes it: inline, so that plugins that share them can be linked
// into one program.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <vector>

namespace policies {

// -- life ---------------------------------------------------------------------------------------------------------

inline LateBinding::LateBinding(const consort_host *host, const consort_topology &t, uint64_t epoch, uint32_t ahead,
                  Deferral deferral, Urgency urgency)
    : host_(host),
      models_(host->get ? static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID)) : nullptr),
      lacking_(models_ && CONSORT_HAS_FN(models_, consort_sched_host, lacking) ? models_->lacking : nullptr),
      ahead_(ahead),
      deferral_(deferral),
      urgency_(urgency),
      serving_(host, epoch),
      kinds_(host, models_) {
  publish(Members(t), t);
}

// Average ns per byte to each group from the other groups. May throw.
inline std::vector<float> incoming_ns_per_byte(const WorkerGroups &served, const consort_topology &t) {
  std::vector<float> all(served.groups.size());
  for (uint32_t g = 0; t.hops && g < all.size(); ++g) {
    uint32_t ways = 0;
    const uint32_t to = served.groups[g].space;
    for (const Group &other : served.groups) {
      if (other.space == to || other.space >= t.nspaces || to >= t.nspaces) continue;
      const uint64_t rate = t.hops[other.space * t.nspaces + to].bytes_per_s;
      if (rate) all[g] += 1e9f / static_cast<float>(rate), ++ways;
    }
    if (ways) all[g] /= static_cast<float>(ways);
  }
  return all;
}

inline void LateBinding::publish(Members &&members, const consort_topology &t) {
  const WorkerGroups &next = serving_.prepare(std::move(members), t);
  std::vector<WorkerState> more(std::max(next.members.serves.size(), states_.size()));
  std::vector<uint32_t> npopped(more.size());
  std::vector<uint64_t> idle((more.size() + 63) / 64), still(idle.size());
  std::vector<double> far(more.size()), most((more.size() + kSome - 1) / kSome);
  std::vector<float> ways = incoming_ns_per_byte(next, t);
  std::vector<double> rows(2 * TaskKinds::kMost * std::min<std::size_t>(next.of_class.size(), kClasses));
  std::vector<EmptySearch> nothing(next.groups.size());
  std::vector<double> at_home(next.groups.size());
  const std::lock_guard guard(lock_);
  kinds_.reserve(next);
  idle_.reserve(next.groups.size());  // nothing fails from here on
  std::copy(states_.begin(), states_.end(), more.begin());
  std::copy(npopped_.begin(), npopped_.end(), npopped.begin());
  states_.swap(more);
  npopped_.swap(npopped);
  remaining_.swap(far);
  remaining_max_.swap(most);
  idle_bits_.swap(idle);
  not_running_.swap(still);
  for (uint32_t w = 0; w < npopped_.size(); ++w) idle_bits_[w / 64] |= uint64_t{!npopped_[w]} << w % 64, update_not_running(w);
  ns_per_byte_.swap(ways);
  rows_.swap(rows);
  nothing_.swap(nothing);
  home_ns_.swap(at_home);
  ++groups_change_;
  idle_.assign(next.groups.size(), 0);
  for (const uint32_t w : next.order) idle_[next.group_of[w]] += !npopped_[w];
  kinds_.reload(next);  // decisions use the new groups from here on
  update_all_remaining();
  changes_ = kAlways;
  changed();
  serving_.publish();
}

inline consort_status LateBinding::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  if (const consort_status bad = check_added(host_, &t, add, na); bad < 0) return bad;
  Members next = served().members;
  next.change(t, add, na, del, nd);
  publish(std::move(next), t);
  serving_.wait_until_empty(CONSORT_NEVER);  // no thread uses the old groups any more
  return CONSORT_OK;
}

// Removes the node from its kind's queue; the caller owns it. Under the lock.
inline void LateBinding::take(Kind &k, Node *n) noexcept {
  gone(n);
  leave_home(k, n);
  changed();
  k.ready.remove(n);
  --k.nready;
  --nready_;
}

inline uint32_t LateBinding::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
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
  for (WorkerState &s : states_) s.running = 0;
  std::fill(npopped_.begin(), npopped_.end(), 0);  // a new epoch: ends of these tasks are not reported
  std::fill(idle_bits_.begin(), idle_bits_.end(), ~uint64_t{0});
  std::fill(not_running_.begin(), not_running_.end(), ~uint64_t{0});
  update_all_remaining();
  for (uint32_t g = 0; g < idle_.size() && g < served().groups.size(); ++g)
    idle_[g] = static_cast<int32_t>(served().groups[g].count);
  changes_ = kAlways;
  changed();
  return count;
}

// Bit set of the accesses that modify existing contents.
inline uint64_t LateBinding::changed_by(const consort_task *t) noexcept {
  uint64_t changed = 0;
  for (uint32_t a = 0; a < t->naccess && a < 64; ++a)
    if (t->access[a].datum && (t->access[a].mode & CONSORT_M_R) && (t->access[a].mode & CONSORT_M_W))
      changed |= uint64_t{1} << a;
  return changed;
}

// As a hint, a priority adds to the rank: by its place between the least and the highest priority seen. It decides between tasks
// of about equal rank, and cannot hold up the critical path or outweigh the data. Under the lock.
inline void LateBinding::weigh_priority(const Kind &k, Node *n) noexcept {
  const int32_t its = n->task->priority;
  if (urgency_.strict) {
    n->priority = its;
    return;
  }
  see_priority(its);
  const double range = static_cast<double>(most_priority_) - least_priority_;
  if (range > 0)
    n->rank += static_cast<float>(urgency_.worth * k.best_ns * (static_cast<double>(its) - least_priority_) / range);
}

// Finds the groups that hold the data that a task writes; they stay there while the task waits. Under the lock.
inline void LateBinding::locate(const WorkerGroups &served, const Kind &k, Node *n, const uint64_t *lacks) const noexcept {
  const consort_task *t = n->task;
  const uint64_t changed = changed_by(t);
  for (uint64_t left = changed; left; left &= left - 1)
    n->changes += static_cast<float>(t->access[std::countr_zero(left)].datum->bytes);
  const std::size_t ngroups = std::min({served.groups.size(), k.ns.size(), std::size_t{TaskKinds::kGroups}});
  for (uint32_t g = 0; changed && g < ngroups; ++g)
    if (k.fast_on(g) && !(lacks[g] & changed)) n->stays |= uint64_t{1} << g;
}

// -- push ---------------------------------------------------------------------------------------------------------

inline uint32_t LateBinding::push(const consort_push &p) noexcept {
  const Visit visit(serving_.visitors_of(p.from));
  if (!serving_.in(p.epoch)) return 0;
  const WorkerGroups &served = this->served();
  const auto ngroups = static_cast<uint32_t>(std::min<std::size_t>(served.groups.size(), TaskKinds::kGroups));
  uint64_t lacks[kSome * TaskKinds::kGroups], sizes[kSome];
  float ranks[kSome];
  uint32_t places[kSome];
  const auto look_at = [&](consort_task *const *tasks, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) __builtin_prefetch(tasks[i]);
    for (uint32_t i = 0; i < n; ++i) __builtin_prefetch(tasks[i]->access);  // loaded while ranks are looked up
    for (uint32_t i = 0; i < n; ++i) ranks[i] = graph_.rank(tasks[i], host_, models_, &places[i]);
    if (lacking_) lacking_(host_, tasks, n, served.spaces.data(), ngroups, lacks);  // before size_of(): it loads all records at once
    for (uint32_t i = 0; i < n; ++i) sizes[i] = size_of(tasks[i]);
  };
  look_at(p.ready, std::min(p.n, kSome));
  const double now = this->now();
  std::unique_lock guard(lock_);
  try {
    pool_.promise(p.n);
    changed();
    for (uint32_t i = 0; i < p.n; ++i)  // afterwards nothing throws
      kinds_.of(served, p.ready[i], i < kSome ? sizes[i] : size_of(p.ready[i]));
  } catch (...) {
    return 0;  // no memory: the kernel distributes the tasks itself
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
      const uint32_t kind = kinds_.of(served, t, sizes[i]);
      Kind &k = kinds_[kind];
      if (p.flags & CONSORT_PUSH_RETRIED) {
        bool was_out = !(p.flags & CONSORT_PUSH_NEW);  // a mixed batch
        for (uint32_t w = 0; w < states_.size(); ++w) was_out |= forget(w, t->id);
        k.left += was_out;
      }
      if (!models_) served.members.announce(p.wake, t->where, p.from);
      Node *n = pool_.take();
      n->task = t;
      n->seq = ++seq_;
      n->rank = std::max(ranks[i], k.best_ns);
      weigh_priority(k, n);
      n->worker = kind;
      n->place = places[i];
      if (lacking_) {
        locate(served, k, n, lacks + i * ngroups);
        settle_home(served, k, n, lacks + i * ngroups, now);
      }
      k.ready.push(n);
      queued(n);
      k.declined = 0;
      ++k.nready;
      ++nready_;
    }
    changed();
    done += some;
    if (done == p.n && p.wake && models_) wake(served, p, now);
  }
  return p.n;
}

// Names workers that would take a waiting task. Under the lock.
inline void LateBinding::wake(const WorkerGroups &served, const consort_push &p, double now) noexcept {
  uint32_t named = 0;
  const std::size_t words = std::min<std::size_t>({served.words, not_running_.size(), p.wake->nwords});
  for (uint32_t g = 0; g < served.groups.size(); ++g) {
    int takes = -1;
    for (uint32_t i = 0; i < words && takes; ++i) {
      // A worker pops by itself when its running task ends or begins to wait. A worker whose popped tasks have not started may
      // sleep: they wait for data or for exclusive access.
      uint64_t idle = served.masks[g * served.words + i] & not_running_[i];
      if (p.from / 64 == i) idle &= ~(uint64_t{1} << p.from % 64);
      if (!idle) continue;
      if (takes < 0) takes = would_take(served, g, now);
      if (!takes) break;
      p.wake->bits[i] |= idle;
      named += static_cast<uint32_t>(std::popcount(idle));
    }
  }
  p.wake->k += std::max(named, p.n);
}

// -- pop ----------------------------------------------------------------------------------------------------------

inline bool LateBinding::forget(uint32_t worker, uint64_t id, uint32_t *place) noexcept {
  WorkerState &s = states_[worker];
  uint32_t &npopped = npopped_[worker];
  for (uint32_t i = 0; i < npopped; ++i) {
    if (s.popped[i].id != id) continue;
    s.running -= s.popped[i].started;
    update_not_running(worker);
    if (place) *place = s.popped[i].place;
    const WorkerGroups &served = this->served();
    Kind &k = kinds_[s.popped[i].kind];
    if (s.popped[i].tried && worker < served.group_of.size() && served.group_of[worker] < k.learning.size())
      if (uint32_t &l = k.learning[served.group_of[worker]]; l > 0) --l;
    std::copy(s.popped + i + 1, s.popped + npopped, s.popped + i);
    if (--npopped == 0) set_idle(served, worker, true);
    update_remaining(worker);
    return true;
  }
  return false;
}

// The end of a popped task is not reported if it fails before it starts, or if another worker gets it. The host's load has no
// such task. A task that waits for exclusive access has none either: it is pushed again.
inline void LateBinding::forget_unreported(uint32_t worker) noexcept {
  if (!models_ || !npopped_[worker] || !is_idle(worker)) return;
  while (npopped_[worker]) forget(worker, states_[worker].popped[0].id);
  changed();
}

// Tasks that a worker cannot start soon are not bound to it yet.
inline bool LateBinding::has_enough(const WorkerGroups &served, uint32_t worker) const noexcept {
  const uint32_t npopped = npopped_[worker];
  if (!models_ || npopped == 0) return false;
  const WorkerState &s = states_[worker];
  const uint32_t most = served.depth[worker] + 2;
  bool enough = npopped >= most;
  if (!enough && npopped >= ahead_) {
    double work = 0;  // without the first task
    for (uint32_t i = 1; i < npopped; ++i) work += s.popped[i].exec;
    enough = work > kSoon;
  }
  return enough && will_pop_again(worker);
}

inline bool LateBinding::will_pop_again(uint32_t worker) const noexcept {
  if (states_[worker].running) return true;
  float load = 0;  // excludes tasks that wait for exclusive access; NaN: the time of one is unknown
  if (models_ && npopped_[worker]) models_->load_ns(host_, &worker, 1, &load);
  return load != 0;
}

// Expected end of the worker's popped tasks; 0: the time of one is unknown. Under the lock.
inline double LateBinding::free_at(uint32_t worker, double now) const noexcept {
  const WorkerState &s = states_[worker];
  double end = now;
  for (uint32_t i = 0; i < npopped_[worker]; ++i) {
    if (!s.popped[i].known) return 0;
    end = i == 0 && s.running ? std::max(end, s.since + s.popped[i].exec) : end + s.popped[i].exec;
  }
  return end;
}

inline uint32_t LateBinding::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const Visit visit(serving_.visitors_of(worker));
  const WorkerGroups &served = this->served();
  if (max == 0 || !served.serves(worker)) return 0;
  const uint32_t g = served.group_of[worker];
  const double now = this->now();
  consort_task *t;
  uint64_t mask;
  float exec = NAN, rank;
  double end = 0;
  bool ahead;
  {
    const std::lock_guard guard(lock_);
    if (nready_ == 0) return 0;
    forget_unreported(worker);
    if (has_enough(served, worker)) return 0;
    const Found f = choose(served, worker, now);
    if (!f.node) {
      if (g < TaskKinds::kGroups && is_idle(worker))
        for (Kind &k : kinds_.all()) k.declined |= uint64_t{1} << g;
      return 0;
    }
    Kind &k = kinds_[f.kind];
    t = f.node->task;
    mask = k.masks[g];
    WorkerState &s = states_[worker];
    uint32_t &npopped = npopped_[worker];
    if (npopped == kPopped) forget(worker, s.popped[0].id);
    const bool known = k.known_at(g);
    const bool tried = !known || k.guessed >> g & 1;
    if (known) exec = k.ns[g];
    if (npopped == 0) set_idle(served, worker, false);
    s.popped[npopped++] = {t->id, now, known ? k.ns[g] : 0, f.node->rank, f.kind, f.node->place, false, known, tried};
    update_remaining(worker);
    end = free_at(worker, now);
    if (tried) ++k.learning[g];
    if (k.left) --k.left;
    if (changes_ != kAlways) ++changes_;
    taken(served, worker, f.node);
    take(k, f.node);
    ahead = nready_ == 0 && known && end > 0 && lacking_ && prefetches_successors() && idle_elsewhere(served, g);
    rank = f.node->rank;
    if (known) rank += k.ns[g] - k.best_ns;  // successors wait that much longer, which makes its copies more urgent
    pool_.put(f.node);
  }
  if (ahead) prefetch_successors(served, t, now, end);
  if (models_ && CONSORT_HAS_FN(models_, consort_sched_host, ranked)) models_->ranked(host_, t, rank);
  if (models_ && CONSORT_HAS_FN(models_, consort_sched_host, decided))
    models_->decided(host_, t, worker, exec, expected_end(end));
  *out = {t, best_impl(host_, models_, t, worker, mask, static_cast<uint32_t>(t->id)), CONSORT_NONE};
  return 1;
}

// -- events ------------------------------------------------------------------------------------------------------

inline void LateBinding::submitted(const consort_task *const *tasks, uint32_t n) noexcept {
  const Visit visit(serving_.external());
  const WorkerGroups &served = this->served();
  if (n && prefetches_successors() && !records_requested_.load(std::memory_order_relaxed)) request_location_records(served, tasks[0]);
  graph_.submitted(tasks, n, host_, models_, served);
  const std::lock_guard guard(lock_);
  try {
    for (uint32_t i = 0; i < n; ++i) see_priority(tasks[i]->priority);
    for (uint32_t i = 0; i < n; ++i) ++kinds_[kinds_.of(served, tasks[i])].left;
  } catch (...) {  // no memory: these tasks are unknown
  }
  changes_ = kAlways;
  changed();
}

inline void LateBinding::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  const WorkerGroups &served = this->served();
  if (worker >= states_.size()) return;
  WorkerState &s = states_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < npopped_[worker]; ++i) {
      Popped &o = s.popped[i];
      if (o.id != tasks[k]->id || o.started) continue;
      o.started = true;
      changed();
      if (s.running++) continue;
      update_not_running(worker);
      if (served.serves(worker))
        stalls_of(served, served.group_of[worker]).waited += std::max(0.0, now - std::max(o.at, s.since));
      s.since = now;
      if (i > 0) std::rotate(s.popped, s.popped + i, s.popped + i + 1);  // it overtook tasks that wait for data
    }
}

inline void LateBinding::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
  const double now = this->now();
  // Rarely more than kSome at once; beyond them the graph searches for the position.
  uint32_t places[kSome] = {};
  {
    const std::lock_guard guard(lock_);
    const WorkerGroups &served = this->served();
    if (worker >= states_.size()) return;
    WorkerState &s = states_[worker];
    if (served.serves(worker)) {
      const Group &group = served.groups[served.group_of[worker]];
      DataStalls &w = stalls_of(served, served.group_of[worker]);
      w.worked += std::max(0.0, now - s.since);
      const double keep = 1 - 1.0 / (8.0 * std::max(1u, served.of_class[group.klass]));
      w.waited *= keep;
      w.worked *= keep;
    }
    s.since = now;
    changed();
    for (uint32_t k = 0; k < n; ++k) {
      believe(served, worker, done[k], now);
      forget(worker, done[k].cookie, k < kSome ? &places[k] : nullptr);
    }
  }
  for (uint32_t k = 0; k < n; ++k) graph_.finished(done[k].cookie, k < kSome ? places[k] : 0);
}

// The time of a task that was popped to learn it is believed until the next one, or until the models know.
inline void LateBinding::believe(const WorkerGroups &served, uint32_t worker, const consort_done &done, double now) noexcept {
  if (done.status < 0 || done.t1 <= done.t0 || !served.serves(worker)) return;
  const WorkerState &s = states_[worker];
  for (uint32_t i = 0; i < npopped_[worker]; ++i)
    if (s.popped[i].id == done.cookie && s.popped[i].tried)
      kinds_.tried(served, s.popped[i].kind, served.group_of[worker], static_cast<float>(done.t1 - done.t0), now);
}

// Cancelled or poisoned tasks: queued ones are returned at once and not by pop.
inline uint32_t LateBinding::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  const Visit visit(serving_.external());
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
