// host_staging.hpp — data of tasks without a worker: holds of the application, unregistrations, and steps between a
// whole and its parts.
//
// Their records are made in advance, because their turn must not fail. Owned by Memory; each function is called under
// Memory's mutex.
#pragma once
#include "memory/admission.hpp"

namespace consort {

class HostStaging {
 public:
  HostStaging(const Topology &topology, BlockCache &cache, ReplicaRecords &records, Stagings &stagings,
              Admission &admission)
      : topology_(topology), cache_(cache), records_(records), stagings_(stagings), admission_(admission) {}

  // [any] Makes the record for up to `data` data, in Extra::reserved. Returns false if out of memory.
  static bool reserve(Task *, size_t data) noexcept;

  // [any] Returns whether stage() has work to do: not for a hold of a datum that lives in one space. Precondition: it
  // is the task's turn.
  bool concerns(const Task &) const noexcept;
  // The turn of a hold: its datum is brought home. The turn of an unregistration: contents that belong home are brought
  // there, and all copies in flight end. kDone: the task continues at once. kPending: its staging becomes complete by
  // itself, and holds the status if refused.
  Outcome stage(Task *) noexcept;
  // The record becomes the task's staging, in that space. The caller fills it.
  Staging &open(Task *, uint32_t space) noexcept;
  // Delays completion until none of these (linked by next_flying) has copies in flight.
  static void wait_until_landed(Staging &, Replicas *flying) noexcept;
  // As stage(), for a staging from open().
  Outcome admit(Staging &s) noexcept { return admission_.admit_first(s); }

 private:
  bool is_first_write(const Task &) const noexcept;
  Outcome stage_hold(Task *, Datum &);
  Outcome stage_retired(Task *, Datum &) noexcept;

  const Topology &topology_;
  BlockCache &cache_;
  ReplicaRecords &records_;
  Stagings &stagings_;
  Admission &admission_;
};

}  // namespace consort
