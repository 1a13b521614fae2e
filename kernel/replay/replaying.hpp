// replaying.hpp — the state of the room replay: all recordings.
#pragma once
#include "remote/distribution.hpp"
#include "replay/recording.hpp"

namespace consort {

struct Replaying : Distribution {
  Replaying(uint64_t number, std::shared_ptr<Config> c) : Distribution(number, std::move(c)), recordings(*this) {}

  Recordings recordings;
};

}  // namespace consort
