// writeback.cpp — Memory, the part that saves contents before their room is needed: whoever needs it then only drops.
#include "memory/memory_state.hpp"

namespace consort {

// One at a time, while nothing else leaves the space and nobody waits for room there: those that would go first and are
// nowhere else, but not what its next task writes anyway. Where it is saved nobody has to make room for it.
void MemoryState::save_ahead(uint32_t space) noexcept {
  constexpr int kLooks = 16;  // of those that would go first
  Store &store = stores_[space];
  if (!store.counted || store.leaving || store.clearing || !store.waiting.empty()) return;
  const uint64_t wanted = store.limit / 100 * save_ahead_, taken = store.used - store.spare_bytes;
  if (taken + wanted <= store.limit || taken > store.limit) return;
  look_ahead(store);
  uint64_t ready = store.limit - taken;
  int looks = kLooks;
  look_at_victims(store, [&](Replica &r) {
    const Replicas &all = *r.datum->extra()->replicas;
    if (!is_only(r))
      ready += r.bytes;
    else if (!r.coming && !all.claims && !outlook_.next(*r.datum).rewritten && save(r, Room::kFree))
      return false;
    return --looks && ready < wanted;
  });
}

}  // namespace consort
