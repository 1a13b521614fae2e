// wire.hpp — turns between a rank and the domain of another process, as bytes.
//
// Little endian on every machine. The readers trust no field: the bytes come from another process. Pure functions.
#pragma once
#include <cstring>
#include <span>

#include "domain.hpp"

namespace simnet {

constexpr uint64_t kMostFrame = uint64_t{1} << 32;

struct Turn {                             // from a rank: its turn is over
  enum Kind : uint8_t { kWait = 1, kLeave } kind = kWait;
  uint64_t now = 0, until = 0;
  std::vector<Post> posts;
};

Bytes encode(const Turn &);
Bytes encode(const Grant &);              // without the rank
// False: these bytes are none. May throw bad_alloc, for no more than the bytes hold.
bool decode(std::span<const std::byte>, Turn *);
bool decode(std::span<const std::byte>, Grant *);

}  // namespace simnet
