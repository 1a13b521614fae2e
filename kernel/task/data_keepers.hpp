// data_keepers.hpp — the interface of the graph to recordings, which keep data between replays (Datum::keeper).
#pragma once

namespace consort {

struct Datum;

// Implemented by replay/recording.hpp. Any thread.
class DataKeepers {
 public:
  // A task outside the recording uses a datum that it keeps. Precondition: the submitter has the datum's right. Returns
  // false if out of memory.
  virtual bool let_go(Datum &) noexcept = 0;

 protected:
  ~DataKeepers() = default;
};

}  // namespace consort
