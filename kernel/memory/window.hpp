// window.hpp — questions about replicas that lie in another replica's memory.
//
// A window is a part's replica in memory that its whole has in a space: it has none of its own. While the whole may be
// used (Replicas::shut is not set) all that shares its memory has the same contents, so windows are valid where their
// base is; else each part has contents of its own. Functions of the records alone, under Memory's mutex.
#pragma once
#include "task/replica.hpp"

namespace consort {

// Whose memory it is: the replica itself, unless it is a window.
inline Replica &holder(Replica &r) noexcept {
  Replica *at = &r;
  while (at->base) at = at->base;
  return *at;
}

// Is each of its windows valid, or not, by itself?
inline bool is_apart(const Replica &base) noexcept { return base.left || base.datum->extra()->replicas->shut; }

// A window that is valid when its base is.
inline bool follows(const Replica &r) noexcept { return r.base && !is_apart(*r.base); }

// Has it, or has one of its windows, contents that are nowhere else? Then they are saved before it goes. `home`: the
// space where each part has a window.
bool is_only(const Replica &, uint32_t home) noexcept;

// Nothing in its memory is valid.
bool is_worthless(const Replica &) noexcept;

// It became valid: so did the windows that follow it.
void spread(const Replica &base) noexcept;

// The record of a datum's replicas; nullptr: it lives in one space.
inline Replicas *replicas_if_any(const Datum &d) noexcept {
  const DatumExtra *e = d.extra();
  return e ? e->replicas.get() : nullptr;
}

// Has the datum been written, and not been poisoned since?
inline bool has_contents(const Datum &d) noexcept {
  return (d.state.load(std::memory_order_relaxed) & data_state::kPlain) == data_state::kValid;
}

// Is the replica that a task was granted valid?
inline bool is_there(const Replica &r) noexcept { return r.datum->extra()->replicas->is_valid(r); }

}  // namespace consort
