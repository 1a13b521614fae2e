// transfer.hpp — the contents of one datum on their way from one replica to another, maybe over several hops.
//
// Owned by Memory while it lasts; changes under Memory's mutex. Both ends are pinned.
#pragma once
#include <consort/driver.h>

#include <string>
#include <vector>

namespace consort {

struct Datum;
struct Replica;
struct Staging;
struct MemoryRequest;

struct Transfer {
  Datum *datum;
  Replica *from, *to, *last;          // this hop; where all of it is to end
  uint32_t outstanding = 0;           // copies of this hop
  uint32_t version = 0;               // of the contents, when the hop began
  consort_status status = 0;          // of the first that failed
  std::vector<Staging *> waiters = {};    // told when it has arrived, or never will
  std::vector<Staging *> blocked = {};    // will write to `from`: told when this hop has read it
  bool saving = false;                // so that `from` may go
  bool counted_on = false;            // and nobody wants it to stay meanwhile (Store::saving)
  std::string why = {};               // the driver's words, if it failed
  MemoryRequest *wish = nullptr;               // that it carries out
  uint64_t bytes = 0;                 // of this hop
  uint64_t began = 0;                 // it, where somebody traces; ns
};

}  // namespace consort
