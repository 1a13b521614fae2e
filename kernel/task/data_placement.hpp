// data_placement.hpp — what the table of data asks of the room that keeps copies of data in spaces (memory/).
#pragma once
#include <consort/consort.h>

#include <cstdint>

namespace consort {

struct Datum;
struct DatumExtra;

class DataPlacement {
 public:
  // The datum lives at home in `space` from now on. < 0: it cannot, which is told in the error slot.
  virtual consort_status settle(Datum &, uint32_t space) noexcept = 0;
  // The datum ends: its copies are freed. Returns what few data have, which is the caller's now; nullptr: none.
  virtual DatumExtra *forget(Datum &) noexcept = 0;

 protected:
  ~DataPlacement() = default;
};

}  // namespace consort
