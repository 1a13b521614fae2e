// coherence.hpp — which spaces hold a valid replica of a datum, as a pure function of events.
//
// The state is the set of spaces with a valid replica. One of several valid replicas is shared. A single valid replica
// is owned: it must not be dropped before it is copied. Independent of memory, copies and tasks, so tests check it
// exhaustively.
#pragma once
#include <cstdint>

namespace consort::coherence {

using Spaces = uint64_t;  // bit s: the replica in space s is valid
constexpr Spaces one(uint32_t space) noexcept { return Spaces{1} << space; }

enum class Replica : uint8_t { kInvalid, kShared, kOwned };
// Events of a replica: read; read and written; written without being read; dropped.
enum class Event : uint8_t { kRead, kUpdate, kWrite, kDrop };

constexpr Replica replica(Spaces valid, uint32_t space) noexcept {
  if (!(valid & one(space))) return Replica::kInvalid;
  return (valid & (valid - 1)) ? Replica::kShared : Replica::kOwned;
}

// What an event requires, and the state after it. `others`: whether the other replicas stay valid.
struct Rule {
  bool fetch;        // contents must be copied into this space first
  bool save;         // contents must be copied to another space first
  Replica here;
  bool others;       // the other replicas stay valid
};
inline constexpr Rule kRules[3][4] = {
    // an invalid replica: read, updated, written, dropped
    {{true, false, Replica::kShared, true},
     {true, false, Replica::kOwned, false},
     {false, false, Replica::kOwned, false},
     {false, false, Replica::kInvalid, true}},
    // a shared one
    {{false, false, Replica::kShared, true},
     {false, false, Replica::kOwned, false},
     {false, false, Replica::kOwned, false},
     {false, false, Replica::kInvalid, true}},
    // an owned one
    {{false, false, Replica::kOwned, true},
     {false, false, Replica::kOwned, false},
     {false, false, Replica::kOwned, false},
     {false, true, Replica::kInvalid, true}},
};
constexpr const Rule &rule(Spaces valid, uint32_t space, Event e) noexcept {
  return kRules[static_cast<int>(replica(valid, space))][static_cast<int>(e)];
}

// Returns the state after an event whose requirements are met. A fetch keeps its source valid; a save has added its
// target.
constexpr Spaces after(Spaces valid, uint32_t space, Event e) noexcept {
  const Rule &r = rule(valid, space, e);
  const Spaces others = r.others ? valid & ~one(space) : 0;
  return r.here == Replica::kInvalid ? others : others | one(space);
}

}  // namespace consort::coherence
