#include "instance.hpp"

#include <algorithm>
#include <mutex>

#include "../estimates.hpp"

namespace lookahead {

// -- life ---------------------------------------------------------------------------------------------------------

Instance::Instance(const Settings &settings, const consort_host *host, const consort_topology &t, uint64_t epoch)
    : settings_(settings),
      host_(host),
      models_(host->get ? static_cast<const consort_sched_host *>(host->get(host, CONSORT_SCHED_ID)) : nullptr),
      epoch_(epoch),
      kinds_(host, models_) {
  publish(Crew(policies::Members(t), t));
}

void Instance::publish(Crew &&next) {
  auto crew = std::make_unique<Crew>(std::move(next));
  const std::size_t n = crew->members.serves.size();
  while (lines_.size() < n) lines_.push_back(std::make_unique<Line>());
  std::vector<Line *> table;
  for (const auto &l : lines_) table.push_back(l.get());
  crews_.reserve(crews_.size() + 1);
  line_tables_.push_back(std::move(table));
  line_of_.store(line_tables_.back().data(), std::memory_order_seq_cst);  // before the crew that counts them
  std::vector<uint32_t> count(crew->members.nclasses);
  for (const dm::Group &g : crew->groups) count[g.klass] += g.count;
  {
    std::vector<Seat> more(std::max(n, seats_.size()));
    const std::lock_guard guard(lock_);
    std::copy(seats_.begin(), seats_.end(), more.begin());
    seats_.swap(more);
    class_count_.swap(count);
    kinds_.asked_anew(*crew);  // what a decision reads of groups is this crew's from here on
    changes_ = kAlways;
    crew_.store(crew.get(), std::memory_order_seq_cst);  // pairs with crew()
  }
  crews_.push_back(std::move(crew));
}

// Who calls as a worker that serves is that worker's owner; all others share one line.
policies::Visitors &Instance::visitors_of(uint32_t worker) noexcept {
  if (worker >= crew().group_of.size()) return outsiders_;
  return line_of_.load(std::memory_order_seq_cst)[worker]->visitors;
}

bool Instance::nobody_inside(uint64_t deadline) const noexcept {
  for (const auto &l : lines_)
    if (!policies::wait_outside(l->visitors, host_, deadline)) return false;
  return policies::wait_outside(outsiders_, host_, deadline);
}

consort_status Instance::workers(const consort_topology &t, const uint32_t *add, uint32_t na, const uint32_t *del,
                                 uint32_t nd) {
  if (const consort_status bad = policies::check_added(host_, &t, add, na); bad < 0) return bad;
  policies::Members next = crew().members;
  next.change(t, add, na, del, nd);
  publish(Crew(std::move(next), t));
  nobody_inside(CONSORT_NEVER);  // nobody is at work with the old crew any more
  return CONSORT_OK;
}

// Out of its kind's queue; the node is the caller's. Under the lock.
void Instance::take(Kind &k, Node *n) noexcept {
  k.ready.remove(n);
  --k.nready;
  --nready_;
}

uint32_t Instance::drain(uint64_t epoch, consort_task **out, uint32_t max) noexcept {
  epoch_.store(epoch, std::memory_order_seq_cst);  // pairs with push(), by way of Visit
  nobody_inside(CONSORT_NEVER);                    // what was let in with the old epoch is in a queue now
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
  for (Seat &s : seats_) s.nout = s.running = 0;  // another life begins: these ends are not told
  changes_ = kAlways;
  return count;
}

consort_status Instance::quiesce(uint64_t deadline) noexcept {
  return nobody_inside(deadline) ? CONSORT_OK : CONSORT_E_TIMEOUT;
}

// -- push ---------------------------------------------------------------------------------------------------------

uint32_t Instance::push(const consort_push &p) noexcept {
  constexpr uint32_t kSome = 16;
  const policies::Visit visit(visitors_of(p.from));
  if (epoch_.load(std::memory_order_seq_cst) != p.epoch) return 0;  // pairs with drain(), by way of Visit
  const Crew &crew = this->crew();
  try {
    const std::lock_guard guard(lock_);
    pool_.promise(p.n);
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
      ++k.nready;
      ++nready_;
    }
    done += some;
  }
  if (p.wake && models_) {
    const std::lock_guard guard(lock_);
    wake(crew, p, now);
  }
  return p.n;
}

// Those that would take one of what waits now. Under the lock.
void Instance::wake(const Crew &crew, const consort_push &p, double now) noexcept {
  uint32_t named = 0;
  for (uint32_t g = 0; g < crew.groups.size(); ++g) {
    const dm::Group &group = crew.groups[g];
    int takes = -1;
    for (uint32_t i = group.first; i < group.first + group.count; ++i) {
      const uint32_t w = crew.order[i];
      if (w == p.from || w / 64 >= p.wake->nwords) continue;
      if (seats_[w].nout) continue;  // it comes by itself when one of its ends
      if (takes < 0) takes = would_take(crew, g, now);
      if (!takes) break;
      p.wake->bits[w / 64] |= uint64_t{1} << w % 64;
      ++named;
    }
  }
  p.wake->k += std::max(named, p.n);
}

