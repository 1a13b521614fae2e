// transfer.hpp — a copy of one datum's contents from one replica to another, over one or more hops.
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
  Replica *from, *to, *last;          // this hop; the final destination
  uint32_t outstanding = 0;           // unfinished copies of this hop
  uint32_t version = 0;               // of the contents at the start of the hop
  consort_status status = 0;          // of the first failed copy
  std::vector<Staging *> waiters = {};    // told when it has arrived, or failed
  std::vector<Staging *> blocked = {};    // writers of `from`: told when this hop has read it
  bool saving = false;                // a save: `from` is dropped afterwards
  bool counted_on = false;            // counted in Store::saving: nothing wants `from` to stay
  std::string why = {};               // the driver's error text
  MemoryRequest *wish = nullptr;               // the request that it carries out
  uint64_t bytes = 0;                 // of this hop
  bool traced = false;
  // In ns, if traced: when the driver moved its first and its last byte; else when the hop was asked for, and 0.
  uint64_t began = 0, ended = 0;
};

}  // namespace consort
