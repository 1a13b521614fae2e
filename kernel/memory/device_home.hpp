// device_home.hpp — data whose home is not the host's: the application's memory on a device.
//
// Such a datum has its record from the beginning, with one replica that lasts. Its driver is told what memory that is,
// and is told again when the datum ends; nothing here takes it, counts it or gives it to others. Owned by Memory.
#pragma once
#include <mutex>

#include "memory/memory_lock.hpp"
#include "memory/replica_records.hpp"

namespace consort {

class DeviceHome {
 public:
  DeviceHome(const Topology &topology, const DataTable &data, ReplicaRecords &records)
      : topology_(topology), data_(data), records_(records) {}

  // [any] The datum is at home in that space until release(); no task uses it yet. Takes the mutex for the record alone:
  // the driver is asked without it. < 0: refused, told.
  consort_status settle(Datum &, uint32_t space, std::mutex &) noexcept;
  // Its driver takes the memory back.
  void release(std::vector<DatumExtra::Block> &lent) noexcept;
  // Where the application's own memory of it is; NONE: nowhere.
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