// -- pop ----------------------------------------------------------------------------------------------------------

bool Instance::forget(uint32_t worker, uint64_t id) noexcept {
  Seat &s = seats_[worker];
  for (uint32_t i = 0; i < s.nout; ++i) {
    if (s.out[i].id != id) continue;
    s.running -= s.out[i].started;
    const Crew &crew = this->crew();
    Kind &k = kinds_[s.out[i].kind];
    if (!s.out[i].known && worker < crew.group_of.size() && crew.group_of[worker] < k.learning.size())
      if (uint32_t &l = k.learning[crew.group_of[worker]]; l > 0) --l;
    std::copy(s.out + i + 1, s.out + s.nout, s.out + i);
    --s.nout;
    return true;
  }
  return false;
}

// What it cannot start soon is not bound to it yet.
bool Instance::has_enough(const Crew &crew, uint32_t worker, const Seat &s) const noexcept {
  if (!models_ || s.nout == 0) return false;
  const uint32_t most = crew.depth[worker] + 2;
  bool enough = s.nout >= most;
  if (!enough && s.nout >= settings_.ahead) {
    double work = 0;  // behind the first
    for (uint32_t i = 1; i < s.nout; ++i) work += s.out[i].exec;
    enough = work > kSoon;
  }
  if (!enough) return false;
  if (s.running) return true;  // it will end, and then this is asked again
  float load = 0;              // those that never start are not in here: nobody waits for them for ever
  models_->load_ns(host_, &worker, 1, &load);
  return load > 0;
}

uint32_t Instance::pop(uint32_t worker, consort_pick *out, uint32_t max) noexcept {
  const policies::Visit visit(visitors_of(worker));
  const Crew &crew = this->crew();
  if (max == 0 || worker >= crew.group_of.size() || crew.group_of[worker] == CONSORT_NONE) return 0;
  const uint32_t g = crew.group_of[worker];
  const double now = this->now();
  consort_task *t;
  uint64_t mask;
  {
    const std::lock_guard guard(lock_);
    if (nready_ == 0) return 0;
    Seat &s = seats_[worker];
    if (has_enough(crew, worker, s)) return 0;
    const Found f = choose(crew, worker, now);
    if (!f.node) return 0;
    Kind &k = kinds_[f.kind];
    t = f.node->task;
    mask = k.masks[g];
    if (s.nout == kOut) forget(worker, s.out[0].id);
    const bool known = k.known_at(g);
    s.out[s.nout++] = {t->id, now, known ? k.ns[g] : 0, f.node->rank, f.kind, false, known};
    if (!known) ++k.learning[g];
    if (k.left) --k.left;
    if (changes_ != kAlways) ++changes_;
    take(k, f.node);
    pool_.put(f.node);
  }
  *out = {t, dm::best_impl(host_, models_, t, worker, mask, static_cast<uint32_t>(t->id)), CONSORT_NONE};
  return 1;
}

// -- what is told -------------------------------------------------------------------------------------------------

void Instance::submitted(const consort_task *const *tasks, uint32_t n) noexcept {
  const policies::Visit visit(outsiders_);
  const Crew &crew = this->crew();
  graph_.submitted(tasks, n, host_, models_, crew);
  const std::lock_guard guard(lock_);
  try {
    for (uint32_t i = 0; i < n; ++i) ++kinds_[kinds_.of(crew, tasks[i])].left;
  } catch (...) {  // no memory: fewer are known
  }
  changes_ = kAlways;
}

void Instance::started(uint32_t worker, const consort_task *const *tasks, uint32_t n) noexcept {
  const double now = this->now();
  const std::lock_guard guard(lock_);
  if (worker >= seats_.size()) return;
  Seat &s = seats_[worker];
  for (uint32_t k = 0; k < n; ++k)
    for (uint32_t i = 0; i < s.nout; ++i) {
      Out &o = s.out[i];
      if (o.id != tasks[k]->id || o.started) continue;
      o.started = true;
      if (s.running++) continue;
      waited_ += std::max(0.0, now - std::max(o.at, s.since));
      s.since = now;
      if (i > 0) std::rotate(s.out, s.out + i, s.out + i + 1);  // it went before those that lack data
    }
}

void Instance::finished(uint32_t worker, const consort_done *done, uint32_t n) noexcept {
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
    for (uint32_t k = 0; k < n; ++k) forget(worker, done[k].cookie);
  }
  for (uint32_t k = 0; k < n; ++k) graph_.finished(done[k].cookie);
}

// Cancelled or poisoned: those that are in here come out at once and not by pop.
uint32_t Instance::dropped(consort_task *const *tasks, uint32_t n, consort_task **held) noexcept {
  const policies::Visit visit(outsiders_);
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
  return nheld;
}

}  // namespace lookahead
