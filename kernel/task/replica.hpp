// replica.hpp — the replicas of a datum in the memories of a machine.
//
// Belongs to the datum (DatumExtra). Every field changes under Memory's mutex. A datum without this record lives in one
// space, and Memory does not know it.
#pragma once
#include <memory>
#include <vector>

#include "base/relaxed_value.hpp"
#include "machine/coherence.hpp"
#include "task/data.hpp"

namespace consort {

struct Staging;
struct Transfer;

struct Replica {
  Datum *datum;
  uint32_t space;
  bool allocated = false;
  bool lasting = false;                    // the application's own memory, never freed here
  // tasks that do not know of this record may still read it: until the next write
  bool unsure = false;
  bool anchored = false;                   // parts use its memory
  bool unwanted = false;                   // the application will not use it: first to be evicted; until a task uses it
  bool leaves = false;                     // the application wants it dropped; until a task uses it
  uint8_t vain = 0;                        // consecutive failed saves
  uint32_t pins = 0;                       // tasks, copies from and to it, and holds that use it: it must stay
  uint64_t bytes = 0;                      // bytes of its space
  void *view = nullptr;
  std::unique_ptr<std::byte[]> own_view;   // target of `view`, unless that is the datum's own
  std::vector<DatumExtra::Block> blocks;
  Transfer *coming = nullptr;              // the transfer that brings its contents
  std::vector<Transfer *> going;           // copies that read it
  Replica *older = nullptr, *newer = nullptr;  // by last use, among the replicas that may be evicted (Memory)
  bool listed = false;
  // Eviction order: rank, then last use; index in the heap (memory/eviction_queue.hpp)
  static constexpr uint32_t kNotIn = ~0u;
  uint64_t rank = 0, age = 0;
  uint64_t last_use_ns = 0;                // maintained if a policy chooses
  // Choice of the policy: number of the answer (Store::asks), then position in it, from 1
  static constexpr uint32_t kPlaceBits = 16;
  uint64_t chosen = 0;
  bool prefetched = false;                 // and not used since
  uint32_t at = kNotIn;
  bool looked_at = false;                  // taken out while the others are examined
  Replica *next_looked_at = nullptr;
  // A window is a part's replica inside memory of its whole (memory/partition_alias.cpp). It has no memory of its own,
  // and keeps the whole's while it is pinned.
  Replica *base = nullptr;                 // of a window: the owner of its memory
  std::vector<Replica *> windows;          // windows into this memory
  bool left = false;                       // no longer a replica of its datum: only its windows use the memory
  uint32_t counted_saves = 0;              // saves in flight after which it, or its windows, can be dropped
  bool stays() const noexcept { return lasting || unsure || anchored || base; }  // whether in use or not
};

struct Replicas {
  explicit Replicas(Datum &d) noexcept : places(d.places) { valid = arriving = 0; }
  ~Replicas() { places.known.store(false, std::memory_order_relaxed); }
  Replicas(const Replicas &) = delete;

  Placement &places;                     // in the datum's slot
  RelaxedValue<coherence::Spaces> &valid = places.valid, &arriving = places.arriving;
  uint32_t version = 0;                    // of the contents: a copy from before a write is invalid after it
  uint32_t flying = 0;                     // copies in flight, to or from any of its replicas
  uint32_t claims = 0;                     // writers that were granted a replica and have not ended
  coherence::Spaces through = 0;           // spaces to which each new version is copied
  coherence::Spaces hinted = 0;            // spaces of waiting prefetches of a policy
  bool retired = false;                    // being unregistered: nothing is saved any more
  Staging *leaving = nullptr;              // the unregistration or step that waits until no copy is in flight
  Replicas *next_flying = nullptr;         // next of the records for which such a staging waits
  bool held = false;                       // by a step meanwhile: no new copy is started
  bool shut = false;                       // its parts have the contents, each its own: no replica here is valid
  uint32_t opened = 0;                     // open plans since the record exists
  std::vector<std::unique_ptr<Replica>> all;  // few
  std::vector<DatumExtra::Block> lent;     // the application's memory in a driver's space: attached, never freed here
  std::vector<std::unique_ptr<Replica>> left_over;  // replicas that became `left`, until the last window is closed
  Replica *in(uint32_t space) const noexcept {
    for (const auto &r : all)
      if (r->space == space) return r.get();
    return nullptr;
  }
  Replica *lasting() const noexcept {      // in the application's own memory; nullptr: none
    for (const auto &r : all)
      if (r->lasting) return r.get();
    return nullptr;
  }
  bool is_valid(const Replica &r) const noexcept { return valid & coherence::one(r.space); }
};

}  // namespace consort
