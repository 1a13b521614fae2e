// eviction.hpp — frees memory of a space: drops replicas, or saves them to another space and then drops them.
//
// The replica whose next use is latest goes first (eviction_order.hpp). If it has to be saved first, the request waits,
// because replicas that could be dropped at once may be needed sooner. Owned by Memory; each function is called under
// Memory's mutex.
#pragma once
#include <vector>

#include "memory/eviction_policy.hpp"
#include "memory/replica_records.hpp"
#include "memory/transfers.hpp"

namespace consort {

class Eviction {
 public:
  Eviction(const Topology &, BlockCache &, EvictionOrder &, NextUse &, ReplicaRecords &, Transfers &, const MoverSet &,
           EvictionPolicy &, const std::unique_ptr<Tracer> &);

  // Frees `bytes`. kDone: they are free, or the space is not counted. kPending: not yet; saves were started if
  // possible, and each end of one calls again. Nothing is reserved for the caller.
  Outcome make_room(uint32_t space, uint64_t bytes, const Staging *requester) noexcept;
  // Uses free memory and replicas that no task wants. Returns true if that suffices.
  bool free_room(uint32_t space, uint64_t bytes) noexcept;
  // Returns whether nothing in flight or in use will ever free memory there.
  bool is_stuck(uint32_t space) const noexcept;
  // Reconsiders replicas that could not be saved before other copies had ended.
  void look_again(uint32_t space) noexcept { stores_[space].later = false; }
  // Returns whether some contents can be saved only after other copies have ended.
  bool saves_later(uint32_t space) const noexcept { return stores_[space].later; }

  // Copies the only valid replica to another space, so that it can be dropped: to the datum's own memory, or to a space
  // with free memory. kMade: may evict there; kFree: uses free memory only. kDone: the copy is in flight. kRefused: no
  // space can take it, or only after other copies have ended (saves_later()).
  enum class Room { kMade, kFree };
  Outcome save(Replica &, Room) noexcept;
  void drop(Replica &) noexcept;   // precondition: it need not be saved
  // Drops a replica that was asked to leave (Replica::leaves): now, or after it was saved.
  void leave(Replica &) noexcept;
  // The application will not use this datum soon: all its replicas become first to go. The only valid one is saved
  // home, if it has memory there.
  void set_aside(Datum &) noexcept;
  // Saves one replica that would go first, while nothing else leaves the space and no task waits for memory there. A
  // later request then only drops it.
  void save_ahead(uint32_t space, uint32_t percent) noexcept;

  // Counts or uncounts the bytes that will be freed when the transfer has saved them.
  void count_on(Transfer &, bool) noexcept;
  uint64_t saving(uint32_t space) const noexcept { return stores_[space].saving; }
  const SpaceStatistics &statistics(uint32_t space) const noexcept { return stores_[space].statistics; }

 private:
  struct Store {
    bool refuge = false;    // contents may be saved there: it is home, or no unit computes there
    bool clearing = false;  // make_room() is active: nested saves do not start it again
    bool later = false;     // see saves_later()
    uint64_t saving = 0;    // bytes that saves in flight will free
    SpaceStatistics statistics;
  };
  void clear(uint32_t space, uint64_t bytes, const Staging *requester) noexcept;
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
  const std::unique_ptr<Tracer> &tracer_;
  std::vector<Store> stores_;
};

}  // namespace consort
