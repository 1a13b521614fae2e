// request.hpp — a request about a datum's replicas, carried out in the datum's order of access.
//
// Owned by Memory from the call to its end; changes under Memory's mutex. No task waits for one.
#pragma once
#include <cstdint>

namespace consort {

struct Datum;
struct Transfer;
class Memory;

struct MemoryRequest {
  enum What : uint8_t { kBring, kRoom, kWontUse, kEvict, kThrough };
  What what;
  uint32_t space = 0;
  int32_t priority = 0;
  uint64_t spaces = 0;                // kThrough
  uint64_t task = 0;                  // of a policy: the task that will read it; the request ends with it
  Memory *memory = nullptr;
  uint64_t id = 0;
  Datum *datum = nullptr;  // alive: before its turn by the order of access; afterwards because a datum ends its requests
  bool cancelled = false;             // before its turn
  bool begun = false;                 // its turn has come
  uint32_t version = 0;               // of the contents at its turn; other contents are not requested
  Transfer *transfer = nullptr;       // the transfer that carries it out
};

}  // namespace consort
