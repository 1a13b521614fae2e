#include "memory/transfers.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/last_error.hpp"
#include "machine/topology.hpp"
#include "memory/request.hpp"
#include "memory/staging.hpp"
#include "memory/window.hpp"
#include "observe/tracer.hpp"

namespace consort {
namespace {

void expect(Replica &r, Transfer *t) noexcept {  // nullptr: nothing expected any more
  r.coming = t;
  RelaxedValue<coherence::Spaces> &arriving = r.datum->places.arriving;
  arriving = t ? arriving | coherence::one(r.space) : arriving & ~coherence::one(r.space);
}

// Splits a run of bytes into copies that the link supports: it may support no rows, or no slices.
void lower(const consort_run &r, uint32_t flags, uint32_t from, uint32_t to, std::vector<consort_copy> &copies) {
  const uint64_t slices = (flags & CONSORT_LK_3D) ? 1 : r.n[1];
  const uint64_t rows = (flags & (CONSORT_LK_2D | CONSORT_LK_3D)) ? 1 : r.n[0];
  for (uint64_t z = 0; z < slices; ++z)
    for (uint64_t y = 0; y < rows; ++y) {
      consort_copy c{from,
                     to,
                     r.src,
                     r.dst,
                     r.run,
                     {r.n[0], r.n[1]},
                     {r.src_step[0], r.src_step[1]},
                     {r.dst_step[0], r.dst_step[1]}};
      c.src.off += static_cast<uint64_t>(r.src_step[1]) * z + static_cast<uint64_t>(r.src_step[0]) * y;
      c.dst.off += static_cast<uint64_t>(r.dst_step[1]) * z + static_cast<uint64_t>(r.dst_step[0]) * y;
      if (slices != 1) c.n[1] = 1;
      if (rows != 1) c.n[0] = 1;
      copies.push_back(c);
    }
}

}  // namespace

Transfers::Transfers(const Topology &topology, const Clock &clock, const std::unique_ptr<Tracer> &tracer,
                     MoverSet &movers, EvictionOrder &order)
    : topology_(topology), clock_(clock), tracer_(tracer), movers_(movers), order_(order),
      spaces_(topology.spaces().size()), links_(spaces_ * spaces_), leaving_(spaces_) {
  for (uint32_t from = 0; from < spaces_; ++from)
    for (uint32_t to = 0; to < spaces_; ++to) {
      const Link &link = topology.link(from, to);
      if (from == to || !link.device || !link.desc.bus || !link.desc.bus_bytes_per_s) continue;
      Bus &bus = buses_[{link.device->plugin, link.desc.bus}];
      bus.ns_per_byte = 1e9f / static_cast<float>(link.desc.bus_bytes_per_s);
      links_[at(from, to)].bus = &bus;
    }
}

Transfers::OneLink &Transfers::link_of(const Transfer &t) noexcept { return links_[at(t.from->space, t.to->space)]; }

// Order: the time of the request minus the rank of the task (the length of the critical path behind it).
int64_t Transfers::order_of(const Transfer &t) const noexcept {
  float rank = 0;
  for (const auto *those : {&t.waiters, &t.blocked})
    for (const Staging *s : *those) rank = std::max(rank, s->rank);
  return static_cast<int64_t>(clock_.now()) - static_cast<int64_t>(rank);
}

std::vector<consort_copy> Transfers::copies_of(const Transfer &t) const {
  const Datum &d = *t.datum;
  std::vector<consort_run> runs(16);
  uint32_t found = d.layout->ops->runs(d.shape(), t.from->view, t.to->view, runs.data(), 16);
  if (found > runs.size()) {
    runs.resize(found);
    found = d.layout->ops->runs(d.shape(), t.from->view, t.to->view, runs.data(), found);
  }
  runs.resize(found);
  const uint32_t flags = topology_.link(t.from->space, t.to->space).desc.flags;
  std::vector<consort_copy> copies;
  for (const consort_run &r : runs) lower(r, flags, t.from->space, t.to->space, copies);
  return copies;
}

void Transfers::count_in(Transfer &t) {
  t.from->going.push_back(&t);
  order_.pin(*t.from);
  order_.pin(*t.to);
  expect(*t.to, &t);
  Replicas &all = *t.datum->extra()->replicas;
  t.version = all.version;
  ++all.flying;
  ++transfers_;
  ++leaving_[t.from->space];
  t.bytes = t.datum->pub.bytes;
  t.traced = tracer_ != nullptr;
  if (t.traced) t.began = clock_.now(), t.ended = 0;
  OneLink &link = link_of(t);
  if (link.bus && uint64_t{link.queued} == 0) link.bus->busy += 1;
  link.queued += t.bytes;
}

void Transfers::count_out(Transfer &t) noexcept {
  std::erase(t.from->going, &t);
  expect(*t.to, nullptr);
  --t.datum->extra()->replicas->flying;
  --transfers_;
  --leaving_[t.from->space];
  OneLink &link = link_of(t);
  link.queued -= t.bytes;
  if (link.bus && uint64_t{link.queued} == 0) link.bus->busy -= 1;
}

Outcome Transfers::send(Transfer &t) noexcept try {
  Mover *const mover = movers_.on(t.from->space, t.to->space);
  if (!mover) {
    t.status = set_errorf(CONSORT_E_UNSUPPORTED, "no driver moves bytes from %s to %s", topology_.space_name(t.from->space),
                          topology_.space_name(t.to->space));
    return Outcome::kRefused;
  }
  const std::vector<consort_copy> copies = copies_of(t);
  if (copies.empty()) {
    t.status = set_errorf(CONSORT_E_UNSUPPORTED, "interface '%s' has no flat layout to copy",
                          t.datum->layout->name.c_str());
    return Outcome::kRefused;
  }
  t.outstanding = static_cast<uint32_t>(copies.size());
  count_in(t);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  const bool wished = t.wish && t.waiters.empty();
  if (mover->add(&t, copies.data(), t.outstanding, wished ? &t.wish->priority : nullptr, order_of(t)))
    return Outcome::kDone;
  order_.unpin(*t.from);
  order_.unpin(*t.to);
  count_out(t);
  under_way_.fetch_sub(1, std::memory_order_relaxed);
  t.status = set_error(CONSORT_E_NOMEM, "no memory for the record of a copy");
  return Outcome::kRefused;
} catch (const std::bad_alloc &) {
  t.status = set_error(CONSORT_E_NOMEM, "no memory for the list of copies");
  return Outcome::kRefused;
}

bool Transfers::land(Transfer &t, consort_status status) noexcept {
  t.status = status;
  if (tracer_) {
    const bool wished = t.wish && t.waiters.empty();
    tracer_->copied(*t.datum, t.from->space, t.to->space, t.bytes, t.began, t.ended ? t.ended : clock_.now(), status,
                    t.saving ? CopyReason::kSave : wished ? CopyReason::kPrefetch : CopyReason::kDemand);
  }
  count_out(t);
  Replicas &all = *t.datum->extra()->replicas;
  // If the contents were overwritten elsewhere meanwhile (no task waits for a save), the copy is invalid.
  const bool stale = t.version != all.version;
  if (status >= 0 && !stale) {
    all.valid |= coherence::one(t.to->space);
    spread(*t.to);
  }
  t.to->prefetched = t.wish && t.waiters.empty();
  if (status != CONSORT_E_CANCELLED) {
    LinkStatistics &link = link_of(t).statistics;
    ++(status < 0 ? link.failed : link.copies);
    link.bytes += status < 0 ? 0 : t.datum->pub.bytes;
  }
  if (t.saving) t.from->vain = status < 0 ? t.from->vain + 1 : 0;
  order_.unpin(*t.from);
  order_.unpin(*t.to);
  return stale;
}

void Transfers::hurry(Transfer &t) noexcept { movers_.on(t.from->space, t.to->space)->hurry(&t, order_of(t)); }
bool Transfers::take_back(Transfer &t) noexcept { return movers_.on(t.from->space, t.to->space)->take_back(&t); }
void Transfers::announce(Replica &r, Transfer &t) noexcept { expect(r, &t); }

void Transfers::give_up(Transfer &t) noexcept {
  if (t.last->coming == &t) expect(*t.last, nullptr);
}

}  // namespace consort
