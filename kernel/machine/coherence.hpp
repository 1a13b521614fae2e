// coherence.hpp — which spaces hold the contents of a datum, as a pure function of what happened.
//
// The state is the set of spaces whose replica is valid. One of several is shared, the only one is owned: it must not
// be dropped before it was copied. Nothing here knows memory, copies or tasks; everything may be tried exhaustively.
#pragma once
#include <cstdint>

namespace consort::coherence {

using Spaces = uint64_t;  // bit s: the replica in space s is valid
constexpr Spaces one(uint32_t space) noexcept { return Spaces{1} << space; }

enum class Replica : uint8_t { kInvalid, kShared, kOwned };
// Of a replica: it is read; read and written; written without being read; given up.
enum class Event : uint8_t { kRead, kUpdate, kWrite, kDrop };

constexpr Replica replica(Spaces valid, uint32_t space) noexcept {
  if (!(valid & one(space))) return Replica::kInvalid;
  return (valid & (valid - 1)) ? Replica::kShared : Replica::kOwned;
}

// What an event asks for first, and what it leaves. `others`: what becomes of the other replicas.
struct Rule {
  bool fetch;        // contents have to be brought here
  bool save;         // contents have to be brought somewhere else
  Replica here;
  bool others;       // stay valid
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

// The state after an event whose needs were met (a fetch copies, so its source stays; a save adds its target before).
constexpr Spaces after(Spaces valid, uint32_t space, Event e) noexcept {
  const Rule &r = rule(valid, space, e);
  const Spaces others = r.others ? valid & ~one(space) : 0;
  return r.here == Replica::kInvalid ? others : others | one(space);
}

}  // namespace consort::coherence
