// window.hpp — predicates on replicas inside another replica's memory.
//
// A window is a part's replica inside the memory of its whole's replica in a space; it has no memory of its own. While
// the whole may be used (Replicas::shut is not set) all replicas in that memory have the same contents. So a window is
// valid if its base is. Otherwise each part has contents of its own. Functions of the records alone, under Memory's
// mutex.
#pragma once
#include "task/replica.hpp"

namespace consort {

// Returns the replica that owns the memory: the replica itself, unless it is a window.
inline Replica &holder(Replica &r) noexcept {
  Replica *at = &r;
  while (at->base) at = at->base;
  return *at;
}

// Returns whether each of its windows is valid or invalid by itself.
inline bool is_apart(const Replica &base) noexcept { return base.left || base.datum->extra()->replicas->shut; }

// Returns whether it is a window that is valid when its base is.
inline bool follows(const Replica &r) noexcept { return r.base && !is_apart(*r.base); }

// Returns whether it or one of its windows has contents that exist nowhere else, so that they are saved before it is
// dropped. `home`: the space where each part has a window.
bool is_only(const Replica &, uint32_t home) noexcept;

// Returns whether nothing in its memory is valid.
bool is_worthless(const Replica &) noexcept;

// It became valid: marks the windows that follow it valid.
void spread(const Replica &base) noexcept;

// The record of a datum's replicas; nullptr: it lives in one space.
inline Replicas *replicas_if_any(const Datum &d) noexcept {
  const DatumExtra *e = d.extra();
  return e ? e->replicas.get() : nullptr;
}

// Returns whether the datum was written, and not poisoned since.
inline bool has_contents(const Datum &d) noexcept {
  return (d.state.load(std::memory_order_relaxed) & data_state::kPlain) == data_state::kValid;
}

// Returns whether the replica that a task was granted is valid.
inline bool is_there(const Replica &r) noexcept { return r.datum->extra()->replicas->is_valid(r); }

}  // namespace consort
