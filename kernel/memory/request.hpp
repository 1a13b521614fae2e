// request.hpp — what the application wants of a datum's replicas, carried out when its turn among the tasks has come.
//
// Owned by Memory from the call until it is over; changes under Memory's mutex. Nobody waits for one.
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
  uint64_t task = 0;                  // a policy's: the task that will read it; when that is gone, so is the wish
  Memory *memory = nullptr;
  uint64_t id = 0;
  Datum *datum = nullptr;             // alive: at its turn because tasks take theirs, later because it ends its wishes
  bool cancelled = false;             // before its turn came
  bool begun = false;                 // its turn has come
  uint32_t version = 0;               // of the contents then: those of another are not what was wished for
  Transfer *transfer = nullptr;       // that carries it out
};

}  // namespace consort
