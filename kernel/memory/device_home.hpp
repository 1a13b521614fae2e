// device_home.hpp — data whose home is the application's memory on a device.
//
// Such a datum has a record from the beginning, with one lasting replica. Its driver is told of the memory, and again
// when the datum ends. This memory is never allocated, counted or reused here. Owned by Memory.
#pragma once
#include <mutex>

#include "memory/memory_lock.hpp"
#include "memory/replica_records.hpp"

namespace consort {

class DeviceHome {
 public:
  DeviceHome(const Topology &topology, const DataTable &data, ReplicaRecords &records)
      : topology_(topology), data_(data), records_(records) {}

  // [any] Makes that space the datum's home until release(). Precondition: no task uses it yet. Takes the mutex for the
  // record alone, not while it calls the driver. < 0: refused, error text set.
  consort_status settle(Datum &, uint32_t space, std::mutex &) noexcept;
  // Detaches the memory from its driver.
  void release(std::vector<DatumExtra::Block> &lent) noexcept;
  // Returns the space of the application's own memory of the datum, or NONE.
  static uint32_t of(const Datum &) noexcept;

 private:
  consort_status refuse(const Datum &, uint32_t space, consort_status, const std::string &why) const;
  consort_status attach(const Datum &, uint32_t space, const consort_extent &, std::vector<DatumExtra::Block> &lent);
  consort_status attach_all(const Datum &, uint32_t space, std::vector<DatumExtra::Block> &lent);

  const Topology &topology_;
  const DataTable &data_;
  ReplicaRecords &records_;
};

}  // namespace consort
