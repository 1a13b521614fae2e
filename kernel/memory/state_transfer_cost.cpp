// transfer_cost.cpp — Memory, the part that says what bringing data somewhere would cost, and what room there is. Nothing
// is locked: it reads what is RelaxedValue, of data that unfinished tasks name, so its answers are of a moment ago.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/reduction.hpp"
#include "memory/data_management.hpp"
#include "memory/memory_state.hpp"

namespace consort {

void MemoryState::open_estimates() {
  const auto n = static_cast<uint32_t>(stores_.size());
  reach_.assign(n, ~coherence::Spaces{0});
  for (const Unit &u : rt_.topology->units()) reach_[u.desc.space] &= u.reach;
  for (uint32_t s = 0; s < n; ++s)
    if (reach_[s] == ~coherence::Spaces{0}) reach_[s] = coherence::one(s);  // nobody computes there
  queued_.resize(size_t{n} * n);
  mover_to_.assign(n, nullptr);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) {
      if (Mover *m = mover_of_[a * n + b]) mover_to_[b] = m;
      if (a == b || routes_.next(a, b) == CONSORT_NONE || routes_.next(a, b) == b) continue;
      const Cost way = cost(a, b, 0), megabyte = cost(a, b, 1u << 20);
      const double ns_per_byte = (double{megabyte.own} - way.own) / (1u << 20);
      rt_.topology->show_way(a, b, {static_cast<uint64_t>(std::llround(1e9 / ns_per_byte)),
                                    static_cast<uint32_t>(std::lround(way.own)), 1});
    }
  if (!movers_.empty()) hints_ = std::make_unique<Hints>();
}

coherence::Spaces MemoryState::valid_spaces(const Datum &d) noexcept {
  if (const Placement *all = places_shown(d)) return all->valid;
  const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
  return space < Topology::kMaxSpaces ? coherence::one(space) : 0;  // kMany: its record is being made
}

bool MemoryState::valid_in(const Datum &d, uint32_t space) const noexcept {
  return space < stores_.size() && (valid_spaces(d) & coherence::one(space));
}

MemoryState::Cost MemoryState::cost(uint32_t from, uint32_t to, uint64_t bytes) const noexcept {
  Cost c{0, 0};
  if (routes_.next(from, to) == to) {  // one link, as nearly always
    const float ns_per_byte = routes_.ns_per_byte(from, to);
    return {routes_.latency_ns(from, to) + ns_per_byte * static_cast<float>(bytes),
            ns_per_byte * static_cast<float>(uint64_t{queued_[from * stores_.size() + to]})};
  }
  for (uint32_t at = from; at != to;) {
    const uint32_t next = routes_.next(at, to);
    if (next == CONSORT_NONE) return {std::numeric_limits<float>::infinity(), 0};
    const float ns_per_byte = routes_.ns_per_byte(at, next);
    c.own += routes_.latency_ns(at, next) + ns_per_byte * static_cast<float>(bytes);
    c.queued += ns_per_byte * static_cast<float>(uint64_t{queued_[at * stores_.size() + next]});
    at = next;
  }
  return c;
}

// What a policy asks about is seldom in a cache, and each look leads to the next. So the first looks of all go out
// together, then the second ones; asked one by one each would wait for the one before it.
void MemoryState::fetch_early(const consort_task *const *tasks, uint32_t nt) noexcept {
  constexpr uint32_t kMost = 16;
  nt = std::min(nt, kMost);
  for (uint32_t t = 0; t < nt; ++t) __builtin_prefetch(tasks[t]);
  for (uint32_t t = 0; t < nt; ++t) __builtin_prefetch(tasks[t]->access);
  for (uint32_t t = 0; t < nt; ++t) {
    const consort_access *a = tasks[t]->access, *const end = a + std::min<uint32_t>(tasks[t]->naccess, kMost);
    for (; a != end; ++a) {
      if (!a->datum) continue;
      __builtin_prefetch(a->datum);
      __builtin_prefetch(&Datum::of(a->datum)->places);
    }
  }
}

namespace {

struct Looked {              // at a datum that has contents and that a task needs
  uint64_t bytes;
  coherence::Spaces valid, arriving;
};
constexpr uint32_t kAtOnce = 64;
// As MemoryState::has_contents(), in the loop.
bool has_contents(const std::atomic<uint32_t> &state) noexcept {
  return (state.load(std::memory_order_relaxed) & data_state::kPlain) == data_state::kValid;
}

}  // namespace

