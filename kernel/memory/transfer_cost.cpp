#include "memory/transfer_cost.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/reduction.hpp"
#include "machine/topology.hpp"

namespace consort {

coherence::Spaces valid_spaces(const Datum &d) noexcept {
  if (const Placement *all = placement_of(d)) return all->valid;
  const uint32_t space = data_state::space(d.state.load(std::memory_order_relaxed));
  return space < Topology::kMaxSpaces ? coherence::one(space) : 0;  // kMany: its record is being made
}

TransferCost::TransferCost(Topology &topology, const BlockCache &cache, const EvictionOrder &order,
                           const MoverSet &movers, const Transfers &transfers)
    : topology_(topology), cache_(cache), order_(order), movers_(movers), transfers_(transfers),
      reach_(topology.spaces().size(), ~coherence::Spaces{0}) {
  const auto n = static_cast<uint32_t>(reach_.size());
  for (const Unit &u : topology.units()) reach_[u.desc.space] &= u.reach;
  for (uint32_t s = 0; s < n; ++s)
    if (reach_[s] == ~coherence::Spaces{0}) reach_[s] = coherence::one(s);  // no unit computes there
}

void TransferCost::open() {
  const auto n = static_cast<uint32_t>(reach_.size());
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) show_way(a, b);
}

void TransferCost::show_way(uint32_t from, uint32_t to) {
  const uint32_t next = from == to ? to : movers_.routes().next(from, to);
  if (next == to || next == CONSORT_NONE) return;
  const Cost way = cost(from, to, 0), megabyte = cost(from, to, 1u << 20);
  const double ns_per_byte = (double{megabyte.own} - way.own) / (1u << 20);
  topology_.show_way(from, to, {static_cast<uint64_t>(std::llround(1e9 / ns_per_byte)),
                                static_cast<uint32_t>(std::lround(way.own)), 1});
}

TransferCost::Cost TransferCost::cost(uint32_t from, uint32_t to, uint64_t bytes) const noexcept {
  const Routes &routes = movers_.routes();
  Cost c{0, 0};
  if (routes.next(from, to) == to) {  // one link: the usual case
    const float ns_per_byte = routes.ns_per_byte(from, to);
    return {routes.latency_ns(from, to) + transfers_.ns_per_byte(from, to, ns_per_byte) * static_cast<float>(bytes),
            ns_per_byte * static_cast<float>(transfers_.queued(from, to))};
  }
  for (uint32_t at = from; at != to;) {
    const uint32_t next = routes.next(at, to);
    if (next == CONSORT_NONE) return {std::numeric_limits<float>::infinity(), 0};
    const float ns_per_byte = routes.ns_per_byte(at, next);
    c.own += routes.latency_ns(at, next) + transfers_.ns_per_byte(at, next, ns_per_byte) * static_cast<float>(bytes);
    c.queued += ns_per_byte * static_cast<float>(transfers_.queued(at, next));
    at = next;
  }
  return c;
}

