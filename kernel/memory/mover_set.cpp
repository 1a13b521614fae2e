#include "memory/mover_set.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "machine/topology.hpp"

namespace consort {

MoverSet::MoverSet(const MoverSettings &settings, MoverOwner &owner)
    : settings_(settings), owner_(owner), spaces_(settings.topology.spaces().size()), on_(spaces_ * spaces_), to_(spaces_) {}

MoverSet::~MoverSet() { stop_threads(); }

Result<void> MoverSet::open() {
  const auto n = static_cast<uint32_t>(spaces_);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b) {
      const Link &link = settings_.topology.link(a, b);
      if (a == b || !link.device || (link.desc.flags & CONSORT_LK_LOADSTORE)) continue;
      auto mover = mover_of(*link.device);
      if (!mover) return mover.error();
      on_[a * n + b] = to_[b] = *mover;
      if (!link.desc.bus) continue;
      auto &bus = shared_[{link.device->plugin, link.desc.bus}];
      if (!bus) bus = std::make_unique<SharedLink>(link.desc.bus_bytes_per_s, settings_.virtual_time);
      (*mover)->share(a, b, *bus);
    }
  routes_.open(settings_.topology);
  return {};
}

Result<Mover *> MoverSet::mover_of(const Device &device) {
  for (auto &m : movers_)
    if (&m->device() == &device) return m.get();
  auto made = Mover::open(settings_, owner_, device, Mover::kFirstToken + movers_.size());
  if (!made) return made.error();
  movers_.push_back(std::move(*made));
  return movers_.back().get();
}

Result<void> MoverSet::start_threads() {
  for (auto &m : movers_)
    if (auto r = m->start_thread(); !r) return r;
  return {};
}

void MoverSet::stop_threads() noexcept {
  for (auto &m : movers_) m->stop();
}

Mover *MoverSet::of_token(uint64_t token) const noexcept {
  const bool its = token >= Mover::kFirstToken && token - Mover::kFirstToken < movers_.size();
  return its ? movers_[token - Mover::kFirstToken].get() : nullptr;
}

bool MoverSet::step(ThreadState &thread) noexcept {
  // Cleared before the step: news that arrives meanwhile is handled by the next one. acquire: pairs with stir()
  looked_at_ = settings_.clock.now();
  stirred_.exchange(false, std::memory_order_acquire);
  bool did = false, settled = true;
  for (auto &m : movers_) {
    did |= m->step(thread);
    settled &= m->settled();
  }
  if (did || !settled) stir();
  return did;
}

bool MoverSet::stirred(bool has_hints) const noexcept {
  return stirred_.load(std::memory_order_relaxed) || looked_at_ != settings_.clock.now() || has_hints;
}

uint64_t MoverSet::next_event() const noexcept {
  uint64_t next = CONSORT_NEVER;
  for (const auto &m : movers_) next = std::min(next, m->next_event());
  return next;
}

}  // namespace consort
