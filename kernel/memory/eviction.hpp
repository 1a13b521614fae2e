// eviction.hpp — room in a space: replicas are dropped, or saved to another space and then dropped.
//
// What is not needed longest goes first (eviction_order.hpp). Where it has to be saved first it is waited for: what could
// be dropped at once may be needed soon. Owned by Memory; each function is called under Memory's mutex.
#pragma once
#include <vector>

#include "memory/eviction_policy.hpp"
#include "memory/replica_records.hpp"
#include "memory/transfers.hpp"

namespace consort {

class Eviction {
 public:
  Eviction(const Topology &, BlockCache &, EvictionOrder &, NextUse &, ReplicaRecords &, Transfers &, const MoverSet &,
           EvictionPolicy &);

  // Room for so many bytes more. kDone: it is there, or memory there is not counted. kPending: there is none yet; copies
  // that make some were begun where that was possible, and the end of each asks again. Nothing is kept for the caller.
  Outcome make_room(uint32_t space, uint64_t bytes, const Staging *for_whom) noexcept;
  // Room that costs nothing: free memory, and replicas that no task wants. True: it is there.
  bool free_room(uint32_t space, uint64_t bytes) noexcept;
  // Nothing that is under way or in use will ever make room there.
  bool is_stuck(uint32_t space) const noexcept;
  // What could not be saved before others had ended is looked at again.
  void look_again(uint32_t space) noexcept { stores_[space].later = false; }
  // Were there contents that may be saved once others have ended?
  bool saves_later(uint32_t space) const noexcept { return stores_[space].later; }

  // Brings the only valid replica to another space, so that it may go: the datum's own memory, or wherever there is room.
  // kMade: room is made there; kFree: only where it is free. kDone: its copy is under way. kRefused: there is no place
  // for it, or not before others have ended (saves_later()).
  enum class Room { kMade, kFree };
  Outcome save(Replica &, Room) noexcept;
  void drop(Replica &) noexcept;   // one that need not be saved
  // One that was asked to go (Replica::leaves): now, or when it has been saved.
  void leave(Replica &) noexcept;
  // The application will not use this datum soon: all its replicas go first; the only valid one home, if it has memory
  // there.
  void set_aside(Datum &) noexcept;
  // While nothing else leaves the space and no task waits for room there: saves one replica that would go first, so that
  // whatever needs its room then only drops it.
  void save_ahead(uint32_t space, uint32_t percent) noexcept;

  // What the transfer saves will go when it has ended, or not after all.
  void count_on(Transfer &, bool) noexcept;
  uint64_t saving(uint32_t space) const noexcept { return stores_[space].saving; }
  const SpaceStatistics &statistics(uint32_t space) const noexcept { return stores_[space].statistics; }

 private:
  struct Store {
    bool refuge = false;    // contents are saved there: it is home, or no unit computes there
    bool clearing = false;  // make_room() is at it: saves to and fro do not begin it again
    bool later = false;     // see saves_later()
    uint64_t saving = 0;    // bytes of those that saves under way will let go
    SpaceStatistics statistics;
  };
  void clear(uint32_t space, uint64_t bytes, const Staging *for_whom) noexcept;
  uint32_t place_for(Replica &, Room);
  bool has_room(const Replica &, uint32_t space, Room) noexcept;

  const Topology &topology_;
  BlockCache &cache_;
  EvictionOrder &order_;
  NextUse &outlook_;
  ReplicaRecords &records_;
  Transfers &transfers_;
  const MoverSet &movers_;
  EvictionPolicy &policy_;
  std::vector<Store> stores_;
};

}  // namespace consort
