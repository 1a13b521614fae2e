// graph_impl.hpp — functions of graph.hpp, which includes it: inline, so that plugins that share them can be linked
// into one program.
#pragma once
#include <mutex>

#include "per_worker.hpp"

namespace policies {


inline Graph::Graph() : ring_(1024), before_(1024), index_(4096), data_(256) {}

// -- the tables ---------------------------------------------------------------------------------------------------

inline std::size_t Graph::home_of(uint64_t id) noexcept {
  constexpr uint64_t kLow = (uint64_t{1} << kNear) - 1;
  return (mix(id >> kNear) & ~kLow) | (id & kLow);
}

inline uint32_t Graph::find(uint64_t id) const noexcept {
  const std::size_t mask = index_.size() - 1;
  const uint32_t tag = tag_of(id);
  for (std::size_t i = home_of(id) & mask;; i = (i + kStep) & mask) {
    const Entry e = index_[i];
    if (!e.seq) return 0;
    if (e.tag != tag || !holds(e.seq)) continue;
    const Record &r = ring_[e.seq & (ring_.size() - 1)];
    if (r.id == id && r.alive) return e.seq;
  }
}

// Rebuilds the index for the tasks in the ring, with three times as many free places.
inline void Graph::index_all() {
  index_.assign(ring_.size() * 4, {});
  const std::size_t mask = index_.size() - 1;
  for (uint32_t seq = tail_; seq != head_; ++seq) {
    std::size_t i = home_of(at(seq).id) & mask;
    while (index_[i].seq) i = (i + kStep) & mask;
    index_[i] = {seq, tag_of(at(seq).id)};
  }
  indexed_ = head_ - tail_;
}

inline void Graph::grow() {
  if (ring_.size() >= kMost) {
    tail_ += kMost / 4;  // drops the oldest tasks
    return index_all();
  }
  std::vector<Record> more(ring_.size() * 2);
  std::vector<Before> more_before(more.size());
  for (uint32_t seq = tail_; seq != head_; ++seq) {
    more[seq & (more.size() - 1)] = at(seq);
    more_before[seq & (more.size() - 1)] = before(seq);
  }
  ring_.swap(more);
  before_.swap(more_before);
  index_all();
}

inline uint32_t Graph::kind_of(const consort_task *t, const consort_host *host, const consort_sched_host *models,
                        const WorkerGroups &served) {
  uint32_t k = 0;
  while (k < kinds_.size() && (kinds_[k].codelet != t->codelet || kinds_[k].footprint != t->footprint)) ++k;
  if (k == kinds_.size()) {
    if (k == 256) k = static_cast<uint32_t>(mix(t->footprint + t->codelet) % 256);  // replaces another kind
    else kinds_.push_back({});
    kinds_[k] = {t->footprint, t->codelet, 0, 0};
  }
  Kind &kind = kinds_[k];
  if (kind.seen++ % kAgain && kind.ns > 0) return k;
  if (!models) return k;
  float ns[64];
  const auto n = static_cast<uint32_t>(std::min<std::size_t>(64, served.asked.size()));
  models->expected_ns(host, &t, 1, served.asked.data(), n, CONSORT_NONE, ns);
  float least = 0;
  for (uint32_t g = 0; g < n; ++g)
    if (served.can(t, g) && ns[g] > 0 && (least == 0 || ns[g] < least)) least = ns[g];
  kind.ns = least;
  return k;
}

inline Graph::Datum &Graph::datum_of(uint64_t id) {
  if (ndata_ * 2 >= data_.size()) {
    std::vector<Datum> old = std::move(data_);
    data_.assign(old.size() * 2, {});
    ndata_ = 0;
    for (const Datum &d : old) {
      bool lives = d.used && holds(d.writer);
      for (uint32_t i = 0; i < d.nreaders; ++i) lives |= holds(d.readers[i]);
      if (lives) datum_of(d.id) = d;
    }
  }
  const std::size_t mask = data_.size() - 1;
  std::size_t i = mix(id) & mask;
  while (data_[i].used && data_[i].id != id) i = (i + 1) & mask;
  if (!data_[i].used) {
    ++ndata_;
    data_[i] = {};
    data_[i].id = id;
    data_[i].used = true;
  }
  return data_[i];
}

// -- events ------------------------------------------------------------------------------------------------------

inline void Graph::add(const consort_task *t, uint32_t kind) {
  if (head_ - tail_ == ring_.size()) grow();
  // Places are not freed individually, and a search ends at a free one.
  if (++indexed_ > index_.size() / 2) index_all();
  const uint32_t seq = head_;
  Record &r = at(seq);
  r = {};
  r.id = t->id;
  r.kind = kind;
  r.alive = true;
  for (uint32_t a = 0; a < t->naccess; ++a)
    if (t->access[a].datum) __builtin_prefetch(&data_[mix(t->access[a].datum->id) & (data_.size() - 1)]);
  Before &b = before(seq);
  b = {};
  uint32_t n = 0;
  const auto after = [&](uint32_t other) {
    if (!other || !holds(other) || !at(other).alive || n == kBefore) return;
    for (uint32_t i = 0; i < n; ++i)
      if (b.seq[i] == other) return;
    b.seq[n++] = other;
  };
  for (uint32_t a = 0; a < t->naccess; ++a) {
    const consort_access &access = t->access[a];
    if (!access.datum || (access.mode & CONSORT_M_SCRATCH)) continue;
    Datum &d = datum_of(access.datum->id);
    const bool writes = access.mode & (CONSORT_M_W | CONSORT_M_REDUX);
    after(d.writer);
    if (writes) {
      for (uint32_t i = 0; i < d.nreaders; ++i) after(d.readers[i]);
      d.nreaders = 0;
      d.writer = seq;
    } else {
      d.readers[d.nreaders < kReaders ? d.nreaders++ : seq % kReaders] = seq;
    }
  }
  const std::size_t mask = index_.size() - 1;
  std::size_t i = home_of(r.id) & mask;
  while (index_[i].seq && holds(index_[i].seq)) i = (i + kStep) & mask;
  index_[i] = {seq, tag_of(r.id)};
  r.rank = kinds_[kind].ns;
  ++head_;
  ++fresh_;
}

inline void Graph::submitted(const consort_task *const *tasks, uint32_t n, const consort_host *host,
                      const consort_sched_host *models, const WorkerGroups &served) noexcept try {
  const std::lock_guard guard(lock_);
  for (uint32_t k = 0; k < n; ++k) add(tasks[k], kind_of(tasks[k], host, models, served));
} catch (...) {  // no memory: unknown tasks have no rank
}

inline void Graph::finished(uint64_t id, uint32_t place) noexcept {
  const std::lock_guard guard(lock_);
  const uint32_t seq = place && holds(place) && at(place).id == id ? place : find(id);
  if (!seq) return;
  at(seq).alive = false;
  while (tail_ != head_ && !at(tail_).alive) ++tail_;
}

inline void Graph::clear() noexcept {
  const std::lock_guard guard(lock_);
  tail_ = head_;
  fresh_ = 0;
}

// -- ranks --------------------------------------------------------------------------------------------------------

inline void Graph::sweep() noexcept {
  fresh_ = 0;
  float usual = 0;
  for (const Kind &k : kinds_) usual = std::max(usual, k.ns);
  const auto ns = [&](const Record &r) {
    const float known = kinds_[r.kind].ns;
    return known > 0 ? known : usual > 0 ? usual : 1;
  };
  for (uint32_t seq = tail_; seq != head_; ++seq) at(seq).rank = ns(at(seq));
  for (uint32_t seq = head_; seq-- != tail_;) {
    const Record &r = at(seq);
    if (!r.alive) continue;
    for (const uint32_t other : before(seq).seq) {
      if (!other) break;
      if (!holds(other)) continue;
      Record &b = at(other);
      b.rank = std::max(b.rank, ns(b) + r.rank);
    }
  }
}

// Whether a task's rank needs no query: after a sweep it includes all successors by data, and others are rare.
inline bool Graph::is_said_by_data() noexcept {
  if (fresh_) return false;
  if (surely_) return --surely_, false;
  return asked_++ % kSample != 0;
}

// Raises the rank by these successors; returns whether it grew.
inline bool Graph::follow(Record &r, const consort_task *const *next, uint32_t n) noexcept {
  // Prefetches in two passes, because the second address depends on the first load.
  const std::size_t mask = index_.size() - 1;
  for (uint32_t i = 0; i < n && n > 1; ++i) __builtin_prefetch(&index_[home_of(next[i]->id) & mask]);
  for (uint32_t i = 0; i < n && n > 1; ++i) __builtin_prefetch(&at(index_[home_of(next[i]->id) & mask].seq));
  const float own = kinds_[r.kind].ns, before = r.rank;
  for (; n > 0; --n)
    if (const uint32_t s = find(next[n - 1]->id)) r.rank = std::max(r.rank, own + at(s).rank);
  return r.rank > before;
}

inline float Graph::rank(const consort_task *t, const consort_host *host, const consort_sched_host *models,
                         uint32_t *place) noexcept {
  const std::lock_guard guard(lock_);
  if (fresh_ * 4 > head_ - tail_) sweep();
  const uint32_t seq = find(t->id);
  if (place) *place = seq;
  if (!seq) return 0;
  Record &r = at(seq);
  if (!models || is_said_by_data()) return r.rank;
  // Dependencies that data do not show: successors are unfinished as long as this task is.
  const consort_task *next[kSuccessors];
  const uint32_t n = std::min(kSuccessors, models->successors(host, t, next, kSuccessors));
  for (uint32_t i = 0; i < n; ++i) __builtin_prefetch(next[i]);
  if (follow(r, next, n) && !fresh_) surely_ = kSurely;
  return r.rank;
}

}  // namespace policies
