// data_keepers.hpp — what the graph asks of recordings, which keep data between replays (Datum::keeper).
#pragma once

namespace consort {

struct Datum;

// Implemented by replay/recording.hpp. Any thread.
class DataKeepers {
 public:
  // A datum that a recording keeps is used by a task outside it, whose submitter has its right. False: no memory.
  virtual bool let_go(Datum &) noexcept = 0;

 protected:
  ~DataKeepers() = default;
};

}  // namespace consort
