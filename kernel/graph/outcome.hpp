// outcome.hpp — the answer of every function of the room memory that may not get what it wants at once.
#pragma once
#include <cstdint>

namespace consort {

enum class Outcome : uint8_t {
  kDone,     // it is so now
  kPending,  // it is on its way, or waits for room: the function's comment says what follows when it has come
  kRefused,  // it can not be; the function's comment says where the reason is told
};

}  // namespace consort