// The data of a policy's question are seldom in a cache, and each access depends on the one before. So the first
// accesses of all tasks are issued together, then the second ones, instead of each waiting for the last.
void TransferCost::fetch_early(const consort_task *const *tasks, uint32_t nt) noexcept {
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

// Collects data with contents that a task reads, from its access `first` on, except those valid in `alone`.
void TransferCost::look(const consort_task &t, uint32_t first, coherence::Spaces alone, Looks &looks) noexcept {
  looks.n = 0;
  const consort_access *a = t.access + first, *const end = a + std::min(t.naccess - first, Looks::kAtOnce);
  for (; a != end; ++a) {
    if (!is_fetched(*a)) continue;
    const Datum &d = *Datum::of(a->datum);
    if (!d.pub.bytes || !has_contents(d)) continue;
    const Placement *all = placement_of(d);
    const coherence::Spaces valid = all ? coherence::Spaces{all->valid} : valid_spaces(d);
    if (!(valid & alone)) looks.at[looks.n++] = {d.pub.bytes, valid, all ? coherence::Spaces{all->arriving} : 0};
  }
}

// The cost from the space from which it arrives first. Contents in flight are in the queue themselves.
TransferCost::Cost TransferCost::soonest(const Look &d, uint32_t space) const noexcept {
  const Routes &routes = movers_.routes();
  Cost best{d.valid ? std::numeric_limits<float>::infinity() : 0, 0};
  float least = best.own;
  const uint64_t bytes = d.arriving & reach_[space] ? 0 : d.bytes;
  const auto exact = static_cast<float>(static_cast<int64_t>(bytes));
  for (coherence::Spaces left = d.valid; left; left &= left - 1) {
    const auto from = static_cast<uint32_t>(std::countr_zero(left));
    Cost c;
    if (routes.next(from, space) == space) {  // as in cost(), without the call
      const float ns_per_byte = routes.ns_per_byte(from, space);
      const auto waiting = static_cast<int64_t>(transfers_.queued(from, space));
      c = {routes.latency_ns(from, space) + transfers_.ns_per_byte(from, space, ns_per_byte) * exact,
           ns_per_byte * static_cast<float>(waiting)};
    } else {
      c = cost(from, space, bytes);
    }
    if (c.own + c.queued < least) best = c, least = c.own + c.queued;
  }
  return best;
}

// Data that share a link wait for its queue once. Each datum is read once for all spaces, unless there are very many.
void TransferCost::transfer_ns(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                               float *out) const noexcept {
  Looks looks;
  const coherence::Spaces alone = ns == 1 && spaces[0] < reach_.size() ? reach_[spaces[0]] : 0;
  fetch_early(tasks, nt);
  for (uint32_t t = 0; t < nt; ++t) {
    bool looked = false;
    for (uint32_t i = 0; i < ns; ++i) {
      const uint32_t space = spaces[i], naccess = tasks[t]->naccess;
      float own = 0, queued = 0;
      for (uint32_t first = 0; first < naccess && space < reach_.size(); first += Looks::kAtOnce) {
        if (!looked || naccess > Looks::kAtOnce) look(*tasks[t], first, alone, looks);
        looked = true;
        for (uint32_t x = 0; x < looks.n; ++x) {
          if (looks.at[x].valid & reach_[space]) continue;
          const Cost best = soonest(looks.at[x], space);
          own += best.own;
          queued = std::max(queued, best.queued);
        }
      }
      *out++ = space < reach_.size() ? own + queued : std::numeric_limits<float>::quiet_NaN();
    }
  }
}

// Contents in flight count as valid: no task would fetch them again. Each datum is read once for all spaces.
void TransferCost::lacking(const consort_task *const *tasks, uint32_t nt, const uint32_t *spaces, uint32_t ns,
                           uint64_t *out) const noexcept {
  fetch_early(tasks, nt);
  for (uint32_t t = 0; t < nt; ++t, out += ns) {
    std::fill_n(out, ns, uint64_t{0});
    for (uint32_t a = 0; a < tasks[t]->naccess && a < 64; ++a) {
      const consort_access &access = tasks[t]->access[a];
      if (!is_fetched(access)) continue;
      const Datum &d = *Datum::of(access.datum);
      if (!d.pub.bytes || !has_contents(d)) continue;
      const Placement *all = placement_of(d);
      const coherence::Spaces there = valid_spaces(d) | (all ? coherence::Spaces{all->arriving} : 0);
      for (uint32_t i = 0; i < ns; ++i)
        if (spaces[i] < reach_.size() && !(there & reach_[spaces[i]])) out[i] |= uint64_t{1} << a;
    }
  }
}

consort_room TransferCost::room(uint32_t space) const noexcept {
  if (space >= reach_.size()) return {0, 0, 0};
  const uint64_t evictable = order_.evictable(space), taken = cache_.taken(space), limit = cache_.limit(space);
  const uint64_t known = limit == UINT64_MAX ? topology_.spaces()[space].desc.capacity : limit;
  return {known, taken > evictable ? taken - evictable : 0, evictable};
}

}  // namespace consort