// Each from where it comes soonest. Those that share a link wait for what is queued on it once. Contents that are on
// their way already are queued themselves. A task's data are looked at once for all spaces, if they are not very many.
void MemoryState::transfer_ns(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                         float *out) const noexcept {
  Looked some[kAtOnce];
  uint32_t n = 0;
  const coherence::Spaces alone = ns == 1 && spaces[0] < stores_.size() ? reach_[spaces[0]] : 0;
  const auto look = [&](const consort_task &t, uint32_t first) {
    n = 0;
    const consort_access *a = t.access + first, *const end = a + std::min(t.naccess - first, kAtOnce);
    for (; a != end; ++a) {
      if (!is_fetched(*a)) continue;
      const Datum &d = *Datum::of(a->datum);
      if (!d.pub.bytes || !consort::has_contents(d.state)) continue;
      const Placement *all = places_shown(d);
      const coherence::Spaces valid = all ? coherence::Spaces{all->valid} : valid_spaces(d);
      if (!(valid & alone)) some[n++] = {d.pub.bytes, valid, all ? coherence::Spaces{all->arriving} : 0};
    }
  };
  const auto soonest = [&](const Looked &d, uint32_t space) {
    Cost best{d.valid ? std::numeric_limits<float>::infinity() : 0, 0};
    float least = best.own;
    const uint64_t bytes = d.arriving & reach_[space] ? 0 : d.bytes;
    const auto exact = static_cast<float>(static_cast<int64_t>(bytes));
    for (coherence::Spaces left = d.valid; left; left &= left - 1) {
      const auto from = static_cast<uint32_t>(std::countr_zero(left));
      Cost c;
      if (routes_.next(from, space) == space) {  // as cost() has it, without the call
        const float ns_per_byte = routes_.ns_per_byte(from, space);
        const auto waiting = static_cast<int64_t>(uint64_t{queued_[from * stores_.size() + space]});
        c = {routes_.latency_ns(from, space) + ns_per_byte * exact, ns_per_byte * static_cast<float>(waiting)};
      } else {
        c = cost(from, space, bytes);
      }
      if (c.own + c.queued < least) best = c, least = c.own + c.queued;
    }
    return best;
  };
  fetch_early(tasks, nt);
  for (uint32_t t = 0; t < nt; ++t) {
    bool looked = false;
    for (uint32_t i = 0; i < ns; ++i) {
      const uint32_t space = spaces[i], naccess = tasks[t]->naccess;
      float own = 0, queued = 0;
      for (uint32_t first = 0; first < naccess && space < stores_.size(); first += kAtOnce) {
        if (!looked || naccess > kAtOnce) look(*tasks[t], first);
        looked = true;
        for (uint32_t x = 0; x < n; ++x) {
          if (some[x].valid & reach_[space]) continue;
          const Cost best = soonest(some[x], space);
          own += best.own;
          queued = std::max(queued, best.queued);
        }
      }
      *out++ = space < stores_.size() ? own + queued : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// What is on its way counts as there: nobody would send for it again. Each datum is looked at once for all spaces.
void MemoryState::lacking(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                     uint64_t *out) const noexcept {
  fetch_early(tasks, nt);
  for (uint32_t t = 0; t < nt; ++t, out += ns) {
    std::fill_n(out, ns, uint64_t{0});
    for (uint32_t a = 0; a < tasks[t]->naccess && a < 64; ++a) {
      const consort_access &access = tasks[t]->access[a];
      if (!is_fetched(access)) continue;
      const Datum &d = *Datum::of(access.datum);
      if (!d.pub.bytes || !consort::has_contents(d.state)) continue;
      const Placement *all = places_shown(d);
      const coherence::Spaces there = valid_spaces(d) | (all ? coherence::Spaces{all->arriving} : 0);
      for (uint32_t i = 0; i < ns; ++i)
        if (spaces[i] < stores_.size() && !(there & reach_[spaces[i]])) out[i] |= uint64_t{1} << a;
    }
  }
}

consort_room MemoryState::room(uint32_t space) const noexcept {
  if (space >= stores_.size()) return {0, 0, 0};
  const Store &s = stores_[space];
  const uint64_t evictable = s.evictable, taken = s.used - s.spare_bytes;
  const uint64_t limit = s.limit == UINT64_MAX ? rt_.topology->spaces()[space].desc.capacity : uint64_t{s.limit};
  return {limit, taken > evictable ? taken - evictable : 0, evictable};
}

}  // namespace consort
