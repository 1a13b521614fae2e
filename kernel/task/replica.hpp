// replica.hpp — what a datum has in the memories of a machine, once one memory is not all there is to it.
//
// Belongs to the datum (DatumExtra). Every field changes under Memory's mutex. A datum without this record lives in one
// space, and nobody here knows of it.
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
  bool lasting = false;                    // the application's own memory: not ours to free
  // tasks that never heard of this record may still read it: until the next write
  bool unsure = false;
  bool anchored = false;                   // parts use its memory
  bool unwanted = false;                   // the application will not use it: the first to go; until a task does
  bool leaves = false;                     // the application wants it to go; until a task uses it
  uint8_t vain = 0;                        // saves that failed, in a row
  uint32_t pins = 0;                       // tasks that use it, copies from and to it, holds: it stays
  uint64_t bytes = 0;                      // that it takes of its space
  void *view = nullptr;
  std::unique_ptr<std::byte[]> own_view;   // where view points, unless that is the datum's own
  std::vector<DatumExtra::Block> blocks;
  Transfer *coming = nullptr;              // its contents are on their way
  std::vector<Transfer *> going;           // copies that read it
  Replica *older = nullptr, *newer = nullptr;  // by last use, among those that may go (Memory)
  bool listed = false;
  // Among those that may go: which goes first, then which was used last; its place (memory/eviction_queue.hpp)
  static constexpr uint32_t kNotIn = ~0u;
  uint64_t rank = 0, age = 0;
  uint64_t last_use_ns = 0;                // kept where a policy chooses
  // By the policy: in which answer (Store::asks), then as which of those that should go, from 1
  static constexpr uint32_t kPlaceBits = 16;
  uint64_t chosen = 0;
  bool prefetched = false;                 // and not used since
  uint32_t at = kNotIn;
  bool looked_at = false;                  // taken out of them while the others are looked at
  Replica *next_looked_at = nullptr;
  // A window is a part's replica in memory that its whole has there (memory/partition_alias.cpp): it has none of its own, and
  // keeps the whole's while it is pinned.
  Replica *base = nullptr;                 // of a window: whose memory it is
  std::vector<Replica *> windows;          // into this one's memory
  bool left = false;                       // no replica of its datum any more: its windows alone use it
  uint32_t counted_saves = 0;              // saves under way that will let it go, of it or of its windows
  bool stays() const noexcept { return lasting || unsure || anchored || base; }  // whether in use or not
};

struct Replicas {
  explicit Replicas(Datum &d) noexcept : places(d.places) { valid = arriving = 0; }
  ~Replicas() { places.known.store(false, std::memory_order_relaxed); }
  Replicas(const Replicas &) = delete;

  Placement &places;                     // in the datum's slot
  RelaxedValue<coherence::Spaces> &valid = places.valid, &arriving = places.arriving;
  uint32_t version = 0;                    // of the contents: what was copied before a write is not valid after it
  uint32_t flying = 0;                     // copies under way, to or from any of its replicas
  uint32_t claims = 0;                     // writers that were granted a replica and have not ended
  coherence::Spaces through = 0;           // whatever is written is copied there
  coherence::Spaces hinted = 0;            // where a policy's prefetch waits to bring it
  bool retired = false;                    // it is being unregistered: nothing is saved any more
  Staging *leaving = nullptr;              // of the unregistration or step that waits until nothing flies
  Replicas *next_flying = nullptr;         // among those that one such has to wait for
  bool held = false;                       // meanwhile, by a step: nothing new begins by itself
  bool shut = false;                       // its parts have the contents, each its own: nothing here is valid
  uint32_t opened = 0;                     // plans that are open, since there is this record
  std::vector<std::unique_ptr<Replica>> all;  // few
  std::vector<DatumExtra::Block> lent;     // the application's memory in a space of a driver: attached there, not ours
  std::vector<std::unique_ptr<Replica>> left_over;  // that became `left`, until the last window is closed
  Replica *in(uint32_t space) const noexcept {
    for (const auto &r : all)
      if (r->space == space) return r.get();
    return nullptr;
  }
  Replica *lasting() const noexcept {      // in the application's own memory; nullptr: it has none
    for (const auto &r : all)
      if (r->lasting) return r.get();
    return nullptr;
  }
  bool is_valid(const Replica &r) const noexcept { return valid & coherence::one(r.space); }
};

}  // namespace consort
