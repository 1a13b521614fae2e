// outcome.hpp — the result of functions of the room memory that may not succeed at once.
#pragma once
#include <cstdint>

namespace consort {

enum class Outcome : uint8_t {
  kDone,     // done now
  kPending,  // in flight, or waiting for memory: the function's comment says what follows
  kRefused,  // impossible; the function's comment says where the reason is
};

}  // namespace consort
