// host_staging.hpp — the data of tasks without a worker: holds of the application, unregistrations, and steps between a
// whole and its parts.
//
// Their records are made before their turn comes, which must not fail. Owned by Memory; each function is called under
// Memory's mutex.
#pragma once
#include "memory/admission.hpp"

namespace consort {

class HostStaging {
 public:
  HostStaging(const Topology &topology, BlockCache &cache, ReplicaRecords &records, Stagings &stagings,
              Admission &admission)
      : topology_(topology), cache_(cache), records_(records), stagings_(stagings), admission_(admission) {}

  // [any] The record for up to so many data, in Extra::reserved. False: no memory.
  static bool reserve(Task *, size_t data) noexcept;

  // [any] Whether stage() has anything to do. Not for a hold of a datum that lives in one space. The caller has the task's
  // turn.
  bool concerns(const Task &) const noexcept;
  // A hold whose turn has come: its datum is brought home. An unregistration: its contents come home if they belong
  // there, and nothing of it is under way any more. kDone: it goes on at once. kPending: its staging becomes complete
  // by itself. Whether it was refused stands in the staging.
  Outcome stage(Task *) noexcept;
  // The record becomes the task's staging, in that space. The caller fills it.
  Staging &open(Task *, uint32_t space) noexcept;
  // It is complete only when nothing of these (linked by next_flying) is under way any more.
  static void wait_until_landed(Staging &, Replicas *flying) noexcept;
  // As stage(), of a staging that open() gave.
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
