// data_placement.hpp — the interface of the table of data to the room memory, which keeps copies of data in spaces.
#pragma once
#include <consort/consort.h>

#include <cstdint>

namespace consort {

struct Datum;
struct DatumExtra;

class DataPlacement {
 public:
  // Makes `space` the datum's home. < 0: impossible, error text set.
  virtual consort_status settle(Datum &, uint32_t space) noexcept = 0;
  // The datum ends: frees its copies. Returns its optional properties, which the caller owns; nullptr: none.
  virtual DatumExtra *forget(Datum &) noexcept = 0;

 protected:
  ~DataPlacement() = default;
};

}  // namespace consort
